"""V₀: how likely a policy is to succeed at a task, from its past results, without a rollout.

"V_0: A Generalist Value Model for Any Policy at State Zero" (2026) reads a policy's past tasks and
successes as context, so that one model serves all policies and need not be fitted as they learn.
There a pretrained tabular model over a language model's embeddings predicts. Here `ContextNetwork`
learns from the histories of many policies what makes tasks alike, and applies it to policies that
it has never seen; `StateZero` is a kernel with two numbers, which needs neither torch nor many
histories.
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
from palestra_rewards.learnt.networks import (
    descend,
    hashed_words,
    load_weights,
    network,
    tensor,
    torch_module,
    weights_of,
)
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
        return expected_success(alike, floats(history.success), self.sharpness, self.prior)

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
                    (chance,) = expected_success(near, success[rest], sharpness, prior)
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


class ContextNetwork:
    """Predicts success at a new task from a policy's history, by attention that is learnt.

    A linear map of hashed words says how alike two tasks are, so that words which do not matter
    weigh little; past successes are averaged by it, beside the policy's mean success as one more
    task. A hidden layer turns that and the policy's mean into log-odds, to which a linear score of
    the task is added, since tasks may also be hard for everybody. `fit` reads the histories of many
    policies and predicts each of their tasks from their others; `predict` then serves any policy,
    without fitting.
    size: numbers per task. steps, rate: of gradient descent. decay: weight of the squared weights
    of the maps of tasks, without which they learn tasks by heart. `state` is plain JSON.
    """

    def __init__(
        self,
        *,
        size: int = 12,
        hidden: int = 16,
        steps: int = 120,
        rate: float = 0.05,
        decay: float = 1e-2,
        seed: int = 0,
    ) -> None:
        if min(size, hidden, steps) < 1 or rate <= 0 or decay < 0:
            raise InvalidOption(
                "size, hidden, steps and rate must be above 0, and decay not negative"
            )
        self.decay = decay
        self.size, self.hidden, self.steps, self.rate, self.seed = size, hidden, steps, rate, seed
        self._start()

    def _start(self) -> None:
        torch = torch_module()
        self.alike = network(SIZE, self.size, hidden=0, seed=self.seed)
        self.joined = network(2, 1, hidden=self.hidden, seed=self.seed + 1)
        self.ease = network(SIZE, 1, hidden=0, seed=self.seed + 2)
        self.scale = torch.nn.Linear(1, 1, dtype=torch.float64)
        with torch.no_grad():
            self.scale.weight.fill_(4.0)  # likeness from -1 to 1 starts as weights from e^-4 to e^4
            self.scale.bias.zero_()  # of the policy's mean, which counts as one more task
            for weight in self.ease.parameters():
                weight.zero_()

    @property
    def _parts(self) -> tuple[Any, ...]:
        return self.alike, self.joined, self.ease, self.scale

    def predict(self, history: History, tasks: Sequence[str]) -> Floats:
        """The chance of success at each task, shape (tasks,); one half without any history."""
        if not history.tasks:
            return np.full(len(tasks), 0.5)
        torch = torch_module()
        past = tensor(hashed_words(history.tasks, SIZE))
        with torch.no_grad():
            odds = self._odds(tensor(hashed_words(tasks, SIZE)), past, tensor(history.success))
            return floats(torch.sigmoid(odds).numpy())

    def _odds(self, tasks: Any, past: Any, success: Any, *, left_out: bool = False) -> Any:
        """Log-odds of success, shape (tasks,). With `left_out`, tasks are the past ones.

        Each is then predicted from the others.
        """
        torch = torch_module()
        own = torch.nn.functional.normalize(self.alike(tasks), dim=1)
        keys = torch.nn.functional.normalize(self.alike(past), dim=1)
        logits = self.scale.weight[0, 0] * (own @ keys.T)
        mean = success.mean().expand(len(tasks))
        if left_out:
            logits = logits - torch.diag(torch.full((len(tasks),), torch.inf, dtype=logits.dtype))
            mean = (success.sum() - success) / max(len(tasks) - 1, 1)
        weights = torch.cat([logits, self.scale.bias.expand(len(tasks), 1)], dim=1).softmax(dim=1)
        near = weights[:, :-1] @ success + weights[:, -1] * mean
        return (self.joined(torch.stack([near, mean], dim=1)) + self.ease(tasks))[:, 0]

    def fit(self, histories: Sequence[History]) -> ContextNetwork:
        """Start afresh; maximises the log-likelihood of left-out tasks over all policies."""
        torch = torch_module()
        tables = [
            (tensor(hashed_words(one.tasks, SIZE)), tensor(one.success))
            for one in histories
            if len(one.tasks) > 1
        ]
        if not tables:
            raise InvalidOption("fit needs a history of two tasks or more")
        self._start()
        known = torch.cat([success for _, success in tables])

        def loss(_: int) -> Any:
            odds = [self._odds(rows, rows, success, left_out=True) for rows, success in tables]
            maps = [next(part.parameters()) for part in (self.alike, self.ease)]
            large = sum(weights.square().sum() for weights in maps)
            miss = torch.nn.functional.binary_cross_entropy_with_logits(torch.cat(odds), known)
            return miss + self.decay * large

        descend(self._parts, loss, steps=self.steps, rate=self.rate, fade=True)
        return self

    def state(self) -> dict[str, Any]:
        return {"weights": [weights_of(part) for part in self._parts]}

    def load(self, state: Mapping[str, Any]) -> None:
        for part, kept in zip(self._parts, state["weights"], strict=True):
            load_weights(part, kept)


def expected_success(alike: Floats, success: Floats, sharpness: float, prior: float) -> Floats:
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
