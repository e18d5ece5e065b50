"""The common part of sealed-bid auctions: simultaneous whole-number bids, earnings as scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from palestra import ArrayGame, Outcome
from palestra.kernel.game import Result
from palestra.scene import Card, Person, RoundTable

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

    def bidders(
        self, state: BidsState, viewer: int | None, prizes: Mapping[int, str], words: str
    ) -> RoundTable:
        """Everybody with their last bid, and with the values that seat `viewer` may see.

        `viewer` None is a spectator, who sees all. `prizes` says in words what a seat has won.
        """
        people = []
        for seat, name in enumerate(self.players):
            bid = int(state.bid[seat])
            told = [f"bids {bid}"] if bid >= 0 else []
            told += [f"value {int(state.worth[seat])}"] if viewer in (None, seat) else []
            people.append(
                Person(
                    name,
                    seat,
                    prizes.get(seat, ""),
                    ", ".join(told),
                    (Card(colour="gold", label="won", sprite="crown"),) * (seat in prizes),
                    share=bid / self.max_value if bid >= 0 else None,
                )
            )
        return RoundTable(tuple(people), words=words)
