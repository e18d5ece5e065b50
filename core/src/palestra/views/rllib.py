"""The batch as RLlib's vector environment of many agents, and the runner that steps it.

Tested with ray 2.60.0, whose `MultiAgentEnvRunner.make_env` (`env/multi_agent_env_runner.py`, line
824) makes one environment object per episode otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from palestra.engine.batch import Batch
from palestra.engine.text_batch import TextBatch
from palestra.kernel.errors import MissingExtra, UnknownName
from palestra.kernel.game import Game
from palestra.kernel.specs import EnvSpec
from palestra.views import batch

try:
    from ray.rllib.callbacks.utils import make_callback
    from ray.rllib.env.multi_agent_env import MultiAgentEnv
    from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
    from ray.rllib.env.vector.vector_multi_agent_env import VectorMultiAgentEnv
except ImportError as error:
    raise MissingExtra("ray", "ray[rllib]") from error

MASKS = ("obs", "off")
ALL = "__all__"
PerLane = list[dict[str, Any]]


class SeatSpaces(MultiAgentEnv):
    """The agents of one episode and their spaces; the episodes themselves are in the batch."""

    def __init__(self, game: Game[Any, Any], choices: int, *, masks: str, flatten: bool) -> None:
        super().__init__()
        self.possible_agents = [f"player_{seat}" for seat in range(game.num_players)]
        self.agents = list(self.possible_agents)
        self.observation_spaces: dict[str, Any] = {}
        for seat, agent in enumerate(self.agents):
            box: Any = game.observation_space(seat)
            low, high = box.low.astype(np.float32), box.high.astype(np.float32)
            if flatten:
                low, high = low.ravel(), high.ravel()
            seen: Any = spaces.Box(low, high)
            if masks == "obs":
                mask = spaces.Box(0.0, 1.0, (choices,), np.float32)
                seen = spaces.Dict({"observations": seen, "action_mask": mask})
            self.observation_spaces[agent] = seen
        self.action_spaces: dict[str, Any] = {a: spaces.Discrete(choices) for a in self.agents}


class BatchMultiAgentEnv(VectorMultiAgentEnv):
    """`num_envs` episodes for RLlib, stepped by one call of the batch.

    Agents are `player_0`, …; who is to act gets an observation, everybody at the end. masks: "obs"
    gives what RLlib's masked modules take (`observations` and `action_mask`, in floats), "off" the
    observation alone. flatten: observations have one axis, as RLlib's default modules take them. An
    illegal action forfeits the episode. An episode that is over is reset by the next step. options:
    those of the batch view and the game's own.
    """

    def __init__(
        self,
        env: str | EnvSpec | Game[Any, Any],
        num_envs: int,
        *,
        masks: str = "obs",
        flatten: bool = False,
        **options: Any,
    ) -> None:
        if masks not in MASKS:
            raise UnknownName("place for masks", masks, MASKS)
        super().__init__()
        made = batch.make(env, num_envs=num_envs, **options)
        assert isinstance(made, Batch | TextBatch)  # only device="cuda" gives another
        self.batch, self.num_envs = made, num_envs
        self._masks, self._flatten = masks, flatten
        self.metadata = {"autoreset_mode": "next_step"}
        one = SeatSpaces(made.game, made.masks.shape[-1], masks=masks, flatten=flatten)
        self.envs = [one] * num_envs
        self.agents = one.possible_agents
        self.single_observation_spaces = one.observation_spaces
        self.single_action_spaces = one.action_spaces
        self.single_observation_space = spaces.Dict(one.observation_spaces)
        self.single_action_space = spaces.Dict(one.action_spaces)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[PerLane, PerLane]:
        """Start all episodes; lane i from seed + i."""
        super().reset(seed=seed, options=options)
        self.batch.reset(seed=seed)
        return self._seen(np.zeros(self.num_envs, bool)), self._no_infos()

    def step(self, actions: Any) -> tuple[PerLane, PerLane, PerLane, PerLane, PerLane]:
        """Play one action for every agent that was shown an observation."""
        chosen = np.zeros(self.batch.actions.shape, np.int64)
        for lane, played in enumerate(actions):
            for agent, action in played.items():
                chosen[lane, self.agents.index(agent)] = action
        fresh = self.batch.finished.copy()  # this step only deals these lanes again
        self.batch.step(chosen)
        finished = self.batch.finished
        terminated = self._by_agent(self.batch.terminations, finished)
        truncated = self._by_agent(self.batch.truncations & ~self.batch.terminations, finished)
        paid = self.batch.rewards.tolist()
        rewards = [
            dict.fromkeys(self.agents, 0.0) if new else dict(zip(self.agents, row, strict=True))
            for new, row in zip(fresh.tolist(), paid, strict=True)
        ]
        return self._seen(finished), rewards, terminated, truncated, self._no_infos()

    def close_extras(self, **_: Any) -> None:
        self.batch.close()

    def _seen(self, finished: Any) -> PerLane:
        """What the agents that are to act see, and all agents of an episode that is over."""
        shown = self.batch.observations.astype(np.float32)
        masks = self.batch.masks.astype(np.float32)
        seen: PerLane = [{} for _ in range(self.num_envs)]
        for lane, seat in np.argwhere(self.batch.acting | finished[:, None]).tolist():
            observed: Any = shown[lane, seat].ravel() if self._flatten else shown[lane, seat]
            if self._masks == "obs":
                observed = {"observations": observed, "action_mask": masks[lane, seat]}
            seen[lane][self.agents[seat]] = observed
        return seen

    def _by_agent(self, flags: Any, finished: Any) -> PerLane:
        """A flag by agent, and for the whole episode."""
        rows = flags.tolist()
        whole = (flags.any(1) & finished).tolist()
        return [
            {**dict(zip(self.agents, row, strict=True)), ALL: over}
            for row, over in zip(rows, whole, strict=True)
        ]

    def _no_infos(self) -> PerLane:
        return [{} for _ in range(self.num_envs)]


class BatchEnvRunner(MultiAgentEnvRunner):
    """RLlib's runner over a `BatchMultiAgentEnv`.

    `config.environment(ID, env_config={…})` names the environment and its options, and
    `num_envs_per_env_runner` says how many episodes are played side by side.
    """

    env: Any

    def make_env(self) -> None:
        """Open the batch instead of one environment per episode."""
        if self.env is not None:
            self.env.close()
        options = dict(self.config.env_config)
        self.num_envs = self.config.num_envs_per_env_runner
        self.env = BatchMultiAgentEnv(self.config.env, self.num_envs, **options)
        self._needs_initial_reset = True
        make_callback(
            "on_environment_created",
            callbacks_objects=self._callbacks,
            callbacks_functions=self.config.callbacks_on_environment_created,
            kwargs={
                "env_runner": self,
                "metrics_logger": self.metrics,
                "env": self.env,
                "env_context": options,
            },
        )
