"""SCoRe: an answer, a chance to correct it, and a bonus for the change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from palestra import EpisodeRecord, InvalidOption

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import Scores, scores_of, seats_of


def score(
    record: EpisodeRecord, *, scores: Scores | None = None, phase: int = 2, alpha: float = 2.0
) -> Floats:
    """Phase 1 pays a seat's last attempt; phase 2 all, and `alpha` times last less first.

    Each turn is an attempt and its score says how right it was. Phase one's other half, staying
    near the base policy, is the trainer's. Kumar et al., "Training Language Models to
    Self-Correct via Reinforcement Learning" (2024).
    """
    if phase not in (1, 2):
        raise InvalidOption(f"phase must be 1 or 2, not {phase}")
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
