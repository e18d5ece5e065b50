"""Simulators run episodes: a state, and everything derived from it.

`GameSimulator` runs any `Game` through its methods. The engine adds one for array games, which
keeps the state and everything derived from it in one block of memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from palestra.kernel.errors import InvalidOption
from palestra.kernel.events import Event
from palestra.kernel.game import Game, Mask, Outcome, Step, allowed_actions, total
from palestra.kernel.rng import Rng


class Simulator(ABC):
    """A state and what derives from it; `to_act` is empty once the rules have ended the game."""

    game: Game[Any, Any]
    to_act: tuple[int, ...]

    @abstractmethod
    def begin(self, seed: int) -> None:
        """Start a new episode from `seed`."""

    @abstractmethod
    def advance(self, actions: Mapping[int, Any]) -> bool:
        """Play the actions of all seats to act; returns False and changes nothing if one is
        illegal.

        Raises KeyError for a missing seat.
        """

    @property
    @abstractmethod
    def state(self) -> Any:
        """The state itself; clone it before keeping it."""

    @abstractmethod
    def load(self, state: Any) -> None:
        """Continue from a copy of `state`."""

    @abstractmethod
    def copy(self) -> Simulator: ...

    @property
    def outcome(self) -> Outcome | None:
        """How the rules ended the game; None while it goes on."""
        return self.game.outcome(self.state)

    @property
    @abstractmethod
    def present(self) -> tuple[int, ...]:
        """Seats still in the game."""

    @property
    @abstractmethod
    def step(self) -> Step:
        """The last step's rewards and costs by name."""

    @property
    @abstractmethod
    def rewards(self) -> Sequence[float]:
        """Every seat's reward of the last step, summed over terms."""

    @property
    @abstractmethod
    def returns(self) -> Sequence[float]:
        """Rewards of every seat so far."""

    @abstractmethod
    def set_returns(self, returns: Sequence[float]) -> None: ...

    @abstractmethod
    def observe(self, seat: int) -> Any: ...

    @abstractmethod
    def mask(self, seat: int) -> Mask: ...

    @abstractmethod
    def state_key(self, seat: int | None) -> bytes:
        """`Game.state_key` of the state."""

    def anchors(self, seats: Sequence[int]) -> list[bytes]:
        """`Game.anchor` of the state, for each of some seats."""
        return [self.game.anchor(self.state, seat) for seat in seats]

    # What a seat may do; the default asks the game

    def legal(self, seat: int) -> Any:
        """The legal actions of a seat: a mask, or a grammar of typed actions."""
        return self.game.legal(self.state, seat)

    def legal_actions(self, seat: int) -> list[Any]:
        """Every legal action that has a number, in order of their numbers."""
        return [self.game.action_of(number) for number in allowed_actions(self.mask(seat))]

    def legal_text(self, seat: int) -> str:
        """The legal actions of a seat, in one line."""
        return str(self.game.legal(self.state, seat))

    def legal_texts(self, seat: int) -> list[str]:
        """The text of every legal numbered action."""
        game, state = self.game, self.state
        return [game.action_text(state, seat, action) for action in self.legal_actions(seat)]

    def parse(self, seat: int, text: str) -> Any:
        """Read a move of one seat; raises `InvalidAction`."""
        return self.game.parse(self.state, seat, text)

    def check(self, seat: int, action: Any) -> None:
        """Raise `InvalidAction` unless an action is legal for a seat."""
        self.game.check(self.state, seat, action)

    def sample(self, seat: int, rng: Rng) -> Any:
        """A random legal action of a seat."""
        return self.game.sample(self.state, seat, rng)

    # What happened

    def before_step(self) -> Any:
        """What `events` needs to know of the state before a step; None if nothing."""
        return None

    def events(self, before: Any, actions: Mapping[int, Any]) -> Sequence[Event]:
        """The events of the last step; `before` is what `before_step` gave ahead of it."""
        return self.step.events

    @abstractmethod
    def playout(self, rng: Rng, limit: int) -> int:
        """Play random legal moves to the end; returns how many steps that took."""


Opener = Callable[[Any, "bool | None"], "Simulator"]
_openers: dict[Any, Opener] = {}


def simulate_with(kind: type[Any], opener: Opener) -> None:
    """Register `opener(game, compiled)` for a class of games and its subclasses."""
    _openers[kind] = opener


def open_simulator(game: Game[Any, Any], compiled: bool | None = None) -> Simulator:
    """The simulator of a game; None compiles array games if numba is installed."""
    for kind, opener in _openers.items():
        if isinstance(game, kind):
            return opener(game, compiled)
    refuse_compiling(game, compiled)
    return GameSimulator(game)


def refuse_compiling(game: Game[Any, Any], compiled: bool | None) -> None:
    """Raise `InvalidOption` if a game without compiled rules is to be compiled."""
    if compiled:
        raise InvalidOption(f"{type(game).__name__} is not an ArrayGame and cannot be compiled")


class GameSimulator(Simulator):
    """Runs any game through its own methods."""

    def __init__(self, game: Game[Any, Any]) -> None:
        self.game = game
        self.to_act = ()
        self._state: Any = None
        self._step = Step()
        self._returns = [0.0] * game.num_players

    def begin(self, seed: int) -> None:
        self.load(self.game.initial_state(seed))

    def load(self, state: Any) -> None:
        self._state = self.game.clone(state)
        self._step = Step()
        self._returns = [0.0] * self.game.num_players
        self.to_act = self.game.to_act(self._state)

    @property
    def state(self) -> Any:
        return self._state

    def advance(self, actions: Mapping[int, Any]) -> bool:
        game, state = self.game, self._state
        for seat in self.to_act:
            if not self._allows(seat, actions[seat]):
                return False
        self._step = game.step(state, actions)
        for seat, terms in self._step.rewards.items():
            self._returns[seat] += total(terms)
        self.to_act = game.to_act(state)
        return True

    def _allows(self, seat: int, action: Any) -> bool:
        legal = self.legal(seat)
        try:
            return action in legal
        except Exception:  # an object that cannot even be compared with a legal action
            return False

    def copy(self) -> GameSimulator:
        twin = object.__new__(GameSimulator)
        twin.game, twin.to_act = self.game, self.to_act
        twin._state = self.game.clone(self._state)
        twin._step, twin._returns = self._step, self._returns.copy()
        return twin

    @property
    def present(self) -> tuple[int, ...]:
        return self.game.present(self._state)

    @property
    def step(self) -> Step:
        return self._step

    @property
    def rewards(self) -> Sequence[float]:
        paid = self._step.rewards
        return [total(paid.get(seat)) for seat in range(self.game.num_players)]

    @property
    def returns(self) -> Sequence[float]:
        return self._returns

    def set_returns(self, returns: Sequence[float]) -> None:
        self._returns = list(returns)

    def observe(self, seat: int) -> Any:
        return self.game.observe(self._state, seat)

    def mask(self, seat: int) -> Mask:
        return self.game.action_mask(self._state, seat)

    def state_key(self, seat: int | None) -> bytes:
        return self.game.state_key(self._state, seat)

    def playout(self, rng: Rng, limit: int) -> int:
        game = self.game
        for steps in range(limit):
            if not self.to_act:
                return steps
            self.advance({p: game.sample(self._state, p, rng) for p in self.to_act})
        return limit
