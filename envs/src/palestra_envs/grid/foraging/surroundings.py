"""A forager's view, decoded from an observation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Thing(NamedTuple):
    """A food or a player in sight: its level, and how many cells south and east it is."""

    level: int
    south: int
    east: int


@dataclass(frozen=True, slots=True)
class Surroundings:
    """An observation, read: own level and place, food row by row, other players by seat.

    `row` and `column` count from the north-west corner of what is in sight.
    """

    level: int
    row: int
    column: int
    foods: tuple[Thing, ...]
    others: tuple[Thing, ...]


def read_observation(observation: NDArray[Any], max_food: int) -> Surroundings:
    """Read an observation of `palestra_envs.grid.foraging.game.Foraging`, of this many foods."""
    triples = np.asarray(observation).astype(int).reshape(-1, 3).tolist()
    row, column, level = triples[max_food]
    foods, others = (
        tuple(Thing(level, r - row, c - column) for r, c, level in part if level > 0)
        for part in (triples[:max_food], triples[max_food + 1 :])
    )
    return Surroundings(level, row, column, foods, others)
