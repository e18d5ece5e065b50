"""Numbers over a record of trading: return, drawdown, Sortino, and against buy-and-hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from palestra import EpisodeRecord, metric


def mornings(record: EpisodeRecord) -> list[dict[str, Any]]:
    """What was told every morning: `value` in cents, `prices` by share."""
    told = [event.data for event in record.opening if event.kind == "open"]
    return told + [event.data for event in record.events if event.kind == "reveal"]


def wealth(record: EpisodeRecord) -> Any:
    """The investor's, in cents, by morning."""
    return np.array([data["value"] for data in mornings(record)], float)


def held_values(record: EpisodeRecord) -> Any:
    """The value of an equal sum in every share, 1 at first, without costs."""
    prices = np.array([data["prices"] for data in mornings(record)], float)
    return (prices / prices[0]).mean(1)


def drawdown(values: Any) -> float:
    """The largest part of the highest value so far that was lost."""
    return float((1 - values / np.maximum.accumulate(values)).max())


def sortino(values: Any) -> float:
    """The mean of daily returns over the root mean square of the negative ones, times sqrt 252.

    0 where none was negative (F. Sortino and R. van der Meer, "Downside Risk", 1991).
    """
    returns = values[1:] / values[:-1] - 1
    downside = float(np.sqrt((np.minimum(returns, 0) ** 2).mean())) if len(returns) else 0.0
    return float(returns.mean()) / downside * 252**0.5 if downside > 0 else 0.0


@metric(
    "total-return",
    measures=("markets/Trading-v0",),
    summary="Wealth at the end over that at first, less 1.",
)
def total_return(record: EpisodeRecord) -> float:
    """Wealth at the end over that at first, less 1."""
    values = wealth(record)
    return float(values[-1] / values[0] - 1)


@metric(
    "max-drawdown",
    measures=("markets/Trading-v0",),
    summary="The largest fall of wealth from a peak, as a part of it.",
)
def max_drawdown(record: EpisodeRecord) -> float:
    """The largest fall from a peak, as a part of it."""
    return drawdown(wealth(record))


@metric(
    "sortino-ratio",
    measures=("markets/Trading-v0",),
    summary="Annualised mean daily return over its downside deviation.",
)
def sortino_ratio(record: EpisodeRecord) -> float:
    """Annualised mean return over downside deviation."""
    return sortino(wealth(record))


@metric(
    "excess-return",
    measures=("markets/Trading-v0",),
    summary="The return less that of an equal sum held in every share, without costs.",
)
def excess_return(record: EpisodeRecord) -> float:
    """The return less that of an equal sum held in every share, without costs."""
    return total_return(record) - float(held_values(record)[-1] - 1)
