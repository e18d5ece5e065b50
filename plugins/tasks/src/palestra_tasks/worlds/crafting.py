"""A small crafting world, in which a student learns.

The student stands on a square grid with trees and stones. It moves, gathers what is where it
stands, and crafts: a table needs a piece of wood, a pickaxe needs the table and a piece of wood, a
stone needs the pickaxe. Each skill is an achievement, paid once an episode.

A world may have one of eight grounds, which the student sees. On each of them the four moves lead
other ways, so what was learned about moving on one ground says nothing about another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import ClassVar

import msgspec
from palestra import Rng

SKILLS = ("wood", "table", "pickaxe", "stone")
ACTIONS = ("north", "south", "west", "east", "gather", "table", "pickaxe")
STEPS = 25  # of an episode
MOVES = {0: (-1, 0), 1: (1, 0), 2: (0, -1), 3: (0, 1)}
GROUNDS = tuple(permutations(MOVES))[::3]  # by ground: where each of the four moves leads


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A world to train in: its side, how many trees and stones, what the student starts with."""

    size: int = 8
    trees: int = 1
    stones: int = 1
    wood: int = 0
    table: bool = False
    pickaxe: bool = False

    def problem(self) -> str:
        """Why it is no world; empty if it is."""
        if not 2 <= self.size <= 8:
            return "size must be from 2 to 8"
        if self.trees < 0 or self.stones < 0 or self.trees + self.stones > self.size**2 - 1:
            return "trees and stones must fit on the grid beside the student"
        return "" if 0 <= self.wood <= 9 else "wood must be from 0 to 9"

    def open(self, rng: Rng) -> Crafting:
        """An episode in such a world."""
        return Crafting(self, rng)


class GroundConfig(Config, frozen=True, forbid_unknown_fields=True):
    """A world on one of the grounds."""

    ground: int = 0

    def problem(self) -> str:
        if not 0 <= self.ground < len(GROUNDS):
            return f"ground must be from 0 to {len(GROUNDS) - 1}"
        return super().problem()

    def open(self, rng: Rng) -> Crafting:
        return GroundCrafting(self, rng)


def draw_original(rng: Rng) -> GroundConfig:
    """A large world with few trees and stones, on a ground that is drawn."""
    size, trees, stones = rng.between(7, 8), rng.between(1, 2), rng.between(1, 2)
    return GroundConfig(size, trees, stones, ground=rng.below(len(GROUNDS)))


ORIGINAL = Config()
PRESETS = (
    (Config(),),
    (Config(size=3, trees=4, stones=2),),
    (Config(size=3, trees=2, stones=2, wood=2),),
    (Config(size=3, trees=2, stones=2, wood=1, table=True),),
    (Config(size=3, trees=1, stones=4, pickaxe=True),),
    (Config(size=3, trees=3, stones=3, wood=2), Config(size=4, trees=2, stones=3, pickaxe=True)),
)


@dataclass(slots=True)
class Crafting:
    """An episode of the world."""

    actions: ClassVar[int] = len(ACTIONS)
    steps: ClassVar[int] = STEPS
    rate: ClassVar[float] = 0.3
    discount: ClassVar[float] = 0.95
    over: ClassVar[bool] = False

    config: Config
    rng: Rng

    def __post_init__(self) -> None:
        side = self.config.size
        cells = list(range(side * side))
        self.rng.shuffle(cells)
        self.here = cells.pop()
        self.trees = {cells.pop() for _ in range(self.config.trees)}
        self.stones = {cells.pop() for _ in range(self.config.stones)}
        self.wood, self.table = self.config.wood, self.config.table
        self.pickaxe, self.done = self.config.pickaxe, set[str]()

    here: int = 0
    trees: set[int] = None  # type: ignore[assignment]
    stones: set[int] = None  # type: ignore[assignment]
    wood: int = 0
    table: bool = False
    pickaxe: bool = False
    done: set[str] = None  # type: ignore[assignment]

    def seen(self) -> tuple[int, ...]:
        """What the student sees: ways to the nearest tree and stone, and what it has."""
        return (
            self._way(self.trees),
            self._way(self.stones),
            min(self.wood, 2),
            int(self.table),
            int(self.pickaxe),
        )

    def _way(self, things: set[int]) -> int:
        """0 for none, 1 for here, else the move that leads nearer."""
        if not things:
            return 0
        side, here = self.config.size, self.here
        if len(things) == 1:
            return way(side, here, *things)
        row, column = divmod(here, side)
        near = min(things, key=lambda c: (abs(c // side - row) + abs(c % side - column), c))
        return way(side, here, near)

    def act(self, action: int) -> float:
        """Carry out an action; 1 for each new achievement."""
        side = self.config.size
        if action in MOVES:
            row, column = self.here // side + MOVES[action][0], self.here % side + MOVES[action][1]
            if 0 <= row < side and 0 <= column < side:
                self.here = row * side + column
            return 0.0
        if action == 4:
            return self._gather()
        if action == 5 and self.wood and not self.table:
            self.wood, self.table = self.wood - 1, True
            return self._achieve("table")
        if action == 6 and self.wood and self.table and not self.pickaxe:
            self.wood, self.pickaxe = self.wood - 1, True
            return self._achieve("pickaxe")
        return 0.0

    def _gather(self) -> float:
        if self.here in self.trees:
            self.wood += 1
            return self._achieve("wood")
        if self.here in self.stones and self.pickaxe:
            self.stones.discard(self.here)
            return self._achieve("stone")
        return 0.0

    def _achieve(self, skill: str) -> float:
        fresh = skill not in self.done
        self.done.add(skill)
        return float(fresh)


class GroundCrafting(Crafting):
    """An episode on a ground, which the student sees and which says where its moves lead."""

    config: GroundConfig

    def seen(self) -> tuple[int, ...]:
        return (self.config.ground, *super().seen())

    def act(self, action: int) -> float:
        moves = GROUNDS[self.config.ground]
        return super().act(moves[action] if action < len(moves) else action)


GROUND_PRESETS = (
    (GroundConfig(),),
    *((GroundConfig(size=3, trees=4, stones=2, ground=n),) for n in range(len(GROUNDS))),
)


@cache
def way(side: int, here: int, there: int) -> int:
    """1 if both are one cell, else the move that leads nearer, counted from 2."""
    down, right = there // side - here // side, there % side - here % side
    if not (down or right):
        return 1
    if abs(down) >= abs(right):
        return 2 if down < 0 else 3
    return 4 if right < 0 else 5
