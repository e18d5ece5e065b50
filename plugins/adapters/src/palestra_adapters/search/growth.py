"""Growth rules of a tree: best-first, confidence bounds, by budget, by level, and beam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt

from palestra import Rng

from palestra_adapters.search.tree import Growth, Node, Tree, upwards

LEAST = 1e-9  # weight of a value of 0


def open_leaves(tree: Tree, depth: int) -> list[Node]:
    """Nodes that have not been expanded and may still be."""
    nodes = [tree.root, *tree.root.below()]
    return [
        n for n in nodes if not n.children and not n.full and not n.spot.over and n.depth < depth
    ]


def best_of(nodes: Sequence[Node]) -> Node:
    """The node with the highest value; ties go to the shortest path, then to the first found."""
    return max(nodes, key=lambda node: (node.value, -node.depth))


@dataclass
class BestFirst(Growth):
    """Expand the leaf of highest value (Koh et al., "Tree Search for Language Model Agents", 2024).

    The search ends early when a value reaches `enough`.
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
    """UCT with values from a judge (SWE-Search, Antoniades et al., 2024).

    It descends from the root to the child with the highest upper confidence bound until a node may
    have another child; that child's value is backed up to the root. The move played is the child
    with the most visits.
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
                self.back_up(node)  # it cannot grow, so its own value is backed up
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
            self.back_up(child)

    def back_up(self, node: Node) -> None:
        """Count one more visit of a node and those above it, each with the node's value."""
        for step in upwards(node):
            step.visits, step.total = step.visits + 1, step.total + node.value

    def choose(self, tree: Tree) -> Node:
        return max(tree.root.children, key=lambda child: (child.visits, child.mean))


@dataclass
class Thrifty(Growth):
    """Greedier with less budget left (BAVT, "Spend Less, Reason Better", 2026).

    A leaf is drawn with probability proportional to value ** (1 / share of the budget left).
    Children that are no better than their parent are not followed if a sibling is better. The
    abstract fixes neither the exponent's form nor its scale; with this one the probability is
    proportional to the value at a full budget, and the best leaf is taken at an empty one.
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
    """Probabilities proportional to value ** (1 / left); all on the best if nothing is left."""
    top = max(values)
    if left <= 0:
        best = [float(value == top) for value in values]
        return [weight / sum(best) for weight in best]
    logs = [log(max(value, LEAST)) / left for value in values]
    weights = [exp(item - max(logs)) for item in logs]
    return [weight / sum(weights) for weight in weights]


@dataclass
class LookAhead(Growth):
    """Expand all paths to a depth and back up values (FLARE, 2026; RAFA, 2023).

    The value of a node is that of its best child. The first move of the best path is played, and
    the rest is planned again.
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
    """The best value at the end of any path through a node, and minus that path's length."""
    return max(map(worth, node.children)) if node.children else (node.value, -node.depth)


@dataclass
class Beam(Growth):
    """Expand only the `keep` best nodes of each level (step-level beam search, AgentRM, 2025)."""

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
