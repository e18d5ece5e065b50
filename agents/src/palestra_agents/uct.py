"""What both trees of UCT have in common: settings, statistics, and the scale of returns."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

from palestra import Game


@dataclass(frozen=True, slots=True)
class Settings:
    """How a tree is searched.

    c: the exploration constant. playouts: random playouts per new leaf. depth: most steps of the
    tree, and of a playout.
    """

    c: float
    playouts: int
    depth: int


@dataclass(slots=True)
class Choice:
    """The returns of one action of one seat."""

    visits: int = 0
    value: float = 0.0


def return_scale(game: Game[Any, Any]) -> tuple[float, float, bool]:
    """The lowest and highest return, and whether they are unknown and follow what is seen."""
    low, high = game.payoff_bounds
    if high - low in (inf, 0.0):
        return 0.0, 0.0, True
    return low, high, False
