"""SPA-RL: the outcome shared out over turns by an estimate of what each contributed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated
from zlib import crc32

import numpy as np
from palestra import EpisodeRecord, InvalidOption, Meta, reward

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import TurnScores, lines_of, scores_of
from palestra_rewards.reading import turn_rewards


@reward(
    "spa-rl",
    shape="episode",
    needs=("scores",),
    paper="SPA-RL: Reinforcing LLM Agents via Stepwise Progress Attribution (2025)",
    check="test_contributions_sum_to_the_outcome",
)
def spa_rl(
    record: EpisodeRecord,
    *,
    scores: TurnScores = None,
    share: Annotated[float, Meta(description="weight of the contributions")] = 1.0,
    valid: Annotated[
        float, Meta(description="bonus for a turn whose first answer was played")
    ] = 0.5,
) -> Floats:
    """The outcome shared out by estimated contribution, plus a bonus for valid actions.

    A turn gets `share` times its contribution, plus `valid` if its first answer was played.

    Contributions are the scores (of a `ProgressModel` or any other), all shifted by the same
    amount so that a seat's sum to its total reward. Wang et al., "SPA-RL" (2025).
    """
    outcome, found = turn_rewards(record), scores_of(record, scores, "spa-rl")
    played = floats([turn.status == "ok" for turn in record.turns])
    for turns in lines_of(record):
        found[turns] = contributions(found[turns], float(outcome[turns].sum()))
    return floats(share * found + valid * played)


def contributions(scores: Floats, outcome: float) -> Floats:
    """Scores, all shifted by the same amount so that they sum to the outcome."""
    return floats(scores + (outcome - scores.sum()) / scores.size)


class ProgressModel:
    """Estimates a turn's contribution; linear in the hashed words of its answer, by seat.

    Fitted so that contributions of an episode sum to its outcome, by ridge regression of returns
    on summed features. Calling it with a record gives one number per turn; pass it as `scores=`.
    """

    def __init__(self, *, buckets: int = 1024, ridge: float = 1e-3) -> None:
        if buckets < 1 or ridge <= 0:
            raise InvalidOption(f"buckets and ridge must be above 0, not {buckets} and {ridge}")
        self.buckets, self.ridge = buckets, ridge
        self.weights: Floats = np.zeros(buckets)

    def fit(self, records: Sequence[EpisodeRecord]) -> ProgressModel:
        rows, outcomes = [], []
        for record in records:
            table, paid = self.features(record), turn_rewards(record)
            for turns in lines_of(record):
                rows.append(table[turns].sum(axis=0))
                outcomes.append(paid[turns].sum())
        summed = np.array(rows)
        gram = summed @ summed.T + self.ridge * np.eye(len(rows))
        self.weights = floats(summed.T @ np.linalg.solve(gram, np.array(outcomes)))
        return self

    def features(self, record: EpisodeRecord) -> Floats:
        """Counts of hashed words, shape (turns, buckets)."""
        table = np.zeros((len(record.turns), self.buckets))
        for row, turn in enumerate(record.turns):
            for word in re.findall(r"\w+", turn.raw or turn.text):
                table[row, crc32(f"{turn.seat}:{word.lower()}".encode()) % self.buckets] += 1
        return table

    def __call__(self, record: EpisodeRecord) -> Floats:
        return floats(self.features(record) @ self.weights)

    def state(self) -> dict[str, list[float]]:
        return {"weights": self.weights.tolist()}

    def load(self, state: dict[str, list[float]]) -> None:
        self.weights = floats(state["weights"])
        self.buckets = self.weights.size
