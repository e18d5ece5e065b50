"""Rollouts of one task as a tree of shared beginnings, and the credit that follows from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from palestra import InvalidOption

from palestra_rewards.arrays import NO_SPREAD, Floats, Ints, means, together
from palestra_rewards.group import Group


@dataclass(frozen=True)
class Tree:
    """Nodes are beginnings of episodes; every task is a root.

    `after` is the node each turn leads to, `before` the one it starts from; `value` has shape
    (nodes, seats) and is the mean of the node's children, an episode's end being a child.
    """

    before: Ints
    after: Ints
    value: Floats


def prefix_tree(group: Group) -> Tree:
    """The tree in which episodes share nodes as long as states and decisions are equal."""
    assert group.state is not None
    assert group.action is not None
    edge = together((group.seat, group.state, group.action))
    place = _place_in_episode(group)
    node = group.task.copy()  # where every episode stands
    nodes = int(node.max(initial=-1)) + 1
    above, depths = [np.full(nodes, -1)], [np.zeros(nodes, dtype=np.int64)]
    before, after = np.empty(group.size, np.int64), np.empty(group.size, np.int64)
    for depth in range(int(place.max(initial=-1)) + 1):
        now = np.flatnonzero(place == depth)
        episode = group.episode[now]
        fresh = together((node[episode], edge[now]))
        before[now], after[now] = node[episode], nodes + fresh
        count = int(fresh.max()) + 1
        parents = np.empty(count, dtype=np.int64)
        parents[fresh] = node[episode]
        above.append(parents)
        depths.append(np.full(count, depth + 1))
        node[episode] = nodes + fresh
        nodes += count
    value = _values(node, np.concatenate(above), np.concatenate(depths), outcomes(group))
    return Tree(before, after, value)


def _values(last: Ints, above: Ints, depths: Ints, ends: Floats) -> Floats:
    """Mean of children of every node, from the deepest up."""
    total, children = np.zeros((above.size, ends.shape[1])), np.zeros(above.size)
    np.add.at(total, last, ends)
    np.add.at(children, last, 1)
    for depth in range(int(depths.max(initial=0)), 0, -1):
        nodes = np.flatnonzero(depths == depth)
        total[nodes] /= children[nodes, None]
        np.add.at(total, above[nodes], total[nodes])
        np.add.at(children, above[nodes], 1)
    top = depths == 0
    total[top] /= np.maximum(children[top, None], 1)
    return total


def outcomes(group: Group) -> Floats:
    """Returns as a table of episodes by seats; 0 for a seat without turns."""
    table = np.zeros((group.episodes, int(group.seat.max(initial=0)) + 1))
    first = group.line_first
    table[group.episode[first], group.seat[first]] = group.returns
    return table


def _place_in_episode(group: Group) -> Ints:
    order = np.argsort(group.episode, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(group.episode))))
    place = np.empty(group.size, dtype=np.int64)
    place[order] = np.arange(group.size) - starts[group.episode[order]]
    return place


def segment_policy(group: Group) -> Floats:
    """Value of the turn's end less value of its start, on the tree of shared beginnings.

    The value of a node is the mean of its children; a line's last turn ends at its own outcome,
    so that for one player the advantages of a line telescope to outcome less value of the start.
    Guo et al., "Segment Policy Optimization" (2025), tree form with turns as segments.
    """
    tree = prefix_tree(group)
    ends = tree.value[tree.after, group.seat]
    last = group.ordinal == group.length[group.line] - 1
    ends[last] = group.spread(group.returns)[last]
    return ends - tree.value[tree.before, group.seat]


def segment_policy_chain(group: Group) -> Floats:
    """Value of the segment's end less value of its start, by continuations from snapshots.

    Episodes with a parent are continuations of it, from step "branched_at" on; the mean of their
    returns is the value at that cut. Segments run from cut to cut; the first value is the mean
    return of the task's trunks unless step 0 has continuations, the last is the trunk's outcome.
    Turns of continuations get 0. Single player.
    """
    assert group.parent is not None
    if int(group.seat.max(initial=0)):
        raise InvalidOption("segment-chain is for one player; segment-tree takes several")
    trunk = group.parent < 0
    at = np.asarray(group.fact("branched_at"), dtype=np.int64)
    width = int(max(group.turn.max(initial=0), at.max(initial=0))) + 2
    cells = group.parent[~trunk] * width + at[~trunk]
    tried = np.bincount(cells, minlength=group.episodes * width)
    total = np.bincount(cells, group.returns[~trunk], minlength=group.episodes * width)
    cut = tried.reshape(group.episodes, width) > 0
    value = (total / np.maximum(tried, 1)).reshape(group.episodes, width)
    start = means(group.returns[trunk], group.task[trunk])
    value[:, 0] = np.where(cut[:, 0], value[:, 0], start[group.task])
    value[np.arange(group.episodes), -1] = group.returns
    cut[:, 0] = cut[:, -1] = True
    places = np.broadcast_to(np.arange(width), cut.shape)
    since = np.maximum.accumulate(np.where(cut, places, 0), axis=1)
    until = np.minimum.accumulate(np.where(cut, places, width - 1)[:, ::-1], axis=1)[:, ::-1]
    gain = value[group.episode, until[group.episode, group.turn + 1]]
    gain = gain - value[group.episode, since[group.episode, group.turn]]
    return np.where(trunk[group.episode], gain, 0.0)


def malt(group: Group, *, threshold: float = 0.5, soft: bool = False) -> Floats:
    """1 for turns whose node is worth more than `threshold`, -1 for the others.

    A tree of generator, verifier and refiner samples, each turn a role; node values are means of
    children. With `soft`, the node's value less the threshold. Motwani et al., "MALT" (2024).
    """
    tree = prefix_tree(group)
    worth = tree.value[tree.after, group.seat] - threshold
    return worth if soft else np.where(worth > 0, 1.0, -1.0)


def step_q(group: Group) -> Floats:
    """1 for the best decision taken at a node, -1 for the worst, 0 for all others.

    A decision's Q is the mean outcome of the rollouts that took it; at a node whose decisions are
    all worth the same nothing is told apart. Zhai et al., "Enhancing Decision-Making for LLM Agents
    via Step-Level Q-Value Models" (2024).
    """
    tree = prefix_tree(group)
    quality = tree.value[tree.after, group.seat]
    here = together((tree.before, group.seat))
    low, high = (
        np.full(here.max(initial=-1) + 1, np.inf),
        np.full(here.max(initial=-1) + 1, -np.inf),
    )
    np.minimum.at(low, here, quality)
    np.maximum.at(high, here, quality)
    apart = (high - low)[here] > NO_SPREAD
    best, worst = quality == high[here], quality == low[here]
    return np.where(apart, best.astype(np.float64) - worst, 0.0)


def step_pairs(group: Group) -> list[tuple[int, int]]:
    """(better, worse) turns, one pair a node that has both: what step-level DPO learns from."""
    labels, node = step_q(group), together((prefix_tree(group).before, group.seat))
    best, worst = (
        {int(node[t]): int(t) for t in np.flatnonzero(labels == s)[::-1]} for s in (1, -1)
    )
    return [(turn, worst[one]) for one, turn in sorted(best.items())]
