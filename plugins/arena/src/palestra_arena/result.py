"""The result of one game, without its full record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from palestra import EpisodeRecord, Usage
from palestra.records.answers import counts_of

from palestra_arena.match import Match

Status = Literal["played", "forfeit", "error", "void"]
ORDER = {"win": 2, "loss": 0, "forfeit": -1}


class GameResult(msgspec.Struct, frozen=True):
    """One finished game; tuples have one entry per seat.

    `status` is "played", "forfeit" (an agent failed, hung or answered illegally), "error" (the
    environment or a listener failed) or "void" (an agent was trained on the seed). Games with an
    error and void games count for no agent. `scores` are returns. `ranks` count the seats that did
    better. `points` are the share of opponents a seat beat, ties as half: 1, 1/2 and 0 between two.
    `answers` counts what a seat answered, refused answers included, and `mistakes` those that were
    refused; 0 answers with mistakes is a game that was kept before answers were counted.
    """

    match: Match
    status: Status
    results: tuple[str, ...]
    scores: tuple[float, ...]
    ranks: tuple[int, ...]
    points: tuple[float, ...]
    mistakes: tuple[int, ...]
    usage: tuple[Usage, ...]
    steps: int
    seconds: float
    reason: str = ""
    answers: tuple[int, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether the game counts for its agents."""
        return self.status in ("played", "forfeit")


def ranks_of(results: Sequence[str], scores: Sequence[float]) -> tuple[int, ...]:
    """How many seats did better: by result, and by score where the result is a score."""
    merit = [
        (ORDER.get(result, 1), 0.0 if result in ("win", "loss", "draw", "forfeit") else score)
        for result, score in zip(results, scores, strict=True)
    ]
    return tuple(sum(other > mine for other in merit) for mine in merit)


def points_of(ranks: Sequence[int]) -> tuple[float, ...]:
    """Share of opponents beaten, ties as half; 1 for a seat that has none."""
    others = len(ranks) - 1
    if not others:
        return (1.0,)
    return tuple(
        (sum(r > mine for r in ranks) + (sum(r == mine for r in ranks) - 1) / 2) / others
        for mine in ranks
    )


def summarise(match: Match, record: EpisodeRecord, seconds: float) -> GameResult:
    """The result of a game that has a record with an outcome."""
    seats = len(match.agents)
    outcome = record.outcome
    results = outcome.results if outcome else ("none",) * seats
    ranks = ranks_of(results, record.returns)
    usage = [Usage()] * seats
    for turn in record.turns:
        usage[turn.seat] += turn.spent
    counted = counts_of(record)
    return GameResult(
        match=match,
        status="forfeit" if "forfeit" in results else "played",
        results=tuple(results),
        scores=record.returns,
        ranks=ranks,
        points=points_of(ranks),
        mistakes=record.mistakes,
        usage=tuple(usage),
        steps=len(record.steps),
        seconds=seconds,
        reason=outcome.reason if outcome else "",
        answers=tuple(seat.answers for seat in counted),
    )


def void(match: Match, why: str, seconds: float = 0.0) -> GameResult:
    """A game that is not scored, because an agent knows its seed."""
    return _uncounted_result(match, "void", why, seconds)


def failed_result(match: Match, why: str, seconds: float = 0.0) -> GameResult:
    """A game that the environment or a listener broke off."""
    return _uncounted_result(match, "error", why, seconds)


def _uncounted_result(match: Match, status: Status, why: str, seconds: float) -> GameResult:
    seats = len(match.agents)
    return GameResult(
        match=match,
        status=status,
        results=("none",) * seats,
        scores=(0.0,) * seats,
        ranks=(0,) * seats,
        points=(0.0,) * seats,
        mistakes=(0,) * seats,
        usage=(Usage(),) * seats,
        steps=0,
        seconds=seconds,
        reason=why,
        answers=(0,) * seats,
    )
