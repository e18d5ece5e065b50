"""How delivery robots drive, collide and are charged: parts of `Delivery`'s rules.

Plain functions over its state; they compile, see `palestra.kernel.array_game`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from palestra import Out
from palestra.grids.compass import EAST, STAY
from palestra.grids.moving import NOWHERE, holder, measure, neighbour, random_floor, resolve
from palestra.rules import randint

if TYPE_CHECKING:
    from palestra_envs.grid.delivery.game import Delivery, DeliveryState

FLOOR, BUILDING, BIN = range(3)
REVENUE, ELECTRICITY, REPAIR, REFUND, INJURY, PROPERTY = range(6)  # reward terms
SLOW, FAST = 1, 2  # cells a step
DRAWS = 20


def walker_on(config: Delivery, state: DeliveryState, cell: int) -> bool:
    """Whether a pedestrian stands on a cell."""
    for walker in range(config.pedestrians):
        if state.walker[walker] == cell:
            return True
    return False


def stroll(config: Delivery, state: DeliveryState) -> None:
    """Let every pedestrian stay or take a random step to a cell that is free."""
    for walker in range(config.pedestrians):
        there = neighbour(config, state.walker[walker], randint(state, EAST + 1))
        if there != NOWHERE and state.walls[there] == FLOOR:
            free = holder(config, state, there) < 0 and not walker_on(config, state, there)
            if free:
                state.walker[walker] = there


def drive(config: Delivery, state: DeliveryState, actions: Any, out: Out) -> None:
    """Move all robots one cell, then fast ones another; a contact stops a robot."""
    for stage in range(SLOW, FAST + 1):
        for seat in range(config.num_players):
            state.target[seat] = state.cell[seat]
            way, speed = heading(actions[seat]), pace(actions[seat])
            if way != STAY and speed >= stage and state.halted[seat] == 0:
                there = neighbour(config, state.cell[seat], way)
                if there == NOWHERE or state.walls[there] == BUILDING:
                    state.halted[seat] = 1
                elif state.walls[there] == BIN:
                    bump(config, state, seat, speed, out, PROPERTY)
                elif walker_on(config, state, there):
                    bump(config, state, seat, speed, out, INJURY)
                else:
                    state.target[seat] = there
        resolve(config, state, True)
        for seat in range(config.num_players):
            if state.blocked[seat] == 1:
                state.halted[seat] = 1
    for seat in range(config.num_players):
        state.blocked[seat] = state.halted[seat]
        state.halted[seat] = 0


def heading(action: int) -> int:
    """The way an action leads, slow or fast, as one of the compass's actions."""
    return action - EAST if action > EAST else action


def pace(action: int) -> int:
    """The speed of an action: SLOW or FAST."""
    return FAST if action > EAST else SLOW


def bump(
    config: Delivery, state: DeliveryState, seat: int, speed: int, out: Out, term: int
) -> None:
    """Stop a robot, shake its cargo, and charge it for what it hits (a reward term)."""
    state.halted[seat] = 1
    state.contacts[seat] += 1
    state.damage[seat] += speed
    if term == INJURY:
        price = config.injury_slow if speed == SLOW else config.injury_fast
    else:
        price = config.property_slow if speed == SLOW else config.property_fast
    out.rewards[seat, term] -= price


def close_order(config: Delivery, state: DeliveryState, seat: int, out: Out) -> None:
    """Book an order that is delivered, spoiled or late, and give the robot another one."""
    rewards, delivered = out.rewards, state.cell[seat] == state.goal[seat]
    if state.damage[seat] >= config.fragility:
        rewards[seat, REFUND] -= config.spoiled_refund
        state.runs[seat, 1] += 1
    elif delivered:
        rewards[seat, REVENUE] += config.fare
        state.runs[seat, 0] += 1
    elif state.turn + 1 >= state.due[seat]:
        rewards[seat, REFUND] -= config.fare
        state.runs[seat, 2] += 1
    else:
        return
    rewards[seat, REPAIR] -= config.repair * (1 + state.contacts[seat])
    new_order(config, state, seat, state.turn + 1)


def new_order(config: Delivery, state: DeliveryState, seat: int, now: int) -> None:
    """Draw an address, and set when the order is due."""
    goal = random_floor(config, state)
    while goal == state.cell[seat]:
        goal = random_floor(config, state)
    state.goal[seat] = goal
    measure(config, state, seat, goal)
    steps = state.far[seat, state.cell[seat]]
    state.due[seat] = now + int(config.slack * steps) + 2
    state.damage[seat], state.contacts[seat] = 0, 0


def build(config: Delivery, state: DeliveryState) -> None:
    """Lay out blocks of two by two cells, buildings or plazas, with two lanes between, and bins."""
    columns = config.columns
    for cell in range(config.rows * columns):
        row, column = cell // columns, cell % columns
        if row % 4 in (1, 2) and column % 4 in (1, 2):
            first = (row - (row % 4 - 1)) * columns + column - (column % 4 - 1)
            if cell == first:
                state.walls[cell] = (
                    BUILDING if randint(state, 100) < 100 * config.density else FLOOR
                )
            else:
                state.walls[cell] = state.walls[first]
        elif row % 4 == 3 and column % 4 in (1, 2) and row + 1 < config.rows:
            state.walls[cell] = BIN if randint(state, 100) < 100 * config.litter else FLOOR
        else:
            state.walls[cell] = FLOOR


def block_of(config: Delivery, cell: int) -> list[int]:
    """The cells of the block that a cell is part of; the cell alone on a lane."""
    row, column = cell // config.columns, cell % config.columns
    if row % 4 not in (1, 2) or column % 4 not in (1, 2):
        return [cell]
    rows, columns = ((at - (at % 4 - 1), at - (at % 4 - 1) + 1) for at in (row, column))
    return [
        r * config.columns + c
        for r in rows
        for c in columns
        if r < config.rows and c < config.columns
    ]


def place_walkers(config: Delivery, state: DeliveryState) -> None:
    """Put pedestrians on random cells, which are free ones if a few tries find any."""
    for walker in range(config.pedestrians):
        state.walker[walker] = NOWHERE
    for walker in range(config.pedestrians):
        cell, tries = random_floor(config, state), 0
        while tries < DRAWS and (
            holder(config, state, cell) >= 0 or walker_on(config, state, cell)
        ):
            cell = random_floor(config, state)
            tries += 1
        state.walker[walker] = cell
