"""DPO on pairs of what was played: the optimisation phase of ETO.

Song et al., "Trial and Error: Exploration-Based Trajectory Optimization for LLM Agents", 2024. A
trajectory is as likely as all of its own answers together: what others said and what the game
showed in between counts for nothing. The reference is the model before its first step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from palestra import InvalidOption
from palestra.agents.models import Message

from palestra_training.learner import Learner
from palestra_training.losses import chosen_logprobs, dpo_loss
from palestra_training.stopping import check_quantity
from palestra_training.warm_up import Example, pad_rows, reply_tokens

Tokens = tuple[list[int], list[int]]  # of a prompt and of the reply to it


class Sides(NamedTuple):
    """The answers of the better and of the worse side of a pair, each with its prompt."""

    chosen: list[Tokens]
    rejected: list[Tokens]


def prefer(
    model: Learner,
    rows: Sequence[dict[str, Any]],
    *,
    beta: float = 0.1,
    epochs: int = 1,
    pairs: int = 8,
    learning_rate: float = 1e-4,
    max_gradient: float = 1.0,
    raw: bool = False,
    seed: int = 0,
) -> list[float]:
    """Learn rows of `text_rows.preference_rows` by DPO; returns the mean loss of every epoch.

    rows: messages "prompt", "chosen" and "rejected", in which assistants' messages are the answers.
    beta: how dear it is to leave the reference. pairs: of a step of AdamW. max_gradient: the norm
    to which a longer gradient is cut. raw: prompts are one text to be continued, as `prompt=raw`
    asks. seed: for the order of rows. Raises `InvalidOption` for rows without an answer on a side,
    `TrainingStopped` where the loss leaves all bounds.
    """
    if not rows:
        raise InvalidOption("there are no pairs to learn from")
    read = [read_sides(model, row, raw) for row in rows]
    model.net.eval()
    with torch.no_grad():
        before = torch.cat([log_likelihoods(model, [one]) for one in read])
    optimiser = torch.optim.AdamW(model.trained().values(), lr=learning_rate, weight_decay=0)
    order = torch.Generator().manual_seed(seed)
    losses = []
    for epoch in range(epochs):
        total = 0.0
        for part in torch.split(torch.randperm(len(read), generator=order), pairs):
            now = log_likelihoods(model, [read[number] for number in part.tolist()])
            apart = now - before[part.to(before.device)]
            loss = dpo_loss(apart[:, 0], apart[:, 1], beta=beta)
            check_quantity("loss", float(loss.detach()), f"a step of epoch {epoch + 1}")
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.trained().values(), max_gradient)
            optimiser.step()
            total += float(loss.detach()) * len(part)
        losses.append(total / len(read))
    model.version += 1
    return losses


def read_sides(model: Learner, row: dict[str, Any], raw: bool = False) -> Sides:
    """The tokens of a row's answers, each after all that was said before it."""
    return Sides(*(list(_answers(model, row, side, raw)) for side in ("chosen", "rejected")))


def _answers(model: Learner, row: dict[str, Any], side: str, raw: bool) -> Iterator[Tokens]:
    before = [Message(one["role"], one["content"]) for one in row["prompt"]]
    start = len(before)
    for one in row[side]:
        if one["role"] == "assistant":
            yield reply_tokens(model, Example(tuple(before), one["content"], raw))
        before.append(Message(one["role"], one["content"]))
    if not any(message.role == "assistant" for message in before[start:]):
        raise InvalidOption(f"a row's {side!r} has no message of an assistant")


def log_likelihoods(model: Learner, read: Sequence[Sides]) -> torch.Tensor:
    """Log-probabilities (pairs, 2) of both sides' answers under the model, in nats."""
    sides = [side for one in read for side in one]
    answers = [answer for side in sides for answer in side]
    owner = torch.tensor([place for place, side in enumerate(sides) for _ in side])
    ids, mask, labels = (part.to(model.device) for part in pad_rows(answers))
    with model.computing():
        logits = model.net(input_ids=ids, attention_mask=mask, use_cache=False).logits
    each, _ = chosen_logprobs(logits[:, :-1], ids[:, 1:])
    whole = (each * (labels[:, 1:] >= 0)).sum(-1)
    total = whole.new_zeros(len(sides)).index_add(0, owner.to(whole.device), whole)
    return total.reshape(-1, 2)
