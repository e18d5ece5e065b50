"""Rewards that open stage by stage, and the dial between dense and final ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
from palestra import EpisodeRecord, InvalidOption, Meta, reward

from palestra_rewards.arrays import Floats
from palestra_rewards.episodes.turns import at_last, tag_of


@reward(
    "prs",
    shape="episode",
    needs=("stage scores",),
    paper="Enhancing Agentic RL with Progressive Reward Shaping and VSPO",
    check="test_later_stages_count_only_once_earlier_ones_pass",
)
def prs(
    record: EpisodeRecord,
    *,
    weights: Annotated[Sequence[float], Meta(description="a weight for each stage")] = (
        0.1,
        0.2,
        0.7,
    ),
) -> Floats:
    """Scores of an answer's stages, each counted only once the stages before it passed.

    Progressive reward shaping: the stages passed so far, paid on the last turn of each seat.

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


@reward(
    "planner-r1",
    shape="episode",
    needs=("constraint checks",),
    paper="Planner-R1: Reward Shaping Enables Efficient Agentic RL (2025)",
    check="test_the_dial_goes_from_shares_of_checks_to_the_final_pass",
)
def planner_r1(
    record: EpisodeRecord,
    *,
    dial: Annotated[
        tuple[float, float, float],
        Meta(description="weights of the share of checks, of categories, and of the final pass"),
    ] = (1.0, 0.0, 0.0),
) -> Floats:
    """Constraint checks on a dial from the share that is met to all or nothing.

    One checker from dense to sparse: shares of checks, of categories, and the final pass.

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
