"""Draws from distributions, with the generator of a state or an agent."""

from __future__ import annotations

import math

from palestra import Rng


def normal(rng: Rng, mean: float = 0.0, deviation: float = 1.0) -> float:
    """A normal draw, by Box and Muller's method."""
    radius = math.sqrt(-2.0 * math.log(1.0 - rng.random()))
    return mean + deviation * radius * math.cos(2.0 * math.pi * rng.random())


def exponential(rng: Rng, rate: float = 1.0) -> float:
    """An exponential draw; its mean is 1 / rate."""
    return -math.log(1.0 - rng.random()) / rate


def binomial(rng: Rng, trials: int, chance: float) -> int:
    """How many of so many trials succeed."""
    return sum(rng.random() < chance for _ in range(trials))


def poisson(rng: Rng, mean: float) -> int:
    """A Poisson draw: a normal approximation, rounded, for means above 200."""
    if mean > 200:
        return max(0, round(normal(rng, mean, math.sqrt(mean))))
    count, product, limit = 0, rng.random(), math.exp(-mean)
    while product > limit:
        count += 1
        product *= rng.random()
    return count
