"""Shares traded day by day: one investor asks for prices, facts and news, and places orders.

On every trading day the investor sees the opening prices. They ask for the history of a share, its
technical indicators, its fundamentals or its news, as often as `questions` allows, place orders,
and end the day. Orders are filled at once at the opening price, worsened by `slippage`, for a fee;
both are in basis points of what is traded. Shares are whole, money is in whole cents; borrowing and
short selling are not possible. The investor is paid the change of their wealth, divided by what
they began with: `market` from one opening to the next (on the last day to the close), and `costs`.

The design is that of Y. Chen et al., "StockBench: Can LLM Agents Trade Stocks Profitably In
Real-world Markets?", 2025, with the questions of "AlphaQuanter: An End-to-End Tool-Orchestrated
Agentic Reinforcement Learning Framework for Stock Trading", 2025. Prices are drawn from the seed
(see `synthetic`), or come from the user's files (see `files`), of which the seed picks the days.
Checked: observations and rewards up to a day do not depend on later days;
indicators and performance measures against pandas; buy-and-hold against the ratio of prices.

Left out: market capitalisation, dividend yield and the original prices; bring your own files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Bar,
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
    Step,
    TextAction,
    TextGame,
    environment,
)
from palestra.kernel.rng import check_seed
from palestra.scene import Candle, Chart

from palestra_markets.chart import chart
from palestra_markets.ledger import Ledger
from palestra_markets.money import dollars
from palestra_markets.stocks.files import read_market
from palestra_markets.stocks.market import Market, Morning, redraw_from
from palestra_markets.stocks.synthetic import COMPANIES, MOST_MOVE, draw_market

INVESTOR, EXCHANGE, BROKER = "investor", "exchange", "broker"
WEIGHTS = (0, 5, 10, 20, 50, 100)  # percent of wealth that can be chosen by number
LOOKBACKS = (1, 5, 20)
CANDLES, PRICES = 30, ("open", "high", "low", "close")  # days and prices in a picture
WARM_UP = 60  # days of history before the first trading day
MOST_HISTORY, MOST_NEWS = 250, 30
MOST_SEEN = 1e6  # observations are clipped here


class Prices(TextAction, frozen=True):
    """Ask for the prices of the last days."""

    symbol: str
    days: int = 10


class Indicators(TextAction, frozen=True):
    """Ask for technical indicators."""

    symbol: str


class Fundamentals(TextAction, frozen=True):
    """Ask for facts about a company."""

    symbol: str


class News(TextAction, frozen=True):
    """Ask for the headlines of the last days."""

    symbol: str
    days: int = 2


class Buy(TextAction, frozen=True):
    """Buy a number of shares."""

    symbol: str
    shares: int


class Sell(TextAction, frozen=True):
    """Sell a number of shares."""

    symbol: str
    shares: int


class Target(TextAction, frozen=True):
    """Buy or sell until a share is a percentage of your wealth, as far as the cash allows."""

    symbol: str
    percent: int


class EndDay(TextAction, frozen=True):
    """Keep what you have until the next trading day."""


@dataclass(slots=True)
class TradingState:
    """An investor's day; money is in cents, days are numbered in the market's data."""

    rng: Rng
    seed: int  # of the drawn market
    start: int  # the first trading day
    day: int  # today
    ledger: Ledger
    shares: list[int]  # held, by share
    base: int  # wealth now, orders of today included
    values: list[int]  # wealth at every opening since the start
    imagined: Market | None = None  # known days and an imagined future, instead of the true market
    asked: int = 0  # questions today
    ordered: int = 0  # orders today
    orders: int = 0  # orders filled so far, which number the ledger's references
    ended: bool = False


@environment(
    "markets/Trading-v0",
    family="market",
    tags=("shares", "tools", "hidden-information", "chance"),
    paper=(
        "Chen et al. (2025), StockBench: Can LLM Agents Trade Stocks Profitably In Real-world "
        "Markets?; AlphaQuanter: An End-to-End Tool-Orchestrated Agentic Reinforcement "
        "Learning Framework for Stock Trading"
    ),
    splits={
        "one-share": {"shares": 1},
        "stockbench": {"shares": 20, "days": 82, "questions": 40, "orders": 40},
        "free": {"fee": 0.0, "slippage": 0.0},
    },
)
@dataclass(frozen=True)
class Trading(TextGame[TradingState]):
    """One investor asks about shares and trades them, day by day.

    Action 0 ends the day; the others trade one share, in order of the symbols, until it makes up 0,
    5, 10, 20, 50 or 100 percent of wealth. Questions, and orders for a number of shares, can only
    be written as text. Payoffs add up to the return: the change of wealth divided by the starting
    cash.

    An observation is a float32 vector of 4 + 5 n numbers for n shares:

        trading day, last trading day, cash over wealth, wealth over the starting cash
        for every share: opening price over that of the first trading day, its share of wealth,
        and the change of that opening price over the closing prices 1, 5 and 20 days ago
    """

    shares: Annotated[
        int, Meta(ge=1, le=20, description="companies of the drawn market; not used with data")
    ] = 6
    days: Annotated[int, Meta(ge=1, le=1000, description="trading days")] = 60
    cash: Annotated[int, Meta(ge=1, le=1_000_000_000, description="starting cash, in dollars")] = (
        100_000
    )
    fee: Annotated[
        float, Meta(ge=0, le=1000, description="fee, in basis points of what is traded")
    ] = 5.0
    slippage: Annotated[
        float,
        Meta(
            ge=0,
            le=1000,
            description="slippage: how much worse than the opening price orders "
            "fill, in basis points",
        ),
    ] = 5.0
    questions: Annotated[int, Meta(ge=0, le=1000, description="questions allowed a day")] = 12
    orders: Annotated[int, Meta(ge=1, le=1000, description="orders allowed a day")] = 12
    data: Annotated[
        FilePath,
        Meta(description="CSV or Parquet file of prices; empty: prices are drawn from the seed"),
    ] = ""
    news: Annotated[
        FilePath,
        Meta(description="CSV or Parquet file of headlines, to go with data; empty: none"),
    ] = ""
    start: Annotated[
        str,
        Meta(description="first trading day in data, as 2024-03-28; empty: drawn from the seed"),
    ] = ""

    rules_text = """
        You invest in shares, day by day. Money is in dollars.

        Every morning you are told the opening prices. You may ask questions, and you may place
        orders, which are filled at once at the opening price, a little worse by slippage, for a
        fee. You cannot borrow, and you cannot sell what you do not have. End the day to go on to
        the next one; after the last your shares are valued at their closing prices. You are paid
        the change of your wealth in parts of what you began with. Write one of:
        Prices(symbol='NOVA', days=10) for the prices of the last days; Indicators(symbol='NOVA')
        for technical indicators; Fundamentals(symbol='NOVA') for facts about the company;
        News(symbol='NOVA', days=2) for headlines about it and the market; Buy(symbol='NOVA',
        shares=10) to buy shares; Sell(symbol='NOVA', shares=10) to sell shares;
        Target(symbol='NOVA', percent=20) to buy or sell until it is 20 percent of your wealth;
        EndDay() to end the day.
    """
    order = "sequential"
    payoffs = "general"
    num_players = 1
    perfect_information = False
    reward_terms = ("market", "costs")
    action_types = (Prices, Indicators, Fundamentals, News, Buy, Sell, Target, EndDay)

    def validate(self) -> None:
        if self.data:
            self._first_days()
        elif self.news or self.start:
            raise InvalidOption("news and start need prices of your own; give data too")

    # The market

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The symbols of the shares, in order."""
        if self.data:
            return read_market(self.data, self.news).symbols
        return tuple(symbol for symbol, _ in COMPANIES[: self.shares])

    def _first_days(self) -> range:
        """The days of a file on which trading may begin."""
        market = read_market(self.data, self.news)
        last = market.days - self.days
        if last < 2:
            raise InvalidOption(
                f"{self.data} has {market.days} days; days={self.days} needs at least "
                f"{self.days + 2}, as two come before the first trading day"
            )
        if not self.start:
            return range(min(WARM_UP, last), last + 1)
        later = [day for day, date in enumerate(market.dates) if date >= self.start]
        if not later or not 2 <= later[0] <= last:
            raise InvalidOption(
                f"start must be from {market.dates[2]} to {market.dates[last]} for days="
                f"{self.days} of {self.data}, not {self.start!r}"
            )
        return range(later[0], later[0] + 1)

    def market(self, state: TradingState) -> Market:
        """All prices of a state, future ones included: for graders and spectators only."""
        read = read_market(self.data, self.news) if self.data else None
        return state.imagined or read or draw_market(self.shares, WARM_UP + self.days, state.seed)

    def morning(self, state: TradingState) -> Morning:
        """What the investor knows of the market."""
        return Morning(self.market(state), state.day)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        """Bounds from losing everything to the largest gain that the prices allowed."""
        if not self.data:
            return (-1.0, float(np.exp(MOST_MOVE * (self.days + 1))))
        bars = read_market(self.data, self.news).bars
        best = np.maximum(bars["high"][1:].max(1) / bars["low"][1:].min(1), 1)
        gaps = np.maximum((bars["open"][1:] / bars["close"][:-1]).max(1), 1)
        return (-1.0, float(min(np.exp(np.log(best * gaps).sum()), 1e300)))

    # Money

    def bought_for(self, shares: int, price: int) -> int:
        """Cents that shares cost at an opening price, slippage and fee included, rounded up."""
        return _up(shares * price * (1 + self.slippage / 1e4)) + self._fee(shares, price)

    def sold_for(self, shares: int, price: int) -> int:
        """Cents that shares sell for at an opening price, less slippage and fee, rounded down."""
        return max(0, int(shares * price * (1 - self.slippage / 1e4)) - self._fee(shares, price))

    def _fee(self, shares: int, price: int) -> int:
        return _up(shares * price * self.fee / 1e4)

    def affordable(self, cash: int, price: int) -> int:
        """The most shares that can be bought for `cash` cents."""
        most = int(cash / (price * (1 + (self.slippage + self.fee) / 1e4))) + 1
        while most > 0 and self.bought_for(most, price) > cash:
            most -= 1
        return most

    # The rules

    def initial_state(self, seed: int | None = None) -> TradingState:
        known = check_seed(seed)
        rng = Rng.seeded(known)
        if self.data:
            first = rng.choice(self._first_days())
            count = len(self.symbols)
        else:
            first, count = WARM_UP, self.shares
        money = 100 * self.cash
        ledger = Ledger()
        ledger.open(INVESTOR, money)
        ledger.open(BROKER)
        ledger.open(EXCHANGE, 10**30)  # the counterparty of every trade
        return TradingState(rng, known, first, first, ledger, [0] * count, money, [money])

    def to_act(self, state: TradingState) -> tuple[int, ...]:
        return () if state.ended else (0,)

    def legal(self, state: TradingState, seat: int) -> Grammar:
        asks = self._questions if state.asked < self.questions else ()
        orders = self._orders(state) if state.ordered < self.orders else ()
        return Grammar((*asks, *orders, Option(EndDay)))

    @cached_property
    def _questions(self) -> tuple[Option, ...]:
        named = OneOf(self.symbols)
        return (
            Option(Prices, {"symbol": named, "days": Integer(1, MOST_HISTORY)}),
            Option(Indicators, {"symbol": named}),
            Option(Fundamentals, {"symbol": named}),
            Option(News, {"symbol": named, "days": Integer(1, MOST_NEWS)}),
        )

    def _orders(self, state: TradingState) -> tuple[Option, ...]:
        """The legal orders; the cash and the cheapest share limit purchases."""
        cash = state.ledger.balances[INVESTOR]
        most = self.affordable(cash, int(self.morning(state).opens.min()))
        held = tuple(s for s, count in zip(self.symbols, state.shares, strict=True) if count)
        buys: dict[str, Any] = {"symbol": OneOf(self.symbols), "shares": Integer(1, most)}
        sells: dict[str, Any] = {"symbol": OneOf(held), "shares": Integer(1, max(state.shares))}
        weighs: dict[str, Any] = {"symbol": OneOf(self.symbols), "percent": Integer(0, 100)}
        return (
            *((Option(Buy, buys),) if most else ()),
            *((Option(Sell, sells),) if held else ()),
            Option(Target, weighs),
        )

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Ending the day, then several weights for every share; questions have no numbers."""
        targets = (Target(symbol, percent) for symbol in self.symbols for percent in WEIGHTS)
        return (EndDay(), *targets)

    def step(self, state: TradingState, actions: Mapping[int, Any]) -> Step:
        action = actions[0]
        if isinstance(action, EndDay):
            return self._end_day(state)
        if isinstance(action, Buy | Sell | Target):
            return self._order(state, action)
        state.asked += 1
        return Step(events=[self._answer(state, action)])

    def _answer(self, state: TradingState, action: Any) -> Event:
        """The answer to a question, from what is known this morning."""
        morning, share = self.morning(state), self.symbols.index(action.symbol)
        if isinstance(action, Prices):
            rows = morning.history(share, action.days)
            text = "\n".join(map(price_text, rows))
            return Event("prices", f"{action.symbol}:\n{text}", {"rows": rows})
        if isinstance(action, News):
            lines = morning.news(share, action.days)
            text = "\n".join(f"{date}: {line}" for date, line in lines) or "No headlines."
            return Event("news", text, {"lines": [list(line) for line in lines]})
        if isinstance(action, Indicators):
            values, kind = morning.indicators(share), "indicators"
        else:
            values, kind = morning.facts(share), "facts"
        shown = ", ".join(f"{name} {value:,.6g}" for name, value in values.items())
        return Event(kind, f"{action.symbol}: {shown or 'nothing is known'}.", {kind: values})

    def _order(self, state: TradingState, action: Buy | Sell | Target) -> Step:
        state.ordered += 1
        share = self.symbols.index(action.symbol)
        price = int(self.morning(state).opens[share])
        cash, held = state.ledger.balances[INVESTOR], state.shares[share]
        if isinstance(action, Target):
            wanted = state.base * action.percent // 100 // price - held
            wanted = min(wanted, self.affordable(cash, price))
        else:
            wanted = action.shares if isinstance(action, Buy) else -action.shares
        if wanted > 0 and self.bought_for(wanted, price) > cash:
            cost, most = self.bought_for(wanted, price), self.affordable(cash, price)
            return _refusal(
                f"{wanted} {action.symbol} cost {dollars(cost)} and you have {dollars(cash)}, "
                f"enough for {most}"
            )
        if wanted < -held:
            return _refusal(f"you have {held} {action.symbol}, not {-wanted}")
        if wanted == 0:
            return _refusal(f"there is nothing to trade in {action.symbol}")
        return self._fill(state, share, wanted, price)

    def _fill(self, state: TradingState, share: int, wanted: int, price: int) -> Step:
        """Move money and shares for a feasible order; `wanted` is negative for a sale."""
        state.orders += 1
        count, fee = abs(wanted), self._fee(abs(wanted), price)
        if wanted > 0:
            paid = self.bought_for(count, price)
            self._pay(state, EXCHANGE, paid - fee, "shares")
            cost = paid - count * price
        else:
            fee = min(fee, int(count * price * (1 - self.slippage / 1e4)))
            paid = self.sold_for(count, price)
            state.ledger.transfer(EXCHANGE, INVESTOR, paid + fee, f"shares {state.orders}")
            cost = count * price - paid
        self._pay(state, BROKER, fee, "fee")
        state.shares[share] += wanted
        state.base -= cost
        word = "buy" if wanted > 0 else "sell"
        symbol = self.symbols[share]
        text = f"You {word} {count} {symbol} at {dollars(price)}: {dollars(paid)} with costs."
        data = {"symbol": symbol, "shares": wanted, "price": price, "paid": paid, "fee": fee}
        rewards = {0: {"costs": -cost / (100 * self.cash)}} if cost else {}
        return Step(rewards, events=[Event("order", text, data)])

    def _pay(self, state: TradingState, target: str, amount: int, what: str) -> None:
        if amount:
            state.ledger.transfer(INVESTOR, target, amount, f"{what} {state.orders}")

    def _end_day(self, state: TradingState) -> Step:
        market = self.market(state)
        last = state.day - state.start + 1 == self.days
        prices = market.bars["close"][state.day] if last else market.bars["open"][state.day + 1]
        if not state.ledger.is_conserved():
            state.ledger.check()
        value = self._wealth(state, prices)
        gained, state.base = value - state.base, value
        state.values.append(value)
        state.asked = state.ordered = 0
        state.ended = last
        state.day += 0 if last else 1
        rewards = {0: {"market": gained / (100 * self.cash)}} if gained else {}
        return Step(rewards, events=[self._morning_event(state, prices)])

    def _wealth(self, state: TradingState, prices: NDArray[np.int64]) -> int:
        held = sum(count * int(price) for count, price in zip(state.shares, prices, strict=True))
        return state.ledger.balances[INVESTOR] + held

    def _morning_event(self, state: TradingState, prices: NDArray[np.int64]) -> Event:
        """The new day's opening prices, or how it ended; a `reveal`, since the future is hidden."""
        data = {"value": state.base, "prices": [int(price) for price in prices]}
        if state.ended:
            text = f"Trading is over. At the closing prices you own {dollars(state.base)}."
            return Event("reveal", text, {**data, "date": self.morning(state).date})
        date = self.morning(state).date
        text = f"{date}. Opening prices: {self._price_list(prices)}."
        return Event("reveal", text, {**data, "date": date})

    def _price_list(self, prices: NDArray[np.int64]) -> str:
        pairs = zip(self.symbols, prices, strict=True)
        return ", ".join(f"{symbol} {dollars(int(price))}" for symbol, price in pairs)

    def opening(self, state: TradingState) -> Sequence[Event]:
        morning = self.morning(state)
        data = {"value": state.base, "prices": morning.opens.tolist(), "date": morning.date}
        text = f"{morning.date}. Opening prices: {self._price_list(morning.opens)}."
        return [Event("open", text, data)]

    def outcome(self, state: TradingState) -> Outcome | None:
        if not state.ended:
            return None
        gain = state.base / (100 * self.cash) - 1
        return Outcome(("score",), (gain,), f"the return is {100 * gain:.2f} percent")

    def determinize(self, state: TradingState, seat: int, rng: Rng) -> TradingState:
        """Redraw the days to come from past days."""
        copy = self.clone(state)
        if not state.ended:
            copy.imagined = redraw_from(self.market(state), state.day, rng.word())
            copy.seed = 0  # from which all days could be drawn
        return copy

    def noop(self, state: TradingState, seat: int) -> TextAction:
        return EndDay()

    # What a player sees

    def rules_for(self, seat: int) -> str:
        costs = f"Slippage is {self.slippage:g} and the fee {self.fee:g} basis points. "
        counts = f"In a day you may ask {self.questions} questions and place {self.orders} orders."
        return f"{super().rules_for(seat)}\n{costs}{counts}"

    def describe(self, state: TradingState, seat: int) -> str:
        morning = self.morning(state)
        done = state.day - state.start
        cash = state.ledger.balances[INVESTOR]
        lines = [
            f"{morning.date}, trading day {done + 1} of {self.days}.",
            f"Your wealth is {dollars(state.base)}, cash {dollars(cash)}. You began with "
            f"{dollars(100 * self.cash)}.",
        ]
        opening = openings(self.symbols, morning.market, morning.day)
        lines += [f"{told}{n} shares." for told, n in zip(opening, state.shares, strict=True)]
        left = self.questions - state.asked, self.orders - state.ordered
        lines.append(f"Today you may ask {left[0]} more questions and place {left[1]} more orders.")
        return "\n".join(lines)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        size = 4 + 5 * len(self.symbols)
        return spaces.Box(-1.0, MOST_SEEN, (size,), np.float32)

    def observe(self, state: TradingState, seat: int) -> NDArray[np.float32]:
        """The observation vector; the class docstring gives the layout."""
        morning, wealth = self.morning(state), max(1, state.base)
        cash = state.ledger.balances[INVESTOR]
        first = self.market(state).bars["open"][state.start]
        seen = [state.day - state.start, self.days, cash / wealth, wealth / (100 * self.cash)]
        for share, count in enumerate(state.shares):
            price = int(morning.opens[share])
            seen += [price / int(first[share]), count * price / wealth]
            seen += changes_of(morning, share)
        return np.clip(np.array(seen), -1.0, MOST_SEEN).astype(np.float32)

    def _prices(self, state: TradingState) -> Chart:
        """The last days of the first share, as candles; today's is not known yet."""
        bars, first = self.market(state).bars, max(0, state.day - CANDLES)
        columns = [(bars[name][first : state.day, 0] / 100).tolist() for name in PRICES]
        rows = zip(range(first, state.day), *columns, strict=True)
        return Chart((), self.symbols[0], "day", "dollars", tuple(Candle(*row) for row in rows))

    def scene(self, state: TradingState, seat: int | None = None) -> Scene:
        """The investor's wealth and buy-and-hold over time, and what the investor owns."""
        morning, percent = self.morning(state), 1 / self.cash  # cents to percent of the first day
        opens = self.market(state).bars["open"][state.start : state.day + 1]
        held = (100 * (opens / opens[0]).mean(1)).tolist()
        owned = zip(self.symbols, state.shares, morning.opens, strict=True)
        bars = [
            Bar(symbol, round(n * int(price) * percent, 1), 100.0, 0)
            for symbol, n, price in owned
            if n
        ]
        bars = sorted(bars, key=lambda bar: -bar.value)[:6]
        bars.append(Bar("cash", round(state.ledger.balances[INVESTOR] * percent, 1), 100.0))
        line = f"{morning.date}: you own {dollars(state.base)} of {dollars(100 * self.cash)}."
        worth = {"you": [value * percent for value in state.values], "hold": held}
        return Scene(
            caption="you, and buy-and-hold, in percent of the first day",
            parts=(self._prices(state), chart(worth, "day", "% of the first day")),
            bars=tuple(bars),
            lines=(line,),
        )


def changes_of(morning: Morning, share: int) -> list[float]:
    """Changes of the opening price over the closes 1, 5 and 20 days ago, or the oldest."""
    closes = morning.past("close", share)
    now = int(morning.opens[share])
    return [now / int(closes[-min(days, len(closes))]) - 1 for days in LOOKBACKS]


@lru_cache(maxsize=256)
def openings(symbols: tuple[str, ...], market: Market, day: int) -> list[str]:
    """What the investor reads of every share on a morning, up to how many they have of it."""
    morning, lines = Morning(market, day), []
    for share, symbol in enumerate(symbols):
        changes = ", ".join(
            f"{100 * change:+.1f}% over {days}"
            for days, change in zip(LOOKBACKS, changes_of(morning, share), strict=True)
        )
        price = dollars(int(morning.opens[share]))
        lines.append(f"{symbol}: opens at {price} ({changes} days); you have ")
    return lines


def _refusal(why: str) -> Step:
    return Step(events=[Event("refused", f"Your order is refused: {why}.")])


def _up(cents: float) -> int:
    """Round up to whole cents, tolerating float rounding errors."""
    return -int(-(cents - 1e-7) // 1)


def price_text(row: Mapping[str, Any]) -> str:
    """One day's prices in a line."""
    prices = ", ".join(f"{name} {dollars(row[name])}" for name in ("open", "high", "low", "close"))
    return f"{row['date']}: {prices}, volume {row['volume']:,}"
