"""Houses are auctioned one by one to bidders with private tastes and one budget for all houses.

A bidder values a house by its marks for size, location, condition and garden, with secret weights.
They are paid value less price for every house they buy, and cannot bid more than the budget they
have left. In an `english` auction bidders are asked in turn to raise the price or to withdraw from
this house, and the last one left pays the standing price. In `first-price` and `vickrey` auctions
all bid at the same time, in secret; the highest bid wins and pays itself, or the second highest;
ties are broken at random. Afterwards the bids are announced. In a `dutch` auction the price falls
step by step until somebody takes the house. When all houses are sold, everybody names the attribute
that each rival likes best, and is paid `profiling` for every right answer.

The setting is that of "HARBOR: Exploring Persona Dynamics in Multi-Agent Competition", 2025.

Checked: an English auction among bidders who stay up to their value ends, within one step, where
Vickrey's does; truth is a dominant bid in the latter, by enumeration; a Dutch auction ends for
every plan as first prices do, by enumeration, and earns (n - 1) / (n + 1) where values are uniform
and plans in equilibrium; houses go to the bidder with the highest value where budgets do not bind.

Left out: personas in free words: they are weights, told in words; predictions of when others drop
out.
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
    Meta,
    OneOf,
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
from palestra.scene import Card, Part, Person, RoundTable, Table

from palestra_markets.houses.personas import (
    ATTRIBUTES,
    FULL_VALUE,
    House,
    Persona,
    draw_house,
    draw_persona,
)

NOBODY = -1
BID_STEP = 25  # thousands, between the numbered bids


class Raise(TextAction, frozen=True):
    """Raise the price to so many thousands."""

    price: int


class Withdraw(TextAction, frozen=True):
    """Bid no more for this house."""


class Bid(TextAction, frozen=True):
    """Bid so many thousands in secret; 0 for nothing."""

    price: int


class Take(TextAction, frozen=True):
    """Take the house at the price that stands."""


class Wait(TextAction, frozen=True):
    """Let the price fall."""


class Profile(TextAction, frozen=True):
    """Say which attribute a rival likes best."""

    player: str
    likes: str


@dataclass(slots=True)
class Sale:
    """The state; lists are by seat, money is in thousands."""

    rng: Rng
    houses: tuple[House, ...]  # offered so far
    personas: tuple[Persona, ...]
    left: list[int]  # of the budgets
    bidding: list[bool]  # who has not withdrawn from this house
    house: int = 0  # number of the house on offer, from 0
    price: int = 0  # that stands
    leader: int = NOBODY  # seat that named the price
    asked: int = 0  # seat whose turn it is to raise
    won: list[list[tuple[int, int]]] = field(default_factory=list)  # (house, price) bought
    profits: list[float] = field(default_factory=list)
    guesses: list[list[int]] = field(default_factory=list)  # rivals' tastes, in order of `rival`
    ended: bool = False


@environment(
    "markets/HouseAuction-v0",
    family="market",
    tags=("auction", "personas", "hidden-information", "chance"),
    paper="HARBOR: Exploring Persona Dynamics in Multi-Agent Competition (2025)",
    splits={
        "english": {"format": "english"},
        "dutch": {"format": "dutch"},
        "first-price": {"format": "first-price"},
        "vickrey": {"format": "vickrey"},
        "known-rivals": {"knowledge": "full"},
    },
)
@dataclass(frozen=True)
class HouseAuction(TextGame[Sale]):
    """Auctions of houses, one by one, among bidders with private tastes and limited budgets.

    Numbered actions are prices in steps and withdrawal, or taking and waiting if prices fall; then
    every profile of a rival. A bidder is paid value less price for each house they buy (`houses`)
    and `profiling` for each right profile (`profiling`). Money is in thousands.

    An observation is a float32 vector of 18 + 3 n numbers for n bidders:

        phase (0 bidding, 1 profiles), house, last house, own value of it, its four marks
        standing price (0: none), own budget left, own profit so far, own four weights
        whether the seat leads, how many are still bidding, the rival to profile (-1: none)
        by seat: houses bought, and the money paid for them
        favourite attribute by seat (-1: not known)
    """

    num_players: Annotated[int, Meta(ge=2, le=10, description="bidders")] = 4
    houses: Annotated[int, Meta(ge=1, le=50, description="number of houses, sold one by one")] = 6
    format: Annotated[
        Literal["english", "dutch", "first-price", "vickrey"],
        Meta(description="rising or falling prices, or sealed bids at the first or second price"),
    ] = "english"
    budget: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="budget of an average bidder for all houses, in thousands",
        ),
    ] = 1_500
    increment: Annotated[
        int, Meta(ge=1, le=FULL_VALUE, description="smallest change of the price, in thousands")
    ] = 20
    knowledge: Annotated[
        Literal["none", "favourite", "full"],
        Meta(description="what bidders know about their rivals' tastes"),
    ] = "none"
    profiling: Annotated[
        int, Meta(ge=0, le=1_000_000, description="thousands paid for a right profile of a rival")
    ] = 20

    rules_text = """
        Houses are sold one by one by auction; you bid for them with a budget. Money is in
        thousands.

        A house has marks from 1 to 10 for its size, location, condition and garden. Your own
        weights of them say what it is worth to you; you gain that less the price for every house
        you buy, and you cannot spend more than your budget on all of them. At the end you say what
        each rival likes best. In your turn write one of: Raise(price=420) to raise the price of the
        house, where bids are open; Withdraw() to bid no more for this house; Bid(price=420) to bid
        in secret, where bids are sealed; 0 bids nothing; Take() to take the house at the price that
        stands, where it falls, or Wait() for a lower one; Profile(player='player_1',
        likes='garden') to say what a rival likes best.
    """
    counters = ("profits",)
    order = "phased"
    payoffs = "general"
    perfect_information = False
    reward_terms = ("houses", "profiling")
    action_types = (Raise, Withdraw, Bid, Take, Wait, Profile)

    # Derived from the options

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        guesses = self.profiling * (self.num_players - 1)
        return (-1.2 * self.budget, float(self.houses * FULL_VALUE + guesses))

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Prices in steps and withdrawal, or to take and to wait; and every profile."""
        most = min(FULL_VALUE, self.budget * 12 // 10)
        kind = Raise if self.format == "english" else Bid
        step = self.increment if self.format == "english" else BID_STEP
        prices = tuple(kind(price) for price in range(0, most + 1, step))
        profiles = (Profile(rival, likes) for rival in self.players for likes in ATTRIBUTES)
        if self.format == "dutch":
            return (Take(), Wait(), *profiles)
        return (*prices, Withdraw(), *profiles)

    @property
    def top(self) -> int:
        """The starting price of a falling auction: the full value, rounded down to a step."""
        return FULL_VALUE // self.increment * self.increment

    # The rules

    def initial_state(self, seed: int | None = None) -> Sale:
        rng, count = Rng.seeded(seed), self.num_players
        personas = tuple(draw_persona(self.budget, rng) for _ in range(count))
        left = [persona.budget for persona in personas]
        state = Sale(rng, (), personas, left, [True] * count)
        state.won, state.guesses = [[] for _ in range(count)], [[] for _ in range(count)]
        state.profits = [0.0] * count
        self._open_house(state)
        return state

    def _open_house(self, state: Sale) -> None:
        """Offer the next house: those who can pay the first step bid; who begins is random."""
        state.houses = (*state.houses, draw_house(state.house, state.rng))
        state.price, state.leader = self.top if self.format == "dutch" else 0, NOBODY
        rises = self.format == "english"
        state.bidding = [left >= self.increment or not rises for left in state.left]
        state.asked = state.rng.below(self.num_players)
        if rises and any(state.bidding) and not state.bidding[state.asked]:
            self._pass_on(state)

    def to_act(self, state: Sale) -> tuple[int, ...]:
        if state.ended:
            return ()
        if state.house >= self.houses or self.format != "english":
            return tuple(range(self.num_players))
        return (state.asked,)

    def legal(self, state: Sale, seat: int) -> Grammar:
        if state.house >= self.houses:
            rival = self.players[self.rival(state, seat)]
            fields = {"player": OneOf((rival,)), "likes": OneOf(ATTRIBUTES)}
            return Grammar((Option(Profile, fields),))
        if self.format == "dutch":
            take = (Option(Take),) if state.left[seat] >= state.price else ()
            return Grammar((*take, Option(Wait)))
        if self.format != "english":
            return Grammar((Option(Bid, {"price": Integer(0, state.left[seat])}),))
        least = state.price + self.increment
        raises = (Option(Raise, {"price": Integer(least, state.left[seat])}),)
        return Grammar((*(raises if least <= state.left[seat] else ()), Option(Withdraw)))

    def rival(self, state: Sale, seat: int, turn: int | None = None) -> int:
        """The rival a seat profiles now, or in a given turn of profiling: the others in order."""
        at = len(state.guesses[seat]) if turn is None else turn
        return (seat + 1 + at) % self.num_players

    def step(self, state: Sale, actions: Mapping[int, Any]) -> Step:
        if state.house >= self.houses:
            return self._record_profiles(state, actions)
        if self.format == "dutch":
            return self._let_price_fall(state, actions)
        if self.format != "english":
            return self._reveal_bids(state, actions)
        ((seat, action),) = actions.items()
        if isinstance(action, Raise):
            state.price, state.leader = action.price, seat
            text = f"{self.players[seat]} raises to {action.price}."
        else:
            state.bidding[seat] = False
            text = f"{self.players[seat]} withdraws."
        price = action.price if isinstance(action, Raise) else 0
        events = [Event("bid", text, {"player": seat, "house": state.house, "price": price})]
        staying = [other for other, bids in enumerate(state.bidding) if bids]
        if not staying or staying == [state.leader]:
            return self._sell(state, state.leader, state.price, events)
        self._pass_on(state)
        return Step(events=events)

    def _pass_on(self, state: Sale) -> None:
        """Ask the next seat that is still bidding."""
        state.asked = (state.asked + 1) % self.num_players
        while not state.bidding[state.asked]:
            state.asked = (state.asked + 1) % self.num_players

    def _let_price_fall(self, state: Sale, actions: Mapping[int, Any]) -> Step:
        """Sell to a taker; else let the price fall, and at 0 leave the house unsold."""
        takers = [seat for seat, action in sorted(actions.items()) if isinstance(action, Take)]
        if takers:
            winner = state.rng.choice(takers) if len(takers) > 1 else takers[0]
            return self._sell(state, winner, state.price, [])
        state.price -= self.increment
        if state.price <= 0:
            return self._sell(state, NOBODY, 0, [])
        text = f"The price falls to {state.price}."
        return Step(events=[Event("price", text, {"house": state.house, "price": state.price})])

    def _reveal_bids(self, state: Sale, actions: Mapping[int, Bid]) -> Step:
        """Announce sealed bids and sell to the highest."""
        bids = [actions[seat].price for seat in range(self.num_players)]
        house = state.house
        by_player = ", ".join(f"{self.players[n]} {bid}" for n, bid in enumerate(bids))
        announced = Event("bids", f"The bids are {by_player}.", {"house": house, "bids": bids})
        best = max(bids)
        if not best:
            return self._sell(state, NOBODY, 0, [announced])
        tied = [seat for seat, bid in enumerate(bids) if bid == best]
        winner = state.rng.choice(tied) if len(tied) > 1 else tied[0]
        second = max(bid for seat, bid in enumerate(bids) if seat != winner)
        price = best if self.format == "first-price" else second
        return self._sell(state, winner, price, [announced])

    def _sell(self, state: Sale, winner: int, price: int, events: list[Event]) -> Step:
        """Hand the house over, and offer the next."""
        house, rewards = state.houses[state.house], {}
        data = {"house": state.house, "winner": winner, "price": price}
        text = f"{house.name} is not sold."
        if winner != NOBODY:
            text = f"{house.name} goes to {self.players[winner]} for {price}."
            gain = state.personas[winner].value(house) - price
            state.left[winner] -= price
            state.won[winner].append((state.house, price))
            state.profits[winner] += gain
            rewards = {winner: {"houses": float(gain)}}
        events.append(Event("sale", text, data))
        state.house += 1
        if state.house < self.houses:
            self._open_house(state)
            events.append(self._house_event(state))
            if not all(state.bidding):
                events.append(self._shut_out_event(state))
        return Step(rewards, events=events)

    def _record_profiles(self, state: Sale, actions: Mapping[int, Profile]) -> Step:
        """Keep the answers; after the last, pay the right ones and reveal all tastes."""
        for seat, action in actions.items():
            state.guesses[seat].append(ATTRIBUTES.index(action.likes))
        state.ended = len(state.guesses[0]) == self.num_players - 1
        if not state.ended:
            return Step()
        rewards = {}
        for seat, guesses in enumerate(state.guesses):
            rivals = (self.rival(state, seat, turn) for turn in range(len(guesses)))
            truth = [state.personas[rival].favourite for rival in rivals]
            right = sum(a == b for a, b in zip(guesses, truth, strict=True))
            state.profits[seat] += right * self.profiling
            if right and self.profiling:
                rewards[seat] = {"profiling": float(right * self.profiling)}
        return Step(rewards, events=[self._reveal_event(state)])

    def _reveal_event(self, state: Sale) -> Event:
        likes = [ATTRIBUTES[persona.favourite] for persona in state.personas]
        pairs = zip(self.players, likes, strict=True)
        tastes = ", ".join(f"{name} {like}" for name, like in pairs)
        guesses = [[ATTRIBUTES[guess] for guess in row] for row in state.guesses]
        data = {"likes": likes, "guesses": guesses}
        return Event("reveal", f"What everybody likes best: {tastes}.", data)

    def _house_event(self, state: Sale) -> Event:
        house = state.houses[state.house]
        data = {"house": state.house, "marks": list(house.marks)}
        return Event("house", f"House {state.house + 1}: {house_text(house)}", data)

    def _shut_out_event(self, state: Sale) -> Event:
        """The event that names who cannot pay the first step, a hint at their budgets."""
        out = [seat for seat, bids in enumerate(state.bidding) if not bids]
        names = ", ".join(self.players[seat] for seat in out)
        return Event("reveal", f"Cannot pay the first step: {names}.", {"out": out})

    def noop(self, state: Sale, seat: int) -> TextAction | None:
        if state.house >= self.houses:
            return None
        return {"english": Withdraw(), "dutch": Wait()}.get(self.format, Bid(0))

    def opening(self, state: Sale) -> Sequence[Event]:
        events = []
        for seat, persona in enumerate(state.personas):
            text = f"{self.players[seat]}, {persona_text(persona)}"
            data = {"weights": list(persona.weights), "budget": persona.budget}
            events.append(Event("persona", text, data, only(seat)))
        seats = range(self.num_players)
        events += [event for seat in seats if (event := self._rivals_event(state, seat))]
        return [*events, self._house_event(state)] if state.house < self.houses else events

    def _rivals_event(self, state: Sale, seat: int) -> Event | None:
        """The event with what a bidder knows about rivals' tastes; None if nothing."""
        if self.knowledge == "none":
            return None
        parts = []
        for rival, persona in enumerate(state.personas):
            if rival != seat:
                likes = ATTRIBUTES[persona.favourite]
                full = f" (weights {weights_text(persona)})" if self.knowledge == "full" else ""
                parts.append(f"{self.players[rival]} likes {likes} best{full}")
        data = {"likes": [persona.favourite for persona in state.personas]}
        return Event("rivals", f"{'; '.join(parts)}.", data, only(seat))

    def outcome(self, state: Sale) -> Outcome | None:
        if not state.ended:
            return None
        score: Result = "score"
        scores = tuple(map(float, state.profits))
        return Outcome((score,) * self.num_players, scores, "all houses were offered")

    def determinize(self, state: Sale, seat: int, rng: Rng) -> Sale:
        """Redraw the rivals' tastes and budgets where the seat does not know them."""
        copy = self.clone(state)
        if state.ended:
            return copy
        for rival in range(self.num_players):
            if rival != seat:
                self._redraw(copy, rival, rng)
                copy.guesses[rival] = [rng.below(len(ATTRIBUTES)) for _ in state.guesses[rival]]
        return copy

    def _redraw(self, state: Sale, seat: int, rng: Rng) -> None:
        """Give a seat another persona, with a budget enough for what it has paid and bid."""
        persona, drawn = state.personas[seat], draw_persona(self.budget, rng)
        while self.knowledge == "favourite" and drawn.favourite != persona.favourite:
            drawn = draw_persona(self.budget, rng)
        weights = persona.weights if self.knowledge == "full" else drawn.weights
        spent = persona.budget - state.left[seat]
        least = 0
        if self.format == "english" and state.house < self.houses:
            least = state.price if seat == state.leader else self.increment * state.bidding[seat]
        budget = drawn.budget
        while budget < spent + least:
            budget = draw_persona(self.budget, rng).budget
        personas = list(state.personas)
        personas[seat] = Persona(weights, budget)
        state.personas, state.left[seat] = tuple(personas), budget - spent
        worth = (
            personas[seat].value(state.houses[house]) - paid for house, paid in state.won[seat]
        )
        state.profits[seat] = float(sum(worth))

    # What a player reads and observes

    def rules_for(self, seat: int) -> str:
        ways = {
            "english": f"Bids are open and rise by at least {self.increment}.",
            "dutch": f"The price falls from {self.top} by {self.increment} until one takes it.",
            "first-price": "Bids are sealed, and the highest pays itself.",
            "vickrey": "Bids are sealed, and the highest pays the second highest.",
        }
        return (
            f"{super().rules_for(seat)}\n{ways[self.format]} There are {self.houses} houses, worth "
            f"up to {FULL_VALUE}. A right profile pays {self.profiling}."
        )

    def describe(self, state: Sale, seat: int) -> str:
        persona = state.personas[seat]
        lines = [
            f"You are {self.players[seat]}: {persona_text(persona)}",
            f"You have {state.left[seat]} left and have gained {state.profits[seat]:g}.",
        ]
        if state.house < self.houses:
            house = state.houses[state.house]
            lines.append(f"House {state.house + 1} of {self.houses}: {house_text(house)}")
            lines.append(f"To you it is worth {persona.value(house)}.")
            lines += self._bidding_text(state)
        elif not state.ended:
            lines.append(f"Say what {self.players[self.rival(state, seat)]} likes best.")
        rivals = self._rivals_event(state, seat)
        return "\n".join([*lines, rivals.text] if rivals else lines)

    def _bidding_text(self, state: Sale) -> list[str]:
        if self.format == "dutch":
            return [f"The price is {state.price}."]
        if self.format != "english":
            return []
        staying = [self.players[n] for n, bids in enumerate(state.bidding) if bids]
        leads = f"bid by {self.players[state.leader]}" if state.leader != NOBODY else "no bid yet"
        return [f"The price is {state.price}, {leads}. Still bidding: {', '.join(staying)}."]

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        most = float(max(1e6, *map(abs, self.payoff_bounds)))
        return spaces.Box(-most, most, (18 + 3 * self.num_players,), np.float32)

    def observe(self, state: Sale, seat: int) -> NDArray[np.float32]:
        persona, profiles = state.personas[seat], state.house >= self.houses
        house = None if profiles else state.houses[state.house]
        seen: list[float] = [profiles, state.house, self.houses]
        seen += [persona.value(house), *house.marks] if house else [0] * 5
        seen += [state.price, state.left[seat], state.profits[seat], *persona.weights]
        seen += [state.leader == seat, sum(state.bidding)]
        seen.append(self.rival(state, seat) if profiles and not state.ended else -1)
        seen += [len(won) for won in state.won]
        seen += [sum(price for _, price in won) for won in state.won]
        open_tastes = self.knowledge != "none"
        seen += [
            p.favourite if open_tastes or other == seat else -1
            for other, p in enumerate(state.personas)
        ]
        return np.array(seen, np.float32)

    def scene(self, state: Sale, seat: int | None = None) -> Scene:
        """The house and its marks, the bidders, and the remaining budgets that the seat knows."""
        parts: list[Part] = []
        lines: list[str] = []
        if state.house < self.houses:
            house = state.houses[state.house]
            title = f"House {state.house + 1} of {self.houses}: {house.name}"
            parts.append(Table(ATTRIBUTES, (tuple(map(str, house.marks)),), title))
            lines = self._bidding_text(state)
        people = tuple(self._bidder(state, one, seat) for one in range(self.num_players))
        for_sale = (Card(colour="brown", sprite="house"),) if state.house < self.houses else ()
        words = f"{state.price}" if lines else ""
        parts.insert(0, RoundTable(people, for_sale, words))
        return Scene(parts=tuple(parts), lines=tuple(lines))

    def _bidder(self, state: Sale, one: int, seat: int | None) -> Person:
        """Somebody with the houses they bought, and their budget if the viewer may know it."""
        known = seat in (None, one)
        cards = tuple(
            Card(str(price), colour=one, label=state.houses[number].name, sprite="house")
            for number, price in state.won[one]
        )
        budget = state.personas[one].budget
        return Person(
            self.players[one],
            one,
            "leads" if one == state.leader and state.house < self.houses else "",
            f"{state.left[one]} left" if known else "",
            cards,
            acting=one in self.to_act(state),
            share=state.left[one] / max(budget, 1) if known else None,
        )


def house_text(house: House) -> str:
    """A house's name and marks."""
    marks = ", ".join(f"{name} {mark}" for name, mark in zip(ATTRIBUTES, house.marks, strict=True))
    return f"{house.name}, {marks}."


def weights_text(persona: Persona) -> str:
    """Weights by attribute, in percent."""
    pairs = zip(ATTRIBUTES, persona.weights, strict=True)
    return ", ".join(f"{name} {weight}" for name, weight in pairs)


def persona_text(persona: Persona) -> str:
    """Weights and budget, as text for the bidder."""
    return (
        f"your weights are {weights_text(persona)} percent, and your budget was {persona.budget}."
    )
