"""The solver for `web/ToolWorld-v0`, which plans from tool declarations and answers.

From the parameters and the answers that tools declare, it searches the shortest path to what the
task asks for, calls the first tool on it, and searches again after every answer, without the tools
that have failed.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from palestra import InvalidAction, Meta, ScriptedAgent, TextAction, Turn, agent

from palestra_web.tools.declare import Answer, Call, Calls, Done, Tool, call
from palestra_web.tools.library import ALIASES, NUMBER
from palestra_web.tools.world import ASK_USER, FIND_TOOLS, SEARCH_PAGES, ToolWorld

Trust = Literal["majority", "first"]
_DUE = re.compile(r"'(\w+)'")
KEYS = (NUMBER, *ALIASES)
_ORDER = re.compile(r"\bcall (\w+\(.*\))")


@dataclass(slots=True)
class SolverNotes:
    """What the solver knows in one episode."""

    kind: str  # of the task
    goals: list[dict[str, str]]  # as the request's data has them
    known: list[dict[str, str]]  # values by type, for each goal
    read: int = 1  # events read
    dead: set[str] = field(default_factory=set)  # tools that have failed
    done: int = 0  # goals reached
    locked: str = ""  # the unmet condition of the last write
    queries: list[str] = field(default_factory=list)  # searches for tools made so far
    orders: list[str] = field(default_factory=list)  # orders in notes, still to be obeyed
    asked: list[tuple[int, str]] = field(default_factory=list)  # details asked of the user


@agent("tool-solver", kind="solver")
class ToolSolver(ScriptedAgent[ToolWorld]):
    """Plans from what tools take and return, and replans when one fails."""

    def __init__(
        self,
        trust: Annotated[
            Trust, Meta(description="which handbook page it believes: the majority, or the first")
        ] = "majority",
        obey: Annotated[
            bool, Meta(description="whether it obeys calls that a note orders")
        ] = False,
        replan: Annotated[
            bool,
            Meta(description="whether it avoids tools that have failed; False calls them again"),
        ] = True,
    ) -> None:
        super().__init__()
        self._trust = trust
        self._obey = obey
        self._replan = replan
        self._notes: dict[int, SolverNotes] = {}

    def forget(self, episode_key: int) -> None:
        self._notes.pop(episode_key, None)

    def choose(self, turn: Turn[ToolWorld]) -> TextAction:
        events = turn.transcript
        notes = self._notes.get(turn.episode_key)
        if notes is None:
            notes = self._notes[turn.episode_key] = _first_notes(events[0].data)
        tools = {tool.name: tool for o in turn.legal if isinstance(o, Calls) for tool in o.tools}
        for event in events[notes.read :]:
            self._read_answer(notes, event.data, tools)
        notes.read = len(events)
        return self._obey_order(notes, turn) or self._next(notes, tools)

    # Reading answers

    def _read_answer(
        self, notes: SolverNotes, data: Mapping[str, Any], tools: Mapping[str, Tool]
    ) -> None:
        name = data["tool"]
        if "error" in data:
            if "locked" in data["error"] and tools[name].requires:
                notes.locked = tools[name].requires
            elif self._replan:
                notes.dead.add(name)
            return
        result = data["result"]
        if name == ASK_USER.name:
            self._hear(notes, data["arguments"], result)
            return
        if name == SEARCH_PAGES.name:
            self._believe(notes, result)
        elif isinstance(result, dict):
            self._learn(notes, result, tools[name])

    def _hear(
        self, notes: SolverNotes, asked: Mapping[str, Any], result: Mapping[str, str]
    ) -> None:
        """Take a detail that the user has revealed."""
        number, about = asked["request"] - 1, asked["about"]
        if about not in result:
            return
        if about == notes.goals[number]["target"]:
            notes.goals[number]["value"] = result[about]
        else:
            notes.known[number][about] = result[about]

    def _learn(self, notes: SolverNotes, result: Mapping[str, str], tool: Tool) -> None:
        order = _ORDER.search(result.get("note", ""))
        if order and self._obey:
            notes.orders.append(order[1])
        if tool.ensures == notes.locked:
            notes.locked = ""
        if notes.done >= len(notes.goals):
            return
        target = notes.goals[notes.done]["target"]
        if not tool.writes:
            notes.known[notes.done] |= {name: result[name] for name in tool.returns}
        elif target in result:
            notes.done += 1

    def _believe(self, notes: SolverNotes, pages: Sequence[Mapping[str, str]]) -> None:
        """Take the value to write from the pages on the attribute that was read."""
        goal = notes.goals[0]
        by = notes.known[0][goal["by"]]
        table, _, column = goal["target"].rpartition("_")
        values = [
            quoted[-1]
            for page in pages
            if (quoted := _DUE.findall(page["text"]))
            and by == quoted[0]
            and {table, column} <= set(re.findall(r"\w+", page["text"]))
        ]
        if values:
            goal["value"] = _most_trusted(values, self._trust)

    # Choosing a call

    def _obey_order(self, notes: SolverNotes, turn: Turn[ToolWorld]) -> TextAction | None:
        while notes.orders:
            try:
                ordered: TextAction = turn.parse(notes.orders.pop(0))
            except InvalidAction:
                continue
            return ordered
        return None

    def _next(self, notes: SolverNotes, tools: Mapping[str, Tool]) -> TextAction:
        if notes.done == len(notes.goals):
            return Done()
        goal, known = notes.goals[notes.done], notes.known[notes.done]
        if question := self._question(notes, tools):
            return question
        if notes.kind == "read" and goal["target"] in known:
            return Answer(known[goal["target"]])
        usable = [tool for name, tool in tools.items() if name not in notes.dead]
        target, by = goal["target"], goal["by"]
        if notes.locked:
            step = _first_step(usable, known, lambda tool: tool.ensures == notes.locked)
        elif by and by not in known:
            step = _first_step(usable, known, lambda tool: by in tool.returns)
        elif by and not goal["value"]:
            return call(SEARCH_PAGES.name, query=f"{by} {known[by]} {target}".replace("_", " "))
        elif notes.kind == "read":
            step = _first_step(usable, known, lambda tool: target in tool.returns)
        else:
            given = {target: goal["value"]}
            step = _first_step(usable, known, lambda tool: _takes(tool, target), given)
        return step or self._look_for_tools(notes, tools) or Answer("unknown")

    def _question(self, notes: SolverNotes, tools: Mapping[str, Tool]) -> TextAction | None:
        """Ask the user what is still needed: the value to write, and what names the row."""
        if ASK_USER.name not in tools:
            return None
        goal, known = notes.goals[notes.done], notes.known[notes.done]
        wanted = [goal["target"]] if notes.kind == "write" and not goal["value"] else []
        if not known:
            wanted += [f"{goal['row']}_{key}" for key in KEYS]
        for about in wanted:
            if (notes.done, about) not in notes.asked:
                notes.asked.append((notes.done, about))
                return call(ASK_USER.name, request=notes.done + 1, about=about)
        return None

    def _look_for_tools(self, notes: SolverNotes, tools: Mapping[str, Tool]) -> TextAction | None:
        """Search for tools that accept known values, then for those that return wanted ones."""
        if FIND_TOOLS.name not in tools:
            return None
        goal = notes.goals[notes.done]
        names = [*notes.known[notes.done], goal["by"], goal["target"]]
        table = goal["target"].partition("_")[0]
        queries = [f"{verb} {name}" for name in names if name for verb in ("get", "set")]
        queries.append(f"unlock {table}")
        for tool in tools.values():  # try longer paths, through anything that tools return
            queries += [f"get {name}" for name in tool.returns]
        for query in queries:
            if query not in notes.queries:
                notes.queries.append(query)
                return call(FIND_TOOLS.name, query=query.replace("_", " "))
        return None


def _first_notes(request: Mapping[str, Any]) -> SolverNotes:
    goals = [dict(goal) for goal in request["goals"]]
    known = [{goal["given"]: goal["is"]} if goal["given"] else {} for goal in goals]
    return SolverNotes(request["kind"], goals, known)


def _most_trusted(values: Sequence[str], trust: Trust) -> str:
    return values[0] if trust == "first" else Counter(values).most_common(1)[0][0]


def _takes(tool: Tool, name: str) -> bool:
    return any(parameter.name == name for parameter in tool.parameters)


def _first_step(
    tools: Sequence[Tool],
    known: Mapping[str, str],
    ends: Callable[[Tool], bool],
    given: Mapping[str, str] | None = None,
) -> Call | None:
    """The first call on the shortest path from known values to a tool that `ends` the search."""
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
