"""K*: the effective number of agents in a team, by the diversity of their outputs.

"Understanding Agent Scaling in LLM-Based Multi-Agent Systems via Diversity": the
exponential of the entropy of the eigenvalues of the outputs' cosine similarities, scaled to trace
1. Copies count once; n outputs without anything in common count n. No labels are needed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from palestra import InvalidOption

from palestra_arena.ratings.contests import Floats


def effective_channels(vectors: ArrayLike) -> float:
    """K* of embedded outputs, (outputs, dimensions); from 1 to the number of outputs."""
    table = np.array(vectors, dtype=float)
    if table.ndim != 2 or not table.size:
        raise InvalidOption(f"vectors must be (outputs, dimensions), not {table.shape}")
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    if not np.isfinite(table).all() or (lengths == 0).any():
        raise InvalidOption("every vector must be finite and not zero; leave out empty outputs")
    singular = np.linalg.svd(table / lengths, compute_uv=False)
    shares = singular**2 / len(table)
    shares = shares[shares > 1e-15]
    return float(np.exp(-(shares * np.log(shares)).sum()))


def word_vectors(texts: Sequence[str]) -> Floats:
    """Texts by the words they use, (texts, words): an embedding that needs no model."""
    counted = [Counter(re.findall(r"\w+", text.lower())) for text in texts]
    words = sorted(set().union(*counted))
    return np.array([[count[word] for word in words] for count in counted], dtype=float)
