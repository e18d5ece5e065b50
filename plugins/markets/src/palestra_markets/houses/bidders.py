"""The reference bidder of `markets/HouseAuction-v0`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from palestra import Agent, Decision, InvalidOption, TextAction, Turn, agent

from palestra_markets.houses.auction import (
    Bid,
    HouseAuction,
    Profile,
    Raise,
    Take,
    Wait,
    Withdraw,
)
from palestra_markets.houses.personas import ATTRIBUTES, fitted_favourite


@agent(
    "house-bidder",
    plays=("markets/HouseAuction-v0",),
    needs=("array",),
    summary="Bids up to the value, shades first prices, and profiles rivals by their bids.",
)
class HouseBidder(Agent):
    """Stays in an open auction up to his value, bids it in Vickrey's, and shades a first price.

    With first prices he bids (n - 1) / n of his value, and where prices fall he takes a house for
    that. What a rival likes best he fits to the highest bid the rival is seen to make for every
    house, unless he has been told.
    """

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> TextAction:
        game = turn.game
        if not isinstance(game, HouseAuction):
            raise InvalidOption(f"this bidder is for markets/HouseAuction-v0, not {turn.env}")
        seen = [int(number) for number in np.asarray(turn.observation)]
        value, price, left = seen[3], seen[8], seen[9]
        if seen[0]:
            rival = seen[17]
            return Profile(game.players[rival], ATTRIBUTES[self._likes(turn, rival)])
        if game.format == "english":
            offer = price + game.increment
            return Raise(offer) if offer <= min(value, left) else Withdraw()
        if game.format in ("first-price", "dutch"):
            value = value * (game.num_players - 1) // game.num_players
        if game.format == "dutch":
            return Take() if price <= min(value, left) else Wait()
        return Bid(min(value, left))

    def _likes(self, turn: Turn, rival: int) -> int:
        known = int(np.asarray(turn.observation)[18 + 2 * turn.game.num_players + rival])
        if known >= 0:
            return known
        marks: dict[int, Sequence[int]] = {}
        bids: dict[int, float] = {}
        for event in turn.transcript:
            data = event.data
            if event.kind == "house":
                marks[data["house"]] = data["marks"]
            elif event.kind == "bid" and data["player"] == rival and data["price"]:
                bids[data["house"]] = data["price"]
            elif event.kind == "bids":
                bids[data["house"]] = data["bids"][rival]
            elif event.kind == "sale" and data["winner"] == rival:
                bids.setdefault(data["house"], data["price"])
        return fitted_favourite([marks[house] for house in bids], list(bids.values()))
