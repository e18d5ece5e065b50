"""Shares of episodes or answers, and means over episodes, with confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

from palestra.kernel.errors import InvalidOption

Bounds = tuple[float | None, float | None]
ALIKE = 1e-12  # a spread, against the values, that is rounding and no spread


class Interval(NamedTuple):
    """An estimate, `value`, and the ends `low` and `high` of its interval.

    Both ends are not a number where the interval is unknown.
    """

    value: float
    low: float
    high: float


def wilson(successes: float, trials: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval for a share (Wilson 1927).

    successes: may include half points for ties, which makes the interval conservative.
    trials: how many there were; without any, the interval is [0, 1].
    confidence: of the interval, above 0 and below 1.

    It has a positive width even if all trials succeeded, and stays inside [0, 1]. Raises
    `InvalidOption` for more successes than trials, and for a confidence outside (0, 1).
    """
    if not 0 <= successes <= trials:
        raise InvalidOption(f"successes must be from 0 to {trials} trials, not {successes}")
    if not 0 < confidence < 1:
        raise InvalidOption(f"confidence must be above 0 and below 1, not {confidence}")
    if not trials:
        return Interval(math.nan, 0.0, 1.0)
    z2 = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    share = successes / trials
    centre = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = math.sqrt(z2 * (share * (1 - share) + z2 / (4 * trials)) / trials) / (1 + z2 / trials)
    return Interval(share, max(0.0, centre - half), min(1.0, centre + half))


def alike_interval(
    value: float, trials: int, bounds: Bounds = (None, None), confidence: float = 0.95
) -> Interval:
    """The interval of a mean whose trials all came out alike: Wilson's, between the bounds.

    A mean of values between two bounds spreads no more than a share does. Without both bounds, or
    with nothing between them, the interval is not a number: equal trials do not say how much the
    next one may differ.
    """
    low, high = bounds
    if low is None or high is None or not 0 < high - low < math.inf:
        return Interval(value, math.nan, math.nan)
    share = min(1.0, max(0.0, (value - low) / (high - low)))
    found = wilson(share * trials, trials, confidence)
    return Interval(value, *(low + (high - low) * end for end in found[1:]))


@dataclass(slots=True)
class Sample:
    """A mean and its interval over values that are added one by one (Welford 1962)."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0  # the sum of squared distances from the mean
    binary: bool = True  # every value was 0 or 1

    def add(self, value: float) -> None:
        self.count += 1
        before = value - self.mean
        self.mean += before / self.count
        self.squares += before * (value - self.mean)
        self.binary = self.binary and value in (0.0, 1.0)

    def interval(self, confidence: float = 0.95, bounds: Bounds = (None, None)) -> Interval:
        """The mean with Student's interval, or with Wilson's where every value was 0 or 1.

        bounds: the lowest and the highest value there can be; the interval stays inside. Values
        that are all alike have the interval of `alike_interval`; none and infinite ones have none.
        """
        if self.binary and bounds == (0.0, 1.0):
            successes = min(self.count, max(0, round(self.mean * self.count)))
            return wilson(successes, self.count, confidence)
        if not self.count or not math.isfinite(self.squares):
            return Interval(self.mean, math.nan, math.nan)
        if self.squares <= (ALIKE * self.mean) ** 2 * self.count:
            return alike_interval(self.mean, self.count, bounds, confidence)
        error = math.sqrt(self.squares / (self.count - 1) / self.count)
        half = student(1 - confidence, self.count - 1) * error
        low, high = bounds
        return Interval(
            self.mean,
            self.mean - half if low is None else max(low, self.mean - half),
            self.mean + half if high is None else min(high, self.mean + half),
        )


def student(tails: float, freedom: int) -> float:
    """The value that Student's t exceeds in absolute value with probability `tails`.

    Hill's algorithm (1970, CACM algorithm 396), to about six digits. freedom: degrees of freedom,
    at least 1. Raises `InvalidOption` for a probability outside (0, 1).
    """
    if not 0 < tails < 1 or freedom < 1:
        raise InvalidOption(f"student needs 0 < tails < 1 and freedom >= 1: {tails}, {freedom}")
    n = freedom
    if n == 1:
        return 1 / math.tan(tails * math.pi / 2)
    if n == 2:
        return math.sqrt(2 / (tails * (2 - tails)) - 2)
    a = 1 / (n - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * n
    y = (d * tails) ** (2 / n)
    if y <= 0.05 + a:
        first = 1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3)
        y = ((first + 0.5 / (n + 4)) * y - 1) * (n + 1) / (n + 2) + 1 / y
        return math.sqrt(n * y)
    x = NormalDist().inv_cdf(tails / 2)
    y = x * x
    if n < 5:
        c += 0.3 * (n - 4.5) * (x + 0.6)
    c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
    return math.sqrt(n * math.expm1(a * y * y))
