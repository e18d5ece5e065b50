"""Thousands of episodes of one ArrayGame in preallocated arrays."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra.array_game import ArrayGame, record_dtype
from palestra.compiled import batch_driver_for, numba_installed
from palestra.errors import InvalidAction, InvalidOption, OutOfTurn, UnknownName
from palestra.rng import MASK, SEED_LIMIT, check_seed

AUTORESET = {"next_step": 0, "same_step": 1, "disabled": 2}
Array = NDArray[Any]


def row_dtype(game: ArrayGame) -> np.dtype[Any]:
    """One row of a batch: a frame, and what is kept about it from step to step.

    `seed` is the row's, `key` that of the episode now played, both as two 32-bit words; `finished`
    says that an episode ended in the last step, `final_…` how.
    """
    seats = game.num_players
    return record_dtype(
        [
            ("frame", game.frame_dtype),
            ("seed", np.int64, 2),
            ("key", np.int64, 2),
            ("episodes", np.int64),
            ("noise", np.int64),
            ("length", np.int64),
            ("final_length", np.int64),
            ("reward", np.float64, seats),
            ("last_reward", np.float64, seats),
            ("final_returns", np.float64, seats),
            ("mistakes", np.int64, seats),
            ("final_results", np.uint8, seats),
            ("acting", np.uint8, seats),
            ("terminated", np.uint8, seats),
            ("truncated", np.uint8, seats),
            ("over", np.uint8),
            ("finished", np.uint8),
            ("active", np.uint8),
        ]
    )


class Batch:
    """N episodes side by side: `reset`, then `step` with an (N, P) array of action numbers.

    Row i starts from `seed + i`, and what happens in it does not depend on `num_envs` or
    `threads`; `episode_seeds` replays any of its episodes as `Episode(game, seed)`. What `step`
    returns are views that the next step rewrites. Actions of seats that are not acting are
    ignored; an illegal action forfeits its row's episode and is counted in `mistakes`.

    `autoreset` is Gymnasium's: "next_step" (a finished row is dealt again by the next step, which
    ignores its actions), "same_step" (dealt at once; last sights in `final_observations`) or
    "disabled" (it stays finished until `reset`). `random_seats` play random legal moves by
    themselves inside the loop, and a step runs on to the next turn of somebody else.
    """

    def __init__(
        self,
        game: ArrayGame,
        num_envs: int,
        *,
        seed: int | None = None,
        autoreset: str = "next_step",
        random_seats: Sequence[int] = (),
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
        seats = range(game.num_players)
        self.rows = np.zeros(num_envs, row_dtype(game))
        self.rows["active"] = 1
        self._blank = np.zeros(1, self.rows.dtype)
        self._auto = np.array([seat in random_seats for seat in seats], np.uint8)
        self._forfeits = np.array([[game.forfeit(lost)[s] for s in seats] for lost in seats])
        self._constant = (self._blank, self._auto, self._forfeits)
        kept = num_envs if autoreset == "same_step" else 1
        self._finals = np.zeros(kept, game.frame_dtype)
        self._slices = _slices(num_envs, threads)
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
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
        for seat in seats:
            self._auto[seat] = 0

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
        for done in [self._pool.submit(work, first, last) for first, last in self._slices]:
            done.result()

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
        return self._driver.begin(self.rows, *self._constant, first, last)

    def _step_range(self, first: int, last: int) -> int:
        return self._driver.step(self.rows, self._finals, *self._constant, first, last, self._mode)

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


def sow(seed: int | Sequence[int] | None, num_envs: int) -> list[int]:
    """A seed for every row: consecutive from one, or as given."""
    if seed is None or isinstance(seed, int | np.integer):
        first = check_seed(None if seed is None else int(seed))
        return [(first + i) % SEED_LIMIT for i in range(num_envs)]
    seeds = [check_seed(int(s)) for s in seed]
    if len(seeds) != num_envs:
        raise InvalidOption(f"{num_envs} seeds are needed, got {len(seeds)}")
    return seeds


def check_actions(actions: Any, shape: tuple[int, ...], choices: int, acting: Array) -> Array:
    """An action array of the right shape, kind and range, or an error before anything moves."""
    array = np.asarray(actions)
    if array.shape != shape or array.dtype.kind not in "iu":
        raise InvalidAction(
            f"array of shape {array.shape} and type {array.dtype}",
            f"integers of shape {shape}: one action number for every row and seat",
        )
    wrong = ((array < 0) | (array >= choices)) & acting
    if wrong.any():
        row, seat = np.argwhere(wrong)[0].tolist()
        why = f"row {row}, seat {seat} is out of range"
        raise InvalidAction(int(array[row, seat]), f"0 to {choices - 1}", why=why)
    return array


def _slices(num_envs: int, threads: int) -> list[tuple[int, int]]:
    """Row ranges, several a thread so that a slow core holds nobody up."""
    parts = min(num_envs, threads * 4)
    edges = [round(part * num_envs / parts) for part in range(parts + 1)]
    return list(itertools.pairwise(edges))
