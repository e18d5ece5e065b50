"""A small network that reads texts word by word, where a linear model sees only which words occur.

It stands in for the language models that ARMAP, EPO, Cooper and UI-Genie tune: it learns the order
of words and how they act together, in about a second on the CPU.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable
from zlib import crc32

import numpy as np
from palestra import InvalidOption

from palestra_rewards.arrays import Floats, Ints, floats
from palestra_rewards.learnt.networks import (
    descend,
    load_weights,
    tensor,
    torch_module,
    weights_of,
)

TOKEN = re.compile(r"\w+|>|\n")
WINDOW = 3  # words in a row that are read together


class TextPreference(Protocol):
    """A task, a text that does it, and one that does it less well."""

    @property
    def intent(self) -> str: ...
    @property
    def good(self) -> str: ...
    @property
    def bad(self) -> str: ...


@runtime_checkable
class Scorer(Protocol):
    """What scores texts for a task and learns from preferences between them."""

    def score(self, intent: str, story: str) -> float: ...
    def learn(self, examples: Sequence[Any], *, steps: int, rate: float) -> float: ...
    def state(self) -> dict[str, Any]: ...
    def load(self, state: Any) -> None: ...


def word_numbers(texts: Sequence[str], *, words: int, length: int) -> Ints:
    """The last `length` words of each text as numbers from 1, 0 before its first; (texts, length).

    A word is a run of letters or digits; line breaks and ">" (a move) are words too.
    """
    table = np.zeros((len(texts), length), dtype=np.int64)
    for row, text in enumerate(texts):
        found = TOKEN.findall(text.lower())[-length:]
        if found:
            table[row, -len(found) :] = [1 + crc32(word.encode()) % words for word in found]
    return table


class StoryNetwork:
    """Scores how well a text does a task: embedded words, windows of three, and a hidden layer.

    The task, the text and its last line (an action, or how it ended) are read by the same windows
    of three words, of which the strongest and the mean are kept; a hidden layer joins them, so that
    words act together.
    words: buckets that words are hashed to. size: numbers per word and window. length: the last
    words of a text that are read. hidden: units of the hidden layer. steps, rate: gradient steps of
    `fit`. The same examples and `seed` give the same scores; `state` is plain JSON.
    """

    def __init__(
        self,
        *,
        words: int = 2048,
        size: int = 16,
        length: int = 200,
        hidden: int = 24,
        steps: int = 60,
        rate: float = 0.02,
        seed: int = 0,
    ) -> None:
        if min(words, size, hidden, steps) < 1 or rate <= 0:
            raise InvalidOption("words, size, hidden, steps and rate must be above 0")
        if length < WINDOW:
            raise InvalidOption(f"length must be {WINDOW} words or more, not {length}")
        self.words, self.size, self.length, self.hidden = words, size, length, hidden
        self.steps, self.rate, self.seed = steps, rate, seed
        self.network = reader(words, size, hidden, seed)

    def fit(self, examples: Sequence[TextPreference]) -> StoryNetwork:
        """Start afresh and maximise the likelihood of the preferences (Bradley-Terry)."""
        if not examples:
            raise InvalidOption("fit needs one example or more")
        self.network = reader(self.words, self.size, self.hidden, self.seed)
        self.learn(examples, steps=self.steps, rate=self.rate)
        return self

    def learn(self, examples: Sequence[TextPreference], *, steps: int, rate: float) -> float:
        """Gradient steps on the mean of `-log sigmoid(score of good - score of bad)`.

        Goes on from the weights there are. Returns the loss before.
        """
        torch = torch_module()
        good = self._rows([(one.intent, one.good) for one in examples])
        bad = self._rows([(one.intent, one.bad) for one in examples])

        def loss(_: int) -> Any:
            gap = self.network(*good) - self.network(*bad)
            return torch.nn.functional.softplus(-gap).mean()

        return self._descend(loss, steps, rate)

    def learn_labels(
        self, texts: Sequence[tuple[str, str]], right: Sequence[float], *, steps: int, rate: float
    ) -> float:
        """Gradient steps on the cross-entropy of labels from 0 to 1, for (task, text) pairs.

        `1 / (1 + exp(-score))` becomes the chance of 1. Returns the loss before.
        """
        torch = torch_module()
        rows, wanted = self._rows(texts), tensor(right).float()

        def loss(_: int) -> Any:
            scores = self.network(*rows)[:, 0]
            return torch.nn.functional.binary_cross_entropy_with_logits(scores, wanted)

        return self._descend(loss, steps, rate)

    def _descend(self, loss: Callable[[int], Any], steps: int, rate: float) -> float:
        seen: list[float] = []

        def kept(step: int) -> Any:
            value = loss(step)
            if not seen:
                seen.append(float(value.detach()))
            return value

        descend([self.network], kept, steps=steps, rate=rate)
        return seen[0]

    def _rows(self, texts: Sequence[tuple[str, str]]) -> tuple[Any, ...]:
        """Words of the distinct tasks, each pair's task, and the same for texts and last lines."""
        found: list[Any] = []
        ends = [text.rsplit("\n", 1)[-1] for _, text in texts]
        for part in (*zip(*texts, strict=True), ends):
            distinct = {text: place for place, text in enumerate(dict.fromkeys(part))}
            table = word_numbers(list(distinct), words=self.words, length=self.length)
            width = max(int((table > 0).sum(axis=1).max()), WINDOW)
            found += [table[:, -width:], np.array([distinct[text] for text in part])]
        return tuple(map(torch_module().as_tensor, found))

    def scores(self, texts: Sequence[tuple[str, str]]) -> Floats:
        """The scores of (task, text) pairs, shape (pairs,)."""
        if not texts:
            return np.zeros(0)
        with torch_module().no_grad():
            return floats(self.network(*self._rows(texts))[:, 0].numpy())

    def score(self, intent: str, story: str) -> float:
        """The score; the difference of two is the log-odds that the first does the task better."""
        return float(self.scores([(intent, story)])[0])

    def accuracy(self, examples: Sequence[TextPreference]) -> float:
        """Share of examples that are ranked correctly; a tie counts half."""
        good = self.scores([(one.intent, one.good) for one in examples])
        gaps = good - self.scores([(one.intent, one.bad) for one in examples])
        return float(np.mean((gaps > 0) + (gaps == 0) / 2))

    def state(self) -> dict[str, Any]:
        return {"weights": weights_of(self.network)}

    def load(self, state: Any) -> None:
        load_weights(self.network, state["weights"])


def reader(words: int, size: int, hidden: int, seed: int) -> Any:
    """A torch module that scores pairs of a task and a text, shape (n, 1).

    It takes word numbers of the distinct tasks, the task of each pair, and the same for texts and
    for their last lines, so that a text which many pairs share is read once.
    """
    torch = torch_module()

    class Reader(torch.nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.words = torch.nn.Embedding(words + 1, size, padding_idx=0)
            self.windows = torch.nn.Linear(WINDOW * size, size)
            self.joined = torch.nn.Linear(10 * size, hidden)
            self.last = torch.nn.Linear(hidden, 1)

        def forward(self, tasks: Any, task: Any, texts: Any, text: Any, ends: Any, end: Any) -> Any:
            wanted, found = self._read(tasks)[task], self._read(texts)[text]
            last = self._read(ends)[end]
            parts = torch.cat([wanted, found, last, wanted * found, wanted * last], dim=1)
            return self.last(torch.nn.functional.silu(self.joined(parts)))

        def _read(self, text: Any) -> Any:
            """The strongest and the mean of the windows, shape (n, 2 size)."""
            seen, there = self.words(text), (text[:, WINDOW - 1 :] > 0).unsqueeze(2)
            last = seen.shape[1] - WINDOW + 1
            rows = torch.cat([seen[:, n : n + last] for n in range(WINDOW)], dim=2)
            read = torch.tanh(self.windows(rows))
            strongest = read.masked_fill(~there, -1.0).amax(dim=1)
            mean = (read * there).sum(1) / there.sum(1).clamp(min=1)
            return torch.cat([strongest, mean], dim=1)

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Reader()
