"""Players of fruit collection: one who plans the shortest tour, and advisors who add up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from palestra import Agent, Decision, InvalidOption, Turn, agent
from palestra.grids.moving import EASTWARD, MOVES, NORTH, SOUTHWARD, STAY

from palestra_envs.grid.fruit.game import Fruit

Cell = tuple[int, int]


def distance(one: Cell, other: Cell) -> int:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def shortest_tour(start: Cell, fruits: Sequence[Cell]) -> tuple[int, list[int]]:
    """The fewest steps through all fruits, and their order, by dynamic programming over sets."""

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


@agent(
    "fruit-picker",
    kind="solver",
    plays=("grid/Fruit-v0",),
    needs=("array",),
    summary="Takes the shortest tour through all fruit in sight: optimal for one who sees all.",
)
class FruitPicker(Agent):
    """Plays `grid/Fruit-v0` by the shortest tour through the fruit it sees: optimal alone.

    Where it sees none it walks up and down the rows.
    """

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> int:
        game, here, fruits, taken = look(turn, "fruit picker")
        if not fruits:
            return wander(game, turn, here)
        _, order = shortest_tour(here, fruits)
        goal = fruits[order[0]]
        moves = [
            move
            for move in range(NORTH, len(MOVES))
            if distance(after(here, move), goal) < distance(here, goal)
        ]
        return next((move for move in moves if after(here, move) not in taken), STAY)


@agent(
    "fruit-advisors",
    plays=("grid/Fruit-v0",),
    needs=("array",),
    summary="Adds up what one advisor a fruit values a move at; a large gamma makes it stall.",
)
class FruitAdvisors(Agent):
    """Plays `grid/Fruit-v0` as egocentric advisors do: one a fruit, whose values are added up.

    The advisor of a fruit d steps away values it gamma ** d, as if it alone were to decide; the
    move with the largest sum is played. With gamma above 1 / (fruits - 1) the sum can be largest
    where there is no fruit, and the player stalls (Laroche et al. 2017, "attractors").
    """

    def __init__(self, *, gamma: float = 0.2) -> None:
        if not 0 < gamma < 1:
            raise InvalidOption(f"gamma must be above 0 and below 1, not {gamma}")
        self._gamma = gamma

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> int:
        game, here, fruits, taken = look(turn, "advisors")
        if not fruits:
            return wander(game, turn, here)
        moves = [m for m in range(len(MOVES)) if turn.mask[m] and after(here, m) not in taken]
        return max(moves, key=lambda move: (self.value(after(here, move), fruits), -move))

    def value(self, cell: Cell, fruits: Sequence[Cell]) -> float:
        """What the advisors value a cell at together."""
        return float(sum(self._gamma ** distance(cell, fruit) for fruit in fruits))


def look(turn: Turn, who: str) -> tuple[Fruit, Cell, list[Cell], set[Cell]]:
    """The game, where the player is, the fruit he sees, and where he sees other players."""
    game = turn.game
    if not isinstance(game, Fruit):
        raise InvalidOption(f"the {who} plays grid/Fruit-v0, not {turn.env}")
    places: list[Any] = [tuple(place) for place in turn.observation.reshape(-1, 2).tolist()]
    fruits = [place for place in places[1 : game.num_fruits + 1] if place[0] >= 0]
    taken = {place for place in places[game.num_fruits + 1 :] if place[0] >= 0}
    return game, places[0], fruits, taken


def after(here: Cell, move: int) -> Cell:
    return here[0] + SOUTHWARD[move], here[1] + EASTWARD[move]


def wander(game: Fruit, turn: Turn, here: Cell) -> int:
    """Along the row, east in even rows and west in odd ones; then on to the next row."""
    along = 4 if here[0] % 2 == 0 else 3
    if turn.mask[along]:
        return along
    period = 2 * game.rows * game.columns
    return 2 if turn.mask[2] and turn.turn % period < period // 2 else 1
