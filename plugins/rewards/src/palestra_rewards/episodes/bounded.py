"""Process rewards that cannot be farmed by repeating good steps: Clip and Delta.

Gao et al., "On Designing Effective RL Reward at Training Time for LLM Reasoning" (2024).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from palestra import EpisodeRecord, Meta, reward

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import TurnScores, lines_of, scores_of
from palestra_rewards.reading import turn_rewards


@reward(
    "clip",
    shape="episode",
    needs=("scores",),
    paper="On Designing Effective RL Reward at Training Time for LLM Reasoning (2024)",
    check="test_repeating_good_steps_never_raises_the_sum",
)
def clip(
    record: EpisodeRecord,
    *,
    scores: TurnScores = None,
    eta: Annotated[
        float, Meta(description="score that is good enough, from which a step costs nothing")
    ] = 0.5,
    alpha: Annotated[float, Meta(description="weight of the game's own rewards")] = 1.0,
) -> Floats:
    """Process scores capped at 0: good steps earn nothing, bad steps cost.

    Each turn gets `alpha` times the game's rewards plus `min(score - eta, 0)`.
    """
    return alpha * turn_rewards(record) + clip_scores(scores_of(record, scores, "clip"), eta)


@reward(
    "delta",
    shape="episode",
    needs=("scores",),
    paper="On Designing Effective RL Reward at Training Time for LLM Reasoning (2024)",
    check="test_delta_telescopes_to_the_first_score",
)
def delta(
    record: EpisodeRecord,
    *,
    scores: TurnScores = None,
    alpha: Annotated[float, Meta(description="weight of the game's own rewards")] = 1.0,
) -> Floats:
    """Each score minus the seat's next one, so that the differences sum to the first score.

    Each turn gets `alpha` times the game's rewards plus its score minus the seat's next score.

    The last turn keeps its score, so that a seat's shaped part telescopes to its first score.
    """
    found = scores_of(record, scores, "delta")
    paid = np.empty(found.size)
    for turns in lines_of(record):
        paid[turns] = differences(found[turns])
    return alpha * turn_rewards(record) + paid


@reward(
    "clip-delta",
    shape="episode",
    needs=("scores",),
    paper="On Designing Effective RL Reward at Training Time for LLM Reasoning (2024)",
    check="test_repeating_good_steps_never_raises_the_sum",
)
def clip_delta(
    record: EpisodeRecord,
    *,
    scores: TurnScores = None,
    eta: Annotated[
        float, Meta(description="score that is good enough, from which a step costs nothing")
    ] = 0.5,
    alpha: Annotated[float, Meta(description="weight of the game's own rewards")] = 1.0,
) -> Floats:
    """Clipped scores, each minus the next; the sum is bounded and extra steps never raise it."""
    found = clip_scores(scores_of(record, scores, "clip-delta"), eta)
    paid = np.empty(found.size)
    for turns in lines_of(record):
        paid[turns] = differences(found[turns])
    return alpha * turn_rewards(record) + paid


def clip_scores(scores: Floats, eta: float) -> Floats:
    return floats(np.minimum(scores - eta, 0.0))


def differences(scores: Floats) -> Floats:
    """Each score minus the next; the last score is unchanged."""
    return floats(scores - np.append(scores[1:], 0.0))
