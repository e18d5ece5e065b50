"""Simultaneous moves, random obstacles, and distances: functions for grid rules.

Plain functions that compile, see `palestra.kernel.array_game`. Cells and actions are numbered as in
`palestra.grids.compass`. A state has `cell` (where each seat stands), `target` (the cell it heads
for) and `blocked`, by seat; for obstacles and distances also `walls` and `queue` by cell, and
`far`, distances by layer and cell. `config` has `rows`, `columns` and `num_players`.
"""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from palestra.grids.compass import EAST, EASTWARD, NORTH, SOUTHWARD
from palestra.rules import randint, uniform

NOWHERE = -1
REGION = 2  # a cell without a wall that has been counted


class OnGrid(Protocol):
    """A game on a grid."""

    @property
    def rows(self) -> int:
        """The height of the grid, in cells."""

    @property
    def columns(self) -> int:
        """The width of the grid, in cells."""

    @property
    def num_players(self) -> Any:
        """The number of players that walk on it."""


class Standing(Protocol):
    """A state in which players stand on cells."""

    cell: NDArray[Any]  # where each seat stands


class Moving(Standing, Protocol):
    """A state in which players move at once."""

    target: NDArray[Any]  # the cell it heads for
    blocked: NDArray[Any]  # 1 where the last move failed


def neighbour(config: OnGrid, cell: int, action: int) -> int:
    """The cell an action leads to; NOWHERE beyond the edge."""
    row = cell // config.columns + SOUTHWARD[action]
    column = cell % config.columns + EASTWARD[action]
    if not (0 <= row < config.rows and 0 <= column < config.columns):
        return NOWHERE
    return row * config.columns + column


def holder(config: OnGrid, state: Standing, cell: int) -> int:
    """The seat that stands on a cell; -1 if there is none."""
    cells, found = state.cell, -1
    for seat in range(config.num_players):
        if cells[seat] == cell:
            found = seat
    return found


def resolve(config: OnGrid, state: Moving, following: bool) -> None:
    """Make the moves to `target` that do not collide; the other players are `blocked` and stay.

    Nobody enters a cell that several players head for, or one whose holder stays, and no two
    players swap. A cell that its holder leaves can be entered if `following` is true, in chains and
    in circles. The order of seats makes no difference.
    """
    cell, target, blocked = state.cell, state.target, state.blocked
    for seat in range(config.num_players):
        blocked[seat] = 0
        if target[seat] != cell[seat]:
            for other in range(config.num_players):
                rival = target[other] == target[seat] and target[other] != cell[other]
                if other != seat and (rival or (not following and cell[other] == target[seat])):
                    blocked[seat] = 1
    changed = True
    while changed:
        changed = False
        for seat in range(config.num_players):
            if target[seat] != cell[seat]:
                if blocked[seat] == 0 and is_held(config, state, seat):
                    blocked[seat] = 1
                if blocked[seat] == 1:
                    target[seat] = cell[seat]
                    changed = True
    for seat in range(config.num_players):
        cell[seat] = target[seat]


def is_held(config: OnGrid, state: Moving, seat: int) -> bool:
    """Whether the holder of a player's target stays there or heads for the player's own cell."""
    cell, target, blocked = state.cell, state.target, state.blocked
    for other in range(config.num_players):
        stays = blocked[other] == 1 or target[other] in (cell[other], cell[seat])
        if other != seat and stays and cell[other] == target[seat]:
            return True
    return False


def measure(config: Any, state: Any, layer: int, source: int) -> int:
    """Fill `far[layer]` with the steps from each cell to `source` round `walls`.

    Cells from which it cannot be reached get -1. Returns the number of cells that can reach it.
    """
    far, queue, walls, cells = state.far, state.queue, state.walls, config.rows * config.columns
    for cell in range(cells):
        far[layer, cell] = -1
    far[layer, source] = 0
    queue[0] = source
    first, last = 0, 1
    while first < last:
        here = int(queue[first])
        queue[first] = 0  # so that equal states have equal bytes
        first += 1
        for action in range(NORTH, EAST + 1):
            there = neighbour(config, here, action)
            if there != NOWHERE and walls[there] == 0 and far[layer, there] < 0:
                far[layer, there] = far[layer, here] + 1
                queue[last] = there
                last += 1
    return last


def scatter(config: Any, state: Any, least: int) -> None:
    """Place random obstacles, and fill in cells that they cut off from the largest region.

    Each cell is an obstacle with probability `config.density`. While the largest region has fewer
    than `least` cells, obstacles are placed again with a tenth fewer; the map must have that many
    cells.
    """
    walls, cells, density, room = state.walls, config.rows * config.columns, config.density, 0
    while room < least:
        for cell in range(cells):
            walls[cell] = uniform(state) < density
        density *= 0.9
        room, middle = 0, 0
        for cell in range(cells):
            if walls[cell] == 0:
                size = measure(config, state, 0, cell)
                if size > room:
                    room, middle = size, cell
                for other in range(cells):
                    if state.far[0, other] >= 0:
                        walls[other] = REGION
        for cell in range(cells):
            walls[cell] = walls[cell] == 1
    measure(config, state, 0, middle)
    for cell in range(cells):
        if state.far[0, cell] < 0:
            walls[cell] = 1


def random_floor(config: Any, state: Any) -> int:
    """A random cell without a wall; there must be one."""
    cell = randint(state, config.rows * config.columns)
    while state.walls[cell] != 0:
        cell = randint(state, config.rows * config.columns)
    return cell


def random_place(config: Any, state: Any) -> int:
    """A random cell without a wall on which nobody stands; there must be one."""
    cell = random_floor(config, state)
    while holder(config, state, cell) >= 0:
        cell = random_floor(config, state)
    return cell
