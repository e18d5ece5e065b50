"""Rewards that open stage by stage, and the dial between dense and final ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from palestra import EpisodeRecord, InvalidOption

from palestra_rewards.arrays import Floats
from palestra_rewards.episodes.turns import at_last, tag_of


def prs(record: EpisodeRecord, *, weights: Sequence[float] = (0.1, 0.2, 0.7)) -> Floats:
    """Progressive reward shaping: the stages passed so far, paid on the last turn of each seat.

    The tag "stages" has one score from 0 to 1 a stage (a parseable call, all fields, the quality
    of the answer); a stage counts only if all before it passed in full. "Enhancing Agentic RL with
    Progressive Reward Shaping".
    """
    stages = tag_of(record, "stages", "prs", "stage scores")
    value = gated(stages, weights)
    return at_last(record, lambda seat: value)


def gated(stages: Sequence[float], weights: Sequence[float]) -> float:
    """Weighted stage scores up to and including the first that is not 1."""
    if len(stages) != len(weights):
        raise InvalidOption(f"{len(stages)} stages cannot have {len(weights)} weights")
    total = 0.0
    for score, weight in zip(stages, weights, strict=True):
        if not 0 <= score <= 1:
            raise InvalidOption(f"stage scores lie from 0 to 1, not {score}")
        total += weight * score
        if score < 1:
            break
    return total


def planner_r1(
    record: EpisodeRecord, *, dial: tuple[float, float, float] = (1.0, 0.0, 0.0)
) -> Floats:
    """One checker from dense to sparse: shares of checks, of categories, and the final pass.

    The tag "checks" has lists of true and false by category (schema, commonsense, hard). `dial`
    weighs the share of all checks met, the share of categories met in full, and 1 for all of them;
    paid on the last turn of each seat. "Planner-R1" (2025).
    """
    checks = tag_of(record, "checks", "planner-r1", "constraint checks")
    value = float(np.dot(dial, graded(checks)))
    return at_last(record, lambda seat: value)


def graded(checks: Mapping[str, Sequence[bool]]) -> tuple[float, float, float]:
    """Share of checks met, of categories met in full, and whether everything is met."""
    every = [bool(check) for category in checks.values() for check in category]
    if not every:
        raise InvalidOption("a plan with no checks cannot be graded")
    whole = [all(category) for category in checks.values()]
    return float(np.mean(every)), float(np.mean(whole)), float(all(every))
