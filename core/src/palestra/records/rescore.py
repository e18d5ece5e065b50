"""Old records under the current parsers, rules and metrics: what changed, and why.

Every recorded answer is parsed again in its original position. Where it is now parsed differently,
what would have followed is unknown, and the new record ends there. Everything that follows from the
moves under rules and metrics is computed again. The old records are never changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import nan
from typing import Any, Literal

import msgspec

from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidAction, PalestraError, cause, show
from palestra.kernel.registry import load_game, registry
from palestra.records.answers import counts_of
from palestra.records.metrics import Measures, measure
from palestra.records.record import (
    EpisodeRecord,
    StepRecord,
    TurnRecord,
    as_json,
    notes_of,
    read_action,
    record_episode,
    who_lost,
)
from palestra.shaping import open_recorded

What = Literal["answer", "rules", "outcome", "returns", "mistakes", "error"]
OWN = ("group", "parent", "branched_at")  # known only to the recorder


class Change(msgspec.Struct, frozen=True):
    """One difference; `turn` counts steps from 0, and is -1 for the whole episode."""

    episode: int
    turn: int
    seat: int
    what: What
    old: str
    new: str
    why: str

    def __str__(self) -> str:
        where = f"episode {self.episode}"
        where += f", turn {self.turn}, seat {self.seat}" if self.turn >= 0 else ""
        return f"{where}: {self.what} {self.old} -> {self.new} ({self.why})"


@dataclass(slots=True)
class RescoredRecord:
    """One rescored record and its differences from the old one."""

    record: EpisodeRecord
    changes: list[Change]


@dataclass(slots=True)
class Totals:
    """Counts over rescored records: changes by kind, episodes cut, metrics before and after."""

    episodes: int = 0
    cut: int = 0
    changes: Counter[str] = field(default_factory=Counter)
    old: Measures = field(default_factory=Measures)
    new: Measures = field(default_factory=Measures)

    def add(self, old: EpisodeRecord, found: RescoredRecord) -> None:
        self.episodes += 1
        self.cut += any(change.what in ("answer", "rules") for change in found.changes)
        self.changes.update(change.what for change in found.changes)
        self.old.add(measure(old))
        self.new.add(measure(found.record))

    def metrics(self) -> Iterator[tuple[str, float, float]]:
        """Every metric with its mean before and after; not a number where nothing was measured."""
        before, after = self.old.samples, self.new.samples
        for name in sorted({**before, **after}):
            old, new = (side[name].mean if name in side else nan for side in (before, after))
            yield name, old, new


def rescore(record: EpisodeRecord, *, forfeit: bool = False) -> RescoredRecord:
    """Rescore a record under the current parsers and rules.

    forfeit: a seat whose answer is now refused loses the episode; by default the episode is
    truncated there, as the run's policy might have asked again. An environment that is not
    installed, or no longer takes the record's options, is a change of kind "error", and the record
    stays as it was.
    """
    try:
        spec = registry().environment(record.env)
        episode = open_recorded(
            load_game(spec, record.options),
            record.seed,
            rewards=record.rewards_from,
            terms=[step.rewards for step in record.steps],
            gamma=record.gamma,
            invalid=record.invalid,
            spec=spec,
        )
    except PalestraError as error:
        change = Change(record.number, -1, -1, "error", "a record", "none", cause(error))
        return RescoredRecord(record, [change])
    changes: list[Change] = []
    for number, step in enumerate(record.steps):
        if episode.over:
            changes.append(_over(record, number, episode))
            break
        changes += _play(record, number, step, episode, forfeit=forfeit)
        if changes:
            break
    made = _made(record, episode)
    if not changes:
        changes = _differences(record, made)
    made.tags = {**record.tags, "rescored": [str(change) for change in changes]}
    return RescoredRecord(made, changes)


def _over(record: EpisodeRecord, number: int, episode: Episode) -> Change:
    seat = record.steps[number].turns[0].seat if record.steps[number].turns else -1
    reason = episode.outcome.reason if episode.outcome else ""
    why = f"today's rules end the episode before this step {reason}".strip()
    return Change(record.number, number, seat, "rules", "played", "over", why)


def _play(
    record: EpisodeRecord, number: int, step: StepRecord, episode: Episode, *, forfeit: bool
) -> list[Change]:
    """Play one recorded step, or end the episode if it is now parsed or judged differently."""
    if not step.turns:
        why = step.events[0].text.rstrip(".") if step.events else "stopped"
        episode.truncate(why, notes_of(step))
        return []
    changes = [
        c for turn in step.turns for c in _reread_answers(record.number, number, turn, episode)
    ]
    lost, notes = who_lost(step), notes_of(step)
    if changes:
        refused = {c.seat: f"rescored: {c.why}" for c in changes if c.new == "refused"}
        if forfeit and refused:
            episode.forfeit(refused, notes=notes)
        else:
            episode.truncate(f"rescored: {changes[0].why}", notes)
    elif lost:
        episode.forfeit(lost, notes=notes)
    else:
        try:
            episode.act({turn.seat: read_action(episode, turn) for turn in step.turns}, notes)
        except Exception as error:  # the current rules may raise anything on an old move
            turn = step.turns[0]
            why = f"today's rules do not allow it: {cause(error)}"
            changes = [
                Change(record.number, number, turn.seat, "rules", show(turn.text), "illegal", why)
            ]
            episode.truncate(f"rescored: {why}", notes)
    return changes


def _reread_answers(
    episode_number: int, number: int, turn: TurnRecord, episode: Episode
) -> list[Change]:
    """Differences in parsing a turn's answers, up to the first that would now be played."""
    for attempt in turn.refused:
        if attempt.raw is None:
            continue
        read, _ = _read(episode, turn.seat, attempt.raw)
        if read is not None:
            why = f"{show(attempt.raw)} is read now"
            new = show(episode.action_text(turn.seat, read))
            return [Change(episode_number, number, turn.seat, "answer", "refused", new, why)]
    if turn.raw is None or turn.status not in ("ok", "retried"):
        return []
    read, why = _read(episode, turn.seat, turn.raw)
    old = show(turn.text)
    if read is None:
        return [Change(episode_number, number, turn.seat, "answer", old, "refused", why)]
    if as_json(read) == turn.action:
        return []
    why = f"{show(turn.raw)} is read otherwise now"
    new = show(episode.action_text(turn.seat, read))
    return [Change(episode_number, number, turn.seat, "answer", old, new, why)]


def _read(episode: Episode, seat: int, raw: str) -> tuple[Any, str]:
    """The action that the current parser finds in an answer; None and the reason if refused."""
    try:
        action = episode.parse(seat, raw)
        episode.check(seat, action)
    except InvalidAction as error:
        return None, f"{show(raw)} is refused now: {error.why or error}"
    return action, ""


def _made(record: EpisodeRecord, episode: Episode) -> EpisodeRecord:
    """The new record, with the fields that can only be copied from the old one."""
    made = record_episode(episode, record.agents, number=record.number, error=record.error)
    for name in OWN:
        setattr(made, name, getattr(record, name))
    kept, now = ([seat.refused for seat in counts_of(one)] for one in (record, made))
    made.mistakes = tuple(
        new if count == old else count  # one without answers on record is kept
        for count, old, new in zip(record.mistakes, kept, now, strict=False)
    )
    return made


def _differences(old: EpisodeRecord, new: EpisodeRecord) -> list[Change]:
    """Differences at the end of an episode whose answers are parsed as before."""
    found = []
    for name, was, now in (
        ("outcome", old.outcome and old.outcome.results, new.outcome and new.outcome.results),
        ("returns", old.returns, new.returns),
        ("mistakes", old.mistakes, new.mistakes),
    ):
        if as_json(was) != as_json(now):
            why = "computed from the moves by today's rules"
            found.append(Change(old.number, -1, -1, name, show(was), show(now), why))  # type: ignore[arg-type]
    return found


def rescore_all(
    records: Iterable[EpisodeRecord], totals: Totals, *, forfeit: bool = False
) -> Iterator[RescoredRecord]:
    """Rescore records one by one, adding them up in `totals`."""
    for record in records:
        found = rescore(record, forfeit=forfeit)
        totals.add(record, found)
        yield found
