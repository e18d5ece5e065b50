"""Sealed bids for positions on a page, where clicks depend on all advertisements on it.

Every advertiser has a private value per click, which does not change. In every round all
advertisers submit bids per click at the same time, a page is composed, and a number of readers see
it; clicks and payments are expected values. Readers choose by a multinomial logit or read from the
top (see the module `readers`). With `vcg` the page maximises the value of the clicks according to
the bids, and each advertiser on it pays the loss it causes the others. With `gsp` advertisers are
ranked by bid times quality, and a click costs the least bid that keeps the position. With `myerson`
the page maximises virtual value, and so the expected revenue for uniformly drawn values. Then the
bids and the page are announced.

The setting is that of "Position Auctions in AI-Generated Content", 2025, with its two kinds of
readers. Checked: best pages by brute force; no deviation from truth pays
with `vcg` and `myerson`, by enumeration; one position is a second-price auction, with Myerson's
reserve of half the highest value.

Left out: the text that a model writes around the advertisements: clicks follow the two models of
readers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    Integer,
    InvalidOption,
    Meta,
    Option,
    Outcome,
    Result,
    Rng,
    Scene,
    Step,
    TextAction,
    TextGame,
    environment,
    only,
)
from palestra.scene import Card, Person, RoundTable, Table

from palestra_markets.auctions.readers import (
    Cascade,
    Logit,
    Page,
    Reader,
    externality_payments,
    revenue_payments,
    second_price_payments,
)

MOST_VALUE = 100
MOST_ATTRACTION = 1e6
DECAY = 0.7  # of attraction, from one position to the next


class Bid(TextAction, frozen=True):
    """Bid for a click."""

    amount: int


@dataclass(slots=True)
class PageSale:
    """The state; lists are by seat.

    `table` has a row for each seat: attraction by position (logit), or the chances of a click and
    of reading on (cascade). `bids`, `page`, `clicks` and `paid` are those of the last round.
    """

    rng: Rng
    values: tuple[int, ...]
    table: tuple[tuple[float, ...], ...]
    bids: list[int] = field(default_factory=list)
    page: Page = ()
    clicks: list[float] = field(default_factory=list)
    paid: list[float] = field(default_factory=list)
    earned: list[float] = field(default_factory=list)
    clicked: list[float] = field(default_factory=list)  # clicks in all rounds
    spent: list[float] = field(default_factory=list)  # payments in all rounds
    round: int = 0


@environment(
    "markets/ContentAuction-v0",
    family="market",
    tags=("auction", "hidden-information", "chance"),
    paper=(
        "Position Auctions in AI-Generated Content (2025); Kempe and Mahdian (2008), A "
        "Cascade Model for Externalities in Sponsored Search"
    ),
    splits={
        "logit-vcg": {"reader": "logit", "mechanism": "vcg"},
        "logit-gsp": {"reader": "logit", "mechanism": "gsp"},
        "logit-myerson": {"reader": "logit", "mechanism": "myerson"},
        "cascade-vcg": {"reader": "cascade", "mechanism": "vcg"},
        "cascade-gsp": {"reader": "cascade", "mechanism": "gsp"},
        "cascade-myerson": {"reader": "cascade", "mechanism": "myerson"},
    },
)
@dataclass(frozen=True)
class ContentAuction(TextGame[PageSale]):
    """Sealed bids for positions on a page where each advertisement affects the others' clicks.

    Action n bids n for a click, 0 to `max_value`. An advertiser is paid their value for every
    expected click (`clicks`), less what they pay (`paid`).

    An observation is a float32 vector of 9 + n + n c numbers for n advertisers, where c is the
    number of positions for `logit` and 2 for `cascade`:

        own value of a click, round, last round, own earnings so far, own seat
        last round: own position from 1 (0: none), own clicks, own payment, all payments
        bids of the last round by seat (-1: none yet)
        attraction by seat and position; or chances of a click and of reading on, by seat
    """

    num_players: Annotated[int, Meta(ge=2, le=8, description="advertisers")] = 4
    positions: Annotated[int, Meta(ge=1, le=5, description="positions on the page")] = 2
    reader: Annotated[
        Literal["logit", "cascade"],
        Meta(description="how readers choose: among all advertisements at once, or from the top"),
    ] = "logit"
    mechanism: Annotated[
        Literal["vcg", "gsp", "myerson"],
        Meta(description="how the page and the payments follow from the bids"),
    ] = "vcg"
    values: Annotated[
        Sequence[Annotated[int, Meta(ge=0, le=MOST_VALUE)]],
        Meta(
            description="each advertiser's value of a click, which the others believe to be drawn; "
            "() to draw them"
        ),
    ] = ()
    table: Annotated[
        Sequence[Sequence[Annotated[float, Meta(gt=0, le=MOST_ATTRACTION)]]],
        Meta(
            description="a row for each advertiser: attraction by position (logit), or chances of "
            "a click and of reading on (cascade); () to draw them"
        ),
    ] = ()
    max_value: Annotated[
        int, Meta(ge=1, le=MOST_VALUE, description="the highest value and the highest bid")
    ] = 20
    readers: Annotated[
        int, Meta(ge=1, le=1_000_000, description="readers who see the page each round")
    ] = 1000
    rounds: Annotated[int, Meta(ge=1, le=10_000, description="auctions in an episode")] = 10

    rules_text = """
        You bid for a place for your advertisement on a page, in every round anew.

        What a click is worth to you is told to you alone and stays the same. Everybody bids at the
        same time for one click, as a whole number, without knowing the other bids. A page is made
        of the bids, and readers click on it or not; what else is on the page matters. You earn your
        value for every click, less what you pay. Afterwards bids and page are told. Write:
        Bid(amount=7) to bid 7 for a click.
    """
    counters = ("earned",)
    order = "simultaneous"
    payoffs = "general"
    perfect_information = False
    reward_terms = ("clicks", "paid")
    action_types = (Bid,)

    def validate(self) -> None:
        width, count = self._columns, self.num_players
        if any(value > self.max_value for value in self.values):
            raise InvalidOption(
                f"values must be at most max_value, {self.max_value}, not {self.values}"
            )
        if self.values and len(self.values) != count:
            raise InvalidOption(f"values must be {count} numbers or (), not {self.values}")
        most = 1.0 if self.reader == "cascade" else MOST_ATTRACTION
        fits = all(len(row) == width and max(row) <= most for row in self.table)
        if self.table and (len(self.table) != count or not fits):
            raise InvalidOption(
                f"table must be {count} rows of {width} numbers above 0 and up to {most:g}, or (), "
                f"not {self.table}"
            )

    @property
    def _columns(self) -> int:
        return self.positions if self.reader == "logit" else 2

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        most = float(self.rounds * self.readers * self.max_value)
        return (-most, most)

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        return tuple(Bid(amount) for amount in range(self.max_value + 1))

    # The rules

    def initial_state(self, seed: int | None = None) -> PageSale:
        rng = Rng.seeded(seed)
        count = range(self.num_players)
        drawn = self.values or tuple(rng.between(0, self.max_value) for _ in count)
        table = self.table or tuple(self._draw_row(rng) for _ in count)
        state = PageSale(rng, tuple(drawn), tuple(map(tuple, table)))
        state.clicks, state.paid, state.earned = ([0.0] * self.num_players for _ in range(3))
        state.clicked, state.spent = ([0.0] * self.num_players for _ in range(2))
        return state

    def _draw_row(self, rng: Rng) -> tuple[float, ...]:
        """A row of the table, rounded to three decimals, so that players read it exactly."""
        if self.reader == "cascade":
            return round(0.05 + 0.45 * rng.random(), 3), round(0.3 + 0.6 * rng.random(), 3)
        quality = 0.2 + 1.3 * rng.random()
        return tuple(round(quality * DECAY**place, 3) for place in range(self.positions))

    def reader_of(self, state: PageSale) -> Reader:
        if self.reader == "logit":
            return Logit(state.table)
        click, go_on = zip(*state.table, strict=True)
        return Cascade(click, go_on, self.positions)

    def to_act(self, state: PageSale) -> tuple[int, ...]:
        return tuple(range(self.num_players)) if state.round < self.rounds else ()

    def legal(self, state: PageSale, seat: int) -> Grammar:
        return self._bids

    @cached_property
    def _bids(self) -> Grammar:
        return Grammar((Option(Bid, {"amount": Integer(0, self.max_value)}),))

    def step(self, state: PageSale, actions: Mapping[int, Any]) -> Step:
        state.bids = [actions[seat].amount for seat in range(self.num_players)]
        reader = self.reader_of(state)
        if self.mechanism == "vcg":
            state.page, paid = externality_payments(reader, state.bids)
        elif self.mechanism == "gsp":
            state.page, paid = second_price_payments(reader, state.bids)
        else:
            state.page, paid = revenue_payments(reader, state.bids, self.max_value)
        state.clicks = [self.readers * float(chance) for chance in reader.clicks(state.page)]
        state.paid = [self.readers * payment for payment in paid]
        rewards = {}
        for seat, (clicks, payment) in enumerate(zip(state.clicks, state.paid, strict=True)):
            gained = clicks * state.values[seat]
            rewards[seat] = {"clicks": gained, "paid": -payment}
            state.earned[seat] += gained - payment
            state.clicked[seat] += clicks
            state.spent[seat] += payment
        state.round += 1
        return Step(rewards, events=[Event("page", self._page_text(state), self._page_data(state))])

    def _page_data(self, state: PageSale) -> dict[str, Any]:
        return {
            "bids": list(state.bids),
            "page": list(state.page),
            "clicks": list(state.clicks),
            "payments": list(state.paid),
        }

    def _page_text(self, state: PageSale) -> str:
        parts = []
        for seat, name in enumerate(self.players):
            part = f"{name} bids {state.bids[seat]}"
            if seat in state.page:
                part += (
                    f", gets position {state.page.index(seat) + 1}, {state.clicks[seat]:.1f} "
                    f"clicks, and pays {state.paid[seat]:.2f}"
                )
            parts.append(part)
        return f"Round {state.round}: {'; '.join(parts)}."

    def noop(self, state: PageSale, seat: int) -> TextAction:
        return Bid(0)

    def opening(self, state: PageSale) -> Sequence[Event]:
        table = {"table": list(map(list, state.table))}
        events = [Event("reader", self._reader_text(state), table)]
        for seat, value in enumerate(state.values):
            text = f"To you, {self.players[seat]}, a click is worth {value}."
            events.append(Event("value", text, {"value": value}, only(seat)))
        return events

    def _reader_text(self, state: PageSale) -> str:
        rows = "; ".join(
            f"{name} {', '.join(f'{x:g}' for x in row)}"
            for name, row in zip(self.players, state.table, strict=True)
        )
        if self.reader == "logit":
            return (
                "Readers click on one advertisement or none, by chances in proportion to "
                f"attraction and 1. Attraction by position: {rows}."
            )
        return f"Readers go from the top. Chances of a click, and of reading on: {rows}."

    def outcome(self, state: PageSale) -> Outcome | None:
        if state.round < self.rounds:
            return None
        score: Result = "score"
        return Outcome((score,) * self.num_players, tuple(state.earned), "the auction is over")

    def determinize(self, state: PageSale, seat: int, rng: Rng) -> PageSale:
        """Draw the other advertisers' values, and so their earnings, anew."""
        copy = self.clone(state)
        copy.values = tuple(
            value if other == seat else rng.between(0, self.max_value)
            for other, value in enumerate(state.values)
        )
        copy.earned = [
            earned if other == seat else state.clicked[other] * value - state.spent[other]
            for other, (earned, value) in enumerate(zip(state.earned, copy.values, strict=True))
        ]
        return copy

    # What a player reads and observes

    def rules_for(self, seat: int) -> str:
        ways = {
            "vcg": "The page is the best for the bids, and you pay what the others lose by you.",
            "gsp": "Places go by bid times attraction or click chance in the first position, and a "
            "click costs the least bid that keeps your place.",
            "myerson": "The page is the best for twice the bids less the most that can be bid, and "
            "you pay for each click the least bid that would still bring it.",
        }
        return (
            f"{super().rules_for(seat)}\n{ways[self.mechanism]} There are {self.positions} "
            f"positions and {self.readers} readers a round."
        )

    def describe(self, state: PageSale, seat: int) -> str:
        at = min(state.round + 1, self.rounds)
        lines = [
            f"You are {self.players[seat]}. Round {at} of {self.rounds}.",
            f"A click is worth {state.values[seat]} to you. You have earned "
            f"{state.earned[seat]:.2f} so far.",
            self._reader_text(state),
        ]
        return "\n".join([*lines, self._page_text(state)] if state.bids else lines)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        most = max(self.payoff_bounds[1], 1e6)
        size = 9 + self.num_players * (1 + self._columns)
        return spaces.Box(-most, most, (size,), np.float32)

    def observe(self, state: PageSale, seat: int) -> NDArray[np.float32]:
        place = state.page.index(seat) + 1 if seat in state.page else 0
        seen: list[float] = [state.values[seat], state.round, self.rounds, state.earned[seat]]
        seen += [seat, place, state.clicks[seat], state.paid[seat], sum(state.paid)]
        seen += state.bids or [-1] * self.num_players
        return np.array([*seen, *(x for row in state.table for x in row)], np.float32)

    def scene(self, state: PageSale, seat: int | None = None) -> Scene:
        """Everybody with their last bid, and the page with its clicks."""
        people = []
        for one, name in enumerate(self.players):
            bid = state.bids[one] if state.bids else None
            people.append(
                Person(
                    name,
                    one,
                    detail="" if bid is None else f"bids {bid:g}, pays {state.paid[one]:.4g}",
                    share=None if bid is None else bid / self.max_value,
                    cards=tuple(
                        Card(str(place), colour="gold", sprite="crown")
                        for place, seated in enumerate(state.page, 1)
                        if seated == one
                    ),
                )
            )
        rows = [(place, one) for place, one in enumerate(state.page, 1) if one >= 0]
        page = Table(
            ("position", "advertiser", "clicks"),
            tuple((str(n), self.players[one], f"{state.clicks[one]:.1f}") for n, one in rows),
            colours=tuple(one for _, one in rows),
        )
        words = f"Round {min(state.round + 1, self.rounds)} of {self.rounds}"
        table = RoundTable(tuple(people), words=words)
        return Scene(parts=(table, page) if rows else (table,))
