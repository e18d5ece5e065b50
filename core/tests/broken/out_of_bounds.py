"""Writes past the end of what a seat sees."""

from dataclasses import dataclass
from typing import Any

from heap import Heap


@dataclass(frozen=True)
class OutOfBounds(Heap):
    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, obs: Any) -> None:
        obs[0] = state.heap
        if state.turn > 40:
            obs[state.turn] = 1
