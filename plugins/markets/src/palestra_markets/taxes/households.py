"""The workers: skills, personas, isoelastic utility, and the best hours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from palestra.kernel.rng import Rng
from scipy.stats import f

from palestra_markets.taxes.schedule import tax

MOST_HOURS = 100
LEAST_SKILL, MOST_SKILL = 1_000, 1_000_000  # cents an hour
CARE = {"selfish": 0.0, "altruistic": 0.5, "adversarial": -0.5}
"""The weight of the others' mean utility in what a worker is paid; the rest is their own."""

INCOME_SCALE, INCOME_SHAPES = 72_402.78, (2.0721, 0.48652, 1.14104)
"""A generalised beta distribution of the second kind, fitted to incomes of the American Community
Survey of 2023: scale in dollars, and the shapes a, p and q."""

TRADES = ("cook", "nurse", "teacher", "welder", "driver", "clerk", "farmer", "lawyer", "programmer")
TRAITS = ("saving for a house", "raising two children", "paying off a loan", "close to retirement",
          "caring for a parent", "studying at night", "fond of free time")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker, as drawn at the start of an episode."""

    skill: int  # cents an hour
    motive: str  # a key of CARE
    persona: str  # who they are, in words


def draw_skill(rng: Rng) -> int:
    """A skill in cents per hour, such that 100 hours earn an income drawn from the distribution."""
    a, p, q = INCOME_SHAPES
    income = INCOME_SCALE * (p / q * f.ppf(rng.random(), 2 * p, 2 * q)) ** (1 / a)
    return int(min(max(income, LEAST_SKILL), MOST_SKILL))


def draw_worker(motive: str, rng: Rng) -> Worker:
    """A worker of a given motive, with a drawn skill and persona."""
    skill = draw_skill(rng)
    persona = f"a {rng.choice(TRADES)} of {rng.between(18, 70)}, {rng.choice(TRAITS)}"
    return Worker(skill, motive, persona)


@dataclass(frozen=True, slots=True)
class Tastes:
    """Utility of a consumption of c thousand dollars and h hours: c^(1-r) / (1-r) - k h^d.

    r is `aversion` (log where it is 1), k `effort` and d `toil`. The form is that of S. Zheng et
    al., "The AI Economist", 2020.
    """

    aversion: float
    effort: float
    toil: float

    def utility(self, consumption: Any, hours: Any) -> Any:
        """The utility of consumption in cents (an array or a number), counted as at least one."""
        thousands = np.maximum(np.asarray(consumption, float), 1.0) / 1e5
        if self.aversion == 1:
            enjoyed = np.log(thousands)
        else:
            enjoyed = thousands ** (1 - self.aversion) / (1 - self.aversion)
        return enjoyed - self.effort * np.asarray(hours, float) ** self.toil

    def weight(self, consumption: Any) -> Any:
        """The marginal utility of consumption: the welfare weight of a utilitarian planner."""
        return (np.maximum(np.asarray(consumption, float), 1.0) / 1e5) ** -self.aversion

    def untaxed_hours(self, skill: int) -> float:
        """The best hours without tax or rebate, in closed form: w^(1-r) h^-r = k d h^(d-1)."""
        gain = (skill / 1e5) ** (1 - self.aversion) / (self.effort * self.toil)
        return float(gain ** (1 / (self.toil - 1 + self.aversion)))

    @property
    def elasticity(self) -> float:
        """The elasticity of income to its retained share, (1-r) / (d-1+r), without rebates."""
        return (1 - self.aversion) / (self.toil - 1 + self.aversion)

    def best_hours(self, skills: Any, rates: Sequence[int], rebate: Any, back: float = 0.0) -> Any:
        """The best whole hours for each skill, the fewest of equal ones.

        `rebate` is what is paid back from the others' taxes, `back` the share of one's own taxes
        that is paid back.
        """
        hours = np.arange(MOST_HOURS + 1)
        income = np.asarray(skills, np.int64)[..., None] * hours
        owed = tax(income, rates)
        kept = income - owed + np.asarray(rebate)[..., None] + back * owed
        return self.utility(kept, hours).argmax(-1)


def settle(tastes: Tastes, skills: Any, rates: Sequence[int], rounds: int = 12) -> tuple[Any, Any]:
    """Equilibrium hours by skill, and the rebate.

    In equilibrium nobody gains by other hours, given the others' taxes. This iterates best
    responses, starting without a rebate. If whole hours keep changing by one, it returns the last
    ones.
    """
    skills = np.asarray(skills, np.int64)
    count, rebate = len(skills), np.zeros(len(skills))
    hours = np.zeros(count, int)
    for _ in range(rounds):
        found = tastes.best_hours(skills, rates, rebate, 1 / count)
        owed = tax(skills * found, rates)
        rebate = (owed.sum() - owed) / count
        if (found == hours).all():
            break
        hours = found
    return hours, owed.sum() / count


def welfare(tastes: Tastes, skills: Any, rates: Sequence[int]) -> float:
    """Mean utility where everybody works their best hours."""
    skills = np.asarray(skills, np.int64)
    hours, rebate = settle(tastes, skills, rates)
    income = skills * hours
    return float(tastes.utility(income - tax(income, rates) + rebate, hours).mean())


@lru_cache(maxsize=64)
def _income_by_skill(tastes: Tastes, rates: tuple[int, ...], rebate: int) -> tuple[Any, Any]:
    skills = np.geomspace(LEAST_SKILL, MOST_SKILL, 600).astype(np.int64)
    return skills, skills * tastes.best_hours(skills, rates, rebate)


def skill_behind(tastes: Tastes, income: int, rates: Sequence[int], rebate: int) -> int:
    """The skill whose best hours earn a given income, to the nearest percent."""
    skills, incomes = _income_by_skill(tastes, tuple(rates), rebate)
    return int(skills[np.abs(incomes - income).argmin()])


def stackelberg(
    tastes: Tastes, skills: Any, start: Sequence[int], step: int = 10, most: int = 90
) -> tuple[int, ...]:
    """The rates on a grid with the highest welfare when the workers best-respond.

    Coordinate ascent from the better of `start` and no tax at all: it tries all rates of one
    bracket after the other until none improves welfare.
    """
    grid = range(0, most + 1, step)
    best = max(
        (tuple(min(most, step * round(rate / step)) for rate in start), (0,) * len(start)),
        key=lambda rates: welfare(tastes, skills, rates),
    )
    value, improved = welfare(tastes, skills, best), True
    while improved:
        improved = False
        for place in range(len(best)):
            for rate in grid:
                tried = (*best[:place], rate, *best[place + 1 :])
                found = welfare(tastes, skills, tried)
                if found > value + 1e-12:
                    best, value, improved = tried, found, True
    return best
