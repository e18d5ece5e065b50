"""Inspection of finished records for cheating.

Of the patterns that the Holistic Agent Leaderboard (arXiv:2510.11977) looks for in logs, those that
need no judge: reward without outcome, moves outside the interface, answers looked up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from palestra import Divergence, EpisodeRecord, PalestraError, replay

from palestra_arena.trust.evidence import SMALL
from palestra_arena.trust.findings import Finding, Kind

LONG = 60  # characters, from which saying the same to another position is no accident
WINS = {"win": 1, "draw": 0, "loss": -1}


def inspect(records: Iterable[EpisodeRecord]) -> list[Finding]:
    """All findings in these records, including those of `Evidence` in their tags."""
    found: list[Finding] = []
    said: dict[tuple[str, str], tuple[int, str]] = {}
    for record in records:
        found += [Finding(*tag) for tag in record.tags.get("findings", ())]
        found += _rewards(record)
        found += _moves(record)
        found += _replay_findings(record)
        found += _repeated_answers(record, said)
    return list(dict.fromkeys(found))


def _finding(record: EpisodeRecord, kind: Kind, seat: int | None, turn: int, why: str) -> Finding:
    """A finding; it names no agent after tampering, which the agents may not have caused."""
    tampered = any(tag[0] == "tampering" for tag in record.tags.get("findings", ()))
    known = seat is not None and seat < len(record.agents) and not tampered
    agent = record.agents[seat] if known and seat is not None else ""
    return Finding(kind, agent, record.env, record.seed, turn, why)


def _rewards(record: EpisodeRecord) -> Iterator[Finding]:
    """Find rewards beyond what the steps paid, and rewards without an outcome."""
    last = len(record.steps)
    for seat, credited in enumerate(record.returns):
        paid = sum(sum(step.rewards.get(seat, {}).values()) for step in record.steps)
        if credited - paid > SMALL * max(1.0, abs(paid)):
            why = f"was credited {credited:g}, and its moves were paid {paid:g}"
            yield _finding(record, "reward", seat, last, why)
    if record.outcome is None and any(value > SMALL for value in record.returns):
        seat = max(range(len(record.returns)), key=record.returns.__getitem__)
        why = f"was credited {record.returns[seat]:g}, and the game has no outcome"
        yield _finding(record, "reward", seat, last, why)


def _moves(record: EpisodeRecord) -> Iterator[Finding]:
    """Find numbered moves that are not among the legal ones recorded with them."""
    for number, step in enumerate(record.steps):
        for turn in step.turns:
            listed = isinstance(turn.legal, list) and isinstance(turn.action, int)
            if listed and turn.action not in turn.legal:
                why = f"played {turn.action}, which was not legal"
                yield _finding(record, "illegal", turn.seat, number, why)


def _replay_findings(record: EpisodeRecord) -> Iterator[Finding]:
    try:
        replay(record)
    except Divergence as error:
        yield _finding(record, "divergence", None, error.turn, str(error))
    except PalestraError as error:
        yield _finding(record, "divergence", None, 0, f"cannot be replayed: {error}")


def _repeated_answers(record: EpisodeRecord, said: dict[Any, tuple[int, str]]) -> Iterator[Finding]:
    """Find long answers that an agent gave word for word to another position of another seed."""
    for number, step in enumerate(record.steps):
        for turn in step.turns:
            answer = turn.thought or turn.raw or ""
            if len(answer) < LONG or turn.seat >= len(record.agents):
                continue
            key = record.agents[turn.seat], answer
            seed, position = said.setdefault(key, (record.seed, turn.state_key))
            if seed != record.seed and position != turn.state_key:
                why = f"said the same as at another position of seed {seed}: {answer[:40]!r}…"
                yield _finding(record, "repetition", turn.seat, number, why)
