"""A scripted pursuer: fills a gap around an evader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from numpy.typing import NDArray
from palestra import Meta, ScriptedAgent, Turn, agent
from palestra.grids.compass import EAST, EASTWARD, NORTH, SOUTHWARD, STAY
from palestra.grids.paths import way
from palestra.grids.windows import cells_of

from palestra_envs.grid.pursuit.game import EVADERS, PURSUERS, WALLS, Pursuit

Cell = tuple[int, int]  # south and east of the hunter
WAYS = {move: (SOUTHWARD[move], EASTWARD[move]) for move in range(NORTH, EAST + 1)}


@agent("hunter", needs=("array",))
class Hunter(ScriptedAgent[Pursuit]):
    """Fills a gap around the evader that needs the fewest pursuers.

    It uses only its own observation and mask. It chooses the evader in sight with the fewest
    cells still to be held, then the one nearest to all pursuers in sight, so that those who see the
    same choose the same. It walks to the nearest of these cells and stays there; where several hold
    one of them, each moves away in every second step. Where it sees no evader it walks at random.
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

    def choose(self, turn: Turn[Pursuit]) -> int:
        game, planes = turn.game, turn.observation
        crowd = {(-north, east): number for north, east, number in cells_of(planes[PURSUERS])}
        wanted = posts(planes, crowd, game.surround)
        if wanted and self.rng.random() >= self._restless:
            missing = wanted - crowd.keys()
            held = (0, 0) in wanted
            if held and not (missing and crowd[0, 0] > 1 and self.rng.below(2)):
                return STAY
            step = step_towards(missing if game.surround else wanted, planes)
            if step is not None:
                return step
        moves = [move for move in WAYS if turn.mask[move]]
        return self.rng.choice(moves) if moves else STAY


def posts(planes: NDArray[Any], crowd: dict[Cell, int], surround: bool) -> set[Cell]:
    """The cells to occupy to catch the evader that needs fewest; empty if none is in sight."""
    sight = len(planes[WALLS]) // 2
    walls = {(-north, east) for north, east, _ in cells_of(planes[WALLS])}
    best: tuple[tuple[int, int, Cell], set[Cell]] | None = None
    for north, east, _ in cells_of(planes[EVADERS]):
        cell = (-north, east)
        sides = {(cell[0] + s, cell[1] + e) for s, e in WAYS.values()} - walls
        wanted = sides if surround else {cell}
        if surround and any(max(map(abs, side)) > sight for side in sides):
            continue  # the hunter cannot know who holds a side out of sight
        walking = sum(
            number * (abs(s - cell[0]) + abs(e - cell[1])) for (s, e), number in crowd.items()
        )
        key = (len(wanted - crowd.keys()), walking, cell)
        if best is None or key < best[0]:
            best = key, wanted
    return best[1] if best else set()


def step_towards(goals: set[Cell], planes: NDArray[Any]) -> int | None:
    """The first step of a shortest path to a goal in sight; None if none can be reached."""
    sight = len(planes[WALLS]) // 2

    def steps(cell: Cell) -> Iterator[tuple[int, Cell]]:
        for move, (down, across) in WAYS.items():
            south, east = cell[0] + down, cell[1] + across
            inside = max(abs(south), abs(east)) <= sight
            if inside and not planes[WALLS, sight + south, sight + east]:
                yield move, (south, east)

    moves = way((0, 0), goals, steps)
    return moves[0] if moves else None
