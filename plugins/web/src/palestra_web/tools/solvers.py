"""Scripted agents of `web/ToolWorld-v0`: they read the tools' declarations and what is answered.

From what each tool takes and returns they search the shortest way to what is asked for, call its
first step, and search again after every answer without the tools that have failed.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from palestra import Agent, Decision, InvalidAction, InvalidOption, TextAction, Turn, agent

from palestra_web.tools.declare import Answer, Call, Calls, Done, Tool, call
from palestra_web.tools.world import FIND_TOOLS, SEARCH_PAGES, ToolWorld

TRUST = ("majority", "first")
_DUE = re.compile(r"'(\w+)'")
_ORDER = re.compile(r"\bcall (\w+\(.*\))")


@dataclass(slots=True)
class Errands:
    """What one seat knows: values by type for every goal, tools that failed, and what is left."""

    kind: str
    goals: list[dict[str, str]]
    known: list[dict[str, str]]  # by goal
    read: int = 1  # events taken in
    dead: set[str] = field(default_factory=set)
    done: int = 0  # goals that are
    locked: str = ""  # what the last write required and did not find
    asked: list[str] = field(default_factory=list)  # queries made
    orders: list[str] = field(default_factory=list)  # of notes, still to be obeyed


@agent(
    "tool-solver",
    kind="solver",
    plays=("web/ToolWorld-v0",),
    summary="Plans on what tools take and return, and again when one fails; trust=majority or first (page found), obey=true does what notes say, replan=false tries the same again.",
)
class ToolSolver(Agent):
    """Solves every task the declared tools can solve, and goes round what fails.

    trust `majority` believes what most pages say, `first` the first. obey=true does what any note
    it reads tells it to. replan=false calls again and again what has failed.
    """

    def __init__(self, trust: str = "majority", obey: bool = False, replan: bool = True) -> None:
        if trust not in TRUST:
            raise InvalidOption(f"trust must be one of {', '.join(TRUST)}, not {trust!r}")
        self._trust = trust
        self._obey = obey
        self._replan = replan
        self._books: dict[int, Errands] = {}

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def forget(self, episode_key: int) -> None:
        self._books.pop(episode_key, None)

    def _choose(self, turn: Turn) -> TextAction:
        if not isinstance(turn.game, ToolWorld):
            raise InvalidOption(f"this agent is for web/ToolWorld-v0, not {turn.env}")
        events = turn.transcript
        book = self._books.get(turn.episode_key)
        if book is None:
            book = self._books[turn.episode_key] = _open_book(events[0].data)
        tools = {tool.name: tool for o in turn.legal if isinstance(o, Calls) for tool in o.tools}
        for event in events[book.read :]:
            self._take_in(book, event.data, tools)
        book.read = len(events)
        return self._obeyed(book, turn) or self._next(book, tools)

    # What it is told

    def _take_in(self, book: Errands, data: Mapping[str, Any], tools: Mapping[str, Tool]) -> None:
        name = data["tool"]
        if "error" in data:
            if "locked" in data["error"] and tools[name].requires:
                book.locked = tools[name].requires
            elif self._replan:
                book.dead.add(name)
            return
        result = data["result"]
        if name == SEARCH_PAGES.name:
            self._believe(book, result)
        elif isinstance(result, dict):
            self._learn(book, result, tools[name])

    def _learn(self, book: Errands, result: Mapping[str, str], tool: Tool) -> None:
        order = _ORDER.search(result.get("note", ""))
        if order and self._obey:
            book.orders.append(order[1])
        if tool.ensures == book.locked:
            book.locked = ""
        if book.done >= len(book.goals):
            return
        target = book.goals[book.done]["target"]
        if not tool.writes:
            book.known[book.done] |= {name: result[name] for name in tool.returns}
        elif target in result:
            book.done += 1

    def _believe(self, book: Errands, pages: Sequence[Mapping[str, str]]) -> None:
        """Take the value to write from the pages on the attribute that was read."""
        goal = book.goals[0]
        by = book.known[0][goal["by"]]
        table, _, column = goal["target"].rpartition("_")
        said = [
            quoted[-1]
            for page in pages
            if (quoted := _DUE.findall(page["text"]))
            and by == quoted[0]
            and {table, column} <= set(re.findall(r"\w+", page["text"]))
        ]
        if said:
            goal["value"] = _chosen(said, self._trust)

    # What it does

    def _obeyed(self, book: Errands, turn: Turn) -> TextAction | None:
        while book.orders:
            try:
                obeyed: TextAction = turn.parse(book.orders.pop(0))
            except InvalidAction:
                continue
            return obeyed
        return None

    def _next(self, book: Errands, tools: Mapping[str, Tool]) -> TextAction:
        if book.done == len(book.goals):
            return Done()
        goal, known = book.goals[book.done], book.known[book.done]
        if book.kind == "read" and goal["target"] in known:
            return Answer(known[goal["target"]])
        usable = [tool for name, tool in tools.items() if name not in book.dead]
        target, by = goal["target"], goal["by"]
        if book.locked:
            step = _first_step(usable, known, lambda tool: tool.ensures == book.locked)
        elif by and by not in known:
            step = _first_step(usable, known, lambda tool: by in tool.returns)
        elif by and not goal["value"]:
            return call(SEARCH_PAGES.name, query=f"{by} {known[by]} {target}".replace("_", " "))
        elif book.kind == "read":
            step = _first_step(usable, known, lambda tool: target in tool.returns)
        else:
            given = {target: goal["value"]}
            step = _first_step(usable, known, lambda tool: _takes(tool, target), given)
        return step or self._look_for_tools(book, tools) or Answer("unknown")

    def _look_for_tools(self, book: Errands, tools: Mapping[str, Tool]) -> TextAction | None:
        """Ask for tools that take what is known, then for those that give what is wanted."""
        if FIND_TOOLS.name not in tools:
            return None
        goal = book.goals[book.done]
        names = [*book.known[book.done], goal["by"], goal["target"]]
        table = goal["target"].partition("_")[0]
        queries = [f"{verb} {name}" for name in names if name for verb in ("get", "set")]
        queries.append(f"unlock {table}")
        for tool in tools.values():  # a longer way round, by everything that can be known
            queries += [f"get {name}" for name in tool.returns]
        for query in queries:
            if query not in book.asked:
                book.asked.append(query)
                return call(FIND_TOOLS.name, query=query.replace("_", " "))
        return None


def _open_book(request: Mapping[str, Any]) -> Errands:
    goals = [dict(goal) for goal in request["goals"]]
    known = [{goal["given"]: goal["is"]} for goal in goals]
    return Errands(request["kind"], goals, known)


def _chosen(said: Sequence[str], trust: str) -> str:
    return said[0] if trust == "first" else Counter(said).most_common(1)[0][0]


def _takes(tool: Tool, name: str) -> bool:
    return any(parameter.name == name for parameter in tool.parameters)


def _first_step(
    tools: Sequence[Tool],
    known: Mapping[str, str],
    ends: Callable[[Tool], bool],
    given: Mapping[str, str] | None = None,
) -> Call | None:
    """The first call of the shortest way from what is known to a tool that `ends` it."""
    first: dict[str, Tool | None] = dict.fromkeys(known)
    queue = deque(known)
    while queue:
        here = queue.popleft()
        for tool in tools:
            if not tool.parameters or tool.parameters[0].name != here:
                continue
            start = first[here] or tool
            if ends(tool):
                values = {**(given or {}), **known}
                return call(start.name, **{p.name: values[p.name] for p in start.parameters})
            for name in () if tool.writes else tool.returns:
                if name not in first:
                    first[name] = start
                    queue.append(name)
    return None
