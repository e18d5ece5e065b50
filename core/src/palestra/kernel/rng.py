"""Random numbers that are part of a state: a key and a counter, nothing else.

Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
1, 2, 3", SC 2011): additions, xors and rotations of 32-bit words, so the same lines give the same
numbers interpreted, compiled by numba and on a GPU. Everything is held in 64-bit signed integers
masked to 32 bits, which no operation below can overflow.
"""

from __future__ import annotations

import secrets
from array import array
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import index as whole
from struct import unpack
from typing import Any, TypeVar

from palestra.kernel.errors import InvalidOption, show

T = TypeVar("T")
MASK = 0xFFFFFFFF
SEED_LIMIT = 2**64


def threefry(key0: int, key1: int, counter0: int, counter1: int) -> tuple[int, int]:
    """Encrypt the counter under the key: two uniform 32-bit words."""
    key2 = key0 ^ key1 ^ 0x1BD11BDA
    x = (counter0 + key0) & MASK
    y = (counter1 + key1) & MASK
    for block in range(5):
        if block % 2 == 0:
            x, y = _four_rounds(x, y, 13, 15, 26, 6)
        else:
            x, y = _four_rounds(x, y, 17, 29, 16, 24)
        if block % 3 == 0:
            x, y = x + key1, y + key2
        elif block % 3 == 1:
            x, y = x + key2, y + key0
        else:
            x, y = x + key0, y + key1
        x, y = x & MASK, (y + block + 1) & MASK
    return x, y


def _four_rounds(x: int, y: int, a: int, b: int, c: int, d: int) -> tuple[int, int]:
    x = (x + y) & MASK
    y = (((y << a) | (y >> (32 - a))) & MASK) ^ x
    x = (x + y) & MASK
    y = (((y << b) | (y >> (32 - b))) & MASK) ^ x
    x = (x + y) & MASK
    y = (((y << c) | (y >> (32 - c))) & MASK) ^ x
    x = (x + y) & MASK
    y = (((y << d) | (y >> (32 - d))) & MASK) ^ x
    return x, y


_EVEN, _ODD = ((13, 19), (15, 17), (26, 6), (6, 26)), ((17, 15), (29, 3), (16, 16), (24, 8))


def encrypt(key: int, counter0: int, counter1: int, lanes: int = 1) -> tuple[int, int]:
    """`threefry` in Python's own integers, without calls and with one mask per round.

    Counters may hold many numbers, in lanes of 64 bits; `lanes` has a 1 in each. Eight words then
    take a third more time than one.
    """
    mask, low, high = MASK * lanes, key & MASK, key >> 32
    key0, key1, key2 = low * lanes, high * lanes, (low ^ high ^ 0x1BD11BDA) * lanes
    x, y = counter0 + key0, counter1 + key1 & mask
    for to_x, to_y, rounds in (
        (key1, key2 + lanes, _EVEN),
        (key2, key0 + 2 * lanes, _ODD),
        (key0, key1 + 3 * lanes, _EVEN),
        (key1, key2 + 4 * lanes, _ODD),
        (key2, key0 + 5 * lanes, _EVEN),
    ):
        for left, right in rounds:
            x += y
            y = ((y << left | y >> right) ^ x) & mask
        x += to_x
        y = y + to_y & mask
    return x & mask, y


# A generator computes its first words eight at a time, and the rest in blocks
EIGHT, FEW, BLOCK = 8, 24, 256
_LANES = {size: sum(1 << 64 * lane for lane in range(size)) for size in (EIGHT, BLOCK)}
_COUNTED = {size: sum(lane << 64 * lane for lane in range(size)) for size in (EIGHT, BLOCK)}


@lru_cache(maxsize=128)
def _words(key: int, start: int, size: int) -> array[int]:
    """The words number `start …` of a key; `start` is a multiple of `size`."""
    lanes = _LANES[size]
    counters = _COUNTED[size] + (start & MASK) * lanes
    words = encrypt(key, counters, (start >> 32) * lanes, lanes)[0]
    return array("Q", unpack(f"<{size}Q", words.to_bytes(8 * size, "little")))


def check_seed(seed: int | None) -> int:
    """Return a usable seed: `seed` itself if 0 <= seed < 2**64, a fresh one for None."""
    if seed is None:
        return secrets.randbits(32)
    try:
        value = whole(seed)
    except Exception:  # of an unusual object
        value = -1
    if not 0 <= value < SEED_LIMIT:
        raise InvalidOption(f"seed is an integer from 0 to 2**64 - 1 or None, not {show(seed)}")
    return value


@dataclass(slots=True)
class Rng:
    """The generator of a text state or an agent: it can be compared and copied.

    key: what it was seeded with, up to 64 bits. counter: how many words it has drawn.
    """

    key: int
    counter: int = 0

    @classmethod
    def seeded(cls, seed: int | None, stream: int = 0) -> Rng:
        """A generator from a `seed` in [0, 2**64), or a fresh one; `stream` separates those that
        share it.
        """
        value = check_seed(seed)
        if stream:
            x, y = encrypt(value, stream & MASK, MASK)
            value = x | (y << 32)
        return cls(value)

    def word(self) -> int:
        """A uniform integer in [0, 2**32)."""
        counter = self.counter
        self.counter = counter + 1
        size = EIGHT if counter < FEW else BLOCK
        place = counter % size
        return _words(self.key, counter - place, size)[place]

    def below(self, n: int) -> int:
        """A uniform integer in [0, n), 0 < n <= 2**31; biased by less than n / 2**32."""
        if n == 1:  # a choice of one needs no word, but takes its turn
            self.counter += 1
            return 0
        return (self.word() * n) >> 32

    def between(self, low: int, high: int) -> int:
        """A uniform integer in [low, high], both included."""
        return low + self.below(high - low + 1)

    def random(self) -> float:
        """A uniform float in [0, 1)."""
        return self.word() / 4294967296.0

    def choice(self, items: Sequence[T]) -> T:
        """One of `items`, each equally likely."""
        return items[self.below(len(items))]

    def weighted(self, weights: Sequence[float]) -> int:
        """An index drawn in proportion to non-negative `weights`."""
        mark = self.random() * sum(weights)
        for index, weight in enumerate(weights):
            mark -= weight
            if mark < 0:
                return index
        return max(i for i, weight in enumerate(weights) if weight > 0)

    def shuffle(self, items: MutableSequence[Any]) -> None:
        """Put `items` into a random order, in place."""
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]
