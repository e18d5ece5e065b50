"""How players walk, turn, eat and shine beams on a map, in Harvest and Clean Up.

Plain functions over the state record; they compile, see `palestra.kernel.array_game`.
"""

from __future__ import annotations

from typing import Any

from palestra.grids.compass import FACING_EASTWARD, FACING_SOUTHWARD
from palestra.grids.windows import (
    FAR,
    ahead_of,
    has_bit,
    on_map,
    right_of,
    window_column,
    window_row,
)
from palestra.rules import randint

from palestra_envs.grid.social_dilemmas.options import DilemmaOptions, DilemmaState

Options = DilemmaOptions[Any]

STAY, FORWARD, BACKWARD, STEP_LEFT, STEP_RIGHT, TURN_LEFT, TURN_RIGHT, FINE, CLEAN = range(9)
STEP = (0, 0, 2, 3, 1)  # quarter turns from the facing to the way a step goes, by action
FLOOR, WALL, ORCHARD, APPLE, RIVER, WASTE, STREAM, SPROUT = range(8)  # what is on a cell
FINING, CLEANING = 1, 2  # bits of `beams`
BEAM_LENGTH = 5
WALLS, APPLES, FINES, PLAYERS = range(4)  # planes of an observation; players have one a facing
WATERS, WASTES, CLEANINGS = 7, 8, 9
APPLE_TERM, BEAM_TERM, FINE_TERM = range(3)


def lay_out(config: Options, state: DilemmaState) -> None:
    """Write the map into a zeroed state."""
    for row in range(config.rows):
        for column in range(config.columns):
            state.cells[row, column] = ground(config, row, column)


def enter_all(config: Options, state: DilemmaState) -> None:
    """Put all players on the map."""
    for seat in range(config.num_players):
        state.row[seat], state.column[seat] = FAR, FAR
    for seat in range(config.num_players):
        enter(config, state, seat)


def ground(config: Options, row: int, column: int) -> int:
    """What is on a cell at the start."""
    if has_bit(config.walls, row, column):
        return WALL
    if has_bit(config.apples, row, column):
        return APPLE
    if has_bit(config.orchard, row, column):
        return ORCHARD
    if has_bit(config.waste, row, column):
        return WASTE
    if has_bit(config.river, row, column):
        return RIVER
    return STREAM if has_bit(config.stream, row, column) else FLOOR


def player_at(config: Options, state: DilemmaState, row: int, column: int) -> int:
    """The seat that stands on a cell; -1 if there is none."""
    rows, columns, found = state.row, state.column, -1
    for seat in range(config.num_players):
        if rows[seat] == row and columns[seat] == column:
            found = seat
    return found


def is_start(config: Options, state: DilemmaState, row: int, column: int) -> bool:
    """Whether players may start on a cell: any floor of a random map."""
    if config.random:
        floor: bool = state.cells[row, column] == FLOOR
        return floor
    return has_bit(config.starts, row, column)


def is_free(config: Options, state: DilemmaState, row: int, column: int) -> bool:
    """Whether a player may enter the map on a cell."""
    return is_start(config, state, row, column) and player_at(config, state, row, column) < 0


def enter(config: Options, state: DilemmaState, seat: int) -> None:
    """Put a player on a random free start cell, facing a random way."""
    free = 0
    for row in range(config.rows):
        for column in range(config.columns):
            if is_free(config, state, row, column):
                free += 1
    skip = randint(state, free)
    for row in range(config.rows):
        for column in range(config.columns):
            if is_free(config, state, row, column):
                if skip == 0:
                    state.row[seat], state.column[seat] = row, column
                    state.facing[seat] = randint(state, 4)
                    return
                skip -= 1


def target(config: Options, state: DilemmaState, actions: Any, seat: int) -> int:
    """The cell a player heads for, numbered row by row; their own if they do not or cannot step."""
    row, column, action = state.row[seat], state.column[seat], actions[seat]
    own: int = row * config.columns + column
    if state.absent[seat] > 0 or not FORWARD <= action <= STEP_RIGHT:
        return own
    way = (state.facing[seat] + STEP[action]) % 4
    row, column = row + FACING_SOUTHWARD[way], column + FACING_EASTWARD[way]
    if not on_map(config, row, column) or state.cells[row, column] == WALL:
        return own
    return row * config.columns + column


def walk(config: Options, state: DilemmaState, actions: Any) -> None:
    """Turn and step: one of the players who head for a cell gets it, unless its occupant stays.

    Two players cannot swap cells; following one another and moving in a circle are possible.
    """
    moving = heading(config, state, actions)
    changed = moving != 0
    while changed:
        changed = False
        for seat in range(config.num_players):
            if moving >> seat & 1 and is_blocked(config, state, seat, moving):
                moving &= ~(1 << seat)
                changed = True
    columns = config.columns
    for seat in range(config.num_players):
        if moving >> seat & 1:
            there = state.target[seat]
            state.row[seat], state.column[seat] = there // columns, there % columns
        elif state.absent[seat] == 0 and actions[seat] == TURN_LEFT:
            state.facing[seat] = (state.facing[seat] + 3) % 4
        elif state.absent[seat] == 0 and actions[seat] == TURN_RIGHT:
            state.facing[seat] = (state.facing[seat] + 1) % 4
        state.target[seat] = 0  # kept, it would tell where players out of sight have headed


def heading(config: Options, state: DilemmaState, actions: Any) -> int:
    """A bit for each player who steps; of several who head for one cell a random one is kept.

    The cells they head for are noted in the state, for as long as they walk.
    """
    moving = 0
    for seat in range(config.num_players):
        state.target[seat] = target(config, state, actions, seat)
        if state.target[seat] != state.row[seat] * config.columns + state.column[seat]:
            moving |= 1 << seat
    for seat in range(config.num_players):
        if moving >> seat & 1:
            there, rivals = state.target[seat], 0
            for other in range(seat, config.num_players):
                if moving >> other & 1 and state.target[other] == there:
                    rivals += 1
            skip = randint(state, rivals) if rivals > 1 else 0
            for other in range(seat, config.num_players):
                if moving >> other & 1 and state.target[other] == there:
                    if skip != 0:
                        moving &= ~(1 << other)
                    skip -= 1
    return moving


def is_blocked(config: Options, state: DilemmaState, seat: int, moving: int) -> bool:
    """Whether the occupant of the cell a player heads for stays, or heads for the player's own."""
    there = state.target[seat]
    holder = player_at(config, state, there // config.columns, there % config.columns)
    if holder < 0:
        return False
    own = state.row[seat] * config.columns + state.column[seat]
    return moving >> holder & 1 == 0 or state.target[holder] == own


def eat(config: Options, state: DilemmaState, out: Any) -> None:
    """Pay every player who stands on an apple 1 for it."""
    for seat in range(config.num_players):
        state.ate[seat] = 0
        if state.absent[seat] == 0:
            row, column = state.row[seat], state.column[seat]
            if state.cells[row, column] == APPLE:
                state.cells[row, column] = ORCHARD
                state.ate[seat] = 1
                out.rewards[seat, APPLE_TERM] += 1.0


def shine(config: Options, state: DilemmaState, actions: Any, out: Any) -> None:
    """Shine all beams, in a random order; fine the players whom fining beams hit."""
    state.beams[:] = 0
    waiting, count = 0, 0
    for seat in range(config.num_players):
        state.hit[seat], state.cleaned[seat] = 0, 0
        if actions[seat] >= FINE and state.absent[seat] == 0:
            waiting |= 1 << seat
            count += 1
    while count > 0:
        skip = randint(state, count) if count > 1 else 0
        seat = 0
        while skip > 0 or waiting >> seat & 1 == 0:
            skip -= waiting >> seat & 1
            seat += 1
        for right in (-1, 0, 1):
            ray(config, state, seat, right, FINING if actions[seat] == FINE else CLEANING)
        if actions[seat] == FINE:
            out.rewards[seat, BEAM_TERM] -= config.fine_cost
        waiting &= ~(1 << seat)
        count -= 1
    hit, rewards = state.hit, out.rewards
    for seat in range(config.num_players):
        for other in range(config.num_players):
            if hit[seat] >> other & 1:
                rewards[other, FINE_TERM] -= config.fine


def ray(config: Options, state: DilemmaState, seat: int, right: int, kind: int) -> None:
    """Shine one of a beam's three rays: the middle one starts ahead of the player, others beside.

    It ends at a wall, on a player and, if it cleans, on the first waste.
    """
    facing = state.facing[seat]
    first = 1 if right == 0 else 0
    for ahead in range(first, first + BEAM_LENGTH):
        row = window_row(state, seat, facing, ahead, right)
        column = window_column(state, seat, facing, ahead, right)
        if not on_map(config, row, column) or state.cells[row, column] == WALL:
            return
        state.beams[row, column] |= kind
        stopped = False
        if kind == CLEANING and state.cells[row, column] == WASTE:
            state.cells[row, column] = RIVER
            state.cleaned[seat] += 1
            stopped = True
        struck = player_at(config, state, row, column)
        if struck >= 0:
            if kind == FINING:
                state.hit[seat] |= 1 << struck
            stopped = True
        if stopped:
            return


def come_and_go(config: Options, state: DilemmaState) -> None:
    """Bring back players whose time-out is over; take out those hit, if there are time-outs."""
    absent, hit = state.absent, state.hit
    for seat in range(config.num_players):
        if absent[seat] > 0:
            absent[seat] -= 1
            if absent[seat] == 0:
                enter(config, state, seat)
    if config.time_out > 0:
        for seat in range(config.num_players):
            for other in range(config.num_players):
                if hit[seat] >> other & 1:
                    absent[other] = config.time_out
                    state.row[other], state.column[other] = FAR, FAR


def keep_score(config: Options, state: DilemmaState, out: Any) -> None:
    """Add up what players have earned."""
    earned, rewards = state.earned, out.rewards
    for seat in range(config.num_players):
        for term in range(rewards.shape[1]):
            earned[seat] += rewards[seat, term]


def write_window(config: Options, state: DilemmaState, seat: int, obs: Any) -> None:
    """Fill a zeroed observation; the last three planes only where the game has them."""
    if state.absent[seat] > 0:
        return
    sight, facing = config.sight, int(state.facing[seat])
    top, left = int(state.row[seat]), int(state.column[seat])
    south, east = FACING_SOUTHWARD[facing], FACING_EASTWARD[facing]
    cells, beams, wet = state.cells, state.beams, len(obs) > WATERS
    for ahead in range(-sight, sight + 1):
        for right in range(-sight, sight + 1):
            # a quarter turn to the right of (south, east) is (east, -south)
            row, column = top + ahead * south + right * east, left + ahead * east - right * south
            i, j = sight - ahead, sight + right
            if not on_map(config, row, column) or cells[row, column] == WALL:
                obs[WALLS, i, j] = 1
                continue
            kind, lit = cells[row, column], beams[row, column]
            obs[APPLES, i, j] = kind == APPLE
            obs[FINES, i, j] = lit & FINING != 0
            if wet:
                obs[WATERS, i, j] = kind in (RIVER, STREAM)
                obs[WASTES, i, j] = kind == WASTE
                obs[CLEANINGS, i, j] = lit & CLEANING != 0
    for other in range(config.num_players):
        south, east = int(state.row[other]) - top, int(state.column[other]) - left
        ahead, right = ahead_of(facing, south, east), right_of(facing, south, east)
        if other != seat and max(abs(ahead), abs(right)) <= sight and state.absent[other] == 0:
            turned = (state.facing[other] - facing) % 4
            obs[PLAYERS + turned, sight - ahead, sight + right] = other + 1
