"""A seller who sees the quality of every product recommends it or not; a buyer decides.

In each round there is a new product, good with a known chance. The seller sees its quality and
recommends it or advises against it, with or without words, truthfully or not. The buyer buys it at
the fixed price or does not, and then its quality is announced. The seller is paid the price of each
product they sell, the buyer its worth to them less the price. A long-lived buyer remembers every
round; with `myopic` the seat stands for a new buyer in every round, who reads only counts: of all
products, of good ones, of bad ones that were recommended, and of sales. The last round is known;
with `continuation` below 1 the game may also end after any round.

The game is the persuasion family of E. Shapira et al., "GLEE: A Unified Framework and Benchmark
for Language-based Economic Environments", 2024. Checked: the sales of a
seller who can commit to a policy, by E. Kamenica and M. Gentzkow, "Bayesian Persuasion", American
Economic Review 101, 2011; talk has no effect in a single round; and the honest equilibrium of the
repeated game, which a buyer who never forgives sustains where p >= (1 - c) / c.

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
    Bar,
    Event,
    Grammar,
    InvalidOption,
    Meta,
    OneOf,
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
from palestra.scene import Card, Person, RoundTable

FACTORS = (1.2, 1.25, 2.0, 3.0, 4.0)  # worth of a good product, as a multiple of the price
ROLES = ("seller", "buyer")
SELLER, BUYER = range(2)


class Recommend(TextAction, frozen=True):
    """Recommend the product, or advise against it."""

    buy: bool
    text: str = ""


class Buy(TextAction, frozen=True):
    """Buy the product at its price."""


class Pass(TextAction, frozen=True):
    """Do not buy it."""


@dataclass(slots=True)
class Shop:
    """The state: the product of this round, and counts of those before."""

    rng: Rng
    worth: int  # of a good product to the buyer
    good: bool  # whether this product is
    advice: Recommend | None = None  # on this product
    round: int = 0
    goods: int = 0
    lies: int = 0  # bad products that were recommended
    sold: int = 0
    goods_sold: int = 0
    last: tuple[bool, bool] | None = None  # the last product: recommended, good
    totals: tuple[int, int] = (0, 0)  # paid so far, by seat
    ended: bool = False


@environment(
    "markets/Persuasion-v0",
    family="text",
    tags=("persuasion", "messages", "hidden-information", "chance"),
    paper=(
        "Shapira et al. (2024), GLEE: A Unified Framework and Benchmark for Language-based "
        "Economic Environments; Kamenica and Gentzkow (2011), Bayesian Persuasion"
    ),
    splits={
        "one-shot": {"rounds": 1},
        "myopic": {"myopic": True},
        "open-ended": {"continuation": 0.9, "rounds": 99},
        "incomplete": {"complete": False, "good_worth": None},
        "silent": {"messages": False},
    },
)
@dataclass(frozen=True)
class Persuasion(Talking, TextGame[Shop]):
    """A seller knows the quality of every product and advises a buyer, truthfully or not.

    Actions are 0 (recommend the product) and 1 (advise against it) for the seller, 2 (buy) and 3
    (pass) for the buyer. A sale pays the seller the price, and the buyer the product's worth less
    the price.

    An observation is a float32 vector of 12 numbers:

        seat (0 sells, 1 buys), round, last round (0: any round may be the last)
        worth of a good product to the buyer (-1: not known)
        this product's quality: 1 good, 0 bad, -1 not known; recommended: 1 yes, 0 no, -1 not yet
        so far: good products, bad ones recommended, products sold, good ones sold
        the last product, for players who remember it: recommended, and good (-1: none)
    """

    price: Annotated[int, Meta(ge=1, le=1_000_000, description="price of every product")] = 100
    good_worth: Annotated[
        int | None,
        Meta(ge=1, le=10_000_000, description="worth of a good product; None to draw it"),
    ] = 200
    bad_worth: Annotated[
        int, Meta(ge=0, le=1_000_000, description="worth of a bad product, at most the price")
    ] = 0
    good_chance: Annotated[float, Meta(ge=0, le=1, description="chance that a product is good")] = (
        0.4
    )
    rounds: Annotated[
        int, Meta(ge=1, le=1_000_000, description="most products in an episode, one per round")
    ] = 20
    continuation: Annotated[
        float, Meta(ge=0, le=1, description="chance that the game goes on after a round")
    ] = 1.0
    myopic: Annotated[
        bool,
        Meta(
            description="whether every round has a new buyer, who reads only counts of "
            "past products"
        ),
    ] = False
    complete: Annotated[
        bool,
        Meta(
            description="whether the seller knows the worth of a good product; if not, they "
            "believe it to be drawn"
        ),
    ] = True
    messages: Annotated[bool, Meta(description="whether advice may carry words")] = True
    message_limit: Annotated[
        int, Meta(ge=1, le=1_000_000, description="characters of the words of an advice")
    ] = 300

    rules_text = """
        One of you sells a product in every round; only the seller sees whether it is good or bad.

        In every round the seller first recommends the product or advises against it, with or
        without words. What they say need not be true. Then the buyer buys it or passes. The seller
        is paid the price of every product that is bought, good or bad. The buyer is paid what the
        product is worth to them less the price. Afterwards its quality comes out, bought or not. In
        your turn write one of: Recommend(buy=True, text='It is good.') to recommend the product, or
        Recommend(buy=False) to advise against it; words are optional; Buy() to buy it; Pass() not
        to.
    """
    order = "sequential"
    payoffs = "general"
    num_players = 2
    perfect_information = False
    reward_terms = ("sale",)
    action_types = (Recommend, Buy, Pass)

    def validate(self) -> None:
        if self.bad_worth > self.price:
            raise InvalidOption(
                f"bad_worth must be at most the price, {self.price}, not {self.bad_worth}"
            )
        if self.good_worth is not None and not self.price <= self.good_worth <= 10 * self.price:
            raise InvalidOption(
                "good_worth must be from the price to ten times the price, or None to draw it, "
                f"not {self.good_worth}"
            )

    # Derived from the options

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        most = self.good_worth or int(max(FACTORS) * self.price)
        loss = self.price - self.bad_worth
        return (-float(self.rounds * loss), float(self.rounds * max(self.price, most - self.price)))

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        return tuple(Seat(name, ROLES[i], i) for i, name in enumerate(self.players))

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Both kinds of advice without words, then the two answers."""
        return Recommend(True), Recommend(False), Buy(), Pass()

    @cached_property
    def _advice_grammar(self) -> Grammar:
        words = Text(self.message_limit if self.messages else 0, ("",))
        return Grammar((Option(Recommend, {"buy": OneOf((True, False)), "text": words}),))

    @property
    def has_newcomers(self) -> bool:
        return self.myopic

    # The rules

    def initial_state(self, seed: int | None = None) -> Shop:
        rng = Rng.seeded(seed)
        worth = self._draw_worth(rng) if self.good_worth is None else self.good_worth
        return Shop(rng, worth, self._draw_quality(rng))

    def _draw_worth(self, rng: Rng) -> int:
        return round(rng.choice(FACTORS) * self.price)

    def _draw_quality(self, rng: Rng) -> bool:
        return rng.random() < self.good_chance

    def to_act(self, state: Shop) -> tuple[int, ...]:
        if state.ended:
            return ()
        return (SELLER,) if state.advice is None else (BUYER,)

    def legal(self, state: Shop, seat: int) -> Grammar:
        return self._advice_grammar if state.advice is None else ANSWERS

    def step(self, state: Shop, actions: Mapping[int, Any]) -> Step:
        ((_, action),) = actions.items()
        if isinstance(action, Recommend):
            state.advice = action
            reader = only(SELLER) if self.myopic else None  # a new buyer reads it in `describe`
            data = {"buy": action.buy, "text": action.text}
            return Step(events=[Event("advice", self._advice_text(action), data, reader)])
        bought = isinstance(action, Buy)
        paid = enumerate(self._pay(state) if bought else ())
        rewards = {seat: {"sale": float(gain)} for seat, gain in paid}
        return Step(rewards, events=self._close(state, bought))

    def _advice_text(self, advice: Recommend) -> str:
        text = "recommends the product." if advice.buy else "advises against the product."
        said = f" They say: {self.quoted(advice.text)}" if advice.text else ""
        return f"The seller {text}{said}"

    def _pay(self, state: Shop) -> tuple[int, int]:
        worth = state.worth if state.good else self.bad_worth
        gains = self.price, worth - self.price
        state.totals = state.totals[0] + gains[0], state.totals[1] + gains[1]
        return gains

    def _close(self, state: Shop, bought: bool) -> list[Event]:
        """Count the round and open the next one, or end the game."""
        assert state.advice is not None
        state.round += 1
        state.goods += state.good
        state.lies += state.advice.buy and not state.good
        state.sold += bought
        state.goods_sold += bought and state.good
        state.last = (state.advice.buy, state.good)
        events = [self._round_event(state, bought)]
        continues = self.continuation >= 1 or state.rng.random() < self.continuation
        if state.round >= self.rounds or not continues:
            state.ended = True
            return [*events, Event("end", "The shop closes.")]
        state.good, state.advice = self._draw_quality(state.rng), None
        if self.myopic:
            text = f"{self.players[BUYER]} is a new buyer."
            events.append(Event("newcomer", text, {"players": [BUYER]}))
        return [*events, self._quality_event(state)]

    def _round_event(self, state: Shop, bought: bool) -> Event:
        """The end of a round: what happened in it, or counts only where buyers are myopic."""
        data: dict[str, Any] = {"round": state.round, "sold": state.sold, "good": state.goods}
        if self.myopic:
            return Event(
                "reveal", f"Round {state.round} is over. {self._history_text(state)}", data
            )
        quality = "good" if state.good else "bad"
        done = "is bought" if bought else "is not bought"
        text = f"Round {state.round} is over: the product {done}, and it was {quality}."
        return Event("reveal", text, {**data, "bought": bought, "quality": quality})

    def _quality_event(self, state: Shop) -> Event:
        quality = "good" if state.good else "bad"
        text = f"The product of round {state.round + 1} is {quality}."
        return Event("quality", text, {"quality": quality}, only(SELLER))

    def outcome(self, state: Shop) -> Outcome | None:
        if not state.ended:
            return None
        seller, buyer = state.totals
        return Outcome(("score", "score"), (float(seller), float(buyer)), self._history_text(state))

    def opening(self, state: Shop) -> Sequence[Event]:
        audience = None if self.complete else only(BUYER)
        worth = f"To the buyer a good product is worth {state.worth}."
        return [
            Event("shop", self._terms_text()),
            Event("worth", worth, {"worth": state.worth}, audience),
            self._quality_event(state),
        ]

    def _terms_text(self) -> str:
        ends = f"{self.rounds} rounds"
        if self.continuation < 1:
            ends = f"at most {ends}, after each of which it goes on with chance "
            ends += f"{self.continuation:g}"
        return (
            f"Products cost {self.price} and are good with chance {self.good_chance:g}. A bad one "
            f"is worth {self.bad_worth} to the buyer. There are {ends}."
        )

    def determinize(self, state: Shop, seat: int, rng: Rng) -> Shop:
        """Draw anew what a seat does not know: the quality, or the worth of good products.

        A new buyer, who reads only counts, does not know which of the counted products was the last
        one either.
        """
        self.refuse_the_end(state)
        copy = self.clone(state)
        if seat == BUYER:
            copy.good = self._draw_quality(rng)
            if self.myopic and state.last is not None:
                bad = state.round - state.goods
                kinds = [(True, True), (False, True)] if state.goods else []
                kinds += [(True, False)] if state.lies else []
                kinds += [(False, False)] if bad > state.lies else []
                copy.last = rng.choice(kinds)
        if seat == SELLER and not self.complete:
            copy.worth = self._draw_worth(rng)
            bad_sold = state.sold - state.goods_sold
            worth = state.goods_sold * copy.worth + bad_sold * self.bad_worth
            copy.totals = state.totals[SELLER], worth - state.sold * self.price
        return copy

    # What a player reads and observes

    def rules_for(self, seat: int) -> str:
        lines = [super().rules_for(seat), self._terms_text()]
        if self.myopic:
            lines.append("In every round there is a new buyer, who remembers nothing themselves.")
        return "\n".join(lines)

    def describe(self, state: Shop, seat: int) -> str:
        lines = [f"You are {self.players[seat]}, the {ROLES[seat]}. {self._round_text(state)}"]
        if seat == BUYER or self.complete:
            whose = "you" if seat == BUYER else "the buyer"
            lines.append(f"A good product is worth {state.worth} to {whose}.")
        lines.append(self._history_text(state))
        if state.last and self._remembers(seat):
            lines.append(f"The last product was {product_text(state.last)}.")
        if seat == SELLER and not state.ended:
            lines.append(f"The product is {'good' if state.good else 'bad'}.")
        return "\n".join([*lines, self._standing_advice(state)])

    def _standing_advice(self, state: Shop) -> str:
        if state.advice is None:
            return "No advice was given yet."
        advice = "buy it" if state.advice.buy else "do not buy it"
        said = self.quoted(state.advice.text)
        words = f", in the seller's words: {said}" if state.advice.text else ""
        return f"The advice is: {advice}{words}."

    def _remembers(self, seat: int) -> bool:
        return seat == SELLER or not self.myopic

    def _round_text(self, state: Shop) -> str:
        at = f"Round {min(state.round + 1, self.rounds)}"
        return f"{at}." if self.continuation < 1 else f"{at} of {self.rounds}."

    def _history_text(self, state: Shop) -> str:
        if not state.round:
            return "There was no product before."
        return (
            f"Of {state.round} products so far {state.goods} were good, {state.lies} recommended "
            f"although bad, {state.sold} sold, {state.goods_sold} of them good."
        )

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        low = np.array([0, 0, 0, -1, -1, -1, 0, 0, 0, 0, -1, -1], np.float32)
        n, worth = self.rounds, 10 * self.price
        high = np.array([1, n, n, worth, 1, 1, n, n, n, n, 1, 1], np.float32)
        return spaces.Box(low, high, dtype=np.float32)

    def observe(self, state: Shop, seat: int) -> NDArray[np.float32]:
        last_round = self.rounds if self.continuation >= 1 else 0
        worth = state.worth if seat == BUYER or self.complete else -1
        quality = int(state.good) if seat == SELLER and not state.ended else -1
        advice = -1 if state.advice is None else int(state.advice.buy)
        last = state.last if state.last and self._remembers(seat) else (-1, -1)
        counts = [state.goods, state.lies, state.sold, state.goods_sold]
        seen = [seat, state.round, last_round, worth, quality, advice, *counts, *last]
        return np.array(seen, np.float32)

    def scene(self, state: Shop, seat: int | None = None) -> Scene:
        """The product between seller and buyer: its face only for those who know it."""
        knows = seat != BUYER and not state.ended
        face = Card(
            "good" if state.good else "bad",
            colour="green" if state.good else "red",
            sprite="star" if state.good else "bin",
        )
        advice = state.advice
        said = "" if advice is None else "Buy it." if advice.buy else "Do not buy it."
        said += f" {self.quoted(advice.text)}" if advice is not None and advice.text else ""
        acting = self.to_act(state)
        seller, buyer = (self.players[one] for one in (SELLER, BUYER))
        people = (
            Person(seller, SELLER, "seller", f"{state.lies} lies", said=said,
                   acting=SELLER in acting),
            Person(buyer, BUYER, "buyer", f"bought {state.sold}", acting=BUYER in acting),
        )  # fmt: skip
        table = RoundTable(people, (face if knows else Card(hidden=True),), self._round_text(state))
        n = float(self.rounds)
        bars = (
            Bar("good", float(state.goods), n, SELLER),
            Bar("good sold", float(state.goods_sold), n, BUYER),
        )
        return Scene(parts=(table,), bars=bars)


ANSWERS = Grammar((Option(Buy), Option(Pass)))


def product_text(product: tuple[bool, bool]) -> str:
    """A past product in words: the advice on it and its quality."""
    recommended, good = product
    return f"{'recommended' if recommended else 'advised against'} and {'good' if good else 'bad'}"
