"""Thousands of episodes of one ArrayGame in preallocated arrays."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra.array_game import ArrayGame
from palestra.compiled import batch_driver_for, numba_installed
from palestra.errors import InvalidOption, OutOfTurn, UnknownName
from palestra.rng import MASK
from palestra.rows import AUTORESET, check_actions, make_table, row_dtype, sow

Array = NDArray[Any]


class Batch:
    """N episodes side by side: `reset`, then `step` with an (N, P) array of action numbers.

    Row i starts from `seed + i`, and what happens in it does not depend on `num_envs` or
    `threads`; `episode_seeds` replays any of its episodes as `Episode(game, seed)`. What `step`
    returns are views that the next step rewrites. Actions of seats that are not acting are
    ignored; an illegal action forfeits its row's episode and is counted in `mistakes`.

    `autoreset` is Gymnasium's: "next_step" (a finished row is dealt again by the next step, which
    ignores its actions), "same_step" (dealt at once; last sights in `final_observations`) or
    "disabled" (it stays finished until `reset`). `random_seats` play random legal moves and
    `scripted_seats` the game's own `script` by themselves inside the loop; a step runs on to the
    next turn of somebody else.
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
    ) -> None:
        if not isinstance(game, ArrayGame):
            raise InvalidOption(f"{type(game).__name__} is not an ArrayGame; use TextBatch")
        if num_envs < 1 or threads < 1:
            raise InvalidOption(f"num_envs and threads must be positive: {num_envs}, {threads}")
        if autoreset not in AUTORESET:
            raise UnknownName("auto-reset mode", autoreset, AUTORESET)
        self.game, self.num_envs, self.autoreset = game, num_envs, autoreset
        self._mode = AUTORESET[autoreset]
        self._driver = batch_driver_for(game, numba_installed() if compiled is None else compiled)
        self.rows = np.zeros(num_envs, row_dtype(game))
        self.rows["active"] = 1
        self._table = make_table(game, random_seats, scripted_seats)
        kept = num_envs if autoreset == "same_step" else 1
        self._finals = np.zeros(kept, game.frame_dtype)
        self._slices = _slices(num_envs, threads)
        self._others = threads - 1
        self._pool = ThreadPoolExecutor(self._others) if self._others else None
        self._dealt = False
        self._seed = seed

        frames = self.rows["frame"]
        self.actions: Array = frames["actions"]
        self.observations: Array = frames["sights"]
        self.final_observations: Array = self._finals["sights"]
        self.masks: Array = frames["mask"]
        self.acting: Array = self.rows["acting"].view(np.bool_)
        self.rewards: Array = self.rows["reward"]
        self.returns: Array = frames["returns"]
        self.terminations: Array = self.rows["terminated"].view(np.bool_)
        self.truncations: Array = self.rows["truncated"].view(np.bool_)
        self.finished: Array = self.rows["finished"].view(np.bool_)
        self.mistakes: Array = self.rows["mistakes"]

    @property
    def episode_seeds(self) -> list[int]:
        """The seed of the episode every row is playing."""
        return [int(low) | (int(high) << 32) for low, high in self.rows["key"].tolist()]

    def statistics(self) -> dict[str, Array]:
        """Returns (N, P), length (N,) and result codes (N, P) of rows finished in this step.

        `_finished` says which rows those are, as Gymnasium's vector infos do.
        """
        rows = self.rows
        return {
            "returns": rows["final_returns"],
            "length": rows["final_length"],
            "results": rows["final_results"],
            "_finished": self.finished,
        }

    def hand_over(self, seats: Iterable[int]) -> None:
        """Let these seats be played from outside from now on."""
        self._table["auto"][0, list(seats)] = 0
        self._table["alone"] = not self._table["auto"].any()

    # Playing

    def reset(
        self, seed: int | Sequence[int] | None = None, rows: Array | Sequence[int] | None = None
    ) -> Array:
        """Deal all rows, or only those named; `seed` is the first row's, or one for every row."""
        if seed is not None or not self._dealt:
            self._sow(self._seed if seed is None else seed)
        self._only(rows, self._begin_range)
        self._dealt = True
        return self.observations

    def _sow(self, seed: int | Sequence[int] | None) -> None:
        seeds = sow(seed, self.num_envs)
        rows = self.rows
        rows["seed"][:, 0] = [s & MASK for s in seeds]
        rows["seed"][:, 1] = [s >> 32 for s in seeds]
        rows["noise"] = [(s * 2654435761 + 97) & 0x7FFFFFFF for s in seeds]
        rows["episodes"] = 0

    def _only(self, rows: Array | Sequence[int] | None, work: Callable[[int, int], Any]) -> None:
        """Run a loop over some rows, leaving the others alone."""
        if rows is not None:
            self.rows["active"] = 0
            self.rows["active"][rows] = 1
        try:
            self._each(work)
        finally:
            if rows is not None:
                self.rows["active"] = 1

    def _each(self, work: Callable[[int, int], Any]) -> None:
        if self._pool is None:
            work(0, self.num_envs)
            return
        parts = deque(self._slices)

        def take() -> None:
            """Whoever is free takes the next part."""
            while True:
                try:
                    first, last = parts.popleft()
                except IndexError:
                    return
                work(first, last)

        others = [self._pool.submit(take) for _ in range(self._others)]
        try:
            take()  # this thread works too: waking another takes as long as many steps
        finally:
            for other in others:
                if not other.cancel():
                    other.result()

    def step(
        self, actions: Array | None = None, rows: Array | Sequence[int] | None = None
    ) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Observations, rewards, terminations, truncations and infos after one step of every row.

        `actions` is (N, P) of integers; None plays what `self.actions` holds. Infos have
        `action_mask`, `acting` and `episode` (see `statistics`).
        """
        if not self._dealt:
            raise OutOfTurn("call reset() before step()")
        if actions is not None:
            shape = self.actions.shape
            self.actions[:] = check_actions(actions, shape, self.game.num_actions, self.acting)
        self._only(rows, self._step_range)
        infos = {"action_mask": self.masks, "acting": self.acting, "episode": self.statistics()}
        return self.observations, self.rewards, self.terminations, self.truncations, infos

    def _begin_range(self, first: int, last: int) -> int:
        return self._driver.begin(self.rows, self._table, first, last)

    def _step_range(self, first: int, last: int) -> int:
        return self._driver.step(self.rows, self._finals, self._table, first, last, self._mode)

    def random_actions(self) -> Array:
        """Write a random legal action for every acting seat into `actions`, and return it."""
        self._each(lambda first, last: self._driver.act_randomly(self.rows, first, last))
        return self.actions

    # States as values

    def save(self, rows: Array | Sequence[int] | slice = slice(None)) -> Array:
        """A copy of some rows, for `load`; it pickles."""
        return self.rows[rows].copy()

    def load(self, saved: Array, rows: Array | Sequence[int] | slice = slice(None)) -> None:
        """Put saved rows into these rows: as many as were saved, or one into all."""
        self.rows[rows] = saved
        self._dealt = True

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
        return {name: torch.from_numpy(getattr(self, name)) for name in names}

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


def _slices(num_envs: int, threads: int) -> list[tuple[int, int]]:
    """Row ranges, several a thread so that a slow core holds nobody up."""
    parts = min(num_envs, threads * 8)
    edges = [round(part * num_envs / parts) for part in range(parts + 1)]
    return list(itertools.pairwise(edges))
