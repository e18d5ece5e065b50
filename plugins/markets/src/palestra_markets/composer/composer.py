"""A buyer composes a system from components that are offered once each, under a budget.

Components (agents or tools) come one after another with a price and a description of what they can
do, which may be wrong. A sandbox has 100 queries; a component's value is how many of them it
solves. For `trial_price` the buyer may try the component on `probes` new queries, at most `trials`
times, and sees how many it solves; then they buy it or let it go for good. With `kinds` there is
room for one component of each kind. At the end the buyer is paid the value of all components
bought; money left over is worth nothing.

The setting is that of "Automated Composition of Agents: A Knapsack Approach for Agentic Component
Selection", 2025: an online knapsack whose ratios of value to price lie between `low` and `high`.
Checked: the best composition against mixed-integer programming; the
threshold rule of Zhou, Chakrabarty and Lokose, WINE 2008, gets no less than 1 / (ln(high / low) +
1) of it, in any order where components are small, and no more than that in the worst order.

Left out: the retrieval of candidates from a large store; rules about which components fit together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    Option,
    Outcome,
    Rng,
    Scene,
    Step,
    TextAction,
    TextGame,
    environment,
)
from palestra.scene import Bars, Card, Cards, Table

from palestra_markets.composer.components import (
    CHEAPEST,
    DEAREST,
    QUERIES,
    Component,
    draw_component,
    likely_values,
)


class Try(TextAction, frozen=True):
    """Try the component on some queries of the sandbox."""


class Buy(TextAction, frozen=True):
    """Buy the component."""


class Skip(TextAction, frozen=True):
    """Let the component go; it does not come again."""


@dataclass(slots=True)
class Workbench:
    """The state of a game."""

    rng: Rng
    left: int  # of the budget
    seen: list[Component] = field(default_factory=list)  # offered so far; the last is on offer
    bought: list[int] = field(default_factory=list)  # by number, from 0
    trials: int = 0  # of the component on offer
    solved: int = 0  # queries that it solved in those trials
    tried: list[tuple[int, int]] = field(default_factory=list)  # of earlier ones: solved, queries
    ended: bool = False


@environment(
    "markets/Composer-v0",
    family="market",
    tags=("knapsack", "trials", "hidden-information", "chance"),
    paper=(
        "Automated Composition of Agents: A Knapsack Approach for Agentic Component Selection "
        "(2025); Zhou, Chakrabarty and Lokose (2008), Budget Constrained Bidding in Keyword "
        "Auctions and Online Knapsack Problems"
    ),
    splits={
        "small-items": {"offers": 400, "budget": 3000, "probes": 100, "trials": 1},
        "kinds": {"kinds": 8},
        "descriptions-only": {"trials": 0},
    },
)
@dataclass(frozen=True)
class Composer(TextGame[Workbench]):
    """One buyer composes a system from components offered once each, under a budget.

    Actions are 0 (try the component), 1 (buy it) and 2 (let it go). The buyer is paid, at the end,
    the value of all components bought.

    An observation is a float32 vector of 15 numbers:

        component, number of components, the component's price, its claim, its kind (-1: no kinds)
        whether it may be bought; budget left, budget, least and greatest value over price
        trials made of it, trials allowed, queries it was tried on, queries it solved
        price of a trial
    """

    offers: Annotated[int, Meta(ge=1, le=10_000, description="components offered")] = 40
    budget: Annotated[
        int, Meta(ge=1, le=1_000_000, description="budget for components and trials")
    ] = 300
    trials: Annotated[int, Meta(ge=0, le=QUERIES, description="most trials of one component")] = 3
    probes: Annotated[int, Meta(ge=1, le=QUERIES, description="queries in a trial")] = 10
    trial_price: Annotated[
        int, Meta(ge=0, le=1_000_000, description="price of a trial, out of the budget")
    ] = 1
    kinds: Annotated[
        int,
        Meta(
            ge=0,
            le=100,
            description="kinds of component, with room for one of each; 0 for no kinds",
        ),
    ] = 0
    low: Annotated[
        float, Meta(ge=1 / CHEAPEST, le=QUERIES / DEAREST, description="least value over price")
    ] = 0.25
    high: Annotated[
        float, Meta(ge=1 / CHEAPEST, le=QUERIES / DEAREST, description="greatest value over price")
    ] = 2.5
    hype: Annotated[
        float,
        Meta(
            ge=-QUERIES,
            le=QUERIES,
            description="queries by which claims overstate the value, on average",
        ),
    ] = 10.0
    components: Annotated[
        Sequence[tuple[int, int]],
        Meta(description="price and value of each component, in order; () to draw them"),
    ] = ()

    rules_text = """
        You put a system together from components that are offered one after another.

        A component has a price and a description, which may be wrong; its value is how many of 100
        queries it solves. You may try it on some of them, for a price, before you decide. What you
        let go does not come again. In the end you are paid the value of all you bought; what is
        left of the budget is worth nothing. In your turn write one of: Try() to try the component
        in the sandbox; Buy() to buy it; Skip() to let it go.
    """
    order = "sequential"
    payoffs = "general"
    num_players = 1
    perfect_information = False
    reward_terms = ("value",)
    action_types = (Try, Buy, Skip)

    def validate(self) -> None:
        if self.high < self.low:
            raise InvalidOption(f"high must be at least low, {self.low:g}, not {self.high:g}")
        if self.trials * self.probes > QUERIES:
            raise InvalidOption(
                f"the sandbox has {QUERIES} queries: {self.trials} trials of {self.probes} are "
                "too many; lower trials or probes"
            )
        for number, (price, value) in enumerate(self.components):
            self._check_component(number, price, value)

    def _check_component(self, number: int, price: int, value: int) -> None:
        least, most = self.low * price, min(QUERIES, self.high * price)
        if price < 1 or not least <= value <= most:
            raise InvalidOption(
                f"components: component {number} costs {price} and must be worth from {least:g} "
                f"to {most:g}, by low and high, not {value}; a price is at least 1"
            )

    # Derived from the options

    @property
    def count(self) -> int:
        """How many components are offered."""
        return len(self.components) or self.offers

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, float(min(self.count * QUERIES, self.high * self.budget)))

    @property
    def menu(self) -> tuple[TextAction, ...]:
        return Try(), Buy(), Skip()

    # The rules

    def initial_state(self, seed: int | None = None) -> Workbench:
        state = Workbench(Rng.seeded(seed), self.budget)
        self._offer_next(state)
        return state

    def _offer_next(self, state: Workbench) -> None:
        """Offer another component: drawn, or the next of `components` with a drawn claim."""
        drawn = draw_component(self.low, self.high, self.kinds, self.hype, state.rng)
        if self.components:
            price, value = self.components[len(state.seen)]
            wrong = drawn.claim - drawn.value
            drawn = Component(price, value, min(QUERIES, max(0, value + wrong)), drawn.kind)
        if state.seen:
            state.tried.append((state.solved, state.trials * self.probes))
        state.seen.append(drawn)
        state.trials = state.solved = 0

    def to_act(self, state: Workbench) -> tuple[int, ...]:
        return () if state.ended else (0,)

    def may_buy(self, state: Workbench) -> bool:
        """Whether the budget and the kinds leave room for the component on offer."""
        offer = state.seen[-1]
        taken = self.kinds and any(state.seen[n].kind == offer.kind for n in state.bought)
        return offer.price <= state.left and not taken

    def legal(self, state: Workbench, seat: int) -> Grammar:
        options = [Option(Skip)]
        if self.may_buy(state):
            options.append(Option(Buy))
        if state.trials < self.trials and self.trial_price <= state.left:
            options.append(Option(Try))
        return Grammar(tuple(options))

    def step(self, state: Workbench, actions: Mapping[int, Any]) -> Step:
        action, number = actions[0], len(state.seen) - 1
        if isinstance(action, Try):
            return Step(events=[self._try(state)])
        offer, bought = state.seen[-1], isinstance(action, Buy)
        if bought:
            state.left -= offer.price
            state.bought.append(number)
        done = "bought" if bought else "let go"
        data = {"component": number, "bought": bought, "left": state.left}
        events = [Event("decision", f"Component {number + 1} is {done}.", data)]
        if len(state.seen) < self.count:
            self._offer_next(state)
            return Step(events=[*events, self._offer_event(state)])
        state.ended = True
        value = float(sum(state.seen[n].value for n in state.bought))
        return Step(
            {0: {"value": value}} if value else {}, events=[*events, self._truth_event(state)]
        )

    def _try(self, state: Workbench) -> Event:
        """Try the component on its next `probes` queries; no query is used twice."""
        offer, before = state.seen[-1], state.solved
        for at in range(state.trials * self.probes, (state.trials + 1) * self.probes):
            state.solved += state.rng.below(QUERIES - at) < offer.value - state.solved
        state.trials += 1
        state.left -= self.trial_price
        number, solved = len(state.seen), state.solved - before
        text = f"Component {number} solves {solved} of {self.probes} queries."
        return Event("reveal", text, {"component": number - 1, "solved": solved})

    def _offer_event(self, state: Workbench) -> Event:
        offer = state.seen[-1]
        text = f"Component {len(state.seen)}: {self._offer_text(offer)}"
        data = {"price": offer.price, "claim": offer.claim, "kind": offer.kind}
        return Event("offer", text, data)

    def _offer_text(self, offer: Component) -> str:
        kind = f", of kind {offer.kind + 1}" if self.kinds else ""
        return f"costs {offer.price} and is said to solve {offer.claim} queries{kind}."

    def _truth_event(self, state: Workbench) -> Event:
        """What all components are worth."""
        value = sum(state.seen[n].value for n in state.bought)
        text = f"{len(state.bought)} components of value {value} are put together."
        rows = [[c.price, c.value, c.claim, c.kind] for c in state.seen]
        return Event("reveal", text, {"components": rows, "bought": list(state.bought)})

    def noop(self, state: Workbench, seat: int) -> TextAction:
        return Skip()

    def opening(self, state: Workbench) -> Sequence[Event]:
        return [] if state.ended else [self._offer_event(state)]

    def outcome(self, state: Workbench) -> Outcome | None:
        if not state.ended:
            return None
        value = sum(state.seen[n].value for n in state.bought)
        reason = f"{len(state.bought)} components for {self.budget - state.left} of {self.budget}"
        return Outcome(("score",), (float(value),), reason)

    def determinize(self, state: Workbench, seat: int, rng: Rng) -> Workbench:
        """Draw the value of each component offered so far from its posterior after its trials."""
        copy = self.clone(state)
        if state.ended or self.components:
            return copy
        evidence = [*state.tried, (state.solved, state.trials * self.probes)]
        for number, (offer, trials) in enumerate(zip(state.seen, evidence, strict=True)):
            likely = likely_values(
                offer.price, offer.claim, self.low, self.high, self.hype, *trials
            )
            copy.seen[number] = Component(
                offer.price, rng.weighted(likely), offer.claim, offer.kind
            )
        return copy

    # What a player reads and observes

    def rules_for(self, seat: int) -> str:
        lines = [
            super().rules_for(seat),
            f"{self.count} components are offered; the budget is {self.budget}. A trial is of "
            f"{self.probes} queries and costs {self.trial_price}; a component can be tried "
            f"{self.trials} times. Value over price is from {self.low:g} to {self.high:g}.",
        ]
        if self.kinds:
            lines.append(f"There are {self.kinds} kinds, and room for one component of each.")
        return "\n".join(lines)

    def describe(self, state: Workbench, seat: int) -> str:
        run = state.trials * self.probes
        lines = [
            f"Component {len(state.seen)} of {self.count} {self._offer_text(state.seen[-1])}",
            f"{state.left} of the budget of {self.budget} is left.",
        ]
        if run:
            lines.insert(1, f"It solved {state.solved} of the {run} queries it was tried on.")
        if state.bought:
            lines.append(f"Bought so far: {', '.join(str(n + 1) for n in state.bought)}.")
        if not state.ended and not self.may_buy(state):
            lines.append("There is no room for it.")
        return "\n".join(lines)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        return spaces.Box(-1.0, 1e7, (15,), np.float32)

    def observe(self, state: Workbench, seat: int) -> NDArray[np.float32]:
        offer = state.seen[-1]
        seen: list[float] = [len(state.seen) - 1, self.count, offer.price, offer.claim]
        seen += [offer.kind if self.kinds else -1, self.may_buy(state)]
        seen += [state.left, self.budget, self.low, self.high]
        seen += [state.trials, self.trials, state.trials * self.probes, state.solved]
        seen.append(self.trial_price)
        return np.array(seen, np.float32)

    def scene(self, state: Workbench, seat: int | None = None) -> Scene:
        """The budget, the component on offer, and those that were bought."""
        offer, run = state.seen[-1], state.trials * self.probes
        tried = f"{state.solved} of {run}" if run else "not tried"
        header = ["price", "claims", "solved"]
        row = [str(offer.price), f"{offer.claim} of {QUERIES}", tried]
        if seat is None:
            header, row = [*header, "can solve"], [*row, f"{offer.value} of {QUERIES}"]
        title = f"Component {len(state.seen)} of {self.count}, on offer"
        bought = tuple(
            Card(str(number + 1), colour="gold", label="component", sprite="box")
            for number in state.bought
        )
        here = Card(str(len(state.seen)), colour="blue", label="on offer", sprite="box")
        parts = (
            Bars((Bar("budget left", float(state.left), float(self.budget), 0),)),
            Cards("on offer", (here,)),
            Table(tuple(header), (tuple(row),), title),
            Cards("bought", bought),
        )
        return Scene(parts=parts)
