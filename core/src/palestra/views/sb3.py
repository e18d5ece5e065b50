"""The batch as a Stable-Baselines3 `VecEnv`, masks included."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra.kernel.errors import InvalidOption, MissingExtra
from palestra.kernel.game import Game
from palestra.kernel.specs import EnvSpec
from palestra.views.vector import Policy, VectorView

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise MissingExtra("stable-baselines3", "stable-baselines3") from error


class SB3VecEnv(VecEnv):
    """`seat` learns in each of `num_envs` episodes; `opponents` as in `VectorView`.

    `seat="all"` lets one policy play every seat of a simultaneous game, as `num_envs` times the
    number of seats environments, lane by lane. Finished episodes are reset at once, with
    `terminal_observation`, `TimeLimit.truncated` and `episode` in their info. `action_masks` serves
    sb3-contrib's MaskablePPO.
    """

    def __init__(
        self,
        env: str | EnvSpec | Game[Any, Any],
        num_envs: int,
        *,
        seat: int | str = 0,
        opponents: str | Policy = "random",
        seed: int | None = None,
        **options: Any,
    ) -> None:
        if isinstance(seat, str) and seat != "all":
            raise InvalidOption(f"seat is a number or 'all', not {seat!r}")
        self._all = seat == "all"
        first = 0 if isinstance(seat, str) else seat
        self.vector = VectorView(
            env, num_envs, seat=first, opponents=opponents, autoreset="same_step", **options
        )
        game = self.vector.game
        if self._all and game.order != "simultaneous":
            raise InvalidOption(
                f"seat='all' needs a game in which all seats move at once; "
                f"{type(game).__name__} is {game.order}"
            )
        if self._all:
            self.vector.batch.hand_over(range(game.num_players))
        self._seats = list(range(game.num_players)) if self._all else [first]
        count = num_envs * len(self._seats)
        self._seed_next = seed
        self._actions: NDArray[Any] = np.zeros(count, np.int64)
        self._gone = np.zeros(count, np.bool_)  # seats that left an episode others go on with
        one = self.vector
        super().__init__(count, one.single_observation_space, one.single_action_space)

    def _flat(self, values: NDArray[Any]) -> NDArray[Any]:
        """Copy (N, P, …) to one entry per learning seat."""
        chosen = values[:, self._seats]
        return np.ascontiguousarray(chosen.reshape(self.num_envs, *values.shape[2:]))

    def set_opponents(self, opponents: Policy) -> None:
        """Replace the learner's opponents by a policy, for example a past version of itself."""
        self.vector.seat_policy(opponents)

    def reset(self) -> NDArray[Any]:
        self.vector.reset(seed=self._seed_next)
        self._seed_next = None
        self._gone[:] = False
        return self._flat(self.vector.batch.observations)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        self._seed_next = seed
        return [None if seed is None else seed + i for i in range(self.num_envs)]

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = np.asarray(actions)

    def step_wait(
        self,
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_], list[dict[str, Any]]]:
        batch = self.vector.batch
        if self._all:
            paid = self.vector.play_all(self._actions.reshape(batch.num_envs, -1))
        else:
            paid = self.vector.play(self._actions)
        rewards = self._flat(paid)
        terminated = self._flat(batch.terminations)
        truncated = self._flat(batch.truncations) & ~terminated
        done = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for index in done.nonzero()[0].tolist():
            infos[index] = self._final_info(index, bool(truncated[index]))
        self._gone = done & ~np.repeat(batch.finished, len(self._seats))
        observations = self._flat(batch.observations)
        return observations, rewards.astype(np.float32), done, infos

    def _final_info(self, index: int, truncated: bool) -> dict[str, Any]:
        batch = self.vector.batch
        lane, place = divmod(index, len(self._seats))
        seat = self._seats[place]
        if batch.finished[lane]:
            statistics = batch.statistics()
            seen, length = batch.final_observations[lane, seat], statistics["length"][lane]
            returned = statistics["returns"][lane, seat]
        else:  # the seat has left, and others play on
            seen, length = batch.observations[lane, seat], batch.lanes["length"][lane]
            returned = batch.returns[lane, seat]
        info = {"terminal_observation": seen.copy(), "TimeLimit.truncated": truncated}
        if not self._gone[index]:  # its episode is reported once, when it ends
            info["episode"] = {"r": float(returned), "l": int(length), "t": 0.0}
        return info

    def action_masks(self) -> NDArray[np.bool_]:
        """Legal actions, of shape (number of environments, A)."""
        return self._flat(self.vector.batch.masks).astype(bool)

    def get_images(self) -> Sequence[NDArray[Any] | None]:
        """A frame of every environment, for `render` and `VecVideoRecorder`.

        All seats of an episode have the frame that `VectorView.render` gives of it; without
        render_mode="rgb_array" there are none.
        """
        frames = self.vector.render() or (None,) * self.vector.num_envs
        return [frame for frame in frames for _ in self._seats]

    # What VecEnv asks of each environment

    def env_method(
        self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any
    ) -> list[Any]:
        if method_name != "action_masks":
            raise InvalidOption(f"these environments have no method {method_name!r}")
        masks = self.action_masks()
        return [masks[i] for i in self._indices(indices)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        if attr_name == "action_masks":
            return [self.action_masks for _ in self._indices(indices)]
        return [getattr(self.vector, attr_name) for _ in self._indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise InvalidOption(f"{attr_name!r} of one environment of a batch cannot be set")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False for _ in self._indices(indices)]

    def _indices(self, indices: Any) -> Iterable[int]:
        if indices is None:
            return range(self.num_envs)
        return [indices] if isinstance(indices, int) else list(indices)

    def close(self) -> None:
        self.vector.close()
