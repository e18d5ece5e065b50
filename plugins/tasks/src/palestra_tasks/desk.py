"""The base of every task here: players act in turn, each action is answered, the end is scored.

A subclass says what a task is (`statement`), which actions are legal (`options`), how an action is
answered (`respond`) and what the end is worth (`settle`). What depends on anything hidden is told
in an event of kind "reveal".
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np
from gymnasium import spaces
from palestra import (
    Event,
    Grammar,
    InvalidAction,
    InvalidOption,
    Meta,
    Option,
    Outcome,
    Rng,
    Scene,
    Step,
    TextAction,
    TextGame,
)
from palestra.answers import LONGEST_ANSWER, said
from palestra.kernel.actions import read_action
from palestra.kernel.game import Result
from palestra.kernel.specs import Payoffs
from palestra.kernel.text_game import written_state
from palestra.quoting import escape
from palestra.scene import Lines, Part, Saying, Talk

SHOWN = 600  # characters of one saying in a picture
REVEAL = "reveal"
_FENCED = re.compile(r"```(?:python|py)\n(.*?)```", re.DOTALL)

Turns = Annotated[int, Meta(ge=1, le=1000, description="most actions in an episode")]


class Program(TextAction, frozen=True):
    """Hand in a Python program."""

    code: str


class Finish(TextAction, frozen=True):
    """End the episode; the work so far is scored."""


FINISH = Option(Finish)


@dataclass(frozen=True, slots=True)
class Past:
    """An action that was answered. `state_key` hashes its repr."""

    seat: int
    action: TextAction
    reply: str
    audience: frozenset[int] | None = None  # who saw both; None for everybody

    def visible_to(self, seat: int) -> bool:
        return self.audience is None or seat in self.audience


@dataclass(frozen=True, slots=True)
class Final:
    """How an episode ended: a score and a result for every seat, a reason, and facts."""

    scores: tuple[float, ...]
    results: tuple[Result, ...]
    reason: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to an action.

    `pays` are reward terms of the seat that acted; `facts` are for programs that read the log.
    """

    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    pays: Mapping[str, float] = field(default_factory=dict)
    audience: frozenset[int] | None = None
    kind: str = REVEAL


@dataclass(slots=True, kw_only=True)
class TaskState:
    """The fields that the state of every task has."""

    rng: Rng
    past: tuple[Past, ...] = ()
    closed: bool = False
    final: Final | None = None


State = TypeVar("State", bound=TaskState)


def solo(score: float, reason: str, *, won: bool | None = None, **facts: Any) -> Final:
    """The end of an episode of one player; without `won` the score is the result."""
    result: Result = "score" if won is None else "win" if won else "loss"
    return Final((float(score),), (result,), reason, facts)


def shared_end(score: float, seats: int, reason: str, facts: Mapping[str, Any]) -> Final:
    """The end of an episode that is worth the same to every seat."""
    result: Result = "score"
    return Final((float(score),) * seats, (result,) * seats, reason, facts)


class TaskGame(TextGame[State]):
    """A game whose actions are answered one by one, until it is closed or `turns` are used."""

    order = "sequential"
    payoffs: ClassVar[Payoffs] = "general"
    num_players = 1
    perfect_information = False
    deterministic = True
    menu: tuple[TextAction, ...] = ()
    reward_terms: ClassVar[tuple[str, ...]] = ("score",)
    score_term: ClassVar[str] = "score"  # the reward term under which the final score is paid
    pays_score = True  # whether the final score is paid; False where it was paid on the way
    num_features: Any = 0  # entries of the array observation; 0 where actions have no numbers
    feature_bounds: Any = (-1e6, 1e6)
    shown_past: ClassVar[int] = 6  # actions whose words stand in a picture, the last ones
    turns: Any  # Turns; a dataclass field

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, 1.0)

    # What a task says

    @abstractmethod
    def statement(self, state: State, seat: int) -> str:
        """The task as a seat reads it, the same in every turn."""

    @abstractmethod
    def options(self, state: State, seat: int) -> tuple[Option, ...]:
        """The legal actions."""

    @abstractmethod
    def respond(self, state: State, seat: int, action: Any) -> Reply:
        """Carry out an action, changing `state` in place."""

    @abstractmethod
    def settle(self, state: State) -> Final:
        """Score the episode."""

    def notes(self, state: State, seat: int) -> tuple[str, ...]:
        """Lines that change from turn to turn."""
        return ()

    def features(self, state: State, seat: int) -> Sequence[float]:
        """The array observation: `num_features` numbers."""
        return ()

    def picture(self, state: State, seat: int | None) -> tuple[Part, ...]:
        """What to draw above the talk; for None everything may be shown."""
        return ()

    def told(self, state: State, seat: int) -> str:
        """The task in the words of a picture: the statement, or what the picture does not show."""
        return self.statement(state, seat)

    def noted(self, state: State, seat: int | None) -> tuple[str, ...]:
        """The last lines of a picture: the notes, or those that the picture does not show."""
        return self.notes(state, 0 if seat is None else seat)

    def acting(self, state: State) -> int:
        """The seat to act while the episode is not over."""
        return 0

    def copy_for(self, state: State, seat: int) -> State:
        """A copy for `determinize`, without actions and answers that a seat did not see."""
        copy = self.clone(state)
        copy.past = tuple(
            one if one.visible_to(seat) else Past(one.seat, Finish(), "", one.audience)
            for one in state.past
        )
        return copy

    # The rules

    def to_act(self, state: State) -> tuple[int, ...]:
        return () if state.final is not None else (self.acting(state),)

    def legal(self, state: State, seat: int) -> Grammar:
        return Grammar(self.options(state, seat))

    def step(self, state: State, actions: Mapping[int, TextAction]) -> Step:
        ((seat, action),) = actions.items()
        reply = self.respond(state, seat, action)
        state.past = (*state.past, Past(seat, action, reply.text, reply.audience))
        facts = {"player": seat, "action": repr(action), **reply.facts}
        events = [Event(reply.kind, reply.text, facts, reply.audience)]
        pays: dict[int, dict[str, float]] = {seat: dict(reply.pays)} if reply.pays else {}
        if state.closed or len(state.past) >= self.turns:
            final = state.final = self.settle(state)
            events.append(Event(REVEAL, final.reason, {"verdict": dict(final.facts)}))
            for one, score in enumerate(final.scores):
                if score and self.pays_score:
                    pays.setdefault(one, {})[self.score_term] = score
        return Step(pays, events=events)

    def outcome(self, state: State) -> Outcome | None:
        final = state.final
        return None if final is None else Outcome(final.results, final.scores, final.reason)

    # What a player sees

    def describe(self, state: State, seat: int) -> str:
        left = self.turns - len(state.past)
        lines = [self.statement(state, seat), *self.notes(state, seat)]
        return "\n".join([*lines, f"Actions left: {left} of {self.turns}."])

    def seen(self, state: State, seat: int | None) -> tuple[Past, ...]:
        """What was said that a seat has seen; for None everything."""
        if seat is None:
            return state.past
        return tuple(one for one in state.past if one.visible_to(seat))

    def scene(self, state: State, seat: int | None = None) -> Scene:
        """The picture of the task, what was said last, and the task itself."""
        past, said_so_far = self.seen(state, seat), list[Saying]()
        for number in range(max(0, len(past) - self.shown_past), len(past)):
            one = past[number]
            alike = (
                p.action for p in reversed(past[:number]) if type(p.action) is type(one.action)
            )
            shown = shown_action(one.action, next(alike, None))
            said_so_far += (
                Saying(self.players[one.seat], shown, one.seat, code="\n" in shown),
                Saying("answer", beginning(one.reply), "green"),
            )
        reader = 0 if seat is None else seat
        task = Lines(tuple(self.told(state, reader).splitlines()))
        parts: list[Part] = [*self.picture(state, seat), Talk(tuple(said_so_far)), task]
        return Scene(parts=tuple(parts), lines=self.noted(state, seat))

    def observation_space(self, seat: int) -> spaces.Box:
        if not self.num_features:
            raise InvalidOption(
                f"{type(self).__name__} has no array observation; use the text view (obs='text')"
            )
        low, high = self.feature_bounds
        return spaces.Box(low, high, (int(self.num_features),), np.float32)

    def observe(self, state: State, seat: int) -> Any:
        space = self.observation_space(seat)
        seen = np.asarray(self.features(state, seat), np.float32)
        return np.clip(seen, space.low, space.high)

    def state_key(self, state: State, seat: int | None = None) -> bytes:
        if seat is None:
            known = written_state(state)
        else:
            known = f"{seat}\n{self.describe(state, seat)}\n{self.seen(state, seat)!r}"
        return blake2b(known.encode("utf-8", "replace"), digest_size=16).digest()

    def parse(self, state: State, seat: int, text: str) -> TextAction:
        """An action in call form or as JSON; a fenced block of Python that ends it is a program."""
        legal = self.legal(state, seat)
        if "```" in text and len(text) <= LONGEST_ANSWER:
            program = _fenced_program(text, legal)
            if program is not None:
                why = legal.problem(program)
                if why:
                    raise InvalidAction(text, str(legal), legal.example(), why)
                return program
        return read_action(text, legal, self.action_types)


def beginning(text: str) -> str:
    """A text, or its beginning with a sign that more follows."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} …"


def shown_action(action: TextAction, before: TextAction | None = None) -> str:
    """An action as people read it: texts of several lines below its name, their lines numbered.

    So no line of theirs can be mistaken for another's. Lines that the action `before` of the same
    kind does not have, such as those of a program that were changed, have a plus sign.
    """
    texts = _long_texts(action)
    if not texts:
        return escape(beginning(repr(action)))
    fields = {name: getattr(action, name) for name in action.__struct_fields__}
    others = ", ".join(f"{name}={value!r}" for name, value in fields.items() if value not in texts)
    lines = [line for text in texts for line in beginning(text.strip("\n")).split("\n")]
    old = (
        {line for text in _long_texts(before) for line in text.split("\n")}
        if before
        else set(lines)
    )
    numbered = [
        f"{number:>2}{' ' if line in old else '+'} {escape(line)}"
        for number, line in enumerate(lines, 1)
    ]
    return "\n".join([f"{type(action).__name__}({escape(others)})", *numbered])


def _long_texts(action: TextAction) -> list[str]:
    """The texts of an action that have several lines."""
    values = (getattr(action, name) for name in action.__struct_fields__)
    return [value for value in values if isinstance(value, str) and "\n" in value]


def _fenced_program(text: str, legal: Grammar) -> Program | None:
    """The fenced block of Python that ends an answer, where programs are legal."""
    found = list(_FENCED.finditer(said(text)))
    possible = any(option.action is Program for option in legal)
    if not found or not possible or found[-1].string[found[-1].end() :].strip():
        return None
    return Program(found[-1][1])
