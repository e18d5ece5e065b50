"""Many random numbers at once, from the generator of one state."""

from __future__ import annotations

from typing import Any

import numpy as np
from palestra.rng import MASK, Rng, threefry


def uniforms(rng: Rng, *shape: int) -> Any:
    """Floats in (0, 1), as many as `rng.random()` would draw one by one."""
    count = int(np.prod(shape))
    counters = np.arange(rng.counter, rng.counter + count, dtype=np.int64)
    rng.counter += count
    words, _ = threefry(rng.key & MASK, rng.key >> 32, counters & MASK, counters >> 32)  # type: ignore[arg-type]
    return (np.asarray(words).reshape(shape) + 0.5) / 4294967296.0


def normals(rng: Rng, *shape: int) -> Any:
    """Standard normal floats, by the method of Box and Muller."""
    drawn = uniforms(rng, 2, *shape)
    return np.sqrt(-2 * np.log(drawn[0])) * np.cos(2 * np.pi * drawn[1])
