"""How cooks walk and handle things: the parts of `Kitchen`'s rules that compile.

Plain functions over its state record, see `palestra.kernel.array_game`. Conditions are joined by
`&` and turned into numbers instead of branches: a processor that steps thousands of kitchens cannot
predict what each cook does next. Directions are numbered as in the public package `overcooked-ai`.
"""

from __future__ import annotations

from typing import Any

from palestra_envs.grid.kitchen.options import KitchenOptions, KitchenState
from palestra_envs.grid.layouts import COUNTER, DISHES, FLOOR, ONIONS, POT, SERVING

# Overcooked's order of actions. A facing is the number of the action that turns a cook that way.
GO_NORTH, GO_SOUTH, GO_EAST, GO_WEST, REST, INTERACT = range(6)
SOUTHWARD = (-1, 1, 0, 0, 0, 0)  # by action
EASTWARD = (0, 0, 1, -1, 0, 0)

NOTHING, ONION, DISH = range(3)  # in a hand or on a counter; a soup of n onions is DISH + n
FULL = 3  # onions in a pot
SOUP = DISH + FULL
URGENT = 40  # observations say when fewer steps than this are left

SOUP_TERM, ONION_TERM, DISH_TERM, PLATE_TERM = range(4)
SOUP_PAYS, ONION_PAYS, DISH_PAYS, PLATE_PAYS = 20.0, 3.0, 3.0, 5.0


def ahead(config: KitchenOptions, cell: int, direction: int) -> int:
    """The next cell in a direction; the cell itself for REST and INTERACT."""
    return cell + SOUTHWARD[direction] * config.columns + EASTWARD[direction]


def target(config: KitchenOptions, state: KitchenState, seat: int, action: int) -> int:
    """Where a player would stand if nobody else were there."""
    cell = state.cell[seat]
    goal = ahead(config, cell, action)
    return goal if state.tiles[goal] == FLOOR else cell


def is_collision(config: KitchenOptions, state: KitchenState, actions: Any) -> bool:
    """Whether any two players would stand on one cell or change places."""
    clash = False
    for one in range(config.num_players):
        goal = target(config, state, one, actions[one])
        for other in range(one):
            theirs = target(config, state, other, actions[other])
            swap = (goal == state.cell[other]) & (theirs == state.cell[one])
            clash = clash | (goal == theirs) | swap
    return clash


def move(config: KitchenOptions, state: KitchenState, actions: Any) -> None:
    """Turn everybody, and move everybody unless there is a collision."""
    clash = is_collision(config, state, actions)
    for seat in range(config.num_players):
        action = actions[seat]
        goal = target(config, state, seat, action)
        state.cell[seat] = state.cell[seat] if clash else goal
        state.facing[seat] = action if action < REST else state.facing[seat]


def interact(
    config: KitchenOptions, state: KitchenState, seat: int, action: int, filled: int, out: Any
) -> None:
    """Let a player use what they face, if that is their action; pays only the first seat."""
    front = ahead(config, state.cell[seat], state.facing[seat])
    tile = state.tiles[front] if action == INTERACT else FLOOR
    hand, there, clock = state.hand[seat], state.there[front], state.clock[front]
    empty, idle = hand == NOTHING, clock == 0
    lay = (tile == COUNTER) & (hand != NOTHING) & (there == NOTHING)
    lift = (tile == COUNTER) & empty & (there != NOTHING)
    onion = (tile == ONIONS) & empty
    dish = (tile == DISHES) & empty
    add = (tile == POT) & (hand == ONION) & idle & (there < FULL)
    plate = (tile == POT) & (hand == DISH) & (clock > config.cook_time)
    light = (tile == POT) & empty & idle & (there > 0)
    serve = (tile == SERVING) & (hand > DISH)
    begin = (add & (there == FULL - 1)) if config.auto_cook else light
    useful = dish & is_dish_useful(config, state, filled)

    hand = NOTHING if lay | add | serve else hand
    hand = ONION if onion else hand
    hand = DISH if dish else hand
    hand = there if lift else hand
    hand = DISH + there if plate else hand
    laid = state.hand[seat] if lay else there + add
    full = state.hand[seat] == SOUP
    state.hand[seat] = hand
    state.there[front] = NOTHING if lift | plate else laid
    state.clock[front] = 1 if begin else (0 if plate else clock)
    state.soups += serve & full

    out.rewards[0, SOUP_TERM] += SOUP_PAYS * (serve & full)
    if config.shaped:
        out.rewards[0, ONION_TERM] += ONION_PAYS * add
        out.rewards[0, DISH_TERM] += DISH_PAYS * useful
        out.rewards[0, PLATE_TERM] += PLATE_PAYS * plate


def is_dish_useful(config: KitchenOptions, state: KitchenState, filled: int) -> bool:
    """Whether taking a dish from the dispenser is paid for, with this many filled pots."""
    held, lying = 0, 0
    if config.shaped:
        for seat in range(config.num_players):
            held += state.hand[seat] == DISH
        for cell in range(config.rows * config.columns):
            lying += (state.tiles[cell] == COUNTER) & (state.there[cell] == DISH)
    return (lying == 0) & (held < filled)


def count_filled(config: KitchenOptions, state: KitchenState) -> int:
    """How many pots cook, are ready, or hold one or two onions."""
    filled = 0
    if config.shaped:
        for cell in range(config.rows * config.columns):
            begun = (state.there[cell] > 0) & (state.there[cell] < FULL)
            filled += (state.tiles[cell] == POT) & (begun | (state.clock[cell] > 0))
    return filled


def cook(config: KitchenOptions, state: KitchenState) -> None:
    """Advance the clock of every soup that cooks by one step."""
    for cell in range(config.rows * config.columns):
        clock = state.clock[cell]
        state.clock[cell] = clock + ((clock > 0) & (clock <= config.cook_time))


def write_cell(
    config: KitchenOptions, state: KitchenState, cell: int, obs: Any, row: int, column: int
) -> None:
    """Write what stands and lies on one cell into a row and column of an observation."""
    base = 5 * config.num_players
    tile, there, clock = state.tiles[cell], state.there[cell], state.clock[cell]
    pot, counter = tile == POT, tile == COUNTER
    begun = pot & (clock > 0)
    soup = counter & (there > DISH)
    obs[row, column, base] = pot
    obs[row, column, base + 1] = counter
    obs[row, column, base + 2] = tile == ONIONS
    obs[row, column, base + 3] = tile == DISHES
    obs[row, column, base + 4] = tile == SERVING
    obs[row, column, base + 5] = there * (pot & (clock == 0))
    obs[row, column, base + 6] = there * begun + (there - DISH) * soup
    obs[row, column, base + 7] = (config.cook_time + 1 - clock) * begun
    obs[row, column, base + 8] = (pot & (clock > config.cook_time)) | soup
    obs[row, column, base + 9] = counter & (there == DISH)
    obs[row, column, base + 10] = counter & (there == ONION)
    obs[row, column, base + 11] = is_late(config, state)


def write_player(
    config: KitchenOptions,
    state: KitchenState,
    seat: int,
    other: int,
    obs: Any,
    row: int,
    column: int,
) -> None:
    """Write a player and what they hold into a row and column of the observation of `seat`."""
    seats, hand = config.num_players, state.hand[other]
    place = 0 if other == seat else other + (other < seat)  # the own player comes first
    base = 5 * seats
    obs[row, column, place] = 1
    obs[row, column, seats + 4 * place + state.facing[other]] = 1
    obs[row, column, base + 6] = (hand - DISH) * (hand > DISH)
    obs[row, column, base + 8] = hand > DISH
    obs[row, column, base + 9] = hand == DISH
    obs[row, column, base + 10] = hand == ONION


def write_window(config: KitchenOptions, state: KitchenState, seat: int, obs: Any) -> None:
    """Write what is at most `reach` cells away into an observation centred on the player.

    What lies beyond the kitchen looks like counters.
    """
    reach, columns = config.reach, config.columns
    top = state.cell[seat] // columns - reach
    left = state.cell[seat] % columns - reach
    for i in range(2 * reach + 1):
        for j in range(2 * reach + 1):
            row, column = top + i, left + j
            if 0 <= row < config.rows and 0 <= column < columns:
                write_cell(config, state, row * columns + column, obs, i, j)
            else:
                obs[i, j, 5 * config.num_players + 1] = 1
                obs[i, j, 5 * config.num_players + 11] = is_late(config, state)
    for other in range(config.num_players):
        i, j = state.cell[other] // columns - top, state.cell[other] % columns - left
        if 0 <= i < 2 * reach + 1 and 0 <= j < 2 * reach + 1:
            write_player(config, state, seat, other, obs, i, j)


def is_late(config: KitchenOptions, state: KitchenState) -> bool:
    """Whether fewer than URGENT steps are left."""
    return config.max_steps - state.turn < URGENT
