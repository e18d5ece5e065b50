"""What every environment of tools shares: one player calls, is answered, and ends it himself."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import Any, ClassVar, TypeVar

from gymnasium import spaces
from palestra import Event, Grammar, InvalidOption, Option, Rng, Step, TextAction, TextGame
from palestra.sandbox import Limits, run_program

from palestra_web.tools.declare import EMPTY, PROGRAMS, Call, Program, Tool, call, calls
from palestra_web.tools.reading import read_tool_action

REVEAL, ERROR, PRINTED = "reveal", "error", "printed"
PROGRAM_LIMITS = Limits(printed=4000)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool answers: a value that JSON can hold, or why there is none."""

    value: Any = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Made:
    """A call that was made; `reply` is a line of JSON, or the text of an error."""

    call: Call
    reply: str
    failed: bool = False


@dataclass(slots=True, kw_only=True)
class ToolState:
    """What the state of every environment of tools has."""

    rng: Rng
    made: tuple[Made, ...] = ()
    ran: tuple[tuple[str, str], ...] = ()  # programs, and what each printed
    closing: TextAction | None = None  # the action that ended it


State = TypeVar("State", bound=ToolState)


class ToolGame(TextGame[State]):
    """A game of one player whose moves are calls, and actions that end it.

    Subclasses say which `tools` there are, `execute` them, and `settle` the end. An error is an
    answer like any other; the calls that led to one are counted in the events (kind "error").

    With `programs` a move may also be a `Program`, which is run where it can compute and call tools
    and do nothing else (`palestra.sandbox`). It counts as one call, and so does each that it makes.
    """

    order = "sequential"
    payoffs = "general"
    num_players = 1
    perfect_information = False
    deterministic = True
    menu = ()
    closings: ClassVar[tuple[Option, ...]]
    max_calls: Any  # int; a dataclass field
    programs: Any  # bool; a dataclass field

    @abstractmethod
    def tools(self, state: State) -> tuple[Tool, ...]:
        """What may be called now."""

    @abstractmethod
    def execute(self, state: State, tool: Tool, values: Mapping[str, Any]) -> Reply:
        """Run a call whose arguments are of the declared types, changing `state` in place."""

    @abstractmethod
    def settle(self, state: State) -> tuple[dict[str, float], list[Event]]:
        """Named rewards and last events at the end."""

    def function_schemas(self, state: State) -> list[dict[str, Any]]:
        """The tools in OpenAI's format, for models that are asked for function calls."""
        return [tool.schema() for tool in self.tools(state)]

    # The rules

    def to_act(self, state: State) -> tuple[int, ...]:
        return () if state.closing is not None or self.calls_left(state) <= 0 else (0,)

    def calls_left(self, state: State) -> int:
        return int(self.max_calls) - len(state.made) - len(state.ran)

    def legal(self, state: State, seat: int) -> Grammar:
        programs = (PROGRAMS,) if self.programs else ()
        return Grammar((calls(self.tools(state)), *programs, *self.closings))

    def step(self, state: State, actions: Mapping[int, Any]) -> Step:
        action = actions[0]
        events = []
        if isinstance(action, Call):
            events.append(self._call(state, action))
        elif isinstance(action, Program):
            events += self._run_program(state, action.code)
        else:
            state.closing = action
        terms: dict[str, float] = {}
        if not self.to_act(state):
            terms, last = self.settle(state)
            events += last
        return Step({0: terms} if terms else {}, events=events)

    def _call(self, state: State, action: Call) -> Event:
        values = action.values
        tool = next(tool for tool in self.tools(state) if tool.name == action.tool)
        why = tool.problem(values)
        reply = Reply(error=why) if why else self.execute(state, tool, values)
        told = reply.error or json.dumps(reply.value, ensure_ascii=False)
        state.made = (*state.made, Made(action, told, bool(reply.error)))
        data: dict[str, Any] = {"tool": action.tool, "arguments": values}
        if reply.error:
            data["error"] = reply.error
            told = f"error: {reply.error}"
        else:
            data["result"] = reply.value
        return Event(ERROR if why else REVEAL, f"{tool.write(values)} -> {told}", data)

    def _run_program(self, state: State, code: str) -> list[Event]:
        """Run a program whose functions are the tools of now; every call is an event."""
        events: list[Event] = []
        state.ran = (*state.ran, (code, ""))

        def tool(name: str) -> Callable[..., Any]:
            def function(**values: Any) -> Any:
                if not self.to_act(state):
                    raise ValueError("no more calls can be made")
                events.append(self._call(state, call(name, **values)))
                made = state.made[-1]
                if made.failed:
                    raise ValueError(made.reply)
                return json.loads(made.reply)

            return function

        tools = {each.name: tool(each.name) for each in self.tools(state)}
        ran = run_program(code, tools=tools, limits=PROGRAM_LIMITS)
        told = ran.printed + (f"error: {ran.error}\n" if ran.error else "")
        state.ran = (*state.ran[:-1], (code, told))
        data = {"code": code, "printed": ran.printed, "error": ran.error}
        return [*events, Event(PRINTED, f"The program printed: {told.rstrip()}", data)]

    def known(self, state: State) -> Mapping[str, Sequence[str]]:
        """Values worth asking with that the player has read, by parameter, for random play."""
        return EMPTY

    def sample(self, state: State, seat: int, rng: Rng) -> TextAction:
        """A call that can be made with what is known, at times any, seldom the end."""
        if rng.below(20) == 0:
            return rng.choice(self.closings).sample(rng)
        tools, known = self.tools(state), self.known(state)
        fit = [tool for tool in tools if any(p.name in known for p in tool.parameters)]
        tool = rng.choice(fit if fit and rng.below(4) else tools)
        drawn = tool.sample(rng, known)
        if self.programs and rng.below(20) == 0:
            return Program(f"print({tool.write(drawn.values)})")
        return drawn

    # Reading and writing

    def parse(self, state: State, seat: int, text: str) -> TextAction:
        legal = self.legal(state, seat)
        return read_tool_action(text, legal, self.tools(state), self.action_types)

    def action_text(self, state: State, seat: int, action: TextAction) -> str:
        if not isinstance(action, Call):
            return repr(action)
        tools = (tool for tool in self.tools(state) if tool.name == action.tool)
        tool = next(tools, Tool(action.tool, ""))
        return tool.write(action.values)

    def observation_space(self, seat: int) -> spaces.Box:
        raise InvalidOption("tools are called in words; use the text view (obs='text')")

    def observe(self, state: State, seat: int) -> Any:
        return self.observation_space(seat)

    def state_key(self, state: State, seat: int | None = None) -> bytes:
        """For the player: what is described, and every call with its answer."""
        if seat is not None:
            known = f"{self.describe(state, seat)}\n{state.made!r}\n{state.ran!r}"
        else:
            shown = {f.name: getattr(state, f.name) for f in fields(state) if f.name != "rng"}
            known = repr(sorted(shown.items()))
        return blake2b(known.encode(), digest_size=16).digest()
