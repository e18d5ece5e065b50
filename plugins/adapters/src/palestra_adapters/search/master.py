"""MASTER: a tree of recruited agents, each with its own context, its own grade and its confidence.

"MASTER: A Multi-Agent System with LLM Specialized MCTS", 2025. An agent that does not know how to
go on recruits others; each makes one step and says how good it is and how sure it is of that. No
game is rolled out: the tree follows these grades, and only an agent that has come to an end is
evaluated. If the evaluation fails, it is backed up to all who led there, where it counts against
grades that were given with little confidence first. So easy positions recruit few agents.

The abstract fixes neither formula; here a grade counts as `confidence` evaluations, and the bonus
for exploration fades with confidence.

Left out: the paper's formulae, which its abstract does not give.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log, sqrt
from typing import Annotated, Any

from palestra import BudgetSpent, Decision, Meta, Turn, agent
from palestra.quoting import quote

from palestra_adapters.proposing import propose
from palestra_adapters.scoring import last_number, make_scorer, read_grade
from palestra_adapters.search.agents import ScorerLike
from palestra_adapters.search.foresight import Foresight
from palestra_adapters.search.spots import Lookahead, Scale, Spot
from palestra_adapters.search.tree import upwards
from palestra_adapters.thinking import Ask, Thinking, together

ASSESS = (
    "Others have recruited you to go on from their work. The steps so far, yours last: {steps}.\n"
    "Now it is:\n{position}\n"
    "How well does {player} stand, and how sure are you? Write two lines: `Confidence:` and a "
    "whole number from 0 (a guess) to 10 (certain), then `Value:` and a whole number from 0 "
    "(certain to do as badly as can be) to 10 (certain to do as well as can be)."
)


@dataclass(slots=True, eq=False)
class Recruit:
    """An agent of the tree: where its step has led, its own grade, and evaluations below it."""

    spot: Spot
    parent: Recruit | None = None  # who has recruited it
    depth: int = 0
    grade: float = 0.5  # its own, from 0 to 1
    confidence: float = 0.5  # from 0 to 1
    evaluations: int = 0
    total: float = 0.0  # of the evaluations
    team: list[Recruit] = field(default_factory=list)  # those that it has recruited
    closed: bool = False  # nothing is left to be tried below it

    @property
    def value(self) -> float:
        return pooled_value(self.grade, self.confidence, self.total, self.evaluations)

    def steps(self) -> list[str]:
        """The moves from the root to this agent."""
        return [one.spot.move for one in upwards(self) if one.spot.move][::-1]

    def first(self) -> Recruit:
        """The agent below the root on the way to this one."""
        return [self, *(one for one in upwards(self) if one.parent is not None)][-1]


def pooled_value(grade: float, confidence: float, total: float, evaluations: int) -> float:
    """The mean of evaluations and of an agent's own grade, which weighs `confidence`; 1/2 if none.

    The grade and all evaluations lie in [0, 1], and so does the confidence.
    """
    weight = confidence + evaluations
    return (confidence * grade + total) / weight if weight else 0.5


def bound(one: Recruit, c: float) -> float:
    """value + c (1 - confidence) sqrt(ln(1 + N) / (1 + n)).

    n counts evaluations below the agent, N those below its recruiter.
    """
    above = one.parent.evaluations if one.parent else 0
    unsure = c * (1 - one.confidence)
    return one.value + unsure * sqrt(log(1 + above) / (1 + one.evaluations))


@agent(
    "master",
    kind="llm",
    needs=("fork",),
    summary="A tree of recruited agents that grade their own steps; only ends are evaluated.",
    paper="MASTER: A Multi-Agent System with LLM Specialized MCTS (2025)",
)
class Master(Foresight):
    """Recruits up to `width` agents a step and `agents` in all, at most `depth` steps deep.

    The search stops at the first end whose evaluation, by `scorer`, is at least `enough`; an end is
    the end of the game or an agent `depth` steps ahead. Otherwise the step of highest value is
    played. The facts of a decision are `recruited`, the number of agents, `evaluated`, the number
    of ends, `value` and `confidence` of the step that is played.
    """

    def __init__(
        self,
        *,
        width: Annotated[int, Meta(ge=1, description="agents recruited at once, at most")] = 3,
        depth: Annotated[int, Meta(ge=1, description="steps of one line of agents")] = 4,
        agents: Annotated[int, Meta(ge=1, description="agents recruited for one move")] = 24,
        enough: Annotated[
            float, Meta(ge=0, le=1, description="evaluation of an end that stops the search")
        ] = 0.8,
        c: Annotated[float, Meta(ge=0, description="weight of exploration")] = 1.0,
        scorer: ScorerLike = "judge",
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._width, self._depth, self._most = width, depth, agents
        self._enough, self._c = enough, c
        self._scorer = make_scorer(scorer, self)

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        lookahead, scale = self.ahead(turn)
        root = Recruit(lookahead.root(turn))
        counts = {"recruited": 0, "evaluated": 0}
        try:
            passed = yield from self._search(root, lookahead, scale, counts, advice)
        except BudgetSpent:
            passed = None
        if not root.team:
            return Decision(text="", thought="no agent proposed a legal move")
        best = passed.first() if passed else max(root.team, key=lambda one: one.value)
        facts = {**counts, "value": best.value, "confidence": best.confidence}
        plan = " ".join(passed.steps()) if passed else best.spot.move
        return Decision(text=best.spot.move, thought=plan, facts=facts)

    def _search(
        self,
        root: Recruit,
        lookahead: Lookahead,
        scale: Scale,
        counts: dict[str, int],
        advice: str,
    ) -> Thinking[Recruit | None]:
        """The first end that is good enough; None if none was found."""
        while not root.closed:
            one = self._select(root)
            if one is None:
                continue
            if one.spot.over or one.depth >= self._depth:
                counts["evaluated"] += 1
                (found,) = yield from self._scorer.score([one.spot], scale)
                back_up(one, found.value)
                if found.value >= self._enough:
                    return one
                one.closed = True
                continue
            if counts["recruited"] >= self._most:
                return None
            one.team = yield from self._recruit(one, lookahead, scale, advice)
            counts["recruited"] += len(one.team)
            one.closed = not one.team
        return None

    def _select(self, root: Recruit) -> Recruit | None:
        """The open agent that the bounds lead to; None, and one branch less, at a dead end."""
        one = root
        while one.team:
            left = [other for other in one.team if not other.closed]
            if not left:
                one.closed = True
                return None
            one = max(left, key=lambda other: bound(other, self._c))
        return one

    def _recruit(
        self, one: Recruit, lookahead: Lookahead, scale: Scale, advice: str
    ) -> Thinking[list[Recruit]]:
        """Agents who each make a different step from here, and grade it."""
        moves = yield from propose(self, one.spot.turn, self._width, feedback=advice)
        spots = yield from together([lookahead.step(one.spot, move) for move in moves])
        team = [Recruit(spot, one, one.depth + 1) for spot in spots if spot is not None]
        asked = [new for new in team if not new.spot.over]
        said = yield from self.hear([self._question(new) for new in asked])
        for new, text in zip(asked, said, strict=True):
            new.grade, new.confidence = read_assessment(text)
        for new in team:
            if new.spot.over:
                scale.see(new.spot.gain)
                new.grade, new.confidence = scale(new.spot.gain), 1.0
        return team

    def _question(self, new: Recruit) -> Ask:
        turn = new.spot.turn
        text = ASSESS.format(
            steps=quote("; ".join(new.steps())),
            position=new.spot.text,
            player=turn.game.players[new.spot.seat],
        )
        return self.about(turn, text)


def back_up(end: Recruit, value: float) -> None:
    """Count an evaluation for an end and for all who led to it."""
    for step in upwards(end):
        step.evaluations, step.total = step.evaluations + 1, step.total + value


def read_assessment(text: str) -> tuple[float, float]:
    """(grade, confidence) from 0 to 1 in an agent's text; what cannot be read is 1/2, and 0."""
    grade = read_grade(text) if "Value:" in text else None
    if grade is None:
        return 0.5, 0.0
    return grade, min(1.0, (last_number("Confidence", text) or 0.0) / 10)
