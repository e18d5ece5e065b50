"""RAE: a moving-average baseline for every role."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from palestra import Meta, reward

from palestra_rewards.arrays import Floats, firsts, means, number, together
from palestra_rewards.group import Group


@reward(
    "rae",
    shape="group",
    paper="Liu et al. (2025), SPIRAL: Self-Play on Zero-Sum Games Incentivizes Reasoning",
    check="test_rae_follows_the_published_recursion",
)
class RoleAdvantage:
    """Return minus a moving average for each game and role, updated from call to call.

    The baseline is an exponential moving average of the role's returns in that game.

    At each call a role's baseline moves to `alpha * baseline + (1 - alpha) * mean return` of the
    batch and is then subtracted; a batch of one rollout is the published rule. With `each` the
    rollouts of a batch come one after another, and each reads the baseline before it moves it, as
    in the code that was released with the paper. A role keeps its name when seats are swapped; the
    game is the fact "env". Liu et al., "SPIRAL" (2025).
    """

    def __init__(
        self,
        *,
        alpha: Annotated[
            float, Meta(ge=0, lt=1, description="share of the old average that is kept")
        ] = 0.95,
        start: Annotated[float, Meta(description="the average before the first call")] = 0.0,
        each: Annotated[
            bool, Meta(description="whether each rollout moves the average, after it was read")
        ] = False,
    ) -> None:
        self.alpha, self.start, self.each = alpha, start, each
        self._baselines: dict[str, float] = {}

    def __call__(self, group: Group) -> Floats:
        games = group.line_fact("env") if "env" in group.facts else np.full(group.lines, "")
        names = [
            f"{games[line]} {group.roles[group.line_role[line]]}".strip()
            for line in range(group.lines)
        ]
        if self.each:
            return group.spread(group.returns - [*map(self._move, names, group.returns)])
        ids = together((number(games), group.line_role))
        first = firsts(ids)
        for line, mean in zip(first, means(group.returns, ids), strict=True):
            self._move(names[line], mean)
        return group.spread(group.returns - [self._baselines[name] for name in names])

    def _move(self, name: str, paid: float) -> float:
        """Move a role's baseline towards what was paid; the baseline before that."""
        before = self._baselines.get(name, self.start)
        self._baselines[name] = float(self.alpha * before + (1 - self.alpha) * paid)
        return before

    def state(self) -> dict[str, Any]:
        return {"baselines": dict(self._baselines)}

    def load(self, state: Mapping[str, Any]) -> None:
        self._baselines = {str(key): float(value) for key, value in state["baselines"].items()}
