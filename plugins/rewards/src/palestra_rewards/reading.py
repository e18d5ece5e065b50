"""From `EpisodeRecord`s to the columns of a `Group`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any

import msgspec
import numpy as np
from palestra import EpisodeRecord, InvalidOption
from palestra.kernel.errors import show
from palestra.kernel.game import total
from palestra.records.record import TurnRecord

from palestra_rewards.anchors import Anchor, anchor_keys
from palestra_rewards.arrays import Floats
from palestra_rewards.columns import numeric
from palestra_rewards.facts import fact, of_person, reported_names, scope
from palestra_rewards.people import Person, newcomer_seats, own_people

SUCCESS = {"win": 1.0, "draw": 0.5, "loss": 0.0, "forfeit": 0.0, "truncated": 0.0}
# Tags with one entry per turn; a list of any other length is an error
OF_TURNS = ("values", "process", "ratio", "implicit", "full tokens", "confidence", "verdicts")
# Tags that may be a list with one entry per seat, and those that belong to an episode as a whole,
# whatever their length
OF_SEATS = ("local", "mode", "progress")
OF_RECORDS = ("belief", "coalition", "discussion", "evidence", "executed", "final", "ratings")
RESERVED = ("roles", "success", "id", "parent", "anchor", "split")


def read_columns(
    records: Sequence[EpisodeRecord], anchor: str | Anchor | None = None
) -> dict[str, Any]:
    """The arguments of `Group.from_arrays` for records, turns in the order of `record.turns`.

    Turns before `branched_at` are left out, since siblings share them. It reads the tags `roles`
    (one name per seat), `success` (one number, or one per seat), `id` and `parent` (of nested
    episodes), and `anchor` (a key of the decision for each turn, which replaces the record's own).
    Any other tag that all records have becomes a fact; so do facts that agents and games reported
    (`facts`), `env` and, for continuations, `branched_at`.
    """
    if not records:
        raise InvalidOption("a group needs at least one record")
    for record in records:
        check_record(record)
    by_record = [record.own_turns for record in records]
    turns = [turn for own_turns in by_record for turn in own_turns]
    if not turns:
        raise InvalidOption("these records hold no turns; record episodes in which a seat decides")
    people = [own_people(record) for record in records]
    return {
        "episode": np.repeat(np.arange(len(records)), [len(own_turns) for own_turns in by_record]),
        "seat": [turn.seat for turn in turns],
        "turn": [
            t
            for record in records
            for t, step in enumerate(record.steps)
            if t >= record.branched_at
            for _ in step.turns
        ],
        "rewards": np.concatenate([own(record, turn_rewards(record)) for record in records]),
        "life": [turn.life for turn in turns],
        "returns": [person.paid for there in people for person in there],
        "task": [task_name(record) for record in records],
        "truncated": [_truncated(record) for record in records],
        "success": _success(records, people),
        "parent": _parents(records),
        "facts": _facts(records, people),
        "role": [
            _role(record, turn)
            for record, own_turns in zip(records, by_record, strict=True)
            for turn in own_turns
        ],
        "agent": [
            _agent(record, turn.seat)
            for record, own_turns in zip(records, by_record, strict=True)
            for turn in own_turns
        ],
        "state": _states(records) if anchor is None else _anchor_keys(records, anchor),
        "action": [msgspec.json.encode(turn.action) for turn in turns],
        "mistakes": [n for record in records for n in own(record, refused_answers(record))],
        "logprob": _complete([turn.logprob for turn in turns]),
        **_spending(records, turns),
    }


def check_records(records: object) -> None:
    """Raise `InvalidOption` for what is no list of records."""
    if isinstance(records, EpisodeRecord):
        raise InvalidOption("a group is made of a list of records; pass [record]")
    if isinstance(records, str | PathLike):
        raise InvalidOption(
            f"a group is made of records, not {records!r}; read a file of them with "
            "palestra.read_records"
        )
    if not isinstance(records, Sequence):
        raise InvalidOption(f"a group is made of a list of records, not {show(records)}")
    for place, record in enumerate(records):
        if not isinstance(record, EpisodeRecord):
            raise InvalidOption(
                f"entry {place} is no EpisodeRecord but {show(record)}; pass what palestra.play, "
                "palestra.rollouts or palestra.read_records return"
            )


def check_record(record: EpisodeRecord) -> None:
    """Raise `InvalidOption` for a record that was not played to its end."""
    name = f"record {record.number} ({record.env}, seed {record.seed})"
    if record.error:
        cause = record.error.strip().splitlines()[-1]
        raise InvalidOption(
            f"{name} ended in an error, {cause}; leave such records out, as in "
            "[r for r in records if not r.error]"
        )
    if record.outcome is None:
        raise InvalidOption(
            f"{name} stops after {len(record.steps)} steps, before its end; finish the run with "
            "resume=True, or leave it out"
        )
    if record.length and record.length != len(record.steps):
        raise InvalidOption(
            f"{name} holds {len(record.steps)} of its {record.length} steps; read the whole record "
            "again, or leave it out"
        )
    if not 0 <= record.branched_at <= len(record.steps):
        raise InvalidOption(
            f"{name} says that it branched off at step {record.branched_at}, but it has "
            f"{len(record.steps)} steps; branched_at is the number of steps it shares with its "
            "parent, 0 for an episode played from the start"
        )
    if len(record.returns) != len(record.players):
        raise InvalidOption(
            f"{name} has {len(record.returns)} returns for {len(record.players)} seats; a record "
            "needs one per seat"
        )


def check_one_task(records: Sequence[EpisodeRecord]) -> None:
    """Raise `InvalidOption` if records are not all rollouts of one task."""
    first = records[0]
    for place, record in enumerate(records):
        for name in ("env", "seed", "options", "group"):
            one, other = getattr(first, name), getattr(record, name)
            if one != other:
                raise InvalidOption(
                    f"records 0 and {place} are not of one task: their {name} is {one!r} and "
                    f"{other!r}; palestra.rollouts plays one task several times"
                )
        if first.tags.get("split") != record.tags.get("split"):
            raise InvalidOption(f"records 0 and {place} are not of one task: their splits differ")


def own(record: EpisodeRecord, of_turns: Any) -> Any:
    """The entries for turns after the branch, from a sequence with one entry per turn."""
    return of_turns[len(record.turns) - len(record.own_turns) :]


def _own_tag(record: EpisodeRecord, name: str) -> Any:
    """The entries of a tag over turns for the turns after the branch."""
    values = record.tags[name]
    if len(values) == len(record.turns):
        return own(record, values)
    if len(values) == len(record.own_turns):
        return values
    raise InvalidOption(
        f"record {record.number}: the tag {name!r} has {len(values)} entries; the record has "
        f"{len(record.turns)} turns, and each needs one"
    )


def _of_seat(record: EpisodeRecord, name: str, seat: int) -> Any:
    """The entry for a seat in a tag with one entry per seat."""
    values = record.tags[name]
    if len(values) != len(record.players):
        raise InvalidOption(
            f"record {record.number}: the tag {name!r} has {len(values)} entries; there are "
            f"{len(record.players)} seats, and each needs one"
        )
    return values[seat]


def task_name(record: EpisodeRecord) -> str:
    """A name that rollouts of one task share: environment, seed, options, split and `group`.

    The split is the tag of that name; without one, splits differ by their options.
    """
    options = msgspec.json.encode(record.options, order="sorted").decode()
    split = str(record.tags.get("split", ""))
    return " ".join(p for p in (record.env, str(record.seed), options, split, record.group) if p)


def _spending(records: Sequence[EpisodeRecord], turns: Sequence[TurnRecord]) -> dict[str, Any]:
    """Tokens, seconds and cost of every turn, refused answers included."""
    spent = [turn.spent for turn in turns]
    sampled = [usage.tokens_out for usage in spent]
    answers = [turn.usage.tokens_out for turn in turns]
    return {
        "tokens": _if_any(sampled),
        "answer_tokens": None if answers == sampled else answers,
        "seconds": _if_any([usage.seconds for usage in spent]),
        "cost": _if_any([cost for record in records for cost in _costs(record)]),
    }


def refused_answers(record: EpisodeRecord) -> list[int]:
    """How many answers were refused as illegal at each turn.

    A mistake that is counted only in `record.mistakes` belongs to the turn that forfeited for it.
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
    """What each turn's person was paid from that turn until their next, shape (turns,).

    Rewards that a person got before their first turn are left out.
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
                paid[latest[seat]] += total(terms)
        for seat in newcomer_seats(step):
            latest.pop(seat, None)
    return paid


def _costs(record: EpisodeRecord) -> Iterator[float]:
    """The cost of each turn: money spent plus the environment's own costs."""
    for step in record.steps[record.branched_at :]:
        for turn in step.turns:
            yield turn.spent.cost + total(step.costs.get(turn.seat))


def _truncated(record: EpisodeRecord) -> bool:
    return record.outcome is None or "truncated" in record.outcome.results


def _success(
    records: Sequence[EpisodeRecord], people: Sequence[Sequence[Person]]
) -> list[float] | None:
    found = [
        _person_success(record, person)
        for record, there in zip(records, people, strict=True)
        for person in there
    ]
    known = [value for value in found if value is not None]
    return known if len(known) == len(found) else None


def _person_success(record: EpisodeRecord, person: Person) -> float | None:
    """Success by the tag, by the result, or, if there is none but a score, by progress.

    Who was replaced before the end has no result.
    """
    tag, seat = record.tags.get("success"), person.seat
    if tag is not None:
        value = _of_seat(record, "success", seat) if isinstance(tag, list | tuple) else tag
        return float(numeric(f"record {record.number}: the tag 'success'", value))
    if record.outcome is None:
        return 0.0
    known = SUCCESS.get(record.outcome.results[seat])
    if known is not None and person.left is None:
        return known
    if "progress" in record.tags:
        return None  # a tag may be of any form
    return of_person(record, "progress", person)


def _role(record: EpisodeRecord, turn: TurnRecord) -> str:
    """The seat's role; a worker that its agent called has one of its own, unless nested."""
    if record.tags.get("roles"):
        role = str(_of_seat(record, "roles", turn.seat))
    else:
        role = str(record.facts.get("roles", record.players)[turn.seat])
    return f"{role} worker" if "worker" in turn.facts and not record.parent else role


def _agent(record: EpisodeRecord, seat: int) -> str:
    return record.agents[seat] if record.agents else ""


def _parents(records: Sequence[EpisodeRecord]) -> list[int] | None:
    named = [record.parent or record.tags.get("parent", "") for record in records]
    if not any(named):
        return None
    places = _places(records, {str(name) for name in named})
    missing = sorted({str(name) for name in named if name and str(name) not in places})
    if missing:
        raise InvalidOption(
            f"parent {missing[0]!r} is not among these records; a record is known by its tag 'id', "
            "or else by its number"
        )
    return [places[str(name)] if name else -1 for name in named]


def _places(records: Sequence[EpisodeRecord], named: set[str]) -> dict[str, int]:
    """Indices of records that can be parents, by their tag `id`, or by number for roots."""
    places: dict[str, int] = {}
    for place, record in enumerate(records):
        if "id" not in record.tags and record.parent:
            continue  # its number is one among its siblings
        name = str(record.tags.get("id", record.number))
        if name in named and name in places:
            raise InvalidOption(
                f"records {places[name]} and {place} are both known as {name!r}, which is the name "
                "of a parent; give them different tags 'id'"
            )
        places[name] = place
    return places


def _facts(records: Sequence[EpisodeRecord], people: Sequence[Sequence[Person]]) -> dict[str, Any]:
    """Tags that all records have: lists over turns are joined, others are one per episode.

    Facts that agents and games reported are added, as `palestra_rewards.facts` reads them.
    """
    names = set.intersection(*(set(record.tags) for record in records)) - set(RESERVED)
    facts: dict[str, Any] = {"env": [record.env for record in records]}
    if any(record.branched_at or record.parent for record in records):
        facts["branched_at"] = [record.branched_at for record in records]
    for name in sorted(names):
        facts[name] = _tag_values(records, people, name)
    for name in reported_names(records):
        if name not in facts:
            facts[name] = _reported_values(records, people, name)
    return facts


def _tag_values(
    records: Sequence[EpisodeRecord], people: Sequence[Sequence[Person]], name: str
) -> list[Any]:
    """A tag of all records: lists over turns are joined, those over seats are spread to people."""
    values = [record.tags[name] for record in records]
    lists = [isinstance(value, list | tuple) for value in values]
    if name in OF_RECORDS:
        return values
    if name in OF_SEATS and any(lists):
        return [
            _of_seat(record, name, person.seat) if is_list else record.tags[name]
            for record, is_list, there in zip(records, lists, people, strict=True)
            for person in there
        ]
    fit = [
        is_list and len(value) in (len(record.turns), len(record.own_turns))
        for is_list, value, record in zip(lists, values, records, strict=True)
    ]
    if all(fit) or (name in OF_TURNS and all(lists)):
        return [one for record in records for one in _own_tag(record, name)]
    return values


def _reported_values(
    records: Sequence[EpisodeRecord], people: Sequence[Sequence[Person]], name: str
) -> list[Any]:
    """A fact that was reported during play: over turns, lines or episodes."""
    found = [fact(record, name) for record in records]
    if name == "coalition":  # if no turn reports an absent player, all took part
        seats = [sorted({turn.seat for turn in record.own_turns}) for record in records]
        return [own if one is None else one for one, own in zip(found, seats, strict=True)]
    if scope(name) == "record":
        return found
    if scope(name) == "lines":
        return [
            of_person(record, name, person)
            for record, there in zip(records, people, strict=True)
            for person in there
        ]
    return [
        one
        for record, values in zip(records, found, strict=True)
        for one in own(record, values or [None] * len(record.turns))
    ]


def _states(records: Sequence[EpisodeRecord]) -> list[str] | None:
    """A key for the decision at each turn: the tag `anchor`, or else the recorded key."""
    keys: list[str] = []
    anchored = all("anchor" in record.tags for record in records)
    for record in records:
        turns = record.own_turns
        anchors = [t.anchor or t.state_key for t in turns]
        if anchored:
            anchors = _own_tag(record, "anchor")
        keys += [k and f"{t.seat}:{k}" for k, t in zip(anchors, turns, strict=True)]
    return keys if all(keys) else None


def _anchor_keys(records: Sequence[EpisodeRecord], anchor: str | Anchor) -> list[object]:
    seats = [turn.seat for record in records for turn in record.own_turns]
    return list(zip(seats, anchor_keys(records, anchor), strict=True))


def _if_any(values: list[Any]) -> list[Any] | None:
    return values if any(values) else None


def _complete(values: list[float | None]) -> list[float | None] | None:
    return None if any(value is None for value in values) else values
