"""Supervised rows from play: prompts as a learner sees them, and the moves that were played."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from palestra import EpisodeRecord, retrace
from palestra.agents.agent import Turn
from palestra.llm.conversation import STYLES, Conversation
from palestra.llm.tokens import token_ids

from palestra_training.learner import Learner
from palestra_training.plan import TrainPlan, WarmUp


class Row(NamedTuple):
    """A prompt and the reply to learn."""

    prompt: str
    reply: str


def rows(records: Sequence[EpisodeRecord], plan: TrainPlan) -> Iterator[Row]:
    """One row a turn of every record, in the words that a learner under `plan` is asked in."""
    style = STYLES[plan.prompt]()
    for record in records:
        for episode, step in zip(retrace(record), record.steps, strict=False):
            for turn in step.turns:
                if turn.status == "forfeit":
                    continue
                seen = Turn(episode, turn.seat)
                rules = "" if plan.context == "bare" else seen.game.rules_for(turn.seat)
                talk = Conversation(style, rules)
                talk.ask(seen.position)
                prompt = "".join(message.content for message in talk.messages)
                yield Row(prompt, style.move(turn.text).content)


def imitate(model: Learner, data: Sequence[Row], warm_up: WarmUp, *, seed: int) -> list[float]:
    """Teach a model the replies of some rows; returns the mean loss of every epoch."""
    optimiser = torch.optim.AdamW(model.net.parameters(), lr=warm_up.learning_rate)
    order = torch.Generator().manual_seed(seed)
    read = [
        (token_ids(model.tokenizer, row.prompt), token_ids(model.tokenizer, row.reply))
        for row in data
    ]
    losses = []
    model.net.train()
    for _ in range(warm_up.epochs):
        total, steps = 0.0, 0
        shuffled = torch.randperm(len(read), generator=order).tolist()
        for start in range(0, len(read), 128):
            chosen = sorted(shuffled[start : start + 128], key=lambda i: len(read[i][0]))
            longest = max(len(read[i][0]) + len(read[i][1]) for i in chosen)
            ids = torch.zeros((len(chosen), longest), dtype=torch.long)
            labels = torch.full((len(chosen), longest), -100)
            mask = torch.zeros((len(chosen), longest), dtype=torch.long)
            for row, i in enumerate(chosen):
                prompt, reply = read[i]
                both = torch.tensor(prompt + reply)
                ids[row, : len(both)] = both
                mask[row, : len(both)] = 1
                labels[row, len(prompt) : len(both)] = both[len(prompt) :]
            ids, labels, mask = (part.to(model.device) for part in (ids, labels, mask))
            loss = model.net(input_ids=ids, attention_mask=mask, labels=labels).loss
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.net.parameters(), 1.0)
            optimiser.step()
            total, steps = total + float(loss), steps + 1
        losses.append(total / max(1, steps))
    model.net.eval()
    model.version += 1
    return losses
