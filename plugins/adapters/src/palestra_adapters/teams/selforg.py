"""SelfOrg: the latest answers determine which members read which others.

Members answer alone; the contribution of each is how close its answer is to the mean of all.
Similar answers are joined by an edge from the stronger to the weaker contributor, so that there is
no cycle. In that order each member answers again, after reading the answers sent to it. The graph
is rebuilt every round; the final answer is the strongest contributor's. "Stochastic
Self-Organization in Multi-Agent Systems", 2025.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import Decision, Meta, Turn, agent

from palestra_adapters.similarity import embed
from palestra_adapters.teams.team import Answer, Team, quote_answers
from palestra_adapters.thinking import Thinking, together


@agent(
    "selforg",
    kind="llm",
    summary="Members read those whose answers are similar to theirs and stronger.",
    paper="Stochastic Self-Organization in Multi-Agent Systems (2025)",
)
class SelfOrg(Team):
    """`size` members, `rounds` of answers; edges join answers at least `alike` in similarity."""

    def __init__(
        self,
        *,
        size: Annotated[int, Meta(ge=1, le=1_000, description="members of the team")] = 4,
        rounds: Annotated[int, Meta(ge=1, description="answers of every member")] = 2,
        alike: Annotated[
            float, Meta(ge=0, le=1, description="least similarity of answers joined by an edge")
        ] = 0.3,
        **settings: Any,
    ) -> None:
        super().__init__(size=size, **settings)
        self._rounds, self._alike = rounds, alike

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        answers = yield from together([self.answer(turn, m, advice) for m in range(self.size)])
        for _ in range(1, self._rounds):
            answers = yield from self._round(turn, answers, advice)
        parts = contribution(vectors(answers))
        legal = [i for i, answer in enumerate(answers) if answer.move is not None]
        best = max(legal, key=lambda i: parts[i], default=None)
        return self.agreed(turn, answers, None if best is None else answers[best].move)

    def _round(self, turn: Turn, answers: Sequence[Answer], advice: str) -> Thinking[list[Answer]]:
        """All members answer again, each after those whose answers it is sent."""
        made = vectors(answers)
        sent = edges(made, self._alike)
        new: dict[int, Answer] = {}
        for level in levels(sent):
            heard_by = [[new[m] for m in range(len(answers)) if sent[m, i]] for i in level]
            lines = [
                self.answer(turn, answers[i].member, f"{advice}\n{quote_answers(heard)}".strip())
                if heard
                else _stays(answers[i])
                for i, heard in zip(level, heard_by, strict=True)
            ]
            new.update(zip(level, (yield from together(lines)), strict=True))
        return [new[i] for i in range(len(answers))]


def _stays(answer: Answer) -> Thinking[Answer]:
    yield from ()
    return answer


def vectors(answers: Sequence[Answer]) -> NDArray[np.float64]:
    """One unit vector per answer, shape (answers, features); zeros without a legal move."""
    return embed([f"{a.move} {a.move} {a.reason}" if a.move is not None else "" for a in answers])


def contribution(made: NDArray[np.float64]) -> NDArray[np.float64]:
    """How close each vector is to the mean of all, which approximates its Shapley value."""
    mean = made.mean(axis=0)
    length = float(np.linalg.norm(mean))
    return made @ mean / length if length else np.zeros(len(made))


def edges(made: NDArray[np.float64], alike: float) -> NDArray[np.bool_]:
    """`edges[m, n]` says that m's answer goes to n, from stronger to weaker; without cycles."""
    parts, close = contribution(made), made @ made.T >= alike
    order = np.argsort(-parts, kind="stable")
    rank = np.empty(len(order), int)
    rank[order] = np.arange(len(order))
    return close & (rank[:, None] < rank[None, :])


def levels(sent: NDArray[np.bool_]) -> list[list[int]]:
    """Members in the order in which they may speak; those of one level speak together."""
    waiting, done = set(range(len(sent))), set[int]()
    order = []
    while waiting:
        ready = sorted(i for i in waiting if set(np.flatnonzero(sent[:, i]).tolist()) <= done)
        order.append(ready)
        done |= set(ready)
        waiting -= set(ready)
    return order
