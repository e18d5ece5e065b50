"""Estimators against statsmodels and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import palestra
import pytest
import statsmodels.api as sm
from palestra import Rng
from palestra_tasks.science.econometrics import (
    METHODS,
    STUDIES,
    draw_table,
    estimate,
    two_stage,
)
from palestra_tasks.science.effects import Econometrics, Estimate, Report
from statsmodels.sandbox.regression.gmm import IV2SLS


def design(table: Any, method: str) -> tuple[Any, Any, int]:
    """y, the columns, and which of them is of interest, as a textbook writes them."""
    y, one = table["y"], np.ones(len(table["y"]))
    if method == "ols":
        return y, np.column_stack([one, table["x"]]), 1
    if method == "ols-controls":
        return y, np.column_stack([one, table["x"], table["w"]]), 1
    if method == "did":
        g, t = table["group"], table["period"]
        return y, np.column_stack([one, g, t, g * t]), 3
    if method == "fixed-effects":
        dummies = [table["unit"] == u for u in np.unique(table["unit"])]
        return y, np.column_stack([table["x"], *dummies]).astype(float), 0
    near = abs(table["score"]) <= 0.5
    s = table["score"][near]
    return y[near], np.column_stack([one[near], s >= 0, s, (s >= 0) * s]).astype(float), 1


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_estimates_and_errors_are_those_of_statsmodels(name: str) -> None:
    table = draw_table(name, 200, 4)
    for method, (needs, _) in METHODS.items():
        if method == "iv" or any(column not in table for column in needs):
            continue
        y, columns, at = design(table, method)
        fit = sm.OLS(y, columns).fit()
        found = estimate(table, method)
        assert found.value == pytest.approx(fit.params[at]), method
        assert found.error == pytest.approx(fit.bse[at]), method


def test_two_stages_are_those_of_statsmodels() -> None:
    table = draw_table("instrument", 300, 5)
    one = np.ones(300)
    fit = IV2SLS(
        table["y"],
        np.column_stack([one, table["x"]]),
        np.column_stack([one, table["z"]]),
    ).fit()
    found = two_stage(table)
    assert found.value == pytest.approx(fit.params[1])
    assert found.error == pytest.approx(fit.bse[1], rel=0.02)
    # just identified, it is Wald's ratio of covariances
    wald = np.cov(table["y"], table["z"])[0, 1] / np.cov(table["x"], table["z"])[0, 1]
    assert found.value == pytest.approx(wald)


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_the_method_that_fits_is_not_biased_and_the_naive_one_is(name: str) -> None:
    right, naive = [], []
    for seed in range(12):
        table = STUDIES[name].draw(Rng.seeded(seed), 600, 2.0)
        right.append(estimate(table, STUDIES[name].method).value)
        naive.append(estimate(table, "ols").value)
    assert np.mean(right) == pytest.approx(2.0, abs=0.12)
    assert abs(np.mean(naive) - 2.0) > 0.3


def test_whoever_reads_the_story_is_right() -> None:
    for agents, low, high in (("econometrics-reader", 1.0, 1.0), ("econometrics-naive", 0, 0.8)):
        records = palestra.play(
            "tasks/Econometrics-v0", agents=agents, seed=1, episodes=10, split="texts"
        )
        assert not any(record.error for record in records), records[0].error
        mean = sum(record.returns[0] for record in records) / 10
        assert low - 1e-3 <= mean <= high + 1e-9


def test_what_cannot_be_estimated_is_named() -> None:
    episode = palestra.Episode(Econometrics(study="law"), 0)
    episode.act({0: Estimate("rdd")})
    assert "'score'" in episode.log[-1][0].text
    episode.act({0: Report("NaN")})
    assert episode.returns[0] == 0
