"""Facts that entries read from a record besides its moves, by name.

A tag that the caller has set comes first, then what the agents and the game reported during play
(`palestra.records.facts`). A fact that nobody reported is None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import msgspec
from palestra import EpisodeRecord
from palestra.records.record import TurnRecord

from palestra_rewards.people import Person

Scope = Literal["turns", "lines", "record"]

# What agents report about a decision: name used by entries to name used by agents
OF_DECISIONS = {
    "values": "value",
    "process": "process",
    "confidence": "confidence",
    "correctness": "correctness",
    "full tokens": "full tokens",
    "ratio": "ratio",
    "implicit": "implicit",
    "verdicts": "verdicts",
    "candidates": "candidates",
    "worker": "worker",
}
OF_STATES = ("stages", "checks", "goal", "type")  # the last that the game reported
# Names under which a fact may have been reported, where they are not only its own
SAID_AS = {
    **{name: {own} for name, own in OF_DECISIONS.items()},
    "candidates": {"candidates", "strategy"},
    "calls": {"tool", "needless"},
    "coalition": {"absent"},
}


def fact(record: EpisodeRecord, name: str) -> Any:
    """A fact of a record as entries read it; None if there is none.

    Facts over turns have one entry per turn, None for turns of agents that do not report it. Facts
    over lines (`mode`, `progress`, `local`) are mappings by seat.
    """
    if name in record.tags:
        return record.tags[name]
    if name in OF_DECISIONS:
        return _of_decisions(record, name)
    if name in _READERS:
        return _READERS[name][1](record)
    return last_said(record, name) if name in OF_STATES else None


def of_person(record: EpisodeRecord, name: str, person: Person) -> Any:
    """A fact over lines for one person at a seat: what held when they left it."""
    found: Any = fact(record, name)
    if name == "mode" and name not in record.tags:
        prefix = len(record.turns) - len(record.own_turns)
        first = next((place for place in person.turns if place >= prefix), person.turns[0])
        return record.turns[int(first)].facts.get("mode")
    if person.left is not None and name not in record.tags:
        found = after_steps(record, name)[person.left + 1]
    if isinstance(found, dict):
        return found.get(person.seat)
    return found[person.seat] if isinstance(found, list | tuple) else found


def scope(name: str) -> Scope:
    """Whether a reported fact has one entry per turn, per line or per record."""
    if name in OF_DECISIONS:
        return "turns"
    return _READERS[name][0] if name in _READERS else "record"


def reported_names(records: Sequence[EpisodeRecord]) -> list[str]:
    """Names of the facts that agents or games reported in any of the records."""
    said = _names_said(records)
    possible = [name for name in NAMES if said & SAID_AS.get(name, {name})]
    return [
        name for name in possible if any(_is_there(_value_without_tag(r, name)) for r in records)
    ]


def _names_said(records: Sequence[EpisodeRecord]) -> set[str]:
    """Every name under which something was reported; "tool" if an event tells of a tool call.

    One pass over all records, so that facts which nobody reports cost nothing more.
    """
    said: set[str] = set()
    for record in records:
        said.update(record.facts)
        for step in record.steps:
            said.update(step.facts)
            for turn in step.turns:
                said.update(turn.facts)
            for event in step.events:
                if "tool" in event.data:
                    said.add("tool")
    return said


def last_said(record: EpisodeRecord, name: str) -> Any:
    """The last value of a fact that the game reported; None if it never did."""
    for step in reversed(record.steps):
        if name in step.facts:
            return step.facts[name]
    return record.facts.get(name)


def after_steps(record: EpisodeRecord, name: str) -> list[Any]:
    """The value of a game's fact at the start and after every step."""
    said = [record.facts.get(name)]
    for step in record.steps:
        said.append(step.facts.get(name, said[-1]))
    return said


def nest_records(records: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
    """Records split into episodes of planners, each followed by those of the workers it called.

    Turns with the fact `worker` become separate episodes, one per worker, whose parent is the
    planner's episode. All rewards stay with the planner; the rest of a record is unchanged.
    """
    found: list[EpisodeRecord] = []
    for record in records:
        workers = sorted({w for turn in record.turns if (w := _worker(turn)) is not None})
        if not workers:
            found.append(record)
            continue
        name = str(record.tags.get("id", f"planner {len(found)}"))
        found.append(_part(record, None, tags={**record.tags, "id": name}))
        for worker in workers:
            tags = {**record.tags, "id": f"{name}, worker {worker}"}
            found.append(_part(record, worker, tags=tags, parent=name))
    return found


def _worker(turn: TurnRecord) -> int | None:
    return turn.facts.get("worker")


def _part(record: EpisodeRecord, worker: int | None, **identity: Any) -> EpisodeRecord:
    """The turns of one worker, without rewards, or those of no worker, with all rewards."""
    steps = [
        msgspec.structs.replace(
            step,
            turns=[turn for turn in step.turns if _worker(turn) == worker],
            rewards=step.rewards if worker is None else {},
            costs=step.costs if worker is None else {},
        )
        for step in record.steps
    ]
    returns = record.returns if worker is None else (0.0,) * len(record.returns)
    return msgspec.structs.replace(record, steps=steps, returns=returns, **identity)


def _value_without_tag(record: EpisodeRecord, name: str) -> Any:
    return None if name in record.tags else fact(record, name)


def _is_there(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(one is not None for one in value.values())
    if isinstance(value, list):
        return any(one is not None for one in value)
    return value is not None


# Readers


def _of_decisions(record: EpisodeRecord, name: str) -> list[Any]:
    if name == "candidates":
        return [_others(turn) for turn in record.turns]
    return [turn.facts.get(OF_DECISIONS[name]) for turn in record.turns]


def _others(turn: TurnRecord) -> list[str] | None:
    """The moves that were considered and not played, the most promising first."""
    weighed: Any = turn.facts.get("candidates", turn.facts.get("strategy"))
    if weighed is None:
        return None
    moves = weighed
    if isinstance(weighed, Mapping):
        moves = sorted(weighed, key=lambda move: -weighed[move])
    return [move for move in moves if move != turn.text]


def _by_turn(record: EpisodeRecord, of_steps: Sequence[Any]) -> list[Any]:
    """Values of steps, repeated for each of a step's turns."""
    pairs = zip(record.steps, of_steps, strict=True)
    return [value for step, value in pairs for _ in step.turns]


def _calls(record: EpisodeRecord) -> list[Any] | None:
    """The tool calls of every turn, from the events that have `tool` and `arguments`."""
    made = [
        [
            {"name": event.data["tool"], "arguments": event.data["arguments"]}
            for event in step.events
            if "tool" in event.data and "arguments" in event.data
        ]
        for step in record.steps
    ]
    return _by_turn(record, made) if any(made) or "needless" in record.facts else None


def _needless(record: EpisodeRecord) -> list[Any] | None:
    said: list[Any] = after_steps(record, "needless")
    if said[0] is None:
        return None
    return _by_turn(record, [now - before for before, now in pairwise(said)])


def _states(name: str) -> Callable[[EpisodeRecord], list[Any] | None]:
    """A reader of what the game reported after the step of every turn."""

    def read(record: EpisodeRecord) -> list[Any] | None:
        said = after_steps(record, name)
        return None if all(one is None for one in said) else _by_turn(record, said[1:])

    return read


def _belief(record: EpisodeRecord) -> list[Any] | None:
    """Beliefs before the first turn and after each."""
    said = after_steps(record, "belief")
    return None if said[0] is None else [said[0], *_by_turn(record, said[1:])]


def _modes(record: EpisodeRecord) -> dict[int, Any]:
    """The mode of each seat in the episode: that of its first turn."""
    modes: dict[int, Any] = {}
    for turn in record.own_turns:
        modes.setdefault(turn.seat, turn.facts.get("mode"))
    return modes


def _seats_said(name: str) -> Callable[[EpisodeRecord], dict[int, Any]]:
    """A reader of what the game last reported for each seat; one number holds for all seats."""

    def read(record: EpisodeRecord) -> dict[int, Any]:
        said = last_said(record, name)
        seats = range(len(record.players))
        return {seat: said[seat] if isinstance(said, list) else said for seat in seats}

    return read


def _coalition(record: EpisodeRecord) -> list[int] | None:
    """The seats that took part; None if no turn reports an absent player."""
    if not any("absent" in turn.facts for turn in record.turns):
        return None
    present = {turn.seat for turn in record.turns if not turn.facts.get("absent")}
    return sorted(present)


def _evidence(record: EpisodeRecord) -> list[int] | None:
    """Indices of the turns that an agent last cited as proof."""
    for turn in reversed(record.turns):
        if "evidence" in turn.facts:
            own = [place for place, t in enumerate(record.turns) if t.seat == turn.seat]
            return [own[n] if 0 <= n < len(own) else -1 for n in turn.facts["evidence"]]
    return None


_READERS: dict[str, tuple[Scope, Callable[[EpisodeRecord], Any]]] = {
    "calls": ("turns", _calls),
    "needless": ("turns", _needless),
    "milestones": ("turns", _states("milestones")),
    "objects": ("turns", _states("objects")),
    "duration": ("turns", _states("duration")),
    "belief": ("record", _belief),
    "mode": ("lines", _modes),
    "progress": ("lines", _seats_said("progress")),
    "local": ("lines", _seats_said("local")),
    "coalition": ("record", _coalition),
    "evidence": ("record", _evidence),
}
NAMES = (*OF_DECISIONS, *_READERS, *OF_STATES)
