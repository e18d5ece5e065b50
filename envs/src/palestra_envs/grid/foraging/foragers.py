"""A scripted forager: walks to food it can take, alone or with those it sees, and loads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from palestra import Agent, Decision, InvalidOption, Rng, Turn, agent
from palestra.grids.paths import Route, routes

from palestra_envs.grid.foraging.game import Foraging
from palestra_envs.grid.foraging.rules import EASTWARD, LOAD, NORTH, SOUTHWARD, STAY
from palestra_envs.grid.sighting import Seen, Sighting

Cell = tuple[int, int]  # south and east of the forager
Mask = Sequence[int]


@agent(
    "forager",
    plays=("grid/Foraging-v0",),
    needs=("array",),
    summary="Walks to the nearest food it can load, alone or with those it sees.",
)
class Forager(Agent):
    """Plays `grid/Foraging-v0` from its own array view and mask alone.

    Food it can load alone comes first, the nearest first; then food that everybody in sight could
    load together, the one with the least walking for all first, so that all who see the same choose
    the same. It walks a shortest path round food and players, and wanders where it sees nothing it
    could take. One move in ten (`restless`) is random: two foragers in each other's way would
    otherwise stay there.
    """

    def __init__(self, *, restless: float = 0.1, seed: int | None = None) -> None:
        if not 0 <= restless <= 1:
            raise InvalidOption(f"restless must be from 0 to 1, not {restless}")
        self._restless = restless
        self._rng = Rng.seeded(seed, stream=3)

    def reseed(self, seed: int) -> None:
        self._rng = Rng.seeded(seed, stream=3)

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> int:
        game = turn.game
        if not isinstance(game, Foraging):
            raise InvalidOption(f"the forager plays grid/Foraging-v0, not {turn.env}")
        seen, mask = game.read(turn.observation), turn.mask.tolist()
        ways = shortest_routes(game, seen, mask)
        food = choose_food(seen, ways)
        if food is None or self._rng.random() < self._restless:
            return self._wander(mask)
        if distance(food) > 1:
            return min((ways[c] for c in beside(food) if c in ways), key=lambda w: w.length).first
        if game.penalty and strength_at(seen, food) < food.level:
            return STAY
        return LOAD

    def _wander(self, mask: Mask) -> int:
        moves = [action for action in range(NORTH, LOAD) if mask[action]]
        return self._rng.choice(moves) if moves else STAY


def shortest_routes(game: Foraging, seen: Sighting, mask: Mask) -> dict[Cell, Route]:
    """The way to every cell in sight, round food and players; to one's own cell, to stay."""
    blocked = {(thing.south, thing.east) for thing in seen.foods + seen.others}

    def steps(at: Cell) -> Iterator[tuple[int, Cell]]:
        for action in range(NORTH, LOAD):
            cell = at[0] + SOUTHWARD[action], at[1] + EASTWARD[action]
            open_ = mask[action] if at == (0, 0) else True
            if open_ and cell not in blocked and _in_view(game, seen, cell):
                yield action, cell

    return routes((0, 0), steps) | {(0, 0): Route(0, STAY)}


def _in_view(game: Foraging, seen: Sighting, cell: Cell) -> bool:
    """Whether a cell is near enough to be seen and not known to be off the grid."""
    south, east = cell
    on_grid = 0 <= seen.row + south < game.rows and 0 <= seen.column + east < game.columns
    return on_grid and max(abs(south), abs(east)) <= game.reach


def choose_food(seen: Sighting, ways: dict[Cell, Route]) -> Seen | None:
    """The food to go for; None if none in sight can be reached and taken."""
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


def _walking(seen: Sighting, food: Seen) -> int:
    """What everybody in sight would have to walk to a food, as the crow flies on a grid."""
    return distance(food) + sum(between(other, food) for other in seen.others)


def strength_at(seen: Sighting, food: Seen) -> int:
    """The summed level of this forager and all in sight who stand beside a food."""
    return seen.level + sum(other.level for other in seen.others if between(other, food) == 1)


def beside(thing: Seen) -> Iterable[Cell]:
    """The four cells around a thing."""
    for action in range(NORTH, LOAD):
        yield thing.south + SOUTHWARD[action], thing.east + EASTWARD[action]


def distance(thing: Seen) -> int:
    return abs(thing.south) + abs(thing.east)


def between(one: Seen, other: Seen) -> int:
    return abs(one.south - other.south) + abs(one.east - other.east)
