"""The batch interface over a plain loop, for games whose state is not one record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra.engine.lanes import AUTORESET, check_actions, lane_seeds
from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidOption, OutOfTurn, UnknownName
from palestra.kernel.game import Game

Array = NDArray[Any]


class TextBatch:
    """N episodes with an array view, one after the other; observe `palestra.engine.batch.Batch`."""

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
        """Deal all lanes; `seed` is the first lane's, or one for every lane."""
        if seed is not None or not self._seeds:
            self._seeds = lane_seeds(self._seed if seed is None else seed, self.num_envs)
        for lane in range(self.num_envs):
            self._deal(lane)
        return self.observations

    def _deal(self, lane: int) -> None:
        episode = self.episodes[lane]
        episode.reset(self._seeds[lane])
        self._seeds[lane] = (self._seeds[lane] + self.num_envs) % 2**64
        self.terminations[lane] = self.truncations[lane] = False
        self._see(lane)

    def _see(self, lane: int) -> None:
        episode = self.episodes[lane]
        for seat in range(self.game.num_players):
            self.observations[lane, seat] = episode.observation(seat)
            self.masks[lane, seat] = episode.action_mask(seat)
            self.acting[lane, seat] = seat in episode.to_act

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Observations, rewards, terminations, truncations and infos after a step of every lane."""
        if not self._seeds:
            raise OutOfTurn("call reset() before step()")
        shape = (self.num_envs, self.game.num_players)
        numbers = check_actions(actions, shape, self.masks.shape[2], self.acting)
        self.rewards[:] = 0.0
        self.finished[:] = False
        for lane in range(self.num_envs):
            self._step(lane, numbers[lane])
        statistics = {
            "returns": self.final_returns,
            "length": self.final_length,
            "_finished": self.finished,
        }
        infos = {"action_mask": self.masks, "acting": self.acting, "episode": statistics}
        return self.observations, self.rewards, self.terminations, self.truncations, infos

    def _step(self, lane: int, numbers: Array) -> None:
        episode = self.episodes[lane]
        if episode.over:
            if self.autoreset == "next_step":
                self._deal(lane)
            return
        game = self.game
        episode.act({seat: game.action_of(int(numbers[seat])) for seat in episode.to_act})
        self.rewards[lane] = episode.rewards
        present = episode.present
        ended = not episode.to_act
        cut = ended and episode.truncated
        for seat in range(game.num_players):
            gone = seat not in present
            self.terminations[lane, seat] = gone and not cut
            self.truncations[lane, seat] = gone and cut
        self._see(lane)
        if ended:
            self._finish(lane)

    def _finish(self, lane: int) -> None:
        episode = self.episodes[lane]
        self.finished[lane] = True
        self.final_returns[lane] = episode.returns
        self.final_length[lane] = episode.turn
        if self.autoreset == "same_step":
            flags = self.terminations[lane].copy(), self.truncations[lane].copy()
            self.final_observations[lane] = self.observations[lane]
            self._deal(lane)
            self.terminations[lane], self.truncations[lane] = flags

    def random_actions(self) -> Array:
        """A random legal action number for every acting seat, from each episode's own generator."""
        actions = np.zeros(self.acting.shape, np.int64)
        for lane, seat in np.argwhere(self.acting).tolist():
            legal = self.masks[lane, seat].nonzero()[0]
            actions[lane, seat] = legal[self.episodes[lane].repair_rng.below(len(legal))]
        return actions

    def close(self) -> None:
        """Nothing is held open."""
