"""Rewards along the way: for a program's milestones and a verifier's verdicts."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from palestra import EpisodeRecord, Meta, reward

from palestra_rewards.arrays import Floats
from palestra_rewards.episodes.judged import step_scores
from palestra_rewards.episodes.turns import lines_of, tag_of, won
from palestra_rewards.facts import after_steps
from palestra_rewards.judges.service import Judge
from palestra_rewards.needs import NEEDS, Lacking
from palestra_rewards.people import people_of


@reward(
    "milestones",
    shape="episode",
    needs=("milestones",),
    paper="Reinforcement Learning for Machine Learning Engineering Agents (2025)",
    check="test_a_crash_after_loading_beats_one_before",
)
def milestones(
    record: EpisodeRecord,
    *,
    credit: Annotated[float, Meta(description="paid for each milestone")] = 0.1,
    full: Annotated[float, Meta(description="paid for success")] = 1.0,
) -> Floats:
    """Partial credit for milestones that a program printed; success replaces it.

    A milestone pays `credit` on the turn that first reaches it. A seat that succeeds gets `full`
    on its last turn instead.

    The tag "milestones" lists, for each turn, the names that its instrumented program printed;
    strip anything that the policy itself printed first. "Reinforcement Learning for Machine
    Learning Engineering Agents" (2025).
    """
    reached = tag_of(record, "milestones", "milestones", "milestones")
    seen: set[str] = set()
    paid = np.zeros(len(record.turns))
    for turn, names in enumerate(reached):  # in playing order, whoever decides
        paid[turn] = credit * len(set(names) - seen)
        seen |= set(names)
    for person in people_of(record):
        if won(record, person):
            paid[person.turns] = 0.0
            paid[person.turns[-1]] = full
    return paid


@reward(
    "steve",
    shape="episode",
    needs=("verdicts",),
    paper="STEVE: A Step Verification Pipeline for Computer-use Agent Training (2025)",
    check="test_steps_after_the_first_bad_one_can_be_dropped",
)
def steve(
    record: EpisodeRecord,
    *,
    stop: Annotated[bool, Meta(description="whether turns after the first bad one get 0")] = False,
    judge: Annotated[
        Judge | str | None,
        Meta(description="a model that marks each step; without it, the tag verdicts"),
    ] = None,
    by: Annotated[
        Literal["verdicts", "progress"],
        Meta(description="without a judge: reported verdicts, or whether progress rose"),
    ] = "verdicts",
) -> Floats:
    """1 for each turn that a verifier calls good, and -1 for each bad one.

    With `stop`, a seat's turns after its first bad one get 0.

    Verdicts come from the judge, or else from the tag "verdicts" (true or false per turn). With
    `by="progress"` a rule gives them: a turn is good if the progress that the environment reports
    is greater after its step than before. "STEVE: A Step Verification Pipeline for Computer-use
    Agent Training" (2025).
    """
    if judge is None and by == "progress":
        good = nearer(record)
    elif judge is None:
        good = np.asarray(tag_of(record, "verdicts", "steve", "verdicts"), dtype=bool)
    else:
        good = step_scores(record, judge=judge) == 1
    paid = np.where(good, 1.0, -1.0)
    for turns in lines_of(record) if stop else ():
        bad = np.flatnonzero(~good[turns])
        if bad.size:
            paid[turns[bad[0] + 1 :]] = 0.0
    return paid


def nearer(record: EpisodeRecord) -> NDArray[np.bool_]:
    """Whether each turn's step brought its seat nearer to the goal, by the progress reported."""
    said = after_steps(record, "progress")
    if said[0] is None:
        raise Lacking("steve:by=progress", "progress", NEEDS["progress"].how)
    rose = [
        _of(after, turn.seat) > _of(before, turn.seat)
        for step, (before, after) in zip(record.steps, pairwise(said), strict=True)
        for turn in step.turns
    ]
    return np.array(rose, dtype=bool)


def _of(progress: Any, seat: int) -> float:
    return float(progress[seat] if isinstance(progress, list | tuple) else progress)
