"""Tests of a judge itself: its position bias, its ranking of answers, its labels of steps."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np
from palestra import InvalidOption

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.judges.scale import prefer, tournament
from palestra_rewards.judges.service import Judge


def consistency(judge: Judge, question: str, pairs: Sequence[tuple[str, str]]) -> float:
    """Share of pairs with the same winner in both orders.

    A judge that answers at random gets 1/2, and one that always picks a position gets 0.
    """
    return float(np.mean([chance != 0.5 for chance in prefer(judge, question, _some(pairs))]))


def pair_accuracy(
    judge: Judge, question: str, pairs: Sequence[tuple[str, str]], *, principles: bool = False
) -> float:
    """Share of (better, worse) pairs decided correctly in both orders: WebArbiter's metric 1."""
    found = prefer(judge, question, _some(pairs), principles=principles)
    return float(np.mean([chance == 1 for chance in found]))


def best_of_n_accuracy(
    judge: Judge, question: str, items: Sequence[Sequence[str]], *, principles: bool = False
) -> float:
    """Share of items whose first text, the best, wins a knockout; WebArbiter's second metric.

    Each item's texts are rotated by its number before the knockout, so that no position wins.
    """
    right = 0
    for number, texts in enumerate(_some(items)):
        order = np.roll(np.arange(len(texts)), number).tolist()
        shown = [texts[place] for place in order]
        ranking = tournament(judge, question, shown, form="single", principles=principles)
        right += order[ranking[0]] == 0
    return right / len(items)


def one_against_many(scores: Any) -> dict[str, float]:
    """How a scorer ranks one correct answer among wrong ones.

    `scores` has shape (items, 1 + wrong answers), the correct answer first. "accuracy" is the share
    of items whose correct answer outranks all others, "mrr" the mean reciprocal rank. Equal scores
    rank the correct answer last, so that a constant scorer gets an accuracy of 0.
    Kim et al., "Evaluating Robustness of Reward Models for Mathematical Reasoning" (2024), where
    nine answers are wrong.
    """
    table = floats(scores)
    if table.ndim != 2 or table.shape[1] < 2 or not table.shape[0]:
        raise InvalidOption(f"scores must have shape (items, 2 or more), not {table.shape}")
    rank = 1 + (table[:, 1:] >= table[:, :1]).sum(axis=1)
    return {"accuracy": float((rank == 1).mean()), "mrr": float((1 / rank).mean())}


def over_optimisation(proxy: Any, true: Any) -> Floats:
    """Expected true score of the best of n by the proxy, for n = 1 to all, without replacement.

    `proxy`, `true` and the result have shape (answers,). A curve that falls as n grows means that
    the proxy is being gamed. The result is exact: the answer of rank k is the best of n with
    probability C(k, n-1) / C(N, n); answers with equal proxies share their mean.
    """
    guess, worth = floats(proxy), floats(true)
    if guess.shape != worth.shape or guess.ndim != 1 or not guess.size:
        raise InvalidOption(
            "proxy and true must have one number per answer, for one answer or more"
        )
    order = np.argsort(guess, kind="stable")
    ties = np.unique(guess, return_inverse=True)[1]
    worth = (np.bincount(ties, worth) / np.bincount(ties))[ties][order]
    size = worth.size
    return floats(
        [
            sum(comb(k, n - 1) * worth[k] for k in range(size)) / comb(size, n)
            for n in range(1, size + 1)
        ]
    )


def inherit_faults(labels: Sequence[int], needs: Sequence[Sequence[int]]) -> list[int]:
    """Labels of steps, -1 passed on to every step that builds on a bad one.

    `labels` are 1 (good), 0 (exploring) or -1 (bad), and `needs` lists the earlier steps each one
    builds on; a step that repairs an error should list nothing bad, which stops the passing on.
    "AgentProcessBench: Diagnosing Step-Level Process Quality in Tool-Using Agents".
    """
    found: list[int] = []
    for step, (label, before) in enumerate(zip(labels, needs, strict=True)):
        if label not in (-1, 0, 1) or any(not 0 <= one < step for one in before):
            raise InvalidOption(f"step {step} has label {label} and builds on {list(before)}")
        found.append(-1 if any(found[one] < 0 for one in before) else label)
    return found


def step_figures(
    labels: Sequence[Sequence[int]], true: Sequence[Sequence[int]]
) -> dict[str, float]:
    """Accuracy of step labels: "steps", "first error" and "steps at n", as AgentProcessBench has.

    "steps" is the share of all steps labelled correctly; "first error" the share of episodes whose
    first bad step, or the absence of one, is found; "steps at n" is "steps" for episodes of n
    steps. Compare "steps" with its parts, since short episodes hold more good steps.
    """
    pairs = list(zip(labels, true, strict=True))
    if not pairs or any(len(a) != len(b) or not b for a, b in pairs):
        raise InvalidOption(
            "labels and true must have one label per step each, for one episode or more"
        )
    right = [np.equal(a, b) for a, b in pairs]
    first = [_first_bad(a) == _first_bad(b) for a, b in pairs]
    found = {"steps": float(np.concatenate(right).mean()), "first error": float(np.mean(first))}
    for length in sorted({len(b) for b in true}):
        rows = [row for row in right if row.size == length]
        found[f"steps at {length}"] = float(np.mean(rows))
    return found


def _first_bad(labels: Sequence[int]) -> int:
    return next((place for place, label in enumerate(labels) if label < 0), -1)


def _some(items: Sequence[Any]) -> Sequence[Any]:
    if not items:
        raise InvalidOption("testing a judge needs one item or more; there are none")
    return items
