"""What auctions with sealed bids share: whole-number bids at once, earnings as scores, the bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from palestra import ArrayGame, Bar, Outcome
from palestra.kernel.game import Result


class SealedBids(ArrayGame):
    """Bids from 0 to `max_value`; states hold `worth`, `bid` (-1: none) and `earned` by seat."""

    max_value: int

    order = "simultaneous"
    payoffs = "general"
    perfect_information = False
    observation_dtype = np.float32

    @property
    def num_actions(self) -> int:
        return self.max_value + 1

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        for bid in range(config.num_actions):
            mask[bid] = 1

    def outcome(self, state: Any) -> Outcome | None:
        if not state["over"]:
            return None
        score: Result = "score"
        return Outcome((score,) * self.num_players, self.scores(state), "the auction is over")

    def scores(self, state: Any) -> tuple[float, ...]:
        """What each bidder has earned."""
        return tuple(float(value) for value in state["earned"].tolist())

    def noop(self, state: Any, seat: int) -> int:
        return 0

    def legal_text(self, state: Any, seat: int, moves: Mapping[str, int]) -> str:
        return f"a whole number from 0 to {self.max_value}"

    def bars(self, state: Any, player: int | None) -> tuple[Bar, ...]:
        """Last bids of all, and the values that `player` may see."""
        full, bars = float(self.max_value), []
        for seat, name in enumerate(self.players):
            if player in (None, seat):
                bars.append(Bar(f"{name}'s value", float(state.worth[seat]), full, seat))
            if state.bid[seat] >= 0:
                bars.append(Bar(f"{name}'s last bid", float(state.bid[seat]), full, seat))
        return tuple(bars)
