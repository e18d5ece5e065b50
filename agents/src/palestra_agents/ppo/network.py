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


def _layer(inputs: int, outputs: int, gain: float) -> nn.Linear:
    """A linear layer with orthogonal initialisation, as usual for PPO."""
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer
