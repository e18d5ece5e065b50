"""Search over short texts by BM25."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np


def words(text: str) -> list[str]:
    """The words of a text in lower case; underscores separate words."""
    return re.findall(r"[a-z]+|\d+", text.casefold())


def best_matches(query: str, texts: tuple[str, ...], count: int) -> list[int]:
    """Indices of the `count` texts that match a query best, best first; ties in order.

    Texts that share no word with the query are left out.
    """
    index, vocabulary = _index(texts)
    asked = [vocabulary[word] for word in words(query) if word in vocabulary]
    if not asked:
        return []
    scores = index.get_scores_from_ids(asked)
    order = np.argsort(-scores, kind="stable")[:count]
    return [int(number) for number in order if scores[number] > 0]


@lru_cache(maxsize=32)
def _index(texts: tuple[str, ...]) -> tuple[Any, dict[str, int]]:
    import bm25s

    vocabulary: dict[str, int] = {}
    documents = [
        [vocabulary.setdefault(word, len(vocabulary)) for word in words(text)] for text in texts
    ]
    index = bm25s.BM25()
    index.index((documents, vocabulary), show_progress=False)
    return index, vocabulary
