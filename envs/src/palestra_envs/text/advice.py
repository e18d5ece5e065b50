"""Advice: ask a person about themselves, then recommend what suits them.

A simulated person has three attributes, each of two kinds and as likely as the other; together they
are the person's type, which is hidden. In every turn the player asks about one attribute or
recommends a plan, which ends the episode. The person answers a question truthfully with the chance
`candour`, and otherwise names the other kind; the same question may be asked again. A plan fits if
it suits all three attributes; it then pays 1, and each question costs `price`.

Two conversations after "Enhancing Personalized Multi-Turn Dialogue with Curiosity Reward", 2025:
advice on exercise, and lessons in a manner of teaching. The paper's people are language models;
these follow the rule above, so that beliefs about them are exact. The game reports the belief of a
Bayesian user model (the chance of every type, given the answers) and the true type, which the
shaper `curiosity` reads. Attributes and plans are this package's own.

Checked: the belief against Bayes' rule by enumeration of all types and answers.

Left out: the paper's simulated people, who are language models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    Meta,
    OneOf,
    Option,
    Outcome,
    Rng,
    Scene,
    ScriptedAgent,
    Step,
    TextAction,
    TextGame,
    Turn,
    agent,
    environment,
)
from palestra.grids.words import quantity
from palestra.scene import Colour, Grid, Piece, mark_cells

ASKED = 12  # questions in a picture

ATTRIBUTES = {
    "exercise": {
        "joints": ("sound joints", "sore joints"),
        "company": ("alone", "with others"),
        "time": ("in the morning", "in the evening"),
    },
    "education": {
        "style": ("by lectures", "by doing"),
        "pace": ("slowly", "fast"),
        "examples": ("with theory first", "with examples first"),
    },
}
WHO = {"exercise": "a person who wants to exercise", "education": "a student"}
TYPES = tuple(product((0, 1), repeat=3))


class Ask(TextAction, frozen=True):
    """Ask the person about an attribute."""

    about: str


class Recommend(TextAction, frozen=True):
    """Recommend a plan that suits these kinds of the three attributes, and end."""

    first: str
    second: str
    third: str


@dataclass(slots=True)
class Conversation:
    """The state: who the person is, and what was asked and answered."""

    rng: Rng
    kind: tuple[int, ...]  # of each attribute; hidden
    asked: tuple[tuple[int, int], ...] = ()  # attribute, and the kind that was answered
    plan: tuple[int, ...] | None = None


@environment(
    "text/Advice-v0",
    family="text",
    tags=("dialogue", "hidden-information", "chance"),
    paper="Enhancing Personalized Multi-Turn Dialogue with Curiosity Reward (2025)",
    splits={"education": {"scenario": "education"}, "reticent": {"candour": 0.65}},
)
@dataclass(frozen=True)
class Advice(TextGame[Conversation]):
    """Ask a person about themselves, then recommend what suits them.

    The menu numbers Ask for each of three attributes, then Recommend for each of eight types. An
    observation is an int16 vector: for each attribute how often the person named the first and the
    second kind, then the questions left.
    """

    scenario: Annotated[
        Literal["exercise", "education"], Meta(description="what the conversation is about")
    ] = "exercise"
    candour: Annotated[
        float, Meta(ge=0.5, le=1, description="chance that an answer is the truth")
    ] = 0.85
    questions: Annotated[int, Meta(ge=1, le=100, description="most questions")] = 9
    price: Annotated[float, Meta(ge=0, le=1, description="cost of a question")] = 0.02

    rules_text = """
        You talk with a person and then recommend a plan that suits them.

        In your turn write one of:
        Ask(about='…') to ask about one of the three attributes named below. People do not always
        answer truthfully, and may be asked the same again;
        Recommend(first='…', second='…', third='…') with a kind of each attribute, in their order.
        It ends the conversation.

        A plan pays 1 if it suits the person in all three attributes and 0 otherwise.
    """
    order = "sequential"
    payoffs = "general"
    num_players = 1
    perfect_information = False
    deterministic = False
    reward_terms = ("fit", "questions")
    action_types = (Ask, Recommend)

    # Derived from the options

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (-self.price * self.questions, 1.0)

    @cached_property
    def kinds(self) -> Mapping[str, tuple[str, str]]:
        """The two kinds of each attribute."""
        return ATTRIBUTES[self.scenario]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The attributes in order."""
        return tuple(self.kinds)

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        return (*map(Ask, self.names), *map(self.plan, TYPES))

    def plan(self, kind: tuple[int, ...]) -> Recommend:
        """The plan that suits a type."""
        return Recommend(*(self.kinds[n][k] for n, k in zip(self.names, kind, strict=True)))

    # The rules

    def initial_state(self, seed: int | None = None) -> Conversation:
        rng = Rng.seeded(seed)
        return Conversation(rng, rng.choice(TYPES))

    def to_act(self, state: Conversation) -> tuple[int, ...]:
        return () if state.plan is not None else (0,)

    def legal(self, state: Conversation, seat: int) -> Grammar:
        parts = zip(("first", "second", "third"), self.kinds.values(), strict=True)
        options = [Option(Recommend, {part: OneOf(kinds) for part, kinds in parts})]
        if len(state.asked) < self.questions:
            options.insert(0, Option(Ask, {"about": OneOf(self.names)}))
        return Grammar(tuple(options))

    def step(self, state: Conversation, actions: Mapping[int, TextAction]) -> Step:
        action = actions[0]
        if isinstance(action, Ask):
            return self._answer(state, self.names.index(action.about))
        assert isinstance(action, Recommend)
        stated = zip(self.names, (action.first, action.second, action.third), strict=True)
        state.plan = tuple(self.kinds[name].index(kind) for name, kind in stated)
        fits = state.plan == state.kind
        text = "The plan suits the person." if fits else "The plan does not suit the person."
        return Step({0: {"fit": float(fits)}}, events=[Event("reveal", text, {"fits": fits})])

    def _answer(self, state: Conversation, about: int) -> Step:
        said = state.kind[about]
        if state.rng.random() >= self.candour:
            said = 1 - said
        state.asked = (*state.asked, (about, said))
        text = f"You ask about {self.names[about]}: {self.kinds[self.names[about]][said]!r}."
        event = Event("reveal", text, {"attribute": self.names[about], "said": said})
        return Step({0: {"questions": -self.price}} if self.price else {}, events=[event])

    def outcome(self, state: Conversation) -> Outcome | None:
        if state.plan is None:
            return None
        fits = state.plan == state.kind
        score = float(fits) - self.price * len(state.asked)
        reason = "the plan suited the person" if fits else "the plan did not suit the person"
        return Outcome(("win" if fits else "loss",), (score,), reason)

    def belief(self, state: Conversation) -> list[float]:
        """The chance of every type in `TYPES`, given the answers."""
        true, false = self.candour, 1 - self.candour
        odds = np.ones((3, 2))
        for about, said in state.asked:
            odds[about] *= [true if kind == said else false for kind in (0, 1)]
        odds /= odds.sum(axis=1, keepdims=True)
        return [float(np.prod([odds[n, k] for n, k in enumerate(kind)])) for kind in TYPES]

    def record_facts(self, state: Conversation) -> dict[str, Any]:
        """The user model's belief and the true type, by number in `TYPES`."""
        return {"belief": self.belief(state), "type": TYPES.index(state.kind)}

    def determinize(self, state: Conversation, seat: int, rng: Rng) -> Conversation:
        """Draw the person's type from the belief, and their answers to come anew."""
        imagined, mark = self.clone(state), rng.random()
        bounds = np.cumsum(self.belief(state))
        imagined.kind = TYPES[min(int(np.searchsorted(bounds, mark, side="right")), 7)]
        imagined.rng = Rng.seeded(rng.word())
        return imagined

    # What the player sees

    def rules_for(self, seat: int) -> str:
        kinds = [f"{name}: {one!r} or {two!r}" for name, (one, two) in self.kinds.items()]
        return "\n".join(
            [
                super().rules_for(seat),
                f"You talk with {WHO[self.scenario]}. The attributes, either kind of which is as "
                f"likely as the other, are:",
                *(f"- {line}" for line in kinds),
                f"An answer is true with a chance of {self.candour:g}. A question costs "
                f"{self.price:g}; you may ask {self.questions}.",
            ]
        )

    def describe(self, state: Conversation, seat: int) -> str:
        told = [
            f"- {name}: {kind!r}, {quantity(count, 'time')}"
            for name, kinds, counts in zip(
                self.names, self.kinds.values(), self._counts(state), strict=True
            )
            for kind, count in zip(kinds, counts, strict=True)
            if count
        ]
        left = f"Questions asked: {len(state.asked)} of {self.questions}."
        return "\n".join([left, "The person said:", *(told or ["- nothing yet"])])

    def _counts(self, state: Conversation) -> list[list[int]]:
        """How often each kind of each attribute was named."""
        return [[state.asked.count((n, kind)) for kind in (0, 1)] for n in range(3)]

    @cached_property
    def _space(self) -> spaces.Box:
        return spaces.Box(0, self.questions, (7,), np.int16)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    def observe(self, state: Conversation, seat: int) -> NDArray[np.int16]:
        """The observation vector; the class docstring gives the layout."""
        left = self.questions - len(state.asked)
        return np.array([*np.ravel(self._counts(state)), left], np.int16)

    def scene(self, state: Conversation, seat: int | None = None) -> Scene:
        """A row for each kind: in which answers it was named, whether it is so, and the plan.

        A spectator sees what is so: answers and parts of the plan that fit it are green, others
        red.
        """
        first = max(0, len(state.asked) - ASKED)
        shown = state.asked[first:]
        width = min(ASKED, self.questions)
        rows, labels = [], []
        for about, name in enumerate(self.names):
            for kind, words in enumerate(self.kinds[name]):
                place, tint = (about, kind), self._tint(state, (about, kind), seat)
                said = [Piece("+", tint, label=words) if one == place else None for one in shown]
                true = Piece("=", "gold", "disc", "so") if self._is_so(state, place) else None
                planned = Piece("!", tint, label="plan") if self._is_planned(state, place) else None
                ends = (planned,) if seat is not None else (true, planned)
                rows.append((*said, *[None] * (width - len(shown)), *ends))
                labels.append(words)
        numbers = [str(first + n + 1) for n in range(width)]
        columns = (*numbers, *(("true",) if seat is None else ()), "plan")
        last = [(2 * shown[-1][0] + shown[-1][1], len(shown) - 1)] if shown else []
        board = Grid(
            tuple(rows), tuple(labels), columns, marks=mark_cells("last", last), boxes=(2, width)
        )
        return Scene(f"Questions asked: {len(state.asked)} of {self.questions}", parts=(board,))

    @staticmethod
    def _is_so(state: Conversation, place: tuple[int, int]) -> bool:
        return state.kind[place[0]] == place[1]

    @staticmethod
    def _is_planned(state: Conversation, place: tuple[int, int]) -> bool:
        return state.plan is not None and state.plan[place[0]] == place[1]

    def _tint(self, state: Conversation, place: tuple[int, int], seat: int | None) -> Colour:
        """The colour of a kind of an attribute, which tells a spectator whether it is so."""
        if seat is not None:
            return 0
        return "green" if self._is_so(state, place) else "red"


@agent("advice-seeker", kind="solver")
class Adviser(ScriptedAgent[Advice]):
    """Asks about what it knows least until it is sure, then recommends what is likeliest."""

    def __init__(
        self,
        *,
        sure: Annotated[
            float, Meta(gt=0.5, le=1, description="chance of a kind that is enough")
        ] = 0.95,
    ) -> None:
        super().__init__(seed=0)
        self._sure = sure

    def choose(self, turn: Turn[Advice]) -> TextAction:
        game = turn.game
        counts, left = turn.observation[:6].reshape(3, 2).tolist(), int(turn.observation[6])
        leads = [abs(one - two) for one, two in counts]
        odds = game.candour / max(1 - game.candour, 1e-12)
        least = int(np.argmin(leads))
        if left and odds ** leads[least] / (1 + odds ** leads[least]) < self._sure:
            return Ask(game.names[least])
        return game.plan(tuple(int(two > one) for one, two in counts))
