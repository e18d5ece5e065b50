"""Agent Q: guided tree search with a critic's ranking, and preference pairs from its tree.

Putta et al., "Agent Q: Advanced Reasoning and Learning for Autonomous AI Agents", 2024. At every
node the policy proposes moves and a critic, the same model, ranks them. Moves are chosen by UCB1
over a mixture of the mean outcome of roll-outs and the critic's value. Pairs of moves whose values
differ by more than a threshold are preferences for DPO; the probabilities under the policy that
proposed them are kept, as the method is off-policy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, log, sqrt
from typing import Annotated, Any, NamedTuple

from palestra import Decision, EpisodeRecord, InvalidOption, Meta, Turn, agent
from palestra.quoting import disarm

from palestra_adapters.proposing import propose
from palestra_adapters.search.foresight import Foresight
from palestra_adapters.search.spots import Lookahead, Spot
from palestra_adapters.search.tree import upwards
from palestra_adapters.thinking import Thinking

RANK = (
    "These moves are considered:\n{moves}\n\nRank them by how well they serve {player}, the best "
    "first. Answer with their numbers only, separated by commas."
)


@dataclass(slots=True, eq=False)
class QNode:
    """A position; `critic` is the critic's value of the move that led here, from 1 to 0."""

    spot: Spot
    parent: QNode | None = None
    move: str = ""
    critic: float = 0.5
    logprob: float | None = None
    children: list[QNode] = field(default_factory=list)
    visits: int = 0
    total: float = 0.0

    @property
    def tree(self) -> float:
        """Mean outcome of roll-outs through here; the critic's value before the first."""
        return self.total / self.visits if self.visits else self.critic

    def value(self, alpha: float) -> float:
        """alpha * tree + (1 - alpha) * critic."""
        return alpha * self.tree + (1 - alpha) * self.critic

    def bound(self, alpha: float, c: float) -> float:
        """UCB1 of the mixture; infinite for a move that was never tried."""
        if not self.visits or self.parent is None:
            return inf
        return self.value(alpha) + c * sqrt(log(self.parent.visits) / self.visits)


class Pair(NamedTuple):
    """Two moves in one position for DPO, with their values and log-probabilities if known."""

    prompt: str
    chosen: str
    rejected: str
    gap: float
    chosen_logprob: float | None = None
    rejected_logprob: float | None = None


@agent(
    "agent-q",
    kind="llm",
    needs=("fork",),
    summary="Tree search over outcomes and a critic's ranking; its tree gives preference pairs.",
    paper="Agent Q: Advanced Reasoning and Learning for Autonomous AI Agents (2024)",
)
class AgentQ(Foresight):
    """Before every move, `iterations` times: descend by UCB1, expand, roll out, back up.

    A roll-out follows the model's own moves to the end, at most `horizon` moves. The child of the
    highest mixed value is played; moves tried more often win ties. The fact `tree` has every
    expanded position with its moves, and `preference_pairs` reads it.
    """

    def __init__(
        self,
        *,
        iterations: Annotated[int, Meta(ge=1, description="roll-outs a move")] = 10,
        width: Annotated[int, Meta(ge=1, description="moves proposed in a position")] = 4,
        alpha: Annotated[float, Meta(ge=0, le=1, description="weight of outcomes")] = 0.5,
        c: Annotated[float, Meta(ge=0, description="weight of exploration")] = 1.0,
        horizon: Annotated[int, Meta(ge=1, description="moves of a roll-out at most")] = 40,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._iterations, self._width, self._alpha = iterations, width, alpha
        self._c, self._horizon = c, horizon

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        legal = turn.legal_texts
        if len(legal) == 1:
            return Decision(text=legal[0])
        lookahead, scale = self.ahead(turn)
        root = QNode(lookahead.root(turn))
        for _ in range(self._iterations):
            node = root
            while node.children:
                node = max(node.children, key=lambda child: child.bound(self._alpha, self._c))
            if not node.spot.over and (node.visits or node is root):
                yield from self._expand(lookahead, node, advice)
                node = max(node.children, key=lambda child: child.critic, default=node)
            gain = yield from self._roll_out(lookahead, node.spot)
            scale.see(gain)
            back_up(node, scale(gain))
        if not root.children:
            return Decision(text=legal[0] if legal else "", thought="nothing was proposed")
        best = max(root.children, key=lambda child: (child.value(self._alpha), child.visits))
        values = {child.move: child.value(self._alpha) for child in root.children}
        facts = {"candidates": values, "tree": list(self._positions(root))}
        return Decision(text=best.move, thought=f"{root.visits} roll-outs", facts=facts)

    def _expand(self, lookahead: Lookahead, node: QNode, advice: str) -> Thinking[None]:
        """The policy's moves as children, with the critic's values."""
        turn = node.spot.turn
        moves = yield from propose(self, turn, self._width, feedback=advice)
        logprobs = yield from self._logprobs(turn, moves)
        values = yield from self._rank_moves(turn, moves)
        for move in moves:
            spot = yield from lookahead.step(node.spot, move)
            if spot is not None:
                child = QNode(spot, node, move, values[move], logprobs.get(move))
                node.children.append(child)

    def _logprobs(self, turn: Turn, moves: Sequence[str]) -> Thinking[dict[str, float]]:
        """The log-probabilities of moves under the policy, from a model that can tell."""
        if "score" not in self.models[0].abilities or not moves:
            return {}
        (reply,) = yield [
            self.about(turn, turn.position, score=tuple(map(self.style.reply, moves)))
        ]
        return {m: score.logprob for m, score in zip(moves, reply.scores, strict=True)}

    def _rank_moves(self, turn: Turn, moves: Sequence[str]) -> Thinking[dict[str, float]]:
        if len(moves) < 2:
            return dict.fromkeys(moves, 0.5)
        lines = "\n".join(f"{i + 1}. {disarm(move)}" for i, move in enumerate(moves))
        asked = RANK.format(moves=lines, player=turn.game.players[turn.seat])
        return ranked_values(moves, (yield from self.consult(turn, turn.position, asked)))

    def _roll_out(self, lookahead: Lookahead, spot: Spot) -> Thinking[float]:
        """What the seat has been paid at the end of a game that the model plays on."""
        for _ in range(self._horizon):
            if spot.over:
                break
            after = yield from self.play_on(lookahead, spot, temperature=self.temperature or 0.8)
            if after is None:
                break
            spot = after
        return spot.gain

    def _positions(self, root: QNode) -> Iterator[dict[str, Any]]:
        """Every expanded position below a node, as plain data."""
        front = [root]
        while front:
            node = front.pop()
            front += [child for child in node.children if child.children]
            if node.children:
                moves = {
                    child.move: {
                        "value": child.value(self._alpha),
                        "visits": child.visits,
                        "logprob": child.logprob,
                    }
                    for child in node.children
                }
                yield {"position": node.spot.text, "moves": moves}


def back_up(node: QNode, outcome: float) -> None:
    """Count an outcome at a node and at all above it."""
    for step in upwards(node):
        step.visits, step.total = step.visits + 1, step.total + outcome


def ranked_values(moves: Sequence[str], text: str) -> dict[str, float]:
    """Values from 1 for the first rank to 0 for the last; moves left out share the ranks left."""
    numbers = dict.fromkeys(int(n) - 1 for n in re.findall(r"\d{1,9}", text))
    named = [moves[n] for n in numbers if 0 <= n < len(moves)]
    rest = [move for move in moves if move not in named]
    last = len(moves) - 1
    values = {move: 1 - place / last for place, move in enumerate(named)}
    middle = 1 - (len(named) + last) / 2 / last
    return values | dict.fromkeys(rest, middle)


def preference_pairs(
    records: Sequence[EpisodeRecord], *, gap: float = 0.1, visits: int = 1
) -> list[Pair]:
    """All pairs of moves tried in one position whose values differ by more than `gap`.

    visits: how often both must have been tried. Raises `InvalidOption` if no decision of the
    records has a tree.
    """
    trees = [turn.facts["tree"] for r in records for turn in r.turns if "tree" in turn.facts]
    if not trees:
        raise InvalidOption("no decision of these records has the fact 'tree'; play with agent-q")
    return [pair for tree in trees for node in tree for pair in _pairs(node, gap, visits)]


def _pairs(node: Mapping[str, Any], gap: float, visits: int) -> Iterator[Pair]:
    tried = {m: one for m, one in node["moves"].items() if one["visits"] >= visits}
    for better, one in tried.items():
        for worse, other in tried.items():
            if one["value"] - other["value"] > gap:
                yield Pair(
                    node["position"],
                    better,
                    worse,
                    one["value"] - other["value"],
                    one["logprob"],
                    other["logprob"],
                )
