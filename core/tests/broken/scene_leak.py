"""Text and array keep the secret; the picture does not."""

from dataclasses import dataclass
from typing import Any

from heap import Heap
from palestra import Scene


@dataclass(frozen=True)
class SceneLeak(Heap):
    def scene(self, state: Any, seat: int | None = None) -> Scene:
        return Scene(lines=(f"Cards: {state.cards[0]} and {state.cards[1]}.",))
