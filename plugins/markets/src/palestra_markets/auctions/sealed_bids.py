"""The common part of sealed-bid auctions: simultaneous whole-number bids, earnings as scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from palestra import ArrayGame, Bar, Outcome
from palestra.kernel.game import Result

from palestra_markets.auctions.ranking import SealedBidsState

BidsState = TypeVar("BidsState", bound=SealedBidsState)


class SealedBids(ArrayGame[BidsState]):
    """An auction in which every seat bids a whole number from 0 to `max_value` at the same time."""

    max_value: int

    order = "simultaneous"
    payoffs = "general"
    perfect_information = False
    observation_dtype = np.float32

    @property
    def num_actions(self) -> int:
        return self.max_value + 1

    @staticmethod
    def write_legal_mask(
        config: SealedBids[BidsState], state: BidsState, seat: int, mask: Any
    ) -> None:
        for bid in range(config.num_actions):
            mask[bid] = 1

    def outcome(self, state: BidsState) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        score: Result = "score"
        return replace(ended, results=(score,) * self.num_players, reason="the auction is over")

    def noop(self, state: BidsState, seat: int) -> int:
        return 0

    def legal_text(self, state: BidsState, seat: int, moves: Mapping[str, int]) -> str:
        return f"a whole number from 0 to {self.max_value}"

    def bars(self, state: BidsState, viewer: int | None) -> tuple[Bar, ...]:
        """Everybody's last bid, and the values that seat `viewer` may see (None: all of them)."""
        full, bars = float(self.max_value), []
        for seat, name in enumerate(self.players):
            if viewer in (None, seat):
                bars.append(Bar(f"{name}'s value", float(state.worth[seat]), full, seat))
            if state.bid[seat] >= 0:
                bars.append(Bar(f"{name}'s last bid", float(state.bid[seat]), full, seat))
        return tuple(bars)
