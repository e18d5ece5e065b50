"""Counts over the answers of an episode: how many were refused, and who forfeited."""

from __future__ import annotations

from dataclasses import dataclass

from palestra.catalogue.declare import metric
from palestra.records.record import EpisodeRecord

ANSWERED = ("ok", "retried")  # turns in which an answer was played


@dataclass(slots=True)
class AnswerCounts:
    """How often one seat answered, refused answers included, and whether it forfeited."""

    answers: int = 0
    refused: int = 0
    forfeits: int = 0
    episodes: int = 1

    def __add__(self, other: AnswerCounts) -> AnswerCounts:
        return AnswerCounts(
            self.answers + other.answers,
            self.refused + other.refused,
            self.forfeits + other.forfeits,
            self.episodes + other.episodes,
        )

    @property
    def refused_share(self) -> float:
        return self.refused / self.answers if self.answers else 0.0

    @property
    def forfeited_share(self) -> float:
        return self.forfeits / self.episodes if self.episodes else 0.0


def counts_of(record: EpisodeRecord) -> list[AnswerCounts]:
    """The counts of every seat of a record.

    An answer is refused if it cannot be read or is not legal. A turn whose move a policy supplied,
    or that ended in a forfeit, has only refused answers. Of a turn that was cut off, the refused
    answers count, and not one that nobody played.
    """
    counts = [AnswerCounts() for _ in record.players]
    for turn in record.turns:
        seat = counts[turn.seat]
        seat.refused += len(turn.errors)
        seat.answers += len(turn.errors) + (turn.status in ANSWERED)
    for step in record.steps:
        for number, attempts in step.unplayed.items():
            refused = sum(bool(attempt.error) for attempt in attempts)
            counts[number].refused += refused
            counts[number].answers += refused
    if record.outcome is not None:
        for seat, result in zip(counts, record.outcome.results, strict=True):
            seat.forfeits += result == "forfeit"
    return counts


@metric("refused-share", bounds=(0.0, 1.0), better="lower")
def refused_share(record: EpisodeRecord) -> float:
    """The share of all answers that could not be read or were not legal."""
    return sum(counts_of(record), AnswerCounts(episodes=0)).refused_share


@metric("forfeited", bounds=(0.0, 1.0), better="lower")
def forfeited(record: EpisodeRecord) -> float:
    """1 if a seat lost by forfeit, else 0."""
    return float(any(seat.forfeits for seat in counts_of(record)))
