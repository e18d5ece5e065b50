"""The people who took turns at the seats of a record.

A game may put a new person at a seat (`palestra.kernel.lives`). Credit belongs to people: what one
is paid begins where they sit down and ends where they are replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from palestra import EpisodeRecord
from palestra.kernel.game import total
from palestra.kernel.lives import newcomers
from palestra.records.record import StepRecord

from palestra_rewards.arrays import Ints


@dataclass(frozen=True, slots=True)
class Person:
    """One person at a seat: their turns as indices of `record.turns`, and what they were paid.

    `life` counts from 0 at each seat, and `left` is the number of the step after which another
    took the seat, or None if they stayed to the end.
    """

    seat: int
    life: int
    turns: Ints
    paid: float
    left: int | None = None


def people_of(record: EpisodeRecord) -> list[Person]:
    """Everybody who had a turn, by seat, then in the order in which they sat there."""
    turns: dict[tuple[int, int], list[int]] = {}
    for place, turn in enumerate(record.turns):
        turns.setdefault((turn.seat, turn.life), []).append(place)
    left, earned = _departures(record)
    before: dict[int, float] = {}
    for (seat, _), paid in earned.items():
        before[seat] = before.get(seat, 0.0) + paid
    return [
        Person(
            seat,
            life,
            np.array(places, dtype=np.int64),
            earned.get((seat, life), record.returns[seat] - before.get(seat, 0.0)),
            left.get((seat, life)),
        )
        for (seat, life), places in sorted(turns.items())
    ]


def last_at(record: EpisodeRecord, seat: int) -> Person | None:
    """The last person who had a turn at a seat; None if nobody had."""
    return next((one for one in reversed(people_of(record)) if one.seat == seat), None)


def own_people(record: EpisodeRecord) -> list[Person]:
    """Those of `people_of` who had a turn after the branch."""
    first = len(record.turns) - len(record.own_turns)
    return [person for person in people_of(record) if person.turns[-1] >= first]


def newcomer_seats(step: StepRecord) -> Iterator[int]:
    """The seats that new people took with a step; its rewards are their predecessors'."""
    for event in step.events:
        yield from newcomers(event)


def _departures(
    record: EpisodeRecord,
) -> tuple[dict[tuple[int, int], int], dict[tuple[int, int], float]]:
    """By (seat, life) of people who were replaced: the step after which, and what they earned."""
    left: dict[tuple[int, int], int] = {}
    earned: dict[tuple[int, int], float] = {}
    joined = [event for step in record.steps for event in step.events if newcomers(event)]
    if not joined:
        return left, earned
    paid, lives = [0.0] * len(record.players), [0] * len(record.players)
    for number, step in enumerate(record.steps):
        for seat, terms in step.rewards.items():
            paid[seat] += total(terms)
        for seat in newcomer_seats(step):
            left[seat, lives[seat]] = number
            earned[seat, lives[seat]], paid[seat] = paid[seat], 0.0
            lives[seat] += 1
    return left, earned
