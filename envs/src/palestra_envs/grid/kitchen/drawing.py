"""How a kitchen is drawn at random: the parts of `Kitchen.init_state` that compile.

A ring of counters encloses floor, and then one floor cell after another becomes a counter too. No
counter may leave a bottleneck, that is a floor cell without which the rest of the floor is
disconnected. So a player who stands still cuts nobody off. Any two floor cells lie on a cycle,
around which all players in the way can walk together, so one player alone could do everything.

The eight cells around a cell show whether it is a bottleneck. Counters that touch, even by a
corner, form a block. A floor cell is a bottleneck if a player who turns round on it faces one block
twice, with floor to walk on in between (Rosenfeld, "Connectivity in Digital Pictures", 1970).
Blocks never join, so a new counter changes this only for its eight neighbours. While a kitchen is
drawn, `there` holds the block of each counter, and NO_BLOCK for floor.
"""

from __future__ import annotations

from palestra.grids.compass import EAST, NORTH
from palestra.grids.moving import NOWHERE, holder, neighbour
from palestra.rules import randint

from palestra_envs.grid.kitchen.options import KitchenOptions, KitchenState
from palestra_envs.grid.layouts import COUNTER, DISHES, FLOOR, ONIONS, POT, SERVING

NO_BLOCK, RING = 0, 1
STATIONS = (POT, ONIONS, DISHES, SERVING)
MOST = (0, 0, 2, 2, 1, 1)  # most stations by tile; at least one of each
AROUND = 8
TURNING_SOUTH = (-1, -1, 0, 1, 1, 1, 0, -1)  # clockwise from the north
TURNING_EAST = (0, 1, 1, 1, 0, -1, -1, -1)


def draw_kitchen(config: KitchenOptions, state: KitchenState) -> None:
    """Fill a zeroed state with a random kitchen and its players."""
    draw_ring(config, state)
    blocks, missing, tries = RING, config.inner_counters, config.tries
    while missing > 0 and tries > 0:
        tries -= 1
        cell = random_inside(config, state)
        block = fitting_block(config, state, cell, blocks + 1)
        if block != NO_BLOCK:
            lay_counter(state, cell, block)
            blocks = max(blocks, block)
            missing -= 1
    for cell in range(config.rows * config.columns):
        state.there[cell] = 0
    for tile in STATIONS:
        for _ in range(1 + randint(state, MOST[tile])):
            state.tiles[random_site(config, state)] = tile
    for seat in range(config.num_players):
        state.cell[seat] = random_start(config, state)


def draw_ring(config: KitchenOptions, state: KitchenState) -> None:
    """Put counters round the edge and floor inside."""
    rows, columns = config.rows, config.columns
    for cell in range(rows * columns):
        row, column = cell // columns, cell % columns
        edge = (row == 0) | (row == rows - 1) | (column == 0) | (column == columns - 1)
        state.tiles[cell] = COUNTER if edge else FLOOR
        state.there[cell] = RING if edge else NO_BLOCK


def lay_counter(state: KitchenState, cell: int, block: int) -> None:
    """Turn a floor cell into a counter of a block."""
    state.tiles[cell] = COUNTER
    state.there[cell] = block


def turning(config: KitchenOptions, cell: int, way: int) -> int:
    """One of the eight cells around a cell inside, clockwise from the one in the north."""
    return cell + TURNING_SOUTH[way] * config.columns + TURNING_EAST[way]


def fitting_block(config: KitchenOptions, state: KitchenState, cell: int, fresh: int) -> int:
    """The block a cell inside would belong to as a counter; `fresh` if it touches no block.

    NO_BLOCK if it cannot become a counter: it is no floor, would join two blocks, or would leave a
    bottleneck.
    """
    if state.tiles[cell] != FLOOR:
        return NO_BLOCK
    block = fresh
    for way in range(AROUND):
        near = int(state.there[turning(config, cell, way)])
        if near != NO_BLOCK:
            if block == fresh:
                block = near
            elif block != near:
                return NO_BLOCK
    state.there[cell] = block
    narrow = False
    for way in range(AROUND):
        near = turning(config, cell, way)
        if state.there[near] == NO_BLOCK and is_bottleneck(config, state, near, block):
            narrow = True
    state.there[cell] = NO_BLOCK
    return NO_BLOCK if narrow else block


def is_bottleneck(config: KitchenOptions, state: KitchenState, cell: int, block: int) -> bool:
    """Whether a player who turns round on a floor cell faces a block twice, with floor between."""
    faced, walked = 0, False
    for turn in range(2 * AROUND):  # the first round finds where the second one starts
        way = turn % AROUND
        near = state.there[turning(config, cell, way)]
        if near == NO_BLOCK:
            walked = walked or way % 2 == 0  # players walk to four of the eight cells
        elif near == block and walked:
            faced += turn >= AROUND
            walked = False
    return faced > 1


def random_inside(config: KitchenOptions, state: KitchenState) -> int:
    """A random cell that is not on the edge."""
    width = config.columns - 2
    place = randint(state, (config.rows - 2) * width)
    return (1 + place // width) * config.columns + 1 + place % width


def random_site(config: KitchenOptions, state: KitchenState) -> int:
    """A random counter beside floor."""
    cell = 0  # a corner
    while not is_site(config, state, cell):
        cell = randint(state, config.rows * config.columns)
    return cell


def is_site(config: KitchenOptions, state: KitchenState, cell: int) -> bool:
    """Whether a station may stand on a cell: it is a counter beside floor."""
    found = False
    for way in range(NORTH, EAST + 1):
        there = neighbour(config, cell, way)
        if there != NOWHERE and state.tiles[there] == FLOOR:
            found = True
    return found and state.tiles[cell] == COUNTER


def random_start(config: KitchenOptions, state: KitchenState) -> int:
    """A random floor cell on which nobody stands."""
    cell = 0  # a corner
    while state.tiles[cell] != FLOOR or holder(config, state, cell) >= 0:
        cell = random_inside(config, state)
    return cell
