from __future__ import annotations

from typing import Any

import pytest
from numpy.random import default_rng
from palestra import InvalidOption
from palestra_arena.trust.judges import audit_judge, audit_order, corrected_share


def cases(both: int, judge_only: int, truth_only: int, neither: int) -> tuple[list[bool], ...]:
    said = [True] * (both + judge_only) + [False] * (truth_only + neither)
    true = [True] * both + [False] * judge_only + [True] * truth_only + [False] * neither
    return said, true


@pytest.mark.parametrize(
    ("table", "kappa"),
    [
        # grants read by two people, the worked example of Cohen's kappa in textbooks: 0.7 agree
        ((20, 5, 10, 15), 0.40),
        # the two tables that agree on 60 of 100, and yet not alike
        ((45, 15, 25, 15), 0.1304),
        ((25, 35, 5, 35), 0.2593),
        ((10, 0, 0, 10), 1.0),
        ((10, 10, 10, 10), 0.0),
    ],
)
def test_kappa_of_published_tables(table: tuple[int, ...], kappa: float) -> None:
    audit = audit_judge(*cases(*table))
    assert audit.kappa.value == pytest.approx(kappa, abs=5e-5)
    assert audit.kappa.low <= audit.kappa.value <= audit.kappa.high
    assert audit.agreement.value == (table[0] + table[3]) / sum(table)
    assert audit.sensitivity.value == table[0] / (table[0] + table[2])
    assert audit.specificity.value == table[3] / (table[1] + table[3])


def test_a_judge_of_known_errors_is_seen_through() -> None:
    rng = default_rng(1)
    true = rng.random(4000) < 0.3
    said = true.copy()
    wrong = rng.random(4000)
    said[true & (wrong < 0.2)] = False
    said[~true & (wrong < 0.1)] = True
    audit = audit_judge(said.tolist(), true.tolist(), resamples=200)
    assert audit.sensitivity.low < 0.8 < audit.sensitivity.high
    assert audit.specificity.low < 0.9 < audit.specificity.high
    assert abs(said.mean() - 0.3) > 0.005
    found = corrected_share(said.mean(), audit.sensitivity.value, audit.specificity.value)
    assert found == pytest.approx(true.mean(), abs=1e-9)  # on its own cases it is exact


def test_the_share_in_truth_by_hand() -> None:
    # of 1000, 300 pass: 0.9 of them and 0.2 of the other 700 are passed, 270 + 140
    assert corrected_share(0.41, 0.9, 0.8) == pytest.approx(0.3)
    assert corrected_share(0.1, 0.9, 0.8) == 0.0


def test_a_judge_that_likes_what_comes_first_is_found() -> None:
    audit = audit_order([0] * 9 + [1], [1] * 8 + [0, 1])
    assert audit.consistent.value == pytest.approx(0.2)
    assert audit.first_chosen.value == 1.0
    assert audit.p_value == pytest.approx(2 * 0.5**8)


def test_a_judge_that_keeps_to_its_choice_has_no_place_to_blame() -> None:
    audit = audit_order([0, 1, None], [0, 1, None])
    assert audit.consistent.value == 1.0
    assert audit.p_value == 1.0
    assert (audit.first_chosen.low, audit.first_chosen.high) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: audit_judge([True], [True]), "at least 2 cases"),
        (lambda: audit_judge([True, False], [True]), "at least 2 cases"),
        (lambda: audit_judge([1, 0], [True, False]), "True .passed. or False"),  # type: ignore[list-item]
        (lambda: audit_order([0], [0, 1]), "1 and 2 verdicts"),
        (lambda: audit_order([2], [0]), "0, 1 or None"),
        (lambda: corrected_share(0.5, 0.5, 0.5), "no better than chance"),
        (lambda: corrected_share(1.5, 0.9, 0.9), "passed must be from 0 to 1, not 1.5"),
    ],
)
def test_what_cannot_be_audited_is_named(call: Any, told: str) -> None:
    with pytest.raises(InvalidOption, match=told):
        call()
