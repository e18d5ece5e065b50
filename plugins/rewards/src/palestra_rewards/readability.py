"""How well a text reads: the loss of a reference language model on it, in nats a word or token."""

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
    """A model of words by the `order - 1` words before them, counted in texts of one's own.

    A chance is `(n(context, word) + smooth * chance by a shorter context) / (n(context) + smooth)`,
    down to an even chance of every known word and of one for all others. A reader without a
    language model: `order=1` counts words alone.
    """

    def __init__(self, texts: Iterable[str], *, order: int = 2, smooth: float = 1.0) -> None:
        if order < 1 or smooth <= 0:
            raise InvalidOption(f"order is 1 or more and smooth above 0, not {order} and {smooth}")
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
        """The chance of a word behind these."""
        lower = self.chance(context[1:], word) if context else 1 / (self._known + 1)
        often = self._words[(*context, word)] + self.smooth * lower
        return often / (self._contexts[context] + self.smooth)

    def __call__(self, texts: Sequence[str]) -> list[float]:
        """The mean of minus the log-chances of each text's words; 0 for one without words."""
        found = []
        for text in texts:
            losses = [-log(self.chance(context, word)) for context, word in self._pairs(text)]
            found.append(sum(losses) / len(losses) if losses else 0.0)
        return found


class ModelReader:
    """The loss of a language model that weighs texts, in nats a token: `ModelReader("local:…")`."""

    def __init__(self, model: str | Model) -> None:
        self.model: Model = open_model(model) if isinstance(model, str) else model
        if "score" not in self.model.abilities:
            raise InvalidOption(
                f"{self.model.name} does not weigh texts; use a model that scores, such as "
                "local:…, or NGrams"
            )

    def __call__(self, texts: Sequence[str]) -> list[float]:
        asked = (Message("user", ""),)
        replies = self.model.chat([Request(asked, score=(text,), raw=True) for text in texts])
        return [-reply.scores[0].mean for reply in replies]


def reading_losses(records: Sequence[EpisodeRecord], reader: Reader) -> Floats:
    """The mean loss of what each seat said in each episode: one number a line of a `Group`.

    `Group.of(records).with_facts(**{"reading loss": reading_losses(records, reader)})` hands it to
    `optima`.
    """
    lines: dict[tuple[int, int], list[str]] = {}
    for number, record in enumerate(records):
        for turn in record.own_turns:
            lines.setdefault((number, turn.seat), []).append(turn.raw or turn.text)
    texts = [text for line in sorted(lines) for text in lines[line]]
    losses = iter(reader(texts))
    return floats([np.mean([next(losses) for _ in lines[line]]) for line in sorted(lines)])
