"""How good a position is for a seat, from 0 to 1: by a judge, by likelihood, by playouts.

A scorer values many positions at once, so that a whole expansion is one call. The value of a
finished position is its payoff, and no model is asked.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import exp
from typing import Any, NamedTuple

from palestra import InvalidOption, Turn, UnknownName
from palestra.quoting import disarm

from palestra_adapters.adapter import Adapter, story
from palestra_adapters.search.spots import Scale, Spot
from palestra_adapters.thinking import Ask, Thinking

GRADES = tuple(str(grade) for grade in range(11))
_FIRST = re.compile(r"\d{1,9}(?:\.\d+)?")
_NUMBER = re.compile(r"-?\d{1,9}(?:\.\d+)?")
RATE = (
    "Judge how well {player} stands, from 0 (certain to do as badly as can be) to 10 (certain to "
    "do as well as can be). Answer with one whole number from 0 to 10."
)
EXPLAIN = (
    "Judge how well {player} stands, from 0 (certain to do as badly as can be) to 10 (certain to "
    "do as well as can be). First write what is good and bad about the last move in one sentence, "
    "then `Value:` and one whole number from 0 to 10."
)
CHANGE = (
    "Before, it was:\n{before}\nThen {player} played {move}. Judge what that has changed for "
    "{player}, from 0 (much worse) over 5 (nothing) to 10 (much better). Answer with one whole "
    "number from 0 to 10."
)
WINNING = "Is {player} doing well? Answer yes or no."


class Judgement(NamedTuple):
    """A value from 0 to 1, and the judge's comment."""

    value: float
    comment: str = ""


class Scorer(ABC):
    """Values positions for one seat; a `relative` scorer values the change by the last move.

    A change has a value from 0 (much worse) to 1 (much better); 1/2 means no change.
    """

    relative: bool = False

    def score(self, spots: Sequence[Spot], scale: Scale) -> Thinking[list[Judgement]]:
        """One value per position; finished positions get their payoff on the scale."""
        for spot in spots:
            if spot.over:
                scale.see(spot.gain)
        open_ = [spot for spot in spots if not spot.over]
        found = iter((yield from self.judge(open_, scale)) if open_ else [])
        return [Judgement(scale(s.gain), "over") if s.over else next(found) for s in spots]

    @abstractmethod
    def judge(self, spots: Sequence[Spot], scale: Scale) -> Thinking[list[Judgement]]:
        """One value for each of these positions, all unfinished."""


class Judge(Scorer):
    """The model grades a position from 0 to 10; `votes` grades are averaged.

    With `explain` it gives its reason first, which is kept as the comment.
    """

    def __init__(self, agent: Adapter, *, votes: int = 1, explain: bool = False) -> None:
        self._agent, self._votes, self._explain = agent, votes, explain

    def judge(self, spots: Sequence[Spot], scale: Scale) -> Thinking[list[Judgement]]:
        asks = [self._ask(spot) for spot in spots for _ in range(self._votes)]
        replies = yield asks
        grades = [read_grade(reply.text) for reply in replies]
        judged = []
        for i in range(len(spots)):
            own = [g for g in grades[i * self._votes : (i + 1) * self._votes] if g is not None]
            comment = replies[i * self._votes].text.strip() if self._explain else ""
            judged.append(Judgement(sum(own) / len(own) if own else 0.5, comment))
        return judged

    def _ask(self, spot: Spot) -> Ask:
        agent, turn = self._agent, spot.turn
        line = self.line(spot, turn.game.players[spot.seat])
        messages = agent.single(turn.game.rules_for(spot.seat), f"{spot.text}\n{line}")
        heat = (agent.temperature or 1.0) if self._votes > 1 else 0.0
        if self._explain or "choices" not in agent.models[0].abilities:
            return agent.ask(messages, temperature=heat)
        grades = tuple(map(agent.style.reply, GRADES))
        return agent.ask(messages, choices=grades, max_tokens=4, temperature=heat)

    def line(self, spot: Spot, player: str) -> str:
        """The question about a position."""
        return (EXPLAIN if self._explain else RATE).format(player=player)


class Residual(Judge):
    """The model grades what the last move has changed, or the position if no move was made.

    BAVT's residual value ("Spend Less, Reason Better", 2026): progress is easier to judge than the
    quality of a position. The wording is this package's own.
    """

    relative = True

    def line(self, spot: Spot, player: str) -> str:
        if spot.before is None:
            return super().line(spot, player)
        return CHANGE.format(before=spot.before.text, player=player, move=disarm(spot.move))


def read_grade(text: str) -> float | None:
    """The grade in a judge's text as a number from 0 to 1: the last one after `Value:`, if any."""
    numbers = _NUMBER.findall(text.rpartition("Value:")[2])
    return min(1.0, max(0.0, float(numbers[-1]) / 10)) if numbers else None


def grade(agent: Adapter, turn: Turn, order: str, **fields: Any) -> Thinking[float]:
    """Ask for a number from 0 to 10 about what a seat has seen; from 0 to 1, and 0 without one.

    order: what is graded and how; the first number of the reply counts. fields: those of
    `Adapter.ask`.
    """
    said = yield from agent.consult(turn, story(turn), order, **fields)
    found = _FIRST.search(said)
    return min(1.0, float(found[0]) / 10) if found else 0.0


def last_number(label: str, text: str) -> float | None:
    """The number that directly follows the last `label:` that one follows; None without one."""
    found = re.findall(rf"{label}:[^\w-]*(\d{{1,9}}(?:\.\d+)?)", text)
    return float(found[-1]) if found else None


class Likelihood(Scorer):
    """The model's probability of "yes" against "no" when asked whether the seat does well."""

    def __init__(self, agent: Adapter) -> None:
        if "score" not in agent.models[0].abilities:
            raise InvalidOption(f"scorer=likelihood is not possible with {agent.models[0].name}")
        self._agent = agent

    def judge(self, spots: Sequence[Spot], scale: Scale) -> Thinking[list[Judgement]]:
        agent, words = self._agent, tuple(map(self._agent.style.reply, ("yes", "no")))
        asks = []
        for spot in spots:
            turn = spot.turn
            line = WINNING.format(player=turn.game.players[spot.seat])
            asks.append(agent.about(turn, f"{spot.text}\n{line}", score=words))
        replies = yield asks
        gaps = [no.logprob - yes.logprob for yes, no in (reply.scores for reply in replies)]
        return [Judgement(1 / (1 + exp(min(gap, 500.0)))) for gap in gaps]


class Playouts(Scorer):
    """The mean payoff of `count` random playouts, without a model."""

    def __init__(self, agent: Adapter, *, count: int = 8) -> None:
        self._agent, self._count = agent, count

    def judge(self, spots: Sequence[Spot], scale: Scale) -> Thinking[list[Judgement]]:
        yield from ()
        ends = [self._ends(spot) for spot in spots]
        for end in (end for own in ends for end in own):
            scale.see(end)
        return [Judgement(sum(map(scale, own)) / len(own)) for own in ends]

    def _ends(self, spot: Spot) -> list[float]:
        rng = self._agent.rng
        return [
            float(spot.episode.fork(rng.word()).playout(rng)[spot.seat]) for _ in range(self._count)
        ]


class FunctionScorer(Scorer):
    """A function from a position to its value, from 0 to 1."""

    def __init__(self, function: Callable[[Spot], float]) -> None:
        self._function = function

    def judge(self, spots: Sequence[Spot], scale: Scale) -> Thinking[list[Judgement]]:
        yield from ()
        return [Judgement(float(self._function(spot))) for spot in spots]


SCORERS = ("judge", "residual", "likelihood", "playouts")


def make_scorer(
    scorer: str | Scorer | Callable[[Spot], float],
    agent: Adapter,
    *,
    votes: int = 1,
    explain: bool = False,
) -> Scorer:
    """A scorer by name, or from a function."""
    if votes < 1:
        raise InvalidOption(f"votes must be 1 or more, not {votes}")
    if isinstance(scorer, Scorer):
        return scorer
    if callable(scorer):
        return FunctionScorer(scorer)
    if scorer == "judge":
        return Judge(agent, votes=votes, explain=explain)
    if scorer == "residual":
        return Residual(agent, votes=votes)
    if scorer == "likelihood":
        return Likelihood(agent)
    if scorer == "playouts":
        return Playouts(agent, count=max(votes, 8))
    raise UnknownName("scorer", scorer, SCORERS)
