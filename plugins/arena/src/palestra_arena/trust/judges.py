"""Whether a judge's verdicts can be trusted, where the truth of some of them is known.

`audit_judge` compares verdicts with the truth; `audit_order` compares verdicts on pairs with those
on the same pairs in reverse order; `corrected_share` estimates the true share of passes from the
share that a judge of known error rates passed.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray
from palestra import InvalidOption
from palestra.records.intervals import alike_interval
from scipy import stats

from palestra_arena.statistics import Interval, wilson


class JudgeAudit(NamedTuple):
    """How well a judge agrees with the truth.

    `kappa` is Cohen's kappa (1960), the agreement beyond chance: 1 if all verdicts are right, 0 for
    chance. `sensitivity` is the share of true passes that the
    judge passed, `specificity` the share of true failures that it failed.
    """

    agreement: Interval
    kappa: Interval
    sensitivity: Interval
    specificity: Interval


class OrderAudit(NamedTuple):
    """How much the order within a pair changes a judge's verdict.

    `consistent` is the share of pairs with the same winner both ways; `first_chosen` the share of
    inconsistent pairs in which the first of the two won; `p_value` tests that share against one
    half (exact binomial test).
    """

    consistent: Interval
    first_chosen: Interval
    p_value: float


def audit_judge(
    verdicts: Sequence[bool],
    truth: Sequence[bool],
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> JudgeAudit:
    """Verdicts against the truth of the same cases; the interval of kappa is a bootstrap's."""
    said, true = _cases(verdicts, truth)
    right = int((said == true).sum())
    draws = default_rng(seed).integers(0, len(said), (resamples, len(said)))
    kappas = np.array([_kappa(said[draw], true[draw]) for draw in draws])
    tail = (1 - confidence) / 2
    low, high = np.quantile(kappas, [tail, 1 - tail])
    kappa = Interval(_kappa(said, true), float(low), float(high))
    if low == high:
        kappa = alike_interval(kappa.value, len(said), (-1, 1), confidence)
    return JudgeAudit(
        wilson(right, len(said), confidence),
        kappa,
        wilson(int((said & true).sum()), int(true.sum()), confidence),
        wilson(int((~said & ~true).sum()), int((~true).sum()), confidence),
    )


def _cases(verdicts: Sequence[bool], truth: Sequence[bool]) -> tuple[NDArray[np.bool_], ...]:
    said, true = np.asarray(verdicts), np.asarray(truth)
    if said.shape != true.shape or said.ndim != 1 or len(said) < 2:
        raise InvalidOption(
            f"an audit needs a verdict and the truth of at least 2 cases, not {said.shape} "
            f"verdicts and {true.shape} truths"
        )
    if said.dtype != bool or true.dtype != bool:
        raise InvalidOption("verdicts and truths are True (passed) or False")
    return said, true


def _kappa(said: NDArray[np.bool_], true: NDArray[np.bool_]) -> float:
    agreed = float((said == true).mean())
    one, two = float(said.mean()), float(true.mean())
    chance = one * two + (1 - one) * (1 - two)
    return 1.0 if chance == 1 else (agreed - chance) / (1 - chance)


def audit_order(
    winners: Sequence[Hashable], swapped: Sequence[Hashable], *, confidence: float = 0.95
) -> OrderAudit:
    """Compare the winners of pairs, 0 or 1 in the pair's own numbering, before and after a swap.

    In the first showing 0 comes first, in the swapped one 1 does; None is a tie.
    """
    pairs = list(zip(winners, swapped, strict=False))
    known = {0, 1, None}
    if len(winners) != len(swapped) or not pairs or not {w for p in pairs for w in p} <= known:
        raise InvalidOption(
            "an audit of order needs two lists of one length of 0, 1 or None, "
            f"not {len(winners)} and {len(swapped)} verdicts"
        )
    same = sum(one == two for one, two in pairs)
    first = sum(pair == (0, 1) for pair in pairs)  # whoever was shown first, both times
    last = sum(pair == (1, 0) for pair in pairs)
    decided = first + last
    p_value = float(stats.binomtest(first, decided).pvalue) if decided else 1.0
    return OrderAudit(
        wilson(same, len(pairs), confidence), wilson(first, decided, confidence), p_value
    )


def corrected_share(passed: float, sensitivity: float, specificity: float) -> float:
    """The true share of passes, given the share `passed` by a judge (Rogan and Gladen 1978).

    Raises `InvalidOption` unless sensitivity + specificity is over 1: other verdicts are no better
    than chance.
    """
    for name, value in (
        ("passed", passed),
        ("sensitivity", sensitivity),
        ("specificity", specificity),
    ):
        if not 0 <= value <= 1:
            raise InvalidOption(f"{name} must be from 0 to 1, not {value}")
    if sensitivity + specificity <= 1:
        raise InvalidOption(
            f"a judge of sensitivity {sensitivity} and specificity {specificity} is no better than "
            "chance; no share can be read from its verdicts"
        )
    share = (passed + specificity - 1) / (sensitivity + specificity - 1)
    return min(1.0, max(0.0, share))
