"""Advantages that account for a rollout's cost: HC-GRPO and A²FM's adaptive optimisation."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from palestra import Meta, reward

from palestra_rewards.arrays import Bools, Floats, Ints, floats, standardise
from palestra_rewards.group import Group


@reward(
    "hc-grpo",
    shape="group",
    needs=("success", "costs"),
    paper=(
        "ESearch-R1: Learning Cost-Aware MLLM Agents for Interactive Embodied Search via "
        "Reinforcement Learning"
    ),
    check="test_hc_grpo_ranks_cheap_successes_over_dear_ones",
)
def hc_grpo(
    group: Group,
    *,
    bonus: Annotated[float, Meta(description="paid for success")] = 1.0,
    price: Annotated[float, Meta(description="taken off for each unit of cost")] = 1.0,
) -> Floats:
    """GRPO on success times `bonus` minus total cost times `price`.

    Cheap successes outrank expensive ones. "ESearch-R1".
    """
    assert group.success is not None
    assert group.cost is not None
    score = bonus * group.success - price * group.line_sum(group.cost)
    return group.spread(standardise(score, group.peers))


@reward(
    "a2fm",
    shape="group",
    needs=("success", "modes"),
    paper="A^2FM: An Adaptive Agent Foundation Model for Tool-Aware Hybrid Reasoning (2025)",
    check="test_a2fm_pays_less_for_a_heavy_mode_on_an_easy_task",
)
def a2fm(
    group: Group,
    *,
    instant: Annotated[str, Meta(description="name of the cheapest mode")] = "instant",
    tau: Annotated[
        float,
        Meta(ge=0, le=1, description="success rate of the cheapest mode that makes a task easy"),
    ] = 0.5,
    alpha: Annotated[
        float, Meta(ge=0, description="power of the success rate that is taken off")
    ] = 1.0,
) -> Floats:
    """GRPO on success, with less reward where a heavier mode solved what the instant one can.

    The fact "mode" says how each rollout ran. A task is easy if its instant rollouts succeed with
    rate p of at least `tau`; then success in any other mode is scaled to 1 - p^alpha. A fact
    "format", from 0 to 1 per rollout, multiplies the score if it is given. "A²FM: An Adaptive
    Agent Foundation Model" (2025).
    """
    assert group.success is not None
    quick = np.asarray([mode == instant for mode in group.line_fact("mode")])
    rate = _rate(group.success, quick, group.peers)[group.peers]
    wasteful = ~quick & (rate >= tau) & (rate > 0)
    score = group.success * np.where(wasteful, 1 - rate**alpha, 1.0)
    if "format" in group.facts:
        score = score * group.line_numbers("format")
    return group.spread(standardise(score, group.peers))


def _rate(success: Floats, chosen: Bools, ids: Ints) -> Floats:
    """Mean success of the chosen lines of every task; 0 if none is chosen."""
    tried = np.bincount(ids, chosen)
    return floats(np.bincount(ids, success * chosen) / np.maximum(tried, 1))
