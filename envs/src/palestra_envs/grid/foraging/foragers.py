"""A scripted forager: walks to food it can take, alone or with those it sees, and loads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

from palestra import Meta, ScriptedAgent, Turn, agent
from palestra.grids.compass import NORTH, STAY
from palestra.grids.paths import Route, routes

from palestra_envs.grid.foraging.game import Foraging
from palestra_envs.grid.foraging.rules import EASTWARD, LOAD, SOUTHWARD
from palestra_envs.grid.foraging.surroundings import Surroundings, Thing

Cell = tuple[int, int]  # south and east of the forager
Mask = Sequence[int]


@agent("forager", needs=("array",))
class Forager(ScriptedAgent[Foraging]):
    """Walks to the nearest food it can load, alone or with those it sees.

    It uses only its own observation and mask. Food it can load alone comes first, the
    nearest first; then food that everybody in sight could load together, the one with the least
    walking for all first, so that all who see the same choose the same. It walks a shortest path
    around food and players, and wanders if it sees nothing it could take. Some of its moves are
    random, because two foragers in each other's way would otherwise be stuck.
    """

    stream = 3

    def __init__(
        self,
        *,
        restless: Annotated[
            float, Meta(ge=0, le=1, description="share of its moves that are random")
        ] = 0.1,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._restless = restless

    def choose(self, turn: Turn[Foraging]) -> int:
        game = turn.game
        seen, mask = game.read(turn.observation), turn.mask.tolist()
        ways = shortest_routes(game, seen, mask)
        food = choose_food(seen, ways)
        if food is None or self.rng.random() < self._restless:
            return self._wander(mask)
        if distance(food) > 1:
            return min((ways[c] for c in beside(food) if c in ways), key=lambda w: w.length).first
        if game.penalty and strength_at(seen, food) < food.level:
            return STAY
        return LOAD

    def _wander(self, mask: Mask) -> int:
        moves = [action for action in range(NORTH, LOAD) if mask[action]]
        return self.rng.choice(moves) if moves else STAY


def shortest_routes(game: Foraging, seen: Surroundings, mask: Mask) -> dict[Cell, Route]:
    """The way to every cell in sight, round food and players; to one's own cell, to stay."""
    blocked = {(thing.south, thing.east) for thing in seen.foods + seen.others}

    def steps(at: Cell) -> Iterator[tuple[int, Cell]]:
        for action in range(NORTH, LOAD):
            cell = at[0] + SOUTHWARD[action], at[1] + EASTWARD[action]
            open_ = mask[action] if at == (0, 0) else True
            if open_ and cell not in blocked and _in_sight(game, seen, cell):
                yield action, cell

    return routes((0, 0), steps) | {(0, 0): Route(0, STAY)}


def _in_sight(game: Foraging, seen: Surroundings, cell: Cell) -> bool:
    """Whether a cell is near enough to be seen and not known to be off the grid."""
    south, east = cell
    on_grid = 0 <= seen.row + south < game.rows and 0 <= seen.column + east < game.columns
    return on_grid and max(abs(south), abs(east)) <= game.reach


def choose_food(seen: Surroundings, ways: dict[Cell, Route]) -> Thing | None:
    """The food to go to; None if none in sight can be reached and taken."""
    together = seen.level + sum(other.level for other in seen.others)
    near = [
        food
        for food in seen.foods
        if food.level <= together and any(cell in ways for cell in beside(food))
    ]
    alone = [food for food in near if food.level <= seen.level]
    if alone:
        return min(alone, key=lambda f: min(ways[c].length for c in beside(f) if c in ways))
    return min(near, key=lambda food: _walking(seen, food), default=None)


def _walking(seen: Surroundings, food: Thing) -> int:
    """The total distance of everybody in sight to a food, ignoring obstacles."""
    return distance(food) + sum(between(other, food) for other in seen.others)


def strength_at(seen: Surroundings, food: Thing) -> int:
    """The summed level of this forager and all in sight who stand beside a food."""
    return seen.level + sum(other.level for other in seen.others if between(other, food) == 1)


def beside(thing: Thing) -> Iterable[Cell]:
    """The four cells around a thing."""
    for action in range(NORTH, LOAD):
        yield thing.south + SOUTHWARD[action], thing.east + EASTWARD[action]


def distance(thing: Thing) -> int:
    """Manhattan distance of a thing."""
    return abs(thing.south) + abs(thing.east)


def between(one: Thing, other: Thing) -> int:
    """Manhattan distance between two things."""
    return abs(one.south - other.south) + abs(one.east - other.east)
