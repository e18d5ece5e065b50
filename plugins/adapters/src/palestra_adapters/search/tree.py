"""One search engine: propose moves, step forks, value the positions, grow by a rule.

The published methods differ in their `Growth`: which node is expanded next, what is learnt from its
children, and which move is played at the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeVar

from palestra import BudgetSpent, Rng, Turn, Usage
from palestra.agents.budget import Account
from palestra.agents.models import Reply
from palestra.quoting import disarm, quote

from palestra_adapters.adapter import Adapter
from palestra_adapters.proposing import propose
from palestra_adapters.scoring import Judgement, Scorer
from palestra_adapters.search.spots import Lookahead, Scale, Spot
from palestra_adapters.thinking import Ask, Thinking, together


class Child(Protocol):
    """A node that knows its parent; the root has none."""

    @property
    def parent(self) -> Self | None: ...


C = TypeVar("C", bound=Child)


def upwards(node: C) -> Iterator[C]:
    """A node and all above it, up to the root."""
    step: C | None = node
    while step is not None:
        yield step
        step = step.parent


@dataclass(slots=True, eq=False)
class Node:
    """A position in the tree; `value` is the scorer's, `total` the sum backed up by `visits`."""

    spot: Spot
    parent: Node | None = None
    move: str = ""
    depth: int = 0
    value: float = 0.5
    comment: str = ""
    children: list[Node] = field(default_factory=list)
    visits: int = 0
    total: float = 0.0
    full: bool = False  # no further move is to be tried

    @property
    def mean(self) -> float:
        return self.total / self.visits if self.visits else self.value

    @property
    def path(self) -> list[Node]:
        """From the first move to here."""
        return [node for node in upwards(self) if node.parent is not None][::-1]

    def below(self) -> Iterator[Node]:
        for child in self.children:
            yield child
            yield from child.below()


@dataclass(slots=True)
class Spending:
    """Limits and usage of one decision, in calls and tokens of any kind; 0 is no limit.

    `reserve` calls are kept for the answer, each with the tokens of the largest call so far.
    `account` is that of the whole run, whose limits apply as well.
    """

    calls: int = 0
    tokens: int = 0
    reserve: int = 0
    account: Account | None = None
    used: Usage = field(default_factory=Usage)
    dearest: int = 0  # most tokens of one call

    def affords(self, asks: int) -> bool:
        """Whether this many calls leave the reserve untouched."""
        more = asks + self.reserve
        calls = not self.calls or self.used.calls + more <= self.calls
        return calls and (not self.tokens or self.used.tokens + more * self.dearest <= self.tokens)

    def count(self, replies: Sequence[Reply]) -> None:
        self.used = sum((reply.usage for reply in replies), self.used)
        self.dearest = max([self.dearest, *(reply.usage.tokens for reply in replies)])

    @property
    def left(self) -> float:
        """The share left of the scarcest limit, from 1 to 0."""
        shares = [
            1 - used / limit
            for used, limit in ((self.used.calls, self.calls), (self.used.tokens, self.tokens))
            if limit
        ]
        if self.account is not None and self.account.limited:
            used = Account(self.account.budget, self.account.used + self.used, self.account.steps)
            limits = {unit: getattr(used.budget, unit) for unit in used.left()}
            shares += [left / limits[unit] for unit, left in used.left().items() if limits[unit]]
        return max(0.0, min(shares, default=1.0))


@dataclass(slots=True)
class Tree:
    """The tree of one search, and its budget."""

    root: Node
    limit: int  # expansions
    spent: int = 0
    best: Node | None = None
    spending: Spending = field(default_factory=Spending)
    cut: bool = False  # calls or tokens ended the search

    @property
    def left(self) -> float:
        """The share left of the scarcest budget, expansions included, from 1 to 0."""
        return min(self.spending.left, max(0.0, 1 - self.spent / self.limit))


class Growth(ABC):
    """A rule by which a tree grows."""

    width: int
    judges_root: bool = False
    one_by_one: bool = False  # a node gets one child at a time

    @abstractmethod
    def pick(self, tree: Tree, rng: Rng) -> Sequence[Node]:
        """The nodes to expand now; an empty sequence ends the search."""

    def learn(  # noqa: B027 - most rules learn nothing
        self, tree: Tree, node: Node, children: Sequence[Node]
    ) -> None:
        """Update the tree by the values of new children."""

    @abstractmethod
    def choose(self, tree: Tree) -> Node:
        """The node to play towards."""


@dataclass(slots=True)
class Search:
    """Grows one tree from one turn."""

    agent: Adapter
    lookahead: Lookahead
    scorer: Scorer
    growth: Growth
    limit: int
    advice: str = ""
    spending: Spending = field(default_factory=Spending)
    judged: dict[bytes, Judgement] = field(default_factory=dict)  # by what the seat sees

    def run(self, turn: Turn) -> Thinking[Tree]:
        """A grown tree; what there is of it where the budget ends first."""
        tree = Tree(Node(self.lookahead.root(turn)), self.limit, spending=self.spending)
        growing = self._grow(tree, Scale.of(turn.game))
        replies: Sequence[Reply] | None = None
        try:
            while True:
                asks: Sequence[Ask] = growing.send(replies)  # type: ignore[arg-type]
                if not tree.spending.affords(len(asks)):
                    tree.cut = True
                    break
                replies = yield asks
                tree.spending.count(replies)
        except (BudgetSpent, StopIteration):
            pass
        finally:
            growing.close()
        return tree

    def _grow(self, tree: Tree, scale: Scale) -> Thinking[None]:
        if self.growth.judges_root:
            yield from self._value([tree.root], scale)
        while tree.spent < tree.limit:
            nodes = list(self.growth.pick(tree, self.agent.rng))[: tree.limit - tree.spent]
            if not nodes:
                break
            tree.spent += len(nodes)
            grown = yield from together([self._children(node) for node in nodes])
            yield from self._value([child for own in grown for child in own], scale)
            for node, children in zip(nodes, grown, strict=True):
                node.children += children
                self.growth.learn(tree, node, children)

    def _children(self, node: Node) -> Thinking[list[Node]]:
        seen = tuple(child.move for child in node.children)
        count = 1 if self.growth.one_by_one else self.growth.width
        moves = yield from propose(
            self.agent, node.spot.turn, count, feedback=self._feedback(node), seen=seen
        )
        spots = yield from together([self.lookahead.step(node.spot, move) for move in moves])
        children = [
            Node(spot, node, move, node.depth + 1)
            for move, spot in zip(moves, spots, strict=True)
            if spot is not None
        ]
        tried = len(node.children) + len(children)
        node.full = not children or tried >= self.growth.width or not self.growth.one_by_one
        return children

    def _feedback(self, node: Node) -> str:
        """Text shown before proposing: advice, and what is wrong with the worst move tried."""
        notes = [self.advice] if self.advice else []
        judged = [child for child in node.children if child.comment not in ("", "over")]
        if judged:
            worst = min(judged, key=lambda child: child.value)
            notes.append(f"{disarm(worst.move)} was tried and is not good: {quote(worst.comment)}")
            notes.append("Play something else.")
        return "\n".join(notes)

    def _value(self, nodes: Sequence[Node], scale: Scale) -> Thinking[None]:
        """Value nodes; positions that look the same to the seat are judged once.

        A relative scorer values the change by a move, which is added to the parent's value.
        """
        fresh = {node.spot.key: node for node in nodes if node.spot.key not in self.judged}
        verdicts = yield from self.scorer.score([node.spot for node in fresh.values()], scale)
        for (key, node), verdict in zip(fresh.items(), verdicts, strict=True):
            if self.scorer.relative and node.parent is not None and not node.spot.over:
                value = node.parent.value + 2 * (verdict.value - 0.5)
                verdict = Judgement(min(1.0, max(0.0, value)), verdict.comment)
            self.judged[key] = verdict
        for node in nodes:
            node.value, node.comment = self.judged[node.spot.key]
