"""The reference bidder for `markets/HouseAuction-v0`."""

from __future__ import annotations

from collections.abc import Sequence

from palestra import ScriptedAgent, TextAction, Turn, agent

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
from palestra_markets.reading import observed_numbers


@agent("house-bidder", needs=("array",))
class HouseBidder(ScriptedAgent[HouseAuction]):
    """Bids up to its value, shades first prices, and profiles rivals by their bids.

    It stays in an English auction up to its value, and bids its value in a Vickrey auction. With
    first prices it bids (n - 1) / n of its value, and in a Dutch auction it takes a house at that
    price. It estimates a rival's taste from the rival's highest bid for every house, unless it
    knows the taste.
    """

    def choose(self, turn: Turn[HouseAuction]) -> TextAction:
        game = turn.game
        seen = [int(number) for number in observed_numbers(turn)]
        value, price, left = seen[3], seen[8], seen[9]
        if seen[0]:
            rival = seen[17]
            return Profile(game.players[rival], ATTRIBUTES[self._taste(turn, rival)])
        if game.format == "english":
            offer = price + game.increment
            return Raise(offer) if offer <= min(value, left) else Withdraw()
        if game.format in ("first-price", "dutch"):
            value = value * (game.num_players - 1) // game.num_players
        if game.format == "dutch":
            return Take() if price <= min(value, left) else Wait()
        return Bid(min(value, left))

    def _taste(self, turn: Turn[HouseAuction], rival: int) -> int:
        """The attribute a rival likes best: the known one, or an estimate from their bids."""
        known = int(observed_numbers(turn)[18 + 2 * turn.game.num_players + rival])
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
