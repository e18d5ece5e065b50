"""Prices, facts and headlines of shares by day, and the part known on a given morning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra.kernel.rng import Rng

from palestra_markets.draws import uniforms
from palestra_markets.stocks.indicators import INDICATORS

COLUMNS = ("open", "high", "low", "close", "volume")


@dataclass(frozen=True, slots=True)
class Headline:
    """News of one morning; `symbol` is empty where it is about the market."""

    symbol: str
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Market:
    """A whole market, future included; arrays have the shape (days, shares)."""

    symbols: tuple[str, ...]
    dates: tuple[str, ...]  # of the days, as 2024-03-28
    bars: Mapping[str, NDArray[np.int64]]  # by the names of COLUMNS: cents, and shares traded
    # by name, as known on the morning of a day; nan: not known
    facts: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    news: Sequence[Sequence[Headline]] = ()  # by day

    @property
    def days(self) -> int:
        return len(self.dates)


@dataclass(frozen=True, slots=True)
class Morning:
    """A market on the morning of a day: that day's opening prices, and everything before.

    The game reads no other part of a `Market`, and shows no other to a player.
    """

    market: Market
    day: int

    @property
    def date(self) -> str:
        return self.market.dates[self.day]

    @property
    def opens(self) -> NDArray[np.int64]:
        """This morning's opening prices in cents, by share."""
        return self.market.bars["open"][self.day]

    def past(self, column: str, share: int | None = None) -> NDArray[np.int64]:
        """A column for completed days, oldest first: of one share, or of shape (days, shares)."""
        table = self.market.bars[column][: self.day]
        return table if share is None else table[:, share]

    def history(self, share: int, days: int) -> list[dict[str, Any]]:
        """The last completed days of a share, oldest first, as rows of date and prices."""
        start = max(0, self.day - days)
        rows = zip(*(self.past(name, share)[start:].tolist() for name in COLUMNS), strict=True)
        dates = self.market.dates[start : self.day]
        return [
            {"date": date, **dict(zip(COLUMNS, row, strict=True))}
            for date, row in zip(dates, rows, strict=True)
        ]

    def indicators(self, share: int) -> dict[str, float]:
        """Technical indicators of the closing prices; those that need more days are left out."""
        closes = self.past("close", share).astype(float)
        found = {name: formula(closes) for name, formula in INDICATORS.items()}
        return {name: value for name, value in found.items() if value is not None}

    def facts(self, share: int) -> dict[str, float]:
        """What is known about a company: facts of the day, and prices of the last 250 days."""
        known = {name: float(table[self.day, share]) for name, table in self.market.facts.items()}
        closes = self.past("close", share)[-250:]
        known |= {
            "last_close": closes[-1] / 100,
            "high_250_days": self.past("high", share)[-250:].max() / 100,
            "low_250_days": self.past("low", share)[-250:].min() / 100,
            "mean_volume_20_days": float(self.past("volume", share)[-20:].mean()),
        }
        if known.get("earnings_per_share", 0) > 0:
            known["price_to_earnings"] = known["last_close"] / known["earnings_per_share"]
        return {name: float(value) for name, value in known.items() if np.isfinite(value)}

    def news(self, share: int, days: int) -> list[tuple[str, str]]:
        """Date and text of the last days' headlines about a share or the market, newest first."""
        symbol = self.market.symbols[share]
        found = []
        for day in range(self.day, max(-1, self.day - days), -1):
            lines = self.market.news[day] if day < len(self.market.news) else ()
            date = self.market.dates[day]
            found += [(date, line.text) for line in lines if line.symbol in ("", symbol)]
        return found


def redraw_from(market: Market, day: int, seed: int) -> Market:
    """The same market up to the morning of `day`; the days after it are drawn anew.

    This is a bootstrap: every new day repeats the joint moves of all shares on some earlier day.
    Facts stay as they are on `day`, and there is no more news.
    """
    rng = Rng.seeded(seed, stream=5)
    past = {name: table[:day].astype(float) for name, table in market.bars.items()}
    picks = 1 + (uniforms(rng, market.days - day) * (day - 1)).astype(int)
    gaps = past["open"][1:] / past["close"][:-1]
    bars = {name: table.copy() for name, table in market.bars.items()}
    opened = bars["open"][day].astype(float)
    for number, pick in enumerate(picks, start=day):
        for name in ("high", "low", "close"):
            bars[name][number] = cents(opened * past[name][pick] / past["open"][pick])
        bars["high"][number] = np.maximum(bars["high"][number], bars["open"][number])
        bars["low"][number] = np.minimum(bars["low"][number], bars["open"][number])
        bars["volume"][number] = past["volume"][pick]
        if number + 1 < market.days:
            bars["open"][number + 1] = cents(bars["close"][number] * gaps[pick - 1])
            opened = bars["open"][number + 1].astype(float)
    facts = {name: table.copy() for name, table in market.facts.items()}
    for table in facts.values():
        table[day + 1 :] = table[day]
    return Market(market.symbols, market.dates, bars, facts, tuple(market.news[: day + 1]))


def cents(prices: NDArray[np.float64]) -> NDArray[np.int64]:
    """Prices in whole cents, at least one."""
    return np.maximum(1, np.rint(prices)).astype(np.int64)
