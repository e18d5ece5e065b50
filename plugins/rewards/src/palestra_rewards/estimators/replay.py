"""R³: give tasks with equal returns a spread, by a stored success or by ranking the failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from palestra import Meta, reward

from palestra_rewards.arrays import Floats, means, ranks, spreads, standardise
from palestra_rewards.group import Group


@reward(
    "r3",
    shape="group",
    needs=("success", "log-probs"),
    paper="R^3: Replay, Reflection, and Ranking Rewards",
    check="test_r3_is_grpo_where_there_is_a_gap",
    cost="sort",
)
class ReplayRank:
    """GRPO for tasks whose rollouts all fail too: adds a stored success, or ranks the failures.

    If all rollouts of a task fail, a success stored from an earlier call joins its statistics.

    If there is no stored success, the failures are ranked by mean -logprob, the most confident
    first, standardised and scaled by `rank`. Tasks whose returns differ get GRPO's own numbers.
    "R³: Replay, Reflection, and Ranking Rewards".
    """

    def __init__(
        self,
        *,
        rank: Annotated[float, Meta(ge=0, description="scale of the ranked failures")] = 0.1,
    ) -> None:
        self.rank = rank
        self._best: dict[str, float] = {}

    def __call__(self, group: Group) -> Floats:
        assert group.success is not None
        assert group.logprob is not None
        task = group.peers
        flat = (spreads(group.returns, task) <= 0)[task]
        failed = flat & (means(group.success, task) <= 0)[task]
        stored = np.array([self._best.get(name, np.nan) for name in group.peer_names])[task]
        scores = standardise(group.returns, task)
        replay = failed & ~np.isnan(stored)
        scores[replay] = self._against(group, stored)[replay]
        unsure = -group.line_sum(group.logprob) / group.length
        ranked = self.rank * standardise(-ranks(unsure, task), task)
        scores = np.where(failed & ~replay, ranked, scores)
        self._remember(group)
        return group.spread(scores)

    @staticmethod
    def _against(group: Group, stored: Floats) -> Floats:
        """Returns standardised with one more member of the task, the stored success."""
        size = np.bincount(group.peers)[group.peers]
        mean = (size * group.returns + stored) / (size + 1)
        spread = np.sqrt((size * (group.returns - mean) ** 2 + (stored - mean) ** 2) / (size + 1))
        scores = np.zeros(group.lines)
        np.divide(group.returns - mean, spread, out=scores, where=spread > 0)
        return scores

    def _remember(self, group: Group) -> None:
        assert group.success is not None
        names = group.peer_names
        for line in np.flatnonzero(group.success >= 1):
            name, value = names[group.peers[line]], float(group.returns[line])
            self._best[name] = max(value, self._best.get(name, value))

    def state(self) -> dict[str, Any]:
        return {"best": dict(self._best)}

    def load(self, state: Mapping[str, Any]) -> None:
        self._best = {str(name): float(value) for name, value in state["best"].items()}
