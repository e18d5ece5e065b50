"""Plays interpreted; numba cannot compile it."""

from dataclasses import dataclass
from typing import Any

from heap import Heap


def highest(state: Any) -> Any:
    return max(state.cards.tolist())


@dataclass(frozen=True)
class DoesNotCompile(Heap):
    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        mask[0] = highest(state) >= 0
