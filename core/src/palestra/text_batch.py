"""The batch interface over a plain loop, for games whose state is not one record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra.episode import Episode
from palestra.errors import InvalidOption, OutOfTurn, UnknownName
from palestra.game import Game
from palestra.rows import AUTORESET, check_actions, sow

Array = NDArray[Any]


class TextBatch:
    """N episodes with an array view, one after the other; see `palestra.batch.Batch`."""

    def __init__(
        self,
        game: Game[Any, Any],
        num_envs: int,
        *,
        seed: int | None = None,
        autoreset: str = "next_step",
    ) -> None:
        if num_envs < 1:
            raise InvalidOption(f"num_envs must be positive, not {num_envs}")
        if autoreset not in AUTORESET:
            raise UnknownName("auto-reset mode", autoreset, AUTORESET)
        self.game, self.num_envs, self.autoreset = game, num_envs, autoreset
        self.episodes = [Episode(game, 0, invalid="forfeit") for _ in range(num_envs)]
        seats = game.num_players
        space, n = game.observation_space(0), int(game.action_space(0).n)
        assert space.shape is not None
        self.observations = np.zeros((num_envs, seats, *space.shape), space.dtype)
        self.final_observations = np.zeros_like(self.observations)
        self.masks = np.ones((num_envs, seats, n), np.int8)
        self.acting = np.zeros((num_envs, seats), np.bool_)
        self.rewards = np.zeros((num_envs, seats))
        self.terminations = np.zeros((num_envs, seats), np.bool_)
        self.truncations = np.zeros((num_envs, seats), np.bool_)
        self.finished = np.zeros(num_envs, np.bool_)
        self.final_returns = np.zeros((num_envs, seats))
        self.final_length = np.zeros(num_envs, np.int64)
        self._seed = seed
        self._seeds: list[int] = []

    def reset(self, seed: int | Sequence[int] | None = None) -> Array:
        """Deal all rows; `seed` is the first row's, or one for every row."""
        if seed is not None or not self._seeds:
            self._seeds = sow(self._seed if seed is None else seed, self.num_envs)
        for row in range(self.num_envs):
            self._deal(row)
        return self.observations

    def _deal(self, row: int) -> None:
        episode = self.episodes[row]
        episode.reset(self._seeds[row])
        self._seeds[row] = (self._seeds[row] + self.num_envs) % 2**64
        self.terminations[row] = self.truncations[row] = False
        self._see(row)

    def _see(self, row: int) -> None:
        episode = self.episodes[row]
        for seat in range(self.game.num_players):
            self.observations[row, seat] = episode.observation(seat)
            self.masks[row, seat] = episode.action_mask(seat)
            self.acting[row, seat] = seat in episode.to_act

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Observations, rewards, terminations, truncations and infos after a step of every row."""
        if not self._seeds:
            raise OutOfTurn("call reset() before step()")
        shape = (self.num_envs, self.game.num_players)
        numbers = check_actions(actions, shape, self.masks.shape[2], self.acting)
        self.rewards[:] = 0.0
        self.finished[:] = False
        for row in range(self.num_envs):
            self._step(row, numbers[row])
        statistics = {
            "returns": self.final_returns,
            "length": self.final_length,
            "_finished": self.finished,
        }
        infos = {"action_mask": self.masks, "acting": self.acting, "episode": statistics}
        return self.observations, self.rewards, self.terminations, self.truncations, infos

    def _step(self, row: int, numbers: Array) -> None:
        episode = self.episodes[row]
        if episode.over:
            if self.autoreset == "next_step":
                self._deal(row)
            return
        game = self.game
        episode.act({seat: game.action_of(int(numbers[seat])) for seat in episode.to_act})
        self.rewards[row] = episode.rewards
        present = episode.present
        ended = not episode.to_act
        cut = ended and episode.truncated
        for seat in range(game.num_players):
            gone = seat not in present
            self.terminations[row, seat] = gone and not cut
            self.truncations[row, seat] = gone and cut
        self._see(row)
        if ended:
            self._finish(row)

    def _finish(self, row: int) -> None:
        episode = self.episodes[row]
        self.finished[row] = True
        self.final_returns[row] = episode.returns
        self.final_length[row] = episode.turn
        if self.autoreset == "same_step":
            flags = self.terminations[row].copy(), self.truncations[row].copy()
            self.final_observations[row] = self.observations[row]
            self._deal(row)
            self.terminations[row], self.truncations[row] = flags

    def random_actions(self) -> Array:
        """A random legal action number for every acting seat, drawn by each episode's own noise."""
        actions = np.zeros(self.acting.shape, np.int64)
        for row, seat in np.argwhere(self.acting).tolist():
            legal = self.masks[row, seat].nonzero()[0]
            actions[row, seat] = legal[self.episodes[row].noise.below(len(legal))]
        return actions

    def close(self) -> None:
        """Nothing is held open."""
