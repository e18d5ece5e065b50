"""The simulator of an array game: one block of memory that one compiled call fills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

import numpy as np

from palestra.engine import driver
from palestra.engine.compiled import driver_for, how_to_run
from palestra.kernel.array_game import ArrayGame, action_number
from palestra.kernel.events import Event
from palestra.kernel.game import Mask, Outcome, Step, allowed_actions
from palestra.kernel.rng import MASK, Rng
from palestra.kernel.simulator import Simulator, simulate_with

SHORT = 512  # bytes of a state whose outcomes are kept
ENDS = 256  # of these are kept


class ArraySimulator(Simulator):
    """An ArrayGame in one timestep: state, masks, views and rewards in a single block of memory."""

    game: ArrayGame

    def __init__(self, game: ArrayGame, compiled: bool | None) -> None:
        self.game = game
        self.asked = compiled
        self.compiled, patience = how_to_run(compiled)
        self._driver: Final = driver_for(game, self.compiled, patience)
        self._seats = tuple((seat,) for seat in range(game.num_players))
        self._all_seats = tuple(range(game.num_players))
        self._everyone = bytes([1] * game.num_players)
        self._num_actions = int(game.num_actions)
        self._blank = bytes(game.timestep_dtype.itemsize)
        self._bare = slice(game.rng_bytes, game.state_dtype.itemsize)
        # short games end in the same few states, whose scores and words take longer than a step
        self._outcomes: dict[bytes, Outcome | None] | None = {} if self._bare.stop < SHORT else None
        self._adopt(self._blank)
        self.to_act = ()
        if self.compiled:
            vars(game)["seen"] = Observer(game, self._driver)

    def _adopt(self, memory: bytes | bytearray) -> None:
        """Take over a timestep's bytes; numpy would copy a structured array field by field."""
        self._memory = bytearray(memory)
        self._timesteps = np.frombuffer(self._memory, self.game.timestep_dtype)
        self._state: Any = None  # views of the timestep, made on first use
        self._masks: tuple[Mask, ...] = ()
        self._observations: tuple[Any, ...] = ()
        self._present: Any = None
        self._rewards: Any = None
        self._costs: Any = None
        self._returns: Any = None
        self._written: dict[int, dict[str, int]] = {}  # by seat: legal moves as text

    def begin(self, seed: int) -> None:
        self._memory[:] = self._blank
        self._set_to_act(self._driver.begin(self._timesteps, seed & MASK, seed >> 32))

    def load(self, state: Any) -> None:
        self._memory[:] = self._blank
        self._memory[: self.game.state_dtype.itemsize] = state.tobytes()
        self._set_to_act(self._driver.derive(self._timesteps))

    def _set_to_act(self, acting: int) -> None:
        if self._written:
            self._written = {}
        if acting >= 0:
            self.to_act = self._seats[acting]
        elif acting == driver.ENDED:
            self.to_act = ()
        else:
            self.to_act = tuple(self._timesteps["state"]["acting"][0].nonzero()[0].tolist())

    @property
    def state(self) -> Any:
        if self._state is None:
            self._state = self._timesteps["state"][0]
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
            if not 0 <= action < self._num_actions:
                return False
            acting = self._driver.move(self._timesteps, action)
        else:
            acting = self._play([actions[seat] for seat in to_act])
        if self._written:
            self._written = {}
        if acting >= 0:
            self.to_act = self._seats[acting]
            return True
        if acting == driver.ILLEGAL:
            return False
        self._set_to_act(acting)
        return True

    def _play(self, chosen: list[Any]) -> int:
        numbers = [action_number(action) for action in chosen]
        if not all(n is not None and 0 <= n < self._num_actions for n in numbers):
            return driver.ILLEGAL
        lane = self._timesteps["actions"][0]
        lane[:] = -1
        lane[list(self.to_act)] = numbers
        return int(self._driver.play(self._timesteps))

    def play_against(self, rivals: Any, action: int, scripted: bool) -> None:
        """Play one seat's action and its opponents' up to its next turn; see `engine.rivals`."""
        play = self._driver.against_scripts if scripted else self._driver.against_random
        acting = play(self._timesteps, rivals, action)
        if acting >= 0:
            self.to_act = self._seats[acting]
            if self._written:
                self._written = {}
        elif acting != driver.ILLEGAL:
            self._set_to_act(acting)

    def copy(self) -> ArraySimulator:
        twin = object.__new__(ArraySimulator)
        twin.__dict__.update(self.__dict__)
        twin._adopt(self._memory)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {
            "game": self.game,
            "asked": self.asked,
            "to_act": self.to_act,
            "memory": bytes(self._memory),
        }

    def __setstate__(self, kept: dict[str, Any]) -> None:
        ArraySimulator.__init__(self, kept["game"], kept["asked"])
        self._adopt(kept["memory"])
        self.to_act = kept["to_act"]

    @property
    def outcome(self) -> Outcome | None:
        if self._outcomes is None or self.to_act:
            return self.game.outcome(self.state)
        bare = bytes(self._memory[self._bare])
        if bare not in self._outcomes:
            if len(self._outcomes) == ENDS:
                self._outcomes.clear()
            self._outcomes[bare] = self.game.outcome(self.state)
        return self._outcomes[bare]

    @property
    def present(self) -> tuple[int, ...]:
        if self._present is None:
            self._present = self._timesteps["state"]["present"][0]
        if self._present.tobytes() == self._everyone:
            return self._all_seats
        return tuple(self._present.nonzero()[0].tolist())

    @property
    def step(self) -> Step:
        game = self.game
        if self._costs is None:
            self._rewards, self._costs = self._timesteps["rewards"][0], self._timesteps["costs"][0]
        return Step(
            rewards=game.name_terms(self._rewards, game.reward_terms),
            costs=game.name_terms(self._costs, game.cost_terms),
        )

    @property
    def rewards(self) -> Sequence[float]:
        if self._rewards is None:
            self._rewards = self._timesteps["rewards"][0]
        rewards = self._rewards
        if rewards.shape[1] == 1:
            return rewards[:, 0].tolist()
        return rewards.sum(axis=1).tolist()

    @property
    def returns(self) -> Sequence[float]:
        if self._returns is None:
            self._returns = self._timesteps["returns"][0]
        return self._returns.tolist()

    def set_returns(self, returns: Sequence[float]) -> None:
        self._timesteps["returns"][0] = returns

    def observe(self, seat: int) -> Any:
        if not self.compiled:
            return self.game.observe(self.state, seat)
        return self._observation(seat).copy()

    def _observation(self, seat: int) -> Any:
        """A view of what the compiled rules have written for a seat."""
        if not self._observations:
            self._observations = tuple(self._timesteps["observations"][0])
        return self._observations[seat]

    def mask(self, seat: int) -> Mask:
        if not self._masks:
            self._masks = tuple(frozen_view(mask) for mask in self._timesteps["mask"][0])
        return self._masks[seat]

    def state_key(self, seat: int | None) -> bytes:
        """The same digest as the game's own, from what the timestep already holds."""
        if seat is None:
            rng, end = self.game.rng_bytes, self.game.state_dtype.itemsize
            bare = bytes(rng) + self._memory[rng:end]
            return blake2b(bare, digest_size=16).digest()
        view = self._observation(seat) if self.compiled else self.observe(seat)
        seen = view.tobytes() + self.mask(seat).tobytes()
        return blake2b(bytes([seat % 256]) + seen, digest_size=16).digest()

    def anchors(self, seats: Sequence[int]) -> list[bytes]:
        """The same digests as the game's own, by the compiled rules."""
        still: ArraySimulator = self
        if self.game.counters:
            still = self.copy()
            still.load(self.game.without_counters(self.state))
        return [still.state_key(seat) for seat in seats]

    def playout(self, rng: Rng, limit: int) -> int:
        steps = int(self._driver.playout(self._timesteps, rng.below(2**31), limit))
        self._set_to_act(self._driver.derive(self._timesteps))
        return steps

    def legal(self, seat: int) -> Mask:
        return self.mask(seat)

    def legal_actions(self, seat: int) -> list[Any]:
        return allowed_actions(self.mask(seat))

    def legal_text(self, seat: int) -> str:
        return self.game.legal_text(self.state, seat, self._moves(seat))

    def legal_texts(self, seat: int) -> list[str]:
        return list(self._moves(seat))

    def _moves(self, seat: int) -> dict[str, int]:
        """Legal moves by their text, computed once per position."""
        if seat not in self._written:
            actions = self.legal_actions(seat)
            self._written[seat] = self.game.written_moves(self.state, seat, actions)
        return self._written[seat]

    def parse(self, seat: int, text: str) -> Any:
        if seat in self._written:
            action = self._written[seat].get(text)
            if action is not None:
                return action
        return self.game.parse(self.state, seat, text)

    def check(self, seat: int, action: Any) -> None:
        if type(action) is int:
            mask = self.mask(seat)
            if 0 <= action < len(mask) and mask[action]:
                return
        self.game.check(self.state, seat, action)

    def sample(self, seat: int, rng: Rng) -> int:
        if type(self.game).sample is ArrayGame.sample:
            # the same draw, from the mask that is already here: many times faster than calling the
            # rules
            return int(rng.choice(allowed_actions(self.mask(seat))))
        return int(self.game.sample(self.state, seat, rng))

    def before_step(self) -> Any:
        return self.game.clone(self.state)

    def events(self, before: Any, actions: Mapping[int, Any]) -> Sequence[Event]:
        return self.game.narrate(before, actions, self.state)


class Observer:
    """`ArrayGame.observe` of any state by compiled rules, for `ArrayGame.seen`.

    A window of Clean Up takes 8 µs instead of 200. The last states are cached, because every seat
    is shown the same two in turn. The result is read-only.
    """

    def __init__(self, game: ArrayGame, rules: Any) -> None:
        self._rules, self._timestep = rules, game.timestep_dtype
        self._rest = bytes(game.timestep_dtype.itemsize - game.state_dtype.itemsize)
        self._observations = lru_cache(maxsize=4)(self._read_observation)

    def __call__(self, state: Any, seat: int) -> Any:
        return self._observations(state.tobytes())[seat]

    def _read_observation(self, state: bytes) -> Any:
        timesteps = np.frombuffer(bytearray(state + self._rest), self._timestep)
        self._rules.derive(timesteps)
        timesteps.flags.writeable = False
        return timesteps["observations"][0]


def frozen_view(array: Any) -> Any:
    """A live view that cannot be made writable, as one whose base is an array could be."""
    return np.asarray(memoryview(array).toreadonly())


def register() -> None:
    """Let episodes of array games run here."""
    simulate_with(ArrayGame, ArraySimulator)
