"""Ranking of bids: highest first, with ties in random order.

These are functions over the state below, written in the subset of Python that numba compiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from palestra import ArrayState, Event, Rng, Shape
from palestra.rules import shuffle


class SealedBidsState(ArrayState):
    """The fields that every sealed-bid auction's state has, by seat."""

    bid: Annotated[NDArray[np.int32], Shape("num_players")]  # -1: none yet
    lot: Annotated[NDArray[np.int32], Shape("num_players")]  # ties go to the lower lot
    worth: Annotated[NDArray[np.int32], Shape("num_players")]  # the bidder's private value


def draw_lots(state: SealedBidsState) -> None:
    """Put the seats in a new random order."""
    for seat in range(len(state.lot)):
        state.lot[seat] = seat
    shuffle(state, state.lot)


def imagine_lots(state: SealedBidsState, rng: Rng) -> None:
    """Draw the lots of a round anew, which nobody sees."""
    lots = list(range(len(state.lot)))
    rng.shuffle(lots)
    state.lot[:] = lots


def lot_events(bids: Sequence[int], places: int) -> list[Event]:
    """The event that lots ranked equal bids, if they did so for one of the best places."""
    ranked = sorted(bids, reverse=True)
    decided = any(one == other for one, other in pairwise(ranked[: places + 1]))
    return [Event("reveal", "Equal bids are ranked by lot.")] if decided else []


def is_ahead(state: SealedBidsState, one: int, other: int) -> bool:
    """Whether seat `one` is ahead of seat `other`."""
    higher = state.bid[one] > state.bid[other]
    equal = state.bid[one] == state.bid[other]
    return bool(higher or (equal and state.lot[one] < state.lot[other]))


def rank_of(state: SealedBidsState, seat: int) -> int:
    """How many seats are ahead of a seat."""
    rank = 0
    for other in range(len(state.bid)):
        if other != seat and is_ahead(state, other, seat):
            rank += 1
    return rank


def seat_at(state: SealedBidsState, rank: int) -> int:
    """The seat at a rank, from 0; -1 if there are fewer seats."""
    for seat in range(len(state.bid)):
        if rank_of(state, seat) == rank:
            return seat
    return -1


def bid_at(state: SealedBidsState, rank: int) -> int:
    """The bid at a rank, from 0; 0 if there are fewer seats."""
    seat = seat_at(state, rank)
    return int(state.bid[seat]) if seat >= 0 else 0
