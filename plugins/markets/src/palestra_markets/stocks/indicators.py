"""Technical indicators of closing prices, oldest first; None where there are too few days."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]


def moving_average(closes: Series, days: int = 20) -> float | None:
    """The mean of the last `days` closing prices."""
    return float(closes[-days:].mean()) if len(closes) >= days else None


def exponential(values: Series, weight: float) -> Series:
    """Exponentially weighted averages, started at the first value: s = s + weight (x - s)."""
    return np.array(list(accumulate(values.tolist(), lambda s, x: s + weight * (x - s))))


def relative_strength(closes: Series, days: int = 14) -> float | None:
    """J. W. Wilder's index, 1978: 100 for prices that only rise, 0 for prices that only fall.

    Rises and falls are averaged with weight 1 / days.
    """
    if len(closes) <= days:
        return None
    moves = np.diff(closes)
    up = exponential(np.maximum(moves, 0), 1 / days)[-1]
    down = exponential(np.maximum(-moves, 0), 1 / days)[-1]
    return float(100 * up / (up + down)) if up + down > 0 else 50.0


def convergence(closes: Series) -> Series:
    """The 12-day less the 26-day exponential average (G. Appel's MACD), in units of the prices."""
    return exponential(closes, 2 / 13) - exponential(closes, 2 / 27)


def macd(closes: Series) -> float | None:
    """The latest MACD value."""
    return float(convergence(closes)[-1]) if len(closes) >= 26 else None


def macd_signal(closes: Series) -> float | None:
    """The nine-day exponential average of MACD."""
    return float(exponential(convergence(closes), 2 / 10)[-1]) if len(closes) >= 35 else None


def volatility(closes: Series, days: int = 20) -> float | None:
    """The standard deviation of daily returns in percent, not annualised."""
    if len(closes) <= days:
        return None
    returns = np.diff(closes[-days - 1 :]) / closes[-days - 1 : -1]
    return float(100 * returns.std(ddof=1))


def momentum(closes: Series, days: int = 20) -> float | None:
    """The return over the last `days` in percent."""
    return float(100 * (closes[-1] / closes[-days - 1] - 1)) if len(closes) > days else None


INDICATORS: Mapping[str, Callable[[Series], float | None]] = {
    "average_20": lambda closes: _in_dollars(moving_average(closes)),
    "average_50": lambda closes: _in_dollars(moving_average(closes, 50)),
    "relative_strength_14": relative_strength,
    "macd": lambda closes: _in_dollars(macd(closes)),
    "macd_signal": lambda closes: _in_dollars(macd_signal(closes)),
    "volatility_20": volatility,
    "momentum_20": momentum,
}


def _in_dollars(cents: float | None) -> float | None:
    return None if cents is None else cents / 100
