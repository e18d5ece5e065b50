"""Generative models to experiment on: a prior, a space of designs, and a likelihood.

For each model, `mean(thetas, design)` is the parameter of the outcome's distribution for each of
many settings of the unknowns: a probability ("binary", "binomial" of `trials`), a Poisson mean
("count"), or the mean of a normal outcome of standard deviation `noise` ("real").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from palestra import Rng

from palestra_tasks.draws import binomial, normal, poisson

Array = NDArray[np.float64]
Designs = tuple[float, ...]


def special() -> Any:
    """SciPy's special functions, imported late: it takes half a second, which no reset needs."""
    import scipy.special

    return scipy.special


@dataclass(frozen=True, slots=True)
class Axis:
    """One number of a design."""

    name: str
    low: float
    high: float
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Model:
    """A generative model; `story` and `plain` describe it with and without its domain."""

    name: str
    story: str
    plain: str
    outcome: Literal["binary", "binomial", "count", "real"]
    axes: tuple[Axis, ...]
    prior: Callable[[Rng], Sequence[float]]
    mean: Callable[[Array, Designs], Array]
    noise: float = 1.0
    trials: int = 1

    def draw_design(self, rng: Rng) -> Designs:
        return tuple(
            float(rng.between(int(a.low), int(a.high)))
            if a.whole
            else round(a.low + (a.high - a.low) * rng.random(), 3)
            for a in self.axes
        )

    def particles(self, count: int, seed: int) -> Array:
        """Draws from the prior, one a row."""
        rng = Rng.seeded(seed, 21)
        return np.array([self.prior(rng) for _ in range(count)], np.float64)

    def expected(self, thetas: Array, design: Designs) -> Array:
        """The expected outcome for each setting."""
        return self.mean(thetas, design) * (self.trials if self.outcome == "binomial" else 1)

    def sample(self, theta: Array, design: Designs, rng: Rng) -> float:
        """An outcome of the true setting."""
        mean = float(self.mean(theta[None], design)[0])
        if self.outcome == "binary":
            return float(rng.random() < mean)
        if self.outcome == "binomial":
            return float(binomial(rng, self.trials, mean))
        if self.outcome == "count":
            return float(poisson(rng, mean))
        return round(normal(rng, mean, self.noise), 4)

    def log_likelihood(self, means: Array, outcome: float | Array) -> Array:
        """log p(outcome | mean), broadcast."""
        y = np.asarray(outcome, np.float64)
        if self.outcome == "real":
            z = (y - means) / self.noise
            gaussian: Array = -0.5 * z * z - math.log(self.noise * math.sqrt(2 * math.pi))
            return gaussian
        if self.outcome == "count":
            counts: Array = y * np.log(np.maximum(means, 1e-300)) - means - special().gammaln(y + 1)
            return counts
        p = np.clip(means, 1e-12, 1 - 1e-12)
        choose = (
            special().gammaln(self.trials + 1)
            - special().gammaln(y + 1)
            - special().gammaln(self.trials - y + 1)
        )
        return choose + y * np.log(p) + (self.trials - y) * np.log1p(-p)


def _normals(rng: Rng, count: int) -> list[float]:
    return [normal(rng) for _ in range(count)]


def _signal(t: Array, d: Designs) -> Array:
    far = [(t[:, k] - d[0]) ** 2 + (t[:, k + 1] - d[1]) ** 2 for k in (0, 2)]
    return np.log(0.1 + sum(1 / (1e-4 + f) for f in far))


def _discount(t: Array, d: Designs) -> Array:
    later, now, days = d
    gain = later / (1 + np.exp(t[:, 0]) * days) - now
    return 0.01 + 0.98 * special().ndtr(gain / np.maximum(0.1, t[:, 1]))


def _prey(t: Array, d: Designs) -> Array:
    """Prey at a time, by Runge and Kutta's method for all settings at once."""
    a, b, c, e = t.T
    prey, hunters = np.full(len(t), 30.0), np.full(len(t), 5.0)
    steps = max(1, math.ceil(d[0] / 0.1))
    h = d[0] / steps

    def slope(x: Array, y: Array) -> tuple[Array, Array]:
        return x * (a - b * y), y * (e * x - c)

    for _ in range(steps):
        k1 = slope(prey, hunters)
        k2 = slope(prey + h / 2 * k1[0], hunters + h / 2 * k1[1])
        k3 = slope(prey + h / 2 * k2[0], hunters + h / 2 * k2[1])
        k4 = slope(prey + h * k3[0], hunters + h * k3[1])
        prey = prey + h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
        hunters = hunters + h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
    return np.clip(prey, 0.0, 1e6)


def _feeling(t: Array, d: Designs) -> Array:
    low, high, chance, won = d
    got = high if won else low
    hoped = chance / 100 * high + (1 - chance / 100) * low
    total: Array = 5 + t[:, 0] * got / 50 + t[:, 1] * (got - hoped) / 50
    return total + t[:, 2] * abs(got - hoped) / 50


MODELS = {
    model.name: model
    for model in (
        Model(
            "location-finding",
            "Two sources of a signal are hidden somewhere on a plane, most likely near the origin. "
            "Measure the logarithm of the signal's strength at a point; it falls with the square "
            "of the distance, adds up over sources, and is noisy.",
            "Choose two numbers; the outcome is a noisy real number.",
            "real",
            (Axis("x", -3, 3), Axis("y", -3, 3)),
            lambda rng: _normals(rng, 4),
            _signal,
            noise=0.5,
        ),
        Model(
            "hyperbolic-discounting",
            "Somebody chooses between money now and more money later; the value of money falls "
            "hyperbolically with the days to wait, at a rate of theirs. Offer a later sum, a sum "
            "now and a number of days; the outcome is 1 if they wait.",
            "Choose three numbers; the outcome is 0 or 1.",
            "binary",
            (Axis("later", 2, 100, True), Axis("now", 1, 100, True), Axis("days", 1, 365, True)),
            lambda rng: [normal(rng, -4.25, 1.5), abs(normal(rng, 0, 2))],
            _discount,
        ),
        Model(
            "death-process",
            "A disease spreads through 50 healthy people: each falls ill at a constant rate. Look "
            "once at a time of your choice, in a new population each time; the outcome is how many "
            "are ill.",
            "Choose a positive number; the outcome is a whole number from 0 to 50.",
            "binomial",
            (Axis("time", 0.01, 5),),
            lambda rng: [abs(normal(rng, 1, 1))],
            lambda t, d: 1 - np.exp(-t[:, 0] * d[0]),
            trials=50,
        ),
        Model(
            "item-response",
            "Six students answer six questions; whether an answer is right depends on the "
            "student's ability and the question's difficulty. Choose a student and a question (0 "
            "to 5); the outcome is 1 if the answer is right.",
            "Choose two whole numbers; the outcome is 0 or 1.",
            "binary",
            (Axis("student", 0, 5, True), Axis("question", 0, 5, True)),
            lambda rng: _normals(rng, 12),
            lambda t, d: special().expit(t[:, int(d[0])] - t[:, 6 + int(d[1])]),
        ),
        Model(
            "predator-prey",
            "Prey and predators live together: prey breed and are eaten, predators live on prey "
            "and die (Lotka and Volterra). Count the prey at a time, in a new copy of the world "
            "each time; the count is noisy.",
            "Choose a number; the outcome is a whole number.",
            "count",
            (Axis("time", 0, 20),),
            lambda rng: [
                0.3 + 0.5 * rng.random(),
                0.02 + 0.03 * rng.random(),
                0.3 + 0.5 * rng.random(),
                0.01 + 0.02 * rng.random(),
            ],
            _prey,
        ),
        Model(
            "dugongs",
            "The length of a sea cow grows with its age towards a limit. Choose an age; the "
            "outcome is the measured length of a sea cow of that age.",
            "Choose a number; the outcome is a real number.",
            "real",
            (Axis("age", 0, 30),),
            lambda rng: [
                normal(rng, 2.7, 0.3),
                0.5 + rng.random(),
                0.7 + 0.25 * rng.random(),
            ],
            lambda t, d: t[:, 0] - t[:, 1] * t[:, 2] ** d[0],
            noise=0.1,
        ),
        Model(
            "peregrines",
            "The number of breeding pairs of falcons changes over five decades, smoothly but not "
            "always in one direction. Choose a time in decades; the outcome is a count of pairs.",
            "Choose a number; the outcome is a whole number.",
            "count",
            (Axis("time", 0, 5),),
            lambda rng: [
                normal(rng, 3.5, 0.4),
                normal(rng, 0.4, 0.3),
                normal(rng, -0.1, 0.1),
                normal(rng, 0, 0.02),
            ],
            lambda t, d: np.exp(
                np.clip(t[:, 0] + t[:, 1] * d[0] + t[:, 2] * d[0] ** 2 + t[:, 3] * d[0] ** 3, -5, 7)
            ),
        ),
        Model(
            "survival",
            "After an operation the risk of death is constant in time, and differs between tumours "
            "that have spread and those that have not. Choose whether it has spread (0 or 1) and a "
            "number of months; the outcome is 1 if a new patient of that kind has died by then.",
            "Choose 0 or 1, and a number; the outcome is 0 or 1.",
            "binary",
            (Axis("spread", 0, 1, True), Axis("months", 1, 240)),
            lambda rng: [normal(rng, -5, 0.7), normal(rng, 0.7, 0.7)],
            lambda t, d: 1 - np.exp(-np.exp(np.clip(t[:, 0] + t[:, 1] * d[0], -20, 3)) * d[1]),
        ),
        Model(
            "moral-choice",
            "People judge which of two groups a car without a driver should spare. Choose by how "
            "much the first group has more people, more young people and more animals (-3 to 3 "
            "each), and whether sparing it means turning (0 or 1); the outcome is 1 if the first "
            "group is spared.",
            "Choose four whole numbers; the outcome is 0 or 1.",
            "binary",
            (
                Axis("people", -3, 3, True),
                Axis("young", -3, 3, True),
                Axis("animals", -3, 3, True),
                Axis("turning", 0, 1, True),
            ),
            lambda rng: _normals(rng, 4),
            lambda t, d: special().expit(t @ np.array(d)),
        ),
        Model(
            "emotion",
            "Somebody spins a wheel that pays a low or a high prize. Choose both prizes, the "
            "chance of the high one in percent and whether it came up (0 or 1); the outcome is how "
            "happy others say they are, about 5 for the usual.",
            "Choose four numbers; the outcome is a real number.",
            "real",
            (
                Axis("low", 0, 50),
                Axis("high", 50, 100),
                Axis("chance", 1, 99),
                Axis("won", 0, 1, True),
            ),
            lambda rng: _normals(rng, 3),
            _feeling,
            noise=0.5,
        ),
    )
}
