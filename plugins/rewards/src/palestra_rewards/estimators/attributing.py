"""AgentEvolver's self-attributing: marks of turns and the outcome, standardised separately."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from palestra import Meta, reward

from palestra_rewards.arrays import NO_SPREAD, Floats, floats, standardise
from palestra_rewards.group import Group


@reward(
    "agentevolver",
    shape="group",
    needs=("verdicts",),
    paper="AgentEvolver: Towards Efficient Self-Evolving Agent System (2025)",
    check="test_attribution_by_hand_and_without_marks_is_grpo",
)
def agentevolver(
    group: Group,
    *,
    weight: Annotated[float, Meta(description="weight of the marks; 0 leaves the outcome")] = 0.1,
    equal: Annotated[
        bool, Meta(description="whether the marks' mean weighs rollouts equally, or else turns")
    ] = True,
) -> Floats:
    """Marks of turns and the outcome, standardised separately, added and summed to the end.

    The fact "verdicts" marks each turn good or bad; `judges.attributing.marks` asks a model for
    it. Marks are 1 or -1, standardised over the turns of rollouts that are compared; with `equal`
    each rollout has a total weight of 1. The return is standardised over those rollouts and
    belongs to the last turn. A turn's advantage is the sum, from it to the end of the line, of
    `weight` times mark plus outcome. This is ADCA-GRPO of "AgentEvolver" (2025).
    """
    marks = np.where(group.turn_fact("verdicts") > 0.5, 1.0, -1.0)
    size = 1.0 / group.length[group.line] if equal else np.ones(group.size)
    paid = weight * weighted_standardise(marks, group.turn_peers, size)
    last = group.ordinal == group.length[group.line] - 1
    paid[last] += standardise(group.returns, group.peers)[group.line[last]]
    return group.to_go(paid)


def weighted_standardise(values: Floats, ids: np.ndarray, weights: Floats) -> Floats:
    """Values standardised by the weighted mean and spread of their bucket; 0 without spread."""
    total = np.bincount(ids, weights)
    mean = np.bincount(ids, weights * values) / total
    off = values - mean[ids]
    spread = np.sqrt(np.bincount(ids, weights * off * off) / total)
    scale = np.zeros(spread.size)
    np.divide(1.0, spread, out=scale, where=spread > NO_SPREAD)
    return floats(off * scale[ids])
