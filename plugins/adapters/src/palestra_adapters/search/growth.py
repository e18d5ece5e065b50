"""How a tree grows: best-first, by confidence bounds, by budget, level by level, in a beam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt

from palestra import Rng

from palestra_adapters.search.tree import Growth, Node, Tree

LEAST = 1e-9  # a value of 0 still has this weight


def open_leaves(tree: Tree, depth: int) -> list[Node]:
    """Nodes that have not been expanded and may be."""
    nodes = [tree.root, *tree.root.below()]
    return [
        n for n in nodes if not n.children and not n.full and not n.spot.over and n.depth < depth
    ]


def best_of(nodes: Sequence[Node]) -> Node:
    """The highest value; the shortest way there; the first found."""
    return max(nodes, key=lambda node: (node.value, -node.depth))


@dataclass
class BestFirst(Growth):
    """Always the leaf of highest value (Koh et al., "Tree Search for Language Model Agents", 2024).

    The search ends early where a value passes `enough`.
    """

    width: int = 3
    depth: int = 5
    enough: float = 1.0

    def pick(self, tree: Tree, rng: Rng) -> Sequence[Node]:
        found = [node for node in tree.root.below() if node.value >= self.enough]
        leaves = open_leaves(tree, self.depth)
        return [] if found or not leaves else [best_of(leaves)]

    def choose(self, tree: Tree) -> Node:
        return best_of(list(tree.root.below()))


@dataclass
class Bounds(Growth):
    """UCT with values of a judge (SWE-Search, Antoniades et al., 2024).

    From the root down to the child with the highest upper confidence bound, to the first node
    that may still have another child; the child's value is added on the whole way back. The move
    is the child most often visited.
    """

    width: int = 3
    depth: int = 5
    c: float = 1.0
    judges_root = True
    one_by_one = True

    def pick(self, tree: Tree, rng: Rng) -> Sequence[Node]:
        node = tree.root
        while node.full or node.spot.over or node.depth >= self.depth:
            if node.spot.over or node.depth >= self.depth or not node.children:
                _back_up(node, node.value)  # nothing to add: its value is what it brings
                tree.spent += 1
                if tree.spent >= tree.limit:
                    return []
                node = tree.root
                continue
            node = max(node.children, key=lambda child: self.bound(child))
        return [node]

    def bound(self, node: Node) -> float:
        if not node.visits or node.parent is None:
            return inf
        return node.mean + self.c * sqrt(log(node.parent.visits + 1) / node.visits)

    def learn(self, tree: Tree, node: Node, children: Sequence[Node]) -> None:
        for child in children:
            _back_up(child, child.value)

    def choose(self, tree: Tree) -> Node:
        return max(tree.root.children, key=lambda child: (child.visits, child.mean))


def _back_up(node: Node, value: float) -> None:
    step: Node | None = node
    while step is not None:
        step.visits += 1
        step.total += value
        step = step.parent


@dataclass
class Thrifty(Growth):
    """The less is left, the greedier (BAVT, "Spend Less, Reason Better", 2026).

    A leaf is drawn with probability proportional to value ** (1 / share of the budget left);
    children that are no better than their parent are not followed. The abstract fixes neither
    the exponent's form nor its scale; this one is proportional with everything left and takes
    the best with nothing left.
    """

    width: int = 3
    depth: int = 5
    judges_root = True

    def pick(self, tree: Tree, rng: Rng) -> Sequence[Node]:
        leaves = open_leaves(tree, self.depth)
        if not leaves:
            return []
        return [leaves[rng.weighted(thrifty_weights([n.value for n in leaves], tree.left))]]

    def learn(self, tree: Tree, node: Node, children: Sequence[Node]) -> None:
        gains = [child for child in children if child.value > node.value]
        for child in children:
            child.full = bool(gains) and child.value <= node.value

    def choose(self, tree: Tree) -> Node:
        return best_of(list(tree.root.below()))


def thrifty_weights(values: Sequence[float], left: float) -> list[float]:
    """Chances proportional to value ** (1 / left); all on the best where nothing is left."""
    top = max(values)
    if left <= 0:
        best = [float(value == top) for value in values]
        return [weight / sum(best) for weight in best]
    logs = [log(max(value, LEAST)) / left for value in values]
    weights = [exp(item - max(logs)) for item in logs]
    return [weight / sum(weights) for weight in weights]


@dataclass
class LookAhead(Growth):
    """Every path to a depth, values carried back to the first move (FLARE, 2026; RAFA, 2023).

    A node is worth its best child; the first move of the best path is played and the rest is
    planned anew.
    """

    width: int = 3
    depth: int = 3

    def pick(self, tree: Tree, rng: Rng) -> Sequence[Node]:
        leaves = open_leaves(tree, self.depth)
        if not leaves:
            return []
        level = min(node.depth for node in leaves)
        return [node for node in leaves if node.depth == level]

    def choose(self, tree: Tree) -> Node:
        return max(tree.root.children, key=worth)


def worth(node: Node) -> tuple[float, int]:
    """The best value that any path through a node comes to, and minus the moves it takes."""
    return max(map(worth, node.children)) if node.children else (node.value, -node.depth)


@dataclass
class Beam(Growth):
    """Level by level, only the `keep` best of each level (step-level beam, AgentRM, 2025)."""

    width: int = 3
    depth: int = 3
    keep: int = 2

    def pick(self, tree: Tree, rng: Rng) -> Sequence[Node]:
        nodes = [tree.root, *tree.root.below()]
        level = max(node.depth for node in nodes)
        if level >= self.depth:
            return []
        front = [node for node in nodes if node.depth == level]
        best = sorted(front, key=lambda node: -node.value)[: self.keep]
        return [node for node in best if not node.spot.over and not node.full]

    def choose(self, tree: Tree) -> Node:
        nodes = list(tree.root.below())
        level = max(node.depth for node in nodes)
        return best_of([node for node in nodes if node.depth == level or node.spot.over])
