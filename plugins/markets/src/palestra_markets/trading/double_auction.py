"""The continuous double auction: buyers and sellers with private values meet on an order book.

Every buyer has a private value for each unit they may buy in a trading period, every seller a
private cost for each unit they may sell; units are traded best first. In every round one trader who
has units left, drawn at random, may place a limit order, take their order off the book, or pass. An
order trades at once with the best orders of the other side, at their prices, earlier orders first
at equal prices; the remainder rests on the book. A trader has at most one order on the book: a new
one replaces the old. A period ends after `rounds` rounds, or when one side has nothing left to
trade; the next starts with an empty book and the same values and costs. Buyers are paid value minus
price, sellers price minus cost.

The design is that of V. Smith, "An Experimental Study of Competitive Market Behavior", JPE 1962,
and with `empty_on_trade` (every trade empties the book) that of D. Gode and S. Sunder, "Allocative
Efficiency of Markets with Zero-Intelligence Traders", JPE 1993. With `improve`, an order must be
better than the best of its side, the rule of the New York Stock Exchange.

Checked: the optimum against an assignment solver; the efficiency of unconstrained
random traders, who trade every unit, in closed form; that of constrained ones, above 97 %.

Left out: nothing of the rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    Bar,
    Channel,
    Event,
    InvalidOption,
    Meta,
    Outcome,
    Rng,
    Scene,
    Seat,
    Shape,
    Vocabulary,
    constant,
    environment,
    only,
)
from palestra.kernel.game import Result
from palestra.rules import finish, mover, randint, turn_to
from palestra.scene import Chart, Series

from palestra_markets.chart import chart
from palestra_markets.trading.order_book import (
    ASK,
    BID,
    BookState,
    cancel,
    clear_book,
    depth,
    levels_of,
    next_level,
    open_book,
    place,
)
from palestra_markets.trading.schedules import PRESETS, Equilibrium, Rows, check_rows, equilibrium

PASS, WITHDRAW, FIRST_ORDER = 0, 1, 2
SHOWN = 5  # prices of each side that are shown
RECENT = 9  # trades whose prices an observation has
DRAWN = 40  # trades whose prices a scene draws
MOST_UNITS = 20
DRAWN_UNITS = 3  # units per trader if values are drawn


class DoubleAuctionState(BookState):
    """A market between two orders; on the book, a trader's order has the number of their seat."""

    role: Annotated[NDArray[np.uint8], Shape("num_players")]  # BID for buyers, ASK for sellers
    endowed: Annotated[NDArray[np.int32], Shape("num_players")]  # units a period
    worth: Annotated[NDArray[np.int32], Shape("num_players", "most_units")]  # values or costs
    row: Annotated[NDArray[np.int32], Shape("num_players")]  # of a fixed schedule, as dealt
    traded: Annotated[NDArray[np.int32], Shape("num_players")]  # units this period
    earned: Annotated[NDArray[np.int64], Shape("num_players")]  # surplus so far
    moved: Annotated[NDArray[np.int32], Shape("num_players", "most_units")]  # trades of each unit
    period: Annotated[int, np.int32]  # periods completed
    elapsed: Annotated[int, np.int32]  # rounds of this period completed
    trades: Annotated[int, np.int32]  # in this period
    recent: Annotated[NDArray[np.int32], Shape(DRAWN)]  # prices of the last trades, newest first


@environment(
    "markets/DoubleAuction-v0",
    family="market",
    tags=("auction", "order-book", "hidden-information", "chance"),
    paper=(
        "Smith (1962), An Experimental Study of Competitive Market Behavior; Gode and Sunder "
        "(1993), Allocative Efficiency of Markets with Zero-Intelligence Traders"
    ),
    splits=PRESETS,
)
@dataclass(frozen=True)
class DoubleAuction(ArrayGame[DoubleAuctionState]):
    """Buyers and sellers with private values and costs trade units of one good on an order book.

    Action 0 passes and 1 withdraws one's own order; 2 + (q - 1) * max_price + p - 1 orders q units
    at price p. A buyer is paid value minus price for each unit, a seller price minus cost.

    An observation is a float32 vector of 39 + units numbers:

        role                       1 for a seller, 0 for a buyer
        own values or costs        one a unit, 0 for none
        units traded this period, surplus so far
        own order                  price and quantity, 0 and 0 for none
        period, round, trades this period
        prices of the last nine trades, newest first (0 for none)
        the book                   five best bids, then five best asks: price, quantity (0 for none)
        buyers' and sellers' units left
    """

    num_players: Annotated[int, Meta(ge=2, le=100, description="buyers and sellers")] = 6
    buyers: Annotated[
        int | None,
        Meta(
            ge=1,
            le=99,
            description="number of buyers; by default half of the players, or one "
            "per row of demand",
        ),
    ] = None
    demand: Annotated[
        Rows,
        Meta(description="one row of unit values per buyer, highest first; empty to draw them"),
    ] = ()
    supply: Annotated[
        Rows, Meta(description="one row of unit costs per seller, lowest first; empty to draw them")
    ] = ()
    max_price: Annotated[int, Meta(ge=1, le=10_000, description="highest price of an order")] = 100
    lot: Annotated[int, Meta(ge=1, le=20, description="most units in an order")] = 1
    periods: Annotated[int, Meta(ge=1, le=1000, description="trading periods")] = 1
    rounds: Annotated[
        int, Meta(ge=1, le=1_000_000, description="turns in a period before it ends")
    ] = 200
    empty_on_trade: Annotated[
        bool, Meta(description="whether every trade empties the book (Gode and Sunder)")
    ] = False
    improve: Annotated[
        bool, Meta(description="whether an order must be better than the best of its side")
    ] = False

    vocabulary = Vocabulary(
        words=(
            "auction",
            "market",
            "order",
            "book",
            "trade",
            "trading",
            "buyer",
            "seller",
            "buy",
            "bought",
            "sell",
            "sold",
            "unit",
        ),
    )
    rules_text = """
        You are a buyer or a seller in a market and trade units of one good on an order book.

        What a unit is worth to you, or costs you, is private. You trade your units in order, best
        first, and in every trading period you have all of them again. A buyer earns the unit's
        value minus the price they pay, a seller the price they are paid minus the unit's cost; you
        can lose money, and a unit you do not trade earns and costs nothing. When it is your turn
        write one of:
        - "bid 2 at 95" as a buyer: buy up to 2 units for at most 95 each;
        - "ask 2 at 105" as a seller: sell up to 2 units for at least 105 each;
        - "withdraw": take your order off the book;
        - "pass": do nothing; your order stays.
        An order trades at once with the best orders of the other side at their prices, earlier
        orders first; what is left rests on the book until it is met. You have one order on the
        book: a new order takes the place of your old one. Whose turn comes next is drawn at random.
        A period ends when its rounds are used up, or when all buyers or all sellers have traded all
        their units.
    """
    counters = ("earned",)
    order = "sequential"
    fixed_moves = True
    payoffs = "general"
    perfect_information = False
    reward_terms = ("surplus",)
    observation_dtype = np.float32

    def validate(self) -> None:
        check_rows("demand", self.demand, best_first=-1)
        check_rows("supply", self.supply, best_first=1)
        if not 1 <= self.num_buyers < self.num_players:
            raise InvalidOption(
                f"{self.num_buyers} buyers among {self.num_players} players: there must be at "
                "least one buyer and one seller"
            )
        if self.demand or self.supply:
            self._check_schedule(self.demand, self.supply)

    def _check_schedule(self, demand: Rows, supply: Rows) -> None:
        """Raise `InvalidOption` where a fixed schedule does not fit the other options."""
        buyers = len(demand) if self.buyers is None else self.buyers
        if (len(demand), len(supply)) != (buyers, self.num_players - buyers):
            raise InvalidOption(
                f"demand has {len(demand)} rows and supply {len(supply)}, one for every buyer and "
                f"seller, but there are {self.num_players} players; set num_players="
                f"{len(demand) + len(supply)}"
            )
        units = [unit for row in (*demand, *supply) for unit in row]
        if not all(1 <= unit <= self.max_price for unit in units):
            raise InvalidOption(
                f"values and costs must be from 1 to max_price, which is {self.max_price}, not "
                f"{min(units)} to {max(units)}"
            )
        if max(len(demand[0]), len(supply[0])) > MOST_UNITS:
            raise InvalidOption(f"a trader has at most {MOST_UNITS} units")

    # Derived from the options

    @constant
    def num_buyers(self) -> int:
        if self.demand:
            return len(self.demand)
        return (self.num_players + 1) // 2 if self.buyers is None else self.buyers

    @cached_property
    def units(self) -> tuple[int, int]:
        """Units a buyer and a seller may trade in a period."""
        if not self.demand:
            return DRAWN_UNITS, DRAWN_UNITS
        return len(self.demand[0]), len(self.supply[0])

    @constant
    def buyer_units(self) -> int:
        return self.units[BID]

    @constant
    def seller_units(self) -> int:
        return self.units[ASK]

    @constant
    def most_units(self) -> int:
        return max(self.units)

    @constant
    def fixed(self) -> bool:
        """Whether values and costs are given by the options."""
        return bool(self.demand)

    @constant
    def all_values(self) -> tuple[int, ...]:
        """The values of `demand`, row after row."""
        return tuple(chain.from_iterable(self.demand)) or (0,)

    @constant
    def all_costs(self) -> tuple[int, ...]:
        """The costs of `supply`, row after row."""
        return tuple(chain.from_iterable(self.supply)) or (0,)

    @property
    def capacity(self) -> int:
        """The most orders on the book: one per trader."""
        return self.num_players

    @property
    def levels(self) -> int:
        """The number of price levels, including one below and one above all prices."""
        return levels_of(self.max_price)

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        roles = (ROLES[self.side(seat)] for seat in range(self.num_players))
        pairs = enumerate(zip(self.players, roles, strict=True))
        return tuple(Seat(player, role, team=seat) for seat, (player, role) in pairs)

    def side(self, seat: int) -> int:
        """BID for a buyer, ASK for a seller."""
        return BID if seat < self.num_buyers else ASK

    @property
    def num_actions(self) -> int:
        return FIRST_ORDER + self.lot * self.max_price

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        most = float(self.periods * self.most_units * (self.max_price - 1))
        return (-most, most)

    @property
    def observation_shape(self) -> tuple[int]:
        return (10 + self.most_units + RECENT + 4 * SHOWN,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        most = max(
            self.payoff_bounds[1], self.rounds, self.max_price, MOST_UNITS * self.num_players
        )
        return (-most, most)

    # The rules

    @staticmethod
    def init_state(config: DoubleAuction, state: DoubleAuctionState) -> None:
        for seat in range(config.num_players):
            buyer = seat < config.num_buyers
            state.role[seat] = BID if buyer else ASK
            state.endowed[seat] = config.buyer_units if buyer else config.seller_units
        if config.fixed:
            deal_rows(config, state)
        else:
            draw_units(config, state)
        open_book(state)
        call_trader(state)

    @staticmethod
    def apply_actions(
        config: DoubleAuction, state: DoubleAuctionState, actions: Any, out: Any
    ) -> None:
        seat = mover(state)
        action = actions[seat]
        forget_fills(state)
        if action != PASS:
            cancel(state, seat)
        if action >= FIRST_ORDER:
            price, quantity = price_of(config, action), quantity_of(config, action)
            place(state, seat, state.role[seat], price, quantity)
            settle(state, seat, out)
            if state.fill_count > 0 and config.empty_on_trade:
                clear_book(state)
        state.elapsed += 1
        if state.elapsed >= config.rounds or nothing_left(state):
            next_period(state, config.periods)
        if not state.over:
            call_trader(state)

    @staticmethod
    def write_legal_mask(
        config: DoubleAuction, state: DoubleAuctionState, seat: int, mask: Any
    ) -> None:
        mask[PASS] = 1
        mask[WITHDRAW] = state.order_quantity[seat] > 0
        low, high = 1, config.max_price
        if config.improve and state.role[seat] == BID:
            low = state.best_bid + 1
        elif config.improve:
            high = state.best_ask - 1
        for quantity in range(1, min(config.lot, units_left(state, seat)) + 1):
            cheapest = order_action(config, low, quantity)
            mask[cheapest : cheapest + max(0, high - low + 1)] = 1

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        book = 2 * SHOWN
        return (
            Channel("role", 1, "0 for a buyer, 1 for a seller"),
            Channel("values", self.most_units, "own values or costs by unit, 0 for none"),
            Channel("traded", 1, "units that the player traded in this period"),
            Channel("surplus", 1, "the player's surplus so far"),
            Channel("order", 2, "price and quantity of the player's order; 0 0 for none"),
            Channel("period", 1, "number of the period"),
            Channel("round", 1, "rounds since the period began"),
            Channel("trades", 1, "trades in this period"),
            Channel("prices", RECENT, "prices of the last trades, newest first; 0 for none"),
            Channel("bids", book, "best bids, price and quantity each; 0 0 for none"),
            Channel("asks", book, "best asks, price and quantity each; 0 0 for none"),
            Channel("left", 2, "units that buyers want, and sellers have, still"),
        )

    @staticmethod
    def write_observation(
        config: DoubleAuction, state: DoubleAuctionState, seat: int, obs: Any
    ) -> None:
        """Write the observation vector; the class docstring gives the layout."""
        units = config.most_units
        obs[0] = state.role[seat]
        for unit in range(units):
            obs[1 + unit] = state.worth[seat, unit]
        at = 1 + units
        obs[at], obs[at + 1] = state.traded[seat], state.earned[seat]
        obs[at + 2], obs[at + 3] = state.order_price[seat], state.order_quantity[seat]
        obs[at + 4], obs[at + 5] = state.period, state.elapsed
        obs[at + 6] = state.trades
        for trade in range(RECENT):
            obs[at + 7 + trade] = state.recent[trade]
        at += 7 + RECENT
        show_side(state, BID, obs, at)
        show_side(state, ASK, obs, at + 2 * SHOWN)
        at += 4 * SHOWN
        obs[at], obs[at + 1] = side_left(state, BID), side_left(state, ASK)

    def outcome(self, state: DoubleAuctionState) -> Outcome | None:
        if super().outcome(state) is None:
            return None
        score: Result = "score"
        return Outcome((score,) * self.num_players, self.scores(state), "the market closed")

    def scores(self, state: DoubleAuctionState) -> tuple[float, ...]:
        """The surplus each trader has earned."""
        return tuple(float(value) for value in state.earned.tolist())

    def noop(self, state: DoubleAuctionState, seat: int) -> int:
        return PASS

    # The competitive outcome

    def schedule(self, state: DoubleAuctionState) -> tuple[Rows, Rows]:
        """Values and costs as dealt, with one row per buyer and one per seller."""
        rows = [tuple(row) for row in state.worth.tolist()]
        demand, supply = rows[: self.num_buyers], rows[self.num_buyers :]
        bid, ask = self.units
        return tuple(row[:bid] for row in demand), tuple(row[:ask] for row in supply)

    def optimum(self, state: DoubleAuctionState) -> Equilibrium:
        """The competitive outcome of one period; its surplus is the most that can be earned."""
        return equilibrium(*self.schedule(state))

    def determinize(self, state: DoubleAuctionState, seat: int, rng: Rng) -> Any:
        """Redraw the other traders' values and costs, the way they were dealt.

        What they have earned changes by as much: prices and traded units are known.
        """
        copy = self.clone(state)
        if self.demand:
            self._redeal(copy, seat, rng)
        for other in range(self.num_players):
            if other == seat:
                continue
            if not self.demand:
                units = [1 + rng.below(self.max_price) for _ in range(DRAWN_UNITS)]
                copy.worth[other] = sorted(units, reverse=self.side(other) == BID)
            more = int((state.moved[other] * (copy.worth[other] - state.worth[other])).sum())
            copy.earned[other] += more if self.side(other) == BID else -more
        return copy

    def _redeal(self, state: DoubleAuctionState, seat: int, rng: Rng) -> None:
        """Shuffle the rows of all seats but one among those seats."""
        for side in (BID, ASK):
            others = [p for p in range(self.num_players) if self.side(p) == side and p != seat]
            rows = [(state.worth[other].copy(), int(state.row[other])) for other in others]
            rng.shuffle(rows)
            for other, (worth, row) in zip(others, rows, strict=True):
                state.worth[other], state.row[other] = worth, row

    # Words

    def narrate(
        self,
        before: DoubleAuctionState | None,
        actions: Mapping[int, int],
        after: DoubleAuctionState,
    ) -> list[Event]:
        if before is None:
            return [self._deal_event(after, seat) for seat in range(self.num_players)]
        ((seat, action),) = actions.items()
        fills = fills_of(after)
        events = [self._move_event(seat, action, sum(units for _, _, units in fills))]
        for other, price, units in fills:
            buyer, seller = (seat, other) if self.side(seat) == BID else (other, seat)
            names = self.players[buyer], self.players[seller]
            text = f"{names[0]} buys {units_text(units)} from {names[1]} at {price}."
            data = {"buyer": buyer, "seller": seller, "price": price, "quantity": units}
            events.append(Event("trade", text, {**data, "maker": other, "taker": seat}))
        if after.over:
            events.append(Event("close", "The market is closed."))
        elif after.period > before.period:
            text = f"Period {after.period + 1} of {self.periods} begins with an empty book."
            events.append(Event("period", text, {"period": int(after.period)}))
        return events

    def _deal_event(self, state: DoubleAuctionState, seat: int) -> Event:
        side = self.side(seat)
        units = state.worth[seat].tolist()[: self.units[side]]
        word = "are worth" if side == BID else "cost you"
        text = f"You, {self.players[seat]}, are a {ROLES[side]}. "
        text += f"Your units {word} {enumeration(units)}."
        return Event("deal", text, {"role": ROLES[side], "units": units}, only(seat))

    def _move_event(self, seat: int, action: int, traded: int) -> Event:
        name, data = self.players[seat], {"player": seat}
        if action == PASS:
            return Event("pass", f"{name} passes.", data)
        if action == WITHDRAW:
            return Event("withdraw", f"{name} withdraws their order.", data)
        side, config = self.side(seat), self.config
        price, quantity = price_of(config, action), quantity_of(config, action)
        text = f"{name} {WORDS[side]}s {quantity} at {price}."
        order = {"side": WORDS[side], "price": price, "quantity": quantity, "traded": traded}
        return Event("order", text, {**data, **order})

    def describe(self, state: DoubleAuctionState, seat: int) -> str:
        side, bought = self.side(seat), ("bought", "sold")
        units = state.worth[seat].tolist()[: self.units[side]]
        word = ("worth", "that cost")[side]
        done, earned = int(state.traded[seat]), int(state.earned[seat])
        left = state.endowed - state.traded
        lines = [
            f"You are {self.players[seat]}, a {ROLES[side]} of units {word} {enumeration(units)}.",
            f"Period {state.period + 1} of {self.periods}, round {state.elapsed} of {self.rounds}.",
            f"You have {bought[side]} {units_text(done)} this period and earned {earned} in all.",
            self._own_order(state, seat),
            f"Trades this period: {state.trades}. Last prices, newest first: {prices(state)}.",
            f"Bids: {levels(state, BID)}. Asks: {levels(state, ASK)}.",
            f"Units left: buyers {left[state.role == BID].sum()}, "
            f"sellers {left[state.role == ASK].sum()}.",
        ]
        return "\n".join(lines)

    def _own_order(self, state: DoubleAuctionState, seat: int) -> str:
        quantity = int(state.order_quantity[seat])
        if not quantity:
            return "You have no order on the book."
        word = WORDS[self.side(seat)]
        return f"Your order on the book: {word} {quantity} at {state.order_price[seat]}."

    def action_text(self, state: DoubleAuctionState, seat: int, action: int) -> str:
        if action == PASS:
            return "pass"
        if action == WITHDRAW:
            return "withdraw"
        config, word = self.config, WORDS[self.side(seat)]
        return f"{word} {quantity_of(config, action)} at {price_of(config, action)}"

    def legal_text(self, state: DoubleAuctionState, seat: int, moves: Mapping[str, int]) -> str:
        """Legal orders as ranges: at a legal price every quantity is legal."""
        orders = [move for move in moves.values() if move >= FIRST_ORDER]
        words = [text for text, move in moves.items() if move < FIRST_ORDER]
        if orders:
            first, last = min(orders), max(orders)  # numbered by quantity, and then by price
            most = quantity_of(self.config, last)
            units = "1" if most == 1 else f"1..{most}"
            low, high = price_of(self.config, first), price_of(self.config, last)
            words.append(f"{WORDS[self.side(seat)]} {units} at {low}..{high}")
        return ", ".join(words)

    def _book(self, state: DoubleAuctionState) -> Chart:
        """The depth of the book: how much is offered up to, and wanted from, each price."""
        series = []
        ends = (BID, "green", 0.0), (ASK, "red", float(self.max_price))
        for side, colour, end in ends:
            total, points = 0, []
            for price, quantity in depth(state, side, self.max_price):
                points.append((float(price), float(total)))
                total += quantity
                points.append((float(price), float(total)))
            if points:  # all of it is there at any worse price too
                points.append((end, float(total)))
            series.append(
                Series(f"{WORDS[side]}s", tuple(points[:: 1 - 2 * (side == BID)]), "step", colour)
            )
        return Chart(tuple(series), "", "price", "units")

    def scene(self, state: DoubleAuctionState, seat: int | None = None) -> Scene:
        """The prices of the last trades beside the equilibrium price, and the book."""
        bars = []
        paid = [float(price) for price in state.recent.tolist() if price][::-1]
        lines = [
            f"Period {state.period + 1} of {self.periods}, round {state.elapsed} of {self.rounds}.",
            f"Trades this period: {state.trades}. Last prices, newest first: {prices(state)}.",
        ]
        drawn = {"price": paid}
        if seat is None:
            optimum = self.optimum(state)
            drawn["equilibrium"] = [optimum.price] * max(2, len(paid))
            earned = float(state.earned.sum())
            bars.append(
                Bar("surplus", max(0.0, earned), float(max(1, optimum.surplus * self.periods)))
            )
        else:
            lines.append(self._own_order(state, seat))
        return Scene(
            caption="prices of trades, and the order book",
            bars=tuple(bars),
            parts=(chart(drawn, "trade", "price"), self._book(state)),
            lines=tuple(lines),
        )


ROLES = ("buyer", "seller")
WORDS = ("bid", "ask")


# Parts of the rules


def deal_rows(config: DoubleAuction, state: DoubleAuctionState) -> None:
    """Deal the rows of a fixed schedule to buyers and sellers in random order."""
    for seat in range(config.num_players):
        state.row[seat] = seat if seat < config.num_buyers else seat - config.num_buyers
    shuffle_part(state, 0, config.num_buyers)
    shuffle_part(state, config.num_buyers, config.num_players)
    for seat in range(config.num_players):
        for unit in range(state.endowed[seat]):
            if state.role[seat] == BID:
                worth = config.all_values[state.row[seat] * config.buyer_units + unit]
            else:
                worth = config.all_costs[state.row[seat] * config.seller_units + unit]
            state.worth[seat, unit] = worth


def shuffle_part(state: DoubleAuctionState, start: int, end: int) -> None:
    """Shuffle rows[start:end]."""
    for last in range(end - 1, start, -1):
        other = start + randint(state, last - start + 1)
        row = state.row[last]
        state.row[last] = state.row[other]
        state.row[other] = row


def draw_units(config: DoubleAuction, state: DoubleAuctionState) -> None:
    """Draw values and costs from 1 to the highest price, and sort each trader's best first."""
    for seat in range(config.num_players):
        sign = -1 if state.role[seat] == BID else 1
        for unit in range(config.most_units):
            drawn = 1 + randint(state, config.max_price)
            at = unit
            while at > 0 and sign * state.worth[seat, at - 1] > sign * drawn:
                state.worth[seat, at] = state.worth[seat, at - 1]
                at -= 1
            state.worth[seat, at] = drawn


def units_left(state: DoubleAuctionState, seat: int) -> int:
    """Units a trader may still trade this period."""
    return state.endowed[seat] - state.traded[seat]


def side_left(state: DoubleAuctionState, side: int) -> int:
    """Units all buyers or all sellers have left this period."""
    total = 0
    for seat in range(len(state.role)):
        if state.role[seat] == side:
            total += units_left(state, seat)
    return total


def nothing_left(state: DoubleAuctionState) -> bool:
    """Whether buyers or sellers have traded everything."""
    return side_left(state, BID) == 0 or side_left(state, ASK) == 0


def order_action(config: DoubleAuction, price: int, quantity: int) -> int:
    """The action that orders a quantity at a price."""
    return FIRST_ORDER + (quantity - 1) * config.max_price + price - 1


def price_of(config: DoubleAuction, action: int) -> int:
    """The price of an order."""
    return (action - FIRST_ORDER) % config.max_price + 1


def quantity_of(config: DoubleAuction, action: int) -> int:
    """The quantity of an order."""
    return (action - FIRST_ORDER) // config.max_price + 1


def forget_fills(state: DoubleAuctionState) -> None:
    """Clear the last order's trades, so that equal positions have equal records."""
    for fill in range(state.fill_count):
        state.fill_order[fill], state.fill_price[fill], state.fill_quantity[fill] = 0, 0, 0
    state.fill_count = 0


def settle(state: DoubleAuctionState, seat: int, out: Any) -> None:
    """Pay both sides of every trade of the order just placed."""
    for fill in range(state.fill_count):
        other, price = state.fill_order[fill], state.fill_price[fill]
        for _ in range(state.fill_quantity[fill]):
            earn(state, seat, price, out)
            earn(state, other, price, out)
        state.trades += 1
        for trade in range(DRAWN - 1, 0, -1):
            state.recent[trade] = state.recent[trade - 1]
        state.recent[0] = price


def earn(state: DoubleAuctionState, seat: int, price: int, out: Any) -> None:
    """Trade the best unit that `seat` has left, at `price`."""
    worth = state.worth[seat, state.traded[seat]]
    surplus = worth - price if state.role[seat] == BID else price - worth
    state.moved[seat, state.traded[seat]] += 1
    state.traded[seat] += 1
    state.earned[seat] += surplus
    out.rewards[seat, 0] += surplus


def next_period(state: DoubleAuctionState, periods: int) -> None:
    """End this period: reset everybody's units, or close the market after the last period."""
    if state.period + 1 >= periods:
        finish(state)
        return
    clear_book(state)
    state.period += 1
    state.elapsed, state.trades = 0, 0
    for seat in range(len(state.traded)):
        state.traded[seat] = 0


def call_trader(state: DoubleAuctionState) -> None:
    """Ask one trader who has units left, drawn at random."""
    waiting = 0
    for seat in range(len(state.role)):
        waiting += units_left(state, seat) > 0
    skip = randint(state, waiting)
    for seat in range(len(state.role)):
        if units_left(state, seat) > 0:
            if skip == 0:
                turn_to(state, seat)
                return
            skip -= 1


def show_side(state: DoubleAuctionState, side: int, obs: Any, at: int) -> None:
    """Write the best prices of one side and the quantities there, from obs[at] on."""
    level = state.best_bid if side == BID else state.best_ask
    left = state.side_quantity[side]
    for shown in range(SHOWN):
        if left == 0:
            return
        obs[at + 2 * shown], obs[at + 2 * shown + 1] = level, state.level_quantity[level]
        left -= state.level_quantity[level]
        if left > 0:
            level = next_level(state, level)


# Texts


def fills_of(state: DoubleAuctionState) -> list[tuple[int, int, int]]:
    """The last order's trades: the other trader, price and quantity."""
    count = int(state.fill_count)
    columns = (state.fill_order, state.fill_price, state.fill_quantity)
    rows = zip(*(column[:count].tolist() for column in columns), strict=True)
    return [(order, price, quantity) for order, price, quantity in rows]


def units_text(units: int) -> str:
    """A number of units: '1 unit', '3 units'."""
    return f"{units} unit" if units == 1 else f"{units} units"


def enumeration(units: Sequence[int]) -> str:
    """Values or costs as '90, 80 and 70'."""
    words = [str(unit) for unit in units]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def prices(state: DoubleAuctionState) -> str:
    """The prices of the last trades, newest first."""
    return ", ".join(str(price) for price in state.recent[:RECENT].tolist() if price) or "none"


def levels(state: DoubleAuctionState, side: int) -> str:
    """The best prices of a side with their quantities: '95 (2), 93 (1)'."""
    shown = [f"{price} ({quantity})" for price, quantity in depth(state, side, SHOWN)]
    return ", ".join(shown) or "none"
