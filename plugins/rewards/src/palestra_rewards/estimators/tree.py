"""Rollouts of one task as a tree of shared prefixes, and the credit each turn gets from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
from palestra import InvalidOption, Meta, reward

from palestra_rewards.arrays import NO_SPREAD, Bools, Floats, Ints, firsts, floats, together
from palestra_rewards.columns import places, whole_column
from palestra_rewards.estimators.nested import roots
from palestra_rewards.group import Group


@dataclass(frozen=True)
class Tree:
    """Nodes are prefixes of episodes; every task is a root.

    `after` is the node each turn leads to, `before` the one it starts from. `value` has shape
    (nodes, seatings) with the columns numbered as in `Group.seating`: the mean return of the
    rollouts through the node in which that agent had that seat, 0 where there are none.
    """

    before: Ints
    after: Ints
    value: Floats

    def value_before(self, group: Group) -> Floats:
        """The value, to the seat that decides, of the node each turn starts from."""
        return self.value[self.before, group.turn_seating]

    def value_after(self, group: Group) -> Floats:
        """The value, to the seat that decided, of the node each turn leads to."""
        return self.value[self.after, group.turn_seating]


def prefix_tree(group: Group) -> Tree:
    """The tree in which episodes share nodes as long as states and decisions are equal.

    Decisions made together start from one node. Each leads to a node of its own, in which the
    others' decisions are open; the next step starts from the node that all of them lead to.
    """
    assert group.state is not None
    assert group.action is not None
    edge = together((group.seat, group.life, group.state, group.action))
    step = steps_of(group)
    shared = int(step.max(initial=-1)) + 1 < group.size  # some decisions were made together
    joint = _joint_edges(group, edge, step) if shared else edge
    order, starts = _by_place(group, step)
    node = group.task.copy()  # where every episode stands
    nodes = int(node.max(initial=-1)) + 1
    before, after, reached = (np.empty(group.size, np.int64) for _ in range(3))
    for start, end in pairwise(starts):
        now = order[start:end]
        before[now] = node[group.episode[now]]
        for into, of in ((after, edge), (reached, joint))[: 1 + shared]:
            fresh = together((before[now], of[now]))
            into[now] = nodes + fresh
            nodes += int(fresh.max()) + 1
        node[group.episode[now]] = (reached if shared else after)[now]
    visits = [(group.task, np.arange(group.episodes)), (after, group.episode)]
    if shared:
        once = firsts(step)
        visits.append((reached[once], group.episode[once]))
    return Tree(before, after, _values(group, visits, nodes))


def steps_of(group: Group) -> Ints:
    """A number for every turn, equal for decisions made together, rising within an episode."""
    order = np.argsort(group.episode, kind="stable")
    episode, turn, line = group.episode[order], group.turn[order], group.line[order]
    fresh = np.ones(group.size, dtype=bool)
    fresh[1:] = (np.diff(episode) != 0) | (np.diff(turn) != 0)
    if not fresh.all():  # a second turn of one line begins a step of its own
        again = places(together((line, np.cumsum(fresh))))
        fresh[1:] |= np.diff(again) != 0
    found = np.empty(group.size, np.int64)
    found[order] = np.cumsum(fresh) - 1
    return found


def _joint_edges(group: Group, edge: Ints, step: Ints) -> Ints:
    """A number for every turn, equal where the decisions of all seats of the step are."""
    order = np.lexsort((group.line, step))
    slot = np.empty(group.size, np.int64)
    slot[order] = places(step[order])
    columns = np.zeros((int(slot.max(initial=0)) + 1, int(step.max(initial=-1)) + 1), np.int64)
    columns[slot, step] = edge + 1
    return together(columns)[step]


def _by_place(group: Group, step: Ints) -> tuple[Ints, Ints]:
    """Turns ordered by the place of their step in its episode, and where each place starts."""
    place = step - step[firsts(group.episode)][group.episode]
    return np.argsort(place, kind="stable"), np.concatenate(([0], np.bincount(place).cumsum()))


def _values(group: Group, visits: Sequence[tuple[Ints, Ints]], nodes: int) -> Floats:
    """Mean return at every node for every seating, over the rollouts through the node.

    `visits` are nodes and the episodes that passed through them, each once.
    """
    returns, present = outcomes(group)
    value = np.zeros((nodes, returns.shape[1]))
    visited, episode = (np.concatenate(parts) for parts in zip(*visits, strict=True))
    for seating in range(returns.shape[1]):
        paid, there = (table[:, seating].astype(np.float64) for table in (returns, present))
        total = np.bincount(visited, paid[episode], minlength=nodes)
        through = np.bincount(visited, there[episode], minlength=nodes)
        value[:, seating] = total / np.maximum(through, 1)
    return value


def outcomes(group: Group) -> tuple[Floats, Bools]:
    """Returns, 0 where there is no line, and whether there is one; shape (episodes, seatings)."""
    shape = group.episodes, int(group.seating.max(initial=-1)) + 1
    table, present = np.zeros(shape), np.zeros(shape, dtype=bool)
    table[group.line_episode, group.seating] = group.returns
    present[group.line_episode, group.seating] = True
    return table, present


@reward(
    "segment-tree",
    shape="group",
    needs=("state keys", "actions"),
    paper=(
        "Guo et al. (2025), Segment Policy Optimization: Effective Segment-Level Credit "
        "Assignment in RL for Large Language Models"
    ),
    check="test_segment_advantages_telescope",
    cost="tree",
)
def segment_policy(group: Group) -> Floats:
    """Value after the turn minus value before it, on the tree of shared prefixes.

    The value of a node is the mean return of the rollouts through it. A line's last turn ends at
    its own outcome, so that for one player the advantages of a line sum to its outcome minus the
    value of the start. Guo et al., "Segment Policy Optimization" (2025), the tree form with turns
    as segments.
    """
    tree = prefix_tree(group)
    ends = tree.value_after(group)
    last = group.ordinal == group.length[group.line] - 1
    ends[last] = group.spread(group.returns)[last]
    return ends - tree.value_before(group)


@reward(
    "segment-chain",
    shape="group",
    needs=("parents", "cuts"),
    paper=(
        "Guo et al. (2025), Segment Policy Optimization: Effective Segment-Level Credit "
        "Assignment in RL for Large Language Models"
    ),
    check="test_segment_chain_telescopes_over_its_cuts",
    cost="continuations",
)
def segment_policy_chain(group: Group) -> Floats:
    """Value at the segment's end minus value at its start, from continuations of snapshots.

    An episode with a parent continues it from step "branched_at"; the mean return of such episodes
    is the value at that cut. Segments run from cut to cut. The first value is the mean return of
    the task's trunks (episodes without a parent) unless step 0 has continuations; the last is the
    trunk's outcome. Turns of continuations get 0. For one player.
    """
    assert group.parent is not None
    if group.lines != group.episodes:
        raise InvalidOption(
            "segment-chain reads one seat of every episode; name it, as in "
            "Group.of(records, seats=[0]), or use segment-tree, which takes several"
        )
    trunk = group.parent < 0
    roots(group)  # refuses parents that are none
    at = whole_column("branched_at", group.fact("branched_at"), group.episodes)
    steps = np.zeros(group.episodes, np.int64)  # of every episode
    np.maximum.at(steps, group.episode, group.turn + 1)
    wrong = np.flatnonzero((at < 0) | (~trunk & (at > steps[group.parent])))
    if wrong.size:
        one = int(wrong[0])
        raise InvalidOption(
            f"branched_at of episode {one} is {at[one]}; a continuation starts at a step of its "
            f"parent, from 0 to {steps[group.parent[one]]}, and a trunk at 0"
        )
    width = int(max(group.turn.max(initial=0), at.max(initial=0))) + 2
    cells = group.parent[~trunk] * width + at[~trunk]
    tried = np.bincount(cells, minlength=group.episodes * width)
    total = np.bincount(cells, group.returns[~trunk], minlength=group.episodes * width)
    cut = tried.reshape(group.episodes, width) > 0
    value = (total / np.maximum(tried, 1)).reshape(group.episodes, width)
    value[:, 0] = np.where(cut[:, 0], value[:, 0], _trunk_means(group, trunk))
    value[np.arange(group.episodes), -1] = group.returns
    cut[:, 0] = cut[:, -1] = True
    places = np.broadcast_to(np.arange(width), cut.shape)
    since = np.maximum.accumulate(np.where(cut, places, 0), axis=1)
    until = np.minimum.accumulate(np.where(cut, places, width - 1)[:, ::-1], axis=1)[:, ::-1]
    gain = value[group.episode, until[group.episode, group.turn + 1]]
    gain = gain - value[group.episode, since[group.episode, group.turn]]
    return np.where(trunk[group.episode], gain, 0.0)


def _trunk_means(group: Group, trunk: Bools) -> Floats:
    """Mean return of the trunks of every episode's task; 0 where the task has none."""
    trunks = np.bincount(group.task, trunk)
    total = np.bincount(group.task, group.returns * trunk)
    return floats((total / np.maximum(trunks, 1))[group.task])


@reward(
    "malt",
    shape="group",
    needs=("state keys", "actions"),
    paper="MALT: Improving Reasoning with Multi-Agent LLM Training (2024)",
    check="test_malt_root_value_is_the_leaf_average",
    cost="tree",
)
def malt(
    group: Group,
    *,
    threshold: Annotated[float, Meta(description="value above which a node is good")] = 0.5,
    soft: Annotated[
        bool, Meta(description="whether to give the value minus the threshold")
    ] = False,
) -> Floats:
    """1 or -1 by whether the node that a role's sample leads to is worth more than a threshold.

    With `soft`, the node's value minus the threshold. The tree holds samples of generator, verifier
    and refiner, one role per turn; a node's value is the mean return of the rollouts through it.
    Motwani et al., "MALT" (2024).
    """
    tree = prefix_tree(group)
    worth = tree.value_after(group) - threshold
    return worth if soft else np.where(worth > 0, 1.0, -1.0)


@reward(
    "step-q",
    shape="group",
    needs=("state keys", "actions"),
    paper=(
        "Zhai et al. (2024), Enhancing Decision-Making for LLM Agents via Step-Level Q-Value Models"
    ),
    check="test_best_and_worst_decisions_of_a_node_are_told_apart",
    cost="tree",
)
def step_q(group: Group) -> Floats:
    """1 for the best decision at every node by mean outcome, -1 for the worst, 0 for the others.

    A decision's Q is the mean outcome of the rollouts that took it; at a node whose decisions are
    all worth the same, all get 0. Where chance, or a seat that is left out, leads from one decision
    to several states, decisions in each state are compared apart. Zhai et al., "Enhancing
    Decision-Making for LLM Agents via Step-Level Q-Value Models" (2024).
    """
    tree = prefix_tree(group)
    quality = tree.value_after(group)
    here = _decision_points(group, tree)
    nodes = int(here.max(initial=-1)) + 1
    low, high = np.full(nodes, np.inf), np.full(nodes, -np.inf)
    np.minimum.at(low, here, quality)
    np.maximum.at(high, here, quality)
    apart = (high - low)[here] > NO_SPREAD
    best, worst = quality == high[here], quality == low[here]
    return np.where(apart, best.astype(np.float64) - worst, 0.0)


def _decision_points(group: Group, tree: Tree) -> Ints:
    """A number for every turn, equal where the same agent decided in one state of one node."""
    assert group.state is not None
    return together((tree.before, group.turn_seating, group.state))


def step_pairs(group: Group) -> list[tuple[int, int]]:
    """Indices of (better, worse) turns, one pair per node that has both, for step-level DPO."""
    labels, node = step_q(group), _decision_points(group, prefix_tree(group))
    best, worst = (
        {int(node[t]): int(t) for t in np.flatnonzero(labels == s)[::-1]} for s in (1, -1)
    )
    return [(turn, worst[one]) for one, turn in sorted(best.items())]
