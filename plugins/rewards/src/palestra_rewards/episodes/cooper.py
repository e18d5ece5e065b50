"""Cooper: a reward model that keeps learning while the policy learns.

Hong et al., "Cooper: Co-Optimizing Policy and Reward Models in Reinforcement Learning for Large
Language Models" (2025). Rules are precise about what they accept, so accepted rollouts are the
positives; negatives are made from them and checked by the rules. The reward model reads a reference
beside the task. There it is a language model; here it is linear in hashed pairs of words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption, reward
from palestra.kernel.game import Game

from palestra_rewards.arrays import Floats
from palestra_rewards.episodes.intents import TrajectoryScorer, Triplet, near_miss, trajectory
from palestra_rewards.episodes.turns import at_last, won
from palestra_rewards.judges.service import Judge, ask, opened
from palestra_rewards.people import Person, last_at
from palestra_rewards.reading import task_name

SPOIL = (
    "Reference: {reference}\n\nThis answer is right:\n{answer}\n\n"
    "Rewrite it so that it looks as good but is wrong. Change as little as possible, and reply "
    "with the answer alone."
)
Text = Callable[[EpisodeRecord], str]


class Cooper:
    """A reward model that is updated after every batch of rollouts; pass it as `scores=`.

    reference: a right answer, or a function of the record that returns it; the model reads it with
    every trajectory. rule: whether a person's rollout is right, by default whether they won. spoil:
    how a right answer is made wrong. None replays the rollout with other moves from one of its
    turns on, until the rule refuses it; a judge writes a wrong answer, which `wrong` must confirm.
    rate, ridge: of the gradient steps, `steps` of them after each batch. `state` is plain JSON.
    """

    def __init__(
        self,
        reference: str | Text,
        *,
        rule: Callable[[EpisodeRecord, Person], bool] = won,
        spoil: Judge | str | None = None,
        wrong: Callable[[str], bool] | None = None,
        seat: int = 0,
        steps: int = 20,
        rate: float = 0.1,
        ridge: float = 1e-3,
        game: Game[Any, Any] | None = None,
    ) -> None:
        if steps < 1 or rate <= 0 or ridge < 0:
            raise InvalidOption("steps must be at least 1, rate above 0 and ridge not negative")
        if spoil is not None and wrong is None:
            raise InvalidOption("spoil needs wrong=…, a function that confirms a wrong answer")
        self.scorer, self.seat = TrajectoryScorer(), seat
        self._reference, self._rule, self._game = reference, rule, game
        self._spoil, self._wrong = spoil, wrong
        self._steps, self._rate, self._ridge = steps, rate, ridge
        self._batches = 0

    def reference(self, record: EpisodeRecord) -> str:
        return self._reference if isinstance(self._reference, str) else self._reference(record)

    def score(self, record: EpisodeRecord) -> float:
        """The score of the seat's trajectory; differences are log-odds of being the better one."""
        return self.scorer.score(self.reference(record), trajectory(record, self.seat))

    def pairs(self, records: Sequence[EpisodeRecord]) -> list[Triplet]:
        """One right rollout of each task beside a wrong one that was made of it."""
        found: dict[str, Triplet] = {}
        for number, record in enumerate(records):
            person, task = last_at(record, self.seat), task_name(record)
            if task in found or person is None or not self._rule(record, person):
                continue
            bad = self._negative(record, number)
            if bad is not None:
                found[task] = Triplet(self.reference(record), trajectory(record, self.seat), bad)
        return list(found.values())

    def _negative(self, record: EpisodeRecord, number: int) -> str | None:
        if self._spoil is not None and self._wrong is not None:
            answer = trajectory(record, self.seat)
            order = SPOIL.format(reference=self.reference(record), answer=answer)
            (text,) = opened(self._spoil).ask([ask(order, max_tokens=512)])
            return text if text != answer and self._wrong(text) else None
        for attempt in range(8):
            seed = (self._batches * 1009 + number) * 8 + attempt
            other = near_miss(record, seat=self.seat, seed=seed, game=self._game)
            person = None if other is None else last_at(other, self.seat)
            if other is not None and person is not None and not self._rule(other, person):
                return trajectory(other, self.seat)
        return None

    def update(self, records: Sequence[EpisodeRecord]) -> float:
        """Learn from a batch whose rewards have been paid; returns the loss before the update.

        Gradient steps on the mean of `-log sigmoid(score of right - score of wrong)` over `pairs`,
        from the weights there are. A batch without pairs changes nothing and returns 0.
        """
        pairs = self.pairs(records)
        self._batches += 1
        if not pairs:
            return 0.0
        table = np.zeros((len(pairs), self.scorer.buckets))
        for row, one in enumerate(pairs):
            for sign, story in ((1.0, one.good), (-1.0, one.bad)):
                for bucket, count in self.scorer.features(one.intent, story).items():
                    table[row, bucket] += sign * count
        weights, first = self.scorer.weights.copy(), 0.0
        for step in range(self._steps):
            odds = table @ weights
            first = float(np.logaddexp(0, -odds).mean()) if step == 0 else first
            pull = 1 / (1 + np.exp(np.clip(odds, -500, 500)))
            weights += self._rate * (table.T @ pull / len(pairs) - self._ridge * weights)
        self.scorer.weights = weights
        return first

    def state(self) -> dict[str, Any]:
        return {"scorer": self.scorer.state(), "batches": self._batches}

    def load(self, state: Mapping[str, Any]) -> None:
        self.scorer.load(state["scorer"])
        self._batches = int(state["batches"])


@reward(
    "cooper",
    shape="episode",
    needs=("reference model",),
    paper="Cooper: Co-Optimizing Policy and Reward Models in RL for Large Language Models (2025)",
    check="test_a_reward_model_that_goes_on_learning_cannot_be_hacked_for_long",
)
def cooper(record: EpisodeRecord, *, scores: Cooper) -> Floats:
    """The probability that a seat's rollout is right, from a reward model that keeps learning.

    `1 / (1 + exp(-score))` on the last turn of the model's seat. Pay a batch, then call
    `scores.update(records)`. Hong et al., "Cooper" (2025).
    """
    chance = float(1 / (1 + np.exp(-np.clip(scores.score(record), -500, 500))))
    return at_last(record, lambda person: chance if person.seat == scores.seat else 0.0)
