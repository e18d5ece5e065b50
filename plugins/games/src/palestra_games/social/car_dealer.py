"""The car dealer: find out what a buyer wants, and agree on a car and a price.

A dealer has some cars; the cost of each, and its worth to buyers, are in a table both know. A car
is worth more to a buyer if it is of the kind and of the colour they wish, and only they know what
they wish. The dealer may ask for either, once, and the buyer may answer anything. Dealer and buyer
name a car and a price in turn, the dealer first; whoever hears an offer accepts it, names another
or leaves. After the last offer there is only yes or no. The setting is that of the car dealer of
Abdulhai et al., "LMRL Gym: Benchmarks for Multi-Turn Reinforcement Learning with Language Models",
2023, whose guessing games ArCHer plays; there a model plays the buyer and the dealer is paid the
price, here both are players.

Checked: where wishes are told truly, backward induction (I. Ståhl, "Bargaining
Theory", 1972) sells the car with the greatest surplus s at once, and leaves the dealer of n offers
in all s (1 - (-d)^n) / (1 + d) of it, d being the discount.

Left out: the paper's recorded conversations and the model that plays its buyer; here both are
players.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, floor
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    Integer,
    InvalidOption,
    Meta,
    OneOf,
    Option,
    Outcome,
    Result,
    Rng,
    Scene,
    ScriptedAgent,
    Seat,
    Step,
    TextAction,
    TextGame,
    Turn,
    agent,
    environment,
    only,
)
from palestra.scene import Card, Cards, Saying, Table, Talk

DEALER, BUYER = 0, 1
TRADE, ANSWER, OVER = range(3)
UNKNOWN = -1
SUBJECTS = ("kind", "colour")
KIND_BONUS, COLOUR_BONUS = 8, 4  # added to a car's worth by a wish that is met
MAX_CARS, MAX_PRICE = 20, 1000


class Car(NamedTuple):
    """A car of the table; `worth` is to a buyer none of whose wishes it meets, in thousands."""

    name: str
    kind: str
    colour: str
    cost: int
    worth: int


CARS = (
    Car("Finch", "compact", "red", 10, 11),
    Car("Wren", "compact", "blue", 12, 12),
    Car("Heron", "estate", "blue", 15, 17),
    Car("Stork", "estate", "white", 14, 15),
    Car("Bison", "van", "white", 20, 21),
    Car("Moose", "van", "red", 22, 22),
)


class Ask(TextAction, frozen=True):
    """Ask the buyer for the kind or the colour they wish."""

    about: str


class Tell(TextAction, frozen=True):
    """Answer the dealer, truly or not."""

    wish: str


class Offer(TextAction, frozen=True):
    """Name a car and a price in thousands."""

    car: str
    price: int


class Accept(TextAction, frozen=True):
    """Take the offer that stands."""


class Leave(TextAction, frozen=True):
    """End the talks without a sale."""


@dataclass(slots=True)
class Talks:
    """The state: the buyer's wishes, what they said of them, and the offer that stands."""

    rng: Rng
    wishes: tuple[int, int]  # kind and colour, by number
    told: tuple[int, int] = (UNKNOWN, UNKNOWN)  # the same as the buyer answered
    asked: int = UNKNOWN  # the subject the buyer has to answer
    turn: int = DEALER  # who makes the next offer
    offers: int = 0
    last: tuple[int, int, int] = (UNKNOWN, UNKNOWN, UNKNOWN)  # who, which car, what price
    ended: str = ""  # "sold" or "left"


@environment(
    "games/CarDealer-v0",
    family="social",
    tags=("bargaining", "roles", "hidden-information", "deterministic", "questions"),
    paper=(
        "Abdulhai et al. (2023), LMRL Gym: Benchmarks for Multi-Turn Reinforcement Learning "
        "with Language Models; Ståhl (1972), Bargaining Theory"
    ),
)
@dataclass(frozen=True)
class CarDealer(TextGame[Talks]):
    """The car dealer: find out what a buyer wants, and agree on a car and a price.

    The menu numbers questions, answers, every car at every price, Accept() and Leave(). An
    observation is an int16 vector of 11 numbers, -1 being what nobody or not this player knows:

        role, phase, whose turn         0 sells, 1 buys; 0 trade, 1 answer, 2 over
        offers made
        the last offer                  who made it, the car, the price
        wishes as told, as they are     kind and colour each

    A sale pays the dealer the price less the cost, and the buyer the worth less the price, times
    `discount` for every offer before it; no sale pays nothing.
    """

    offers: Annotated[
        int, Meta(ge=1, le=100, description="most offers in an episode, by both together")
    ] = 5
    discount: Annotated[
        float, Meta(gt=0, le=1, description="factor on both payoffs for every offer refused")
    ] = 0.9
    cars: Annotated[
        tuple[tuple[str, str, str, int, int], ...],
        Meta(
            min_length=1,
            max_length=MAX_CARS,
            description="rows of name, kind, colour, cost and worth, amounts in thousands",
        ),
    ] = CARS
    top_price: Annotated[
        int, Meta(ge=1, le=MAX_PRICE, description="highest price that may be offered, in thousands")
    ] = 50

    rules_text = """
        A dealer, player_0, and a buyer, player_1, negotiate about a car and its price.

        The dealer may first ask what the buyer wishes, Ask(about='kind') or Ask(about='colour'),
        each once; the buyer answers, Tell(wish='van'), and need not say the truth. Then they make
        offers in turn, the dealer first: Offer(car='Heron', price=20), in thousands. Whoever hears
        an offer writes Accept(), or makes another, or ends the talks without a sale: Leave(). A
        sale pays the dealer the price less the cost of the car, and the buyer what the car is worth
        to them less the price.
    """
    order = "sequential"
    payoffs = "general"
    num_players = 2
    perfect_information = False
    deterministic = True
    reward_terms = ("surplus",)
    action_types = (Ask, Tell, Offer, Accept, Leave)

    def validate(self) -> None:
        amounts = [amount for car in self.stock for amount in (car.cost, car.worth)]
        kinds, colours = self.choices
        distinct = len(set(self.names)) == len(self.names) and not set(kinds) & set(colours)
        if not distinct or not all(0 <= amount <= MAX_PRICE for amount in amounts):
            raise InvalidOption(
                "cars must have different names, no kind that is also a colour, and costs and "
                f"worths from 0 to {MAX_PRICE}, not {self.cars!r}"
            )

    # Derived from the options

    @cached_property
    def stock(self) -> tuple[Car, ...]:
        return tuple(Car(*car) for car in self.cars)

    @cached_property
    def choices(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The kinds and the colours there are, in order of the table."""
        kinds, colours = (dict.fromkeys(c) for c in zip(*[c[1:3] for c in self.stock], strict=True))
        return tuple(kinds), tuple(colours)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(car.name for car in self.stock)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        costs, most = [car.cost for car in self.stock], float(self.top_price)
        worth = [car.worth for car in self.stock]
        low = min(-max(costs), min(worth) - most, 0)
        return (float(low), float(max(most, max(worth) + KIND_BONUS + COLOUR_BONUS)))

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        return (Seat(self.players[0], "dealer"), Seat(self.players[1], "buyer", 1))

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Questions, answers, every offer, yes and no."""
        prices = range(self.top_price + 1)
        return (
            *map(Ask, SUBJECTS),
            *(Tell(wish) for wishes in self.choices for wish in wishes),
            *(Offer(name, price) for name in self.names for price in prices),
            Accept(),
            Leave(),
        )

    def value(self, car: int, wishes: tuple[int, int]) -> int:
        """What a car is worth to a buyer with these wishes."""
        it, (kinds, colours) = self.stock[car], self.choices
        kind, colour = it.kind == kinds[wishes[0]], it.colour == colours[wishes[1]]
        return it.worth + KIND_BONUS * kind + COLOUR_BONUS * colour

    def best_car(self, wishes: tuple[int, int]) -> tuple[int, int]:
        """The car with the greatest surplus for these wishes, and that surplus."""
        gains = [self.value(n, wishes) - car.cost for n, car in enumerate(self.stock)]
        return gains.index(max(gains)), max(gains)

    # The rules

    def initial_state(self, seed: int | None = None) -> Talks:
        rng = Rng.seeded(seed)
        kinds, colours = self.choices
        return Talks(rng, (rng.below(len(kinds)), rng.below(len(colours))))

    def to_act(self, state: Talks) -> tuple[int, ...]:
        if state.ended:
            return ()
        return (BUYER,) if state.asked != UNKNOWN else (state.turn,)

    def legal(self, state: Talks, seat: int) -> Grammar:
        if state.asked != UNKNOWN:
            return answer_grammar(self.choices[state.asked])
        open_subjects: tuple[str, ...] = ()
        if seat == DEALER:
            open_subjects = tuple(
                s for s, t in zip(SUBJECTS, state.told, strict=True) if t == UNKNOWN
            )
        may_offer = state.offers < self.offers
        return trade_grammar(self.names, self.top_price, open_subjects, may_offer, state.offers > 0)

    def step(self, state: Talks, actions: Mapping[int, Any]) -> Step:
        ((seat, action),) = actions.items()
        name, data = self.players[seat], {"player": seat}
        if isinstance(action, Ask):
            state.asked = SUBJECTS.index(action.about)
            text = f"{name} asks for the {action.about}."
            return Step(events=[Event("ask", text, {**data, "about": action.about})])
        if isinstance(action, Tell):
            told = list(state.told)
            told[state.asked] = self.choices[state.asked].index(action.wish)
            state.told, state.asked = (told[0], told[1]), UNKNOWN
            text = f"{name} says: {action.wish}."
            return Step(events=[Event("message", text, {**data, "wish": action.wish})])
        if isinstance(action, Offer):
            state.last = (seat, self.names.index(action.car), action.price)
            state.offers, state.turn = state.offers + 1, 1 - seat
            text = f"{name} offers: the {action.car} for {action.price}."
            return Step(events=[Event("offer", text, {"car": action.car, "price": action.price})])
        state.ended = "sold" if isinstance(action, Accept) else "left"
        wishes = ", ".join(self._wish_names(state.wishes))
        reveal = Event("reveal", f"The buyer wished: {wishes}.", {"wishes": state.wishes})
        text = f"{name} {'accepts' if state.ended == 'sold' else 'leaves'}."
        paid = {s: {"surplus": n} for s, n in enumerate(self.scores(state)) if n}
        return Step(paid, events=[Event(state.ended, text, data), reveal])

    def scores(self, state: Talks) -> tuple[float, float]:
        """The payoffs of dealer and buyer; 0 without a sale."""
        if state.ended != "sold":
            return (0.0, 0.0)
        _, car, price = state.last
        weight = self.discount ** (state.offers - 1)
        cost, value = self.stock[car].cost, self.value(car, state.wishes)
        return weight * (price - cost), weight * (value - price)

    def outcome(self, state: Talks) -> Outcome | None:
        if not state.ended:
            return None
        score: Result = "score"
        reason = "nothing was sold"
        if state.ended == "sold":
            reason = f"the {self.names[state.last[1]]} was sold for {state.last[2]}"
        return Outcome((score, score), self.scores(state), reason)

    def opening(self, state: Talks) -> Sequence[Event]:
        text = f"You wish: {', '.join(self._wish_names(state.wishes))}."
        return [Event("wish", text, {"wishes": state.wishes}, only(BUYER))]

    def noop(self, state: Talks, seat: int) -> TextAction | None:
        return None if state.asked != UNKNOWN else Leave()

    def deals(self) -> list[tuple[float, Talks]]:
        """Every pair of wishes, equally likely."""
        kinds, colours = map(len, self.choices)
        chance = 1 / kinds / colours
        return [(chance, Talks(Rng(0), (k, c))) for k in range(kinds) for c in range(colours)]

    def determinize(self, state: Talks, seat: int, rng: Rng) -> Talks:
        """Redraw the wishes, which the dealer does not know, regardless of what the buyer said."""
        copy = self.clone(state)
        if seat == DEALER and not state.ended:
            kinds, colours = self.choices
            copy.wishes = (rng.below(len(kinds)), rng.below(len(colours)))
        return copy

    # What a player sees

    def _wish_names(self, wishes: Sequence[int]) -> list[str]:
        return [self.choices[subject][wish] for subject, wish in enumerate(wishes)]

    def rules_for(self, seat: int) -> str:
        cars = [
            f"- {car.name}, a {car.colour} {car.kind}: cost {car.cost}, worth {car.worth}."
            for car in self.stock
        ]
        return "\n".join(
            [
                super().rules_for(seat),
                *cars,
                f"The kind the buyer wishes adds {KIND_BONUS} to its worth for them, the colour "
                f"{COLOUR_BONUS}.",
                f"There are at most {self.offers} offers, of both together. Every offer before the "
                f"one that is accepted multiplies what both are paid by {self.discount:g}.",
            ]
        )

    def describe(self, state: Talks, seat: int) -> str:
        lines = [
            f"You are {self.players[seat]}, the {self.seats[seat].role}. Offers made: "
            f"{state.offers} of {self.offers}."
        ]
        if seat == BUYER or state.ended:
            lines.append(f"The buyer wishes: {', '.join(self._wish_names(state.wishes))}.")
        for subject, told in enumerate(state.told):
            if told != UNKNOWN:
                lines.append(f"The buyer said, {SUBJECTS[subject]}: {self.choices[subject][told]}.")
        if state.asked != UNKNOWN:
            lines.append(f"The dealer asks for the {SUBJECTS[state.asked]}.")
        if state.offers:
            who, car, price = state.last
            stands = f"the {self.names[car]} for {price}"
            lines.append(f"{self.players[who]} offered {stands}.")
        if state.ended:
            lines.append("The car is sold." if state.ended == "sold" else "There was no sale.")
        return "\n".join(lines)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        return spaces.Box(-1, max(self.offers, self.top_price, MAX_CARS), (11,), np.int16)

    def observe(self, state: Talks, seat: int) -> NDArray[np.int16]:
        """The observation vector; the class docstring gives the layout."""
        phase = OVER if state.ended else ANSWER if state.asked != UNKNOWN else TRADE
        turn = BUYER if phase == ANSWER else state.turn
        wishes = state.wishes if seat == BUYER or state.ended else (UNKNOWN, UNKNOWN)
        row = [seat, phase, turn, state.offers, *state.last, *state.told, *wishes]
        return np.array(row, np.int16)

    def scene(self, state: Talks, seat: int | None = None) -> Scene:
        """The cars with what they cost, and what was said of them."""
        cars = tuple(
            Card(
                car.name,
                colour=car.colour,
                label=f"{car.colour} {car.kind}",
                badge=str(car.cost),
                sprite="car",
            )
            for car in self.stock
        )
        rows = tuple((car.name, car.kind, car.colour, str(car.cost)) for car in self.stock)
        table = Table(("car", "kind", "colour", "cost"), rows)
        wishes = f"The buyer wishes: {', '.join(self._wish_names(state.wishes))}."
        lines: tuple[str, ...] = () if seat == DEALER and not state.ended else (wishes,)
        ends = {"sold": "The car is sold.", "left": "There was no sale."}
        lines += (ends[state.ended],) if state.ended else ()
        return Scene(parts=(Cards("for sale", cars), table, self._talk(state)), lines=lines)

    def _talk(self, state: Talks) -> Talk:
        """What was asked, answered and offered last."""
        dealer, buyer = (self.players[one] for one in (DEALER, BUYER))
        said = []
        for subject, told in enumerate(state.told):
            if told != UNKNOWN:
                said.append(Saying(dealer, f"Which {SUBJECTS[subject]}?", DEALER))
                said.append(Saying(buyer, self.choices[subject][told], BUYER))
        if state.asked != UNKNOWN:
            said.append(Saying(dealer, f"Which {SUBJECTS[state.asked]}?", DEALER))
        if state.offers:
            who, car, price = state.last
            said.append(Saying(self.players[who], f"The {self.names[car]} for {price}.", who))
        return Talk(tuple(said))


@lru_cache(maxsize=64)
def answer_grammar(wishes: tuple[str, ...]) -> Grammar:
    return Grammar((Option(Tell, {"wish": OneOf(wishes)}),))


@lru_cache(maxsize=256)
def trade_grammar(
    names: tuple[str, ...], top: int, subjects: tuple[str, ...], may_offer: bool, may_accept: bool
) -> Grammar:
    """All that may be said except answers; a dealer may not ask once no offer is left."""
    options = []
    if may_offer and subjects:
        options.append(Option(Ask, {"about": OneOf(subjects)}))
    if may_offer:
        options.append(Option(Offer, {"car": OneOf(names), "price": Integer(0, top)}))
    if may_accept:
        options.append(Option(Accept))
    return Grammar((*options, Option(Leave)))


@agent("car-trader", needs=("array",))
class CarTrader(ScriptedAgent[CarDealer]):
    """Sells or buys a car by backward induction, or claims the whole surplus.

    As the dealer it asks for both wishes and believes the answers, as the buyer it answers truly.
    The patient style makes offers that leave the other exactly as well off as waiting, and accepts
    offers that are as good as waiting. The stubborn style always offers to keep all of the surplus
    itself and takes nothing less before the last offer.
    """

    def __init__(
        self,
        *,
        style: Annotated[
            Literal["patient", "stubborn"],
            Meta(
                description="'patient' shares the surplus by backward induction, 'stubborn' keeps "
                "it all"
            ),
        ] = "patient",
    ) -> None:
        super().__init__(seed=0)
        self._patient = style == "patient"

    def choose(self, turn: Turn[CarDealer]) -> TextAction:
        game = turn.game
        seen = np.asarray(turn.observation).tolist()
        role, phase, _, made, _, car, price, *told = seen
        wishes = (told[0], told[1]) if role == DEALER else (told[2], told[3])
        if phase == ANSWER:
            subject = 0 if Tell(game.choices[0][wishes[0]]) in turn.legal else 1
            return Tell(game.choices[subject][wishes[subject]])
        left = game.offers - made
        if UNKNOWN in wishes and left:
            return Ask(SUBJECTS[wishes.index(UNKNOWN)])
        best, surplus = game.best_car(wishes)
        if made:
            gain = price - game.stock[car].cost
            gain = gain if role == DEALER else game.value(car, wishes) - price
            wait = game.discount * self._share(game, left) * surplus if left else 0.0
            if gain >= wait - 1e-9:
                return Accept()
        if not left or surplus < 0:
            return Leave()
        keep = self._share(game, left) * surplus
        asked = floor(game.stock[best].cost + keep + 1e-9)
        if role == BUYER:
            asked = ceil(game.value(best, wishes) - keep - 1e-9)
        return Offer(game.names[best], min(max(asked, 0), game.top_price))

    def _share(self, game: CarDealer, left: int) -> float:
        return stahl(game.discount, left) if self._patient else 1.0


def stahl(discount: float, offers: int) -> float:
    """The share of the surplus kept by the player who makes the first of this many offers."""
    return (1 - (-discount) ** offers) / (1 + discount)
