"""V₀: how likely a policy is to succeed at a task, from its past results, without a rollout.

"V_0: A Generalist Value Model for Any Policy at State Zero" (2026) reads a policy's past tasks and
successes as context, so that one model serves all policies and need not be fitted as they learn.
There a pretrained tabular model over a language model's embeddings predicts; here a kernel over
hashed words does, whose two numbers are fitted to the histories of many policies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from typing import Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption, retrace
from palestra.kernel.game import Game

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import won
from palestra_rewards.learnt.networks import hashed_words
from palestra_rewards.people import people_of

SIZE = 512  # columns that words are hashed to


@dataclass(slots=True)
class History:
    """What a policy has done: the texts of tasks, and its success at each, from 0 to 1."""

    tasks: list[str] = field(default_factory=list)
    success: list[float] = field(default_factory=list)

    @classmethod
    def of(
        cls, records: Sequence[EpisodeRecord], *, seat: int = 0, game: Game[Any, Any] | None = None
    ) -> History:
        """The first prompt of a seat in each record, and whether it succeeded."""
        found = cls()
        for record in records:
            own = [person for person in people_of(record) if person.seat == seat]
            if own:
                found.tasks.append(start_text(record, seat=seat, game=game))
                found.success.append(float(won(record, own[-1])))
        return found


def start_text(record: EpisodeRecord, *, seat: int = 0, game: Game[Any, Any] | None = None) -> str:
    """What a seat reads before anybody has moved."""
    return next(retrace(record, game)).prompt(seat, 0)


class StateZero:
    """Predicts success at a new task from a policy's history.

    The prediction is a weighted mean of the policy's past successes: a task weighs
    `exp(sharpness (likeness - 1))`, where likeness is the cosine of the two texts' hashed words,
    and the policy's mean success counts as `prior` further tasks of likeness 1. `fit` chooses both
    numbers for all policies at once. `state` is plain JSON.
    """

    def __init__(self, *, sharpness: float = 8.0, prior: float = 1.0) -> None:
        if sharpness < 0 or prior <= 0:
            raise InvalidOption(
                f"sharpness must be 0 or more and prior above 0, not {sharpness} and {prior}"
            )
        self.sharpness, self.prior = sharpness, prior

    def predict(self, history: History, tasks: Sequence[str]) -> Floats:
        """The chance of success at each task, shape (tasks,); one half without any history."""
        if not history.tasks:
            return np.full(len(tasks), 0.5)
        alike = hashed_words(tasks, SIZE) @ hashed_words(history.tasks, SIZE).T
        return expected(alike, floats(history.success), self.sharpness, self.prior)

    def fit(self, histories: Sequence[History]) -> StateZero:
        """Choose both numbers so that each task is predicted best from the policy's other tasks.

        Maximises the log-likelihood of left-out tasks over all policies.
        """
        from scipy.optimize import minimize

        tables = []
        for history in histories:
            rows, success = hashed_words(history.tasks, SIZE), floats(history.success)
            if success.size > 1:
                tables.append((rows @ rows.T, success))
        if not tables:
            raise InvalidOption("fit needs a history of two tasks or more")

        def loss(logs: Floats) -> float:
            sharpness, prior = np.exp(np.clip(logs, -7, 7))
            total = 0.0
            for alike, success in tables:
                for place in range(success.size):
                    rest = np.arange(success.size) != place
                    near = alike[place : place + 1, rest]
                    (chance,) = expected(near, success[rest], sharpness, prior)
                    chance, own = np.clip(chance, 1e-6, 1 - 1e-6), success[place]
                    total -= own * np.log(chance) + (1 - own) * np.log(1 - chance)
            return float(total)

        start = np.log([self.sharpness or 1.0, self.prior])
        found = minimize(loss, start, method="Nelder-Mead", options={"maxfev": 200}).x
        self.sharpness, self.prior = (float(np.exp(np.clip(one, -7, 7))) for one in found)
        return self

    def state(self) -> dict[str, float]:
        return {"sharpness": self.sharpness, "prior": self.prior}

    def load(self, state: Mapping[str, float]) -> None:
        self.sharpness, self.prior = float(state["sharpness"]), float(state["prior"])


def expected(alike: Floats, success: Floats, sharpness: float, prior: float) -> Floats:
    """Weighted means of past successes, from likeness of shape (tasks, past tasks)."""
    weights = np.exp(sharpness * (alike - 1))
    mean = success.mean() if success.size else 0.5
    return floats((prior * mean + weights @ success) / (prior + weights.sum(axis=1)))


def budget(chances: Sequence[float], total: int, *, least: int = 2) -> list[int]:
    """How many rollouts each task gets, so that most groups hold both a success and a failure.

    A group of n rollouts with the chance p of success has a spread with probability
    `1 - p^n - (1 - p)^n`. The sum of these over tasks is as large as `total` rollouts allow; every
    task gets `least`.
    """
    if least < 1 or total < least * len(chances):
        raise InvalidOption(
            f"{total} rollouts are too few for {len(chances)} tasks with {least} each"
        )
    counts = [least] * len(chances)

    def gain(place: int) -> float:
        p, n = float(chances[place]), counts[place]
        return p**n * (1 - p) + (1 - p) ** n * p  # of one more rollout

    heap = [(-gain(place), place) for place in range(len(counts))]
    heapify(heap)
    for _ in range(total - sum(counts)):
        place = heap[0][1]
        counts[place] += 1
        heapreplace(heap, (-gain(place), place))
    return counts


def route(chances: Mapping[str, float], costs: Mapping[str, float], *, price: float = 1.0) -> str:
    """The agent with the highest chance of success minus `price` times its cost; a tie goes to the
    cheaper one.
    """
    if not chances or set(chances) - set(costs):
        raise InvalidOption(f"route needs a cost for every agent of {sorted(chances)}")
    return max(chances, key=lambda name: (chances[name] - price * costs[name], -costs[name]))
