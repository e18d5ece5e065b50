"""What a cook sees, taken apart: stations, players, pots and what lies about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra.grids.paths import routes

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
FAR = 10_000  # further than any way in a kitchen


@dataclass(frozen=True, slots=True)
class Hand:
    """A player: where he stands, which way he looks and what he holds."""

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
class Look:
    """A kitchen, or the window of it that somebody sees; cells are numbered row by row in `plan`.

    `sight` is how far a window reaches in every direction, None for a whole kitchen. `hands` are
    the players in sight, oneself first, and `seats` who they are; `lying` is by cell.
    """

    sight: int | None
    plan: Layout
    seats: tuple[int, ...]
    hands: tuple[Hand, ...]
    pots: tuple[Pot, ...]
    lying: dict[int, int]

    @cached_property
    def ways(self) -> tuple[dict[int, int], ...]:
        """For every player the steps to every floor cell, with nobody in the way."""
        return tuple(
            {cell: route.length for cell, route in routes(hand.cell, self._steps).items()}
            for hand in self.hands
        )

    def _steps(self, cell: int) -> Iterator[tuple[int, int]]:
        """Directions and the floor they lead to."""
        for way, there in enumerate(self.plan.ahead[cell]):
            if there is not None and self.plan.tiles[there] == FLOOR:
                yield way, there

    def walk(self, who: int, station: int) -> int:
        """Steps a player needs to stand beside a station; FAR if he never can."""
        return min(self.ways[who].get(cell, FAR) for cell in self.plan.around(station))

    def serves(self, who: int, tile: int) -> bool:
        """Whether a player can get to a station of a kind."""
        return any(self.walk(who, cell) < FAR for cell in self.plan.cells_of(tile))


def read_view(view: NDArray[Any], seats: int, sight: int | None, player: int) -> Look:
    """Take apart an array view of `palestra_envs.grid.kitchen.game.Kitchen`, which see."""
    rows, columns, depth = view.shape
    planes = view.reshape(-1, depth).T
    base = 5 * seats
    plan = layout_of(rows, columns, (TILES @ planes[base : base + 5]).astype(np.int8).tobytes())
    idle, soup, left, done, dishes, onions = planes[base + 5 : base + 11].tolist()

    def thing(cell: int) -> int:
        if soup[cell]:
            return DISH + int(soup[cell])
        return int(DISH * dishes[cell] + ONION * onions[cell])

    order = [player, *(seat for seat in range(seats) if seat != player)]
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
    return Look(sight, plan, tuple(hands), tuple(hands.values()), tuple(pots), lying)


def read_state(state: Any, columns: int, cook_time: int, player: int) -> Look:
    """The whole kitchen, as `player` sees it who sees everything."""
    tiles = state.tiles.tobytes()
    plan = layout_of(len(tiles) // columns, columns, tiles)
    there, clock = state.there.tolist(), state.clock.tolist()
    places = zip(state.cell.tolist(), state.facing.tolist(), state.hand.tolist(), strict=True)
    hands = [Hand(*place) for place in places]
    seats = [player, *(seat for seat in range(len(hands)) if seat != player)]
    pots = [
        Pot(cell, there[cell], cook_time + 1 - clock[cell] if clock[cell] else None)
        for cell in plan.cells_of(POT)
    ]
    lying = {cell: there[cell] for cell in plan.cells_of(COUNTER) if there[cell]}
    return Look(None, plan, tuple(seats), tuple(hands[seat] for seat in seats), tuple(pots), lying)
