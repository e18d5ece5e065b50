"""What episode shapers read from a record: scores of turns, named terms, the turns of a seat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption, Meta

from palestra_rewards.arrays import Floats, Ints, floats
from palestra_rewards.facts import fact, of_person
from palestra_rewards.needs import NEEDS, Lacking
from palestra_rewards.people import Person, newcomer_seats, people_of

Scores = Callable[[EpisodeRecord], Sequence[float] | Floats]
TurnScores = Annotated[
    Scores | None,
    Meta(description="a function that scores every turn; without it, what the record says"),
]


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
    return _fill_gaps(record, found, name, what)


def _fill_gaps(record: EpisodeRecord, found: list[Any], name: str, what: str) -> list[Any]:
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


def lines_of(record: EpisodeRecord) -> list[Ints]:
    """For everybody who had a turn, by seat, the indices of their turns in playing order."""
    return [person.turns for person in people_of(record)]


def at_last(record: EpisodeRecord, value: Callable[[Person], float]) -> Floats:
    """Each person's `value` on their last turn, 0 on all others."""
    paid = np.zeros(len(record.turns))
    for person in people_of(record):
        paid[person.turns[-1]] = value(person)
    return paid


def won(record: EpisodeRecord, person: Person) -> bool:
    """Whether a person succeeded: the seat's tag "success" if there is one, else the outcome.

    Who was replaced before the end has no outcome, only the progress reached until then.
    """
    tag = record.tags.get("success")
    if tag is not None:
        return float(tag[person.seat] if isinstance(tag, list | tuple) else tag) >= 1
    if record.outcome is None:
        return False
    if person.left is None and record.outcome.results[person.seat] != "score":
        return record.outcome.results[person.seat] == "win"
    said = of_person(record, "progress", person)
    return said is not None and said >= 1


def named_terms(record: EpisodeRecord) -> tuple[list[str], Floats]:
    """Names of terms, and what each turn earned by name, shape (turns, names).

    A turn earns what its person is paid until their next turn; costs count as negative.
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
        for seat in newcomer_seats(step):
            latest.pop(seat, None)
    return names, table
