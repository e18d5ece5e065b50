"""Supervised rows from play: prompts as a learner sees them, and the moves that were played."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from palestra import EpisodeRecord
from palestra.agents.models import Message, Request
from palestra.llm.conversation import STYLES
from palestra.llm.tokens import read_prompt, token_ids

from palestra_training.exchanges import exchanges
from palestra_training.learner import Learner
from palestra_training.plan import TrainPlan, WarmUp
from palestra_training.stopping import check_quantity

ROWS_AT_ONCE = 128


class Example(NamedTuple):
    """The messages of a prompt, and the reply to learn."""

    messages: tuple[Message, ...]
    reply: str
    raw: bool

    @property
    def texts(self) -> list[str]:
        return [*(message.content for message in self.messages), self.reply]


def rows(records: Sequence[EpisodeRecord], plan: TrainPlan) -> Iterator[Example]:
    """One row for each accepted move of the records, in the words that a learner is asked in."""
    for record in records:
        yield from _rows(record, plan)


def _rows(record: EpisodeRecord, plan: TrainPlan) -> Iterator[Example]:
    raw = STYLES[plan.prompt].raw
    for one in exchanges(record, prompt=plan.prompt, history=plan.history):
        yield Example(one.messages, one.reply.content, raw)


def imitate(model: Learner, data: Sequence[Example], warm_up: WarmUp, *, seed: int) -> list[float]:
    """Teach a model the replies of some rows; returns the mean loss of every epoch."""
    optimiser = torch.optim.AdamW(model.net.parameters(), lr=warm_up.learning_rate)
    order = torch.Generator().manual_seed(seed)
    read = [reply_tokens(model, row) for row in data]
    losses = []
    model.net.train()
    for epoch in range(warm_up.epochs):
        total, steps = 0.0, 0
        shuffled = torch.randperm(len(read), generator=order).tolist()
        for start in range(0, len(read), ROWS_AT_ONCE):
            chosen = [read[i] for i in shuffled[start : start + ROWS_AT_ONCE]]
            ids, mask, labels = (part.to(model.device) for part in pad_rows(chosen))
            with model.computing():
                loss = model.net(
                    input_ids=ids, attention_mask=mask, labels=labels, use_cache=False
                ).loss
            value = float(loss.detach())
            check_quantity("loss", value, f"step {steps + 1} of epoch {epoch + 1} of the warm-up")
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.net.parameters(), 1.0)
            optimiser.step()
            total, steps = total + value, steps + 1
        losses.append(total / max(1, steps))
    model.net.eval()
    model.version += 1
    return losses


def reply_tokens(model: Learner, row: Example) -> tuple[list[int], list[int]]:
    """The tokens of a prompt and of its reply, which ends a chat message with the end token."""
    prompt = read_prompt(model.tokenizer, Request(row.messages, raw=row.raw), model.name)
    reply = token_ids(model.tokenizer, row.reply)
    return prompt, reply if row.raw else [*reply, *sorted(model.end)[:1]]


def pad_rows(rows: Sequence[tuple[list[int], list[int]]]) -> tuple[torch.Tensor, ...]:
    """Ids, attention mask and labels, which are the ids of replies alone."""
    shape = len(rows), max(len(prompt) + len(reply) for prompt, reply in rows)
    ids, mask = torch.zeros(shape, dtype=torch.long), torch.zeros(shape, dtype=torch.long)
    labels = torch.full(shape, -100)
    for row, (prompt, reply) in enumerate(rows):
        end = len(prompt) + len(reply)
        ids[row, :end] = torch.tensor(prompt + reply)
        mask[row, :end] = 1
        labels[row, len(prompt) : end] = torch.tensor(reply)
    return ids, mask, labels
