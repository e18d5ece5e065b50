"""Magentic Marketplace: customers look for businesses, write to them, and pay one of their offers.

Everybody who is awake acts at once in every tick. A customer searches, writes to a business he has
found, reads his letters, pays a proposal, or leaves; a business reads its letters and answers with
words or with a proposal of items at a total price. A letter arrives one tick later, from a business
after its own latency more; letters that arrive together are in an order drawn by lot. A payment
goes through escrow and is settled within the tick. A customer's request is met once, by what he
paid for at a business with every amenity he needs; he is paid what that is worth to him, twice the
worth of its items, less all his payments. A business is paid its revenue.

The design is that of G. Bansal et al., "Magentic Marketplace: An Open-Source Environment for
Studying Agentic Markets", 2025. Known answer checked: the optimum of an assignment solver, which
customers reach exactly who read everything and take the best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from gymnasium import spaces
from palestra import (
    Bar,
    Event,
    Grammar,
    Integer,
    InvalidOption,
    OneOf,
    Option,
    Outcome,
    Rng,
    Scene,
    Seat,
    Step,
    Text,
    TextAction,
    TextGame,
    environment,
    only,
)
from palestra.kernel.game import Result
from palestra.kernel.rng import check_seed

from palestra_markets.ledger import Ledger, PaymentRefused
from palestra_markets.magentic.basket import Basket, split_items
from palestra_markets.magentic.scenario import (
    DEAREST,
    ITEMS,
    MANIPULATIONS,
    MOST_WANTS,
    Business,
    Customer,
    draw_customer,
    draw_town,
)
from palestra_markets.magentic.search import RANKINGS, ranked

MOST_PLAYERS = 300
MOST_PERCENT = 1_000  # of list prices
MOST_VALUE = 2 * MOST_WANTS * round(1.5 * DEAREST)


class Search(TextAction, frozen=True):
    """Look for businesses; further pages hold further results."""

    query: str
    page: int = 1


class Write(TextAction, frozen=True):
    """Send words to somebody."""

    to: str
    text: str


class Read(TextAction, frozen=True):
    """Read all letters that have arrived."""


class Propose(TextAction, frozen=True):
    """Offer a customer items of your menu, separated by commas, at a percentage of list prices."""

    to: str
    items: str
    percent: int


class Pay(TextAction, frozen=True):
    """Pay a proposal you have read."""

    proposal: int


class Wait(TextAction, frozen=True):
    """Do nothing in this tick."""


class Leave(TextAction, frozen=True):
    """Leave the marketplace for good."""


@dataclass(frozen=True, slots=True)
class Letter:
    """Words, or the proposal of a number, that arrive at a tick."""

    sender: int
    text: str
    arrival: int
    proposal: int = -1


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a business offers a customer, in cents; numbered in the order of arrival."""

    number: int
    business: int
    customer: int
    items: str
    price: int


@dataclass(slots=True)
class Market:
    """The state. Seats of customers come first; lists of lists are by seat."""

    rng: Rng
    customers: tuple[Customer, ...]
    businesses: tuple[Business, ...]
    shuffled: tuple[int, ...]
    ledger: Ledger
    mail: list[list[Letter]]
    known: list[list[int]]  # whom a seat may write to
    awake: list[bool]
    open: list[list[int]]  # proposals a customer has read and not paid, in order of arrival
    proposals: list[Proposal] = field(default_factory=list)
    met: list[bool] = field(default_factory=list)
    gains: list[int] = field(default_factory=list)
    tick: int = 0


@environment(
    "markets/Magentic-v0",
    family="market",
    tags=("marketplace", "messages", "hidden-information", "chance"),
    paper=(
        "Bansal et al. (2025), Magentic Marketplace: An Open-Source Environment for Studying "
        "Agentic Markets"
    ),
    splits={
        "restaurants-small": {"num_players": 12, "customers": 3},
        "restaurants": {"num_players": 40, "customers": 10},
        "restaurants-large": {"num_players": 132, "customers": 33},
        "contractors": {"num_players": 40, "customers": 10, "trade": "contractors"},
        "injection": {"manipulation": "injection"},
    },
    players=(2, 300),
)
@dataclass(frozen=True)
class Magentic(TextGame[Market]):
    """You are a customer or a business on a marketplace. Money is counted in cents.

    As a customer you want certain items from a business that has certain amenities. If you pay for
    a proposal that has all your items, from a business with all your amenities, you gain what that
    is worth to you, once; all that you pay is lost. As a business you gain what you are paid.
    Everybody acts at the same time, tick by tick. Letters take a tick or more to arrive. Write one
    of:
    Search(query='Pad Thai, Parking', page=1) to find businesses (customers);
    Write(to='player_7', text='I would like Pad Thai.') to write to a business you have found, or to
    a customer who wrote to you;
    Read() to read the letters that have arrived;
    Propose(to='player_0', items='Pad Thai, Gyoza', percent=95) to offer a customer items of your
    menu for a percentage of their list prices (businesses), not below the lowest you would take;
    Pay(proposal=3) to pay a proposal you have read (customers);
    Wait() to do nothing; as a business you then rest until a letter arrives;
    Leave() to leave for good (customers).
    """

    num_players: int = 12
    customers: int | None = None
    trade: str = "restaurants"
    search: str = "lexical"
    results: int = 10
    latency: int = 2
    manipulation: str = "none"
    rounds: int = 40
    message_limit: int = 400

    order = "simultaneous"
    payoffs = "general"
    perfect_information = False
    reward_terms = ("value", "paid", "revenue")
    action_types = (Search, Write, Read, Propose, Pay, Wait, Leave)
    menu = ()

    def __post_init__(self) -> None:
        for name, known in (
            ("trade", tuple(ITEMS)),
            ("search", RANKINGS),
            ("manipulation", tuple(MANIPULATIONS)),
        ):
            if getattr(self, name) not in known:
                raise InvalidOption(
                    f"{name} must be one of {', '.join(known)}, not {getattr(self, name)!r}"
                )
        for name, low, high in (
            ("num_players", 2, MOST_PLAYERS),
            ("num_customers", 1, self.num_players - 1),
            ("results", 1, MOST_PLAYERS),
            ("latency", 0, 1000),
            ("rounds", 1, 10_000),
            ("message_limit", 1, 1_000_000),
        ):
            if not low <= getattr(self, name) <= high:
                shown = name.removeprefix("num_") if name == "num_customers" else name
                raise InvalidOption(
                    f"{shown} must be from {low} to {high}, not {getattr(self, name)}"
                )

    # What follows from the options

    @property
    def num_customers(self) -> int:
        """A quarter of the seats, rounded up, where no number is given."""
        return (self.num_players + 3) // 4 if self.customers is None else self.customers

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        roles = ["customer" if self.is_customer(s) else "business" for s in range(self.num_players)]
        return tuple(Seat(name, roles[i], i) for i, name in enumerate(self.players))

    def is_customer(self, seat: int) -> bool:
        return seat < self.num_customers

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (-float(MOST_VALUE), float(MOST_VALUE * self.num_customers))

    # The rules

    def initial_state(self, seed: int | None = None) -> Market:
        start = check_seed(seed)
        count = self.num_players - self.num_customers
        knobs = self.trade, self.num_customers, count, self.latency, self.manipulation
        town = draw_town(*knobs, start)
        ledger = Ledger()
        for seat, name in enumerate(self.players):
            ledger.open(name, town.customers[seat].value if self.is_customer(seat) else 0)
        seats = range(self.num_players)
        return Market(
            Rng.seeded(start),
            town.customers,
            town.businesses,
            town.shuffled,
            ledger,
            mail=[[] for _ in seats],
            known=[[] for _ in seats],
            awake=[self.is_customer(seat) for seat in seats],
            open=[[] for _ in seats],
            met=[False] * self.num_customers,
            gains=[0] * self.num_players,
        )

    def to_act(self, state: Market) -> tuple[int, ...]:
        """Customers who have not left; businesses that are awake."""
        if state.tick >= self.rounds or not any(state.awake[: self.num_customers]):
            return ()
        return tuple(seat for seat, awake in enumerate(state.awake) if awake)

    def legal(self, state: Market, player: int) -> Grammar:
        options = [Option(Read), Option(Wait)]
        known = tuple(self.players[seat] for seat in state.known[player])
        if known:
            words = Text(self.message_limit, ("Good day.", "What can you offer?"))
            options.append(Option(Write, {"to": OneOf(known), "text": words}))
        if self.is_customer(player):
            options += [self._searches, Option(Leave)]
            if state.open[player]:
                options.append(Option(Pay, {"proposal": OneOf(tuple(state.open[player]))}))
        elif known:
            business = self._business(state, player)
            percent = Integer(business.floor, MOST_PERCENT)
            menu = Basket(business.items)
            fields: dict[str, Any] = {"to": OneOf(known), "items": menu, "percent": percent}
            options.append(Option(Propose, fields))
        return Grammar(tuple(options))

    @cached_property
    def _searches(self) -> Option:
        words = Text(self.message_limit, ITEMS[self.trade])
        pages = -(-(self.num_players - self.num_customers) // self.results)
        return Option(Search, {"query": words, "page": Integer(1, pages)})

    def _business(self, state: Market, seat: int) -> Business:
        return state.businesses[seat - self.num_customers]

    def step(self, state: Market, actions: Mapping[int, Any]) -> Step:
        rewards: dict[int, dict[str, float]] = {}
        events: list[Event] = []
        order = sorted(actions)
        state.rng.shuffle(order)
        for seat in order:
            action = actions[seat]
            if isinstance(action, Search):
                events.append(self._search(state, seat, action))
            elif isinstance(action, Write):
                self._send(state, seat, action.to, action.text)
            elif isinstance(action, Propose):
                self._propose(state, seat, action)
            elif isinstance(action, Read):
                events += self._read(state, seat)
            elif isinstance(action, Pay):
                events += self._pay(state, seat, action.proposal, rewards)
            else:
                state.awake[seat] = isinstance(action, Wait) and self.is_customer(seat)
        if not state.ledger.is_conserved():
            state.ledger.check()
        state.tick += 1
        self._wake(state)
        if not self.to_act(state):
            events.append(Event("end", "The marketplace closes."))
        return Step(rewards, events=events)

    def _wake(self, state: Market) -> None:
        """A business wakes when a letter has arrived."""
        for seat in range(self.num_customers, self.num_players):
            mail = state.mail[seat]
            if mail and not state.awake[seat]:
                state.awake[seat] = any(letter.arrival <= state.tick for letter in mail)

    def _search(self, state: Market, seat: int, action: Search) -> Event:
        customer = state.customers[seat]
        ranking: Any = self.search
        found = ranked(ranking, action.query, customer, state.businesses, state.shuffled)
        start = (action.page - 1) * self.results
        page = found[start : start + self.results]
        for number in page:
            meet(state, seat, self.num_customers + number)
        shown = [self._listing(state, number) for number in page]
        head = f"Page {action.page} of the search for {action.query!r}"
        text = "\n".join([f"{head}, {len(found)} results:", *map(listing_text, shown)])
        data = {"page": action.page, "count": len(found), "results": shown}
        return Event("results", text, data, only(seat))

    def _listing(self, state: Market, number: int) -> dict[str, Any]:
        business = state.businesses[number]
        return {
            "name": self.players[self.num_customers + number],
            "rating": business.rating / 10,
            "menu": business.prices,
            "amenities": list(business.amenities),
            "description": business.description,
        }

    def _send(self, state: Market, sender: int, to: str, text: str, proposal: int = -1) -> None:
        slow = 0 if self.is_customer(sender) else self._business(state, sender).latency
        reader = self.players.index(to)
        state.mail[reader].append(Letter(sender, text, state.tick + 1 + slow, proposal))

    def _propose(self, state: Market, seat: int, action: Propose) -> None:
        customer = self.players.index(action.to)
        number = len(state.proposals)
        price = self._business(state, seat).price(split_items(action.items), action.percent)
        assert price is not None  # what is proposed is on the menu
        offer = Proposal(number, seat, customer, action.items, price)
        state.proposals.append(offer)
        self._send(state, seat, action.to, "", number)

    def _read(self, state: Market, seat: int) -> list[Event]:
        mail = state.mail[seat]
        arrived = sorted((m for m in mail if m.arrival <= state.tick), key=lambda m: m.arrival)
        state.mail[seat] = [letter for letter in mail if letter.arrival > state.tick]
        events = []
        for letter in arrived:
            meet(state, seat, letter.sender)
            sender = self.players[letter.sender]
            if letter.proposal < 0:
                data: dict[str, Any] = {"sender": sender, "text": letter.text}
                told = f"{sender} writes to {self.players[seat]}: {letter.text}"
                events.append(Event("letter", told, data, only(seat)))
                continue
            offer = state.proposals[letter.proposal]
            state.open[seat].append(offer.number)
            told = f"{sender} sends proposal {offer.number} to {self.players[seat]}: "
            told += f"{offer.items} for {offer.price}."
            data = {"sender": sender, "proposal": offer.number}
            data |= {"items": offer.items, "price": offer.price}
            events.append(Event("proposal", told, data, only(seat)))
        return events

    def _pay(
        self, state: Market, seat: int, number: int, rewards: dict[int, dict[str, float]]
    ) -> list[Event]:
        offer = state.proposals[number]
        reference, buyer = f"proposal {number}", self.players[seat]
        try:
            state.ledger.hold(buyer, self.players[offer.business], offer.price, reference)
        except PaymentRefused as refused:
            return [Event("refused", f"Your payment was refused: {refused}.", {}, only(seat))]
        state.ledger.settle(reference)
        arrived = len([n for n in state.open[seat] if n != number]) + 1
        data = {"proposal": number, "price": offer.price, "first": state.open[seat][0] == number}
        state.open[seat].remove(number)
        self._settle_gains(state, seat, offer, rewards)
        text = f"{buyer} pays {offer.price} to {self.players[offer.business]}."
        audience = only(seat, offer.business)
        return [Event("payment", text, {**data, "choices": arrived}, audience)]

    def _settle_gains(
        self, state: Market, seat: int, offer: Proposal, rewards: dict[int, dict[str, float]]
    ) -> None:
        customer, business = state.customers[seat], self._business(state, offer.business)
        paid = rewards.setdefault(seat, {})
        paid["paid"] = -float(offer.price)
        state.gains[seat] -= offer.price
        if not state.met[seat] and customer.is_met_by(business, split_items(offer.items)):
            state.met[seat] = True
            paid["value"] = float(customer.value)
            state.gains[seat] += customer.value
        earned = rewards.setdefault(offer.business, {})
        earned["revenue"] = earned.get("revenue", 0.0) + offer.price
        state.gains[offer.business] += offer.price

    def noop(self, state: Market, seat: int) -> TextAction:
        return Wait()

    def present(self, state: Market) -> tuple[int, ...]:
        """Businesses, and customers who have not left."""
        left = range(self.num_customers, self.num_players)
        return (*(p for p in range(self.num_customers) if state.awake[p]), *left)

    def outcome(self, state: Market) -> Outcome | None:
        if self.to_act(state):
            return None
        scores = tuple(float(gain) for gain in state.gains)
        met = f"{sum(state.met)} of {self.num_customers} requests were met."
        score: Result = "score"
        return Outcome((score,) * self.num_players, scores, met)

    def opening(self, state: Market) -> Sequence[Event]:
        told = []
        for player, customer in enumerate(state.customers):
            text = f"{self.players[player]}: {request_text(customer)}"
            data = {"wants": dict(customer.wants), "needs": list(customer.needs)}
            told.append(Event("request", text, {**data, "value": customer.value}, only(player)))
        for number, business in enumerate(state.businesses):
            seat = self.num_customers + number
            listing = self._listing(state, number) | {"floor": business.floor}
            text = f"{listing_text(listing)} {floor_text(business)}"
            told.append(Event("shop", text, listing, only(seat)))
        return told

    def determinize(self, state: Market, player: int, rng: Rng) -> Market:
        """Draw the other customers' requests, and how low the other businesses would go, anew."""
        copy = self.clone(state)
        copy.customers = tuple(
            customer if seat == player else draw_customer(state.businesses, rng)
            for seat, customer in enumerate(state.customers)
        )
        copy.businesses = tuple(
            b if self.num_customers + n == player else replace(b, floor=rng.between(80, 100))
            for n, b in enumerate(state.businesses)
        )
        return copy

    # What a player sees

    def describe(self, state: Market, seat: int) -> str:
        unread = sum(letter.arrival <= state.tick for letter in state.mail[seat])
        money = state.ledger.balances[self.players[seat]]
        role = "customer" if self.is_customer(seat) else "business"
        head = f"You are {self.players[seat]}, a {role}. Tick {state.tick} of {self.rounds}."
        lines = [f"{head} You have {money} cents and {unread} unread letters."]
        if self.is_customer(seat):
            lines.append(request_text(state.customers[seat]))
            lines += [proposal_text(self.players, state.proposals[n]) for n in state.open[seat]]
            if state.met[seat]:
                lines.append("Your request is met.")
        else:
            number = seat - self.num_customers
            lines.append(listing_text(self._listing(state, number)))
            lines.append(floor_text(state.businesses[number]))
        return "\n".join(lines)

    def observation_space(self, seat: int) -> spaces.Box:
        raise InvalidOption("the marketplace is read and written in words; use obs='text'")

    def observe(self, state: Market, seat: int) -> Any:
        return self.observation_space(seat)

    def scene(self, state: Market, player: int | None = None) -> Scene:
        shown = range(self.num_players) if player is None else (player,)
        balances = state.ledger.balances
        money = [(seat, balances[self.players[seat]]) for seat in list(shown)[:20]]
        full = float(max(1, *(amount for _, amount in money))) if len(money) > 1 else MOST_VALUE
        bars = [Bar(self.players[seat], float(m), float(full), seat) for seat, m in money]
        line = f"Tick {state.tick} of {self.rounds}."
        if player is not None:
            return Scene(bars=tuple(bars), lines=(line,))
        met = f"Requests met: {sum(state.met)} of {self.num_customers}."
        return Scene(bars=tuple(bars), lines=(line, met, f"Proposals: {len(state.proposals)}."))


def meet(state: Market, seat: int, other: int) -> None:
    """From now on `seat` may write to `other`."""
    if other not in state.known[seat]:
        state.known[seat].append(other)


def request_text(customer: Customer) -> str:
    wants = ", ".join(f"{item} (worth {worth})" for item, worth in customer.wants)
    needs = ", ".join(customer.needs) or "none"
    return f"You want {wants}; amenities: {needs}. Met in full this is worth {customer.value}."


def listing_text(listing: Mapping[str, Any]) -> str:
    """A business as a search shows it."""
    menu = ", ".join(f"{item} {price}" for item, price in listing["menu"].items())
    amenities = ", ".join(listing["amenities"]) or "none"
    return (
        f"{listing['name']}, rated {listing['rating']:g} of 5. Menu: {menu}. Amenities: "
        f"{amenities}. {listing['description']}"
    )


def floor_text(business: Business) -> str:
    return f"The lowest you would take is {business.floor} percent of the list prices."


def proposal_text(players: Sequence[str], offer: Proposal) -> str:
    return f"Proposal {offer.number} of {players[offer.business]}: {offer.items} for {offer.price}."
