"""Reference investors for `markets/Trading-v0`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from palestra import Meta, ScriptedAgent, TextAction, Turn, agent

from palestra_markets.stocks.trading import Buy, EndDay, Sell, Trading


@dataclass(frozen=True, slots=True)
class Holdings:
    """What an investor knows and owns on a morning; prices and cash are in cents."""

    game: Trading
    day: int  # trading days completed
    prices: tuple[int, ...]  # opening prices, by share
    cash: int
    shares: tuple[int, ...]  # held, by share

    @classmethod
    def of(cls, turn: Turn[Trading]) -> Holdings:
        """Read the morning from what has happened so far."""
        game = turn.game
        cash = 100 * game.cash
        held, prices = dict.fromkeys(game.symbols, 0), ()
        for event in turn.transcript:
            if event.kind in ("open", "reveal"):
                prices = tuple(event.data["prices"])
            elif event.kind == "order":
                held[event.data["symbol"]] += event.data["shares"]
                cash -= event.data["paid"] * (1 if event.data["shares"] > 0 else -1)
        day = int(np.asarray(turn.observation)[0])
        return cls(game, day, prices, cash, tuple(held.values()))

    @property
    def wealth(self) -> int:
        return self.cash + sum(n * p for n, p in zip(self.shares, self.prices, strict=True))

    def orders_to(self, weights: Sequence[float]) -> list[TextAction]:
        """Sales, then purchases, that reach target weights; costs reduce the purchases."""
        wealth, cash = self.wealth, self.cash
        sales: list[TextAction] = []
        buys: list[TextAction] = []
        for share, weight in enumerate(weights):
            price, held = self.prices[share], self.shares[share]
            more = int(weight * wealth / price) - held
            if more < 0:
                sales.append(Sell(self.game.symbols[share], -more))
                cash += self.game.sold_for(-more, price)
        for share, weight in enumerate(weights):
            price, held = self.prices[share], self.shares[share]
            more = int(weight * wealth / price) - held
            more = min(more, self.game.affordable(cash, price))
            if more > 0:
                buys.append(Buy(self.game.symbols[share], more))
                cash -= self.game.bought_for(more, price)
        return [*sales, *buys]


@dataclass(slots=True)
class Plan:
    """The orders that are still to be placed on a day."""

    day: int = -1
    orders: list[TextAction] = field(default_factory=list)


class Investor(ScriptedAgent[Trading]):
    """Decides on weights in the morning, places the orders, and ends the day."""

    def __init__(self) -> None:
        super().__init__()
        self._plans: dict[int, Plan] = {}

    def forget(self, episode_key: int) -> None:
        self._plans.pop(episode_key, None)

    def choose(self, turn: Turn[Trading]) -> TextAction:
        """The next of the day's orders, then the end of the day."""
        plan = self._plans.setdefault(turn.episode_key, Plan())
        holdings = Holdings.of(turn)
        if plan.day != holdings.day:
            weights = self.weights(holdings, turn)
            orders = [] if weights is None else holdings.orders_to(weights)
            plan.day, plan.orders = holdings.day, orders[: holdings.game.orders]
        return plan.orders.pop(0) if plan.orders else EndDay()

    @abstractmethod
    def weights(self, holdings: Holdings, turn: Turn[Trading]) -> Sequence[float] | None:
        """The share of wealth to hold in every share; None to trade nothing today."""


@agent("buy-and-hold", needs=("array",))
class BuyAndHold(Investor):
    """Splits the cash equally among all shares on the first day, then never trades again."""

    def weights(self, holdings: Holdings, turn: Turn[Trading]) -> Sequence[float] | None:
        count = len(holdings.prices)
        return [1 / count] * count if holdings.day == 0 else None


@agent("momentum-trader", needs=("array",))
class MomentumTrader(Investor):
    """Holds, equally weighted, the few shares that rose most over the last 20 days.

    It never holds a share that fell (N. Jegadeesh and S. Titman, "Returns to Buying Winners and
    Selling Losers", Journal of Finance 48, 1993).
    """

    def __init__(
        self,
        keep: Annotated[int, Meta(ge=1, description="most shares that it holds")] = 2,
        every: Annotated[int, Meta(ge=1, description="days from one trade to the next")] = 5,
    ) -> None:
        super().__init__()
        self._keep, self._every = keep, every

    def weights(self, holdings: Holdings, turn: Turn[Trading]) -> Sequence[float] | None:
        if holdings.day % self._every:
            return None
        seen = np.asarray(turn.observation)[4:].reshape(-1, 5)
        risen: Mapping[int, float] = {n: float(r) for n, r in enumerate(seen[:, 4]) if r > 0}
        best = sorted(risen, key=lambda share: -risen[share])[: self._keep]
        return [1 / self._keep if share in best else 0.0 for share in range(len(seen))]
