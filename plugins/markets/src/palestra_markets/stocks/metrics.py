"""Metrics for trading: return, drawdown, Sortino ratio, and excess return."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra import EpisodeRecord, metric


def mornings(record: EpisodeRecord) -> list[dict[str, Any]]:
    """The data of every morning: `value` in cents, `prices` by share."""
    first = [event.data for event in record.opening if event.kind == "open"]
    return first + [event.data for event in record.events if event.kind == "reveal"]


def wealth(record: EpisodeRecord) -> NDArray[np.float64]:
    """The investor's wealth in cents, by morning."""
    return np.array([data["value"] for data in mornings(record)], float)


def held_values(record: EpisodeRecord) -> NDArray[np.float64]:
    """The value by morning of equal sums held in every share without costs; it starts at 1."""
    prices = np.array([data["prices"] for data in mornings(record)], float)
    return (prices / prices[0]).mean(1)


def drawdown(values: NDArray[np.float64]) -> float:
    """The largest fall from a peak, as a share of the peak."""
    return float((1 - values / np.maximum.accumulate(values)).max())


def sortino(values: NDArray[np.float64]) -> float:
    """The mean of daily returns over the root mean square of the negative ones, times sqrt 252.

    It is 0 if none was negative (F. Sortino and R. van der Meer, "Downside Risk", 1991).
    """
    returns = values[1:] / values[:-1] - 1
    downside = float(np.sqrt((np.minimum(returns, 0) ** 2).mean())) if len(returns) else 0.0
    return float(returns.mean()) / downside * 252**0.5 if downside > 0 else 0.0


@metric(
    "total-return",
    measures=("markets/Trading-v0",),
    bounds=(-1.0, None),
    better="higher",
)
def total_return(record: EpisodeRecord) -> float:
    """Wealth at the end divided by wealth at the start, less 1."""
    values = wealth(record)
    return float(values[-1] / values[0] - 1)


@metric(
    "max-drawdown",
    measures=("markets/Trading-v0",),
    bounds=(0.0, 1.0),
    better="lower",
)
def max_drawdown(record: EpisodeRecord) -> float:
    """The largest fall of wealth from a peak, as a share of the peak."""
    return drawdown(wealth(record))


@metric(
    "sortino-ratio",
    measures=("markets/Trading-v0",),
    better="higher",
)
def sortino_ratio(record: EpisodeRecord) -> float:
    """The annualised mean daily return divided by its downside deviation."""
    return sortino(wealth(record))


@metric(
    "excess-return",
    measures=("markets/Trading-v0",),
    better="higher",
)
def excess_return(record: EpisodeRecord) -> float:
    """The return less that of holding equal sums of every share, without costs."""
    return total_return(record) - float(held_values(record)[-1] - 1)


def sharpe(values: NDArray[np.float64]) -> float | None:
    """The mean of daily returns over their standard deviation, times sqrt 252 (Sharpe 1966).

    The interest rate is 0. None if there are fewer than two returns, or if all are equal.
    """
    returns = values[1:] / values[:-1] - 1
    spread = float(returns.std(ddof=1)) if len(returns) > 1 else 0.0
    return float(returns.mean()) / spread * 252**0.5 if spread > 0 else None


@metric("sharpe-ratio", measures=("markets/Trading-v0",), better="higher")
def sharpe_ratio(record: EpisodeRecord) -> float | None:
    """The annualised mean daily return divided by its standard deviation; undefined if it is 0."""
    return sharpe(wealth(record))


@metric("annual-return", measures=("markets/Trading-v0",), bounds=(-1.0, None), better="higher")
def annual_return(record: EpisodeRecord) -> float | None:
    """The return of a year of 252 days at the same rate; undefined before a day is over."""
    values = wealth(record)
    if len(values) < 2:
        return None
    return float((values[-1] / values[0]) ** (252 / (len(values) - 1)) - 1)
