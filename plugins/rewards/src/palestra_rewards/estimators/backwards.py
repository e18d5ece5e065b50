"""SeeUPO: each turn is a player of one game, and the last turn is updated first."""

from __future__ import annotations

import numpy as np
from palestra import reward

from palestra_rewards.arrays import Floats, Ints, floats
from palestra_rewards.estimators.outcome import dr_grpo
from palestra_rewards.group import Group


@reward(
    "seeupo",
    shape="group",
    needs=("ratios",),
    paper="SeeUPO: Sequence-Level Agentic-RL with Convergence Guarantees",
    check="test_seeupo_with_unit_ratios_is_the_group_centred_return",
)
def seeupo(group: Group) -> Floats:
    """Turns as players of one game, each judged by what later turns would do now.

    Group-centred return times the probability ratios of the line's later turns.

    The fact "ratio" is the probability of each turn under the current policy divided by that when
    it was sampled (1 for turns not yet updated), so that a turn is judged by what would follow it
    now. Train on `turn_batches` in order, and refresh the ratios in between. "SeeUPO".
    """
    table = group.padded(group.turn_fact("ratio"), 1.0)
    later = np.pad(table, ((0, 0), (0, 1)), constant_values=1.0)[:, 1:]
    product = floats(np.cumprod(later[:, ::-1], axis=1)[:, ::-1])
    return dr_grpo(group) * group.flat(product)


def turn_batches(group: Group) -> list[Ints]:
    """Indices of turns in batches, one per turn number within a line, the highest number first."""
    order = group.ordinal
    places = range(int(order.max(initial=-1)), -1, -1)
    return [np.flatnonzero(order == place) for place in places]
