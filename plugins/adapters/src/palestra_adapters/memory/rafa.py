"""RAFA: reason for the future, act for now.

Given a buffer of observed transitions, the model predicts the next positions (as the Model),
proposes moves in them (as the Elite) and grades the final positions (as the Critic); the first move
of the best path is played. The result is added to the buffer, and the plan continues as long as
predictions come true. Known transitions are not asked for. Liu et al., "Reason for Future, Act for
Now: A Principled Framework for Autonomous LLM Agents with Provable Sample Efficiency", ICML 2024.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import inf
from typing import Annotated, Any, NamedTuple

from palestra import Decision, Meta, Turn, agent
from palestra.quoting import disarm, quote

from palestra_adapters.adapter import Adapter, game_text
from palestra_adapters.proposing import propose
from palestra_adapters.scoring import read_grade
from palestra_adapters.thinking import Thinking, together

IMAGINE = (
    "{known}The position:\n{position}\nYour move: {move}\n"
    "Predict what follows, in two lines:\n"
    "Paid: what you are paid at once, a number\n"
    "Next: the position then, as it would be shown to you; `over` if the game is over"
)
ELITE = "{known}The position:\n{position}\nWhat would you play? Answer with your move only."
CRITIC = (
    "{known}The position:\n{position}\nHow much will you still be paid from here, from 0 (the "
    "least there can be) to 10 (the most)? Answer with one whole number."
)
OVER = "over"
_PAID = re.compile(r"Paid:\s*(-?\d{1,9}(?:\.\d+)?)")
_NEXT = re.compile(r"Next:\s*(.*)", re.DOTALL)


class Follows(NamedTuple):
    """What a move leads to: the position then (`over` at the end), and what it pays."""

    position: str
    paid: float


@dataclass(slots=True)
class Branch:
    """A path of imagined moves."""

    position: str
    moves: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()  # the position after each move
    paid: float = 0.0
    value: float = 0.0

    @property
    def text(self) -> str:
        """The position as a model reads it: what a model imagined is quoted."""
        return quote(self.position) if self.moves else self.position


@dataclass(slots=True)
class SeatPlan:
    """State of a seat: its last position, move and return, and the rest of its plan."""

    turn: Turn
    task: str
    position: str = ""
    move: str = ""
    returns: float = 0.0
    plan: list[tuple[str, str]] = field(default_factory=list)  # expected position, move


@agent(
    "rafa",
    kind="llm",
    summary="Plans with a world model that it corrects by experience.",
    paper=(
        "Reason for Future, Act for Now: A Principled Framework for Autonomous LLM Agents"
        " with Provable Sample Efficiency (2024)"
    ),
)
class RAFA(Adapter):
    """Plans `depth` moves ahead over `width` moves each, by predictions without forks.

    The buffer holds the last `buffer` transitions of an environment and seat. It is kept across
    episodes, for the lifetime of the agent or until `clear`.
    """

    def __init__(
        self,
        *,
        width: Annotated[int, Meta(ge=1, description="moves imagined in a position")] = 2,
        depth: Annotated[int, Meta(ge=1, description="moves imagined ahead")] = 2,
        buffer: Annotated[int, Meta(ge=0, description="transitions remembered")] = 100,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._width, self._depth, self._buffer = width, depth, buffer
        self.known: dict[str, dict[tuple[str, str], Follows]] = {}  # by environment and seat
        self._open = self.by_seat(SeatPlan)

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        key = turn.episode_key, turn.seat
        newcomer = f", newcomer {turn.life}" if turn.life else ""
        task = f"{turn.env} {turn.game.players[turn.seat]}{newcomer}"
        seat = self._open.setdefault(key, SeatPlan(turn, task))
        position = turn.position
        self._observe(seat, position, float(turn.returns))
        if seat.plan and seat.plan[0][0] == position and not turn.error:
            move = seat.plan.pop(0)[1]
            thought = "as imagined"
        else:
            best = yield from self._plan(turn, task, position)
            seat.plan = list(zip(best.seen, best.moves[1:], strict=False))
            move, thought = game_text(turn, best.moves[0]), f"imagined {', '.join(best.moves)}"
        seat.turn, seat.position, seat.move = turn, position, move
        return Decision(text=move, thought=thought)

    def _observe(self, seat: SeatPlan, position: str, returns: float) -> None:
        """Add the result of this seat's last move to the buffer."""
        if seat.move and self._buffer:
            known = self.known.setdefault(seat.task, {})
            known.pop((seat.position, seat.move), None)
            known[seat.position, seat.move] = Follows(position, returns - seat.returns)
            while len(known) > self._buffer:
                del known[next(iter(known))]
        seat.returns = returns

    def _plan(self, turn: Turn, task: str, position: str) -> Thinking[Branch]:
        """The best imagined path."""
        low, high = turn.game.payoff_bounds
        unit = high - low if -inf < low < high < inf else 1.0
        first = yield from propose(self, turn, self._width)
        front = yield from self._imagine(turn, task, Branch(position), first)
        done = [branch for branch in front if branch.position == OVER]
        for _ in range(1, self._depth):
            front = [branch for branch in front if branch.position != OVER]
            moves = yield from together([self._elite(turn, task, branch) for branch in front])
            grown = yield from together(
                [self._imagine(turn, task, b, m) for b, m in zip(front, moves, strict=True)]
            )
            front = [branch for own in grown for branch in own]
            done += [branch for branch in front if branch.position == OVER]
        ends = [branch for branch in front if branch.position != OVER]
        grades = yield from self._grade(turn, task, ends)
        for branch, grade in zip(ends, grades, strict=True):
            branch.value = grade
        if not done and not ends:
            return Branch(position, ("",))
        return max([*done, *ends], key=lambda branch: branch.paid / unit + branch.value)

    def _known_lines(self, task: str) -> str:
        lines = [
            f"From {place!r} the move {disarm(move)} paid {end.paid:g} and led to {end.position!r}."
            for (place, move), end in self.known.get(task, {}).items()
        ]
        return "\n".join(["What you have seen happen:", *lines, ""]) if lines else ""

    def _elite(self, turn: Turn, task: str, branch: Branch) -> Thinking[list[str]]:
        """Moves to try in an imagined position: the model's proposals, and those in the buffer."""
        known = [move for position, move in self.known.get(task, {}) if position == branch.position]
        line = ELITE.format(known=self._known_lines(task), position=branch.text)
        heat = self.temperature or 0.8
        asks = [self.about(turn, line, temperature=heat) for _ in range(self._width)]
        drawn = [said.partition("\n")[0] for said in (yield from self.hear(asks))]
        return list(dict.fromkeys(filter(None, [*drawn, *known])))

    def _imagine(
        self, turn: Turn, task: str, branch: Branch, moves: list[str]
    ) -> Thinking[list[Branch]]:
        """Where each move leads, by the buffer or else by the model's prediction."""
        known, lines = self.known.get(task, {}), self._known_lines(task)
        asks = [
            self.about(turn, IMAGINE.format(known=lines, position=branch.text, move=disarm(move)))
            for move in moves
            if (branch.position, move) not in known
        ]
        said = iter((yield from self.hear(asks)))
        grown = []
        for move in moves:
            end = known.get((branch.position, move))
            end = end or read_prediction(next(said))
            path, seen = (*branch.moves, move), (*branch.seen, end.position)
            grown.append(Branch(end.position, path, seen, branch.paid + end.paid))
        return grown

    def _grade(self, turn: Turn, task: str, ends: list[Branch]) -> Thinking[list[float]]:
        known = self._known_lines(task)
        asks = [
            self.about(turn, CRITIC.format(known=known, position=branch.text)) for branch in ends
        ]
        replies = (yield asks) if asks else []
        grades = [read_grade(reply.text) for reply in replies]
        return [0.5 if grade is None else grade for grade in grades]

    def clear(self) -> None:
        """Empty the buffer."""
        self.known.clear()

    def forget(self, episode_key: int) -> None:
        for seat in self._open.end(episode_key):
            self._observe(seat, OVER, float(seat.turn.returns))
        super().forget(episode_key)


def read_prediction(text: str) -> Follows:
    """The model's prediction; pays 0 if it gives no number, and is over if it gives no position."""
    paid, after = _PAID.search(text), _NEXT.search(text)
    position = after.group(1).strip() if after else OVER
    over = position.lower().rstrip(".") == OVER
    return Follows(OVER if over else position, float(paid.group(1)) if paid else 0.0)
