"""How pursuers and evaders start and walk, and how evaders are caught: `Pursuit`'s rules in parts.

Plain functions over its state; they compile, see `palestra.kernel.array_game`. Pursuers and evaders
are numbered together, pursuers first. `recount` brings `crowd` in line with the places. The state
has the walls of a random map; those of a fixed one are constants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from palestra import Out
from palestra.grids.compass import EAST, EASTWARD, NORTH, SOUTHWARD
from palestra.grids.windows import has_bit, on_map
from palestra.rules import randint

if TYPE_CHECKING:
    from palestra_envs.grid.pursuit.game import Pursuit, PursuitState

TAGS, CATCHES, URGENCY = range(3)  # reward terms
HUNTERS, PREY = range(2)  # layers of `crowd`
SPAWN_TRIES = 100


def is_open(config: Pursuit, state: PursuitState, row: int, column: int) -> bool:
    """Whether a cell is on the map and no wall."""
    if not on_map(config, row, column):
        return False
    if config.random:
        free: bool = state.walls[row * config.columns + column] == 0
        return free
    return not has_bit(config.wall_masks, row, column)


def spawn(config: Pursuit, state: PursuitState, who: int) -> None:
    """Put a walker on a random open cell, away from its own kind if a few tries allow."""
    first = 0 if who < config.num_players else config.num_players
    placed = False
    tries = 0
    while not placed:
        row, column = randint(state, config.rows), randint(state, config.columns)
        placed = is_open(config, state, row, column)
        for other in range(first, who):
            far = abs(state.row[other] - row) + abs(state.column[other] - column)
            if tries < SPAWN_TRIES and far <= 1:
                placed = False
        tries += 1
        state.row[who], state.column[who] = row, column


def recount(config: Pursuit, state: PursuitState) -> None:
    """Count pursuers and evaders by cell."""
    crowd = state.crowd
    crowd[:] = 0
    for who in range(config.num_walkers):
        row, column, evader = state.row[who], state.column[who], who - config.num_players
        if evader < 0:
            crowd[HUNTERS, row, column] += 1
        elif state.caught_by[evader] == 0:
            crowd[PREY, row, column] += 1


def step(config: Pursuit, state: PursuitState, who: int, action: int) -> None:
    """Move a walker unless a wall or the edge stops it."""
    old_row, old_column = state.row[who], state.column[who]
    row, column = old_row + SOUTHWARD[action], old_column + EASTWARD[action]
    if is_open(config, state, row, column):
        kind = HUNTERS if who < config.num_players else PREY
        state.row[who], state.column[who] = row, column
        state.crowd[kind, old_row, old_column] -= 1
        state.crowd[kind, row, column] += 1


def evaders_beside(config: Pursuit, state: PursuitState, seat: int) -> int:
    """How many evaders are north, south, west and east of a pursuer."""
    crowd, found = state.crowd, 0
    for way in range(NORTH, EAST + 1):
        row, column = state.row[seat] + SOUTHWARD[way], state.column[seat] + EASTWARD[way]
        if on_map(config, row, column):
            found += int(crowd[PREY, row, column])
    return found


def catch(config: Pursuit, state: PursuitState, out: Out) -> None:
    """Take caught evaders off the map and pay each of those who caught them, once."""
    caught_by, rewards = state.caught_by, out.rewards
    for evader in range(config.num_evaders):
        who = config.num_players + evader
        row, column = state.row[who], state.column[who]
        if caught_by[evader] == 0 and is_caught(config, state, row, column):
            caught_by[evader] = hunters_of(config, state, row, column)
            state.crowd[PREY, row, column] -= 1
            for seat in range(config.num_players):
                if caught_by[evader] >> seat & 1:
                    rewards[seat, CATCHES] = config.catch_reward


def is_caught(config: Pursuit, state: PursuitState, row: int, column: int) -> bool:
    """Whether pursuers hold every open cell beside this one, or enough of them the cell itself."""
    crowd = state.crowd
    if not config.surround:
        enough: bool = crowd[HUNTERS, row, column] >= config.n_catch
        return enough
    held = 0
    for way in range(NORTH, EAST + 1):
        r, c = row + SOUTHWARD[way], column + EASTWARD[way]
        if is_open(config, state, r, c):
            if crowd[HUNTERS, r, c] == 0:
                return False
            held += 1
    return held > 0


def hunters_of(config: Pursuit, state: PursuitState, row: int, column: int) -> int:
    """A bit for each pursuer who has a part in catching an evader on a cell."""
    reach = 1 if config.surround else 0
    hunters = 0
    for seat in range(config.num_players):
        far = abs(state.row[seat] - row) + abs(state.column[seat] - column)
        if far == reach:
            hunters |= 1 << seat
    return hunters


def share(config: Pursuit, out: Out) -> None:
    """Replace every reward term by its mean over all players."""
    for term in range(3):
        total = 0.0
        for seat in range(config.num_players):
            total += out.rewards[seat, term]
        for seat in range(config.num_players):
            out.rewards[seat, term] = total / config.num_players
