"""Outcomes of games without winners, in which everybody has a score."""

from __future__ import annotations

from dataclasses import replace

from palestra import Outcome, Result


def score_outcome(ended: Outcome, reason: str) -> Outcome:
    """The outcome with the result "score" for every seat, and a reason in one sentence."""
    score: Result = "score"
    return replace(ended, results=(score,) * len(ended.scores), reason=reason)


def number_of(number: int, thing: str) -> str:
    """'1 round', '2 rounds'."""
    return f"{int(number)} {thing}" if number == 1 else f"{int(number)} {thing}s"
