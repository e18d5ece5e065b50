"""SCoRe: an answer, a chance to correct it, and a bonus for the change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from palestra import EpisodeRecord, Meta, reward

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import Scores, scores_of, seats_of


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
    scores: Scores | None = None,
    phase: Annotated[
        Literal[1, 2],
        Meta(description="1 pays the last attempt only, 2 every attempt and the bonus"),
    ] = 2,
    alpha: Annotated[float, Meta(description="weight of last score less first score")] = 2.0,
) -> Floats:
    """Scores of two attempts, and a bonus for the change between them.

    Phase 1 pays a seat's last attempt; phase 2 all, and `alpha` times last less first.

    Each turn is an attempt and its score says how right it was: settled talks of the adapter
    `score` are such records. Phase one's other half, staying near the base policy, is the
    trainer's; the paper sets `alpha` to 10. Kumar et al., "Training Language Models to
    Self-Correct via Reinforcement Learning" (2024).
    """
    found = scores_of(record, scores, "score")
    paid = np.zeros(found.size) if phase == 1 else found.copy()
    for turns in seats_of(record):
        first, last = turns[0], turns[-1]
        if phase == 1:
            paid[last] = found[last]
        else:
            paid[last] += alpha * (found[last] - found[first])
    return paid


def corrections(first: Sequence[float], second: Sequence[float]) -> dict[str, float]:
    """Accuracy at 1 and 2, the change, and how often wrong became right and right wrong."""
    one, two = floats(first) >= 1, floats(second) >= 1
    return {
        "accuracy@1": float(one.mean()),
        "accuracy@2": float(two.mean()),
        "change": float(two.mean() - one.mean()),
        "wrong-to-right": float((~one & two).mean()),
        "right-to-wrong": float((one & ~two).mean()),
    }
