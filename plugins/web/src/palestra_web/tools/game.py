"""The base class of tool environments: one player calls tools until an action ends the episode."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated, Any, ClassVar, TypeVar

from gymnasium import spaces
from palestra import Event, Grammar, InvalidOption, Meta, Option, Rng, Step, TextAction, TextGame
from palestra.kernel.text_game import written_state
from palestra.sandbox import Limits, run_program, unguarded_system
from palestra.scene import Saying, Talk

from palestra_web.tools.declare import (
    EMPTY,
    MOST_CHARACTERS,
    PROGRAMS,
    Call,
    Program,
    Tool,
    call,
    calls,
)
from palestra_web.tools.reading import read_tool_action

REPLY = 400  # letters of an answer in a picture
REVEAL, ERROR, PRINTED = "reveal", "error", "printed"
PROGRAM_LIMITS = Limits(printed=4000)

# Options of every environment of tools
MaxCalls = Annotated[int, Meta(ge=1, le=10_000, description="calls the player may make")]
AllowPrograms = Annotated[
    bool,
    Meta(description="whether a move may also be a Python program that calls tools and prints"),
]


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of a tool: a value that JSON can hold, or an error."""

    value: Any = None
    error: str = ""  # empty where there is a value


@dataclass(frozen=True, slots=True)
class Made:
    """A call that was made; `state_key` hashes its repr, so do not rename its fields."""

    call: Call
    reply: str  # a line of JSON, or the text of an error
    failed: bool = False


@dataclass(slots=True, kw_only=True)
class ToolState:
    """The fields that the state of every environment of tools has."""

    rng: Rng
    calls_made: tuple[Made, ...] = ()
    programs_run: tuple[tuple[str, str], ...] = ()  # code and output of each
    closing: TextAction | None = None  # the action that ended the episode


State = TypeVar("State", bound=ToolState)


class ToolGame(TextGame[State]):
    """A game for one player, whose moves are calls of tools and actions that end the episode.

    Subclasses list the `tools`, `execute` calls, and `settle` the end. An error is an answer like
    any other; a call with wrong arguments gives an event of kind "error".

    With `programs` a move may also be a `Program`, which can compute and call tools but nothing
    else (`palestra.sandbox`). It counts as one call, and so does each call that it makes.
    """

    order = "sequential"
    payoffs = "general"
    num_players = 1
    perfect_information = False
    deterministic = True
    counters = ("calls_made", "programs_run")
    menu = ()
    closings: ClassVar[tuple[Option, ...]]  # the actions that end the episode
    max_calls: Any  # MaxCalls; a dataclass field
    programs: Any  # AllowPrograms; a dataclass field

    @property
    def runs_programs(self) -> bool:
        return bool(self.programs)

    def validate(self) -> None:
        if self.programs and (why := unguarded_system()):
            raise InvalidOption(f"programs must be False on this system: {why}")

    @abstractmethod
    def tools(self, state: State) -> tuple[Tool, ...]:
        """The tools that may be called now."""

    @abstractmethod
    def execute(self, state: State, tool: Tool, values: Mapping[str, Any]) -> Reply:
        """Run a call with valid arguments, changing `state` in place."""

    @abstractmethod
    def settle(self, state: State) -> tuple[dict[str, float], list[Event]]:
        """The rewards by term and the last events of an episode that has ended."""

    def needless(self, state: State) -> int:
        """The number of calls that repeated an answered one, with no write in between."""
        answered: set[Call] = set()
        count = 0
        writing = {tool.name for tool in self.tools(state) if tool.writes}
        for made in state.calls_made:
            count += made.call in answered
            answered.add(made.call)
            if made.call.tool in writing and not made.failed:
                answered.clear()
        return count

    def well_formed(self, state: State) -> float:
        """The share of calls whose arguments fit their tool; 0 where there is no call."""
        tools = {tool.name: tool for tool in self.tools(state)}
        fit = [not tools[made.call.tool].problem(made.call.values) for made in state.calls_made]
        return sum(fit) / len(fit) if fit else 0.0

    def record_facts(self, state: State) -> dict[str, Any]:
        """Facts for the record: the needless calls so far; subclasses add to them."""
        return {"needless": self.needless(state)}

    def function_schemas(self, state: State) -> list[dict[str, Any]]:
        """The tools in OpenAI's format, for models that write function calls."""
        return [tool.as_function().openai() for tool in self.tools(state)]

    # The rules

    def talk(self, state: State, seat: int | None) -> Talk:
        """The calls made so far with their answers.

        After a program the player's picture has what programs printed: a program reads answers
        that the player never sees.
        """
        player, said = self.players[0], []
        if seat is not None and state.programs_run:
            for code, output in state.programs_run:
                said += [Saying(player, code, 0, code=True), Saying("printed", output)]
            return Talk(tuple(said))
        for made in state.calls_made:
            arguments = ", ".join(f"{name}={value!r}" for name, value in made.call.values.items())
            said.append(Saying(player, f"{made.call.tool}({arguments})", 0))
            kind, colour = ("error", "red") if made.failed else ("answer", "green")
            said.append(Saying(kind, made.reply[:REPLY], colour))
        return Talk(tuple(said))

    def to_act(self, state: State) -> tuple[int, ...]:
        return () if state.closing is not None or self.calls_left(state) <= 0 else (0,)

    def calls_left(self, state: State) -> int:
        return int(self.max_calls) - len(state.calls_made) - len(state.programs_run)

    def legal(self, state: State, seat: int) -> Grammar:
        programs = (PROGRAMS,) if self.programs else ()
        return Grammar((calls(self.tools(state)), *programs, *self.closings))

    def step(self, state: State, actions: Mapping[int, TextAction]) -> Step:
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
        text = reply.error or json.dumps(reply.value, ensure_ascii=False)
        state.calls_made = (*state.calls_made, Made(action, text, bool(reply.error)))
        data: dict[str, Any] = {"tool": action.tool, "arguments": values}
        if reply.error:
            data["error"] = reply.error
            text = f"error: {reply.error}"
        else:
            data["result"] = reply.value
        return Event(ERROR if why else REVEAL, f"{tool.write(values)} -> {text}", data)

    def _run_program(self, state: State, code: str) -> list[Event]:
        """Run a program whose functions are the current tools; every call is an event."""
        events: list[Event] = []
        state.programs_run = (*state.programs_run, (code, ""))
        tools = {tool.name: self._function(state, tool.name, events) for tool in self.tools(state)}
        run = run_program(code, tools=tools, limits=PROGRAM_LIMITS)
        output = run.printed + (f"error: {run.error}\n" if run.error else "")
        state.programs_run = (*state.programs_run[:-1], (code, output))
        data = {"code": code, "printed": run.printed, "error": run.error}
        return [*events, Event(PRINTED, f"The program printed: {output.rstrip()}", data)]

    def _function(self, state: State, name: str, events: list[Event]) -> Callable[..., Any]:
        """A tool as a function of a program, which adds an event for every call."""

        def function(**values: Any) -> Any:
            if not self.to_act(state):
                raise ValueError("no more calls can be made")
            action = call(name, **values)
            if len(action.arguments) > MOST_CHARACTERS:
                raise ValueError(
                    f"the arguments of a call have at most {MOST_CHARACTERS} characters, "
                    f"not {len(action.arguments)}"
                )
            events.append(self._call(state, action))
            made = state.calls_made[-1]
            if made.failed:
                raise ValueError(made.reply)
            return json.loads(made.reply)

        return function

    def known_values(self, state: State) -> Mapping[str, Sequence[str]]:
        """Values by parameter that the player has read; random play draws arguments from them."""
        return EMPTY

    def sample(self, state: State, seat: int, rng: Rng) -> TextAction:
        """Usually a call with known values, sometimes any call, rarely the end."""
        if rng.below(20) == 0:
            return rng.choice(self.closings).sample(rng)
        tools, known = self.tools(state), self.known_values(state)
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
        raise InvalidOption(
            f"{type(self).__name__} has no array observation; use the text view (obs='text')"
        )

    def observe(self, state: State, seat: int) -> Any:
        return self.observation_space(seat)

    def state_key(self, state: State, seat: int | None = None) -> bytes:
        """For the player: a hash of the description and of every call with its answer."""
        if seat is not None:
            known = f"{self.describe(state, seat)}\n{state.calls_made!r}\n{state.programs_run!r}"
        else:
            known = written_state(state)
        return blake2b(known.encode(), digest_size=16).digest()

    def without_counters(self, state: State) -> State:
        still = self.clone(state)
        still.calls_made = still.programs_run = ()
        return still

    def changed(self, state: State) -> Any:
        """The effects of calls that the description does not show."""
        return None

    def anchor(self, state: State, seat: int) -> bytes:
        """A hash of what is known and has changed, independent of the order and number of calls.

        If a call was made several times, its latest answer counts.
        """
        still = self.without_counters(state)
        answers = sorted({repr(made.call): made.reply for made in state.calls_made}.items())
        printed = sorted(dict(state.programs_run).items())
        known = f"{self.describe(still, seat)}\n{answers}\n{printed}\n{self.changed(state)}"
        return blake2b(known.encode(), digest_size=16).digest()
