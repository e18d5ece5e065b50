"""What learners of policies share: a network, PPO's loss, advantages, and a gradient step.

Schulman, Wolski, Dhariwal, Radford and Klimov, "Proximal policy optimization algorithms", 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from palestra_agents.checkpoints import require_finite

ILLEGAL = -1e9


class Local(nn.Module):
    """Logits of actions and a value, from one seat's inputs."""

    def __init__(self, inputs: int, actions: int, hidden: int) -> None:
        super().__init__()
        self.policy, self.value = (
            tanh_network(inputs, actions, hidden),
            tanh_network(inputs, 1, hidden),
        )
        last: Any = self.policy[-1]
        nn.init.orthogonal_(last.weight, 0.01)
        nn.init.zeros_(last.bias)

    def forward(self, inputs: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities (…, A) and values (…) for inputs (…, I) and masks (…, A)."""
        legal = masks | ~masks.any(-1, keepdim=True)  # a seat that is out has nothing legal
        logprobs = self.policy(inputs).masked_fill(~legal, ILLEGAL).log_softmax(-1)
        return logprobs, self.value(inputs).squeeze(-1)


def tanh_network(inputs: int, outputs: int, hidden: int) -> nn.Sequential:
    """Two hidden layers."""
    return nn.Sequential(
        nn.Linear(inputs, hidden),
        nn.Tanh(),
        nn.Linear(hidden, hidden),
        nn.Tanh(),
        nn.Linear(hidden, outputs),
    )


class Paid(Protocol):
    """What `advantages` needs of a step, each of shape (N, P)."""

    @property
    def values(self) -> Tensor: ...
    @property
    def rewards(self) -> Tensor: ...
    @property
    def ended(self) -> Tensor: ...
    @property
    def cut(self) -> Tensor: ...


def advantages(frames: Sequence[Paid], last: Tensor, gamma: float, decay: float) -> Tensor:
    """Generalised advantages (T, N, P) (Schulman et al., 2016); values of cut episodes go on."""
    found = torch.zeros(len(frames), *last.shape)
    after, later = last, torch.zeros_like(last)
    for t in reversed(range(len(frames))):
        frame = frames[t]
        after = torch.where(frame.ended, frame.cut, after)
        later = torch.where(frame.ended, 0.0, later)
        later = frame.rewards + gamma * after - frame.values + gamma * decay * later
        found[t], after = later, frame.values
    return found


def chosen_of(logprobs: Tensor, actions: Tensor) -> Tensor:
    """The log-probabilities (N, P) of the actions taken."""
    return logprobs.gather(-1, actions.unsqueeze(-1)).squeeze(-1)


def entropy_of(logprobs: Tensor) -> Tensor:
    """The entropy (N, P) of each distribution (N, P, A)."""
    return -(logprobs.exp() * logprobs.clamp(min=-50)).sum(-1)


def standardised(gains: Tensor) -> Tensor:
    """Advantages with mean 0 and deviation 1."""
    return (gains - gains.mean()) / (gains.std() + 1e-8)


def clipped_loss(
    settings: Any,
    *,
    logprobs: Tensor,
    before: Tensor,
    gains: Tensor,
    values: Tensor,
    wanted: Tensor,
    entropy: Tensor,
) -> Tensor:
    """PPO's loss of each step; all tensors are of one shape.

    settings: with clip, value_weight and entropy. logprobs, before: of what was done, now and when
    it was done. gains: standardised advantages. wanted: the returns that values are to tell.
    """
    ratio = (logprobs - before).exp()
    bounded = ratio.clamp(1 - settings.clip, 1 + settings.clip)
    policy = -torch.min(ratio * gains, bounded * gains)
    value = (values - wanted).square()
    return policy + settings.value_weight * value - settings.entropy * entropy


def descend(loss: Tensor, optimizer: torch.optim.Optimizer) -> None:
    """One step down a loss, the norm of the gradient bounded by 1/2."""
    require_finite(loss)
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 0.5)
    optimizer.step()
