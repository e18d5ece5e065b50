"""MAXS: every candidate move is rolled a few moves ahead, and the most consistent gain is played.

"MAXS: Meta-Adaptive Exploration with LLM Agents", 2026. A candidate's score is the advantage of the
end of its roll-out over the present, plus terms that prefer values which vary little from step to
step and a trend whose slope varies little. Rolling ends early when the candidates' scores agree.
The abstract fixes neither the form of the terms nor the threshold; here each is minus a variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from palestra import Decision, Meta, Turn, agent

from palestra_adapters.proposing import propose
from palestra_adapters.scoring import make_scorer
from palestra_adapters.search.agents import ScorerLike
from palestra_adapters.search.foresight import Foresight
from palestra_adapters.search.spots import Lookahead, Scale, Spot
from palestra_adapters.thinking import Thinking, together


@dataclass(slots=True)
class RollOut:
    """One candidate: where it has got to, and the value after each of its moves."""

    move: str
    spot: Spot
    values: list[float] = field(default_factory=list)


def candidate_score(now: float, values: Sequence[float], steps: float, slopes: float) -> float:
    """(last value - present value) - steps * Var(values) - slopes * Var(slopes).

    Slopes are differences of successive values; the variance of fewer than two numbers is 0.
    """
    advantage = values[-1] - now
    slope = np.diff(values)
    rough = float(np.var(values)) if len(values) > 1 else 0.0
    bent = float(np.var(slope)) if len(slope) > 1 else 0.0
    return advantage - steps * rough - slopes * bent


@agent(
    "maxs",
    kind="llm",
    needs=("fork",),
    summary="Rolls candidate moves a few moves ahead and plays the steadiest gain.",
    paper="MAXS: Meta-Adaptive Exploration with LLM Agents (2026)",
)
class Maxs(Foresight):
    """`width` candidate moves are rolled `depth` moves ahead by the model, and valued at each step.

    Rolling ends when the variance of the candidates' scores is at most `agree`, and never before
    the second step. scorer and others: as in the tree searches. Decisions have the facts
    `candidates`, every move with its score, and `rolled`, the number of steps rolled.
    """

    def __init__(
        self,
        *,
        width: Annotated[int, Meta(ge=1, description="candidate moves")] = 3,
        depth: Annotated[int, Meta(ge=1, description="moves rolled ahead")] = 4,
        steady: Annotated[float, Meta(ge=0, description="weight of the steps' variance")] = 0.3,
        straight: Annotated[float, Meta(ge=0, description="weight of the slopes' variance")] = 0.2,
        agree: Annotated[float, Meta(ge=0, description="variance at which rolling ends")] = 0.0,
        scorer: ScorerLike = "judge",
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._width, self._depth, self._agree = width, depth, agree
        self._weights = steady, straight
        self._scorer = make_scorer(scorer, self)

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        moves = yield from propose(self, turn, self._width, feedback=advice)
        if len(moves) < 2:
            return Decision(text=moves[0] if moves else "")
        lookahead, scale = self.ahead(turn)
        root = lookahead.root(turn)
        (present,) = yield from self._scorer.score([root], scale)
        rolls, rolled = (yield from self._first(lookahead, root, moves)), 1
        yield from self._value(rolls, scale)
        while rolled < self._depth and not self._rollouts_agree(rolls, present.value, rolled):
            yield from together([self._step(lookahead, roll) for roll in rolls])
            yield from self._value(rolls, scale)
            rolled += 1
        scores = {roll.move: self._score(roll, present.value) for roll in rolls}
        best = max(scores, key=lambda move: scores[move])
        facts = {"candidates": scores, "rolled": rolled, "value": present.value}
        return Decision(text=best, thought=f"rolled {rolled} moves ahead", facts=facts)

    def _first(
        self, lookahead: Lookahead, root: Spot, moves: Sequence[str]
    ) -> Thinking[list[RollOut]]:
        spots = yield from together([lookahead.step(root, move) for move in moves])
        pairs = zip(moves, spots, strict=True)
        return [RollOut(move, spot) for move, spot in pairs if spot is not None]

    def _step(self, lookahead: Lookahead, roll: RollOut) -> Thinking[None]:
        """Play the model's own next move of a roll-out; a finished one stays where it is."""
        if roll.spot.over:
            return
        spot = yield from self.play_on(lookahead, roll.spot)
        if spot is not None:
            roll.spot = spot

    def _value(self, rolls: Sequence[RollOut], scale: Scale) -> Thinking[None]:
        judged = yield from self._scorer.score([roll.spot for roll in rolls], scale)
        for roll, found in zip(rolls, judged, strict=True):
            roll.values.append(found.value)

    def _score(self, roll: RollOut, now: float) -> float:
        return candidate_score(now, roll.values, *self._weights)

    def _rollouts_agree(self, rolls: Sequence[RollOut], now: float, rolled: int) -> bool:
        scores = [self._score(roll, now) for roll in rolls]
        done = all(roll.spot.over for roll in rolls)
        return done or (rolled > 1 and float(np.var(scores)) <= self._agree)
