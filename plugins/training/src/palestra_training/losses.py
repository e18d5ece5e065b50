"""Losses over tokens, and how they are averaged.

The clipped surrogate is PPO's (Schulman et al. 2017) with an advantage for each token. Averages, by
the names that trainers use: "grpo" (each stream's mean, then the mean of streams; Shao et al.
2024), "bnpo" (over all sampled tokens of the batch; Xiao et al. 2025), "dr_grpo" (over streams
times a fixed length; Liu et al. 2025), "dapo" (over the sampled tokens of the whole step, of which
a batch may be a part; Yu et al. 2025). "rloo" has one ratio for a
whole stream, and the mean of streams (Ahmadian et al. 2024, as TRL clips it); its advantage is the
mean over the stream. "reinforce" is the plain policy gradient, averaged as bnpo.

`dpo_loss` and `score_dpo_loss` are over pairs of whole answers: DPO (Rafailov et al. 2023) and
Score-DPO (Wang et al. 2025, "ScoreFlow").
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from palestra import InvalidOption, UnknownName

AVERAGES = ("grpo", "bnpo", "dr_grpo", "dapo", "rloo", "reinforce")


def token_logprobs(
    logits: torch.Tensor, ids: torch.Tensor, temperature: float = 1.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probability of each token after the first, and the entropy where it was drawn.

    logits: (streams, length, words); ids: (streams, length). Both results: (streams, length - 1).
    """
    return chosen_logprobs(logits[:, :-1], ids[:, 1:], temperature)


def chosen_logprobs(
    logits: torch.Tensor,
    ids: torch.Tensor,
    temperature: float = 1.0,
    allowed: torch.Tensor | None = None,
    row: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probability of each token under the logits at its place, and their entropy.

    logits: (rows, places, words); ids: (streams, places), as are both results. allowed: True for
    the words that could be drawn, of the shape of logits; the others have probability 0. row: the
    row of logits of each stream, where streams share rows; by default each has its own.
    """
    scores = logits.float() / temperature
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -1e9)
    scores = torch.log_softmax(scores, dim=-1)
    entropy = -(scores.exp() * scores).sum(-1)
    if row is None:
        return scores.gather(-1, ids[..., None])[..., 0], entropy
    places = torch.arange(ids.shape[1], device=ids.device)
    return scores[row[:, None], places, ids], entropy[row]


def truncated_weights(
    trained: torch.Tensor, engine: torch.Tensor, cap: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights of truncated importance sampling (TIS; Ionides 2008, Yao et al. 2025).

    trained, engine: log-probabilities of the same tokens under the same weights, as the trainer and
    as the engine that drew them computes them. Returns their ratio, at most `cap`, and True where
    it was above the cap.
    """
    ratio = torch.exp(trained - engine)
    return ratio.clamp(max=cap), ratio > cap


class StepSize(NamedTuple):
    """The streams of a gradient step and their sampled tokens, which parts of it share."""

    streams: int
    tokens: int

    def share(self, sampled: torch.Tensor, average: str) -> float:
        """By what the `policy_loss` of a part counts, so that the parts add up to the step's.

        sampled: the part's marks, (streams, length). `tokens_in_step` is given with "dapo".
        """
        if average == "dapo":
            return 1.0
        if average in ("bnpo", "reinforce"):
            return int(sampled.sum()) / max(1, self.tokens)
        return len(sampled) / max(1, self.streams)


def policy_loss(
    logprobs: torch.Tensor,
    old: torch.Tensor,
    advantages: torch.Tensor,
    sampled: torch.Tensor,
    *,
    average: str = "dapo",
    clip: float = 0.2,
    clip_high: float | None = None,
    reference: torch.Tensor | None = None,
    beta: float = 0.0,
    tokens_in_step: float | None = None,
    most_tokens: int | None = None,
    weights: torch.Tensor | None = None,
) -> torch.Tensor:
    """The loss to minimise; all tensors are (streams, length), `sampled` marks tokens that count.

    old: log-probabilities under the sampling policy. clip: by how far the ratio may leave 1 below,
    and above unless `clip_high` is given. reference, beta: the penalty of k3 (Schulman 2020) for
    leaving a reference policy. tokens_in_step: sampled tokens of the whole step ("dapo").
    most_tokens: the fixed length ("dr_grpo"). weights: by which each token counts in the surrogate,
    as in `truncated_weights`.
    """
    if average not in AVERAGES:
        raise UnknownName("average", average, AVERAGES)
    marks = sampled.float()
    counts = marks.sum(-1).clamp(min=1)
    change = logprobs - old
    if average == "rloo":
        change = (change * marks).sum(-1, keepdim=True)
        advantages = (advantages * marks).sum(-1, keepdim=True) / counts[:, None]
    if average == "reinforce":
        each = -logprobs * advantages
    else:
        ratio = torch.exp(change)
        high = clip if clip_high is None else clip_high
        clipped = ratio.clamp(1 - clip, 1 + high)
        each = -torch.min(ratio * advantages, clipped * advantages)
    if weights is not None:
        each = each * weights
    if reference is not None and beta:
        apart = reference - logprobs
        each = each + beta * (torch.exp(apart) - apart - 1)
    if average in ("grpo", "rloo"):
        return ((each * marks).sum(-1) / counts).mean()
    if average == "dr_grpo":
        return (each * marks).sum() / (marks.shape[0] * (most_tokens or marks.shape[1]))
    if average == "dapo" and tokens_in_step is not None:
        return (each * marks).sum() / max(1.0, tokens_in_step)
    return (each * marks).sum() / marks.sum().clamp(min=1)


def dpo_loss(chosen: torch.Tensor, rejected: torch.Tensor, *, beta: float = 0.1) -> torch.Tensor:
    """DPO: the mean over pairs of -log sigmoid(beta * (log r_w - log r_l)), to minimise.

    chosen, rejected: log r, as in `score_dpo_loss`; both of shape (pairs,).
    """
    return -torch.nn.functional.logsigmoid(beta * (chosen - rejected)).mean()


def score_dpo_loss(
    chosen: torch.Tensor,
    rejected: torch.Tensor,
    chosen_scores: torch.Tensor,
    rejected_scores: torch.Tensor,
    *,
    beta: float = 0.1,
) -> torch.Tensor:
    """Score-DPO: the mean over pairs of -log sigmoid(beta * (s_w * log r_w - (1 - s_l) * log r_l)).

    chosen, rejected: log r, how much likelier the policy makes the whole answer than the reference
    policy does, in nats. chosen_scores, rejected_scores: s, from 0 to 1. All are of shape (pairs,).
    Where both scores are 1/2 it is DPO's loss for half of `beta`. Raises `InvalidOption` for scores
    out of range.
    """
    both = torch.stack([chosen_scores, rejected_scores])
    if not bool(((both >= 0) & (both <= 1)).all()):
        raise InvalidOption("scores must be from 0 to 1; give export-llm --scores LOW,HIGH")
    apart = chosen_scores * chosen - (1 - rejected_scores) * rejected
    return -torch.nn.functional.logsigmoid(beta * apart).mean()
