"""What a forager sees, read off the array view and put into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Seen(NamedTuple):
    """A food or a player as somebody sees it: its level, and cells south and east of him."""

    level: int
    south: int
    east: int


@dataclass(frozen=True, slots=True)
class Sighting:
    """An array view, read: own level and place, food row by row, other players by seat.

    `row` and `column` count from the north-west corner of what is in sight.
    """

    level: int
    row: int
    column: int
    foods: tuple[Seen, ...]
    others: tuple[Seen, ...]


def read_view(view: NDArray[Any], max_food: int) -> Sighting:
    """Take apart an array view of `palestra_envs.grid.foraging.game.Foraging`, which see."""
    things = np.asarray(view).astype(int).reshape(-1, 3).tolist()
    row, column, level = things[max_food]
    foods, others = (
        tuple(Seen(thing[2], thing[0] - row, thing[1] - column) for thing in part if thing[2] > 0)
        for part in (things[:max_food], things[max_food + 1 :])
    )
    return Sighting(level, row, column, foods, others)
