"""One learning seat in N episodes: the batch as a `gymnasium.vector.VectorEnv`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from palestra.engine.batch import Batch
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidOption, UnknownName
from palestra.kernel.game import Game
from palestra.kernel.registry import open_game, renderer
from palestra.kernel.specs import EnvSpec

Array = NDArray[Any]
Policy = Callable[[Array, Array], Any]

MODES = {
    "next_step": AutoresetMode.NEXT_STEP,
    "same_step": AutoresetMode.SAME_STEP,
    "disabled": AutoresetMode.DISABLED,
}


class VectorView(VectorEnv[Any, Any, Any]):
    """`seat` is played from outside; the others by `opponents`.

    `opponents` is "random" (played inside the compiled loop) or a function of observations
    (M, *shape) and masks (M, A) to M action numbers, called once for all lanes that wait for it.
    Infos have `action_mask` (N, A), and where an episode ended (`_final_return`) its return and
    length as `final_return` and `final_length`; in "same_step" mode also `final_obs`. `autoreset`
    is "next_step", "same_step" or "disabled", or Gymnasium's own `AutoresetMode`.
    `max_episode_steps` truncates longer episodes. render_mode="rgb_array" gives one frame an
    environment.
    """

    def __init__(
        self,
        env: str | EnvSpec | Game[Any, Any],
        num_envs: int = 1,
        *,
        seat: int = 0,
        opponents: str | Policy = "random",
        autoreset: str | AutoresetMode = "next_step",
        autoreset_mode: str | AutoresetMode | None = None,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        threads: int = 1,
        compiled: bool | None = None,
        **options: Any,
    ) -> None:
        self._spec, game = open_game(env, options)
        if not isinstance(game, ArrayGame):
            raise InvalidOption(
                f"{type(game).__name__} is not an ArrayGame; use vectorization_mode='sync'"
            )
        if not 0 <= seat < game.num_players:
            raise InvalidOption(f"seat must be from 0 to {game.num_players - 1}, not {seat}")
        if isinstance(opponents, str) and opponents not in ("random", "scripted"):
            raise InvalidOption(
                f"opponents={opponents!r}: a vector environment takes 'random', 'scripted' (where "
                "the game has a script) or a function of observations and masks; other agents "
                "play in the gym view"
            )
        if render_mode not in (None, "rgb_array"):
            raise UnknownName("render mode", str(render_mode), ["rgb_array"])
        mode = _mode(autoreset if autoreset_mode is None else autoreset_mode)
        others = [s for s in range(game.num_players) if s != seat]
        self.game, self.seat, self.num_envs = game, seat, num_envs
        self._policy = None if isinstance(opponents, str) else opponents
        self.batch = Batch(
            game,
            num_envs,
            autoreset=mode,
            max_steps=max_episode_steps,
            random_seats=others if opponents == "random" else (),
            scripted_seats=others if opponents == "scripted" else (),
            threads=threads,
            compiled=compiled,
        )
        self.render_mode = render_mode
        self.autoreset_mode = MODES[mode]
        self.metadata = {
            "autoreset_mode": MODES[mode],
            "render_modes": ["rgb_array"],
            "render_fps": 4,
        }
        self._painter: Any = None
        self.single_observation_space = game.observation_space(seat)
        self.single_action_space = game.action_space(seat)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def seat_policy(self, policy: Policy) -> None:
        """Let a function play the other seats from now on."""
        self._policy = policy
        self.batch.hand_over(range(self.game.num_players))

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Deal every lane, or with options {"reset_mask": (N,) bool} only some."""
        lanes = None if options is None else options.get("reset_mask")
        if lanes is not None:
            lanes = np.flatnonzero(lanes)
        self.batch.reset(seed, lanes)
        self._others_play(np.zeros((self.num_envs, self.game.num_players)))
        return self._observations(), {"action_mask": self._masks()}

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Play an action for the learning seat of every lane, then all others up to its next."""
        batch = self.batch
        batch.actions[:, self.seat] = actions
        if self._policy is None:
            batch.step()
            paid = batch.rewards
        else:
            self._answer(np.arange(self.num_envs))
            batch.step()
            paid = batch.rewards.copy()
            self._others_play(paid)
        seat = self.seat
        return (
            self._observations(),
            paid[:, seat].copy(),
            batch.terminations[:, seat].copy(),
            batch.truncations[:, seat].copy(),
            self._infos(),
        )

    def _others_play(self, paid: Array) -> None:
        """Step the lanes in which only opponents are asked, until the learning seat is."""
        if self._policy is None:
            return
        batch = self.batch
        while True:
            over = batch.lanes["over"].view(np.bool_)
            waiting = np.flatnonzero(~over & ~batch.acting[:, self.seat])
            if not len(waiting):
                return
            self._answer(waiting)
            batch.step(lanes=waiting)
            paid[waiting] += batch.rewards[waiting]

    def _answer(self, lanes: Array) -> None:
        """Write the opponents' actions for these lanes."""
        assert self._policy is not None
        batch = self.batch
        for seat in range(self.game.num_players):
            asked = lanes[batch.acting[lanes, seat]]
            if seat != self.seat and len(asked):
                seen, masks = batch.observations[asked, seat], batch.masks[asked, seat]
                batch.actions[asked, seat] = self._policy(seen, masks)

    def _observations(self) -> Array:
        return np.ascontiguousarray(self.batch.observations[:, self.seat])

    def _masks(self) -> Array:
        return np.ascontiguousarray(self.batch.masks[:, self.seat])

    def _infos(self) -> dict[str, Any]:
        batch = self.batch
        infos: dict[str, Any] = {"action_mask": self._masks()}
        done = batch.finished.copy()
        if done.any():
            statistics = batch.statistics()
            infos["final_return"] = statistics["returns"][:, self.seat].copy()
            infos["final_length"] = statistics["length"].copy()
            infos["_final_return"] = infos["_final_length"] = done
            if batch.autoreset == "same_step":
                infos["final_obs"] = batch.final_observations[:, self.seat].copy()
                infos["_final_obs"] = done
        return infos

    def action_masks(self) -> NDArray[np.bool_]:
        """(N, A) legal actions of the learning seat, sb3-contrib's convention."""
        return self._masks().astype(bool)

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """A frame (HxWx3 uint8) of every environment, as the learning seat may see it."""
        if self.render_mode is None:
            return None
        if self._painter is None:
            self._painter = renderer(self._spec, "rgb_array")()
        viewer = None if self.game.perfect_information else self.seat
        episode = Episode(self.game, 0, spec=self._spec, compiled=False)
        frames = []
        for state in self.batch.lanes["timestep"]["state"]:
            episode.load(state)
            frames.append(self._painter.draw(episode, viewer))
        return tuple(frames)

    def close_extras(self, **kwargs: Any) -> None:
        self.batch.close()
        if self._painter is not None:
            self._painter.close()


def _mode(autoreset: str | AutoresetMode) -> str:
    """The name of an autoreset mode, given as ours or as Gymnasium's."""
    for name, mode in MODES.items():
        if autoreset in (name, mode):
            return name
    raise UnknownName("auto-reset mode", str(autoreset), MODES)


make = VectorView
