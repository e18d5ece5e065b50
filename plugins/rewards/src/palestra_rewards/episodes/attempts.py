"""SCoRe: an answer, a chance to correct it, and a bonus for the change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from palestra import EpisodeRecord, Meta, reward

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import TurnScores, lines_of, scores_of


@reward(
    "score",
    shape="episode",
    needs=("scores",),
    paper="Training Language Models to Self-Correct via Reinforcement Learning (2024)",
    check="test_copying_earns_no_bonus_and_spoiling_costs_more_than_it_saved",
)
def score(
    record: EpisodeRecord,
    *,
    scores: TurnScores = None,
    phase: Annotated[
        Literal[1, 2],
        Meta(description="1 pays the last attempt only, 2 every attempt and the bonus"),
    ] = 2,
    alpha: Annotated[float, Meta(description="weight of the last score minus the first")] = 2.0,
) -> Floats:
    """Scores of two attempts, and a bonus for the change between them.

    Phase 1 pays only a seat's last attempt; phase 2 pays every attempt, plus `alpha` times the
    last score minus the first.

    Each turn is an attempt, and its score says how correct it is. Settled talks of the adapter
    `score` have this form. Phase 1 also keeps the policy near the base policy, which is the
    trainer's task. The paper sets `alpha` to 10. Kumar et al., "Training Language Models to
    Self-Correct via Reinforcement Learning" (2024).
    """
    found = scores_of(record, scores, "score")
    paid = np.zeros(found.size) if phase == 1 else found.copy()
    for turns in lines_of(record):
        first, last = turns[0], turns[-1]
        if phase == 1:
            paid[last] = found[last]
        else:
            paid[last] += alpha * (found[last] - found[first])
    return paid


def corrections(first: Sequence[float], second: Sequence[float]) -> dict[str, float]:
    """Accuracy of both attempts, the change, and the shares that became right or became wrong."""
    one, two = floats(first) >= 1, floats(second) >= 1
    return {
        "accuracy@1": float(one.mean()),
        "accuracy@2": float(two.mean()),
        "change": float(two.mean() - one.mean()),
        "wrong-to-right": float((~one & two).mean()),
        "right-to-wrong": float((one & ~two).mean()),
    }
