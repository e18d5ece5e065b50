"""Teacher-driven reward design: few, informative rewards that keep the best policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from palestra import InvalidOption

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.tabular.mdp import Mdp

LARGEST = 600  # state-action pairs that a dense linear program can take


def design_rewards(
    mdp: Mdp,
    rewards: Any,
    *,
    extra: int = 3,
    horizons: Sequence[int] = (1, 4),
    learner: Floats | None = None,
) -> Floats:
    """Design rewards that are zero outside few states and keep the best policy optimal.

    Rewards are zero except in `extra` states and in those that `rewards`, shape (states,
    actions), already pays. The teacher's policy is optimal for `rewards` and stays optimal by at
    least the same margin, with no reward above the largest. Of all such rewards, these are the
    most informative: they maximise the sum over states of the gap between the teacher's action and
    the next best within each of `horizons` steps, capped at the largest reward. States are added
    greedily, one linear program each. With the `learner`'s policy, states count by how often it
    visits them; design again to adapt the rewards. "Reward Design for Reinforcement
    Learning Agents" (2025): ExpRD, and with a learner ExpAdaRD.
    """
    paid = floats(rewards)
    if paid.shape != mdp.open.shape or paid.size > LARGEST:
        raise InvalidOption(
            f"rewards must have shape {mdp.open.shape} and at most {LARGEST} entries, not "
            f"{paid.shape}"
        )
    program = _Program(mdp, paid, horizons, learner)
    chosen = [int(state) for state in np.flatnonzero(paid.any(axis=1))]
    _, found = program.solve(chosen)
    for _ in range(min(extra, paid.shape[0] - len(chosen))):
        rest = [state for state in range(paid.shape[0]) if state not in chosen]
        _, found, best = max(
            ((*program.solve([*chosen, state]), state) for state in rest), key=lambda one: one[0]
        )
        chosen.append(best)
    return found


class _Program:
    """The linear program over rewards R and capped gaps z, for given states with rewards."""

    def __init__(
        self, mdp: Mdp, paid: Floats, horizons: Sequence[int], learner: Floats | None
    ) -> None:
        self.shape, self.bound = paid.shape, float(np.abs(paid).max())
        states, actions = paid.shape
        policy, worth = mdp.best(paid)
        kept = policy.argmax(axis=1)
        self.others = [(s, a) for s, a in np.argwhere(mdp.open) if a != kept[s]]
        if not self.others:
            raise InvalidOption("no state has two open actions, so there is nothing to teach")
        taught = [s * actions + kept[s] for s, _ in self.others]
        tried = [s * actions + a for s, a in self.others]
        follow = np.zeros((paid.size, paid.size))
        follow[:, np.arange(states) * actions + kept] = mdp.gamma * mdp.moves.reshape(-1, states)
        forever = np.linalg.inv(np.eye(paid.size) - follow)
        self.gaps = [forever[taught] - forever[tried]]
        for steps in horizons:
            within, power = np.zeros_like(follow), np.eye(paid.size)
            for _ in range(steps):
                within, power = within + power, power @ follow
            self.gaps.append(within[taught] - within[tried])
        self.margin = np.array([worth[s, kept[s]] - worth[s, a] for s, a in self.others])
        weight = np.full(states, 1 / states) if learner is None else mdp.visits(learner).sum(axis=1)
        self.weight = np.tile(weight / weight.sum(), len(horizons))

    def solve(self, chosen: Sequence[int]) -> tuple[float, Floats]:
        """The objective's value for the best rewards on those states, and these rewards."""
        from scipy.optimize import linprog

        (states, actions), rows = self.shape, len(self.others)
        columns = [s * actions + a for s in chosen for a in range(actions)]
        capped = self.weight.size
        limits = [np.hstack([-self.gaps[0][:, columns], np.zeros((rows, capped))])]
        for place, gap in enumerate(self.gaps[1:]):
            at = np.zeros((rows, capped))
            at[np.arange(rows), [place * states + s for s, _ in self.others]] = 1
            limits.append(np.hstack([-gap[:, columns], at]))
        above = np.concatenate([1e-9 - self.margin, np.zeros(rows * (len(self.gaps) - 1))])
        found = linprog(
            np.concatenate([np.zeros(len(columns)), -self.weight]),
            A_ub=np.vstack(limits),
            b_ub=above,
            bounds=[(-self.bound, self.bound)] * len(columns) + [(None, self.bound)] * capped,
        )
        if found.x is None:
            raise InvalidOption(f"no such rewards were found: {found.message}")
        rewards = np.zeros(self.shape[0] * self.shape[1])
        rewards[columns] = found.x[: len(columns)]
        return -float(found.fun), floats(rewards.reshape(self.shape))
