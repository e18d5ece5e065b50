"""Advantage Alignment: reinforce actions that help both the agent and the others."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from palestra import Meta, reward

from palestra_rewards.arrays import Floats, centre, together
from palestra_rewards.group import Group
from palestra_rewards.options import Discount


@reward(
    "turn-relative",
    shape="group",
    paper="Learning Robust Social Strategies with Large Language Models (2025)",
    check="test_turn_relative_removes_what_siblings_share",
)
def turn_relative(group: Group, *, gamma: Discount = 1.0) -> Floats:
    """Discounted reward to go minus its mean over sibling rollouts at the same turn of the seat.

    The group-relative baseline of "Learning Robust Social Strategies with Large Language Models"
    (2025), in which siblings replace a critic. Turns are counted per seat.
    """
    like = together((group.turn_peers, group.seat, group.ordinal))
    return centre(group.to_go(gamma=gamma), like)


@reward(
    "advantage-alignment",
    shape="group",
    needs=("several agents", "decisions made together"),
    paper="Duque et al. (2024), Advantage Alignment Algorithms",
    onto="turn-relative",
    check="test_advantage_alignment_turns_defectors_into_reciprocators",
)
def advantage_alignment(
    group: Group,
    base: Floats,
    *,
    beta: Annotated[float, Meta(description="weight of the others' advantages")] = 1.0,
    gamma: Discount = 0.9,
) -> Floats:
    """Add the others' current advantage times the discounted sum of the agent's own past ones.

    `A_i(t) + beta · gamma · sum over k < t of gamma^(t-k) A_i(k) · sum over others j of A_j(t)`;
    the others are those who decide in the same step, so a game in which seats take turns is
    refused. Duque et al., "Advantage Alignment" (2024).
    """
    table = group.padded(base)
    past = table * 0.0
    for place in range(1, table.shape[1]):
        past[:, place] = gamma * (past[:, place - 1] + table[:, place - 1])
    step = together((group.episode, group.turn))
    others = np.bincount(step, base)[step] - base
    return base + beta * gamma * group.flat(past) * others
