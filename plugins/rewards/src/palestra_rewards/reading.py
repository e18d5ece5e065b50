"""From `EpisodeRecord`s to the columns of a `Group`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from palestra import EpisodeRecord, InvalidOption

from palestra_rewards.anchors import Anchor, anchor_keys
from palestra_rewards.arrays import Floats

SUCCESS = {"win": 1.0, "draw": 0.5, "loss": 0.0, "forfeit": 0.0, "truncated": 0.0}
RESERVED = ("roles", "success", "id", "parent", "anchor", "split")


def read_columns(
    records: Sequence[EpisodeRecord], anchor: str | Anchor | None = None
) -> dict[str, Any]:
    """The arguments of `Group.from_arrays` for records, turns in the order of `record.turns`.

    Tags read: `roles` (one name a seat), `success` (one number, or one a seat), `id` and `parent`
    (of nested episodes), `anchor` (a state's key for each turn, in the place of `state_key`). Any
    other tag that all records have becomes a fact, and so do `env` and, for continuations,
    `branched_at`.
    """
    if not records:
        raise InvalidOption("a group needs at least one record")
    turns = [turn for record in records for turn in record.turns]
    if not turns:
        raise InvalidOption("these records hold no turns; nobody decided anything in them")
    return {
        "episode": np.repeat(np.arange(len(records)), [len(record.turns) for record in records]),
        "seat": [turn.seat for turn in turns],
        "turn": [
            t for record in records for t, step in enumerate(record.steps) for _ in step.turns
        ],
        "rewards": np.concatenate([turn_rewards(record) for record in records]),
        "returns": _by_line(records, lambda record, seat: record.returns[seat]),
        "task": [task_name(record) for record in records],
        "truncated": [_truncated(record) for record in records],
        "success": _success(records),
        "parent": _parents(records),
        "facts": _facts(records),
        "role": [_role(record, turn.seat) for record in records for turn in record.turns],
        "agent": [_agent(record, turn.seat) for record in records for turn in record.turns],
        "state": _states(records) if anchor is None else _anchored(records, anchor),
        "action": [msgspec.json.encode(turn.action) for turn in turns],
        "mistakes": [count for record in records for count in refused_answers(record)],
        "logprob": _complete([turn.logprob for turn in turns]),
        **_spending(records),
    }


def task_name(record: EpisodeRecord) -> str:
    """What rollouts of one task share: environment, seed, options, split and `group`.

    The split is the tag of that name; where there is none, the options tell splits apart.
    """
    options = msgspec.json.encode(record.options, order="sorted").decode()
    split = str(record.tags.get("split", ""))
    return " ".join(p for p in (record.env, str(record.seed), options, split, record.group) if p)


def _spending(records: Sequence[EpisodeRecord]) -> dict[str, Any]:
    """What every turn took, refused answers included."""
    turns = [turn for record in records for turn in record.turns]
    sampled = [turn.spent.tokens_out for turn in turns]
    answers = [turn.usage.tokens_out for turn in turns]
    return {
        "tokens": _if_any(sampled),
        "answer_tokens": None if answers == sampled else answers,
        "seconds": _if_any([turn.spent.seconds for turn in turns]),
        "cost": _if_any([cost for record in records for cost in _costs(record)]),
    }


def refused_answers(record: EpisodeRecord) -> list[int]:
    """How many answers were refused as illegal at each turn.

    A mistake that stands in `record.mistakes` alone belongs to the turn that forfeited for it.
    """
    counts = [len(turn.errors) for turn in record.turns]
    for place, turn in enumerate(record.turns):
        if turn.status == "forfeit" and record.mistakes:
            of_seat = sum(
                c for c, t in zip(counts, record.turns, strict=True) if t.seat == turn.seat
            )
            counts[place] += max(record.mistakes[turn.seat] - of_seat, 0)
    return counts


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
            yield turn.spent.cost + sum(step.costs.get(turn.seat, {}).values())


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
    tag = record.tags.get("success")
    if tag is not None:
        return float(tag[seat] if isinstance(tag, list | tuple) else tag)
    if record.outcome is None:
        return 0.0
    return SUCCESS.get(record.outcome.results[seat])


def _role(record: EpisodeRecord, seat: int) -> str:
    roles = record.tags.get("roles")
    return str(roles[seat]) if roles else record.players[seat]


def _agent(record: EpisodeRecord, seat: int) -> str:
    return record.agents[seat] if record.agents else ""


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
    facts: dict[str, Any] = {"env": [record.env for record in records]}
    if any(record.branched_at or record.parent for record in records):
        facts["branched_at"] = [record.branched_at for record in records]
    for name in sorted(names):
        values = [record.tags[name] for record in records]
        lists = [
            isinstance(v, list | tuple) and len(v) == len(r.turns)
            for v, r in zip(values, records, strict=True)
        ]
        facts[name] = [one for value in values for one in value] if all(lists) else values
    return facts


def _states(records: Sequence[EpisodeRecord]) -> list[str] | None:
    """A key for the state of each turn: the tag `anchor`, else what the runner wrote."""
    keys: list[str] = []
    anchored = all("anchor" in record.tags for record in records)
    for record in records:
        anchors = record.tags["anchor"] if anchored else [t.state_key for t in record.turns]
        if len(anchors) != len(record.turns):
            raise InvalidOption(
                f"the tag 'anchor' has {len(anchors)} entries; the record has "
                f"{len(record.turns)} turns"
            )
        keys += [k and f"{t.seat}:{k}" for k, t in zip(anchors, record.turns, strict=True)]
    return keys if all(keys) else None


def _anchored(records: Sequence[EpisodeRecord], anchor: str | Anchor) -> list[object]:
    seats = [turn.seat for record in records for turn in record.turns]
    return list(zip(seats, anchor_keys(records, anchor), strict=True))


def _if_any(values: list[Any]) -> list[Any] | None:
    return values if any(values) else None


def _complete(values: list[float | None]) -> list[float | None] | None:
    return None if any(value is None for value in values) else values
