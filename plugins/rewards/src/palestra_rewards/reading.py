"""From `EpisodeRecord`s to the columns of a `Group`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from palestra import EpisodeRecord, InvalidOption

from palestra_rewards.arrays import Floats
from palestra_rewards.group import Group

SUCCESS = {"win": 1.0, "draw": 0.5, "loss": 0.0, "forfeit": 0.0, "truncated": 0.0}
RESERVED = ("roles", "success", "id", "parent")


def read_group(records: Sequence[EpisodeRecord]) -> Group:
    """The columns of records, turns in the order of `record.turns`.

    Rollouts share a task where env and `group` are equal. Tags read: `roles` (one name a seat),
    `success` (one number, or one a seat), `id` and `parent` (of nested episodes). Any other tag
    that all records have becomes a fact, and so does `env`.
    """
    if not records:
        raise InvalidOption("a group needs at least one record")
    turns = [turn for record in records for turn in record.turns]
    if not turns:
        raise InvalidOption("these records hold no turns; nobody decided anything in them")
    episode = np.repeat(np.arange(len(records)), [len(record.turns) for record in records])
    return Group.from_arrays(
        episode=episode,
        seat=[turn.seat for turn in turns],
        turn=[at for record in records for at, step in enumerate(record.steps) for _ in step.turns],
        rewards=np.concatenate([turn_rewards(record) for record in records]),
        returns=_by_line(records, lambda record, seat: record.returns[seat]),
        task=[f"{record.env} {record.group}" for record in records],
        truncated=[_truncated(record) for record in records],
        success=_success(records),
        parent=_parents(records),
        facts=_facts(records) | {"env": [record.env for record in records]},
        role=[_role(record, turn.seat) for record in records for turn in record.turns],
        state=_known([turn.state_key and f"{turn.seat}:{turn.state_key}" for turn in turns]),
        action=[msgspec.json.encode(turn.action) for turn in turns],
        tokens=_spent([turn.usage.tokens_out for turn in turns]),
        seconds=_spent([turn.usage.seconds for turn in turns]),
        cost=_spent([c for record in records for c in _costs(record)]),
        logprob=_complete([turn.logprob for turn in turns]),
    )


def turn_rewards(record: EpisodeRecord) -> Floats:
    """What each turn's seat was paid from that turn on, until its next.

    What a seat was paid before its first turn no turn of its own can have earned.
    """
    paid = np.zeros(len(record.turns))
    latest: dict[int, int] = {}
    place = 0
    for step in record.steps:
        for turn in step.turns:
            latest[turn.seat] = place
            place += 1
        for seat, terms in step.rewards.items():
            if seat in latest:
                paid[latest[seat]] += sum(terms.values())
    return paid


def _costs(record: EpisodeRecord) -> Iterator[float]:
    """Money and the environment's own costs of each turn."""
    for step in record.steps:
        for turn in step.turns:
            yield turn.usage.cost + sum(step.costs.get(turn.seat, {}).values())


def _seats(record: EpisodeRecord) -> list[int]:
    """Seats that had a turn: those with a line."""
    return sorted({turn.seat for turn in record.turns})


def _by_line(records: Sequence[EpisodeRecord], value: Any) -> list[Any]:
    return [value(record, seat) for record in records for seat in _seats(record)]


def _truncated(record: EpisodeRecord) -> bool:
    return record.outcome is None or "truncated" in record.outcome.results


def _success(records: Sequence[EpisodeRecord]) -> list[float] | None:
    found = _by_line(records, _succeeded)
    return None if any(value is None for value in found) else found


def _succeeded(record: EpisodeRecord, seat: int) -> float | None:
    told = record.tags.get("success")
    if told is not None:
        return float(told[seat] if isinstance(told, list | tuple) else told)
    if record.outcome is None:
        return 0.0
    return SUCCESS.get(record.outcome.results[seat])


def _role(record: EpisodeRecord, seat: int) -> str:
    roles = record.tags.get("roles")
    return str(roles[seat]) if roles else record.players[seat]


def _parents(records: Sequence[EpisodeRecord]) -> list[int] | None:
    named = [record.parent or record.tags.get("parent", "") for record in records]
    if not any(named):
        return None
    places = {str(r.tags.get("id", r.number)): place for place, r in enumerate(records)}
    missing = sorted({str(name) for name in named if name and str(name) not in places})
    if missing:
        raise InvalidOption(
            f"parent {missing[0]!r} is not among these records; a record is known by its tag 'id', "
            "or else by its number"
        )
    return [places[str(name)] if name else -1 for name in named]


def _facts(records: Sequence[EpisodeRecord]) -> dict[str, Any]:
    """Tags that all records have: lists one a turn are joined, anything else is one an episode."""
    names = set.intersection(*(set(record.tags) for record in records)) - set(RESERVED)
    facts: dict[str, Any] = {}
    for name in sorted(names):
        values = [record.tags[name] for record in records]
        lists = [
            isinstance(v, list | tuple) and len(v) == len(r.turns)
            for v, r in zip(values, records, strict=True)
        ]
        facts[name] = [one for value in values for one in value] if all(lists) else values
    return facts


def _known(values: list[str]) -> list[str] | None:
    return values if all(values) else None


def _spent(values: list[Any]) -> list[Any] | None:
    return values if any(values) else None


def _complete(values: list[float | None]) -> list[float | None] | None:
    return None if any(value is None for value in values) else values
