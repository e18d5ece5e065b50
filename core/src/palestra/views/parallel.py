"""An episode as a PettingZoo `ParallelEnv`: every agent gives an action at every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pettingzoo import ParallelEnv

from palestra.kernel.errors import InvalidAction, OutOfTurn
from palestra.views.seats import SeatsView


class ParallelView(SeatsView, ParallelEnv[str, Any, Any]):
    """Actions of agents that are not to move are ignored, and their masks are all ones.

    `infos[agent]["acting"]` says which agents are to move. Masks are in `infos` by default, so that
    observations are plain arrays, which is what trainers and wrappers of parallel environments
    take. Infos have the same keys at every step and nothing but numbers in them (TorchRL makes
    tensors of them): how an episode ended is in `env.unwrapped.episode.outcome`, and
    `infos[agent]["reward_terms"]` are there where `rewards` names shapers. Otherwise as `AecView`.
    """

    default_masks = "info"

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start an episode; without a seed a fresh one is drawn."""
        self._episode.reset(seed)
        self.agents = self.possible_agents.copy()
        self._since = [0] * len(self.agents)
        return {agent: self.observe(agent) for agent in self.agents}, self._infos(self.agents)

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[
        dict[str, Any],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Play the actions of the agents that are to move.

        After the end, a step without actions returns empty results, as in PettingZoo's own
        environments: SuperSuit's `black_death` takes this step.
        """
        episode, agents, seat = self._episode, self.agents, self._seat
        if not agents:
            if not actions:
                return {}, {}, {}, {}, {}
            raise OutOfTurn("the episode is over; call reset()")
        _check_named(actions, seat)
        error = self._play(actions)
        self._cut()
        paid: Sequence[float] = [0.0] * len(seat) if error else episode.rewards
        present = set(episode.present)
        cut = episode.over and episode.truncated
        out = {agent: seat[agent] not in present for agent in agents}
        self.agents = [agent for agent in agents if not out[agent]]
        infos = self._infos(agents, **({"error": error} if error else {}))
        if self._shaped:
            terms = {} if error else episode.step.rewards
            for agent in agents:
                infos[agent]["reward_terms"] = dict(terms.get(seat[agent], {}))
        return (
            {agent: self.observe(agent) for agent in agents},
            {agent: float(paid[seat[agent]]) for agent in agents},
            {agent: out[agent] and not cut for agent in agents},
            {agent: out[agent] and cut for agent in agents},
            infos,
        )

    def _play(self, actions: Mapping[str, Any]) -> str:
        """Act; if a retry is open, returns why nothing was played."""
        episode, names = self._episode, self.possible_agents
        missing = [names[seat] for seat in episode.to_act if names[seat] not in actions]
        if missing:
            raise OutOfTurn(f"{', '.join(missing)} must act and gave no action")
        chosen = {seat: self._read(seat, actions[names[seat]]) for seat in episode.to_act}
        try:
            episode.act(chosen)
        except InvalidAction as error:
            if episode.invalid == "raise":
                raise
            return str(error)
        return ""

    def _infos(self, agents: list[str], **more: Any) -> dict[str, dict[str, Any]]:
        acting = self._episode.to_act
        return {
            agent: {
                "acting": self._seat[agent] in acting,
                **self._mask_info(self._seat[agent]),
                **more,
            }
            for agent in agents
        }


def _check_named(actions: Any, known: Mapping[str, int]) -> None:
    """Refuse actions that are no mapping from agents of this environment."""
    if not isinstance(actions, Mapping):
        raise InvalidAction(actions, "a mapping from agents to actions")
    if not actions.keys() <= known.keys():
        stranger = next(name for name in actions if name not in known)
        why = f"nobody is called {stranger!r}"
        raise InvalidAction(actions, f"actions of {', '.join(known)}", why=why)


make = ParallelView
