"""The policy and value network, and its handling of observations and masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

from palestra_agents.recurrence import Recurrence

ILLEGAL = -1e9


class RunningMoments(nn.Module):
    """The mean and variance of all numbers so far (Chan, Golub and LeVeque, 1983)."""

    def __init__(self) -> None:
        super().__init__()
        start = torch.zeros(3, dtype=torch.float64)  # count, mean, sum of squared deviations
        self.moments = nn.Parameter(start, requires_grad=False)  # kept with the weights

    @property
    def mean(self) -> Tensor:
        """Their mean, (); 0 before there are any."""
        return self.moments[1].float()

    @property
    def deviation(self) -> Tensor:
        """The square root of their variance, (), at least 1e-4; 1 before there are any."""
        count, _, squares = self.moments
        return (squares / count).sqrt().clamp(min=1e-4).float() if count else torch.ones(())

    def add(self, numbers: Tensor) -> None:
        """Count these numbers (M,) too."""
        more = len(numbers)
        if not more:
            return
        count, mean, squares = self.moments
        given = numbers.double()
        apart, total = given.mean() - mean, count + more
        spread = (given - given.mean()).square().sum() + apart**2 * count * more / total
        self.moments.copy_(torch.stack([total, mean + apart * more / total, squares + spread]))


class PolicyValue(nn.Module):
    """Two hidden layers under a policy head and a value head, over flat scaled observations.

    recurrent: a GRU between the hidden layers and the heads; `sequence` is then called, not
        `forward`.
    value_norm: the value head gives the value less the mean of the targets so far, in their
        standard deviations; values are in the rewards' units all the same.
    """

    memory_parts = 1  # GRUs

    def __init__(
        self,
        space: spaces.Box,
        actions: int,
        hidden: int,
        *,
        recurrent: bool = False,
        value_norm: bool = False,
    ) -> None:
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
        self.norm = RunningMoments() if value_norm else None
        parts = self.memory_parts if recurrent else 0
        self.memory = nn.ModuleList(Recurrence(hidden, hidden) for _ in range(parts))
        self.memory_shape = parts, hidden

    def forward(self, observations: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities (M, A) of legal actions and values (M,) of M observations."""
        return self.heads(self.features(observations), masks)

    def sequence(
        self,
        observations: Tensor,
        masks: Tensor,
        memory: Tensor,
        fresh: Tensor | None = None,
        acting: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """As `forward`, for T steps of M streams and with memory; also the memory afterwards.

        observations, masks: (T, M, …). memory: (M, *memory_shape). fresh, acting: (T, M), as in
        `Recurrence`. The results have the shapes (T, M, A), (T, M) and that of the memory.
        """
        steps = observations.shape[:2]
        features = self.features(observations.flatten(0, 1))
        outputs, after = [], list(memory.unbind(1))
        for number, part in enumerate(features):
            own, after[number] = self.memory[number](
                part.reshape(*steps, -1), after[number], fresh, acting
            )
            outputs.append(own.flatten(0, 1))
        logprobs, values = self.heads(outputs, masks.flatten(0, 1))
        return logprobs.reshape(masks.shape), values.reshape(steps), torch.stack(after, 1)

    def features(self, observations: Tensor) -> list[Tensor]:
        """What policy and value read, (M, H): one tensor for both, or one for each."""
        scale: Any = self.scale
        return [self.body(observations.flatten(1).float() / scale)]

    def heads(self, features: list[Tensor], masks: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities (M, A) and values (M,) of what `features` gave."""
        logits = self.policy(features[0]).masked_fill(masks == 0, ILLEGAL)
        return logits.log_softmax(-1), self.in_units(self.value(features[0]).squeeze(-1))

    def in_units(self, values: Tensor) -> Tensor:
        """Values in the units of rewards, from what the value head gives."""
        return values if self.norm is None else values * self.norm.deviation + self.norm.mean


class CentralPolicyValue(PolicyValue):
    """A policy of a seat's own observation, and values of everybody's (MAPPO).

    Observations are those of `central_views`: the seat's own, then all seats', then the seat's
    number as a one-hot vector. From observations of one seat alone it gives the policy, and 0.
    """

    memory_parts = 2

    def __init__(
        self,
        space: spaces.Box,
        actions: int,
        hidden: int,
        seats: int,
        *,
        recurrent: bool = False,
        value_norm: bool = False,
    ) -> None:
        super().__init__(space, actions, hidden, recurrent=recurrent, value_norm=value_norm)
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

    def features(self, observations: Tensor) -> list[Tensor]:
        seen, joint_scale = observations.flatten(1).float(), self.joint_scale
        own = super().features(seen[:, : self.own])
        if seen.shape[1] == self.own:
            return own
        return [*own, self.critic[:-1](seen[:, self.own :] / joint_scale)]  # type: ignore[operator]

    def heads(self, features: list[Tensor], masks: Tensor) -> tuple[Tensor, Tensor]:
        logprobs, _ = super().heads(features[:1], masks)
        if len(features) == 1:
            return logprobs, torch.zeros(len(logprobs))
        return logprobs, self.in_units(self.critic[-1](features[1]).squeeze(-1))


def one_step(
    network: PolicyValue, observations: Tensor, masks: Tensor, memory: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Log-probabilities (M, A), values (M,) and the next memory (M, *memory_shape) of one step."""
    if not network.memory:
        return *network(observations, masks), memory
    step = observations.unsqueeze(0), masks.unsqueeze(0)
    logprobs, values, after = network.sequence(*step, memory)
    return logprobs.squeeze(0), values.squeeze(0), after


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
