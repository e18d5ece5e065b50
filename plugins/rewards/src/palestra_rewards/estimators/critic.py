"""Values of turns learnt from the rollouts themselves: ArCHer's critic and QLASS's backups."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from palestra import InvalidOption, Meta, reward

from palestra_rewards.arrays import Floats, Ints, floats, means, together
from palestra_rewards.estimators.salt import previous
from palestra_rewards.estimators.tree import prefix_tree
from palestra_rewards.group import Group
from palestra_rewards.options import Discount


@reward(
    "archer",
    shape="group",
    needs=("state keys", "actions"),
    paper="Zhou et al. (2024), ArCHer: Hierarchical Multi-Turn RL",
    check="test_the_turn_critic_values_binary_splitting_exactly",
    cost="a sparse solve",
)
def archer(group: Group, *, gamma: Discount = 1.0) -> Floats:
    """Q less V of a turn-level critic that is fitted to the rollouts.

    `Q(s, a) - V(s)` of a tabular turn-level critic that fits the rollouts exactly.

    Q is the mean over like turns of reward plus `gamma` times V of the seat's next state, V the
    mean of Q over visits of a state; states and actions are keys, and the critic is shared by all
    tasks. After a line's last turn V is 0. Zhou et al., "ArCHer" (2024), with a table in the place
    of networks.
    """
    quality, value, state = turn_critic(group, gamma=gamma)
    return quality - value[state]


def turn_critic(group: Group, *, gamma: float) -> tuple[Floats, Floats, Ints]:
    """Q of every turn, V of every state, and the state's number at every turn.

    V solves `V = r + gamma P V` for the mean rewards and the moves that were seen.
    """
    assert group.state is not None
    assert group.action is not None
    state = together((group.turn_seating, group.state))
    following = next_turn(group)
    value = _solved(group, state, following, gamma)
    after = np.where(following >= 0, value[state[following]], 0.0)
    played = together((state, group.action))
    return means(group.rewards + gamma * after, played)[played], value, state


def _solved(group: Group, state: Ints, following: Ints, gamma: float) -> Floats:
    from scipy.sparse import coo_array, eye_array
    from scipy.sparse.linalg import spsolve

    on = np.flatnonzero(following >= 0)
    visits = np.bincount(state)
    chance = 1 / visits[state[on]]
    size = (visits.size, visits.size)
    moves = coo_array((chance, (state[on], state[following[on]])), shape=size)
    system = (eye_array(visits.size) - gamma * moves).tocsc()
    return np.atleast_1d(floats(spsolve(system, means(group.rewards, state))))


def next_turn(group: Group) -> Ints:
    """The seat's next turn in the episode, -1 after its last."""
    following = np.full(group.size, -1)
    before = previous(group, np.arange(group.size))
    later = np.flatnonzero(before)
    following[before[later] - 1] = later
    return following


@reward(
    "qlass",
    shape="group",
    needs=("state keys", "actions"),
    paper="QLASS: Boosting Language Agent Inference via Q-Guided Stepwise Search (2025)",
    check="test_backed_up_q_is_that_of_the_best_child",
    cost="tree",
)
def qlass(
    group: Group,
    *,
    gamma: Discount = 1.0,
    normal: Annotated[bool, Meta(description="whether Q is moved to 0..1 within each task")] = True,
) -> Floats:
    """Q by the best child, backed up over the tree of explored rollouts.

    `Q(s, a) = r + gamma * max Q(child)` on the tree of explored rollouts.

    With `normal`, moved to 0..1 within the task. One player. Lin et al., "QLASS" (2025).
    """
    if np.unique(group.seat).size > 1:
        raise InvalidOption(
            "qlass backs up the best child, which only a single decider can choose; keep one seat, "
            "as in Group.of(records, seats=[0])"
        )
    tree = prefix_tree(group)
    nodes = int(tree.after.max(initial=-1)) + 1
    reward = _at_nodes(group.rewards, tree.after, nodes)
    best = np.full(nodes, -np.inf)
    quality = np.zeros(nodes)
    for place in range(int(group.ordinal.max(initial=-1)), -1, -1):
        now = np.flatnonzero(group.ordinal == place)
        node = tree.after[now]
        quality[node] = reward[node] + gamma * np.where(np.isinf(best[node]), 0.0, best[node])
        np.maximum.at(best, tree.before[now], quality[node])
    found = quality[tree.after]
    return _unit(found, group.turn_task) if normal else found


def _at_nodes(values: Floats, node: Ints, nodes: int) -> Floats:
    """The mean of what turns leading to each node were paid."""
    visits = np.bincount(node, minlength=nodes)
    return floats(np.bincount(node, values, minlength=nodes) / np.maximum(visits, 1))


def _unit(values: Floats, ids: Ints) -> Floats:
    """Moved and scaled to 0..1 in every bucket; 0 where all are equal."""
    low, high = np.full(ids.max(initial=-1) + 1, np.inf), np.full(ids.max(initial=-1) + 1, -np.inf)
    np.minimum.at(low, ids, values)
    np.maximum.at(high, ids, values)
    span = (high - low)[ids]
    return floats(np.divide(values - low[ids], span, out=np.zeros(values.size), where=span > 0))
