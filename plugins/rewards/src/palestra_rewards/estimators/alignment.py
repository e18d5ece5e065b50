"""Advantage Alignment: play so that what is good for me and for you come together."""

from __future__ import annotations

import numpy as np
from palestra import InvalidOption

from palestra_rewards.arrays import Floats, centred, together
from palestra_rewards.group import Group


def turn_relative(group: Group, *, gamma: float = 1.0) -> Floats:
    """Discounted reward to go less its mean over siblings at the same own turn of the same seat.

    The group-relative baseline of "Learning Robust Social Strategies with Large
    Language Models" (2025): siblings take the place of a critic.
    """
    like = together((group.turn_task, group.seat, group.ordinal))
    return centred(group.to_go(gamma=gamma), like)


def advantage_alignment(
    group: Group, base: Floats, *, beta: float = 1.0, gamma: float = 0.9
) -> Floats:
    """Add the others' present advantage times the discounted sum of one's own past ones.

    `A_i(t) + beta · gamma · sum over k < t of gamma^(t-k) A_i(k) · sum over others j of A_j(t)`;
    others are those who decide in the same step. Duque et al., "Advantage Alignment" (2024).
    """
    if not 0 <= gamma <= 1:
        raise InvalidOption(f"gamma must be from 0 to 1, not {gamma}")
    table = group.padded(base)
    past = table * 0.0
    for place in range(1, table.shape[1]):
        past[:, place] = gamma * (past[:, place - 1] + table[:, place - 1])
    step = together((group.episode, group.turn))
    others = np.bincount(step, base)[step] - base
    return base + beta * gamma * group.flat(past) * others
