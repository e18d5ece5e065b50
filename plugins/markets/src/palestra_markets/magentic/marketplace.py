"""Magentic Marketplace: customers look for businesses, write to them, and pay one of their offers.

Everybody who is awake acts at once in every tick. A customer searches, writes to a business they
have found, reads their letters, pays a proposal, or leaves; a business reads its letters and
answers with words or with a proposal of items at a total price. A letter arrives one tick later; a
business's letter also takes that business's latency. Letters that arrive together are put in random
order. A payment goes through escrow and is settled within the tick. A customer's request can be met
once, by items they paid for at a business with every amenity they need. Meeting it is worth twice
the value of the items to them, and they are paid that less all their payments. A business is paid
its revenue.

The design is that of G. Bansal et al., "Magentic Marketplace: An Open-Source Environment for
Studying Agentic Markets", 2025.

Checked: the optimum of an assignment solver, which customers who read everything and take the best
proposal reach exactly.

With `data`, a folder of the paper's own YAML files, its customers and businesses trade; nothing of
them is here.

Left out: the platform's data themselves; totals other than a percentage of the list prices; the
wording of customers' requests.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Literal

from gymnasium import spaces
from palestra import (
    Event,
    FilePath,
    Grammar,
    Integer,
    InvalidOption,
    Meta,
    OneOf,
    Option,
    Outcome,
    Rng,
    Scene,
    Seat,
    Step,
    Talking,
    Text,
    TextAction,
    TextGame,
    environment,
    only,
)
from palestra.kernel.game import Result
from palestra.kernel.rng import check_seed
from palestra.scene import Graph, Link, Node

from palestra_markets.ledger import Ledger, PaymentRefused
from palestra_markets.magentic.basket import Basket, split_items
from palestra_markets.magentic.original import (
    Original,
    draw_original_town,
    read_original,
    redraw_original,
)
from palestra_markets.magentic.scenario import (
    AMENITIES,
    ITEMS,
    MOST_LIST_PRICE,
    MOST_WANTS,
    Business,
    Customer,
    Manipulation,
    Town,
    Trade,
    draw_customer,
    draw_town,
    redraw_business,
)
from palestra_markets.magentic.search import Ranking, rank_businesses

MOST_PERCENT = 1_000  # of list prices
MOST_VALUE = 2 * MOST_WANTS * round(1.5 * MOST_LIST_PRICE)


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
    """Words or a proposal on their way to a reader."""

    sender: int  # a seat
    text: str
    arrival: int  # the tick from which it can be read
    proposal: int = -1  # its number; -1 for words


@dataclass(frozen=True, slots=True)
class Proposal:
    """Items that a business offers a customer."""

    number: int  # in the order in which proposals are made
    business: int  # a seat, as the customer
    customer: int
    items: str
    price: int  # cents


GREETINGS = ("Good day.", "What can you offer?")  # what somebody without words of their own writes
MOST_DRAWN = 40  # players in a picture


@dataclass(slots=True)
class MagenticState:
    """A marketplace between two ticks; lists of lists are by seat, customers first."""

    rng: Rng
    customers: tuple[Customer, ...]
    businesses: tuple[Business, ...]
    shuffled: tuple[int, ...]  # businesses, in the order in which searches break ties
    ledger: Ledger
    mail: list[list[Letter]]  # letters not read yet
    known: list[list[int]]  # seats that a seat may write to
    awake: list[bool]  # whether the seat is awake; a customer who has left is not
    open: list[list[int]]  # proposals a customer has read and not paid, in order of arrival
    proposals: list[Proposal] = field(default_factory=list)  # by number
    met: list[bool] = field(default_factory=list)  # whether the request is met, by customer
    gains: list[int] = field(default_factory=list)  # cents so far, by seat
    tick: int = 0  # ticks completed


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
        "strong-injection": {"manipulation": "strong-injection"},
    },
)
@dataclass(frozen=True)
class Magentic(Talking, TextGame[MagenticState]):
    """A marketplace on which customers search, ask businesses for offers, and pay one of them.

    Customers have the first seats. There are no numbered actions and no array observations: play it
    with obs='text'. Payoffs are in cents: the value of a met request less payments for a customer,
    revenue for a business.
    """

    num_players: Annotated[int, Meta(ge=2, le=400, description="customers and businesses")] = 12
    customers: Annotated[
        int | None,
        Meta(
            ge=1,
            le=399,
            description="number of customers, who take the first seats; by default "
            "a quarter of all players",
        ),
    ] = None
    trade: Annotated[Trade, Meta(description="the trade of the businesses")] = "restaurants"
    search: Annotated[
        Ranking,
        Meta(
            description=(
                "how a search ranks businesses: simple, in random order; filtered, only those with "
                "the amenities it names; lexical, by the words they share with it; optimal, those "
                "with all the customer wants first, best rating first (the paper's); cheapest, "
                "those that can serve the customer first, lowest list prices first"
            )
        ),
    ] = "lexical"
    listing: Annotated[
        Literal["card", "menu"],
        Meta(
            description="what a search shows of a business: card, its name, rating and "
            "description, so that customers must ask for the rest (the paper's); menu, its "
            "amenities, menu and list prices too"
        ),
    ] = "card"
    results: Annotated[
        int, Meta(ge=1, le=300, description="businesses on one page of a search")
    ] = 10
    latency: Annotated[
        int, Meta(ge=0, le=1000, description="most extra ticks that a business's letters take")
    ] = 2
    manipulation: Annotated[
        Manipulation,
        Meta(description="how the last businesses mislead customers in their descriptions"),
    ] = "none"
    misleading: Annotated[
        int, Meta(ge=1, le=299, description="number of businesses that mislead, if any do")
    ] = 1
    data: Annotated[
        FilePath,
        Meta(
            description="folder with the paper's own customers/*.yaml and businesses/*.yaml, who "
            "then trade instead of those drawn; empty to draw them"
        ),
    ] = ""
    rounds: Annotated[int, Meta(ge=1, le=10_000, description="ticks before the market closes")] = 40
    message_limit: Annotated[
        int, Meta(ge=1, le=1_000_000, description="most characters in a letter or a query")
    ] = 400

    rules_text = """
        You are a customer or a business on a marketplace. Money is counted in cents.

        As a customer you want certain items from a business that has certain amenities. If you pay
        for a proposal that has all your items, from a business with all your amenities, you gain
        what that is worth to you, once; all that you pay is lost. As a business you gain what you
        are paid. Everybody acts at the same time, tick by tick. Letters take a tick or more to
        arrive. Write one of: Search(query='Pad Thai, Parking', page=1) to find businesses
        (customers); Write(to='player_7', text='I would like Pad Thai.') to write to a business you
        have found, or to a customer who wrote to you; Read() to read the letters that have arrived;
        Propose(to='player_0', items='Pad Thai, Gyoza', percent=95) to offer a customer items of
        your menu for a percentage of their list prices (businesses), not below the lowest you would
        take; Pay(proposal=3) to pay a proposal you have read (customers); Wait() to do nothing; as
        a business you then rest until a letter arrives; Leave() to leave for good (customers).
    """
    counters = ("gains",)
    order = "simultaneous"
    payoffs = "general"
    perfect_information = False
    reward_terms = ("value", "paid", "revenue")
    action_types = (Search, Write, Read, Propose, Pay, Wait, Leave)
    menu = ()

    def validate(self) -> None:
        if self.num_customers >= self.num_players:
            raise InvalidOption(
                f"customers must be from 1 to {self.num_players - 1}, so that one of the "
                f"{self.num_players} players is a business, not {self.customers}"
            )
        if self.original is not None:
            customers, businesses = len(self.original.customers), len(self.original.businesses)
            if (self.num_customers, self.num_players) != (customers, customers + businesses):
                raise InvalidOption(
                    f"data={self.data!r} has {customers} customers and {businesses} businesses; "
                    f"play it with num_players={customers + businesses} and customers={customers}"
                )

    # Derived from the options

    @cached_property
    def original(self) -> Original | None:
        """The town of `data`, if there is one."""
        return read_original(self.data) if self.data else None

    @cached_property
    def items(self) -> tuple[str, ...]:
        """Everything that may stand on a menu."""
        return self.original.items if self.original is not None else ITEMS[self.trade]

    @cached_property
    def amenities(self) -> tuple[str, ...]:
        """Everything that a customer may need of a business."""
        return self.original.amenities if self.original is not None else AMENITIES[self.trade]

    @property
    def num_customers(self) -> int:
        """The option `customers`, or where it is None a quarter of the seats, rounded up."""
        return (self.num_players + 3) // 4 if self.customers is None else self.customers

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        roles = ["customer" if self.is_customer(s) else "business" for s in range(self.num_players)]
        return tuple(Seat(name, roles[i], i) for i, name in enumerate(self.players))

    def is_customer(self, seat: int) -> bool:
        """Whether a seat is a customer's; the other seats are businesses'."""
        return seat < self.num_customers

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        worth = [c.value for c in self.original.customers] if self.original is not None else []
        most = max(worth, default=MOST_VALUE)
        return (-float(most), float(most * self.num_customers))

    # The rules

    def initial_state(self, seed: int | None = None) -> MagenticState:
        start = check_seed(seed)
        town = self._town(start)
        ledger = Ledger()
        for seat, name in enumerate(self.players):
            ledger.open(name, town.customers[seat].value if self.is_customer(seat) else 0)
        seats = range(self.num_players)
        return MagenticState(
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

    def _town(self, seed: int) -> Town:
        knobs = self.latency, self.manipulation, self.misleading, seed
        if self.original is not None:
            return draw_original_town(self.original, *knobs)
        count = self.num_players - self.num_customers
        return draw_town(self.trade, self.num_customers, count, *knobs)

    def to_act(self, state: MagenticState) -> tuple[int, ...]:
        """Customers who have not left; businesses that are awake."""
        if state.tick >= self.rounds or not any(state.awake[: self.num_customers]):
            return ()
        return tuple(seat for seat, awake in enumerate(state.awake) if awake)

    def legal(self, state: MagenticState, seat: int) -> Grammar:
        options = [Option(Read), Option(Wait)]
        known = tuple(self.players[other] for other in state.known[seat])
        if known:
            words = Text(self.message_limit, GREETINGS)
            options.append(Option(Write, {"to": OneOf(known), "text": words}))
        if self.is_customer(seat):
            options += [self._searches, Option(Leave)]
            if state.open[seat]:
                options.append(Option(Pay, {"proposal": OneOf(tuple(state.open[seat]))}))
        elif known:
            business = self._business(state, seat)
            percent = Integer(business.floor, MOST_PERCENT)
            menu = Basket(business.items)
            fields: dict[str, Any] = {"to": OneOf(known), "items": menu, "percent": percent}
            options.append(Option(Propose, fields))
        return Grammar(tuple(options))

    @cached_property
    def _searches(self) -> Option:
        words = Text(self.message_limit, self.items)
        pages = -(-(self.num_players - self.num_customers) // self.results)
        return Option(Search, {"query": words, "page": Integer(1, pages)})

    def _business(self, state: MagenticState, seat: int) -> Business:
        return state.businesses[seat - self.num_customers]

    def step(self, state: MagenticState, actions: Mapping[int, Any]) -> Step:
        rewards: dict[int, dict[str, float]] = {}
        events: list[Event] = []
        order = sorted(actions)
        state.rng.shuffle(order)
        for seat in order:
            action = actions[seat]
            if isinstance(action, Search):
                events += self._search(state, seat, action)
            elif isinstance(action, Write):
                self._send(state, seat, action.to, action.text)
            elif isinstance(action, Propose):
                events.append(self._propose(state, seat, action))
            elif isinstance(action, Read):
                events += self._read(state, seat)
            elif isinstance(action, Pay):
                events += self._pay(state, seat, action.proposal, rewards)
            else:
                state.awake[seat] = isinstance(action, Wait) and self.is_customer(seat)
        if not state.ledger.is_conserved():
            state.ledger.check()
        state.tick += 1
        events += self._wake(state, actions)
        if not self.to_act(state):
            events.append(Event("end", "The marketplace closes."))
        return Step(rewards, events=events)

    def _wake(self, state: MagenticState, acted: Container[int]) -> list[Event]:
        """Wake businesses for which a letter has arrived; who is awake then is seen by all.

        It is told alike whether a business stayed awake or fell asleep and woke at once.
        """
        businesses, changed = range(self.num_customers, self.num_players), False
        for seat in businesses:
            arrived = any(letter.arrival <= state.tick for letter in state.mail[seat])
            changed |= seat in acted or (arrived and not state.awake[seat])
            state.awake[seat] |= arrived
        awake = [seat for seat in businesses if state.awake[seat]]
        return [Event("reveal", "", {"awake": awake})] if changed else []

    def _search(self, state: MagenticState, seat: int, action: Search) -> list[Event]:
        customer = state.customers[seat]
        found = rank_businesses(
            self.search, action.query, customer, state.businesses, state.shuffled
        )
        start = (action.page - 1) * self.results
        page = found[start : start + self.results]
        for number in page:
            meet(state, seat, self.num_customers + number)
        shown = [self._result(state, number) for number in page]
        head = f"Page {action.page} of the search for {self.quoted(action.query)}"
        text = "\n".join([f"{head}, {len(found)} results:", *map(listing_text, shown)])
        data = {"page": action.page, "count": len(found), "results": shown}
        return [
            *self._reveals(seat, "searches the marketplace"),
            Event("results", text, data, only(seat)),
        ]

    def _reveals(self, seat: int, does: str) -> list[Event]:
        """The events that show a player what a listing leaves out; none if it is complete."""
        if self.listing == "menu":
            return []
        return [Event("reveal", f"{self.players[seat]} {does}.", {}, only(seat))]

    def _result(self, state: MagenticState, number: int) -> dict[str, Any]:
        """A business as a search shows it."""
        whole = self._listing(state, number)
        if self.listing == "menu":
            return whole
        return {name: whole[name] for name in ("name", "rating", "description")}

    def _listing(self, state: MagenticState, number: int) -> dict[str, Any]:
        business = state.businesses[number]
        return {
            "name": self.players[self.num_customers + number],
            "rating": business.rating / 10,
            "menu": business.prices,
            "amenities": list(business.amenities),
            "description": business.description,
        }

    def _send(
        self, state: MagenticState, sender: int, to: str, text: str, proposal: int = -1
    ) -> None:
        slow = 0 if self.is_customer(sender) else self._business(state, sender).latency
        reader = self.players.index(to)
        state.mail[reader].append(Letter(sender, text, state.tick + 1 + slow, proposal))

    def _propose(self, state: MagenticState, seat: int, action: Propose) -> Event:
        """Send a proposal; its business learns the number, which a payment names."""
        customer = self.players.index(action.to)
        number = len(state.proposals)
        price = self._business(state, seat).price(split_items(action.items), action.percent)
        assert price is not None  # what is proposed is on the menu
        offer = Proposal(number, seat, customer, action.items, price)
        state.proposals.append(offer)
        self._send(state, seat, action.to, "", number)
        return self._proposal_event("reveal", offer, seat)

    def _proposal_event(self, kind: str, offer: Proposal, reader: int) -> Event:
        sender = self.players[offer.business]
        text = f"{sender} sends proposal {offer.number} to {self.players[offer.customer]}: "
        text += f"{offer.items} for {offer.price}."
        data = {"sender": sender, "proposal": offer.number}
        return Event(kind, text, {**data, "items": offer.items, "price": offer.price}, only(reader))

    def _read(self, state: MagenticState, seat: int) -> list[Event]:
        mail = state.mail[seat]
        arrived = sorted((m for m in mail if m.arrival <= state.tick), key=lambda m: m.arrival)
        state.mail[seat] = [letter for letter in mail if letter.arrival > state.tick]
        events = self._reveals(seat, "reads the letters that have arrived") if arrived else []
        for letter in arrived:
            meet(state, seat, letter.sender)
            sender = self.players[letter.sender]
            if letter.proposal < 0:
                data: dict[str, Any] = {"sender": sender, "text": letter.text}
                text = f"{sender} writes to {self.players[seat]}: {self.quoted(letter.text)}"
                events.append(Event("letter", text, data, only(seat)))
                continue
            offer = state.proposals[letter.proposal]
            state.open[seat].append(offer.number)
            events.append(self._proposal_event("proposal", offer, seat))
        return events

    def _pay(
        self, state: MagenticState, seat: int, number: int, rewards: dict[int, dict[str, float]]
    ) -> list[Event]:
        offer = state.proposals[number]
        reference, buyer = f"proposal {number}", self.players[seat]
        try:
            state.ledger.hold(buyer, self.players[offer.business], offer.price, reference)
        except PaymentRefused as refused:
            return [Event("refused", f"Your payment was refused: {refused}.", {}, only(seat))]
        state.ledger.settle(reference)
        arrived = len([n for n in state.open[seat] if n != number]) + 1
        data: dict[str, Any] = {
            "proposal": number,
            "price": offer.price,
            "first": state.open[seat][0] == number,
        }
        data |= {"buyer": buyer, "business": self.players[offer.business]}
        state.open[seat].remove(number)
        self._settle_gains(state, seat, offer, rewards)
        text = f"{buyer} pays {offer.price} to {self.players[offer.business]}."
        audience = only(seat, offer.business)
        return [Event("payment", text, {**data, "choices": arrived}, audience)]

    def _settle_gains(
        self, state: MagenticState, seat: int, offer: Proposal, rewards: dict[int, dict[str, float]]
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

    def noop(self, state: MagenticState, seat: int) -> TextAction:
        return Wait()

    def present(self, state: MagenticState) -> tuple[int, ...]:
        """Businesses, and customers who have not left."""
        left = range(self.num_customers, self.num_players)
        return (*(p for p in range(self.num_customers) if state.awake[p]), *left)

    def outcome(self, state: MagenticState) -> Outcome | None:
        if self.to_act(state):
            return None
        scores = tuple(float(gain) for gain in state.gains)
        met = f"{sum(state.met)} of {self.num_customers} requests were met."
        score: Result = "score"
        return Outcome((score,) * self.num_players, scores, met)

    def opening(self, state: MagenticState) -> Sequence[Event]:
        events = []
        for seat, customer in enumerate(state.customers):
            text = f"{self.players[seat]}: {request_text(customer)}"
            data = {"wants": dict(customer.wants), "needs": list(customer.needs)}
            events.append(Event("request", text, {**data, "value": customer.value}, only(seat)))
        for number, business in enumerate(state.businesses):
            seat = self.num_customers + number
            listing = self._listing(state, number) | {"floor": business.floor}
            listing["misleads"] = business.misleads
            text = f"{listing_text(listing)} {floor_text(business)}"
            events.append(Event("shop", text, listing, only(seat)))
        return events

    def determinize(self, state: MagenticState, seat: int, rng: Rng) -> MagenticState:
        """Redraw others' requests and lowest prices, all that a card leaves out, and what others
        wrote, offered and paid each other.

        Unread letters to the seat are as many, of words; letters on their way are not imagined.
        """
        copy = self.clone(state)
        copy.businesses = tuple(
            b if self.num_customers + n == seat else self._redraw(b, rng)
            for n, b in enumerate(state.businesses)
        )
        copy.customers = tuple(
            customer if other == seat else draw_customer(copy.businesses, rng)
            for other, customer in enumerate(state.customers)
        )
        seats = range(self.num_players)
        copy.mail = [self._unread(state, seat, rng) if other == seat else [] for other in seats]
        for others in (copy.known, copy.open):
            others[:] = [own if other == seat else [] for other, own in enumerate(others)]
        copy.met = [met and other == seat for other, met in enumerate(state.met)]
        copy.proposals = self._redraw_proposals(copy, state, seat, rng)
        self._redraw_payments(copy, state, seat)
        return copy

    def _unread(self, state: MagenticState, seat: int, rng: Rng) -> list[Letter]:
        """As many letters as wait for a seat, from those who could have written them."""
        sides = range(self.num_customers), range(self.num_customers, self.num_players)
        writers = state.known[seat] if self.is_customer(seat) else ()
        senders = writers or sides[self.is_customer(seat)]
        waiting = sum(letter.arrival <= state.tick for letter in state.mail[seat])
        return [
            Letter(rng.choice(senders), rng.choice(GREETINGS), state.tick) for _ in range(waiting)
        ]

    def _redraw_proposals(
        self, copy: MagenticState, state: MagenticState, seat: int, rng: Rng
    ) -> list[Proposal]:
        """The proposals up to the last that a seat has made or read, the others drawn."""
        unread = {letter.proposal for letter in state.mail[seat]}
        own = {
            offer.number: offer
            for offer in state.proposals
            if offer.business == seat or (offer.customer == seat and offer.number not in unread)
        }
        return [
            own[number] if number in own else self._draw_proposal(copy, seat, number, rng)
            for number in range(max(own, default=-1) + 1)
        ]

    def _draw_proposal(self, state: MagenticState, seat: int, number: int, rng: Rng) -> Proposal:
        """One item at its list price, between others; to the seat if it is the only customer."""
        business = rng.choice([s for s in range(self.num_customers, self.num_players) if s != seat])
        customer = rng.choice([s for s in range(self.num_customers) if s != seat] or [seat])
        shop = self._business(state, business)
        item = rng.choice(shop.items)
        price = shop.price([item], 100)
        assert price is not None
        return Proposal(number, business, customer, item, price)

    def _redraw_payments(self, copy: MagenticState, state: MagenticState, seat: int) -> None:
        """The books if nobody had paid but this seat and those who paid it."""
        paid = [
            offer
            for offer in state.proposals
            if f"proposal {offer.number}" in state.ledger.used
            and seat in (offer.business, offer.customer)
        ]
        copy.ledger = Ledger()
        for other, name in enumerate(self.players):
            spent = sum(offer.price for offer in paid if offer.customer == other)
            money = copy.customers[other].value if self.is_customer(other) else 0
            copy.ledger.open(name, max(money, spent))
        gains = [0] * self.num_players
        for offer in paid:
            buyer, shop = self.players[offer.customer], self.players[offer.business]
            copy.ledger.hold(buyer, shop, offer.price, f"proposal {offer.number}")
            copy.ledger.settle(f"proposal {offer.number}")
            gains[offer.customer] -= offer.price
            gains[offer.business] += offer.price
        gains[seat] = state.gains[seat]
        copy.gains = gains

    def _redraw(self, business: Business, rng: Rng) -> Business:
        if self.original is not None and self.listing == "card":
            return redraw_original(business, self.original, rng)
        if self.listing == "card":
            return redraw_business(business, self.trade, rng)
        return replace(business, floor=rng.between(80, 100))

    # What a player sees

    def rules_for(self, seat: int) -> str:
        shows = (
            "A search shows names, ratings and descriptions; write to a business to learn what is "
            "on its menu, what it costs, and which amenities it has."
            if self.listing == "card"
            else "A search shows the whole menu, list prices and amenities of a business."
        )
        return f"{super().rules_for(seat)}\n{shows}"

    def describe(self, state: MagenticState, seat: int) -> str:
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
        raise InvalidOption("Magentic has no array observations; use obs='text'")

    def observe(self, state: MagenticState, seat: int) -> Any:
        return self.observation_space(seat)

    def scene(self, state: MagenticState, seat: int | None = None) -> Scene:
        """Who offers whom what: customers on the left, businesses on the right.

        A seat sees its own money, whom it may write to and the proposals it made or has read; a
        spectator all of the first 40 players.
        """
        shown = [
            one
            for one in state.proposals
            if seat is None or one.business == seat or one.number in state.open[seat]
        ]
        seats = set(range(self.num_players)) if seat is None else {seat, *state.known[seat]}
        seats |= {one for offer in shown for one in (offer.business, offer.customer)}
        drawn = sorted(seats)[:MOST_DRAWN]
        place = {one: number for number, one in enumerate(drawn)}
        sides = [[one for one in drawn if self.is_customer(one) is side] for side in (True, False)]
        nodes = []
        for one in drawn:
            known = seat in (None, one)
            side = sides[0] if self.is_customer(one) else sides[1]
            down = (side.index(one) + 0.5) / len(side)
            met = known and self.is_customer(one) and state.met[one]
            money = f"${state.ledger.balances[self.players[one]] / 100:,.0f}" if known else ""
            inward = 0.14 * (side.index(one) % (1 + len(side) // 6))  # long sides in columns
            where = (0.05 + inward if self.is_customer(one) else 0.95 - inward, down)
            nodes.append(Node(str(one), "green" if met else one, money, where))
        links = tuple(
            Link(place[offer.business], place[offer.customer], f"${offer.price / 100:,.0f}",
                 offer.business, directed=True)
            for offer in shown
            if offer.business in place and offer.customer in place
        )  # fmt: skip
        lines = [f"Tick {state.tick} of {self.rounds}."]
        if seat is None:
            lines.append(f"Requests met: {sum(state.met)} of {self.num_customers}.")
        elif len(drawn) == 1:
            lines.append(f"{self.players[seat]} has met nobody yet.")
        return Scene("customers, and businesses with their offers",
                     parts=(Graph(tuple(nodes), links),), lines=tuple(lines))  # fmt: skip


def meet(state: MagenticState, seat: int, other: int) -> None:
    """Let `seat` write to `other` from now on."""
    if other not in state.known[seat]:
        state.known[seat].append(other)


def request_text(customer: Customer) -> str:
    """A customer's request, as text for the customer."""
    wants = ", ".join(f"{item} (worth {worth})" for item, worth in customer.wants)
    needs = ", ".join(customer.needs) or "none"
    return f"You want {wants}; amenities: {needs}. Met in full this is worth {customer.value}."


def listing_text(listing: Mapping[str, Any]) -> str:
    """A business, with as much of it as the listing has."""
    head = f"{listing['name']}, rated {listing['rating']:g} of 5."
    if "menu" not in listing:
        return f"{head} {listing['description']}"
    menu = ", ".join(f"{item} {price}" for item, price in listing["menu"].items())
    amenities = ", ".join(listing["amenities"]) or "none"
    return f"{head} Menu: {menu}. Amenities: {amenities}. {listing['description']}"


def floor_text(business: Business) -> str:
    """A business's lowest price, as text for the business."""
    return f"The lowest you would take is {business.floor} percent of the list prices."


def proposal_text(players: Sequence[str], offer: Proposal) -> str:
    """A proposal, as text for the customer who has read it."""
    return f"Proposal {offer.number} of {players[offer.business]}: {offer.items} for {offer.price}."
