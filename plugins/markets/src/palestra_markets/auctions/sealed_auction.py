"""Sealed bids for one item: first price, second price, or all pay.

In every round each bidder learns the item's worth to them, a whole number drawn uniformly from 0 to
`max_value` and independently for each, and all bid at the same time. The highest bid wins unless it
is below the reserve price; ties are broken at random. The winner pays their bid (`first-price`) or
the higher of the reserve price and the next bid (`second-price`, Vickrey 1961); in `all-pay`
everybody who bids at least the reserve price pays their bid. Then all bids are announced.

Checked: with two bidders and random tie-breaking, bidding half the
value, rounded down, is an exact equilibrium of the first-price auction where the number of values
is even; bidding truthfully is dominant under second prices; the seller's best reserve price and
revenue are those of R. Myerson, "Optimal Auction Design", Mathematics of Operations Research 6,
1981; and the three formats have the same expected revenue.

Left out: nothing of the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from palestra import (
    Channel,
    Event,
    InvalidOption,
    Meta,
    Rng,
    Scene,
    Shape,
    Vocabulary,
    constant,
    environment,
    only,
)
from palestra.rules import all_act, finish, randint

from palestra_markets.auctions.ranking import (
    SealedBidsState,
    bid_at,
    draw_lots,
    imagine_lots,
    lot_events,
    seat_at,
)
from palestra_markets.auctions.sealed_bids import SealedBids

Format = Literal["first-price", "second-price", "all-pay"]
FORMATS: tuple[Format, ...] = get_args(Format)
FIRST_PRICE, SECOND_PRICE, ALL_PAY = range(3)
MOST_PLAYERS, MOST_VALUE, MOST_ROUNDS = 20, 10_000, 10_000
PAYS = (
    "The winner pays their bid.",
    "The winner pays the next highest bid, or the reserve price where that is higher.",
    "Everybody pays their bid, the losers too; only bids below the reserve price cost nothing.",
)


class SealedAuctionState(SealedBidsState):
    """Bids, lots and values by seat, the last round's sale, and running totals."""

    earned: Annotated[NDArray[np.int64], Shape("num_players")]  # by seat, so far
    paid: Annotated[NDArray[np.int64], Shape("num_players")]  # by seat, so far
    wins: Annotated[NDArray[np.int32], Shape("num_players")]  # by seat, so far
    winner: Annotated[int, np.int32]  # seat that won the last round; -1 for nobody
    price: Annotated[int, np.int32]  # the winner's price; 0 where nobody won
    sales: Annotated[int, np.int32]  # rounds with a winner so far
    revenue: Annotated[int, np.int64]  # paid to the seller so far


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
)
@dataclass(frozen=True)
class SealedAuction(SealedBids[SealedAuctionState]):
    """Sealed-bid auctions of one item a round: first price, second price or all pay.

    An action is a bid, 0 to `max_value`. A bidder is paid the item's worth to them when they win
    (`won`), less what they pay (`paid`).

    An observation is a float32 vector of n + 8 numbers for n bidders:

        own value, reserve price, round, last round, own earnings so far
        last round: the winner counted from the own seat (-1: nobody), the winner's price,
        rounds with a sale so far
        bids of the last round, the own first, then in order of seats (-1: none yet)
    """

    num_players: Annotated[int, Meta(ge=2, le=MOST_PLAYERS, description="bidders")] = 3
    format: Annotated[Format, Meta(description="what the winner, or everybody, pays")] = (
        "first-price"
    )
    max_value: Annotated[
        int, Meta(ge=1, le=MOST_VALUE, description="the highest value and the highest bid")
    ] = 100
    reserve: Annotated[
        int, Meta(ge=0, le=MOST_VALUE, description="reserve price: the lowest bid that can win")
    ] = 0
    rounds: Annotated[int, Meta(ge=1, le=MOST_ROUNDS, description="auctions in an episode")] = 10

    vocabulary = Vocabulary(
        words=("auction", "bid", "bidder", "reserve price", "sale"),
    )
    rules_text = """
        You bid for one thing in a sealed auction, in every round anew.

        What the thing is worth to you is drawn anew in every round and told to you alone. Everybody
        bids at the same time, without knowing the other bids; write your bid as a whole number. The
        highest bid wins, between equal bids the lot decides, and below the reserve price nobody
        wins. The winner earns what the thing is worth to them. Afterwards all bids are told.
    """

    counters = ("earned", "paid", "wins", "sales", "revenue")
    reward_terms = ("won", "paid")

    def validate(self) -> None:
        if self.reserve > self.max_value:
            raise InvalidOption(
                f"reserve must be at most max_value, {self.max_value}, not {self.reserve}"
            )

    # Derived from the options

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

    @constant
    def kind(self) -> int:
        """The format's index in FORMATS."""
        return FORMATS.index(self.format)

    # The rules

    @staticmethod
    def init_state(config: SealedAuction, state: SealedAuctionState) -> None:
        for seat in range(config.num_players):
            state.bid[seat] = -1
        state.winner = -1
        draw_values(config, state)
        draw_lots(state)
        all_act(state)

    @staticmethod
    def apply_actions(
        config: SealedAuction, state: SealedAuctionState, actions: Any, out: Any
    ) -> None:
        for seat in range(config.num_players):
            state.bid[seat] = actions[seat]
        award(config, state)
        for seat in range(config.num_players):
            won = state.worth[seat] if seat == state.winner else 0
            paid = payment(config, state, seat)
            out.rewards[seat, 0], out.rewards[seat, 1] = won, -paid
            state.earned[seat] += won - paid
            state.paid[seat] += paid
            state.wins[seat] += seat == state.winner
            state.revenue += paid
        if state.turn + 1 >= config.rounds:
            finish(state)
            return
        draw_values(config, state)
        draw_lots(state)

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("value", 1, "what the item is worth to the player"),
            Channel("reserve", 1, "the lowest bid that can win"),
            Channel("round", 2, "rounds played; rounds in all"),
            Channel("earned", 1, "the player's earnings so far"),
            Channel("winner", 1, "last winner, counted from the own seat; -1 for nobody"),
            Channel("price", 1, "price that the last winner paid"),
            Channel("sales", 1, "rounds with a sale so far"),
            Channel("bids", self.num_players, "bids of the last round, own first; -1 for none yet"),
        )

    @staticmethod
    def write_observation(
        config: SealedAuction, state: SealedAuctionState, seat: int, obs: Any
    ) -> None:
        n = config.num_players
        obs[0], obs[1] = state.worth[seat], config.reserve
        obs[2], obs[3], obs[4] = state.turn, config.rounds, state.earned[seat]
        obs[5] = -1 if state.winner < 0 else (state.winner - seat + n) % n
        obs[6], obs[7] = state.price, state.sales
        for offset in range(n):
            obs[8 + offset] = state.bid[(seat + offset) % n]

    def determinize(self, state: SealedAuctionState, seat: int, rng: Rng) -> SealedAuctionState:
        """Draw the other bidders' values, of past rounds too, and the lots anew."""
        self.refuse_the_end(state)
        copy: SealedAuctionState = self.clone(state)
        imagine_lots(copy, rng)
        for other in range(self.num_players):
            if other != seat:
                copy.worth[other] = rng.below(self.max_value + 1)
                won = sum(rng.below(self.max_value + 1) for _ in range(int(state.wins[other])))
                copy.earned[other] = won - state.paid[other]
        return copy

    def scores(self, state: SealedAuctionState) -> tuple[float, ...]:
        """What each bidder has earned."""
        return tuple(map(float, state.earned.tolist()))

    # What a player reads

    def rules_for(self, seat: int) -> str:
        lines = [super().rules_for(seat), PAYS[FORMATS.index(self.format)]]
        lines.append(f"Values are drawn evenly from 0 to {self.max_value}.")
        lines.append(f"The reserve price is {self.reserve}.")
        return "\n".join(lines)

    def narrate(
        self,
        before: SealedAuctionState | None,
        actions: Mapping[int, int],
        after: SealedAuctionState,
    ) -> list[Event]:
        if before is None:
            return self._value_events(after)
        number, winner, price = int(after.turn), int(after.winner), int(after.price)
        sold = f"{self.players[winner]} wins and pays {price}" if winner >= 0 else "nobody wins"
        data = {"bids": after.bid.tolist(), "winner": winner, "price": price}
        revenue = int(after.revenue - before.revenue)
        text = f"Round {number}: {self._bids_text(after)}; {sold}."
        events = [Event("sale", text, {**data, "revenue": revenue})]
        if winner >= 0:
            events += lot_events(after.bid.tolist(), 1)
        if after.over:
            return [*events, Event("end", "The auction is over.")]
        return [*events, *self._value_events(after)]

    def _bids_text(self, state: SealedAuctionState) -> str:
        bids = zip(self.players, state.bid.tolist(), strict=True)
        return ", ".join(f"{name} {bid}" for name, bid in bids)

    def _value_events(self, state: SealedAuctionState) -> list[Event]:
        return [
            Event(
                "value",
                f"To you, {self.players[seat]}, the thing is worth {worth} now.",
                {"player": seat, "value": worth},
                only(seat),
            )
            for seat, worth in enumerate(state.worth.tolist())
        ]

    def describe(self, state: SealedAuctionState, seat: int) -> str:
        number = min(int(state.turn) + 1, self.rounds)
        lines = [
            f"You are {self.players[seat]}. Round {number} of {self.rounds}. The reserve price "
            f"is {self.reserve}.",
            f"The thing is worth {state.worth[seat]} to you.",
            f"You have earned {state.earned[seat]} so far.",
        ]
        if state.bid[0] >= 0:
            winner = int(state.winner)
            won = f"{self.players[winner]} won and paid {state.price}" if winner >= 0 else ""
            lines.append(f"Last bids: {self._bids_text(state)}; {won or 'nobody won'}.")
            lines.append(f"Rounds with a sale: {state.sales}.")
        return "\n".join(lines)

    def scene(self, state: SealedAuctionState, seat: int | None = None) -> Scene:
        winner = int(state.winner)
        prizes = {winner: f"pays {int(state.price)}"} if winner >= 0 else {}
        words = f"Rounds played: {int(state.turn)} of {self.rounds}. Revenue: {int(state.revenue)}."
        return Scene(parts=(self.bidders(state, seat, prizes, words),))


# Parts of the rules


def draw_values(config: SealedAuction, state: SealedAuctionState) -> None:
    """Draw every bidder's value of the item."""
    for seat in range(config.num_players):
        state.worth[seat] = randint(state, config.max_value + 1)


def award(config: SealedAuction, state: SealedAuctionState) -> None:
    """Find the winner and the price; -1 and 0 where no bid meets the reserve price."""
    state.winner, state.price = -1, 0
    first = seat_at(state, 0)
    if state.bid[first] < config.reserve:
        return
    state.winner = first
    state.price = state.bid[first]
    if config.kind == SECOND_PRICE:
        state.price = max(config.reserve, bid_at(state, 1))
    state.sales += 1


def payment(config: SealedAuction, state: SealedAuctionState, seat: int) -> int:
    """A bidder's payment in this round."""
    if config.kind == ALL_PAY:
        return int(state.bid[seat]) if state.bid[seat] >= config.reserve else 0
    return int(state.price) if seat == state.winner else 0
