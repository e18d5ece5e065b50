"""A space for text that people and models write: any characters, up to a length."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

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
