"""One learning seat in N episodes: the batch as a `gymnasium.vector.VectorEnv`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from gymnasium import Env
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space
from gymnasium.wrappers import TimeLimit
from numpy.typing import NDArray

from palestra.engine.lanes import check_actions
from palestra.engine.shaped_batch import ShapedBatch, open_batch
from palestra.kernel.array_game import RESULTS, ArrayGame
from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidAction, InvalidOption, UnknownName, show
from palestra.kernel.game import Game
from palestra.kernel.registry import registry, renderer
from palestra.kernel.specs import EnvSpec, load_entry_point
from palestra.shaping import Shaper
from palestra.views.gym import GymView
from palestra.views.opening import (
    OBSERVATIONS,
    check_render_options,
    check_seat,
    check_settings,
    open_for,
)

Array = NDArray[Any]
Policy = Callable[[Array, Array], Any]

WORDS = np.array([*RESULTS, "truncated", None], object)  # of episodes that ended, or did not
TRUNCATED, UNSAID = len(RESULTS), len(RESULTS) + 1
FORFEIT = RESULTS.index("forfeit")
MODES = {
    "next_step": AutoresetMode.NEXT_STEP,
    "same_step": AutoresetMode.SAME_STEP,
    "disabled": AutoresetMode.DISABLED,
}
SHARED = {  # attributes that all lanes share, by their names in a gym view
    "game": "game",
    "seat": "seat",
    "spec": "spec",
    "observation_space": "single_observation_space",
    "action_space": "single_action_space",
    "metadata": "metadata",
    "render_mode": "render_mode",
}


class InvalidResetMask(InvalidOption, TypeError):
    """A reset mask that is not an array with one boolean per environment."""


class VectorView(VectorEnv[Any, Any, Any]):
    """`seat` is played from outside; the others by `opponents`.

    `opponents` is "random" (played inside the compiled loop) or a function of observations (M,
    *shape) and masks (M, A) to M action numbers, called once for all lanes in which opponents act.
    `autoreset_mode` (or `autoreset`) is Gymnasium's `AutoresetMode` or its name, spelt either way.
    `rewards` names step shapers to pay ("env": the game's own terms) under the discount `gamma`;
    infos then hold `reward_terms`, the rewards by name. `max_episode_steps` truncates after this
    many steps of the learner, as `gymnasium.make(id, max_episode_steps=…)` does. If the learner
    leaves an episode before the others, the step goes on to the end of the episode, and reports
    that.
    render_mode="rgb_array" gives one frame per environment, and `render_options` its "size" and
    "theme".

    Infos follow Gymnasium: an array of `num_envs` entries, and under the same name with a leading
    `_` a mask of the entries that are set. `action_mask` (N, A) is always present; if an episode
    ended there are its `outcome` (a word, as in the gym view), `final_return` and `final_length`
    (in moves of all seats). In "same_step" mode there are also `final_obs` and, as `final_info`,
    the last mask. infos="arrays" leaves the mask of actions alone, as in the gym view.
    """

    closed = True  # until all is open: Gymnasium 1.1 closes what could not be made

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
        render_options: Mapping[str, Any] | None = None,
        threads: int = 1,
        compiled: bool | None = None,
        rewards: Sequence[str | Shaper] | None = None,
        gamma: float = 1.0,
        infos: str = "all",
        **options: Any,
    ) -> None:
        check_settings(
            infos=infos,
            num_envs=num_envs,
            max_episode_steps=max_episode_steps,
            threads=threads,
            compiled=compiled,
            rewards=rewards,
            gamma=gamma,
        )
        self._spec, game = open_for(VectorView, env, options)
        if not isinstance(game, ArrayGame):
            raise InvalidOption(
                f"{type(game).__name__} is not an ArrayGame; use vectorization_mode='sync'"
            )
        seat = check_seat(seat, game)
        if not callable(opponents) and opponents not in ("random", "scripted"):
            raise InvalidOption(
                f"opponents={opponents!r}: a vector environment takes 'random', 'scripted' (where "
                "the game has a script) or a function of observations and masks; other agents "
                "play in the gym view"
            )
        if render_mode not in (None, "rgb_array"):
            raise UnknownName("render mode", str(render_mode), ["rgb_array"])
        self._render_options = check_render_options(render_mode, render_options)
        mode = mode_named(autoreset if autoreset_mode is None else autoreset_mode)
        others = [s for s in range(game.num_players) if s != seat]
        self.game, self.seat, self.num_envs = game, seat, num_envs
        self._policy = None if isinstance(opponents, str) else opponents
        self.batch = open_batch(
            game,
            num_envs,
            rewards=rewards,
            gamma=gamma,
            autoreset=mode,
            random_seats=others if opponents == "random" else (),
            scripted_seats=others if opponents == "scripted" else (),
            threads=threads,
            compiled=compiled,
        )
        if self._policy is not None:
            self.seat_policy(self._policy)
        self._all_infos = infos == "all"
        self._set: dict[str, tuple[Any, ...]] = {}  # by `set_attr`
        self.render_mode = render_mode
        self.autoreset_mode = MODES[mode]
        self.metadata = {
            "autoreset_mode": MODES[mode],
            "render_modes": ["rgb_array"],
            "render_fps": 4,
        }
        self._painter: Any = None
        self.single_observation_space = deepcopy(game.observation_space(seat))  # own generators
        self.single_action_space = deepcopy(game.action_space(seat))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._everywhere = np.ones(num_envs, np.bool_)
        self._limit = max_episode_steps
        self._steps = np.zeros(num_envs, np.int64)  # of the learner in the episode of each lane
        self._early = np.zeros((num_envs, game.num_players))  # paid before the learner's first turn
        self.closed = False

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seed of every lane, as last set; the seeds of its later episodes follow from it."""
        return tuple(self.batch.seeds)

    def seat_policy(self, policy: Policy) -> None:
        """From now on, let a function play the other seats."""
        if isinstance(self.batch, ShapedBatch):
            others = [s for s in range(self.game.num_players) if s != self.seat]
            self.batch.seat_policies(dict.fromkeys(others, policy))
            self._policy = None  # the batch asks it, and shapes every step of it
            return
        self._policy = policy
        self.batch.hand_over(range(self.game.num_players))

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Reset every lane, or with options {"reset_mask": (N,) bool} only some."""
        if not isinstance(options, Mapping | None):
            raise InvalidOption(f"options must be a mapping or None, and {show(options)} came")
        chosen = None if options is None else options.get("reset_mask")
        lanes = None if chosen is None else self._chosen_lanes(chosen)
        self.batch.reset(seed, lanes)
        dealt = np.ones(self.num_envs, np.bool_)
        if lanes is not None:
            dealt[:] = False
            dealt[lanes] = True
        self._steps[dealt], self._early[dealt] = 0, 0.0
        self._others_play(self._early, dealt)
        return self._observations(), self._mask_info()

    def _chosen_lanes(self, chosen: Any) -> Array:
        """The numbers of the lanes that a reset mask names."""
        found = np.asarray(chosen)
        if found.shape != (self.num_envs,) or found.dtype != np.bool_ or not found.any():
            raise InvalidResetMask(
                f"options['reset_mask'] must be of shape ({self.num_envs},) and type bool, and "
                f"true somewhere; got {show(chosen)}"
            )
        return np.flatnonzero(found)

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Play an action for the learning seat of every lane, then all others up to its next turn.

        Raises `InvalidAction`, before the state changes, for actions outside `action_space`.
        """
        paid = self.play(actions)[:, self.seat].copy()
        ended = self.batch.terminations[:, self.seat].copy()
        cut = self.batch.truncations[:, self.seat].copy()
        return self._observations(), paid, ended, cut, self._infos()

    def play(self, actions: Array) -> Array:
        """Like `step`, but returns only the rewards of every seat, (N, P)."""
        batch = self.batch
        asked = batch.acting[:, self.seat]
        choices = self.game.num_actions
        batch.actions[:, self.seat] = check_actions(actions, (self.num_envs,), choices, asked)
        if self._policy is None and self._limit is None:
            batch.step()
            return batch.rewards
        idle = self._over()
        if self._policy is None:
            batch.step()
            return self._truncate_lanes(batch.rewards, idle)
        self._answer(np.arange(self.num_envs))
        batch.step()
        paid = batch.rewards + np.where(idle[:, None], 0.0, self._early)
        self._early[:] = 0.0
        self._others_play(paid, idle)
        return self._truncate_lanes(paid, idle)

    def play_all(self, actions: Array) -> Array:
        """Play an action (N, P) for every seat, all from outside; returns their rewards (N, P)."""
        idle = self._over()
        self.batch.step(actions)
        return self._truncate_lanes(self.batch.rewards, idle)

    def _over(self) -> Array:
        """Which lanes have no running episode, (N,): a step does not change them."""
        return self.batch.lanes["over"].astype(np.bool_)

    def _truncate_lanes(self, paid: Array, idle: Array) -> Array:
        """Rewards of a step after truncating lanes at the step limit; `idle` lanes did not move."""
        if self._limit is None:
            return paid
        batch = self.batch
        self._steps = np.where(idle, 0, self._steps + 1)
        late = self._steps >= self._limit
        self._steps[batch.finished] = 0
        going = np.flatnonzero(late & ~batch.finished)
        if going.size:
            paid = paid.copy()
            batch.truncate(going)
            self._steps[going] = 0
            self._others_play(paid, idle)
        batch.truncations[late] = True  # also where the episode ended in its last step
        return paid

    def _others_play(self, paid: Array, dealt: Array) -> None:
        """Step the lanes in which only opponents are to act, until the learning seat is.

        Their rewards are added to `paid`; in lanes that were `dealt`, or are reset because an
        episode ended in this step, they are reported with the first step, and so is the end of an
        episode that is over before the learning seat's turn.
        """
        if self._policy is None:
            return
        batch = self.batch
        new = dealt | batch.finished
        while True:
            over = batch.lanes["timestep"]["state"]["over"].view(np.bool_)
            waiting = ~over & ~batch.acting[:, self.seat]
            early, later = np.flatnonzero(waiting & new), np.flatnonzero(waiting & ~new)
            if not (early.size or later.size):
                return
            self._answer(np.flatnonzero(waiting))
            if early.size:
                batch.play_early(early)
                self._early[early] += batch.rewards[early]
            if later.size:
                batch.step(lanes=later)
                paid[later] += batch.rewards[later]
                new |= batch.finished

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
        return self.batch.observations[:, self.seat].copy()

    def _masks(self) -> Array:
        return self.batch.masks[:, self.seat].copy()

    def _mask_info(self) -> dict[str, Any]:
        return {"action_mask": self._masks(), "_action_mask": self._everywhere.copy()}

    def _infos(self) -> dict[str, Any]:
        infos = self._mask_info()
        if not self._all_infos:
            return infos
        if isinstance(self.batch, ShapedBatch):
            paid = {name: terms[:, self.seat].copy() for name, terms in self.batch.terms.items()}
            infos["reward_terms"], infos["_reward_terms"] = paid, self._everywhere.copy()
        done = self.batch.finished
        if np.count_nonzero(done):
            found = self._endings(done)
            for name, values in found.items():
                infos[name], infos[f"_{name}"] = values, done.copy()
        return infos

    def _endings(self, done: Array) -> dict[str, Any]:
        """Additional infos for episodes that ended."""
        batch, seat = self.batch, self.seat
        statistics = batch.statistics()
        found: dict[str, Any] = {
            "outcome": self._outcomes(done, statistics["results"]),
            "final_return": np.where(done, statistics["returns"][:, seat], 0.0),
            "final_length": np.where(done, statistics["length"], 0),
        }
        if batch.autoreset == "same_step":
            found["final_obs"] = observations = np.full(self.num_envs, None, object)
            lanes = done.nonzero()[0]
            for lane, seen in zip(lanes, batch.final_observations[lanes, seat], strict=True):
                observations[lane] = seen
            masks = batch.final_masks[:, seat] * done[:, None].astype(np.int8)
            found["final_info"] = {"action_mask": masks, "_action_mask": done.copy()}
        return found

    def _outcomes(self, done: Array, results: Array) -> Array:
        """The word for the outcome of each episode that ended, None elsewhere."""
        states = self.batch.final_states
        said = np.where(states["truncated"] != 0, TRUNCATED, results[:, self.seat])
        words = WORDS.take(np.where(done, said, UNSAID))
        if type(self.game).outcome is ArrayGame.outcome:
            return words
        lost = (results == FORFEIT).any(axis=1)  # decided by the batch, not by the game
        for lane in np.flatnonzero(done & ~lost).tolist():
            ended = self.game.outcome(states[lane])
            words[lane] = words[lane] if ended is None else ended.results[self.seat]
        return words

    def action_masks(self) -> NDArray[np.bool_]:
        """(N, A) legal actions of the learning seat, sb3-contrib's convention."""
        return self._masks().astype(bool)

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """A frame (HxWx3 uint8) of every environment, as the learning seat may see it."""
        if self.render_mode is None:
            return None
        if self._painter is None:
            self._painter = renderer(self._spec, "rgb_array")(**self._render_options)
        viewer = None if self.game.perfect_information else self.seat
        return tuple(self._painter.draw(episode, viewer) for episode in self._episodes())

    def _episodes(self) -> Iterator[Episode]:
        """Each lane's position as an episode of its own, without its past."""
        for state in self.batch.lanes["timestep"]["state"]:
            episode = Episode(self.game, 0, spec=self._spec, compiled=False)
            episode.load(state)
            yield episode

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """What every environment answers to a method of the gym view, or has as an attribute.

        There are the methods `render` and `action_masks`, the attributes `game`, `seat`, `spec`,
        `episode` (a copy of the position), `np_random_seed`, `observation_space`, `action_space`,
        `metadata` and `render_mode`, and what `set_attr` set. Raises `AttributeError` for others:
        the environments are lanes of one batch.
        """
        count = self.num_envs
        if name in self._set:
            return self._set[name]
        if name == "render":
            return self.render() or (None,) * count
        if name == "action_masks":
            return tuple(self.action_masks())
        if name == "episode":
            return tuple(self._episodes())
        if name == "np_random_seed":
            return self.np_random_seed
        if name in SHARED:
            return (getattr(self, SHARED[name]),) * count
        there = ", ".join(["render", "action_masks", "episode", "np_random_seed", *SHARED])
        raise AttributeError(
            f"the environments of a batch have no {name!r}; they have {there}, and what set_attr "
            "set. vectorization_mode='sync' opens environments that are objects of their own"
        )

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of every environment: see `call`."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Keep a value for every environment, which `get_attr` gives back.

        values: a list or tuple of `num_envs` values, or one for all. Raises `InvalidOption` for a
        wrong number of them, and for attributes that belong to the batch.
        """
        given = tuple(values) if isinstance(values, list | tuple) else (values,) * self.num_envs
        if len(given) != self.num_envs:
            raise InvalidOption(f"{len(given)} values of {name!r} for {self.num_envs} environments")
        if name in SHARED or hasattr(GymView, name):
            raise InvalidOption(
                f"{name!r} cannot be set: all environments are lanes of one batch; open it with "
                "other options"
            )
        self._set[name] = given

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: a renderer, which may hold a window, is opened again."""
        return {**vars(self), "_painter": None}

    def close_extras(self, **kwargs: Any) -> None:
        self.batch.close()
        if self._painter is not None:
            self._painter.close()


class SyncedViews(SyncVectorEnv):
    """Gymnasium's `SyncVectorEnv`; it leaves the options of `reset` to its wrappers, and checks
    all actions before any environment moves.

    Gymnasium 1.4's own takes the reset mask out of the options, so that `RecordEpisodeStatistics`
    starts anew in all lanes.
    """

    def step(self, actions: Any) -> tuple[Any, Array, Array, Array, dict[str, Any]]:
        """Play one action in each environment.

        Raises `InvalidAction`, before the state changes, for actions outside `action_space`.
        """
        legal = f"{self.num_envs} actions, one for every environment"
        try:
            listed = [] if isinstance(actions, str | bytes) else list(actions)
        except TypeError as error:
            raise InvalidAction(actions, legal) from error
        if len(listed) != self.num_envs:
            raise InvalidAction(actions, legal, why=f"there are {len(listed)}")
        for env, action, idle in zip(self.envs, listed, self._autoreset_envs, strict=True):
            if not idle:  # the environment is reset, and the action is not played
                env.unwrapped.check_action(action)  # type: ignore[attr-defined]
        return super().step(actions)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        return super().reset(seed=seed, options=None if options is None else dict(options))


def mode_named(autoreset: str | AutoresetMode) -> str:
    """The name of an autoreset mode, given as ours or as Gymnasium's."""
    for name, mode in MODES.items():
        if autoreset in (name, mode, mode.value):
            return name
    raise UnknownName("auto-reset mode", str(autoreset), MODES)


def make(
    env: str | EnvSpec | Game[Any, Any],
    num_envs: int = 1,
    *,
    obs: str | None = None,
    autoreset: str | AutoresetMode = "next_step",
    autoreset_mode: str | AutoresetMode | None = None,
    max_episode_steps: int | None = None,
    **options: Any,
) -> VectorView | SyncVectorEnv:
    """N episodes as Gymnasium's `make_vec` opens them; other options go to the view and the game.

    An array game is a `VectorView`. A text game, or one asked for with obs="text", is a
    `SyncVectorEnv` of gym views, whose opponents may be any agents.
    """
    mode = mode_named(autoreset if autoreset_mode is None else autoreset_mode)
    if obs != "text" and _is_array_game(env):
        if obs not in (None, *OBSERVATIONS):
            raise UnknownName("observation kind", str(obs), OBSERVATIONS)
        return VectorView(
            env, num_envs, autoreset=mode, max_episode_steps=max_episode_steps, **options
        )

    check_settings(num_envs=num_envs, max_episode_steps=max_episode_steps)

    def open_one() -> Env[Any, Any]:
        view = GymView(env, obs=obs, **options)
        return view if max_episode_steps is None else TimeLimit(view, max_episode_steps)

    return SyncedViews([open_one] * num_envs, autoreset_mode=MODES[mode])


def _is_array_game(env: str | EnvSpec | Game[Any, Any]) -> bool:
    if isinstance(env, Game):
        return isinstance(env, ArrayGame)
    spec = env if isinstance(env, EnvSpec) else registry().environment(env)
    if spec.array_game is not None:
        return spec.array_game
    kind = load_entry_point(spec.entry_point)
    return isinstance(kind, type) and issubclass(kind, ArrayGame)
