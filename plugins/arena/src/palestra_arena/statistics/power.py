"""Power analysis: how many trials are needed to detect a difference.

Two-sided tests in the normal approximation; `confidence` is one less the chance of seeing a
difference that is not there, `power` the chance of seeing one that is.
"""

from __future__ import annotations

import math

from palestra import InvalidOption
from scipy import optimize, stats


def trials_for_two_shares(
    first: float, second: float, *, power: float = 0.8, confidence: float = 0.95
) -> int:
    """Trials of each of two agents to tell success rates apart, run independently.

    Fleiss, "Statistical methods for rates and proportions", equation 4.14 (without continuity
    correction). To see 3 points between 50 % and 53 % takes 4,356 trials each.
    """
    _shares(first, second)
    pooled = (first + second) / 2
    null = _z(confidence) * math.sqrt(2 * pooled * (1 - pooled))
    real = _quantile(power) * math.sqrt(first * (1 - first) + second * (1 - second))
    return math.ceil(((null + real) / (first - second)) ** 2)


def power_of_two_shares(
    first: float, second: float, trials: int, *, confidence: float = 0.95
) -> float:
    """Chance that `trials` of each agent tell these success rates apart."""
    _shares(first, second)
    pooled = (first + second) / 2
    null = _z(confidence) * math.sqrt(2 * pooled * (1 - pooled) / trials)
    real = math.sqrt((first * (1 - first) + second * (1 - second)) / trials)
    return _beyond(null, abs(first - second), real)


def trials_for_pairs(
    difference: float, deviation: float, *, power: float = 0.8, confidence: float = 0.95
) -> int:
    """Paired trials (same seeds) to see a mean difference.

    `deviation` is the standard deviation of the differences of a pair; pairing pays because it is
    smaller than that of the trials.
    """
    if difference == 0 or deviation < 0:
        raise InvalidOption("difference must not be 0, and deviation at least 0")
    spread = (_z(confidence) + _quantile(power)) * deviation / difference
    return max(2, math.ceil(spread**2))


def power_of_pairs(
    difference: float, deviation: float, pairs: int, *, confidence: float = 0.95
) -> float:
    """Probability that `pairs` show a mean difference, by Student's paired test.

    Exact for differences that are normal: the noncentral t distribution.
    """
    if pairs < 2:
        raise InvalidOption(f"a paired test needs at least 2 pairs, not {pairs}")
    freedom = pairs - 1
    bound = float(stats.t.ppf((1 + confidence) / 2, freedom))
    shift = abs(difference) / deviation * math.sqrt(pairs)
    return float(stats.nct.sf(bound, freedom, shift) + stats.nct.cdf(-bound, freedom, shift))


def games_against_half(share: float, *, power: float = 0.8, confidence: float = 0.95) -> int:
    """Independent games, without ties, to see that an agent takes `share` and not half."""
    _shares(share, 0.5)
    spread = _z(confidence) / 2 + _quantile(power) * math.sqrt(share * (1 - share))
    return math.ceil((spread / (share - 0.5)) ** 2)


def detectable_difference(
    baseline: float, trials: int, *, power: float = 0.8, confidence: float = 0.95
) -> float:
    """The smallest gain over a success rate that `trials` of each agent detect."""
    _shares(baseline, None)

    def lacking(gain: float) -> float:
        found = power_of_two_shares(baseline, baseline + gain, trials, confidence=confidence)
        return found - power

    room = 1 - baseline
    if lacking(room - 1e-9) < 0:
        raise InvalidOption(f"{trials} trials show no gain over {baseline} with power {power}")
    return float(optimize.brentq(lacking, 1e-9, room - 1e-9))


def _z(confidence: float) -> float:
    return _quantile((1 + confidence) / 2)


def _quantile(chance: float) -> float:
    if not 0 < chance < 1:
        raise InvalidOption(f"power and confidence must be between 0 and 1, not {chance}")
    return float(stats.norm.ppf(chance))


def _beyond(bound: float, shift: float, deviation: float) -> float:
    """Chance that a normal value round `shift` falls outside ±`bound`."""
    above = stats.norm.sf((bound - shift) / deviation)
    return float(above + stats.norm.cdf((-bound - shift) / deviation))


def _shares(first: float, second: float | None) -> None:
    for share in (first, second):
        if share is not None and not 0 <= share <= 1:
            raise InvalidOption(f"a success rate is between 0 and 1, not {share}")
    if first == second:
        raise InvalidOption("equal rates have no difference to be seen")
