"""Self-play preference: a rollout earns the share of its siblings that it beats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from palestra import InvalidOption, Meta, reward

from palestra_rewards.arrays import Floats, count, numbers, ranks
from palestra_rewards.group import Group

Preference = Callable[[int, int], float]


@reward(
    "self-play-preference",
    shape="group",
    paper=(
        "Swamy et al. (2024), A Minimaximalist Approach to Reinforcement Learning from "
        "Human Feedback"
    ),
    check="test_preference_rewards_average_one_half",
    cost="sort, or all pairs with `prefer`",
)
def self_play_preference(
    group: Group,
    *,
    prefer: Annotated[
        Any, Meta(description="how likely each rollout is preferred to each other")
    ] = None,
) -> Floats:
    """The share of its siblings that a rollout beats, minus one half.

    The mean over siblings j of the preference for i over j, minus one half.

    `prefer` is a function of two lines, or a (lines, lines) array, that gives the probability
    that the first is better; it may be noisy or cyclic, and is made antisymmetric by averaging
    both orders. By default the higher return wins and equal returns tie. Swamy et al., "A
    Minimaximalist Approach to Reinforcement Learning from Human Feedback" (2024).
    """
    return group.spread(wins(group, prefer) - 0.5)


def wins(group: Group, prefer: Any = None) -> Floats:
    """Share of the others in its task that each line beats, shape (lines,); 1/2 if alone."""
    task = group.peers
    rivals = count(task)[task] - 1
    if prefer is None:
        return np.where(rivals > 0, ranks(group.returns, task) / np.maximum(rivals, 1), 0.5)
    table = _table(group, prefer)
    rival = (task[:, None] == task) & ~np.eye(group.lines, dtype=bool)
    won = np.where(rival, (table + 1 - table.T) / 2, 0.0).sum(axis=1)
    return np.where(rivals > 0, won / np.maximum(rivals, 1), 0.5)


def _table(group: Group, prefer: Any) -> Floats:
    if callable(prefer):
        table = np.full((group.lines, group.lines), 0.5)
        for i, j in np.argwhere(group.peers[:, None] == group.peers):
            if i != j:
                table[i, j] = prefer(int(i), int(j))
    else:
        table = numbers("prefer", prefer)
    if table.shape != (group.lines, group.lines) or not np.all((table >= 0) & (table <= 1)):
        raise InvalidOption(
            f"prefer must give a probability for each of the {group.lines}x{group.lines} pairs of "
            "lines"
        )
    return table
