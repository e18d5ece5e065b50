"""SelfOrg: who listens to whom follows from what everybody has just answered.

Members answer alone; the contribution of each is how close its answer is to the mean of all.
Alike answers are joined by an edge from the stronger to the weaker contributor, which never makes
a circle, and in that order each answers again, with the answers before it. Rebuilt every round; the
answer is the strongest contributor's. "Stochastic Self-Organization in Multi-Agent Systems", 2025.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import Decision, Meta, Turn, agent

from palestra_adapters.similarity import embed
from palestra_adapters.teams.team import Answer, Team, shown
from palestra_adapters.thinking import Thinking, together


@agent(
    "selforg",
    kind="llm",
    summary="Members who choose whom they listen to.",
)
class SelfOrg(Team):
    """`size` members, `rounds` of answers; edges join answers at least `alike`."""

    def __init__(
        self,
        *,
        size: Annotated[int, Meta(ge=1, description="members of the team")] = 4,
        rounds: Annotated[int, Meta(ge=1, description="answers of every member")] = 2,
        alike: Annotated[
            float, Meta(ge=0, le=1, description="least likeness of answers that are sent on")
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
        """Everybody answers again, after those whose answers they are sent."""
        made = vectors(answers)
        sent = edges(made, self._alike)
        new: dict[int, Answer] = {}
        for level in levels(sent):
            heard_by = [[new[m] for m in range(len(answers)) if sent[m, i]] for i in level]
            lines = [
                self.answer(turn, answers[i].member, f"{advice}\n{shown(heard)}".strip())
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
    """One unit vector an answer; those without a legal move are zeros, and so weigh nothing."""
    return embed([f"{a.move} {a.move} {a.reason}" if a.move is not None else "" for a in answers])


def contribution(made: NDArray[np.float64]) -> NDArray[np.float64]:
    """How close each vector is to the mean of all: the stand-in for its Shapley value."""
    mean = made.mean(axis=0)
    length = float(np.linalg.norm(mean))
    parts: NDArray[np.float64] = made @ mean / length if length else np.zeros(len(made))
    return parts


def edges(made: NDArray[np.float64], alike: float) -> NDArray[np.bool_]:
    """`edges[m, n]`: m's answer goes to n, from the stronger to the weaker: never in a circle."""
    parts, close = contribution(made), made @ made.T >= alike
    order = np.argsort(-parts, kind="stable")
    rank = np.empty(len(order), int)
    rank[order] = np.arange(len(order))
    sent: NDArray[np.bool_] = close & (rank[:, None] < rank[None, :])
    return sent


def levels(sent: NDArray[np.bool_]) -> list[list[int]]:
    """Members in the order they may speak: all of one level at once."""
    waiting, done = set(range(len(sent))), set[int]()
    order = []
    while waiting:
        ready = sorted(i for i in waiting if set(np.flatnonzero(sent[:, i]).tolist()) <= done)
        order.append(ready)
        done |= set(ready)
        waiting -= set(ready)
    return order
