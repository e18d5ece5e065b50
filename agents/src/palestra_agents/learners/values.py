"""Value learners of teams: independent Q-learning, VDN and QMIX.

IQL: Tan, "Multi-Agent Reinforcement Learning: Independent vs. Cooperative Agents", ICML 1993. VDN:
Sunehag et al., "Value-Decomposition Networks For Cooperative Multi-Agent Learning", AAMAS 2018.
QMIX: Rashid et al., "QMIX: Monotonic Value Function Factorisation for Deep Multi-Agent
Reinforcement Learning", ICML 2018. All seats share one network, which reads the seat's observation
and number; actions are chosen by double Q-learning against a target network. VDN adds the values of
the actions taken, QMIX mixes them by a network whose weights are positive and depend on the
observations of all seats; both learn the sum of the seats' rewards, IQL every seat's own.

There is no recurrent network: a game that asks for memory needs it in its observation.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import torch
from palestra import ArrayGame, Meta
from torch import Tensor, nn

from palestra_agents.checkpoints import load_weights, require_finite
from palestra_agents.learners.field import (
    Field,
    Memory,
    anneal,
    explore,
    rules_of,
    with_seats,
)
from palestra_agents.settings import (
    BatchSize,
    Checked,
    Discount,
    Explore,
    ExploreShare,
    Hidden,
    Kept,
    Lanes,
    LearningRate,
    Seed,
    WarmUp,
    read_settings,
)

Mixing = Literal["iql", "vdn", "qmix"]
ILLEGAL = -1e9


@dataclass(frozen=True)
class ValueSettings(Checked):
    """After every step of `num_envs` lanes come `updates` batches of `batch_size` kept steps."""

    num_envs: Lanes = 32
    batch_size: BatchSize = 256
    memory: Kept = 50_000
    updates: Annotated[int, Meta(ge=1, description="gradient steps after a step of all lanes")] = 1
    learning_rate: LearningRate = 5e-4
    gamma: Discount = 0.99
    explore_start: Explore = 1.0
    explore_end: Explore = 0.05
    explore_share: ExploreShare = 0.5
    target_every: Annotated[
        int, Meta(ge=1, description="updates between copies of the network to its target")
    ] = 200
    hidden: Hidden = 64
    mixing: Annotated[int, Meta(ge=1, description="width of QMIX's mixing network")] = 32
    warm_up: WarmUp = 1_000
    seed: Seed = 0


class Mixer(nn.Module):
    """QMIX: a team value that rises with every seat's, by weights that depend on the state."""

    def __init__(self, state: int, seats: int, width: int) -> None:
        super().__init__()
        self.seats, self.width = seats, width
        self.first = nn.Linear(state, seats * width)
        self.first_bias = nn.Linear(state, width)
        self.second = nn.Linear(state, width)
        self.second_bias = nn.Sequential(nn.Linear(state, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, values: Tensor, state: Tensor) -> Tensor:
        """Team values (M,) of the seats' values (M, P) in states (M, S)."""
        first = self.first(state).abs().unflatten(-1, (self.seats, self.width))
        hidden = torch.einsum("mp,mpw->mw", values, first) + self.first_bias(state)
        second = self.second(state).abs()
        total = (nn.functional.elu(hidden) * second).sum(-1)
        return total + self.second_bias(state).squeeze(-1)


class ValueLearner:
    """Trains one network for all seats; `algo` says how their values make up the team's."""

    kind = ValueSettings
    sees_all = False
    changing = (
        "steps",
        "updates",
        "generator",
        "field",
        "network",
        "mixer",
        "target",
        "target_mixer",
        "optimizer",
        "memory",
    )

    def __init__(
        self,
        env: str | ArrayGame[Any],
        options: Mapping[str, Any] | None = None,
        *,
        algo: Mixing = "qmix",
        compiled: bool | None = None,
        **settings: Any,
    ) -> None:
        self.settings = read_settings(ValueSettings, settings, algo)
        chosen = self.settings
        self.algo, self.steps, self.updates = algo, 0, 0
        self.generator = torch.Generator().manual_seed(chosen.seed)
        self.field = Field(rules_of(env, options or {}), chosen.num_envs, chosen.seed, compiled)
        torch.manual_seed(chosen.seed)
        field = self.field
        self.network = nn.Sequential(
            nn.Linear(field.width + field.seats, chosen.hidden),
            nn.ReLU(),
            nn.Linear(chosen.hidden, chosen.hidden),
            nn.ReLU(),
            nn.Linear(chosen.hidden, field.actions),
        )
        self.mixer = Mixer(field.width * field.seats, field.seats, chosen.mixing)
        self.target, self.target_mixer = deepcopy(self.network), deepcopy(self.mixer)
        learnt = [*self.network.parameters()]
        learnt += self.mixer.parameters() if algo == "qmix" else []
        self.optimizer = torch.optim.Adam(learnt, lr=chosen.learning_rate)
        self.memory = Memory(chosen.memory, self.generator)

    # Playing

    def values(self, seen: Tensor, masks: Tensor, network: nn.Module | None = None) -> Tensor:
        """Values (M, P, A) of actions; those of illegal ones are very low."""
        found: Tensor = (network or self.network)(with_seats(seen))
        legal = masks | ~masks.any(-1, keepdim=True)  # a seat that is out has nothing legal
        return found.masked_fill(~legal, ILLEGAL)

    @torch.no_grad()
    def act(self, seen: Tensor, masks: Tensor) -> Tensor:
        """The best actions (M, P)."""
        values = self.values(seen, masks)
        require_finite(values)
        return values.argmax(-1)

    def update(self, progress: float = 0.0) -> list[np.ndarray[Any, Any]]:
        """Play one step in every lane and learn; returns the returns of finished episodes."""
        chosen = self.settings
        share = progress / chosen.explore_share if chosen.explore_share else 1.0
        chance = anneal(chosen.explore_start, chosen.explore_end, share)
        seen, masks = self.field.view()
        wild = torch.rand(masks.shape[:2], generator=self.generator) < chance
        actions = torch.where(wild, explore(masks, self.generator), self.act(seen, masks))
        self.memory.add(self.field.step(actions).rows())
        self.steps += chosen.num_envs
        if self.steps >= chosen.warm_up:
            for _ in range(chosen.updates):
                self.learn()
        return self.field.returns

    # Learning

    def learn(self) -> float:
        """One step on a batch of kept steps; returns the loss."""
        chosen = self.settings
        rows = self.memory.sample(chosen.batch_size)
        values = self.values(rows["seen"], rows["masks"])
        taken = values.gather(-1, rows["actions"].unsqueeze(-1)).squeeze(-1)
        goals = self.goals(rows)
        if self.algo == "iql":
            loss = (taken - goals).square().mean()
        else:
            loss = (self.team(taken, rows["seen"], self.mixer) - goals).square().mean()
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), 10.0)
        self.optimizer.step()
        self.updates += 1
        require_finite(loss)
        if self.updates % chosen.target_every == 0:
            self.target.load_state_dict(self.network.state_dict())
            self.target_mixer.load_state_dict(self.mixer.state_dict())
        return float(loss.item())

    @torch.no_grad()
    def goals(self, rows: Mapping[str, Tensor]) -> Tensor:
        """What the values of the actions taken should be: (M, P) for IQL, else (M,)."""
        after, masks, gamma = rows["after"], rows["masks_after"], self.settings.gamma
        best = self.values(after, masks).argmax(-1, keepdim=True)
        later = self.values(after, masks, self.target).gather(-1, best).squeeze(-1)
        goes_on = (~rows["ended"]).float()
        if self.algo == "iql":
            return rows["rewards"] + gamma * goes_on.unsqueeze(-1) * later
        team = self.team(later, after, self.target_mixer)
        return rows["rewards"].sum(-1) + gamma * goes_on * team

    def team(self, values: Tensor, seen: Tensor, mixer: Mixer) -> Tensor:
        """The team's values (M,) of the seats' values (M, P)."""
        if self.algo == "qmix":
            return mixer(values, seen.flatten(1))
        return values.sum(-1)

    # Keeping

    def check(self) -> None:
        self.field.check_rows(self.memory.rows)

    def weights(self) -> dict[str, Any]:
        """What `load_weights` needs."""
        return {"network": self.network.state_dict(), "mixer": self.mixer.state_dict()}

    def load_weights(self, kept: Mapping[str, Any]) -> None:
        load_weights(self.network, kept["network"])
        load_weights(self.mixer, kept["mixer"], "mixer")
