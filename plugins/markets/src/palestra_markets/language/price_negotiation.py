"""A seller and a buyer negotiate the price of one product; each may walk away.

In each round one of them names a price, with or without words, and the other accepts, rejects, or
walks away; the seller begins and they take turns. A sale at price p pays the seller p less their
value and the buyer their value less p. Whoever is to move may also walk away, and then both are
paid their outside options. If the time runs out, nobody is paid. The players know the last round;
with `unbounded` they do not, and the talks still end after `rounds`. With `complete` information
both players know both values; otherwise each knows only their own.

The game is the negotiation family of E. Shapira et al., "GLEE: A Unified Framework and Benchmark
for Language-based Economic Environments", 2024, whose outside option is to deal with someone else
at one's own value, here 0. Checked: backward induction over the whole
tree, and with one round and a hidden value the optimal take-it-or-leave-it price.

Left out: the paper's records of people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

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
    Rng,
    Scene,
    Step,
    Talking,
    Text,
    TextAction,
    TextGame,
    environment,
    only,
)
from palestra.kernel.game import Seat
from palestra.scene import Person, RoundTable

from palestra_markets.language.bargaining import Accept, Reject

FACTORS = (0.8, 1.0, 1.2, 1.5)  # drawn values, over `scale`
MOST_SCALE = 1_000_000
ROLES = ("seller", "buyer")
SELLER, BUYER = range(2)


class Offer(TextAction, frozen=True):
    """Name a price at which you would trade."""

    price: int
    text: str = ""


class Walk(TextAction, frozen=True):
    """End the talks; both of you take your outside options."""


@dataclass(slots=True)
class Haggle:
    """The state of the talks."""

    rng: Rng
    values: tuple[int, int]  # by seat
    round: int = 0
    price: int | None = None  # named in this round
    ended: str = ""  # "sale", "walk" or "time"


@environment(
    "markets/PriceNegotiation-v0",
    family="text",
    tags=("bargaining", "messages", "deterministic"),
    paper=(
        "Shapira et al. (2024), GLEE: A Unified Framework and Benchmark for Language-based "
        "Economic Environments"
    ),
    splits={
        "one-shot": {"rounds": 1},
        "unbounded": {"unbounded": True, "rounds": 99},
        "incomplete": {"complete": False},
        "silent": {"messages": False},
    },
)
@dataclass(frozen=True)
class PriceNegotiation(Talking, TextGame[Haggle]):
    """A seller and a buyer negotiate the price of one product by offers in turn.

    Action n names the price n, 0 to twice `scale`; the last three actions accept, reject and walk
    away. A sale pays the seller the price less their value and the buyer their value less the price
    (`trade`); walking away pays both their outside options (`outside`).

    An observation is a float32 vector of 9 numbers:

        seat (0 sells, 1 buys), round, last round (0: not known)
        own value, the other's (-1: not known), own outside option, the other's
        whose price stands: 0 nobody's, 1 one's own, 2 the other's; the price
    """

    scale: Annotated[
        int,
        Meta(
            ge=1,
            le=MOST_SCALE,
            description="scale of drawn values; prices go up to twice the scale",
        ),
    ] = 100
    seller_value: Annotated[
        int | None,
        Meta(ge=0, le=2 * MOST_SCALE, description="the seller's value; None to draw it"),
    ] = None
    buyer_value: Annotated[
        int | None,
        Meta(ge=0, le=2 * MOST_SCALE, description="the buyer's value; None to draw it"),
    ] = None
    outside_0: Annotated[
        int,
        Meta(
            ge=0, le=2 * MOST_SCALE, description="the seller's payoff if either player walks away"
        ),
    ] = 0
    outside_1: Annotated[
        int,
        Meta(ge=0, le=2 * MOST_SCALE, description="the buyer's payoff if either player walks away"),
    ] = 0
    rounds: Annotated[
        int, Meta(ge=1, le=1_000_000, description="rounds until the talks end without a sale")
    ] = 10
    unbounded: Annotated[bool, Meta(description="whether the last round is kept secret")] = False
    complete: Annotated[bool, Meta(description="whether both players know both values")] = True
    messages: Annotated[bool, Meta(description="whether offers may carry words")] = True
    message_limit: Annotated[
        int, Meta(ge=1, le=1_000_000, description="characters of the words of an offer")
    ] = 300

    rules_text = """
        You negotiate the price of one product: one of you sells it, the other may buy it.

        The product has a value to each of you. If it is sold, the seller is paid the price less
        what the product is worth to them, and the buyer what it is worth to them less the price. In
        every round one of you names a price and the other answers; the seller begins, then you take
        turns. Instead of moving, either of you may walk away: the product is not sold and both get
        what their outside options pay. If the time runs out nobody gets anything. In your turn
        write one of: Offer(price=100, text='It is as good as new.') to name a price; words are
        optional; Accept() to trade at the price that was named; Reject() to reject it; in the next
        round you name a price; Walk() to leave and take your outside option.
    """
    order = "sequential"
    payoffs = "general"
    num_players = 2
    deterministic = True
    reward_terms = ("trade", "outside")
    action_types = (Offer, Accept, Reject, Walk)

    def validate(self) -> None:
        for name in ("seller_value", "buyer_value", "outside_0", "outside_1"):
            value = getattr(self, name)
            if value is not None and value > self.max_price:
                raise InvalidOption(
                    f"{name} must be at most {self.max_price}, twice the scale, not {value}"
                )

    # Derived from the options

    @property
    def perfect_information(self) -> bool:  # type: ignore[override]
        return self.complete

    @property
    def max_price(self) -> int:
        """The highest price that can be named."""
        return 2 * self.scale

    @property
    def outside(self) -> tuple[int, int]:
        """The outside options: what walking away pays, by seat."""
        return self.outside_0, self.outside_1

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (-float(self.max_price), float(self.max_price))

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        return tuple(Seat(name, ROLES[i], i) for i, name in enumerate(self.players))

    def drawn_values(self) -> tuple[int, ...]:
        """The values that a value is drawn from, equally likely, unless an option gives it."""
        return tuple(round(factor * self.scale) for factor in FACTORS)

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Every price without words, then accepting, rejecting and walking away."""
        prices = (Offer(price) for price in range(self.max_price + 1))
        return (*prices, Accept(), Reject(), Walk())

    @cached_property
    def _offers(self) -> Grammar:
        words = Text(self.message_limit if self.messages else 0, ("",))
        price = Option(Offer, {"price": Integer(0, self.max_price), "text": words})
        return Grammar((price, Option(Walk)))

    # The rules

    def initial_state(self, seed: int | None = None) -> Haggle:
        rng = Rng.seeded(seed)
        drawn = rng.choice(self.drawn_values()), rng.choice(self.drawn_values())
        seller = drawn[0] if self.seller_value is None else self.seller_value
        buyer = drawn[1] if self.buyer_value is None else self.buyer_value
        return Haggle(rng, (seller, buyer))

    def to_act(self, state: Haggle) -> tuple[int, ...]:
        if state.ended:
            return ()
        return (proposer(state) if state.price is None else 1 - proposer(state),)

    def legal(self, state: Haggle, seat: int) -> Grammar:
        return self._offers if state.price is None else ANSWERS

    def step(self, state: Haggle, actions: Mapping[int, Any]) -> Step:
        ((seat, action),) = actions.items()
        if isinstance(action, Offer):
            state.price = action.price
            return Step(events=[self._offer_event(seat, action)])
        if isinstance(action, Reject):
            return Step(events=self._reject(state, seat))
        accepts = isinstance(action, Accept)
        state.ended, term = ("sale", "trade") if accepts else ("walk", "outside")
        does = f"accepts: the product is sold for {state.price}" if accepts else "walks away"
        rewards = {n: {term: gain} for n, gain in enumerate(self.gains(state)) if gain}
        data = {"player": seat, "price": state.price if accepts else None}
        return Step(rewards, events=[Event(state.ended, f"{self.players[seat]} {does}.", data)])

    def _offer_event(self, seat: int, action: Offer) -> Event:
        verb = "asks for" if seat == SELLER else "offers"
        text = f"{self.players[seat]} {verb} {action.price}."
        if action.text:
            text += f" They say: {self.quoted(action.text)}"
        data = {"player": seat, "price": action.price, "text": action.text}
        return Event("offer", text, data)

    def _reject(self, state: Haggle, seat: int) -> list[Event]:
        events = [Event("answer", f"{self.players[seat]} rejects.", {"player": seat})]
        state.price = None
        state.round += 1
        if state.round >= self.rounds:
            state.ended = "time"
            events.append(Event("end", "The talks are over: no sale."))
        return events

    def gains(self, state: Haggle) -> tuple[float, float]:
        """Payoffs at the end, by seat."""
        if state.ended == "sale":
            price = state.price or 0
            return float(price - state.values[SELLER]), float(state.values[BUYER] - price)
        if state.ended == "walk":
            return float(self.outside_0), float(self.outside_1)
        return 0.0, 0.0

    def outcome(self, state: Haggle) -> Outcome | None:
        if not state.ended:
            return None
        if state.ended == "time":
            result = "truncated" if self.unbounded else "none"
            return Outcome((result, result), (0.0, 0.0), "They did not agree.")  # type: ignore[arg-type]
        reason = f"Sold for {state.price}." if state.ended == "sale" else "One of them walked away."
        return Outcome(("score", "score"), self.gains(state), reason)

    def truncated(self, state: Haggle) -> bool:
        return state.ended == "time" and self.unbounded

    def opening(self, state: Haggle) -> Sequence[Event]:
        ends = "no last round" if self.unbounded else f"{self.rounds} rounds"
        table = Event("table", f"There is one product, and {ends}. Prices go to {self.max_price}.")
        values = []
        for seat, value in enumerate(state.values):
            text = f"The product is worth {value} to {self.players[seat]}, the {ROLES[seat]}."
            audience = None if self.complete else only(seat)
            values.append(Event("value", text, {"player": seat, "value": value}, audience))
        return [table, *values]

    def determinize(self, state: Haggle, seat: int, rng: Rng) -> Haggle:
        """Redraw the other player's value."""
        copy = self.clone(state)
        if not self.complete:
            drawn, own = rng.choice(self.drawn_values()), state.values[seat]
            copy.values = (own, drawn) if seat == SELLER else (drawn, own)
        return copy

    # What a player reads and observes

    def describe(self, state: Haggle, seat: int) -> str:
        own, other = state.values[seat], state.values[1 - seat]
        theirs = f"to the other {other}" if self.complete else "what to the other you do not know"
        of = "" if self.unbounded else f" of {self.rounds}"
        return "\n".join(
            [
                f"You are {self.players[seat]}, the {ROLES[seat]}.",
                f"Round {state.round + 1}{of}.",
                f"The product is worth {own} to you, {theirs}.",
                f"Walking away pays you {self.outside[seat]} and the other "
                f"{self.outside[1 - seat]}.",
                self._price_text(state, seat),
            ]
        )

    def _price_text(self, state: Haggle, seat: int) -> str:
        if state.price is None:
            return "No price has been named in this round."
        if proposer(state) == seat:
            return f"You named {state.price}."
        gain = (state.price - state.values[SELLER], state.values[BUYER] - state.price)[seat]
        return f"The other named {state.price}; accepting pays you {gain}."

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        most, last = self.max_price, self.rounds
        top = np.array([1, last, last, most, most, most, most, 2, most], np.float32)
        low = np.array([0, 0, 0, 0, -1, 0, 0, 0, 0], np.float32)
        return spaces.Box(low, top, dtype=np.float32)

    def observe(self, state: Haggle, seat: int) -> NDArray[np.float32]:
        theirs = state.values[1 - seat] if self.complete else -1
        last = 0 if self.unbounded else self.rounds
        stands = 0 if state.price is None else 1 if proposer(state) == seat else 2
        own, other = self.outside[seat], self.outside[1 - seat]
        seen = [seat, state.round, last, state.values[seat], theirs, own, other]
        return np.array([*seen, stands, state.price or 0], np.float32)

    def scene(self, state: Haggle, seat: int | None = None) -> Scene:
        people = []
        for one, name in enumerate(self.players):
            known = self.complete or seat in (None, one)
            value = f"values it at {state.values[one]}" if known else ""
            named = state.price is not None and one == proposer(state)
            said = f"{state.price}!" if named else ""
            acting = one in self.to_act(state)
            people.append(Person(name, one, detail=value, said=said, acting=acting))
        price = "no price yet" if state.price is None else f"a price of {state.price}"
        words = f"Round {state.round + 1}: {price}."
        return Scene(parts=(RoundTable(tuple(people), words=words),))


ANSWERS = Grammar((Option(Accept), Option(Reject), Option(Walk)))


def proposer(state: Haggle) -> int:
    """The seat that names the price in this round; the seller begins."""
    return state.round % 2
