"""The batch as an environment of JaxMARL: for `jax.jit`, `jax.vmap` and `jax.lax.scan`.

Tested with JaxMARL 0.2.0 and jax 0.10.2 on the CPU. The game is not written in JAX: each step is
one call of the compiled batch (`jax.pure_callback`), of all lanes that `jax.vmap` maps over.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra.engine.batch import Batch
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.errors import InvalidOption, MissingExtra, UnknownName
from palestra.kernel.game import Game
from palestra.kernel.specs import EnvSpec
from palestra.views.opening import check_settings, open_for

try:
    import jax
    import jax.numpy as jnp
    from flax import struct
    from jaxmarl.environments.multi_agent_env import MultiAgentEnv, State
    from jaxmarl.environments.spaces import Box, Discrete
except ImportError as error:
    raise MissingExtra("jaxmarl", "palestra[jaxmarl]") from error

Array = NDArray[Any]
POLICIES = ("noop", "random", "forfeit")
NONE = -1  # no action


@struct.dataclass
class LaneState(State):
    """A whole episode as arrays: the lane's bytes, and what the seats see of it."""

    lane: Any
    observations: Any
    masks: Any


class JaxMARLEnv(MultiAgentEnv):
    """An array game for JaxMARL; agents `agent_0`, … are its seats.

    A state is a value: stepped twice with the same actions, it gives the same result. `step` resets
    an episode that is over, as JaxMARL's does; its random numbers come from the key of the reset.
    Actions of seats that are not acting are ignored, and their `get_avail_actions` are all true.
    Infos have `mistakes`, 1.0 for each seat that played an illegal action.

    invalid: the policy for illegal actions, as in `palestra.play`: "noop" (a game that has no
    no-operation forfeits), "random" (the key of the step says which) or "forfeit". flatten:
    observations are flat and float32, as JaxMARL's baselines take them; otherwise they have the
    game's shape and type. max_episode_steps truncates longer episodes. options: the game's.
    """

    def __init__(
        self,
        env: str | EnvSpec | Game[Any, Any],
        *,
        invalid: str = "noop",
        flatten: bool = True,
        max_episode_steps: int | None = None,
        threads: int = 1,
        **options: Any,
    ) -> None:
        check_settings(num_envs=1, max_episode_steps=max_episode_steps, threads=threads)
        _, game = open_for(JaxMARLEnv, env, options)
        if not isinstance(game, ArrayGame):
            raise InvalidOption(
                f"{type(game).__name__} is not an ArrayGame: its states are no arrays for JAX"
            )
        if invalid not in POLICIES:
            raise UnknownName("invalid-move policy of JaxMARLEnv", invalid, POLICIES)
        super().__init__(num_agents=game.num_players)
        self.game, self._invalid = game, invalid
        self._noops = [_noop(game, seat) for seat in range(game.num_players)]
        self._max_steps, self._threads = max_episode_steps, threads
        self._batches: dict[int, Batch] = {}  # by number of lanes
        self._lock = Lock()
        box = game.observation_space(0)
        shape = (int(np.prod(box.shape)),) if flatten else box.shape
        dtype = np.float32 if flatten else box.dtype
        low, high = float(np.min(box.low)), float(np.max(box.high))
        self.observation_spaces = {a: Box(low, high, shape, dtype) for a in self.agents}
        self.action_spaces = {a: Discrete(game.num_actions) for a in self.agents}
        seats = (game.num_players,)
        small = self._batch(1)
        self._shapes = {
            "lane": jax.ShapeDtypeStruct((small.lanes.dtype.itemsize,), np.uint8),
            "observations": jax.ShapeDtypeStruct((*seats, *shape), dtype),
            "masks": jax.ShapeDtypeStruct((*seats, game.num_actions), np.bool_),
            "rewards": jax.ShapeDtypeStruct(seats, np.float32),
            "dones": jax.ShapeDtypeStruct(seats, np.bool_),
            "over": jax.ShapeDtypeStruct((), np.bool_),
            "length": jax.ShapeDtypeStruct((), np.int32),
        }

    @property
    def name(self) -> str:
        """The name of the game's class."""
        return type(self.game).__name__

    @property
    def agent_classes(self) -> dict[str, list[str]]:
        """All seats are of one class."""
        return {"agents": list(self.agents)}

    # What JaxMARL calls; arrays have no axis of lanes here

    @partial(jax.jit, static_argnums=(0,))
    def reset(self, key: Any) -> tuple[Any, LaneState]:
        """A new episode from a random key: the observations by agent, and the state."""
        made = self._call(self._reset_lanes, _seed(key))
        state = self._state(made)
        return self.get_obs(state), state

    @partial(jax.jit, static_argnums=(0,))
    def step(
        self,
        key: Any,
        state: LaneState,
        actions: Mapping[str, Any],
        reset_state: LaneState | None = None,
    ) -> tuple[Any, LaneState, Any, Any, Any]:
        """One step; an episode that it ends is followed by a new one, or by `reset_state`."""
        key, key_reset = jax.random.split(key)
        if reset_state is not None:
            observations, after, rewards, dones, infos = self.step_env(key, state, actions)
            over = dones["__all__"]
            after = jax.tree.map(lambda new, old: jnp.where(over, new, old), reset_state, after)
            return self.get_obs(after), after, rewards, dones, infos
        return self._step(key, state, actions, _seed(key_reset), True)

    def step_env(
        self, key: Any, state: LaneState, actions: Mapping[str, Any]
    ) -> tuple[Any, LaneState, Any, Any, Any]:
        """One step without a reset; the game's random numbers are in the state."""
        return self._step(key, state, actions, jnp.zeros(2, jnp.uint32), False)

    def get_obs(self, state: LaneState) -> dict[str, Any]:
        """What each agent sees in a state."""
        return {agent: state.observations[seat] for seat, agent in enumerate(self.agents)}

    @partial(jax.jit, static_argnums=(0,))
    def get_avail_actions(self, state: LaneState) -> dict[str, Any]:
        """The legal actions of each agent, as booleans."""
        return {agent: state.masks[seat] for seat, agent in enumerate(self.agents)}

    def _step(
        self, key: Any, state: LaneState, actions: Mapping[str, Any], seed: Any, again: bool
    ) -> tuple[Any, LaneState, Any, Any, Any]:
        chosen, mistakes = self._repair(key, state, actions)
        made = self._call(partial(self._step_lanes, again), state.lane, chosen, seed)
        after = self._state(made)
        rewards = {agent: made["rewards"][seat] for seat, agent in enumerate(self.agents)}
        dones = {agent: made["dones"][seat] for seat, agent in enumerate(self.agents)}
        infos = {"mistakes": mistakes.astype(jnp.float32)}
        return self.get_obs(after), after, rewards, {**dones, "__all__": made["over"]}, infos

    def _repair(self, key: Any, state: LaneState, actions: Mapping[str, Any]) -> tuple[Any, Any]:
        """The actions to play, and which of those chosen were illegal."""
        chosen = jnp.stack(
            [jnp.asarray(actions[agent], jnp.int32).reshape(()) for agent in self.agents]
        )
        chosen = jnp.clip(chosen, 0, self.game.num_actions - 1)
        illegal = ~jnp.take_along_axis(state.masks, chosen[:, None], 1)[:, 0]
        if self._invalid == "noop":
            instead = jnp.array(self._noops)
        elif self._invalid == "random":
            instead = jax.random.categorical(key, jnp.where(state.masks, 0.0, -jnp.inf))
        else:
            instead = jnp.full(self.num_agents, NONE)
        return jnp.where(illegal & (instead != NONE), instead, chosen), illegal

    def _state(self, made: Mapping[str, Any]) -> LaneState:
        over = made["over"] & (made["length"] > 0)  # a lane that was reset at once is not over
        return LaneState(
            done=over,
            step=made["length"],
            lane=made["lane"],
            observations=made["observations"],
            masks=made["masks"],
        )

    def _call(self, function: Any, *arrays: Any) -> dict[str, Any]:
        return jax.pure_callback(function, self._shapes, *arrays, vmap_method="broadcast_all")

    # What is called back, outside of JAX: arrays with any number of leading axes of lanes

    def _reset_lanes(self, seeds: Any) -> dict[str, Array]:
        words = np.asarray(seeds)
        flat = words.reshape(-1, 2)
        with self._lock:
            batch = self._batch(len(flat))
            batch.reset(seed=_join_words(flat))
            return self._made(batch, words.shape[:-1])

    def _step_lanes(self, again: bool, lanes: Any, actions: Any, seeds: Any) -> dict[str, Array]:
        """Step lanes; again: those that are over then begin a new episode from `seeds`."""
        stored = np.ascontiguousarray(lanes)
        axes = stored.shape[:-1]
        played = np.asarray(actions).reshape(-1, self.num_agents)
        with self._lock:
            batch = self._batch(len(played))
            batch.load(stored.view(batch.lanes.dtype).reshape(-1))
            batch.step(played)
            paid = {
                "rewards": batch.rewards.astype(np.float32).reshape(*axes, -1),
                "dones": (batch.terminations | batch.truncations).reshape(*axes, -1),
                "over": batch.finished.copy().reshape(axes),
            }
            ended = batch.finished.nonzero()[0]
            if again and len(ended):
                batch.reset(seed=_join_words(np.asarray(seeds).reshape(-1, 2)), lanes=ended)
            return {**self._made(batch, axes), **paid}

    def _made(self, batch: Batch, axes: tuple[int, ...]) -> dict[str, Array]:
        """The lanes of a batch and what their seats see."""
        seen = self._shapes["observations"]
        waiting = ~batch.acting[..., None]
        return {
            "lane": batch.lanes.view(np.uint8).reshape(*axes, -1).copy(),
            "observations": batch.observations.astype(seen.dtype).reshape(*axes, *seen.shape),
            "masks": (batch.masks.astype(np.bool_) | waiting).reshape(
                *axes, *batch.masks.shape[1:]
            ),
            "rewards": np.zeros((*axes, self.num_agents), np.float32),
            "dones": np.zeros((*axes, self.num_agents), np.bool_),
            "over": np.zeros(axes, np.bool_),
            "length": batch.lanes["length"].astype(np.int32).reshape(axes),
        }

    def _batch(self, lanes: int) -> Batch:
        if lanes not in self._batches:
            self._batches[lanes] = Batch(
                self.game,
                lanes,
                seed=0,
                autoreset="disabled",
                threads=self._threads,
                max_steps=self._max_steps,
            )
        return self._batches[lanes]


def _noop(game: ArrayGame, seat: int) -> int:
    """The number of a seat's no-operation, which array games have in every state or in none."""
    action = game.noop(game.initial_state(0), seat)
    index = None if action is None else game.index_of(action)
    return NONE if index is None else index


def _seed(key: Any) -> Any:
    """Two 32-bit words of a key, as the seed of an episode."""
    return jax.random.bits(key, (2,), jnp.uint32)


def _join_words(words: Array) -> list[int]:
    return [int(low) | (int(high) << 32) for low, high in words.tolist()]
