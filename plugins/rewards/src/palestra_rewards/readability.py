"""Readability of a text: a reference language model's loss on it, in nats per word or token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import log

import numpy as np
from palestra import EpisodeRecord, InvalidOption, open_model
from palestra.agents.models import Message, Model, Request

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.learnt.networks import WORD

Reader = Callable[[Sequence[str]], Sequence[float]]


class NGrams:
    """An n-gram model: predicts each word from the `order - 1` words before it, as in `texts`.

    A probability is `(n(context, word) + smooth * probability in a shorter context) / (n(context) +
    smooth)`. The shortest context has a uniform distribution over the known words and one class
    for all unknown words. It needs no language model; `order=1` counts single words.
    """

    def __init__(self, texts: Iterable[str], *, order: int = 2, smooth: float = 1.0) -> None:
        if order < 1 or smooth <= 0:
            raise InvalidOption(
                f"order must be 1 or more and smooth above 0, not {order} and {smooth}"
            )
        self.order, self.smooth = order, smooth
        self._words: Counter[tuple[str, ...]] = Counter()
        self._contexts: Counter[tuple[str, ...]] = Counter()
        for text in texts:
            for context, word in self._pairs(text):
                for start in range(len(context) + 1):
                    self._words[(*context[start:], word)] += 1
                    self._contexts[context[start:]] += 1
        self._known = sum(1 for words in self._words if len(words) == 1)

    def _pairs(self, text: str) -> list[tuple[tuple[str, ...], str]]:
        words = WORD.findall(text.lower())
        return [
            (tuple(words[max(0, at - self.order + 1) : at]), word) for at, word in enumerate(words)
        ]

    def chance(self, context: tuple[str, ...], word: str) -> float:
        """The probability of a word after this context."""
        lower = self.chance(context[1:], word) if context else 1 / (self._known + 1)
        often = self._words[(*context, word)] + self.smooth * lower
        return often / (self._contexts[context] + self.smooth)

    def __call__(self, texts: Sequence[str]) -> list[float]:
        """The mean negative log-probability of each text's words; 0 for a text without words."""
        found = []
        for text in texts:
            losses = [-log(self.chance(context, word)) for context, word in self._pairs(text)]
            found.append(sum(losses) / len(losses) if losses else 0.0)
        return found


class ModelReader:
    """A language model's loss on texts, in nats per token, as in `ModelReader("local:…")`."""

    def __init__(self, model: str | Model) -> None:
        self.model: Model = open_model(model) if isinstance(model, str) else model
        if "score" not in self.model.abilities:
            raise InvalidOption(
                f"{self.model.name} cannot score texts; use a model that scores, such as "
                "local:…, or NGrams"
            )

    def __call__(self, texts: Sequence[str]) -> list[float]:
        asked = (Message("user", ""),)
        replies = self.model.chat([Request(asked, score=(text,), raw=True) for text in texts])
        return [-reply.scores[0].mean for reply in replies]


def reading_losses(records: Sequence[EpisodeRecord], reader: Reader) -> Floats:
    """The mean loss on what each seat said in each episode: one number per line of a `Group`.

    Pass it to `optima` with `Group.of(records).with_facts(**{"reading loss":
    reading_losses(records, reader)})`.
    """
    lines: dict[tuple[int, int], list[str]] = {}
    for number, record in enumerate(records):
        for turn in record.own_turns:
            lines.setdefault((number, turn.seat), []).append(turn.raw or turn.text)
    texts = [text for line in sorted(lines) for text in lines[line]]
    losses = iter(reader(texts))
    return floats([np.mean([next(losses) for _ in lines[line]]) for line in sorted(lines)])
