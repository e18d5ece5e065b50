"""MatchTIR: tool calls matched with those of a reference trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from palestra import EpisodeRecord, Meta, reward

from palestra_rewards.arrays import Floats
from palestra_rewards.episodes.turns import tag_of

Call = Mapping[str, Any]


@reward(
    "matchtir",
    shape="episode",
    needs=("tool calls", "reference trace"),
    paper=(
        "MatchTIR: Fine-Grained Supervision for Tool-Integrated Reasoning via Bipartite Matching"
    ),
    check="test_the_reference_trace_scores_one_a_call",
    cost="assignment",
)
def matchtir(
    record: EpisodeRecord,
    *,
    reference: Annotated[
        Sequence[Call], Meta(description="the calls of a right solution, in order")
    ],
    matching: Annotated[
        Literal["hard", "soft"], Meta(description="one to one, or by optimal transport")
    ] = "hard",
    penalty: Annotated[
        float, Meta(ge=0, description="taken off for each call without a match")
    ] = 0.0,
) -> Floats:
    """Tool calls matched with those of a reference trace, one to one or by optimal transport.

    Each turn gets the matched similarity of its calls, minus `penalty` for each unmatched call.

    The tag "calls" has, for each turn, a list of calls: `{"name": …, "arguments": {…}}`. "hard" is
    the best one-to-one matching, "soft" an optimal transport between calls of equal mass, scaled
    so that the reference itself scores 1 per call. "MatchTIR".
    """
    made = tag_of(record, "calls", "matchtir", "tool calls")
    owner = [turn for turn, calls in enumerate(made) for _ in calls]
    calls = [call for turn in made for call in turn]
    paid = np.zeros(len(record.turns))
    if not calls:
        return paid
    table = np.array([[similarity(call, wanted) for wanted in reference] for call in calls])
    table = table.reshape(len(calls), len(reference))
    mass = hard_mass(table) if matching == "hard" else soft_mass(table)
    np.add.at(paid, owner, np.where(mass > 0, mass, -penalty))
    return paid


def similarity(made: Call, wanted: Call) -> float:
    """0 for another tool; else the mean of 1 and the shares of common names and equal values."""
    if made["name"] != wanted["name"]:
        return 0.0
    ours, theirs = made.get("arguments", {}), wanted.get("arguments", {})
    either, both = set(ours) | set(theirs), set(ours) & set(theirs)
    if not either:
        return 1.0
    equal = sum(ours[name] == theirs[name] for name in both)
    return float(1 + len(both) / len(either) + equal / len(either)) / 3


def hard_mass(table: Floats) -> Floats:
    """Similarity of each call under the one-to-one matching of greatest total."""
    from scipy.optimize import linear_sum_assignment

    mass = np.zeros(table.shape[0])
    rows, columns = linear_sum_assignment(table, maximize=True)
    mass[rows] = table[rows, columns]
    return mass


def soft_mass(table: Floats) -> Floats:
    """Similarity that each call carries in the optimal transport to all reference calls."""
    from scipy.optimize import linprog

    made, wanted = table.shape
    if not wanted:
        return np.zeros(made)
    sums = np.zeros((made + wanted, made * wanted))
    for row in range(made):
        sums[row, row * wanted : (row + 1) * wanted] = 1
    for column in range(wanted):
        sums[made + column, column::wanted] = 1
    limits = np.concatenate([np.full(made, 1 / made), np.full(wanted, 1 / wanted)])
    plan = linprog(-table.ravel(), A_eq=sums, b_eq=limits, bounds=(0, None)).x
    carried = plan.reshape(made, wanted) * table
    return np.asarray(carried.sum(axis=1) * wanted, dtype=np.float64)
