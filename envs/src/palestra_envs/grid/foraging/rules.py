"""How foragers move, load, spawn and see: the parts of `Foraging`'s rules that compile.

Plain functions over its state, see `palestra.kernel.array_game`. Code that runs in every step
selects values instead of branching: neighbouring lanes of a batch differ, and a mispredicted branch
costs more time than the arithmetic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from palestra import Out
from palestra.grids import compass
from palestra.grids.compass import EAST, NORTH, SOUTH, WEST
from palestra.grids.windows import in_sight
from palestra.rules import randint

if TYPE_CHECKING:
    from palestra_envs.grid.foraging.game import Foraging, ForagingState

LOAD = EAST + 1  # the action after those of the compass
SOUTHWARD = (*compass.SOUTHWARD, 0)  # rows south, by action
EASTWARD = (*compass.EASTWARD, 0)  # columns east, by action


def spawn_player(config: Foraging, state: ForagingState, seat: int) -> None:
    """Put a player on a random empty cell and draw their level."""
    placed = False
    while not placed:
        row, column = randint(state, config.rows), randint(state, config.columns)
        placed = True
        for other in range(seat):
            if state.row[other] == row and state.column[other] == column:
                placed = False
        state.row[seat], state.column[seat] = row, column
    levels = config.max_player_level - config.min_player_level + 1
    state.level[seat] = config.min_player_level + randint(state, levels)


def food_levels(config: Foraging, state: ForagingState) -> tuple[int, int]:
    """The lowest and highest level food may have among these players."""
    high = config.given_food_level
    if high == 0:
        high = lowest_three(config, state)
    low = high if config.force_coop else min(config.min_food_level, high)
    return low, high


def lowest_three(config: Foraging, state: ForagingState) -> int:
    """The sum of the three lowest player levels, or of all where fewer play."""
    total, count = 0, 0
    for level in range(config.min_player_level, config.max_player_level + 1):
        for seat in range(config.num_players):
            if state.level[seat] == level and count < 3:
                total += level
                count += 1
    return total


def is_room(config: Foraging, state: ForagingState, row: int, column: int) -> bool:
    """Whether food may be laid on a cell off the border: nobody on it and no food near."""
    for seat in range(config.num_players):
        if state.row[seat] == row and state.column[seat] == column:
            return False
    for food in range(config.max_food):
        if state.food_level[food] > 0:
            south, east = abs(state.food_row[food] - row), abs(state.food_column[food] - column)
            if max(south, east) <= 1 or (south + east == 2 and south * east == 0):
                return False
    return True


def lay_out(state: ForagingState, count: int, row: int, column: int, level: int) -> None:
    """Add a food to `count` others, keeping them in order row by row."""
    at = count
    while at > 0 and (
        state.food_row[at - 1] > row
        or (state.food_row[at - 1] == row and state.food_column[at - 1] > column)
    ):
        state.food_row[at] = state.food_row[at - 1]
        state.food_column[at] = state.food_column[at - 1]
        state.food_level[at] = state.food_level[at - 1]
        at -= 1
    state.food_row[at], state.food_column[at], state.food_level[at] = row, column, level
    state.laid_out += level


def move(config: Foraging, state: ForagingState, actions: Any) -> None:
    """Move everybody whose target nobody else has; staying and loading target one's own cell."""
    free = 0  # one bit a player
    for seat in range(config.num_players):
        action = actions[seat]
        row, column = state.row[seat] + SOUTHWARD[action], state.column[seat] + EASTWARD[action]
        alone = True
        for other in range(config.num_players):
            theirs = actions[other]
            same_row = state.row[other] + SOUTHWARD[theirs] == row
            same_column = state.column[other] + EASTWARD[theirs] == column
            alone &= (other == seat) | (not (same_row & same_column))
        free |= alone << seat
    for seat in range(config.num_players):
        moves = free >> seat & 1
        state.row[seat] += SOUTHWARD[actions[seat]] * moves
        state.column[seat] += EASTWARD[actions[seat]] * moves


def load(config: Foraging, state: ForagingState, food: int, actions: Any, out: Out) -> None:
    """Let the players who load beside a food try to take it, and pay them."""
    strength = 0
    for seat in range(config.num_players):
        loads = (actions[seat] == LOAD) & is_beside(state, seat, food)
        strength += state.level[seat] * loads
    if strength == 0:
        return
    level = float(state.food_level[food])
    taken = strength >= level
    whole = float(strength) * float(state.laid_out) if config.normalize_reward else 1.0
    for seat in range(config.num_players):
        if actions[seat] == LOAD and is_beside(state, seat, food):
            paid = float(state.level[seat]) * level / whole
            out.rewards[seat, 0] = paid if taken else 0.0 - config.penalty
    if taken:
        state.food_row[food], state.food_column[food], state.food_level[food] = 0, 0, 0


def toward_food(config: Foraging, state: ForagingState, seat: int) -> int:
    """Load food beside the player, else step to the nearest in sight; -1 where there is none."""
    nearest, south, east = 1 << 30, 0, 0
    for food in range(config.max_food):
        row, column = state.food_row[food], state.food_column[food]
        if state.food_level[food] > 0 and in_sight(config, state, seat, row, column):
            down, right = row - state.row[seat], column - state.column[seat]
            if abs(down) + abs(right) < nearest:
                nearest, south, east = abs(down) + abs(right), down, right
    if nearest == 1 << 30:
        return -1
    if nearest == 1:
        return LOAD
    return toward(south, east)


def toward(south: int, east: int) -> int:
    """The move that goes the longer way first."""
    upright, level = SOUTH if south > 0 else NORTH, EAST if east > 0 else WEST
    return upright if abs(south) >= abs(east) else level


def is_beside(state: ForagingState, seat: int, food: int) -> bool:
    """Whether a player stands north, south, west or east of a food that is left."""
    south = abs(state.food_row[food] - state.row[seat])
    beside = south + abs(state.food_column[food] - state.column[seat]) == 1
    return beside & (state.food_level[food] > 0)


def show(obs: Any, at: int, row: int, column: int, level: int) -> None:
    """Write three numbers of an observation."""
    obs[at], obs[at + 1], obs[at + 2] = row, column, level


def place_of(state: ForagingState, seat: int) -> tuple[int, int]:
    """Row and column of a player."""
    return int(state.row[seat]), int(state.column[seat])
