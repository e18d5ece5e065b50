"""Sealed bids for positions on a page, paid for by generalised second prices or VCG.

Position k gets `click_rates[k]` clicks a round; the first gets the most. Every advertiser has a
private value per click, which does not change, and in every round all advertisers submit bids per
click at the same time. The highest bid gets the first position, the next the second, and so on;
ties are broken at random. With `gsp` an advertiser pays the next lower bid for each of their
clicks, 0 if there is none. With `vcg` they pay for the clicks they take from the advertisers below,
valued at those advertisers' bids. Then all bids are announced.

The rules are those of B. Edelman, M. Ostrovsky and M. Schwarz, "Internet Advertising and the
Generalized Second-Price Auction", American Economic Review 97, 2007.

Checked: their example with values 10, 4 and 2 and 200 and 100 clicks, where truthful bidders pay
800 and 200 with second prices and 600 and 200 with VCG; bidding truthfully is dominant under VCG
but not under second prices; every locally envy-free equilibrium of the example pays the seller at
least what VCG does.

Left out: nothing of the rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    rank_of,
)
from palestra_markets.auctions.sealed_bids import SealedBids

Mechanism = Literal["gsp", "vcg"]
MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)
GSP, VCG = range(2)
MOST_PLAYERS, MOST_VALUE, MOST_ROUNDS, MOST_CLICKS = 20, 10_000, 10_000, 1e6
PAYS = (
    "For every click you pay the bid of whoever is one place below you, nothing if nobody is.",
    "You pay in all what your presence costs those below you: for everybody who would stand one "
    "place higher without you, the clicks they would gain times their bid.",
)


class PositionAuctionState(SealedBidsState):
    """Bids, lots and values by seat; positions and payments of the last round; earnings."""

    position: Annotated[NDArray[np.int32], Shape("num_players")]  # last round, from 1; 0 for none
    payment: Annotated[NDArray[np.float64], Shape("num_players")]  # last round
    clicked: Annotated[NDArray[np.float64], Shape("num_players")]  # clicks so far
    paid: Annotated[NDArray[np.float64], Shape("num_players")]  # so far
    earned: Annotated[NDArray[np.float64], Shape("num_players")]  # so far


@environment(
    "markets/PositionAuction-v0",
    family="market",
    tags=("auction", "hidden-information", "chance"),
    paper=(
        "Edelman, Ostrovsky and Schwarz (2007), Internet Advertising and the Generalized "
        "Second-Price Auction"
    ),
    splits={
        "gsp": {"mechanism": "gsp"},
        "vcg": {"mechanism": "vcg"},
        "example": {"values": (10, 4, 2), "num_players": 3},
    },
)
@dataclass(frozen=True)
class PositionAuction(SealedBids[PositionAuctionState]):
    """Sealed-bid auctions of the positions on a page: generalised second prices or VCG.

    An action is a bid for one click, 0 to `max_value`. An advertiser is paid their value for every
    click (`clicks`), less what they pay (`paid`).

    An observation is a float32 vector of n + k + 7 numbers for n advertisers and k positions:

        own value of a click, round, last round, own earnings so far
        last round: own position from 1 (0: none), own payment, all payments
        bids of the last round, the own first, then in order of seats (-1: none yet)
        click rates
    """

    num_players: Annotated[int, Meta(ge=2, le=MOST_PLAYERS, description="advertisers")] = 3
    click_rates: Annotated[
        Sequence[Annotated[float, Meta(gt=0, le=MOST_CLICKS)]],
        Meta(
            min_length=1,
            max_length=MOST_PLAYERS,
            description="clicks per round at each position, highest first",
        ),
    ] = (200.0, 100.0)
    mechanism: Annotated[Mechanism, Meta(description="how payments follow from the bids")] = "gsp"
    values: Annotated[
        Sequence[Annotated[int, Meta(ge=0, le=MOST_VALUE)]],
        Meta(description="each advertiser's value of a click; () to draw them"),
    ] = ()
    max_value: Annotated[
        int, Meta(ge=1, le=MOST_VALUE, description="the highest value and the highest bid")
    ] = 20
    rounds: Annotated[int, Meta(ge=1, le=MOST_ROUNDS, description="auctions in an episode")] = 10

    vocabulary = Vocabulary(
        words=(
            *("auction", "bid", "bidder", "ad", "advertisement", "advertiser"),
            *("click", "slot", "position", "page"),
        ),
    )
    rules_text = """
        You bid for a place for your advertisement on a page, in every round anew.

        What a click is worth to you is told to you alone and stays the same. Everybody bids at the
        same time for one click, without knowing the other bids; write your bid as a whole number.
        The highest bid gets the first position, which gets the most clicks, the next the second,
        and so on while there are positions; between equal bids the lot decides. You earn your value
        for every click, less what you pay. Afterwards all bids are told.
    """

    counters = ("clicked", "paid", "earned")
    reward_terms = ("clicks", "paid")

    def validate(self) -> None:
        if list(self.click_rates) != sorted(self.click_rates, reverse=True):
            raise InvalidOption(
                f"click_rates must be in falling order, the most first, not {self.click_rates}"
            )
        if self.values and len(self.values) != self.num_players:
            raise InvalidOption(
                f"values must have one number for each of {self.num_players} players, or be () to "
                f"draw them, not {self.values}"
            )
        if any(value > self.max_value for value in self.values):
            raise InvalidOption(
                f"values must be at most max_value, {self.max_value}, not {self.values}"
            )

    # Derived from the options

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        most = float(self.rounds * self.max_value * self.click_rates[0])
        return (-most, most)

    @property
    def observation_shape(self) -> tuple[int]:
        return (self.num_players + len(self.click_rates) + 7,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        pages = self.rounds * sum(self.click_rates)
        most = float(max(pages * self.max_value, self.rounds, self.max_value, *self.click_rates))
        return (-most, most)

    @constant
    def kind(self) -> int:
        """The mechanism's index in MECHANISMS."""
        return MECHANISMS.index(self.mechanism)

    @constant
    def rates(self) -> tuple[float, ...]:
        """The click rates, as a tuple that numba can compile."""
        return tuple(self.click_rates)

    @constant
    def positions(self) -> int:
        """How many positions there are."""
        return len(self.click_rates)

    @constant
    def fixed(self) -> bool:
        """Whether the values come from the option `values` (otherwise they are drawn)."""
        return bool(self.values)

    @constant
    def worths(self) -> tuple[int, ...]:
        """The given values; a single 0 if they are drawn, because numba needs a type."""
        return tuple(self.values) or (0,)

    # The rules

    @staticmethod
    def init_state(config: PositionAuction, state: PositionAuctionState) -> None:
        for seat in range(config.num_players):
            state.bid[seat] = -1
            drawn = config.worths[seat] if config.fixed else randint(state, config.max_value + 1)
            state.worth[seat] = drawn
        draw_lots(state)
        all_act(state)

    @staticmethod
    def apply_actions(
        config: PositionAuction, state: PositionAuctionState, actions: Any, out: Any
    ) -> None:
        for seat in range(config.num_players):
            state.bid[seat] = actions[seat]
        for seat in range(config.num_players):
            rank = rank_of(state, seat)
            state.position[seat] = rank + 1 if rank < config.positions else 0
            state.payment[seat] = payment(config, state, rank)
            clicked = clicks(config, rank)
            won = clicked * state.worth[seat]
            out.rewards[seat, 0], out.rewards[seat, 1] = won, -state.payment[seat]
            state.clicked[seat] += clicked
            state.paid[seat] += state.payment[seat]
            count_earned(state, seat)
        if state.turn + 1 >= config.rounds:
            finish(state)
            return
        draw_lots(state)

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("value", 1, "the player's value of a click"),
            Channel("round", 2, "rounds played; rounds in all"),
            Channel("earned", 1, "the player's earnings so far"),
            Channel("position", 1, "the player's last position, from 1; 0 for none"),
            Channel("payment", 1, "the player's last payment"),
            Channel("payments", 1, "all payments of the last round together"),
            Channel("bids", self.num_players, "bids of the last round, own first; -1 for none yet"),
            Channel("rates", self.positions, "clicks that each position gets"),
        )

    @staticmethod
    def write_observation(
        config: PositionAuction, state: PositionAuctionState, seat: int, obs: Any
    ) -> None:
        n = config.num_players
        obs[0], obs[1], obs[2] = state.worth[seat], state.turn, config.rounds
        obs[3], obs[4] = state.earned[seat], state.position[seat]
        obs[5] = state.payment[seat]
        for other in range(n):
            obs[6] += state.payment[other]
            obs[7 + other] = state.bid[(seat + other) % n]
        for position in range(config.positions):
            obs[7 + n + position] = config.rates[position]

    def determinize(self, state: PositionAuctionState, seat: int, rng: Rng) -> PositionAuctionState:
        """Draw the other advertisers' values, and so their earnings, and the lots anew."""
        self.refuse_the_end(state)
        copy: PositionAuctionState = self.clone(state)
        imagine_lots(copy, rng)
        for other in range(self.num_players):
            if other != seat:
                copy.worth[other] = rng.below(self.max_value + 1)
                count_earned(copy, other)
        return copy

    def scores(self, state: PositionAuctionState) -> tuple[float, ...]:
        """What each advertiser has earned."""
        return tuple(map(float, state.earned.tolist()))

    # What a player reads

    def rules_for(self, seat: int) -> str:
        rates = ", ".join(f"{rate:g}" for rate in self.click_rates)
        kind = PAYS[MECHANISMS.index(self.mechanism)]
        return "\n".join([super().rules_for(seat), kind, f"Clicks by position: {rates}."])

    def narrate(
        self,
        before: PositionAuctionState | None,
        actions: Mapping[int, int],
        after: PositionAuctionState,
    ) -> list[Event]:
        if before is None:
            return [self._value_event(after, seat) for seat in range(self.num_players)]
        data = {
            "bids": after.bid.tolist(),
            "positions": after.position.tolist(),
            "payments": after.payment.tolist(),
        }
        events = [
            Event("page", f"Round {int(after.turn)}: {self._page_text(after)}.", data),
            *lot_events(after.bid.tolist(), self.num_players),
        ]
        return [*events, Event("end", "The auction is over.")] if after.over else events

    def _value_event(self, state: PositionAuctionState, seat: int) -> Event:
        worth = int(state.worth[seat])
        text = f"To you, {self.players[seat]}, a click is worth {worth}."
        return Event("value", text, {"player": seat, "value": worth}, only(seat))

    def _page_text(self, state: PositionAuctionState) -> str:
        """Bids with positions and payments, best first."""
        parts = []
        for seat in sorted(range(self.num_players), key=lambda n: state.position[n] or np.inf):
            text = f"{self.players[seat]} bids {state.bid[seat]}"
            if state.position[seat]:
                text += f", gets position {state.position[seat]}"
                text += f" and pays {state.payment[seat]:g}"
            parts.append(text)
        return "; ".join(parts)

    def describe(self, state: PositionAuctionState, seat: int) -> str:
        number = min(int(state.turn) + 1, self.rounds)
        rates = ", ".join(f"{rate:g}" for rate in self.click_rates)
        lines = [
            f"You are {self.players[seat]}. Round {number} of {self.rounds}.",
            f"A click is worth {state.worth[seat]} to you. Clicks by position: {rates}.",
            f"You have earned {state.earned[seat]:g} so far.",
        ]
        if state.bid[0] >= 0:
            lines.append(f"Last round: {self._page_text(state)}.")
        return "\n".join(lines)

    def scene(self, state: PositionAuctionState, seat: int | None = None) -> Scene:
        prizes = {
            one: f"position {place}, pays {state.payment[one]:g}"
            for one, place in enumerate(state.position.tolist())
            if place
        }
        words = f"Rounds played: {int(state.turn)} of {self.rounds}"
        return Scene(parts=(self.bidders(state, seat, prizes, words),))


# Parts of the rules


def count_earned(state: PositionAuctionState, seat: int) -> None:
    """Set what a seat has earned: the worth of its clicks less what it has paid."""
    state.earned[seat] = state.clicked[seat] * state.worth[seat] - state.paid[seat]


def clicks(config: PositionAuction, rank: int) -> float:
    """Clicks at a rank, counted from 0; ranks below the last position get none."""
    return float(config.rates[rank]) if rank < config.positions else 0.0


def payment(config: PositionAuction, state: PositionAuctionState, rank: int) -> float:
    """The total payment of the advertiser at a rank."""
    if rank >= config.positions:
        return 0.0
    if config.kind == GSP:
        return clicks(config, rank) * bid_at(state, rank + 1)
    total = 0.0
    for below in range(rank + 1, config.positions + 1):
        total += (clicks(config, below - 1) - clicks(config, below)) * bid_at(state, below)
    return total
