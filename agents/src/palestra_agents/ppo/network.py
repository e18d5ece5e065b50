"""The policy and value network, and its handling of observations and masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

ILLEGAL = -1e9


class PolicyValue(nn.Module):
    """Two hidden layers under a policy head and a value head, over flat scaled observations."""

    def __init__(self, space: spaces.Box, actions: int, hidden: int) -> None:
        super().__init__()
        reach = np.maximum(np.abs(space.low), np.abs(space.high)).astype(np.float32).ravel()
        usable = np.isfinite(reach) & (reach > 0)
        self.register_buffer("scale", torch.from_numpy(np.where(usable, reach, 1.0)))
        self.body = nn.Sequential(
            _layer(len(reach), hidden, 2**0.5),
            nn.Tanh(),
            _layer(hidden, hidden, 2**0.5),
            nn.Tanh(),
        )
        self.policy = _layer(hidden, actions, 0.01)
        self.value = _layer(hidden, 1, 1.0)

    def forward(self, observations: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities (M, A) of legal actions and values (M,) of M observations."""
        scale: Any = self.scale
        hidden = self.body(observations.flatten(1).float() / scale)
        logits = self.policy(hidden).masked_fill(masks == 0, ILLEGAL)
        return logits.log_softmax(-1), self.value(hidden).squeeze(-1)


class CentralPolicyValue(PolicyValue):
    """A policy of a seat's own observation, and values of everybody's (MAPPO).

    Observations are those of `central_views`: the seat's own, then all seats', then the seat's
    number as a one-hot vector. From observations of one seat alone it gives the policy, and 0.
    """

    def __init__(self, space: spaces.Box, actions: int, hidden: int, seats: int) -> None:
        super().__init__(space, actions, hidden)
        scale: Any = self.scale
        self.own = len(scale)
        joint = torch.cat([scale.repeat(seats), torch.ones(seats)])
        self.register_buffer("joint_scale", joint)
        self.critic = nn.Sequential(
            _layer(len(joint), hidden, 2**0.5),
            nn.Tanh(),
            _layer(hidden, hidden, 2**0.5),
            nn.Tanh(),
            _layer(hidden, 1, 1.0),
        )

    def forward(self, observations: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        seen, joint_scale = observations.flatten(1).float(), self.joint_scale
        logprobs, _ = super().forward(seen[:, : self.own], masks)
        if seen.shape[1] == self.own:
            return logprobs, torch.zeros(len(seen))
        values = self.critic(seen[:, self.own :] / joint_scale)  # type: ignore[operator]
        return logprobs, values.squeeze(-1)


def central_views(seen: Tensor) -> Tensor:
    """Observations (N, P, …) of `CentralPolicyValue`, of shape (N, P, own + P * own + P)."""
    own = seen.flatten(2)
    lanes, seats = own.shape[:2]
    everybody = own.flatten(1).unsqueeze(1).expand(-1, seats, -1)
    return torch.cat([own, everybody, torch.eye(seats).expand(lanes, seats, seats)], -1)


def _layer(inputs: int, outputs: int, gain: float) -> nn.Linear:
    """A linear layer with orthogonal initialisation, as usual for PPO."""
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer
