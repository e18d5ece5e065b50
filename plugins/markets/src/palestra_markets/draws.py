"""Arrays of random numbers from the generator of one state.

Each function advances the generator's counter, so that draws never overlap.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from palestra.kernel.rng import Rng

BLOCK = 4096
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry_many(key: int, counters: Any) -> tuple[Any, Any]:
    """`palestra.kernel.rng.threefry` of an array of counters: two arrays of 32-bit words."""
    keys = [np.uint32(key & 0xFFFFFFFF), np.uint32(key >> 32)]
    keys.append(keys[0] ^ keys[1] ^ np.uint32(0x1BD11BDA))
    x = (counters & 0xFFFFFFFF).astype(np.uint32) + keys[0]
    y = (counters >> 32).astype(np.uint32) + keys[1]
    turned = np.empty_like(y)
    for block in range(5):
        for turn in ROTATIONS[block % 2]:
            x += y
            np.left_shift(y, turn, out=turned)
            y >>= 32 - turn
            y |= turned
            y ^= x
        x += keys[(block + 1) % 3]
        y += keys[(block + 2) % 3]
        y += np.uint32(block + 1)
    return x, y


@lru_cache(maxsize=64)
def _block(key: int, number: int) -> tuple[Any, Any]:
    x, y = threefry_many(key, np.arange(number * BLOCK, (number + 1) * BLOCK, dtype=np.int64))
    x.flags.writeable = y.flags.writeable = False
    return x, y


def pairs(rng: Rng, steps: int) -> tuple[Any, Any]:
    """Both words of the generator's next `steps` steps.

    Short draws are cut from a block: a day of an epidemic makes thirty, and each would cost as much
    as the block.
    """
    start, rng.counter = rng.counter, rng.counter + steps
    number, at = divmod(start, BLOCK)
    if at + steps > BLOCK:
        return threefry_many(rng.key, start + np.arange(steps, dtype=np.int64))
    x, y = _block(rng.key, number)
    return x[at : at + steps], y[at : at + steps]


def uniforms(rng: Rng, *shape: int) -> Any:
    """`count` floats in (0, 1): the values of successive `rng.random()`, shifted by half a step."""
    count = int(np.prod(shape))
    words, _ = pairs(rng, count)
    return (words.reshape(shape) + 0.5) / 4294967296.0


def words(rng: Rng, count: int) -> Any:
    """`count` random 32-bit words; the fastest draw, with two words per step of the generator."""
    return np.concatenate(pairs(rng, (count + 1) // 2))[:count]


def below(rng: Rng, chances: Any) -> Any:
    """One Bernoulli draw per chance: a boolean array of the same shape."""
    return words(rng, len(chances)) < np.asarray(chances) * 4294967296.0


def normals(rng: Rng, *shape: int) -> Any:
    """Standard normal floats, by the Box-Muller method."""
    drawn = uniforms(rng, 2, *shape)
    return np.sqrt(-2 * np.log(drawn[0])) * np.cos(2 * np.pi * drawn[1])
