"""Truth in a world of `XLand`: relations between things, and goals made of them.

Plain functions over its state record; they compile, see `palestra.kernel.array_game`. Things are
numbered together: players first, then objects. A goal is an "or" of options, each an "and" of terms
(relation, thing, thing or floor, denied); relation 0 stands for no term.
"""

from __future__ import annotations

from palestra.grids.moving import random_floor
from palestra.grids.sight import clear_line, sees
from palestra.rules import randint

from palestra_envs.grid.xland.options import (
    HOLD,
    MAZE,
    NEAR,
    NONE,
    ON,
    OPTIONS,
    PILLARS,
    ROOMS,
    SEE,
    TERMS,
    XLandOptions,
    XLandState,
)

FLOORS = 3
FREE = -1  # held by no player
TRIES = 20
ROOM = 3  # cells of a room each way
SQUARE = 3  # cells of floor of one colour each way


def cell_of(config: XLandOptions, state: XLandState, thing: int) -> int:
    """The cell of a player or an object; what is held is where its holder stands."""
    if thing < config.num_players:
        cell: int = state.cell[thing]
        return cell
    held_by = state.held_by[thing - config.num_players]
    return state.lies[thing - config.num_players] if held_by == FREE else state.cell[held_by]


def held_item(config: XLandOptions, state: XLandState, seat: int) -> int:
    """The object a player holds; -1 for none."""
    found = -1
    for item in range(config.num_objects):
        if state.held_by[item] == seat:
            found = item
    return found


def in_view(config: XLandOptions, state: XLandState, seat: int, cell: int) -> bool:
    """Whether a player sees what is on a cell."""
    near = sees(config, state, seat, cell)
    return near and clear_line(config, state, state.cell[seat], cell)


def relates(config: XLandOptions, state: XLandState, kind: int, one: int, other: int) -> bool:
    """Whether a relation is true of two things, or of a thing and a floor."""
    if kind == HOLD:
        has: bool = state.held_by[other - config.num_players] == one
        return has
    here = cell_of(config, state, one)
    if kind == ON:
        on: bool = state.floor[here] == other
        return on
    there, columns = cell_of(config, state, other), config.columns
    if kind == SEE:
        return in_view(config, state, one, there)
    apart = abs(here // columns - there // columns) + abs(here % columns - there % columns)
    return apart <= 1


def goal_holds(config: XLandOptions, state: XLandState, seat: int) -> bool:
    """Whether a player's goal is true now."""
    goals, met = state.goals, False
    for option in range(OPTIONS):
        if goals[seat, option, 0, 0] != NONE:
            true = True
            for term in range(TERMS):
                kind, denied = goals[seat, option, term, 0], goals[seat, option, term, 3] == 1
                one, other = goals[seat, option, term, 1], goals[seat, option, term, 2]
                if kind != NONE and relates(config, state, kind, one, other) == denied:
                    true = False
            met = met or true
    opposite: bool = state.opposite[seat] == 1
    return met != opposite


def draw_goal(config: XLandOptions, state: XLandState, seat: int) -> None:
    """Draw a goal that is not true yet, if one is found in a few tries."""
    goals, tries = state.goals, 0
    while tries < TRIES:
        goals[seat] = 0
        for option in range(1 + randint(state, config.max_options)):
            for term in range(1 + randint(state, config.max_terms)):
                draw_term(config, state, seat, option, term)
        tries = tries + 1 if goal_holds(config, state, seat) else TRIES


def draw_term(config: XLandOptions, state: XLandState, seat: int, option: int, term: int) -> None:
    """Draw a relation, of the player themselves in half of all cases; one in four is denied."""
    goals, things = state.goals, config.num_players + config.num_objects
    kind = 1 + randint(state, 4)
    who = seat if randint(state, 2) == 0 else randint(state, config.num_players)
    one, other = who, config.num_players + randint(state, config.num_objects)
    if kind == ON:
        one = who if randint(state, 2) == 0 else other
        other = randint(state, FLOORS)
    elif kind != HOLD:
        if kind == NEAR and randint(state, 2) == 0:
            one = other
        other = (one + 1 + randint(state, things - 1)) % things
    goals[seat, option, term, 0], goals[seat, option, term, 1] = kind, one
    goals[seat, option, term, 2] = other
    goals[seat, option, term, 3] = randint(state, 4) == 0


def lay_world(config: XLandOptions, state: XLandState) -> None:
    """Lay what stands in the way, coloured floor, and objects."""
    columns, cells = config.columns, config.rows * config.columns
    if config.ground == ROOMS:
        lay_rooms(config, state)
    elif config.ground == MAZE:
        lay_maze(config, state)
    for cell in range(cells):
        row, column = cell // columns, cell % columns
        if config.ground == PILLARS and row % 2 == 1 and column % 2 == 1:
            state.walls[cell] = randint(state, 1000) < 1000 * config.density
        if config.homes:
            state.floor[cell] = 0 if column < columns // 3 else 1
            if column >= columns // 3 and column < columns - columns // 3:
                state.floor[cell] = 2
        elif row % SQUARE == 0 and column % SQUARE == 0:
            state.floor[cell] = randint(state, FLOORS)
        else:
            corner = (row - row % SQUARE) * columns + column - column % SQUARE
            state.floor[cell] = state.floor[corner]
    for item in range(config.num_objects):
        state.held_by[item] = FREE
        state.lies[item] = random_floor(config, state)
        if config.homes:
            while state.floor[state.lies[item]] != item % 2:
                state.lies[item] = random_floor(config, state)


def lay_rooms(config: XLandOptions, state: XLandState) -> None:
    """Lay walls on every fourth row and column, each piece between two corners with a door."""
    rows, columns = config.rows, config.columns
    for row in range(ROOM, rows, ROOM + 1):
        for column in range(ROOM, columns, ROOM + 1):
            state.walls[row * columns + column] = 1
    for row in range(ROOM, rows, ROOM + 1):
        for start in range(0, columns, ROOM + 1):
            length = min(ROOM, columns - start)
            lay_piece(config, state, row * columns + start, 1, length)
    for column in range(ROOM, columns, ROOM + 1):
        for start in range(0, rows, ROOM + 1):
            lay_piece(config, state, start * columns + column, columns, min(ROOM, rows - start))


def lay_piece(config: XLandOptions, state: XLandState, start: int, step: int, length: int) -> None:
    """Lay a wall of so many cells with a door, with the chance `density`."""
    door, built = randint(state, length), randint(state, 1000) < 1000 * config.density
    for place in range(length):
        state.walls[start + place * step] = built and place != door


def lay_maze(config: XLandOptions, state: XLandState) -> None:
    """Lay all pillars, and from each with the chance `density` a wall to the south or the east.

    Walls that all lead south or east enclose nothing.
    """
    rows, columns = config.rows, config.columns
    for row in range(1, rows, 2):
        for column in range(1, columns, 2):
            state.walls[row * columns + column] = 1
            south, built = randint(state, 2), randint(state, 1000) < 1000 * config.density
            if built and south and row + 2 < rows:
                state.walls[(row + 1) * columns + column] = 1
            elif built and not south and column + 2 < columns:
                state.walls[row * columns + column + 1] = 1


def handle(config: XLandOptions, state: XLandState, seat: int, grabs: bool) -> None:
    """Pick up the first object on a player's cell, or put down what they hold."""
    item = held_item(config, state, seat)
    if not grabs and item >= 0:
        state.held_by[item] = FREE
        state.lies[item] = state.cell[seat]
    elif grabs and item < 0:
        for found in range(config.num_objects):
            free = state.held_by[found] == FREE and state.lies[found] == state.cell[seat]
            if free:
                state.held_by[found] = seat
                state.lies[found] = 0
                return
