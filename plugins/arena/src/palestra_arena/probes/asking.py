"""A question as a game of one move, so that every agent, budget and record serves for probes.

The episode's seed is the number of the question. The prompt is the question and nothing else; the
arm's system prompt stands where the rules of a game would.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import Game, InvalidAction, Meta, TextAction, TextGame
from palestra.answers import FORM, find_stated, said
from palestra.kernel.actions import Grammar, Option, Text
from palestra.kernel.game import Mask, Outcome, Step
from palestra.kernel.rng import Rng

from palestra_arena.probes.items import PLAIN, ProbeSet, Question, questions_of

LONGEST_REPLY = 20_000  # characters of a free reply


@dataclass(slots=True)
class OpenQuestion:
    """One question being asked."""

    number: int
    over: bool = False
    rng: Rng = field(default_factory=lambda: Rng(0))


@dataclass(frozen=True)
class ProbeGame(Game[OpenQuestion, Any]):
    """What choices and free replies share."""

    name: Annotated[str, Meta(description="name of the probe set")] = ""
    digest: Annotated[str, Meta(description="digest of the probe set")] = ""
    arm: Annotated[str, Meta(description="arm of the study")] = PLAIN

    order = "sequential"
    payoffs = "general"
    deterministic = True
    num_players = 1
    questions: ClassVar[Sequence[Question]] = ()
    system: ClassVar[str] = ""

    @classmethod
    def of(cls, probes: ProbeSet, arm: str, samples: int) -> Self:
        """The questions of a set that this kind of game asks, in one arm."""
        made = cls(probes.name, probes.digest, arm)
        items = [item for item in probes.items if cls.asks(bool(item.options))]
        object.__setattr__(made, "questions", questions_of(items, samples))
        object.__setattr__(made, "system", probes.arms[arm])
        return made

    @classmethod
    @abstractmethod
    def asks(cls, choice: bool) -> bool:
        """Whether this kind of game asks items that have options (`choice`) or have none."""

    def question(self, state: OpenQuestion) -> Question:
        return self.questions[state.number]

    def rules_for(self, seat: int) -> str:
        return self.system

    def answer_form(self, seat: int) -> str:
        """Nothing is added to a system prompt: the question says how to answer."""
        return ""

    def initial_state(self, seed: int | None = None) -> OpenQuestion:
        return OpenQuestion(seed or 0)

    def to_act(self, state: OpenQuestion) -> tuple[int, ...]:
        return () if state.over else (0,)

    def step(self, state: OpenQuestion, actions: Mapping[int, Any]) -> Step:
        state.over = True
        return Step()

    def outcome(self, state: OpenQuestion) -> Outcome | None:
        return Outcome(("score",), (0.0,), "answered") if state.over else None

    def observation_space(self, seat: int) -> spaces.Box:
        return spaces.Box(0, max(1, len(self.questions)), (1,), np.int64)

    def observe(self, state: OpenQuestion, seat: int) -> NDArray[np.int64]:
        return np.array([state.number], np.int64)

    def describe(self, state: OpenQuestion, seat: int) -> str:
        return self.question(state).text

    def prompt(self, state: OpenQuestion, seat: int, news: Sequence[str], legal: str | None) -> str:
        return self.question(state).text


@dataclass(frozen=True)
class Choices(ProbeGame):
    """Questions with options; action k is the option listed at place k."""

    @classmethod
    def asks(cls, choice: bool) -> bool:
        return choice

    @property
    def most(self) -> int:
        return max((len(question.order) for question in self.questions), default=1)

    def legal(self, state: OpenQuestion, seat: int) -> range:
        return range(len(self.question(state).order))

    def action_space(self, seat: int) -> spaces.Discrete:
        return spaces.Discrete(self.most)

    def action_mask(self, state: OpenQuestion, seat: int) -> Mask:
        listed = self.most if state.over else len(self.question(state).order)
        return (np.arange(self.most) < listed).astype(np.int8)

    def action_of(self, index: int) -> int:
        return index

    def index_of(self, action: int) -> int | None:
        return action

    def action_text(self, state: OpenQuestion, seat: int, action: int) -> str:
        return self.question(state).labels[action]

    def parse(self, state: OpenQuestion, seat: int, text: str) -> int:
        question = self.question(state)
        place = find_stated(text, question.moves)
        if place is None:
            raise InvalidAction(text, ", ".join(question.labels), question.labels[0], FORM)
        return place

    def check(self, state: OpenQuestion, seat: int, action: int) -> None:
        labels = self.question(state).labels
        if type(action) is not int or not 0 <= action < len(labels):
            raise InvalidAction(action, f"a place from 0 to {len(labels) - 1}", "0")

    def sample(self, state: OpenQuestion, seat: int, rng: Rng) -> int:
        return rng.below(len(self.question(state).order))

    def clone(self, state: OpenQuestion) -> OpenQuestion:
        return OpenQuestion(state.number, state.over)

    def state_key(self, state: OpenQuestion, seat: int | None = None) -> bytes:
        return f"{self.digest} {self.arm} {state.number} {state.over}".encode()

    def reseed(self, state: OpenQuestion, seed: int) -> None:
        """Nothing is drawn."""


class Reply(TextAction, frozen=True):
    """A free reply."""

    text: str


@dataclass(frozen=True)
class Replies(ProbeGame, TextGame[OpenQuestion]):
    """Questions without options: whatever is replied is the answer, without its thoughts."""

    action_types = (Reply,)
    menu = ()

    @classmethod
    def asks(cls, choice: bool) -> bool:
        return not choice

    def legal(self, state: OpenQuestion, seat: int) -> Grammar:
        return Grammar((Option(Reply, {"text": Text(LONGEST_REPLY)}),))

    def parse(self, state: OpenQuestion, seat: int, text: str) -> Reply:
        reply = said(text).strip()[:LONGEST_REPLY]
        if not reply:
            raise InvalidAction(text, "a reply in words", why="nothing was said")
        return Reply(reply)

    def action_text(self, state: OpenQuestion, seat: int, action: TextAction) -> str:
        return action.text if isinstance(action, Reply) else repr(action)
