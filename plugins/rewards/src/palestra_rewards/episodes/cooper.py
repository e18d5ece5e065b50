"""Cooper: a reward model that keeps learning while the policy learns.

Hong et al., "Cooper: Co-Optimizing Policy and Reward Models in Reinforcement Learning for Large
Language Models" (2025). Rules are precise about what they accept, so accepted rollouts are the
positives; negatives are made from them and checked by the rules. The reward model reads a reference
beside the task. There it is a language model; here it is a small network that reads words in order
(`learnt.texts`), or a linear model in hashed pairs of words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption, Meta, reward
from palestra.kernel.game import Game

from palestra_rewards.arrays import Floats
from palestra_rewards.episodes.intents import Triplet, near_miss, trajectory
from palestra_rewards.episodes.turns import at_last, won
from palestra_rewards.judges.service import Judge, ask, open_judge
from palestra_rewards.learnt.texts import Scorer, StoryNetwork
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
    every trajectory. rule: whether a person's rollout is right, by default whether they won.
    spoil: what makes a wrong answer of a right one: None plays the rollout differently from one of
    its turns on until the rule refuses it; a judge is asked to, and `wrong` must confirm its text.
    scorer: the model, by default a `StoryNetwork`; a `TrajectoryScorer` is linear and needs no
    torch. rate: of the gradient steps, `steps` of them after each batch. `state` is plain JSON.
    """

    def __init__(
        self,
        reference: str | Text,
        *,
        rule: Callable[[EpisodeRecord, Person], bool] = won,
        spoil: Judge | str | None = None,
        wrong: Callable[[str], bool] | None = None,
        seat: int = 0,
        scorer: Scorer | None = None,
        steps: int = 20,
        rate: float = 0.01,
        game: Game[Any, Any] | None = None,
    ) -> None:
        if steps < 1 or rate <= 0:
            raise InvalidOption(f"steps must be at least 1 and rate above 0, not {steps}, {rate}")
        if spoil is not None and wrong is None:
            raise InvalidOption("spoil needs wrong=…, a function that confirms a wrong answer")
        self.scorer: Scorer = StoryNetwork() if scorer is None else scorer
        self.seat = seat
        self._reference, self._rule, self._game = reference, rule, game
        self._spoil, self._wrong = spoil, wrong
        self._steps, self._rate = steps, rate
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
            (text,) = open_judge(self._spoil).ask([ask(order, max_tokens=512)])
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
        return self.scorer.learn(pairs, steps=self._steps, rate=self._rate)

    def state(self) -> dict[str, Any]:
        return {"scorer": self.scorer.state(), "batches": self._batches}

    def load(self, state: Mapping[str, Any]) -> None:
        self.scorer.load(state["scorer"])
        self._batches = int(state["batches"])


@reward(
    "cooper",
    shape="episode",
    needs=("reference model",),
    paper=(
        "Cooper: Co-Optimizing Policy and Reward Models in Reinforcement Learning for "
        "Large Language Models (2025)"
    ),
    check="test_a_reward_model_that_goes_on_learning_cannot_be_hacked_for_long",
)
def cooper(
    record: EpisodeRecord,
    *,
    scores: Annotated[Cooper, Meta(description="the reward model that is trained with the policy")],
) -> Floats:
    """The probability that a seat's rollout is right, from a reward model that keeps learning.

    `1 / (1 + exp(-score))` on the last turn of the model's seat. Pay a batch, then call
    `scores.update(records)`. Hong et al., "Cooper" (2025).
    """
    chance = float(1 / (1 + np.exp(-np.clip(scores.score(record), -500, 500))))
    return at_last(record, lambda person: chance if person.seat == scores.seat else 0.0)
