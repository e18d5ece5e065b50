"""Bids in order: highest first, equal bids in an order drawn by lot.

Plain functions over a record with the fields below, inside the subset that numba compiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from palestra.rules import shuffle


def ranking_fields(seats: int) -> list[tuple[Any, ...]]:
    """Bids by seat (-1: none yet), and each seat's lot, the lower before the higher."""
    return [("bid", np.int32, seats), ("lot", np.int32, seats)]


def draw_lots(state: Any) -> None:
    """Put the seats in a new random order."""
    for seat in range(len(state.lot)):
        state.lot[seat] = seat
    shuffle(state, state.lot)


def is_ahead(state: Any, one: int, other: int) -> bool:
    """Whether `one` comes before `other`."""
    higher = state.bid[one] > state.bid[other]
    equal = state.bid[one] == state.bid[other]
    return bool(higher or (equal and state.lot[one] < state.lot[other]))


def rank_of(state: Any, seat: int) -> int:
    """How many come before a seat."""
    rank = 0
    for other in range(len(state.bid)):
        if other != seat and is_ahead(state, other, seat):
            rank += 1
    return rank


def seat_at(state: Any, rank: int) -> int:
    """The seat of a rank, from 0; -1 where there are not so many."""
    for seat in range(len(state.bid)):
        if rank_of(state, seat) == rank:
            return seat
    return -1


def bid_at(state: Any, rank: int) -> int:
    """The bid of a rank; 0 where there are not so many."""
    seat = seat_at(state, rank)
    return int(state.bid[seat]) if seat >= 0 else 0
