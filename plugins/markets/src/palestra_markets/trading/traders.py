"""Traders from the literature for `markets/DoubleAuction-v0`: zero intelligence, ZIP and GD.

Each decides one unit at a time, from its own observation and from the quotes and trades so far.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import Event, Meta, ScriptedAgent, Turn, agent

from palestra_markets.trading.double_auction import (
    PASS,
    RECENT,
    SHOWN,
    DoubleAuction,
    order_action,
)
from palestra_markets.trading.order_book import BID

BOOK = 7 + RECENT  # offset of the book in an observation, from the trader's own trade count


@dataclass(frozen=True, slots=True)
class TraderView:
    """What a trader sees: their units, the best prices, and the prices they may quote."""

    game: DoubleAuction
    seat: int
    side: int
    units: tuple[int, ...]  # values or costs, best first
    traded: int  # units traded this period
    best_bid: int  # 0 for none
    best_ask: int  # 0 for none
    lowest: int  # lowest price they may quote; none is allowed if it is above `highest`
    highest: int

    @classmethod
    def of(cls, turn: Turn[DoubleAuction]) -> TraderView:
        """Read the observation of a turn."""
        game = turn.game
        seen = np.asarray(turn.observation).astype(int).tolist()
        at = 1 + game.most_units
        bid, ask = seen[at + BOOK], seen[at + BOOK + 2 * SHOWN]
        low, high = 1, game.max_price
        if game.improve:
            low, high = (bid + 1, high) if seen[0] == BID else (low, (ask or high + 1) - 1)
        units = tuple(seen[1 : 1 + game.units[seen[0]]])
        return cls(game, turn.seat, seen[0], units, seen[at], bid, ask, low, high)

    @property
    def limit(self) -> int:
        """The value or cost of the next unit."""
        return self.units[self.traded]

    def quote(self, price: float) -> int:
        """The action that orders one unit at a price; pass where that price is not allowed."""
        whole = min(max(round(price), 1), self.game.max_price)
        if not self.lowest <= whole <= self.highest:
            return PASS  # a quote that does not improve on the best
        return order_action(self.game.config, whole, 1)


class Trader(ScriptedAgent[DoubleAuction]):
    """A trader that decides from its view of the market."""

    stream = 3

    def choose(self, turn: Turn[DoubleAuction]) -> int:
        return self.trade(turn, TraderView.of(turn))

    @abstractmethod
    def trade(self, turn: Turn[DoubleAuction], view: TraderView) -> int:
        """The number of the action to play."""


@agent("zi", needs=("array",))
class ZeroIntelligence(Trader):
    """Quotes a price drawn at random (zero intelligence, Gode and Sunder, JPE 1993)."""

    def __init__(
        self,
        *,
        constrained: Annotated[
            bool, Meta(description="whether it never quotes at a loss (ZI-C); false: ZI-U")
        ] = True,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._constrained = constrained

    def trade(self, turn: Turn[DoubleAuction], view: TraderView) -> int:
        low, high = 1, view.game.max_price
        if self._constrained and view.side == BID:
            high = view.limit
        elif self._constrained:
            low = view.limit
        return view.quote(self.rng.between(low, high))


@dataclass(slots=True)
class Margin:
    """The profit margin at which one unit is quoted, and its last change in price."""

    limit: int
    margin: float
    change: float = 0.0

    @property
    def price(self) -> float:
        return self.limit * (1 + self.margin)

    def aim(self, target: float, memory: Memory) -> None:
        """Move the quoted price towards a target by the Widrow-Hoff rule with momentum."""
        step = memory.rate * (target - self.price)
        self.change = memory.momentum * self.change + (1 - memory.momentum) * step
        margin = (self.price + self.change) / self.limit - 1
        self.margin = min(0.0, margin) if memory.side == BID else max(0.0, margin)


@dataclass(slots=True)
class Memory:
    """What a ZIP trader remembers: parameters drawn once, and a margin for every unit."""

    side: int
    rate: float
    momentum: float
    units: list[Margin]
    heard: int = 0  # number of transcript events already learnt from


@agent("zip", needs=("array",))
class Zip(Trader):
    """Zero intelligence plus: quotes at a profit margin that learns from every quote.

    The rules, and the ranges parameters are drawn from, are those of D. Cliff, "Minimal-
    intelligence agents for bargaining behaviors in market-based environments", HP Labs 1997. A
    seller raises their margin when a trade is at their price or higher; they lower it when a trade
    accepted by a bid, or an unaccepted ask (their own included), is at their price or lower. Buyers
    do the reverse. The paper's traders have one unit and quote freely, so two rules are ours: every
    unit learns its own margin; and where quotes must improve on the best, a trader who cannot
    improve learns from that best quote as from an unaccepted one.
    """

    def __init__(self, *, seed: int | None = None) -> None:
        super().__init__(seed=seed)
        self._memory: dict[tuple[int, int], Memory] = {}

    def forget(self, episode_key: int) -> None:
        self._memory = {key: m for key, m in self._memory.items() if key[0] != episode_key}

    def trade(self, turn: Turn[DoubleAuction], view: TraderView) -> int:
        key = turn.episode_key, turn.seat
        if key not in self._memory:
            self._memory[key] = self._draw(view)
        memory = self._memory[key]
        log = turn.transcript
        for shout in shouts(log[memory.heard :]):
            self._learn(memory, view.traded, shout)
        memory.heard = len(log)
        action = view.quote(memory.units[view.traded].price)
        if action == PASS:
            best = view.best_bid if view.side == BID else view.best_ask
            self._learn(memory, view.traded, Shout(turn.seat, view.side, best))
        return action

    def _draw(self, view: TraderView) -> Memory:
        rng = self.rng
        margin = (-1 if view.side == BID else 1) * (0.05 + 0.3 * rng.random())
        units = [Margin(limit, margin) for limit in view.units]
        return Memory(view.side, 0.1 + 0.4 * rng.random(), 0.1 * rng.random(), units)

    def _learn(self, memory: Memory, traded: int, shout: Shout) -> None:
        """Adjust every unit to a quote; units already traded only ever raise their margin."""
        sign = -1 if memory.side == BID else 1  # a seller's gain rises with the price
        yields = (shout.side == memory.side) != shout.accepted
        for place, unit in enumerate(memory.units):
            own = sign * round(unit.price)  # as it would be quoted
            if shout.accepted and sign * shout.price >= own:
                unit.aim(self._target(shout.price, sign), memory)
            elif yields and place >= traded and sign * shout.price <= own:
                unit.aim(self._target(shout.price, -sign), memory)

    def _target(self, price: int, direction: int) -> float:
        """A target price slightly above or below one that was heard."""
        relative = 1 + direction * 0.05 * self.rng.random()
        return relative * price + direction * 0.05 * self.rng.random()


@agent("gd", needs=("array",))
class GjerstadDickhaut(Trader):
    """Quotes the price with the highest expected surplus, believing what the market has accepted.

    S. Gjerstad and J. Dickhaut, "Price formation in double auctions", Games and Economic Behavior
    22, 1998. The belief that an ask will be accepted at a price is

        (asks accepted at or above + bids at or above)
        / (those + asks not accepted at or below),

    mirrored for bids, over the quotes that led to the last `memory` trades, and interpolated
    between the prices of these quotes by cubics with slope zero there.
    """

    def __init__(
        self,
        *,
        memory: Annotated[int, Meta(ge=1, description="last trades that it learns from")] = 5,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._trades = memory

    def trade(self, turn: Turn[DoubleAuction], view: TraderView) -> int:
        heard = recent(shouts(turn.transcript), self._trades)
        low, high = view.lowest, view.highest
        if view.side == BID:
            high = min(high, view.limit, view.best_ask or high)
        else:
            low = max(low, view.limit, view.best_bid or low)
        if low > high:
            return PASS
        prices = np.arange(low, high + 1)
        believed = beliefs(heard, view, prices)
        gains = (view.limit - prices if view.side == BID else prices - view.limit) * believed
        if gains.max() <= 0:
            return view.quote(prices[-1] if view.side == BID else prices[0])
        return view.quote(float(prices[int(gains.argmax())]))


# Quotes so far


@dataclass(slots=True)
class Shout:
    """A quote: who made it, on which side, at what price, and whether a trade followed.

    An order that trades at once accepts a quote on the book, and does not count as a quote of its
    own: `price` is the trade's, `side` the accepting order's, and `accepted` is true.
    """

    seat: int
    side: int  # BID or ASK
    price: int
    accepted: bool = False
    taken: list[int] = field(default_factory=list)  # prices of earlier quotes this one accepted


def shouts(events: Sequence[Event]) -> list[Shout]:
    """The quotes and trades of a transcript, in order."""
    found: list[Shout] = []
    for event in events:
        if event.kind == "order":
            data: Any = event.data
            side = BID if data["side"] == "bid" else 1 - BID
            found.append(Shout(data["player"], side, data["price"], data["traded"] > 0))
        elif event.kind == "trade" and found:
            found[-1].price = event.data["price"]
            found[-1].taken.append(event.data["price"])
    return found


def recent(heard: Sequence[Shout], trades: int) -> Sequence[Shout]:
    """The quotes that led to the last few trades, and those since."""
    ends = [place for place, shout in enumerate(heard) if shout.accepted]
    return heard[ends[-trades - 1] + 1 :] if len(ends) > trades else heard


def beliefs(
    heard: Sequence[Shout], view: TraderView, prices: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The believed chance that a quote of the trader's side at each price is accepted."""
    top = view.game.max_price + 1
    # count from the trader's worst price, so that higher numbers are more ambitious
    sign = -1 if view.side == BID else 1
    accepted, refused, others = quotes(heard, view.side)
    knots = sorted({*accepted, *refused, *others} - {0, top})
    chances = [chance(price, accepted, refused, others, sign) for price in knots]
    ends = (1.0, 0.0) if sign > 0 else (0.0, 1.0)
    at, known = np.array([0, *knots, top]), np.array([ends[0], *chances, ends[1]])
    known = np.maximum.accumulate(known) if sign < 0 else np.minimum.accumulate(known)
    right = np.clip(np.searchsorted(at, prices, side="left"), 1, len(at) - 1)
    share = (prices - at[right - 1]) / (at[right] - at[right - 1])
    smooth = share * share * (3 - 2 * share)  # the cubic with slope zero at both ends
    found: NDArray[np.float64] = known[right - 1] + smooth * (known[right] - known[right - 1])
    if view.side == BID and view.best_ask:
        found = np.where(prices >= view.best_ask, 1.0, found)
    if view.side != BID and view.best_bid:
        found = np.where(prices <= view.best_bid, 1.0, found)
    return found


def quotes(heard: Sequence[Shout], side: int) -> tuple[list[int], list[int], list[int]]:
    """Prices of a side's quotes that were accepted and that were not, and of the other side's."""
    accepted: list[int] = []
    standing: list[int] = []
    others: list[int] = []
    for shout in heard:
        if shout.accepted and shout.side != side:
            for price in shout.taken:
                accepted.append(price)
                if price in standing:
                    standing.remove(price)
            others += shout.taken  # the acceptance is a quote of the other side at that price
        elif shout.accepted:
            accepted += shout.taken
        elif shout.side == side:
            standing.append(shout.price)
        else:
            others.append(shout.price)
    return accepted, standing, others


def chance(
    price: int, accepted: Sequence[int], refused: Sequence[int], others: Sequence[int], sign: int
) -> float:
    """Gjerstad and Dickhaut's frequency at one price."""
    good = sum(sign * p >= sign * price for p in accepted)
    good += sum(sign * p >= sign * price for p in others)
    bad = sum(sign * p <= sign * price for p in refused)
    return good / (good + bad) if good + bad else 0.0
