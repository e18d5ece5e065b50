"""Rewards that unlock stage by stage, and a dial between dense and final rewards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import exp, log
from typing import Annotated, Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption, Meta, reward

from palestra_rewards.arrays import Floats
from palestra_rewards.episodes.turns import at_last, tag_of
from palestra_rewards.learnt.networks import WORD


@reward(
    "prs",
    shape="episode",
    needs=("stage scores",),
    paper=(
        "Enhancing Agentic RL with Progressive Reward Shaping and Value-based Sampling "
        "Policy Optimization"
    ),
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
    rates: Annotated[
        Sequence[float], Meta(description="current pass rate of each stage; none by default")
    ] = (),
) -> Floats:
    """Scores of an answer's stages, each counted only once the stages before it passed.

    Progressive reward shaping: the stages passed so far, paid on the last turn of each seat.

    The tag "stages" has one score from 0 to 1 per stage (a parseable call, all fields, the quality
    of the answer, such as `short_bleu`); a stage counts only if all before it passed in full. With
    `rates` the weights anneal: see `anneal`; `StageRates` tracks the rates during training.
    "Enhancing Agentic RL with Progressive Reward Shaping"; the form of the annealing is this
    package's own.
    """
    stages = tag_of(record, "stages", "prs", "stage scores")
    value = gated_score(stages, anneal(weights, rates) if rates else weights)
    return at_last(record, lambda _: value)


def gated_score(stages: Sequence[float], weights: Sequence[float]) -> float:
    """Weighted stage scores up to and including the first that is not 1."""
    if len(stages) != len(weights):
        raise InvalidOption(f"{len(stages)} stages cannot have {len(weights)} weights")
    total = 0.0
    for score, weight in zip(stages, weights, strict=True):
        if not 0 <= score <= 1:
            raise InvalidOption(f"stage scores must be from 0 to 1, not {score}")
        total += weight * score
        if score < 1:
            break
    return total


def anneal(weights: Sequence[float], rates: Sequence[float]) -> list[float]:
    """Weights moved to later stages: each stage hands on a share equal to its pass rate.

    The sum stays the same. If no stage is passed yet, the weights are as given; if all early
    stages always pass, the last has all of the weight.
    """
    if len(rates) != len(weights) or not all(0 <= rate <= 1 for rate in rates):
        raise InvalidOption(f"rates must be {len(weights)} numbers from 0 to 1, not {rates}")
    found, carried = [], 0.0
    for weight, rate in zip(weights[:-1], rates, strict=False):
        have = weight + carried
        carried = have * rate
        found.append(have - carried)
    return [*found, weights[-1] + carried]


class StageRates:
    """Moving average, over calls of `update`, of how often each stage is passed in full.

    `shape("prs", records, rates=rates.update(records))` pays a batch by the rates before it.
    """

    def __init__(self, *, alpha: float = 0.9) -> None:
        if not 0 <= alpha < 1:
            raise InvalidOption(f"alpha must be from 0 to below 1, not {alpha}")
        self.alpha = alpha
        self.rates: list[float] = []

    def update(self, records: Sequence[EpisodeRecord]) -> list[float]:
        """Add these records to the average and return the rates from before; zeros at first."""
        passed = [
            [float(score >= 1) for score in tag_of(one, "stages", "prs", "stage scores")]
            for one in records
        ]
        if not passed or len({len(row) for row in passed}) > 1:
            raise InvalidOption("give one record or more, all with the same number of stages")
        fresh = np.mean(passed, axis=0).tolist()
        before = self.rates or [0.0] * len(fresh)
        keep = self.alpha if self.rates else 0.0
        self.rates = [keep * a + (1 - keep) * b for a, b in zip(before, fresh, strict=True)]
        return before

    def state(self) -> dict[str, Any]:
        return {"rates": list(self.rates)}

    def load(self, state: Mapping[str, Any]) -> None:
        self.rates = [float(rate) for rate in state["rates"]]


def short_bleu(answer: str, wanted: Sequence[str], *, order: int = 4) -> float:
    """BLEU of a short answer, from 0 to 1: the best over the reference answers.

    The geometric mean of clipped n-gram precisions, times BLEU's brevity penalty
    exp(1 - wanted / said) if the answer has fewer words. n goes up to `order` or to the length of
    the shorter text, so that an answer of under four words does not always score 0.
    """
    said = WORD.findall(answer.lower())
    return max((_bleu(said, WORD.findall(one.lower()), order) for one in wanted), default=0.0)


def _bleu(said: Sequence[str], wanted: Sequence[str], order: int) -> float:
    most = min(order, len(said), len(wanted))
    if not most:
        return float(list(said) == list(wanted))
    logs = 0.0
    for size in range(1, most + 1):
        have, want = _grams(said, size), _grams(wanted, size)
        right = sum((have & want).values())
        if not right:
            return 0.0
        logs += log(right / sum(have.values())) / most
    return exp(logs + min(0.0, 1 - len(wanted) / len(said)))


def _grams(words: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + size]) for at in range(len(words) - size + 1))


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
    """Constraint checks, on a dial from the share that is met to all or nothing.

    The dial goes from dense to sparse: share of checks, share of categories, final pass.

    The tag "checks" has lists of true and false by category (schema, commonsense, hard). `dial`
    weighs the share of checks met, the share of categories met in full, and 1 if all are met. The
    sum is paid on the last turn of each seat. "Planner-R1" (2025).
    """
    checks = tag_of(record, "checks", "planner-r1", "constraint checks")
    value = float(np.dot(dial, grade_checks(checks)))
    return at_last(record, lambda _: value)


def grade_checks(checks: Mapping[str, Sequence[bool]]) -> tuple[float, float, float]:
    """Share of checks met, of categories met in full, and whether everything is met."""
    every = [bool(check) for category in checks.values() for check in category]
    if not every:
        raise InvalidOption("a plan with no checks cannot be graded")
    whole = [all(category) for category in checks.values()]
    return float(np.mean(every)), float(np.mean(whole)), float(all(every))
