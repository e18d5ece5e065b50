"""How a fire spreads, and what planes do to it: functions for the rules of the wildfire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palestra import Out
from palestra.grids.compass import EAST, NORTH
from palestra.grids.moving import NOWHERE, neighbour
from palestra.rules import randint, uniform

if TYPE_CHECKING:
    from palestra_envs.grid.wildfire.game import Wildfire, WildfireState

BARE, TREE, WET, FIRE, BURNT, WATER, HOUSE, WET_HOUSE, RUIN = range(9)  # what is on a cell
DROP = 5
EXTINGUISHED, PREPARED, HOUSES, SAVED = range(4)  # columns of rewards
OPPOSITE = (0, 2, 1, 4, 3)  # by action


def lay_out(config: Wildfire, state: WildfireState) -> None:
    """Draw trees, then water, houses, fires and the wind."""
    cells = config.rows * config.columns
    for cell in range(cells):
        state.ground[cell] = TREE if uniform(state) < config.trees else BARE
    for number in range(config.lakes + config.houses + config.fires):
        cell = randint(state, cells)
        while state.ground[cell] != TREE and state.ground[cell] != BARE:
            cell = randint(state, cells)
        if number < config.lakes:
            state.ground[cell] = WATER
        elif number < config.lakes + config.houses:
            state.ground[cell] = HOUSE
        else:
            state.ground[cell] = FIRE
    state.wind = NORTH + randint(state, 4)
    state.trees_at_start = 0
    for cell in range(cells):
        state.trees_at_start += state.ground[cell] == TREE or state.ground[cell] == FIRE


def fly(config: Wildfire, state: WildfireState, seat: int, action: int) -> None:
    """Move a plane, and fill it over water."""
    there = neighbour(config, state.cell[seat], action)
    if there != NOWHERE:
        state.cell[seat] = there
    if state.ground[state.cell[seat]] == WATER:
        state.loaded[seat] = 1


def drop(config: Wildfire, state: WildfireState, seat: int, out: Out) -> None:
    """Empty a plane over its cell: what burns goes out, and what could burn no longer can."""
    state.loaded[seat] = 0
    cell = state.cell[seat]
    ground = state.ground[cell]
    if ground == FIRE:
        state.ground[cell] = WET
        pay(config, state, EXTINGUISHED, config.extinguish_reward, out)
    elif ground in (TREE, HOUSE):
        state.ground[cell] = WET if ground == TREE else WET_HOUSE
        pay(config, state, PREPARED, config.prepare_reward, out)


def pay(config: Wildfire, state: WildfireState, term: int, amount: float, out: Out) -> None:
    """Pay the same to every plane."""
    for seat in range(config.num_players):
        out.rewards[seat, term] += amount
        state.earned[seat] += amount


def burn(config: Wildfire, state: WildfireState, out: Out) -> None:
    """Let the fire spread by one step; then what has burnt for long enough goes out."""
    for cell in range(config.rows * config.columns):
        state.catches[cell] = 0
    for cell in range(config.rows * config.columns):
        if state.ground[cell] == FIRE:
            state.age[cell] += 1
            for way in range(NORTH, EAST + 1):
                there = neighbour(config, cell, way)
                may = there != NOWHERE and can_burn(state, there)
                if may and uniform(state) < chance(config, state, way):
                    state.catches[there] = 1
    for cell in range(config.rows * config.columns):
        if state.catches[cell]:
            if state.ground[cell] == HOUSE:
                state.ground[cell] = RUIN
                pay(config, state, HOUSES, -config.house_cost, out)
            else:
                state.ground[cell] = FIRE
                state.age[cell] = 0
        elif state.ground[cell] == FIRE and state.age[cell] >= config.burn_steps:
            state.ground[cell] = BURNT


def chance(config: Wildfire, state: WildfireState, way: int) -> float:
    """The chance, per step, that a fire spreads to the next cell this way."""
    if way == state.wind:
        return float(config.spread * (1 + config.gust))
    if way == OPPOSITE[state.wind]:
        return float(config.spread * (1 - config.gust))
    return float(config.spread)


def can_burn(state: WildfireState, cell: int) -> bool:
    ground = state.ground[cell]
    return bool(ground in (TREE, HOUSE))


def count(config: Wildfire, state: WildfireState, kind: int) -> int:
    """How many cells hold this."""
    found = 0
    for cell in range(config.rows * config.columns):
        found += state.ground[cell] == kind
    return found


def nearest(config: Wildfire, state: WildfireState, seat: int, kind: int) -> int:
    """The nearest cell of a kind to a plane, the first of several; -1 if there is none."""
    columns, own = config.columns, state.cell[seat]
    found, least = -1, 1 << 30
    for cell in range(config.rows * config.columns):
        if state.ground[cell] == kind:
            far = abs(cell // columns - own // columns) + abs(cell % columns - own % columns)
            if far < least:
                found, least = cell, far
    return found
