"""Values that networks learn from what a seat reads: the critics of DigiRL and Digi-Q.

Both papers read screenshots with a pretrained model; here a question is read as counts of its
words, of pairs of neighbours and of words at their place, hashed into `FEATURES` numbers. So
positions that never come again still have a value, which a mean over visits has not.

`step_values` is DigiRL's step-level value: the probability of success from a position on, by
cross-entropy with what the rollouts returned (Bai et al. 2024, section 4.3), returns between the
lowest and the highest as shares. `Critic` is Digi-Q's pair of Q and V, learned by temporal
differences with averaged targets (Bai et al. 2025, section 4.2), without a second Q.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from itertools import pairwise

import torch
from palestra import Rng
from torch import nn

from palestra_training.exchanges import Exchange
from palestra_training.text_rows import Trajectory, paid_by_answer, returns_from

FEATURES = 1024
WIDTH = 64
FOLDS = 5  # a rollout is judged by a network that has not learned from it
EPOCHS = 60  # of step values
STEPS = 1500  # of a critic
BATCH = 128  # answers
LEARNING_RATE = 1e-3
DECAY = 3.0  # of weights: words that come once are not learned by heart
AVERAGED = 0.1  # the share of the new weights in the targets', a step
_WORD = re.compile(r"\w+|[^\w\s]")


def marks(text: str) -> torch.Tensor:
    """The numbers, below `FEATURES`, of what stands in a text."""
    lines = [_WORD.findall(line) for line in text.splitlines()]
    words = [word for line in lines for word in line]
    placed = [f"{n}:{k}:{word}" for n, line in enumerate(lines) for k, word in enumerate(line)]
    found = (*words, *map(" ".join, pairwise(words)), *placed)
    return torch.tensor([zlib.crc32(mark.encode()) % FEATURES for mark in found], dtype=torch.long)


class Network(nn.Module):
    """A number for one text, or for several that are read together; two hidden layers."""

    def __init__(self, texts: int, generator: torch.Generator) -> None:
        super().__init__()
        self.read = nn.ModuleList(
            nn.EmbeddingBag(FEATURES, WIDTH, mode="sum") for _ in range(texts)
        )
        self.hidden, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1)
        for bag in self.read:
            nn.init.normal_(bag.get_parameter("weight"), generator=generator)
        for layer in (self.hidden, self.out):
            nn.init.uniform_(layer.weight, -(WIDTH**-0.5), WIDTH**-0.5, generator=generator)
            nn.init.zeros_(layer.bias)

    def forward(self, *texts: Sequence[torch.Tensor]) -> torch.Tensor:
        """One number a row, of the marks of each text."""
        parts = []
        for bag, rows in zip(self.read, texts, strict=True):
            lengths = torch.tensor([max(1, len(row)) for row in rows])
            weights = torch.repeat_interleave(
                lengths.float() ** -0.5, torch.tensor([*map(len, rows)])
            )
            starts = torch.tensor([0, *map(len, rows)]).cumsum(0)[:-1]
            parts.append(bag(torch.cat([*rows]), starts, per_sample_weights=weights))
        hidden = torch.relu(self.hidden(torch.relu(torch.stack(parts).sum(0))))
        return torch.as_tensor(self.out(hidden)[:, 0])


def _asked(answer: Exchange) -> str:
    return answer.messages[-1].content


def step_values(played: Sequence[Trajectory], *, seed: int = 0) -> list[list[float]]:
    """The value of each position of each rollout, as learned from the rollouts of other folds."""
    returns = [returns_from(one) for one in played]
    low = min((min(one) for one in returns), default=0.0)
    high = max((max(one) for one in returns), default=0.0)
    if high <= low or len(played) < 2:
        return returns
    read = [[marks(_asked(answer)) for answer in one.answers] for one in played]
    shares = [(torch.tensor(one) - low) / (high - low) for one in returns]
    order = list(range(len(played)))
    Rng.seeded(seed).shuffle(order)
    folds = [order[n::FOLDS] for n in range(min(FOLDS, len(order)))]
    found: list[list[float]] = [[] for _ in played]
    for number, fold in enumerate(folds):
        others = sorted(set(order) - set(fold))
        net = _by_cross_entropy(
            [row for n in others for row in read[n]], torch.cat([shares[n] for n in others]), number
        )
        with torch.no_grad():
            for n in fold:
                values = low + (high - low) * torch.sigmoid(net(read[n]))
                found[n] = values.tolist()
    return found


def _by_cross_entropy(read: Sequence[torch.Tensor], shares: torch.Tensor, seed: int) -> Network:
    generator = torch.Generator().manual_seed(seed)
    net = Network(1, generator)
    optimiser = torch.optim.AdamW(net.parameters(), lr=LEARNING_RATE, weight_decay=DECAY)
    for _ in range(EPOCHS):
        for chosen in torch.split(torch.randperm(len(read), generator=generator), BATCH):
            loss = nn.functional.binary_cross_entropy_with_logits(
                net([read[n] for n in chosen.tolist()]), shares[chosen]
            )
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
    return net


class Critic:
    """Q of an answer to a question and V of the question, for the policy that was played.

    Q(s, a) goes to what is paid until the next question, plus the target's V there, 0 after the
    last; V(s) goes to the target's Q of the answer that was given.
    """

    def __init__(self, played: Sequence[Trajectory], *, seed: int = 0) -> None:
        paid = [paid_by_answer(one) for one in played]
        self._scale = max((abs(p) for one in paid for p in one), default=0.0) or 1.0
        generator = torch.Generator().manual_seed(seed)
        self._q, self._v, self._old_q, self._old_v = (
            Network(texts, generator) for texts in (2, 1, 2, 1)
        )
        self._old_q.load_state_dict(self._q.state_dict())
        self._old_v.load_state_dict(self._v.state_dict())
        asked, said, later, goes_on = [], [], [], []
        for one in played:
            here = [marks(_asked(answer)) for answer in one.answers]
            asked += here
            said += [marks(answer.turn.text) for answer in one.answers]
            later += [*here[1:], here[-1]]
            goes_on += [1.0] * (len(here) - 1) + [0.0]
        rewards = torch.tensor([p / self._scale for one in paid for p in one])
        more = torch.tensor(goes_on)
        learned = [*self._q.parameters(), *self._v.parameters()]
        followed = [*self._old_q.parameters(), *self._old_v.parameters()]
        optimiser = torch.optim.AdamW(learned, lr=LEARNING_RATE, weight_decay=DECAY)
        for _ in range(STEPS if asked else 0):
            chosen = torch.randint(len(asked), (min(BATCH, len(asked)),), generator=generator)
            rows = chosen.tolist()
            now, reply = [asked[n] for n in rows], [said[n] for n in rows]
            with torch.no_grad():
                ahead = self._old_v([later[n] for n in rows])
                given = self._old_q(now, reply)
            loss = nn.functional.mse_loss(
                self._q(now, reply), rewards[chosen] + more[chosen] * ahead
            )
            loss = loss + nn.functional.mse_loss(self._v(now), given)
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            with torch.no_grad():
                for old, new in zip(followed, learned, strict=True):
                    old.lerp_(new, AVERAGED)

    @torch.no_grad()
    def value(self, answer: Exchange) -> float:
        """V of the question of an answer."""
        return float(self._old_v([marks(_asked(answer))])) * self._scale

    @torch.no_grad()
    def worths(self, answer: Exchange, moves: Sequence[str]) -> list[float]:
        """Q of each of some moves, had they been the answer."""
        asked = [marks(_asked(answer))] * len(moves)
        return [float(q) * self._scale for q in self._old_q(asked, [*map(marks, moves)])]
