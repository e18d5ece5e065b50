"""Sealed bids for one thing: first price, second price, or everybody pays.

In every round each bidder learns what the thing is worth to him, a whole number drawn evenly from 0
to `max_value` for each on his own, and all bid at once. The highest bid wins unless it is below
the reserve price; equal bids are put in order by lot. The winner pays his bid (`first-price`), the
higher of the reserve price and the next bid (`second-price`, Vickrey 1961), or in `all-pay`
everybody who bid the reserve price or more pays what he bid. Then all bids are told.

Known answers checked: with two bidders and ties by lot, bidding half the value, rounded down, is
an exact equilibrium of the first-price auction where the number of values is even; truth is
dominant with second prices; the seller's best reserve price and his revenue, by R. Myerson,
"Optimal Auction Design", Mathematics of Operations Research 6, 1981; and that the three formats
pay him the same in the mean.

The array view is a float32 vector of n + 8 numbers for n bidders:

    own value, reserve price, round, last round, own earnings so far
    last round: the winner counted from oneself (-1: nobody), what he paid, rounds with a sale
    bids of the last round, the own first, then in order of seats (-1: none yet)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from palestra import Event, InvalidOption, Rng, Scene, check_ranges, environment, only
from palestra.rules import all_act, finish, randint

from palestra_markets.auctions.ranking import bid_at, draw_lots, ranking_fields, seat_at
from palestra_markets.auctions.sealed_bids import SealedBids

FORMATS = ("first-price", "second-price", "all-pay")
FIRST_PRICE, SECOND_PRICE, ALL_PAY = range(3)
MOST_PLAYERS, MOST_VALUE, MOST_ROUNDS = 20, 10_000, 10_000
PAYS = (
    "The winner pays his bid.",
    "The winner pays the next highest bid, or the reserve price where that is higher.",
    "Everybody pays his bid, the losers too; only bids below the reserve price cost nothing.",
)


@environment(
    "markets/SealedAuction-v0",
    family="market",
    tags=("auction", "hidden-information", "chance"),
    paper=(
        "Vickrey (1961), Counterspeculation, Auctions, and Competitive Sealed Tenders; "
        "Myerson (1981), Optimal Auction Design"
    ),
    splits={
        "first-price": {"format": "first-price"},
        "second-price": {"format": "second-price"},
        "all-pay": {"format": "all-pay"},
        "reserve": {"format": "second-price", "reserve": 50},
    },
    players=(2, 20),
)
@dataclass(frozen=True)
class SealedAuction(SealedBids):
    """You bid for one thing in a sealed auction, in every round anew.

    What the thing is worth to you is drawn anew in every round and told to you alone. Everybody
    bids at the same time, without knowing the other bids; write your bid as a whole number. The
    highest bid wins, between equal bids the lot decides, and below the reserve price nobody wins.
    The winner earns what the thing is worth to him. Afterwards all bids are told.
    """

    num_players: int = 3
    format: str = "first-price"
    max_value: int = 100
    reserve: int = 0
    rounds: int = 10

    reward_terms = ("won", "paid")

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise InvalidOption(f"format must be one of {', '.join(FORMATS)}, not {self.format!r}")
        ranges = (
            ("num_players", 2, MOST_PLAYERS),
            ("max_value", 1, MOST_VALUE),
            ("reserve", 0, self.max_value),
            ("rounds", 1, MOST_ROUNDS),
        )
        check_ranges(self, ranges)

    # What follows from the options

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        most = float(self.rounds * self.max_value)
        return (-most, most)

    @property
    def observation_shape(self) -> tuple[int]:
        return (self.num_players + 8,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        most = float(max(self.rounds * self.max_value, self.rounds, self.num_players))
        return (-most, most)

    def constants(self) -> Mapping[str, Any]:
        return {**super().constants(), "kind": FORMATS.index(self.format)}

    def fields(self) -> list[tuple[Any, ...]]:
        """Values, bids and lots by seat; who won the last round, what he paid, and the books."""
        seats = self.num_players
        return [
            *ranking_fields(seats),
            ("worth", np.int32, seats),
            ("earned", np.int64, seats),
            ("winner", np.int32),
            ("price", np.int32),
            ("sales", np.int32),
            ("revenue", np.int64),
        ]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        for seat in range(config.num_players):
            state.bid[seat] = -1
        state.winner = -1
        draw_values(config, state)
        draw_lots(state)
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        for seat in range(config.num_players):
            state.bid[seat] = actions[seat]
        award(config, state)
        for seat in range(config.num_players):
            won = state.worth[seat] if seat == state.winner else 0
            paid = payment(config, state, seat)
            out.rewards[seat, 0], out.rewards[seat, 1] = won, -paid
            state.earned[seat] += won - paid
            state.revenue += paid
        if state.turn + 1 >= config.rounds:
            finish(state)
            return
        draw_values(config, state)
        draw_lots(state)

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """See the module's docstring for the layout."""
        n = config.num_players
        view[0], view[1] = state.worth[seat], config.reserve
        view[2], view[3], view[4] = state.turn, config.rounds, state.earned[seat]
        view[5] = -1 if state.winner < 0 else (state.winner - seat + n) % n
        view[6], view[7] = state.price, state.sales
        for offset in range(n):
            view[8 + offset] = state.bid[(seat + offset) % n]

    def determinize(self, state: Any, seat: int, rng: Rng) -> Any:
        """Draw the other bidders' values, and the lots, anew."""
        copy = self.clone(state)
        if not copy.over:
            for other in range(self.num_players):
                if other != seat:
                    copy.worth[other] = rng.below(self.max_value + 1)
        return copy

    # Words

    def rules_for(self, seat: int) -> str:
        lines = [super().rules_for(seat), PAYS[FORMATS.index(self.format)]]
        lines.append(f"Values are drawn evenly from 0 to {self.max_value}.")
        lines.append(f"The reserve price is {self.reserve}.")
        return "\n".join(lines)

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> list[Event]:
        if before is None:
            return self._dealt(after)
        told = ", ".join(f"{self.players[p]} {bid}" for p, bid in enumerate(after.bid.tolist()))
        number, winner, price = int(after.turn), int(after.winner), int(after.price)
        sold = f"{self.players[winner]} wins and pays {price}" if winner >= 0 else "nobody wins"
        data = {"bids": after.bid.tolist(), "winner": winner, "price": price}
        revenue = int(after.revenue - before.revenue)
        text = f"Round {number}: {told}; {sold}."
        events = [Event("sale", text, {**data, "revenue": revenue})]
        if after.over:
            return [*events, Event("end", "The auction is over.")]
        return [*events, *self._dealt(after)]

    def _dealt(self, state: Any) -> list[Event]:
        return [
            Event(
                "value",
                f"To you, {self.players[seat]}, the thing is worth {worth} now.",
                {"player": seat, "value": worth},
                only(seat),
            )
            for seat, worth in enumerate(state.worth.tolist())
        ]

    def describe(self, state: Any, seat: int) -> str:
        number = min(int(state.turn) + 1, self.rounds)
        lines = [
            f"You are {self.players[seat]}. Round {number} of {self.rounds}. The reserve price "
            f"is {self.reserve}.",
            f"The thing is worth {state.worth[seat]} to you.",
            f"You have earned {state.earned[seat]} so far.",
        ]
        if state.bid[0] >= 0:
            bids = state.bid.tolist()
            told = ", ".join(f"{name} {bid}" for name, bid in zip(self.players, bids, strict=True))
            winner = int(state.winner)
            won = f"{self.players[winner]} won and paid {state.price}" if winner >= 0 else ""
            lines.append(f"Last bids: {told}; {won or 'nobody won'}.")
            lines.append(f"Rounds with a sale: {state.sales}.")
        return "\n".join(lines)

    def scene(self, state: Any, seat: int | None = None) -> Scene:
        line = f"Rounds played: {int(state.turn)} of {self.rounds}."
        return Scene(bars=self.bars(state, seat), lines=(line, f"Revenue: {int(state.revenue)}."))


# Helpers of the rules


def draw_values(config: Any, state: Any) -> None:
    """Draw what the thing is worth to everybody."""
    for seat in range(config.num_players):
        state.worth[seat] = randint(state, config.max_value + 1)


def award(config: Any, state: Any) -> None:
    """Find the winner and the price he pays; -1 and 0 where the reserve price is not met."""
    state.winner, state.price = -1, 0
    first = seat_at(state, 0)
    if state.bid[first] < config.reserve:
        return
    state.winner = first
    state.price = state.bid[first]
    if config.kind == SECOND_PRICE:
        state.price = max(config.reserve, bid_at(state, 1))
    state.sales += 1


def payment(config: Any, state: Any, seat: int) -> int:
    """What a bidder pays for this round."""
    if config.kind == ALL_PAY:
        return int(state.bid[seat]) if state.bid[seat] >= config.reserve else 0
    return int(state.price) if seat == state.winner else 0
