"""A cook's view decoded into objects: stations, players, pots and things on counters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra.grids.paths import routes

from palestra_envs.grid.kitchen.options import KitchenState
from palestra_envs.grid.kitchen.rules import DISH, ONION
from palestra_envs.grid.layouts import (
    COUNTER,
    DISHES,
    FLOOR,
    ONIONS,
    POT,
    SERVING,
    Layout,
    layout_of,
)

TILES = np.array((POT, COUNTER, ONIONS, DISHES, SERVING), np.int8)  # by plane
FAR = 10_000  # longer than any path in a kitchen


@dataclass(frozen=True, slots=True)
class Hand:
    """A player: the cell they stand on, the direction they face and the thing they hold."""

    cell: int
    facing: int
    held: int


@dataclass(frozen=True, slots=True)
class Pot:
    """A pot; `left` is None while its soup does not cook, else the steps until it is ready."""

    cell: int
    onions: int
    left: int | None


@dataclass(frozen=True)
class SeenKitchen:
    """A kitchen, or the window of it that a player sees; cells are numbered row by row in `plan`.

    `sight` is how far a window reaches in every direction, None for a whole kitchen. `hands` are
    the players in sight, the own player first, and `seats` their seats. `lying` has the things on
    counters by cell.
    """

    sight: int | None
    plan: Layout
    seats: tuple[int, ...]
    hands: tuple[Hand, ...]
    pots: tuple[Pot, ...]
    lying: dict[int, int]

    @cached_property
    def ways(self) -> tuple[dict[int, int], ...]:
        """For every player the steps to every floor cell they can reach, ignoring other players."""
        return tuple(
            {cell: route.length for cell, route in routes(hand.cell, self._steps).items()}
            for hand in self.hands
        )

    def _steps(self, cell: int) -> Iterator[tuple[int, int]]:
        """Yield each direction that leads to floor, with the floor cell it leads to."""
        for way, there in enumerate(self.plan.ahead[cell]):
            if there is not None and self.plan.tiles[there] == FLOOR:
                yield way, there

    def walk(self, who: int, station: int) -> int:
        """Steps a player needs to stand beside a station; FAR if they never can."""
        return min(self.ways[who].get(cell, FAR) for cell in self.plan.around(station))

    def serves(self, who: int, tile: int) -> bool:
        """Whether a player can get to a station of a kind."""
        return any(self.walk(who, cell) < FAR for cell in self.plan.cells_of(tile))


def read_observation(obs: NDArray[Any], seats: int, sight: int | None, own: int) -> SeenKitchen:
    """Read the array observation of one seat of `Kitchen`.

    seats: how many players there are. sight: the option of the game. own: the observing seat.
    """
    rows, columns, depth = obs.shape
    planes = obs.reshape(-1, depth).T
    base = 5 * seats
    plan = layout_of(rows, columns, (TILES @ planes[base : base + 5]).astype(np.int8).tobytes())
    idle, soup, left, done, dishes, onions = planes[base + 5 : base + 11].tolist()

    def thing(cell: int) -> int:
        if soup[cell]:
            return DISH + int(soup[cell])
        return int(DISH * dishes[cell] + ONION * onions[cell])

    order = [own, *(seat for seat in range(seats) if seat != own)]
    hands = {}
    for place, seat in enumerate(order):
        cell = int(planes[place].argmax())
        if planes[place, cell]:
            facing = int(planes[seats + 4 * place : seats + 4 * place + 4, cell].argmax())
            hands[seat] = Hand(cell, facing, thing(cell))
    pots = [
        Pot(cell, idle[cell] + soup[cell], left[cell] if left[cell] or done[cell] else None)
        for cell in plan.cells_of(POT)
    ]
    lying = {cell: thing(cell) for cell in plan.cells_of(COUNTER) if thing(cell)}
    return SeenKitchen(sight, plan, tuple(hands), tuple(hands.values()), tuple(pots), lying)


def read_state(state: KitchenState, columns: int, cook_time: int, own: int) -> SeenKitchen:
    """The whole kitchen, as the seat `own` would see it with unlimited sight."""
    tiles = state.tiles.tobytes()
    plan = layout_of(len(tiles) // columns, columns, tiles)
    there, clock = state.there.tolist(), state.clock.tolist()
    places = zip(state.cell.tolist(), state.facing.tolist(), state.hand.tolist(), strict=True)
    hands = [Hand(*place) for place in places]
    seats = [own, *(seat for seat in range(len(hands)) if seat != own)]
    pots = [
        Pot(cell, there[cell], cook_time + 1 - clock[cell] if clock[cell] else None)
        for cell in plan.cells_of(POT)
    ]
    lying = {cell: there[cell] for cell in plan.cells_of(COUNTER) if there[cell]}
    return SeenKitchen(
        None, plan, tuple(seats), tuple(hands[seat] for seat in seats), tuple(pots), lying
    )
