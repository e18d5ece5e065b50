"""An episode as a PettingZoo `AECEnv`: one agent at a time, dead steps and all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pettingzoo import AECEnv

from palestra.kernel.errors import InvalidAction, OutOfTurn
from palestra.views.seats import SeatsView

SINCE_RESET = {"agent_selection", "infos", "rewards", "terminations", "truncations"}


class AecView(SeatsView, AECEnv[str, Any, Any]):
    """Agents are `player_0`, `player_1`, …; simultaneous moves are collected sealed, seat by seat.

    obs="array" (the default where actions have numbers): observations are arrays, with the legal
    actions where `masks` says ("obs", as in PettingZoo's classic games), and actions are numbers.
    obs="text": both are strings. An illegal move forfeits unless `invalid` says otherwise.
    With `rewards`, `infos[agent]["reward_terms"]` are those of the last step by name, if it paid.
    How an episode ended is in `env.unwrapped.episode.outcome`; infos hold no words, of which
    Tianshou and TorchRL could make no arrays.
    """

    default_masks = "obs"

    def __getattr__(self, name: str) -> Any:
        if name in SINCE_RESET:
            raise AttributeError(f"{name} is known from reset() on; call reset() first")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode; without a seed a fresh one is drawn."""
        self._episode.reset(seed)
        self.agents = agents = self.possible_agents.copy()
        self.rewards = dict.fromkeys(agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(agents, 0.0)
        self.terminations = dict.fromkeys(agents, False)
        self.truncations = dict.fromkeys(agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in agents}
        self._sealed: dict[int, Any] = {}  # simultaneous moves given so far
        self._since = [0] * len(agents)
        self._paid = False  # whether self.rewards holds anything but zeros
        self._refused = False  # whether infos hold why an action was refused
        self._dying = False  # whether a dead agent waits for its last step(None)
        self._select()

    def _select(self) -> None:
        """Select dead agents first, then the next to move."""
        if self._dying:
            for agent in self.agents:
                if self.terminations[agent] or self.truncations[agent]:
                    self.agent_selection = agent
                    return
            self._dying = False
        for seat in self._episode.to_act:
            if seat not in self._sealed:
                agent = self.agent_selection = self.possible_agents[seat]
                self.infos[agent] |= self._mask_info(seat)
                return

    def agent_iter(self, max_iter: int = 2**63) -> Any:
        """The selected agents in turn, up to `max_iter`; raises `OutOfTurn` before `reset`."""
        if not hasattr(self, "terminations"):
            raise OutOfTurn("call reset() before agent_iter()")
        return super().agent_iter(max_iter)

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """The selected agent's observation, and its reward since its last action."""
        agent = self.agent_selection
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def step(self, action: Any) -> None:
        """Play for the selected agent; for a dead agent the action must be None."""
        if not self.agents:
            raise OutOfTurn("the episode is over; call reset()")
        agent = self.agent_selection
        if self._dying:
            self._bury(agent, action)
            return
        seat = self._seat[agent]
        self._cumulative_rewards[agent] = 0.0
        if self._paid:
            self.rewards = dict.fromkeys(self.agents, 0.0)
            self._paid = False
            if self._shaped:
                for info in self.infos.values():
                    info.pop("reward_terms", None)
        if len(self._episode.to_act) == 1:
            self._play({seat: self._read(seat, action)})
            return
        self._sealed[seat] = self._read(seat, action)
        if len(self._sealed) == len(self._episode.to_act):
            sealed, self._sealed = self._sealed, {}
            self._play(sealed)
        else:
            self._select()

    def _play(self, actions: dict[int, Any]) -> None:
        episode = self._episode
        try:
            episode.act(actions)
        except InvalidAction as error:
            if episode.invalid == "raise":
                raise
            for seat in actions:
                self.infos[self.possible_agents[seat]] = {"error": str(error)}
            self._refused = True
            self._select()
            return
        if self._refused:
            self._refused = False
            for info in self.infos.values():
                info.pop("error", None)
        self._cut()
        paid = episode.rewards
        if any(paid):
            self._pay(paid)
        if not episode.to_act or len(episode.present) < len(self.agents):
            self._mark_dead()
        if self._paid and self._shaped:
            for seat, terms in episode.step.rewards.items():
                if terms and (name := self.possible_agents[seat]) in self.rewards:
                    self.infos[name]["reward_terms"] = dict(terms)
        self._select()

    def _pay(self, paid: Sequence[float]) -> None:
        self._paid = True
        for name, reward in zip(self.possible_agents, paid, strict=True):
            if name in self.rewards:
                self.rewards[name] = reward
                self._cumulative_rewards[name] += reward

    def _mark_dead(self) -> None:
        episode = self._episode
        present = episode.present
        cut = episode.over and episode.truncated
        for agent in self.agents:
            seat = self._seat[agent]
            if seat in present:
                continue
            self._dying = True
            self.terminations[agent], self.truncations[agent] = not cut, cut

    def _bury(self, agent: str, action: Any) -> None:
        if action is not None:
            raise OutOfTurn(f"{agent} is out of the game; step(None) for it, not {action!r}")
        self.agents.remove(agent)
        del self.terminations[agent], self.truncations[agent], self.infos[agent]
        del self._cumulative_rewards[agent]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._paid = False
        self._select()


make = AecView
