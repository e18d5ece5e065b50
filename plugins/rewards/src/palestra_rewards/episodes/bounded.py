"""Process rewards that cannot be farmed by repeating good steps: Clip and Delta.

Gao et al., "On Designing Effective RL Reward at Training Time for LLM Reasoning" (2024).
"""

from __future__ import annotations

import numpy as np
from palestra import EpisodeRecord

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import Scores, scores_of, seats_of
from palestra_rewards.reading import turn_rewards


def clip(
    record: EpisodeRecord, *, scores: Scores | None = None, eta: float = 0.5, alpha: float = 1.0
) -> Floats:
    """`alpha` times the game's rewards plus `min(score - eta, 0)`: good steps cost nothing."""
    return alpha * turn_rewards(record) + clipped(scores_of(record, scores, "clip"), eta)


def delta(record: EpisodeRecord, *, scores: Scores | None = None, alpha: float = 1.0) -> Floats:
    """`alpha` times the game's rewards plus what each score is above the seat's next one.

    The last turn keeps its score, so that a seat's shaped part telescopes to its first score.
    """
    found = scores_of(record, scores, "delta")
    paid = np.empty(found.size)
    for turns in seats_of(record):
        paid[turns] = differences(found[turns])
    return alpha * turn_rewards(record) + paid


def clip_delta(
    record: EpisodeRecord, *, scores: Scores | None = None, eta: float = 0.5, alpha: float = 1.0
) -> Floats:
    """Delta of the clipped scores: bounded, and never paid for more steps."""
    found = clipped(scores_of(record, scores, "clip-delta"), eta)
    paid = np.empty(found.size)
    for turns in seats_of(record):
        paid[turns] = differences(found[turns])
    return alpha * turn_rewards(record) + paid


def clipped(scores: Floats, eta: float) -> Floats:
    return floats(np.minimum(scores - eta, 0.0))


def differences(scores: Floats) -> Floats:
    """Each score less the next; the last as it is."""
    return floats(scores - np.append(scores[1:], 0.0))
