"""What episode shapers read from a record: scores of turns, named terms, the turns of a seat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption

from palestra_rewards.arrays import Floats, Ints, floats
from palestra_rewards.facts import fact
from palestra_rewards.needs import NEEDS, Lacking

Scores = Callable[[EpisodeRecord], Sequence[float]]


def scores_of(record: EpisodeRecord, scores: Scores | None, name: str) -> Floats:
    """One process score per turn: from the function given, or else from the tag "process"."""
    if scores is not None:
        return fitting(scores(record), record, "scores")
    found = tag_of(record, "process", name, "scores")
    return fitting(found, record, "scores")


def tag_of(record: EpisodeRecord, tag: str, name: str, what: str) -> Any:
    """A fact that an entry requires: a tag, or what agents reported during play.

    The turns of a seat whose agent never reports it get 0, or an empty list. Raises `Lacking` if
    the record does not have the fact.
    """
    found = fact(record, tag)
    if found is None or (isinstance(found, list) and found and all(f is None for f in found)):
        raise Lacking(name, what, NEEDS[what].how)
    if not isinstance(found, list) or all(f is not None for f in found):
        return found
    return _filled(record, found, name, what)


def _filled(record: EpisodeRecord, found: list[Any], name: str, what: str) -> list[Any]:
    """A fact over turns, with 0 or an empty list for the turns of seats that never report it."""
    missing = [turn.seat for turn, f in zip(record.turns, found, strict=True) if f is None]
    told = {turn.seat for turn, f in zip(record.turns, found, strict=True) if f is not None}
    if told & set(missing):
        raise Lacking(name, what, "every turn of a seat must have it; some turns have none")
    lists = any(isinstance(f, list) for f in found)
    return [([] if lists else 0.0) if f is None else f for f in found]


def fitting(values: Any, record: EpisodeRecord, what: str) -> Floats:
    found = floats(values)
    if found.shape != (len(record.turns),):
        raise InvalidOption(
            f"{what} must be one number for each of {len(record.turns)} turns; got shape "
            f"{found.shape}"
        )
    return found


def seats_of(record: EpisodeRecord) -> list[Ints]:
    """For every seat that had a turn, the indices of its turns in playing order."""
    seat = np.array([turn.seat for turn in record.turns], dtype=np.int64)
    return [np.flatnonzero(seat == one) for one in np.unique(seat)]


def at_last(record: EpisodeRecord, value: Callable[[int], float]) -> Floats:
    """Each seat's `value` on its last turn, 0 on all others."""
    paid = np.zeros(len(record.turns))
    for turns in seats_of(record):
        paid[turns[-1]] = value(record.turns[turns[-1]].seat)
    return paid


def won(record: EpisodeRecord, seat: int) -> bool:
    """Whether the seat succeeded: its tag "success" if there is one, else its outcome."""
    tag = record.tags.get("success")
    if tag is not None:
        return float(tag[seat] if isinstance(tag, list | tuple) else tag) >= 1
    if record.outcome is None:
        return False
    if record.outcome.results[seat] != "score":
        return record.outcome.results[seat] == "win"
    said = fact(record, "progress")[seat]
    return said is not None and said >= 1


def named_terms(record: EpisodeRecord) -> tuple[list[str], Floats]:
    """Names of terms, and what each turn earned by name, shape (turns, names).

    A turn earns what its seat is paid until its next turn; costs count as negative.
    """
    names = sorted(
        {n for s in record.steps for d in (s.rewards, s.costs) for t in d.values() for n in t}
    )
    place = {name: column for column, name in enumerate(names)}
    table = np.zeros((len(record.turns), len(names)))
    latest: dict[int, int] = {}
    row = 0
    for step in record.steps:
        for turn in step.turns:
            latest[turn.seat] = row
            row += 1
        for sign, paid in ((1.0, step.rewards), (-1.0, step.costs)):
            for seat, terms in paid.items():
                for name, value in terms.items():
                    if seat in latest:
                        table[latest[seat], place[name]] += sign * value
    return names, table
