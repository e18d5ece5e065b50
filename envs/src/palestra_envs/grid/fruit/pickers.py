"""Agents for fruit collection: one plans the shortest tour, one sums the values of advisors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

from palestra import Meta, ScriptedAgent, Turn, agent
from palestra.grids.compass import EAST, EASTWARD, MOVES, NORTH, SOUTH, SOUTHWARD, STAY, WEST

from palestra_envs.grid.fruit.game import Fruit

Cell = tuple[int, int]


def distance(one: Cell, other: Cell) -> int:
    """Manhattan distance."""
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def shortest_tour(start: Cell, fruits: Sequence[Cell]) -> tuple[int, list[int]]:
    """The fewest steps through all fruits, and their order, by dynamic programming."""

    @cache
    def best(last: int, left: frozenset[int]) -> tuple[int, tuple[int, ...]]:
        here = start if last < 0 else fruits[last]
        ways = [
            (distance(here, fruits[fruit]) + steps, (fruit, *order))
            for fruit in sorted(left)
            for steps, order in [best(fruit, left - {fruit})]
        ]
        return min(ways, default=(0, ()))

    steps, order = best(-1, frozenset(range(len(fruits))))
    return steps, list(order)


@agent("fruit-picker", kind="solver", needs=("array",))
class FruitPicker(ScriptedAgent[Fruit]):
    """Takes the shortest tour through all fruit in sight, which is optimal if it sees all.

    If it sees none, it sweeps the grid row by row.
    """

    def __init__(self) -> None:
        super().__init__(seed=0)

    def choose(self, turn: Turn[Fruit]) -> int:
        here, fruits, taken = read_observation(turn)
        if not fruits:
            return wander(turn, here)
        _, order = shortest_tour(here, fruits)
        goal = fruits[order[0]]
        moves = [
            move
            for move in range(NORTH, len(MOVES))
            if distance(after(here, move), goal) < distance(here, goal)
        ]
        return next((move for move in moves if after(here, move) not in taken), STAY)


@agent("fruit-advisors", needs=("array",))
class FruitAdvisors(ScriptedAgent[Fruit]):
    """Sums the values that one advisor per fruit gives a move; a large gamma makes it stall.

    The advisor of a fruit d steps away gives it the value gamma ** d, as if it decided alone; the
    move with the largest sum is played. With gamma above 1 / (fruits - 1) the sum can be largest
    where there is no fruit, and the player stalls (Laroche et al. 2017, "attractors").
    """

    def __init__(
        self,
        *,
        gamma: Annotated[
            float, Meta(gt=0, lt=1, description="value of a fruit one step away")
        ] = 0.2,
    ) -> None:
        super().__init__(seed=0)
        self._gamma = gamma

    def choose(self, turn: Turn[Fruit]) -> int:
        here, fruits, taken = read_observation(turn)
        if not fruits:
            return wander(turn, here)
        moves = [m for m in range(len(MOVES)) if turn.mask[m] and after(here, m) not in taken]
        return max(moves, key=lambda move: (self.value(after(here, move), fruits), -move))

    def value(self, cell: Cell, fruits: Sequence[Cell]) -> float:
        """The sum of the advisors' values of a cell."""
        return float(sum(self._gamma ** distance(cell, fruit) for fruit in fruits))


def read_observation(turn: Turn[Fruit]) -> tuple[Cell, list[Cell], set[Cell]]:
    """Where the player is, the fruit they see, and the cells where they see other players."""
    game = turn.game
    places: list[Any] = [tuple(place) for place in turn.observation.reshape(-1, 2).tolist()]
    fruits = [place for place in places[1 : game.num_fruits + 1] if place[0] >= 0]
    taken = {place for place in places[game.num_fruits + 1 :] if place[0] >= 0}
    return places[0], fruits, taken


def after(here: Cell, move: int) -> Cell:
    """The place a move leads to."""
    return here[0] + SOUTHWARD[move], here[1] + EASTWARD[move]


def wander(turn: Turn[Fruit], here: Cell) -> int:
    """Walk along the row, east in even rows and west in odd ones; then to the next row."""
    game = turn.game
    along = EAST if here[0] % 2 == 0 else WEST
    if turn.mask[along]:
        return along
    period = 2 * game.num_cells
    return SOUTH if turn.mask[SOUTH] and turn.steps_played % period < period // 2 else NORTH
