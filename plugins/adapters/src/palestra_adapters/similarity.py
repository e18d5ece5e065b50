"""Similarity of two texts: the cosine of their word and letter-trigram counts, without a model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"\w+")


def features(text: str) -> Counter[str]:
    """Counts of words and of the letter trigrams within them."""
    words = _WORD.findall(text.lower())
    triples = [
        f"{w[i : i + 3]}…" for w in (f"^{word}$" for word in words) for i in range(len(w) - 2)
    ]
    return Counter(words) + Counter(triples)


def similarity(one: str, other: str) -> float:
    """The cosine of two texts' features, from 0 to 1; equal texts have 1, empty ones 0."""
    if one == other:
        return 1.0 if one.strip() else 0.0
    a, b = features(one), features(other)
    norm = sqrt(sum(v * v for v in a.values()) * sum(v * v for v in b.values()))
    return min(1.0, sum(v * b[k] for k, v in a.items()) / norm) if norm else 0.0


def embed(texts: Sequence[str]) -> NDArray[np.float64]:
    """One unit vector per text, shape (len(texts), features); zeros for a text without words."""
    counts = [features(text) for text in texts]
    names = {name: i for i, name in enumerate(sorted(set().union(*counts)))}
    vectors = np.zeros((len(texts), max(1, len(names))))
    for row, count in zip(vectors, counts, strict=True):
        for name, value in count.items():
            row[names[name]] = value
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1.0)
