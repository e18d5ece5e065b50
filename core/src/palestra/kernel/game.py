"""The rules of a game, on which every view, agent and renderer is built.

A `Game` holds configuration only. Whatever changes is in a state, which is a value: clone it,
compare it, pickle it, branch it; its random number generator is part of it. Seats are numbered from
0 here and named `player_0`, `player_1`, … in the views.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from math import fsum
from typing import Any, ClassVar, Generic, Literal, TypeVar

import msgspec
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from palestra.kernel.errors import InvalidOption, OutOfTurn
from palestra.kernel.events import Event
from palestra.kernel.options import check_options
from palestra.kernel.rng import Rng
from palestra.kernel.specs import MoveOrder, Payoffs
from palestra.paragraphs import paragraphs
from palestra.scene import Scene

State = TypeVar("State")
Action = TypeVar("Action")
Terms = Mapping[int, Mapping[str, float]]
Result = Literal["none", "win", "draw", "loss", "forfeit", "truncated", "score"]
Mask = NDArray[np.int8]
FEW = 32  # entries of a mask that Python scans faster than numpy


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an episode ended; rewards are separate.

    results: by seat, a `Result`. scores: by seat, points as the rules count them. reason: one
        sentence.
    """

    results: tuple[Result, ...]
    scores: tuple[float, ...]
    reason: str = ""

    @property
    def winners(self) -> tuple[int, ...]:
        """The seats whose result is "win"."""
        return tuple(seat for seat, result in enumerate(self.results) if result == "win")


class Step(msgspec.Struct, frozen=True, gc=False):
    """The result of one set of actions.

    rewards, costs: by seat, amounts by the name of their term. events: what happened, in order.
    """

    rewards: Terms = {}
    costs: Terms = {}
    events: Sequence[Event] = ()


@dataclass(frozen=True, slots=True)
class Seat:
    """A place at the table.

    player: its id. role: a word, empty if there are none. team: the number of its team.
    """

    player: str
    role: str = ""
    team: int = 0


class Game(ABC, Generic[State, Action]):
    """Rules as functions of a state; concrete games are frozen dataclasses of their options.

    `rules_text` is what a player reads; the docstring is for Python users.

    Declared facts:

    num_players: the number of seats. order: "sequential", "simultaneous" or "phased". payoffs:
        "zero-sum", "common" or "general". perfect_information: whether every seat sees the whole
        state. deterministic: whether there is no chance after the start. reward_terms, cost_terms:
        the names under which a step pays. counters: state fields that count the past and do not
        affect the future, such as steps up to a limit. runs_programs: whether moves can be
        programs, which are run.

    Arguments of its methods:

    state: a state of this game, which only `step` and `reseed` change. seat: a number from 0 to
        `num_players - 1`. actions: by seat, an action. action: a number, or a typed action. index:
        the number of an action, below `action_space(seat).n`. text: an answer, as it was written.
        rng: a generator to draw from. seed: an integer in [0, 2**64). lost: the seats that forfeit.
        news: texts of events that are new to the seat. legal: the legal moves in one line, None if
        the seat is not to move.
    """

    rules_text: ClassVar[str] = ""  # what a player reads before the first move
    order: ClassVar[MoveOrder]
    payoffs: ClassVar[Payoffs]
    perfect_information: ClassVar[bool] = True
    deterministic: ClassVar[bool] = False  # no chance after the initial state
    runs_programs: Any = False  # bool, or a property: whether moves can be programs, which are run
    reward_terms: ClassVar[tuple[str, ...]] = ("payoff",)
    cost_terms: ClassVar[tuple[str, ...]] = ()
    counters: ClassVar[tuple[str, ...]] = ()  # state fields that `anchor` leaves out
    num_players: Any  # int; a class attribute, or a dataclass field where the number varies

    def __post_init__(self) -> None:
        """Check each option against its annotation, then call `validate`."""
        check_options(self)
        self.validate()

    def validate(self) -> None:
        """Raise `InvalidOption` if options are valid one by one but contradict each other."""

    def __getstate__(self) -> dict[str, Any]:
        """Options only: cached values are computed again after unpickling."""
        kind = type(self)
        return {
            name: value
            for name, value in vars(self).items()
            if not isinstance(getattr(kind, name, None), cached_property)
        }

    # Who plays

    @cached_property
    def players(self) -> tuple[str, ...]:
        """The ids of the seats: player_0, player_1, …"""
        return tuple(f"player_{seat}" for seat in range(self.num_players))

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        """The role and team of every seat; by default no roles, and each seat is its own team."""
        return tuple(Seat(player, team=i) for i, player in enumerate(self.players))

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        """The lowest and highest return of a seat; a forfeit pays the lowest."""
        return (-1.0, 1.0)

    @property
    def has_numbers(self) -> bool:
        """Whether actions have numbers; a game without numbers has only a text view."""
        return True

    @property
    def has_newcomers(self) -> bool:
        """Whether new people take seats, occupied or empty ones, during the game."""
        return False

    # The rules

    @abstractmethod
    def initial_state(self, seed: int | None = None) -> State:
        """The state before the first move; the same seed gives an equal state."""

    @abstractmethod
    def to_act(self, state: State) -> tuple[int, ...]:
        """Seats to move now; several move simultaneously, and none means that the game is over."""

    @abstractmethod
    def legal(self, state: State, seat: int) -> Any:
        """A mask over a Discrete space (int8, 1 for legal), or a `Grammar` of typed actions."""

    @abstractmethod
    def step(self, state: State, actions: Mapping[int, Action]) -> Step:
        """Play one legal action for every seat in `to_act`, changing `state` in place."""

    @abstractmethod
    def outcome(self, state: State) -> Outcome | None:
        """How the game ended; None while it continues."""

    def opening(self, state: State) -> Sequence[Event]:
        """Events before the first move: deals, private values, the starting stock."""
        return ()

    def present(self, state: State) -> tuple[int, ...]:
        """Seats still in the game; a seat that has left never acts again."""
        return tuple(range(self.num_players))

    def truncated(self, state: State) -> bool:
        """Whether the game ended at a time limit rather than by its rules."""
        return False

    # What a player sees and says

    @abstractmethod
    def observation_space(self, seat: int) -> spaces.Space[Any]:
        """The Gymnasium space of what `observe` returns; the same in every state."""

    @abstractmethod
    def observe(self, state: State, seat: int) -> Any:
        """The array view: an element of `observation_space(seat)`, a copy."""

    @abstractmethod
    def describe(self, state: State, seat: int) -> str:
        """The text view: what `observe` shows, in words."""

    def prompt(self, state: State, seat: int, news: Sequence[str], legal: str | None) -> str:
        """The text prompt: `news`, the position, and what is `legal`."""
        asked = [] if legal is None else [f"{self.players[seat]}, you may play: {legal}"]
        return "\n".join([*news, self.describe(state, seat), *asked])

    @abstractmethod
    def parse(self, state: State, seat: int, text: str) -> Action:
        """Parse a move; raises `InvalidAction`, which says what was read and what is legal."""

    @abstractmethod
    def action_text(self, state: State, seat: int, action: Action) -> str:
        """The text of a move, in the form that `parse` reads."""

    def rules_for(self, seat: int) -> str:
        """What a player must know before the first move: `rules_text`, one line per paragraph."""
        return paragraphs(self.rules_text)

    def scene(self, state: State, seat: int | None = None) -> Scene:
        """What to draw for a seat; for None, a spectator who may see everything."""
        shown = range(self.num_players) if seat is None else (seat,)
        return Scene(lines=tuple(self.describe(state, one) for one in shown))

    # Actions by number

    @abstractmethod
    def action_space(self, seat: int) -> spaces.Discrete:
        """The Gymnasium space of action numbers; `InvalidOption` if actions have none."""

    @abstractmethod
    def action_mask(self, state: State, seat: int) -> Mask:
        """1 for every legal action number, int8 of shape (n,); all ones for a seat that is not to
        act.
        """

    @abstractmethod
    def action_of(self, index: int) -> Action:
        """The action a number stands for; `InvalidAction` if there is none."""

    @abstractmethod
    def index_of(self, action: Action) -> int | None:
        """The number of an action; None if it has none (free text)."""

    @abstractmethod
    def check(self, state: State, seat: int, action: Action) -> None:
        """Raise `InvalidAction` unless the action is legal."""

    @abstractmethod
    def sample(self, state: State, seat: int, rng: Rng) -> Action:
        """A random legal action."""

    def legal_actions(self, state: State, seat: int) -> list[Action]:
        """Every legal action that has a number, in order of their numbers."""
        return [self.action_of(index) for index in allowed_actions(self.action_mask(state, seat))]

    def noop(self, state: State, seat: int) -> Action | None:
        """The action that does nothing; None if the game has none."""
        return None

    def scripted(self, state: State, seat: int) -> int:
        """The move of the game's own script, -1 for any; `InvalidOption` if it has none."""
        raise InvalidOption(
            f"{type(self).__name__} has no script; choose another agent than 'scripted'"
        )

    # States as values

    @abstractmethod
    def clone(self, state: State) -> State:
        """An independent copy."""

    @abstractmethod
    def state_key(self, state: State, seat: int | None = None) -> bytes:
        """A digest of the decision problem: of what `seat` sees, or of the whole state for None.

        Random numbers still to be drawn are not part of it.
        """

    def anchor(self, state: State, seat: int) -> bytes:
        """A digest that is equal whenever the same decision recurs: `state_key` without `counters`.

        A game that overrides it counts as having counters; for others, records hold only
        `state_key`.
        """
        return self.state_key(self.without_counters(state), seat)

    def without_counters(self, state: State) -> State:
        """A copy of a state with all `counters` at zero."""
        still = self.clone(state)
        for name in self.counters:
            setattr(still, name, zeros_for(getattr(still, name)))
        return still

    @abstractmethod
    def reseed(self, state: State, seed: int) -> None:
        """Replace the generator of future chance, in place."""

    def determinize(self, state: State, seat: int, rng: Rng) -> State:
        """A copy in which all that is hidden from `seat` is sampled again, from what it saw alone.

        Search agents plan on it and the conformance kit tests privacy with it. A game that hides
        something defines it, or raises `InvalidOption`. The same `rng` gives the same copy in all
        states that `seat` cannot tell apart: what is hidden is sorted before a shuffle, or drawn.
        """
        if self.perfect_information:
            return self.clone(state)
        raise InvalidOption(
            f"{type(self).__name__} hides information and defines no determinize(); "
            "an agent that looks ahead would see the secret"
        )

    def refuse_the_end(self, state: State) -> None:
        """Raise `OutOfTurn` where nobody is to act any more.

        `determinize` begins with it where the last state holds what a player never learns.
        """
        if not self.to_act(state):
            raise OutOfTurn("the episode is over: there is nothing to look ahead to")

    def deals(self) -> Sequence[tuple[float, State]] | None:
        """Every initial state with its probability; None if they cannot be listed.

        Exact solvers start from these; chance between moves is not included.
        """
        return None

    def forfeit(self, *lost: int) -> dict[int, float]:
        """Every seat's reward when seats forfeit: each the lowest payoff; its rivals share that."""
        (low, _), rivals = self.payoff_bounds, self.num_players - 1
        share = -low / rivals if self.payoffs == "zero-sum" and rivals else 0.0
        own, seats = min(low, 0.0), range(self.num_players)
        return {seat: fsum(own if seat == other else share for other in lost) for seat in seats}


def allowed_actions(mask: Mask) -> list[int]:
    """The action numbers a mask of int8 allows; numpy finds them eight times faster in booleans."""
    if len(mask) <= FEW:
        return list(compress(range(len(mask)), mask.tobytes()))
    return mask.view(np.bool_).nonzero()[0].tolist()


def zeros_for(count: Any) -> Any:
    """A number, or numbers in an array, a list or a tuple, as zeros."""
    if isinstance(count, list | tuple):
        return type(count)(zeros_for(item) for item in count)
    return count - count  # -1.0 * 0 is -0.0, which is written otherwise than 0.0


def total(terms: Mapping[str, float] | None) -> float:
    """Sum named terms; `sum` would add them differently on other versions of Python."""
    return fsum(terms.values()) if terms else 0.0
