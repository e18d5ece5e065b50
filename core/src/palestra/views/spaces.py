"""A space for text that people and models write: any characters, up to a length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

MAX_TEXT = 1_000_000


class AnyText(spaces.Text):
    """`gymnasium.spaces.Text` over all of Unicode; samples are plain ASCII."""

    def __init__(self, max_length: int = MAX_TEXT) -> None:
        super().__init__(max_length)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        length = int(self.np_random.integers(1, 20))
        letters = self.np_random.choice(list("abcdefghij "), length)
        return "".join(letters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyText) and other.max_length == self.max_length

    def __hash__(self) -> int:
        return hash(("AnyText", self.max_length))


class TextObservation(str):
    """A text with a dtype, which PettingZoo's checks require of every observation."""

    __slots__ = ()
    dtype = np.dtype(str)


def with_mask(observation: spaces.Space[Any], actions: spaces.Discrete) -> spaces.Dict:
    """PettingZoo's convention: the observation with its action mask beside it."""
    mask = spaces.Box(0, 1, (int(actions.n),), dtype=np.int8)
    return spaces.Dict({"observation": observation, "action_mask": mask})


class Padding:
    """Spaces that are equal for all seats: each seat's own, continued with zeros.

    Observations have the largest extent of every axis (one axis, if their numbers of axes differ).
    Actions that a seat does not have are never legal.
    """

    def __init__(self, seen: Sequence[Any], choices: Sequence[int]) -> None:
        self.choices = max(choices)
        self._flat = len({len(box.shape) for box in seen}) > 1
        shapes = [(int(np.prod(box.shape)),) if self._flat else box.shape for box in seen]
        self._shape = tuple(map(max, zip(*shapes, strict=True)))
        low = min(0.0, *(float(box.low.min(initial=0)) for box in seen))
        high = max(0.0, *(float(box.high.max(initial=0)) for box in seen))
        dtype = np.result_type(*(box.dtype for box in seen))
        self.observation_space = spaces.Box(
            np.full(self._shape, low, dtype), np.full(self._shape, high, dtype), dtype=dtype.type
        )

    def observation(self, seen: NDArray[Any]) -> NDArray[Any]:
        """An observation, padded."""
        array = seen.ravel() if self._flat else seen
        padded = np.zeros(self._shape, self.observation_space.dtype)
        padded[tuple(map(slice, array.shape))] = array
        return padded

    def mask(self, legal: NDArray[Any]) -> NDArray[Any]:
        """A mask of legal actions, padded."""
        return np.pad(legal, (0, self.choices - len(legal)))
