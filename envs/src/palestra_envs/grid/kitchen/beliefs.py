"""Draws of the part of a kitchen that a player does not see.

Nothing here remembers what the player saw before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from palestra import Rng
from palestra.grids.windows import window_mask

from palestra_envs.grid.kitchen.drawing import (
    MOST,
    NO_BLOCK,
    RING,
    STATIONS,
    draw_ring,
    fitting_block,
    is_site,
    lay_counter,
)
from palestra_envs.grid.kitchen.options import KitchenOptions, KitchenState
from palestra_envs.grid.kitchen.rules import (
    DISH,
    FULL,
    GO_NORTH,
    GO_SOUTH,
    NOTHING,
    ONION,
    REST,
    SOUP,
)
from palestra_envs.grid.layouts import COUNTER, FLOOR, POT

REDRAWS = 100


def visible(game: KitchenOptions, state: KitchenState, seat: int) -> NDArray[np.bool_]:
    """Which cells a player sees, by cell."""
    rows, columns = game.sides
    place = divmod(int(state.cell[seat]), columns)
    return window_mask(rows, columns, place, game.reach).ravel()


def without_unseen(
    game: KitchenOptions, state: KitchenState, seat: int
) -> tuple[KitchenState, list[int]]:
    """A copy with empty counters wherever the player does not see, and the seats they do not see.

    Players out of sight stand on the edge of the kitchen out of sight, where they are in nobody's
    way.
    """
    bare, seen = game.clone(state), visible(game, state, seat)
    rows, columns = game.sides
    for field, nothing in ((bare.tiles, COUNTER), (bare.there, NOTHING), (bare.clock, 0)):
        field[~seen] = nothing
    hidden = [other for other in range(game.num_players) if not seen[state.cell[other]]]
    edge = np.ones((rows, columns), np.bool_)
    edge[1:-1, 1:-1] = False
    for other, cell in zip(hidden, np.flatnonzero(edge.ravel() & ~seen).tolist(), strict=False):
        bare.cell[other], bare.hand[other] = cell, NOTHING
        bare.facing[other] = GO_SOUTH if cell < columns else GO_NORTH
    return bare, hidden


def imagine(game: KitchenOptions, state: KitchenState, seat: int, rng: Rng) -> KitchenState:
    """A copy in which everything that the player does not see is redrawn.

    A random kitchen is drawn anew out of sight, unless a hundred draws find none that fits what the
    player sees. Other players go to random floor out of sight. They hold, and unseen counters bear,
    some things that could be there by now, and unseen pots contents that they could hold.
    """
    imagined: KitchenState = game.clone(state)
    seen = visible(game, state, seat)
    if game.plan is None:
        for _ in range(REDRAWS):
            tiles = _draw_unseen(game, state, seen, rng)
            if tiles is not None:
                imagined.tiles[:] = tiles
                break
    imagined.there[~seen], imagined.clock[~seen] = NOTHING, 0
    hidden = [other for other in range(game.num_players) if not seen[state.cell[other]]]
    _place_players(imagined, hidden, seen, rng, known=game.plan is not None)
    _deal_out(game, imagined, _things(game, imagined, len(hidden), rng), hidden, seen, rng)
    for pot in np.flatnonzero(~seen & (imagined.tiles == POT)).tolist():
        _fill(game, imagined, pot, rng)
    return imagined


def _draw_unseen(
    game: KitchenOptions, state: KitchenState, seen: NDArray[np.bool_], rng: Rng
) -> NDArray[np.int8] | None:
    """Draw the tiles of a random kitchen that is as it is in sight, with floor for all players.

    Returns None if the draw fails.
    """
    config, draft = game.config, game.clone(state)
    draw_ring(config, draft)
    inside = np.flatnonzero(draft.tiles == FLOOR).tolist()
    unseen = [cell for cell in inside if not seen[cell]]
    needed = [cell for cell in inside if seen[cell] and state.tiles[cell] != FLOOR]
    blocks, spare = RING, max(0, config.inner_counters - len(needed))
    rng.shuffle(needed)
    rng.shuffle(unseen)
    order = [*needed, *unseen, *needed, *needed]  # some cells can become counters only after others
    if rng.random() < 0.5:
        order = [*unseen[:spare], *order]
    for cell in order:
        block = fitting_block(config, draft, cell, blocks + 1)
        if block != NO_BLOCK and (seen[cell] or spare > 0):
            lay_counter(draft, cell, block)
            blocks, spare = max(blocks, block), spare - (not seen[cell])
    if any(draft.tiles[cell] == FLOOR for cell in needed):
        return None
    if not _place_stations(game, state, draft, seen, rng):
        return None
    crowd = sum(not seen[cell] for cell in state.cell.tolist())
    return draft.tiles if sum(draft.tiles[cell] == FLOOR for cell in unseen) >= crowd else None


def _place_stations(
    game: KitchenOptions,
    state: KitchenState,
    draft: KitchenState,
    seen: NDArray[np.bool_],
    rng: Rng,
) -> bool:
    """Put the stations in sight where they are and the others out of sight.

    Stations in sight must still have floor beside them. Returns False if that is impossible.
    """
    config, sites = game.config, [c for c in range(len(seen)) if is_site(game.config, draft, c)]
    stations = [c for c in np.flatnonzero(seen).tolist() if state.tiles[c] not in (FLOOR, COUNTER)]
    if any(not is_site(config, draft, cell) for cell in stations):
        return False
    draft.tiles[stations] = state.tiles[stations]
    free = [cell for cell in sites if not seen[cell]]
    rng.shuffle(free)
    for tile in STATIONS:
        found = int((state.tiles[stations] == tile).sum())
        missing = rng.between(max(1, found), MOST[tile]) - found
        if missing > len(free):
            return False
        for _ in range(missing):
            draft.tiles[free.pop()] = tile
    return True


def _place_players(
    imagined: KitchenState, hidden: list[int], seen: NDArray[np.bool_], rng: Rng, *, known: bool
) -> None:
    """Put players out of sight on random floor out of sight, with empty hands.

    In a kitchen that everybody knows they begin where they always do.
    """
    if known and not imagined.turn:
        return
    floor = np.flatnonzero(~seen & (imagined.tiles == FLOOR)).tolist()
    rng.shuffle(floor)
    for seat in hidden:
        imagined.cell[seat] = floor.pop()
        imagined.facing[seat] = rng.between(GO_NORTH, REST - 1) if imagined.turn else GO_NORTH
        imagined.hand[seat] = NOTHING


def _deal_out(
    game: KitchenOptions,
    imagined: KitchenState,
    things: list[int],
    hidden: list[int],
    seen: NDArray[np.bool_],
    rng: Rng,
) -> None:
    """Give things to players out of sight, each with probability one half; lay out the rest."""
    unseen = np.flatnonzero(~seen).tolist()
    counters = [cell for cell in unseen if is_site(game.config, imagined, cell)]
    rng.shuffle(things)
    rng.shuffle(counters)
    ready = [seat for seat in hidden if rng.random() < 0.5]
    for seat in [*ready, *(seat for seat in hidden if seat not in ready)]:
        if things and (seat in ready or len(things) > len(counters)):
            imagined.hand[seat] = things.pop()
    for thing, cell in zip(things, counters, strict=False):
        imagined.there[cell] = thing


def _things(game: KitchenOptions, imagined: KitchenState, hands: int, rng: Rng) -> list[int]:
    """Things that may be out of sight by now, at four steps a thing, few more than hands there."""
    turn = int(imagined.turn)
    kinds = (ONION, DISH, SOUP) if turn > 2 * FULL + game.cook_time else (ONION, DISH)
    return [rng.choice(kinds) for _ in range(rng.between(0, min(hands + 2, turn // 4)))]


def _fill(game: KitchenOptions, imagined: KitchenState, pot: int, rng: Rng) -> None:
    """Fill a pot with what players could have put there by now, at two steps an onion."""
    turn = int(imagined.turn)
    onions = rng.between(0, min(FULL, game.num_players * turn // 2))
    imagined.there[pot] = onions
    if onions == FULL:
        imagined.clock[pot] = rng.between(1, min(turn, game.cook_time + 1))
