"""Marks made along the way: milestones of a program, verdicts of a verifier."""

from __future__ import annotations

import numpy as np
from palestra import EpisodeRecord

from palestra_rewards.arrays import Floats
from palestra_rewards.episodes.judged import step_scores
from palestra_rewards.episodes.turns import seats_of, tag_of, won
from palestra_rewards.judges.service import Judge


def milestones(record: EpisodeRecord, *, credit: float = 0.1, full: float = 1.0) -> Floats:
    """`credit` for each milestone where it is first reached; success replaces all by `full`.

    The tag "milestones" lists, for each turn, the names its instrumented program printed; prints
    of the policy's own must be stripped before. "Reinforcement Learning for Machine Learning
    Engineering Agents" (2025).
    """
    reached = tag_of(record, "milestones", "milestones", "milestones")
    seen: set[str] = set()
    paid = np.zeros(len(record.turns))
    for turns in seats_of(record):
        if won(record, record.turns[turns[-1]].seat):
            paid[turns[-1]] = full
            continue
        for turn in turns:
            fresh = set(reached[turn]) - seen
            paid[turn] = credit * len(fresh)
            seen |= fresh
    return paid


def steve(record: EpisodeRecord, *, stop: bool = False, judge: Judge | str | None = None) -> Floats:
    """1 for a turn a verifier called good, -1 for a bad one; with `stop`, 0 after the first bad.

    The verifier is the judge, or else the tag "verdicts" with true or false for each turn. "STEVE:
    A Step Verification Pipeline for Computer-use Agent Training" (2025).
    """
    if judge is None:
        good = np.asarray(tag_of(record, "verdicts", "steve", "verdicts"), dtype=bool)
    else:
        good = step_scores(record, judge=judge) == 1
    paid = np.where(good, 1.0, -1.0)
    for turns in seats_of(record) if stop else ():
        bad = np.flatnonzero(~good[turns])
        if bad.size:
            paid[turns[bad[0] + 1 :]] = 0.0
    return paid
