"""The moving part of an episode: a state, and what can be read off it at once.

Two forms with one face: `TextWorld` over any `Game`, and `ArrayWorld` over a frame that one
compiled call fills.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

import numpy as np

from palestra import driver
from palestra.array_game import ArrayGame, action_number, plain_actions
from palestra.compiled import driver_for, numba_installed
from palestra.errors import InvalidOption
from palestra.events import Event
from palestra.game import Game, Mask, Step, total
from palestra.rng import MASK, Rng


class World(ABC):
    """State plus what follows from it. `to_act` is empty when the rules have ended the episode."""

    game: Game[Any, Any]
    to_act: tuple[int, ...]

    @abstractmethod
    def begin(self, seed: int) -> None:
        """Start afresh from `seed`."""

    @abstractmethod
    def advance(self, actions: Mapping[int, Any]) -> bool:
        """Play the actions of all who act; False, and nothing changed, if one is not legal.

        Raises KeyError for a missing seat.
        """

    @property
    @abstractmethod
    def state(self) -> Any:
        """The state itself; clone it before keeping it."""

    @abstractmethod
    def load(self, state: Any) -> None:
        """Go on from a copy of `state`."""

    @abstractmethod
    def copy(self) -> World: ...

    @property
    @abstractmethod
    def present(self) -> tuple[int, ...]:
        """Seats still in the game."""

    @property
    @abstractmethod
    def step(self) -> Step:
        """What the last advance paid."""

    @property
    @abstractmethod
    def rewards(self) -> Sequence[float]:
        """What the last advance paid every seat, summed over terms."""

    @property
    @abstractmethod
    def returns(self) -> Sequence[float]:
        """Rewards of every seat so far."""

    @abstractmethod
    def set_returns(self, returns: Sequence[float]) -> None: ...

    @abstractmethod
    def observe(self, player: int) -> Any: ...

    @abstractmethod
    def mask(self, player: int) -> Mask: ...

    @abstractmethod
    def state_key(self, player: int | None) -> bytes:
        """`Game.state_key` of the state."""

    @abstractmethod
    def playout(self, rng: Rng, limit: int) -> int:
        """Play random legal moves to the end; returns how many steps that took."""


def open_world(game: Game[Any, Any], compiled: bool | None = None) -> World:
    """The right world for a game; `compiled` None means compile if numba is installed."""
    if isinstance(game, ArrayGame):
        return ArrayWorld(game, numba_installed() if compiled is None else compiled)
    if compiled:
        raise InvalidOption(f"{type(game).__name__} is not an ArrayGame and cannot be compiled")
    return TextWorld(game)


class TextWorld(World):
    """Any game through its own methods."""

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
        for player in self.to_act:
            if actions[player] not in game.legal(state, player):
                return False
        self._step = game.step(state, actions)
        for player, terms in self._step.rewards.items():
            self._returns[player] += total(terms)
        self.to_act = game.to_act(state)
        return True

    def copy(self) -> TextWorld:
        twin = object.__new__(TextWorld)
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
        return [total(paid.get(player)) for player in range(self.game.num_players)]

    @property
    def returns(self) -> Sequence[float]:
        return self._returns

    def set_returns(self, returns: Sequence[float]) -> None:
        self._returns = list(returns)

    def observe(self, player: int) -> Any:
        return self.game.observe(self._state, player)

    def mask(self, player: int) -> Mask:
        return self.game.action_mask(self._state, player)

    def state_key(self, player: int | None) -> bytes:
        return self.game.state_key(self._state, player)

    def playout(self, rng: Rng, limit: int) -> int:
        game = self.game
        for steps in range(limit):
            if not self.to_act:
                return steps
            self.advance({p: game.sample(self._state, p, rng) for p in self.to_act})
        return limit


class ArrayWorld(World):
    """An ArrayGame in one frame: state, masks, views and rewards in a single block of memory."""

    game: ArrayGame

    def __init__(self, game: ArrayGame, compiled: bool) -> None:
        self.game = game
        self.compiled = compiled
        self._driver: Final = driver_for(game, compiled)
        self._seats = tuple((player,) for player in range(game.num_players))
        self._all_seats = tuple(range(game.num_players))
        self._everyone = bytes([1] * game.num_players)
        self._blank = bytes(game.frame_dtype.itemsize)
        self._adopt(self._blank)
        self.to_act = ()

    def _adopt(self, memory: bytes | bytearray) -> None:
        """Take over a frame's bytes; numpy's own copy of a structured array is field by field."""
        self._memory = bytearray(memory)
        self._frames = np.frombuffer(self._memory, self.game.frame_dtype)
        self._state: Any = None  # views of the frame, made when first asked for
        self._masks: tuple[Mask, ...] = ()
        self._sights: tuple[Any, ...] = ()
        self._present: Any = None
        self._rewards: Any = None
        self._costs: Any = None

    def begin(self, seed: int) -> None:
        self._memory[:] = self._blank
        self._set_to_act(self._driver.begin(self._frames, seed & MASK, seed >> 32))

    def load(self, state: Any) -> None:
        self._memory[:] = self._blank
        self._memory[: self.game.state_dtype.itemsize] = state.tobytes()
        self._set_to_act(self._driver.derive(self._frames))

    def _set_to_act(self, acting: int) -> None:
        if acting >= 0:
            self.to_act = self._seats[acting]
        elif acting == driver.ENDED:
            self.to_act = ()
        else:
            self.to_act = tuple(self._frames["state"]["acting"][0].nonzero()[0].tolist())

    @property
    def state(self) -> Any:
        if self._state is None:
            self._state = self._frames["state"][0]
        return self._state

    def advance(self, actions: Mapping[int, Any]) -> bool:
        to_act = self.to_act
        if len(to_act) == 1:
            action = actions[to_act[0]]
            if type(action) is not int:
                number = action_number(action)
                if number is None:
                    return False
                action = number
            acting = self._driver.move(self._frames, action)
        else:
            acting = self._play([actions[player] for player in to_act])
        if acting >= 0:
            self.to_act = self._seats[acting]
            return True
        if acting == driver.ILLEGAL:
            return False
        self._set_to_act(acting)
        return True

    def _play(self, chosen: list[Any]) -> int:
        numbers = [action_number(action) for action in chosen]
        if None in numbers:
            return driver.ILLEGAL
        row = self._frames["actions"][0]
        row[:] = -1
        row[list(self.to_act)] = numbers
        return int(self._driver.play(self._frames))

    def copy(self) -> ArrayWorld:
        twin = object.__new__(ArrayWorld)
        twin.__dict__.update(self.__dict__)
        twin._adopt(self._memory)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {
            "game": self.game,
            "compiled": self.compiled,
            "to_act": self.to_act,
            "memory": bytes(self._memory),
        }

    def __setstate__(self, kept: dict[str, Any]) -> None:
        ArrayWorld.__init__(self, kept["game"], kept["compiled"])
        self._adopt(kept["memory"])
        self.to_act = kept["to_act"]

    @property
    def present(self) -> tuple[int, ...]:
        if self._present is None:
            self._present = self._frames["state"]["present"][0]
        if self._present.tobytes() == self._everyone:
            return self._all_seats
        return tuple(self._present.nonzero()[0].tolist())

    @property
    def step(self) -> Step:
        game = self.game
        if self._costs is None:
            self._rewards, self._costs = self._frames["rewards"][0], self._frames["costs"][0]
        return Step(
            rewards=game.name_terms(self._rewards, game.reward_terms),
            costs=game.name_terms(self._costs, game.cost_terms),
        )

    @property
    def rewards(self) -> Sequence[float]:
        if self._rewards is None:
            self._rewards = self._frames["rewards"][0]
        rewards = self._rewards
        if rewards.shape[1] == 1:
            return rewards[:, 0].tolist()  # type: ignore[no-any-return]
        return rewards.sum(axis=1).tolist()  # type: ignore[no-any-return]

    @property
    def returns(self) -> Sequence[float]:
        return self._frames["returns"][0].tolist()  # type: ignore[no-any-return]

    def set_returns(self, returns: Sequence[float]) -> None:
        self._frames["returns"][0] = returns

    def observe(self, player: int) -> Any:
        if not self._sights:
            self._sights = tuple(self._frames["sights"][0])
        return self._sights[player].copy()

    def mask(self, player: int) -> Mask:
        if not self._masks:
            self._masks = tuple(self._frames["mask"][0])
        return self._masks[player]

    def state_key(self, player: int | None) -> bytes:
        """The same digest as the game's own, from what the frame already holds."""
        if player is None:
            rng, end = self.game.rng_bytes, self.game.state_dtype.itemsize
            bare = bytes(rng) + self._memory[rng:end]
            return blake2b(bare, digest_size=16).digest()
        if not self._sights:
            self._sights = tuple(self._frames["sights"][0])
        seen = self._sights[player].tobytes() + self.mask(player).tobytes()
        return blake2b(bytes([player % 256]) + seen, digest_size=16).digest()

    def playout(self, rng: Rng, limit: int) -> int:
        steps = int(self._driver.playout(self._frames, rng.below(2**31), limit))
        self._set_to_act(self._driver.derive(self._frames))
        return steps


def narrate(world: World, before: Any, actions: Mapping[int, Any]) -> Sequence[Event]:
    """The events of the last advance; `before` is the state it started from."""
    if isinstance(world, ArrayWorld):
        return world.game.narrate(before, plain_actions(actions), world.state)
    return world.step.events
