"""What texts are worth: BM25 for search, F1 of words for answers, nDCG for rankings."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

_WORD = re.compile(r"[a-z0-9]+")
_ARTICLES = frozenset(("a", "an", "the"))


def words_of(text: str) -> list[str]:
    """The words of a text in lower case."""
    return _WORD.findall(text.lower())


class Index:
    """BM25 over texts: Robertson's formula with Lucene's logarithm, which is never negative.

    Which texts hold a word is looked up when a query first has it.
    """

    def __init__(self, texts: Sequence[str], *, k1: float = 1.5, b: float = 0.75) -> None:
        self._words = [words_of(text) for text in texts]
        mean = sum(map(len, self._words)) / len(texts)
        self._norms = [k1 * (1 - b + b * len(words) / mean) for words in self._words]
        self._most = k1 + 1
        self._holders: dict[str, list[tuple[int, float]]] = {}

    def holders(self, word: str) -> list[tuple[int, float]]:
        """The texts that hold a word, each with its weight."""
        found = self._holders.get(word)
        if found is None:
            found = self._holders[word] = [
                (number, times * self._most / (times + self._norms[number]))
                for number, words in enumerate(self._words)
                if (times := words.count(word))
            ]
        return found

    def scores(self, query: str) -> list[float]:
        """The score of every text for a query."""
        size = len(self._words)
        scores = [0.0] * size
        for word in words_of(query):
            holders = self.holders(word)
            rarity = math.log(1 + (size - len(holders) + 0.5) / (len(holders) + 0.5))
            for number, weight in holders:
                scores[number] += rarity * weight
        return scores

    def best(self, query: str, count: int) -> list[int]:
        """The texts with the highest scores above 0, best first; ties go by number."""
        scores = self.scores(query)
        ranked = sorted(range(len(scores)), key=lambda n: (-scores[n], n))
        return [n for n in ranked[:count] if scores[n] > 0]


def answer_words(text: str) -> list[str]:
    """The words of an answer without articles, as SQuAD compares them."""
    return [word for word in words_of(text) if word not in _ARTICLES]


def exact(said: str, true: str) -> bool:
    """Whether two answers are the same up to case, articles and punctuation."""
    return answer_words(said) == answer_words(true)


def f1(said: str, true: str) -> float:
    """SQuAD's F1: the harmonic mean of precision and recall of the words of an answer."""
    ours, theirs = Counter(answer_words(said)), Counter(answer_words(true))
    shared = sum((ours & theirs).values())
    if not shared:
        return 0.0
    return 2 * shared / (sum(ours.values()) + sum(theirs.values()))


def ndcg(relevant: Sequence[bool], wanted: int) -> float:
    """The discounted gain of a ranking over that of `wanted` relevant texts in front."""
    gain = sum(1 / math.log2(n + 2) for n, yes in enumerate(relevant) if yes)
    ideal = sum(1 / math.log2(n + 2) for n in range(wanted))
    return gain / ideal if ideal else 0.0
