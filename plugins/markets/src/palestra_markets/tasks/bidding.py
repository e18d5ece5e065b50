"""What a plan is worth and costs, which plan wins, and what the winner is paid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, log

LONGEST = 10  # steps of a plan
EASIEST, HARDEST = 1, 5


@dataclass(frozen=True, slots=True)
class Worker:
    """The strength and the costs of an agent."""

    skill: float  # on the scale of difficulties
    step_cost: int

    def success(self, difficulty: int, steps: int) -> float:
        """The chance that a plan works: logistic in the skill plus the log of its steps."""
        return 1 / (1 + exp(difficulty - self.skill - log(steps)))

    def cost(self, steps: int) -> int:
        """The cost of a plan."""
        return steps * self.step_cost

    def best_plan(self, difficulty: int, worth: int) -> int:
        """The number of steps that maximises the expected worth less the cost."""
        return max(
            range(1, LONGEST + 1),
            key=lambda steps: worth * self.success(difficulty, steps) - self.cost(steps),
        )

    def surplus(self, difficulty: int, worth: int) -> float:
        """The worth of the best plan less its cost."""
        steps = self.best_plan(difficulty, worth)
        return worth * self.success(difficulty, steps) - self.cost(steps)


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan as it was offered and judged."""

    steps: int
    ask: int  # the price asked
    believed: float  # the chance of success that the jury sees

    def score(self, worth: int) -> float:
        """The price asked less the worth of the chance that the jury sees; lower is better."""
        return self.ask - worth * self.believed


def winner_of(plans: Sequence[Plan | None], worth: int) -> int:
    """The seat with the lowest score below 0, the lower price among equals; -1 for nobody."""
    offered = [
        (round(plan.score(worth), 9), plan.ask, seat)
        for seat, plan in enumerate(plans)
        if plan is not None
    ]
    best = min(offered, default=(0.0, 0, -1))
    return best[2] if best[0] < 0 else -1


def second_price(plans: Sequence[Plan | None], worth: int, winner: int) -> int:
    """The price at which the winner's score equals the next lowest, or 0 if that is lower.

    Y. Che, "Design Competition through Multidimensional Auctions", RAND Journal 24, 1993: in a
    second-score auction asking for the cost of one's best plan is a dominant strategy.
    """
    others = [
        plan.score(worth) for seat, plan in enumerate(plans) if plan is not None and seat != winner
    ]
    won = plans[winner]
    assert won is not None
    return max(won.ask, ceil(min(0.0, min(others, default=0.0)) + worth * won.believed - 1e-9))
