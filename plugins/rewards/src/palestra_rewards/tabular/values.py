"""Value systems of agents: what each value means, and how much each agent cares about it.

Holgado-Sánchez et al., "Learning the Value Systems of Agents with Preference-based and Inverse
Reinforcement Learning" (2026). The grounding of a value is a reward learnt from comparisons of
trajectories by that value alone; an agent's value system is the weighting of the grounded rewards
under which its behaviour is most likely. Rewards are tables or linear in features here, where
the paper trains networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import lines_of
from palestra_rewards.tabular.mdp import Mdp, action_key


def counts_of(mdp: Mdp, records: Sequence[EpisodeRecord], *, seat: int = 0) -> Floats:
    """Discounted visits of each record's trajectory, of shape (records, states * actions)."""
    state = {name: place for place, name in enumerate(mdp.states)}
    action = {name: place for place, name in enumerate(mdp.actions)}
    found = np.zeros((len(records), len(state), len(action)))
    for row, record in enumerate(records):
        for turns in lines_of(record):
            own = [record.turns[place] for place in turns]
            for time, turn in enumerate(own if own[0].seat == seat else ()):
                key = turn.anchor or turn.state_key
                if key not in state or action_key(turn.action) not in action:
                    raise InvalidOption(
                        f"record {record.number} has a state or action that the tables do not "
                        "hold; make them with Mdp.seen from all records"
                    )
                cell = state[key], action[action_key(turn.action)]
                found[row][cell] += mdp.gamma**time
    return found.reshape(len(records), -1)


def ground(features: Any, pairs: Any, *, chances: Any = None, ridge: float = 1e-3) -> Floats:
    """A value's reward as weights of features, from comparisons of trajectories by that value.

    features: shape (trajectories, n), summed over each trajectory, such as `counts_of`. pairs:
    shape (m, 2), indices of trajectories. chances: shape (m,), the probability that the first one
    promotes the value more, by default 1. The weights, shape (n,), maximise the Bradley-Terry
    likelihood of the comparisons, `chance log sigmoid(gap) + (1 - chance) log sigmoid(-gap)`, minus
    `ridge / 2` times their square.
    """
    table, sides = floats(features), np.asarray(pairs, dtype=np.int64)
    if table.ndim != 2 or sides.ndim != 2 or sides.shape[1] != 2 or not len(sides):
        raise InvalidOption(
            "features must have shape (trajectories, n), pairs (m, 2) with m above 0"
        )
    sure = np.ones(len(sides)) if chances is None else floats(chances)
    if sure.shape != (len(sides),) or ((sure < 0) | (sure > 1)).any():
        raise InvalidOption("chances must be one per pair, from 0 to 1")
    if ridge <= 0:
        raise InvalidOption(f"ridge must be above 0, not {ridge}")
    from scipy.optimize import minimize

    apart = table[sides[:, 0]] - table[sides[:, 1]]

    def loss(weights: Floats) -> tuple[float, Floats]:
        gap = apart @ weights
        total = sure @ np.logaddexp(0, -gap) + (1 - sure) @ np.logaddexp(0, gap)
        share = 1 / (1 + np.exp(-np.clip(gap, -500, 500)))
        return float(total + ridge * weights @ weights / 2), apart.T @ (
            share - sure
        ) + ridge * weights

    found = minimize(loss, np.zeros(table.shape[1]), jac=True, method="L-BFGS-B", tol=1e-12)
    return floats(found.x)


def grounding_accuracy(features: Any, weights: Any, pairs: Any) -> float:
    """Share of (better, worse) comparisons by a value that its grounding decides correctly."""
    worth, sides = floats(features) @ floats(weights), np.asarray(pairs, dtype=np.int64)
    gaps = worth[sides[:, 0]] - worth[sides[:, 1]]
    return float(((gaps > 0) + (gaps == 0) / 2).mean())


def value_system(mdp: Mdp, groundings: Any, visits: Any, *, temperature: float = 0.1) -> Floats:
    """How much an agent cares about each value: weights, 0 or more, that sum to 1.

    groundings: shape (states, actions, values), the reward of each value, preferably on one scale.
    visits: the agent's discounted visits, shape (states, actions), such as the mean of `counts_of`.
    Under the weighted mean of the rewards, a soft-optimal agent of this temperature makes the
    demonstrations likeliest (maximum causal entropy inverse reinforcement learning).
    """
    table, seen = floats(groundings), floats(visits)
    if table.ndim != 3 or table.shape[:2] != mdp.open.shape or seen.shape != mdp.open.shape:
        raise InvalidOption(
            f"groundings must have shape {(*mdp.open.shape, 'values')}, visits {mdp.open.shape}"
        )
    from scipy.optimize import minimize

    wanted = np.einsum("sa,sav->v", seen, table)

    def dual(free: Floats) -> tuple[float, Floats]:
        weights = np.exp(free - free.max())
        weights /= weights.sum()
        policy, values = mdp.soft(table @ weights, temperature)
        slope = np.einsum("sa,sav->v", mdp.visits(policy), table) - wanted
        loss = float(mdp.start @ values - weights @ wanted)
        return loss, weights * (slope - weights @ slope)

    found = minimize(dual, np.zeros(wanted.size), jac=True, method="L-BFGS-B", tol=1e-12).x
    weights = np.exp(found - found.max())
    return floats(weights / weights.sum())


def alike(systems: Any, *, within: float = 0.1) -> list[list[int]]:
    """Groups of agents linked by value systems that are at most `within` apart.

    systems: shape (agents, values). The distance of two is half the sum of absolute differences,
    from 0 to 1. Groups are in order of their first agent.
    """
    table = floats(systems)
    near = np.abs(table[:, None] - table[None]).sum(axis=-1) / 2 <= within
    groups: list[list[int]] = []
    left = list(range(len(table)))
    while left:
        group, edge = [left[0]], [left.pop(0)]
        while edge:
            agent = edge.pop()
            linked = [other for other in left if near[agent, other]]
            left = [other for other in left if other not in linked]
            group, edge = group + linked, edge + linked
        groups.append(sorted(group))
    return groups
