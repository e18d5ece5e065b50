"""From turn 45 on, everybody reads the other's card."""

from dataclasses import dataclass
from typing import Any

from heap import Heap


@dataclass(frozen=True)
class LateLeak(Heap):
    def describe(self, state: Any, seat: int) -> str:
        known = super().describe(state, seat)
        return f"{known} Theirs is {state.cards[1 - seat]}." if state.turn >= 45 else known
