"""The batch interface as a Python loop, for games whose state is not one record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra.engine.array_simulator import frozen_view
from palestra.engine.lanes import (
    AUTORESET,
    RANDOM,
    SCRIPTED,
    check_actions,
    check_seats,
    episode_seed,
    lane_seeds,
)
from palestra.kernel.array_game import RESULTS
from palestra.kernel.errors import InvalidOption, OutOfTurn, UnknownName
from palestra.kernel.game import Game
from palestra.kernel.rng import Rng
from palestra.shaping import Shaper, open_episode

Array = NDArray[Any]
Lanes = Array | Sequence[int] | slice


class TextBatch:
    """N episodes with an array view, one after the other; see `palestra.engine.batch.Batch`.

    Lanes are seeded, reset, saved and loaded as there, and what happens in one depends on its seed
    alone. `random_seats` play random legal moves and `scripted_seats` the game's own `scripted`: a
    step continues until another seat is to act. With `rewards`, `terms` holds the last step's
    rewards by name, each (N, P).
    """

    def __init__(
        self,
        game: Game[Any, Any],
        num_envs: int,
        *,
        seed: int | None = None,
        autoreset: str = "next_step",
        max_steps: int | None = None,
        random_seats: Sequence[int] = (),
        scripted_seats: Sequence[int] = (),
        rewards: Sequence[str | Shaper] | None = None,
        gamma: float = 1.0,
    ) -> None:
        check_seats(game, random_seats, scripted_seats)
        if num_envs < 1:
            raise InvalidOption(f"num_envs must be positive, not {num_envs}")
        if max_steps is not None and max_steps < 1:
            raise InvalidOption(f"max_steps must be at least 1, not {max_steps}")
        if autoreset not in AUTORESET:
            raise UnknownName("auto-reset mode", autoreset, AUTORESET)
        self.game, self.num_envs, self.autoreset = game, num_envs, autoreset
        self.episodes = [
            open_episode(game, 0, invalid="forfeit", rewards=rewards, gamma=gamma)
            for _ in range(num_envs)
        ]
        self._limit = max_steps
        self._auto = dict.fromkeys(random_seats, RANDOM) | dict.fromkeys(scripted_seats, SCRIPTED)
        self._shaped = rewards is not None
        self._seed, self._started = seed, False
        self.seeds = [0] * num_envs
        self._resets = [0] * num_envs  # episodes of each lane since it was given its seed

        seats = range(game.num_players)
        spaces = [(game.observation_space(seat), game.action_space(seat)) for seat in seats]
        if any(pair != spaces[0] for pair in spaces):
            raise InvalidOption(
                f"the seats of {type(game).__name__} have different spaces, which share no array; "
                "use the aec or the parallel view"
            )
        space, n = spaces[0][0], int(spaces[0][1].n)
        assert space.shape is not None
        shape = num_envs, game.num_players
        self.actions = np.zeros(shape, np.int64)
        self.observations = np.zeros((*shape, *space.shape), space.dtype)
        self.final_observations = np.zeros_like(self.observations)
        self._masks = np.ones((*shape, n), np.int8)
        self.masks = frozen_view(self._masks)
        self.final_masks = np.ones_like(self._masks)
        self.acting = np.zeros(shape, np.bool_)
        self._draws = [Rng(0)] * num_envs  # for random seats, by lane; each dealing makes one
        self.rewards = np.zeros(shape)
        self._early = np.zeros(shape)  # paid before the first turn from outside
        self.terms: dict[str, Array] = {}
        self._early_terms: dict[str, Array] = {}
        self.returns = np.zeros(shape)
        self.terminations = np.zeros(shape, np.bool_)
        self.truncations = np.zeros(shape, np.bool_)
        self._left = np.zeros(shape, np.bool_)  # seats that left an episode others go on with
        self.finished = np.zeros(num_envs, np.bool_)
        self._unreported = np.zeros(num_envs, np.bool_)  # over before the first turn from outside
        self.mistakes = np.zeros(shape, np.int64)
        self.final_returns = np.zeros(shape)
        self.final_length = np.zeros(num_envs, np.int64)
        self.final_results = np.zeros(shape, np.uint8)

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles; `masks` is a view of what is kept."""
        return {name: value for name, value in vars(self).items() if name != "masks"}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        vars(self).update(kept)
        self.masks = frozen_view(self._masks)

    @property
    def episode_seeds(self) -> list[int]:
        """The seed of the episode every lane is playing."""
        return [episode.seed for episode in self.episodes]

    def statistics(self) -> dict[str, Array]:
        """Returns (N, P), length (N,) and result codes (N, P) of lanes finished in this step.

        `_finished` says which lanes those are, as Gymnasium's vector infos do.
        """
        return {
            "returns": self.final_returns,
            "length": self.final_length,
            "results": self.final_results,
            "_finished": self.finished,
        }

    # Playing

    def reset(
        self,
        seed: int | Sequence[int | None] | None = None,
        lanes: Array | Sequence[int] | None = None,
    ) -> Array:
        """Reset all lanes, or only `lanes`; `seed` is the first lane's seed, or one per lane."""
        everywhere = range(self.num_envs)
        if not self._started:
            self._set_seeds(self._seed, everywhere)
        chosen = everywhere if lanes is None else self._numbers(lanes)
        if seed is not None:
            self._set_seeds(seed, chosen)
        for lane in chosen:
            self._clear(lane)
            self._reset_lane(lane)
        self._started = True
        return self.observations

    def _set_seeds(self, seed: int | Sequence[int | None] | None, lanes: Sequence[int]) -> None:
        seeds = lane_seeds(seed, self.num_envs)
        for lane in lanes:
            self.seeds[lane], self._resets[lane] = seeds[lane], 0

    def _numbers(self, lanes: Lanes) -> list[int]:
        """The numbers of the lanes that an index names."""
        return np.atleast_1d(np.arange(self.num_envs)[lanes]).tolist()

    def _reset_lane(self, lane: int) -> None:
        self.episodes[lane].reset(episode_seed(self.seeds[lane], self._resets[lane]))
        self._draws[lane] = Rng.seeded(self.episodes[lane].seed, stream=1)
        self._resets[lane] += 1
        self.mistakes[lane] = 0
        self._early[lane] = 0.0
        self._left[lane] = False
        for paid in self._early_terms.values():
            paid[lane] = 0.0
        self._run_on(lane, self._early, self._early_terms)
        self._see(lane)
        self._unreported[lane] = self.episodes[lane].over
        self.terminations[lane] = self.truncations[lane] = False

    def _clear(self, lane: int) -> None:
        """Clear the results of a lane's last step."""
        self.finished[lane] = False
        self.rewards[lane] = 0.0
        for paid in self.terms.values():
            paid[lane] = 0.0

    def _run_on(self, lane: int, paid: Array, terms: dict[str, Array]) -> None:
        """Play the seats played inside the batch until another seat is to act."""
        episode = self.episodes[lane]
        while episode.to_act and all(seat in self._auto for seat in episode.to_act):
            self._act(lane)
            self._credit(lane, paid, terms)

    def _act(self, lane: int) -> None:
        """Play a lane's actions once, and remember which seats left while others go on."""
        episode = self.episodes[lane]
        episode.act({seat: self._chosen(lane, seat) for seat in episode.to_act})
        if not episode.over:
            self._left[lane] = True
            self._left[lane, list(episode.present)] = False

    def _chosen(self, lane: int, seat: int) -> Any:
        """The action of a seat: the number given to `step`, or its own choice."""
        number, episode = int(self.actions[lane, seat]), self.episodes[lane]
        if seat in self._auto:
            mask = episode.action_mask(seat)
            number = episode.scripted_action(seat) if self._auto[seat] == SCRIPTED else -1
            if not (0 <= number < len(mask) and mask[number]):
                number = self._random(lane, mask)
        return self.game.action_of(number)

    def _random(self, lane: int, mask: Array) -> int:
        legal = mask.nonzero()[0]
        return int(legal[self._draws[lane].below(len(legal))])

    def _credit(self, lane: int, paid: Array, terms: dict[str, Array], sign: int = 1) -> None:
        """Add what the last step of a lane's episode paid, or take it back."""
        episode = self.episodes[lane]
        paid[lane] += sign * np.asarray(episode.rewards)
        if self._shaped:
            for seat, named in episode.step.rewards.items():
                for name, value in named.items():
                    kept = terms.setdefault(name, np.zeros(self.acting.shape))
                    kept[lane, seat] += sign * value

    def _see(self, lane: int) -> None:
        """Bring a lane's rows in line with its episode."""
        episode = self.episodes[lane]
        present = episode.present
        cut = episode.over and episode.truncated
        self.returns[lane] = episode.returns
        self.mistakes[lane] = episode.mistakes
        for seat in range(self.game.num_players):
            self.observations[lane, seat] = episode.observation(seat)
            self._masks[lane, seat] = episode.action_mask(seat)
            self.acting[lane, seat] = seat in episode.to_act
            gone = seat not in present
            in_time = not cut or self._left[lane, seat]
            self.terminations[lane, seat] = gone and in_time
            self.truncations[lane, seat] = gone and not in_time

    def step(
        self, actions: Array | None = None, lanes: Array | Sequence[int] | None = None
    ) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Step every lane; return observations, rewards, terminations, truncations and infos.

        `actions` is (N, P) of integers; None plays what `self.actions` holds.
        """
        if not self._started:
            raise OutOfTurn("call reset() before step()")
        given = self.actions if actions is None else actions
        shape, choices = self.actions.shape, self.masks.shape[2]
        self.actions[:] = check_actions(given, shape, choices, self.acting)
        for lane in range(self.num_envs) if lanes is None else self._numbers(lanes):
            self._clear(lane)
            self._step(lane)
        infos = {"action_mask": self.masks, "acting": self.acting, "episode": self.statistics()}
        if self._shaped:
            infos["reward_terms"] = self.terms
        return self.observations, self.rewards, self.terminations, self.truncations, infos

    def _step(self, lane: int) -> None:
        episode = self.episodes[lane]
        if episode.over and not self._unreported[lane]:
            if self.autoreset == "next_step":
                self._reset_lane(lane)
            return
        self.rewards[lane] += self._early[lane]
        self._early[lane] = 0.0
        for name, paid in self._early_terms.items():
            self.terms.setdefault(name, np.zeros(self.acting.shape))[lane] += paid[lane]
            paid[lane] = 0.0
        if not self._unreported[lane]:
            self._act(lane)
            self._credit(lane, self.rewards, self.terms)
            self._run_on(lane, self.rewards, self.terms)
        self._unreported[lane] = False
        if self._limit is not None and episode.steps_played >= self._limit:
            self._credit(lane, self.rewards, self.terms, -1)  # an end has its price
            episode.truncate(f"{self._limit} steps played")
            self._credit(lane, self.rewards, self.terms)
        self._see(lane)
        if not episode.to_act:
            self._finish(lane)

    def _finish(self, lane: int) -> None:
        episode = self.episodes[lane]
        self.finished[lane] = True
        self.final_returns[lane] = episode.returns
        self.final_length[lane] = episode.steps_played
        results = episode.outcome.results if episode.outcome else ()
        self.final_results[lane] = 0
        for seat, result in enumerate(results):
            if result in RESULTS:
                self.final_results[lane, seat] = RESULTS.index(result)
        if self.autoreset == "same_step":
            flags = self.terminations[lane].copy(), self.truncations[lane].copy()
            self.final_observations[lane] = self.observations[lane]
            self.final_masks[lane] = self.masks[lane]
            self._reset_lane(lane)
            self.terminations[lane], self.truncations[lane] = flags

    def random_actions(self) -> Array:
        """Write a random legal action for every acting seat into `actions`, and return it.

        They are drawn from each episode's own generator.
        """
        for lane, seat in np.argwhere(self.acting).tolist():
            self.actions[lane, seat] = self._random(lane, self._masks[lane, seat])
        return self.actions

    # States as values

    def save(self, lanes: Lanes = slice(None)) -> list[Any]:
        """A copy of some lanes, for `load`; it can be pickled."""
        return [
            (
                self.episodes[lane].snapshot(),
                replace(self._draws[lane]),
                self.seeds[lane],
                self._resets[lane],
                {name: rows[lane].copy() for name, rows in self._rows().items()},
                [{k: v[lane].copy() for k, v in terms.items()} for terms in self._all_terms],
            )
            for lane in self._numbers(lanes)
        ]

    def load(self, saved: Sequence[Any], lanes: Lanes = slice(None)) -> None:
        """Load saved lanes into these lanes: one for each, or a single one into all."""
        chosen = self._numbers(lanes)
        if len(saved) not in (1, len(chosen)):
            raise InvalidOption(f"{len(saved)} lanes were saved; they do not fit {len(chosen)}")
        for place, lane in enumerate(chosen):
            snapshot, draws, seed, resets, rows, named = saved[place % len(saved)]
            self._draws[lane] = replace(draws)
            self.episodes[lane].restore(snapshot)
            self.seeds[lane], self._resets[lane] = seed, resets
            for name, kept in self._rows().items():
                kept[lane] = rows[name]
            for terms, paid in zip(self._all_terms, named, strict=True):
                for name in paid:
                    terms.setdefault(name, np.zeros(self.acting.shape))
                for name, kept in terms.items():
                    kept[lane] = paid.get(name, 0.0)
        self._started = True

    @property
    def _all_terms(self) -> tuple[dict[str, Array], ...]:
        return self.terms, self._early_terms

    def _rows(self) -> dict[str, Array]:
        """Every array of this batch, each with one row per lane."""
        arrays = ((n, value) for n, value in vars(self).items() if isinstance(value, np.ndarray))
        return {name: value for name, value in arrays if value.flags.writeable}

    def torch(self) -> dict[str, Any]:
        """The arrays as torch tensors that share their memory."""
        import torch

        names = ("observations", "masks", "acting", "rewards", "terminations", "truncations")
        arrays = {name: getattr(self, name) for name in names}
        arrays["masks"] = self._masks  # torch warns about read-only arrays
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    def close(self) -> None:
        """Do nothing: nothing is held open."""
