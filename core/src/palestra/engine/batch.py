"""Thousands of episodes of one ArrayGame in preallocated arrays."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra.engine.array_simulator import frozen_view
from palestra.engine.compiled import batch_driver_for, compiles_by_default
from palestra.engine.lanes import AUTORESET, check_actions, lane_dtype, make_shared, write_seeds
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.errors import InvalidOption, OutOfTurn, UnknownName

Array = NDArray[Any]
REPORTED = (
    "terminated",
    "truncated",
    "finished",
    "final_length",
    "final_returns",
    "final_results",
)


class Batch:
    """N episodes side by side: `reset`, then `step` with an (N, P) array of action numbers.

    Lane i starts from `seed + i`, and what happens in it does not depend on `num_envs` or
    `threads`; `episode_seeds` replays any of its episodes as `Episode(game, seed)`. What `step`
    returns are views that the next step rewrites. Actions of seats that are not acting are
    ignored; an illegal action forfeits its lane's episode and is counted in `mistakes`.

    `max_steps` truncates longer episodes. `masks` is read-only.

    `autoreset` is Gymnasium's: "next_step" (the next step resets a finished lane and ignores its
    actions), "same_step" (reset at once; last observations in `final_observations`) or "disabled"
    (it stays finished until `reset`). Inside the loop, `random_seats` play random legal moves and
    `scripted_seats` the game's own `scripted_action`; a step continues until another seat is to
    act. An episode that is over before then is reported by its first step, which ignores actions.

    A deep copy or a pickle goes on from the same positions by itself, with threads of its own.
    """

    def __init__(
        self,
        game: ArrayGame,
        num_envs: int,
        *,
        seed: int | None = None,
        autoreset: str = "next_step",
        random_seats: Sequence[int] = (),
        scripted_seats: Sequence[int] = (),
        threads: int = 1,
        compiled: bool | None = None,
        max_steps: int | None = None,
    ) -> None:
        if not isinstance(game, ArrayGame):
            raise InvalidOption(f"{type(game).__name__} is not an ArrayGame; use TextBatch")
        if num_envs < 1 or threads < 1:
            raise InvalidOption(f"num_envs and threads must be positive: {num_envs}, {threads}")
        if max_steps is not None and max_steps < 1:
            raise InvalidOption(f"max_steps must be at least 1, not {max_steps}")
        if autoreset not in AUTORESET:
            raise UnknownName("auto-reset mode", autoreset, AUTORESET)
        self.game, self.num_envs, self.autoreset = game, num_envs, autoreset
        self._mode = AUTORESET[autoreset]
        self._compiled = compiles_by_default() if compiled is None else compiled
        self.lanes = np.zeros(num_envs, lane_dtype(game))
        self.lanes["active"] = 1
        self._shared = make_shared(game, random_seats, scripted_seats, max_steps)
        kept = num_envs if autoreset == "same_step" else 1
        self._finals = np.zeros(kept, game.timestep_dtype)
        self._slices = _slices(num_envs, threads)
        self._others = threads - 1
        self._started = False
        self._seed = seed
        self._open()

    def _open(self) -> None:
        """Load the rules, start the threads, and lay views over the lanes."""
        kept = {"_opened", *vars(self)}
        self._driver = batch_driver_for(self.game, self._compiled)
        self._pool = ThreadPoolExecutor(self._others) if self._others else None
        timesteps = self.lanes["timestep"]
        self.actions: Array = timesteps["actions"]
        self.observations: Array = timesteps["observations"]
        self.final_observations: Array = self._finals["observations"]
        self.final_masks: Array = self._finals["mask"]
        self.masks: Array = frozen_view(timesteps["mask"])
        self.acting: Array = self.lanes["acting"].view(np.bool_)
        self.rewards: Array = self.lanes["reward"]
        self.returns: Array = timesteps["returns"]
        self.terminations: Array = self.lanes["terminated"].view(np.bool_)
        self.truncations: Array = self.lanes["truncated"].view(np.bool_)
        self.finished: Array = self.lanes["finished"].view(np.bool_)
        self.mistakes: Array = self.lanes["mistakes"]
        self._opened = vars(self).keys() - kept

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: lanes and settings, but no views of them, rules or threads."""
        opened = {"_opened", *self._opened}
        return {name: value for name, value in vars(self).items() if name not in opened}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        self._open()

    @property
    def seeds(self) -> list[int]:
        """The seed of every lane: that of its first episode since the seed was set."""
        return _join_seeds(self.lanes["seed"])

    @property
    def episode_seeds(self) -> list[int]:
        """The seed of the episode that each lane is playing."""
        return _join_seeds(self.lanes["key"])

    def statistics(self) -> dict[str, Array]:
        """Returns (N, P), length (N,) and result codes (N, P) of lanes finished in this step.

        `_finished` says which lanes those are, as Gymnasium's vector infos do.
        """
        lanes = self.lanes
        return {
            "returns": lanes["final_returns"],
            "length": lanes["final_length"],
            "results": lanes["final_results"],
            "_finished": self.finished,
        }

    @property
    def final_states(self) -> Array:
        """The state in which the episode of each lane ended, (N,), where `finished` says so."""
        ended = self._finals if self.autoreset == "same_step" else self.lanes["timestep"]
        return ended["state"]

    def hand_over(self, seats: Iterable[int]) -> None:
        """From now on, take these seats' actions from `step`."""
        self._shared["auto"][0, list(seats)] = 0
        self._shared["alone"] = not self._shared["auto"].any()

    # Playing

    def reset(
        self,
        seed: int | Sequence[int | None] | None = None,
        lanes: Array | Sequence[int] | None = None,
    ) -> Array:
        """Reset all lanes, or only `lanes`; `seed` is the first lane's seed, or one per lane.

        Lanes that are not named keep their seeds.
        """
        if not self._started:
            write_seeds(self.lanes, self._seed)
        if seed is not None:
            write_seeds(self.lanes, seed, lanes)
        self._only(lanes, self._begin_range)
        self._started = True
        return self.observations

    def _only(self, lanes: Array | Sequence[int] | None, work: Callable[[int, int], Any]) -> None:
        """Run a loop over some lanes and leave the others unchanged."""
        if lanes is not None:
            self.lanes["active"] = 0
            self.lanes["active"][lanes] = 1
        try:
            self._each(work)
        finally:
            if lanes is not None:
                self.lanes["active"] = 1

    def _each(self, work: Callable[[int, int], Any]) -> None:
        if self._pool is None:
            work(0, self.num_envs)
            return
        parts = deque(self._slices)

        def take() -> None:
            """Work on the next part until none is left."""
            while True:
                try:
                    first, last = parts.popleft()
                except IndexError:
                    return
                work(first, last)

        others = [self._pool.submit(take) for _ in range(self._others)]
        try:
            take()  # this thread works too: waking another takes as long as many steps do
        finally:
            for other in others:
                if not other.cancel():
                    other.result()

    def step(
        self, actions: Array | None = None, lanes: Array | Sequence[int] | None = None
    ) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Step every lane; return observations, rewards, terminations, truncations and infos.

        `actions` is an (N, P) array of integers; None plays what `self.actions` holds. Infos have
        `action_mask`, `acting` and `episode` (observe `statistics`).
        """
        if not self._started:
            raise OutOfTurn("call reset() before step()")
        if actions is not None:
            shape = self.actions.shape
            self.actions[:] = check_actions(actions, shape, self.game.num_actions, self.acting)
        self._only(lanes, self._step_range)
        infos = {"action_mask": self.masks, "acting": self.acting, "episode": self.statistics()}
        return self.observations, self.rewards, self.terminations, self.truncations, infos

    def _begin_range(self, first: int, last: int) -> int:
        return self._driver.begin(self.lanes, self._shared, first, last)

    def _step_range(self, first: int, last: int) -> int:
        return self._driver.step(self.lanes, self._finals, self._shared, first, last, self._mode)

    def play_early(self, lanes: Array) -> None:
        """Step lanes before their first turn from outside; an end is reported by the next step.

        What was said of the last episode of a lane stays as it is.
        """
        reported = {name: self.lanes[name][lanes] for name in REPORTED}
        mode, self._mode = self._mode, AUTORESET["disabled"]
        try:
            self._only(lanes, self._step_range)
        finally:
            self._mode = mode
        for name, values in reported.items():
            self.lanes[name][lanes] = values
        self.lanes["over"][lanes] = 0

    def truncate(self, lanes: Array) -> None:
        """Truncate the episodes that these lanes are playing, as an external time limit does.

        Observations and masks do not change. In "same_step" mode they become the final ones, and
        the next episodes start; rewards of the last step can still be read.
        """
        kept = self.lanes
        timesteps = kept["timestep"]
        for name, value in (("truncated", 1), ("over", 1), ("acting", 0)):
            timesteps["state"][name][lanes] = value
        for name, value in (("acting", 0), ("over", 1)):
            kept[name][lanes] = value
        left = kept["left"][lanes]  # these have terminated
        kept["final_length"][lanes] = kept["length"][lanes]
        kept["final_returns"][lanes] = timesteps["returns"][lanes]
        kept["final_results"][lanes] = timesteps["state"]["result"][lanes]
        if self.autoreset == "same_step":
            self._finals[lanes] = timesteps[lanes]
            paid = kept["reward"][lanes]
            self._only(lanes, self._begin_range)
            kept["reward"][lanes] = paid
        kept["terminated"][lanes], kept["truncated"][lanes] = left, left == 0
        kept["finished"][lanes] = 1

    def random_actions(self) -> Array:
        """Write a random legal action for every acting seat into `actions`, and return it."""
        self._each(lambda first, last: self._driver.act_randomly(self.lanes, first, last))
        return self.actions

    # States as values

    def save(self, lanes: Array | Sequence[int] | slice = slice(None)) -> Array:
        """A copy of some lanes, for `load`."""
        return self.lanes[lanes].copy()

    def load(self, saved: Array, lanes: Array | Sequence[int] | slice = slice(None)) -> None:
        """Load saved lanes into these lanes: one for each, or a single one into all.

        Compiled rules trust what is in a lane, and a changed one makes them read and write anywhere
        in memory: load only what `save` returned in this process, and never what was in a file.
        Raises `InvalidOption` for lanes of another game.
        """
        if saved.dtype != self.lanes.dtype:
            raise InvalidOption(f"these are no lanes of {type(self.game).__name__}")
        self.lanes[lanes] = saved
        self._started = True

    def torch(self) -> dict[str, Any]:
        """The arrays as torch tensors that share their memory."""
        import torch

        names = (
            "observations",
            "masks",
            "acting",
            "rewards",
            "terminations",
            "truncations",
        )
        found = {name: getattr(self, name) for name in names}
        found["masks"] = self.lanes["timestep"]["mask"]  # torch warns about read-only arrays
        return {name: torch.from_numpy(array) for name, array in found.items()}

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


def _join_seeds(words: Array) -> list[int]:
    """64-bit seeds from their lower and upper 32 bits."""
    return [int(low) | (int(high) << 32) for low, high in words.tolist()]


def _slices(num_envs: int, threads: int) -> list[tuple[int, int]]:
    """Lane ranges, several per thread so that a slow core does not delay the others."""
    parts = min(num_envs, threads * 8)
    edges = [round(part * num_envs / parts) for part in range(parts + 1)]
    return list(itertools.pairwise(edges))
