"""The statistics of the check that compares imagined worlds with those that are dealt."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from palestra.testing.dealing import _difference, unlike
from scipy import stats


@pytest.mark.parametrize(
    "counts",
    [
        ((50, 60), (70, 40)),
        ((30, 40, 30), (10, 50, 40)),
        ((20, 30, 25, 25, 10), (30, 11, 29, 30, 10)),
    ],
)
def test_the_difference_of_two_samples_is_scipys_chi_square(
    counts: tuple[tuple[int, ...], ...],
) -> None:
    one, two = ([kind for kind, n in enumerate(row) for _ in range(n)] for row in counts)
    expected = float(stats.chi2_contingency(np.array(counts), correction=False).pvalue)
    found = 1 - NormalDist().cdf(_difference(one, two))
    assert found == pytest.approx(expected, rel=0.15)


def test_samples_of_one_distribution_differ_by_chance_alone() -> None:
    """By a chance of 1 in 20,000 for each, among a thousand pairs of samples none does."""
    rng = np.random.default_rng(2)
    for _ in range(1000):
        samples = [[{"a": int(v)} for v in rng.integers(0, 4, 60)] for _ in range(2)]
        assert unlike(*samples) is None


def test_the_feature_that_differs_most_is_named() -> None:
    rng = np.random.default_rng(3)
    one, two = (
        [
            {"same": int(v), "less": float(v < 2), "shifted": float(v + n)}
            for v in rng.integers(0, 9, 200)
        ]
        for n in (0, 5)
    )
    found = unlike(one, two)
    assert found is not None
    assert found[0] == "shifted"
    assert sum(found[1].values()) == sum(found[2].values()) == 200
