"""A scripted pursuer: goes where it is missing to surround an evader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from numpy.typing import NDArray
from palestra import Agent, Decision, InvalidOption, Rng, Turn, agent
from palestra.grids.moving import EAST, EASTWARD, NORTH, SOUTHWARD, STAY
from palestra.grids.paths import way
from palestra.grids.windows import cells_of

from palestra_envs.grid.pursuit.game import EVADERS, PURSUERS, WALLS, Pursuit

Cell = tuple[int, int]  # south and east of the hunter
WAYS = {move: (SOUTHWARD[move], EASTWARD[move]) for move in range(NORTH, EAST + 1)}


@agent(
    "hunter",
    plays=("grid/Pursuit-v0",),
    needs=("array",),
    summary="Goes where it is missing to surround the evader that needs fewest.",
)
class Hunter(Agent):
    """Plays `grid/Pursuit-v0` from its own array view and mask alone.

    It chooses the evader in sight with the fewest cells still to be held, then the one nearest to
    all pursuers in sight, so that those who see the same choose the same. It walks to the nearest
    of these cells and stays there; where several hold one of them, each moves on in every second
    step. Where it sees no evader it walks at random, and so does one move in ten (`restless`).
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
        if not isinstance(game, Pursuit):
            raise InvalidOption(f"the hunter plays grid/Pursuit-v0, not {turn.env}")
        view = turn.observation
        crowd = {(-north, east): number for north, east, number in cells_of(view[PURSUERS])}
        wanted = posts(view, crowd, game.surround)
        if wanted and self._rng.random() >= self._restless:
            missing = wanted - crowd.keys()
            held = (0, 0) in wanted
            if held and not (missing and crowd[0, 0] > 1 and self._rng.below(2)):
                return STAY
            step = step_towards(missing if game.surround else wanted, view)
            if step is not None:
                return step
        moves = [move for move in WAYS if turn.mask[move]]
        return self._rng.choice(moves) if moves else STAY


def posts(view: NDArray[Any], crowd: dict[Cell, int], surround: bool) -> set[Cell]:
    """The cells to be held to catch the evader that is worth most; none if none is in sight."""
    sight = len(view[WALLS]) // 2
    walls = {(-north, east) for north, east, _ in cells_of(view[WALLS])}
    best: tuple[tuple[int, int, Cell], set[Cell]] | None = None
    for north, east, _ in cells_of(view[EVADERS]):
        cell = (-north, east)
        sides = {(cell[0] + s, cell[1] + e) for s, e in WAYS.values()} - walls
        wanted = sides if surround else {cell}
        if surround and any(max(map(abs, side)) > sight for side in sides):
            continue  # who holds the side out of sight is unknown
        walking = sum(
            number * (abs(s - cell[0]) + abs(e - cell[1])) for (s, e), number in crowd.items()
        )
        key = (len(wanted - crowd.keys()), walking, cell)
        if best is None or key < best[0]:
            best = key, wanted
    return best[1] if best else set()


def step_towards(goals: set[Cell], view: NDArray[Any]) -> int | None:
    """The first step of a shortest path to a goal in sight; None if none can be reached."""
    sight = len(view[WALLS]) // 2

    def steps(cell: Cell) -> Iterator[tuple[int, Cell]]:
        for move, (down, across) in WAYS.items():
            south, east = cell[0] + down, cell[1] + across
            inside = max(abs(south), abs(east)) <= sight
            if inside and not view[WALLS, sight + south, sight + east]:
                yield move, (south, east)

    moves = way((0, 0), goals, steps)
    return moves[0] if moves else None
