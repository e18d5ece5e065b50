"""Rollouts compared in pairs: self-play preference and tournaments."""

from __future__ import annotations

import numpy as np
import palestra
import pytest
from hypothesis import given
from hypothesis import strategies as st
from palestra_rewards import estimate
from palestra_rewards.estimators.arena import FORMS, Matches, round_robin, seeded_bracket
from palestra_rewards.estimators.preference import wins
from reward_rollouts import outcomes
from scipy.stats import kendalltau

SIZES = range(2, 18)


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=12))
def test_preference_rewards_average_one_half(returns: list[float]) -> None:
    assert wins(outcomes(*returns)).mean() == pytest.approx(0.5)


def test_preferences_by_a_biased_judge_average_one_half_too() -> None:
    table = np.random.default_rng(0).random((6, 6))
    assert wins(outcomes(*range(6)), table).mean() == pytest.approx(0.5)


def test_the_uniform_mixture_is_a_fixed_point_of_rock_paper_scissors() -> None:
    beats = np.array([[0.5, 0.0, 1.0], [1.0, 0.5, 0.0], [0.0, 1.0, 0.5]])
    moves = np.tile([0, 1, 2], 4)
    group = outcomes(*np.zeros(12))
    values = estimate("self-play-preference", group, prefer=lambda i, j: beats[moves[i], moves[j]])
    np.testing.assert_allclose(values.values, 0, atol=1e-12)


def test_a_preference_for_the_higher_return_is_the_default() -> None:
    group = outcomes(1, 1, 0, 5)

    def prefer(i: int, j: int) -> float:
        return (np.sign(group.returns[i] - group.returns[j]) + 1) / 2

    np.testing.assert_allclose(
        estimate("self-play-preference", group, prefer=prefer).values,
        estimate("self-play-preference", group).values,
    )


def sure(quality: np.ndarray) -> Matches:
    return Matches(lambda i, j: float(quality[i] > quality[j]))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", SIZES)
def test_a_noise_free_judge_puts_the_true_best_first(form: str, size: int) -> None:
    quality = np.random.default_rng(size).permutation(size)
    ranking = FORMS[form](list(range(size)), sure(quality))
    assert sorted(ranking) == list(range(size))
    assert ranking[0] == quality.argmax()


@pytest.mark.parametrize("size", SIZES)
def test_a_seeded_bracket_takes_two_times_n_minus_one_matches(size: int) -> None:
    matches = sure(np.random.default_rng(size).permutation(size))
    seeded_bracket(list(range(size)), matches)
    assert matches.played == 2 * (size - 1)


def test_agreement_with_round_robin_rises_with_the_judges_accuracy() -> None:
    def agreement(accuracy: float) -> float:
        rng, found = np.random.default_rng(1), []
        for _ in range(60):
            quality = rng.permutation(8)

            def judge(i: int, j: int, quality: np.ndarray = quality) -> float:
                return float((quality[i] > quality[j]) == (rng.random() < accuracy))

            bracket = seeded_bracket(list(range(8)), Matches(judge))
            full = round_robin(list(range(8)), sure(quality))
            found.append(kendalltau(np.argsort(bracket), np.argsort(full)).statistic)
        return float(np.mean(found))

    coin, fair, good = agreement(0.5), agreement(0.75), agreement(1.0)
    assert coin < fair < good


def test_a_judge_that_prefers_the_first_place_has_no_say() -> None:
    assert Matches(lambda i, j: 1.0).better(3, 4) == 0.5


def test_quantile_rewards_are_standardised() -> None:
    group = outcomes(3, 1, 2)
    found = estimate("arena", group, judge=lambda i, j: float(group.returns[i] > group.returns[j]))
    np.testing.assert_allclose(found.values, np.array([1, -1, 0]) * np.sqrt(1.5))


def test_an_unknown_form_is_named() -> None:
    with pytest.raises(palestra.InvalidOption, match="'seeded' or 'single'"):
        estimate("arena", outcomes(1, 2), judge=lambda i, j: 0.5, form="ladder")
