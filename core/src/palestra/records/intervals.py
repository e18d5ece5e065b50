"""A share of episodes or answers with a confidence interval."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

from palestra.kernel.errors import InvalidOption


class Interval(NamedTuple):
    """An estimate and its interval at the requested confidence."""

    value: float
    low: float
    high: float


def wilson(successes: float, trials: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval for a share (Wilson 1927).

    It has a positive width even if all trials succeeded, and stays inside [0, 1]. `successes` may
    include half points for ties, which makes it conservative. Without trials it is [0, 1]. Raises
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
