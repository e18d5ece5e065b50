"""Composed systems: the sandbox, the exact optimum, and the ratio that is proved."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import palestra
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import Episode, InvalidAction, InvalidOption, Rng
from palestra_markets.composer.components import Component, best_value, draw_component
from palestra_markets.composer.composer import Buy, Composer, Skip, Try
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.stats import hypergeom

ID = "markets/Composer-v0"
KNOWN = {"trials": 1, "probes": 100, "trial_price": 0}  # a trial tells the value


def play(agent: str, **options: Any) -> Any:
    return palestra.play(ID, agents=[agent], **{"seed": 0, "episodes": 1} | options)


def by_programme(components: list[Component], budget: int, kinds: int) -> int:
    """The optimum by HiGHS, through scipy."""
    rows = [[float(c.price) for c in components]]
    rows += [[float(c.kind == kind) for c in components] for kind in range(kinds)]
    found = milp(
        [-c.value for c in components],
        constraints=LinearConstraint(rows, ub=[budget] + [1] * kinds),
        integrality=np.ones(len(components)),
        bounds=Bounds(0, 1),
    )
    return -round(found.fun)


ROW = st.tuples(st.integers(1, 40), st.integers(1, 100), st.integers(0, 3))


@settings(max_examples=60)
@given(st.lists(ROW, min_size=1, max_size=25), st.integers(1, 300), st.sampled_from([0, 4]))
def test_the_optimum_is_that_of_mixed_integer_programming(
    rows: Any, budget: int, kinds: int
) -> None:
    components = [Component(price, value, 0, kind) for price, value, kind in rows]
    assert best_value(components, budget, kinds) == by_programme(components, budget, kinds)


def test_a_trial_is_a_draw_without_repetition() -> None:
    """Solved queries of one trial follow the hypergeometric distribution; all say the value."""
    game = Composer(components=((20, 30),), hype=0.0)
    drawn = []
    for seed in range(3000):
        state = game.initial_state(seed)
        game.step(state, {0: Try()})
        drawn.append(state.solved)
    expected = hypergeom(100, 30, 10)
    assert np.mean(drawn) == pytest.approx(expected.mean(), abs=0.1)
    assert np.var(drawn) == pytest.approx(expected.var(), rel=0.1)
    state = Composer(components=((20, 30),), **KNOWN).initial_state(1)
    Composer(components=((20, 30),), **KNOWN).step(state, {0: Try()})
    assert state.solved == 30


def test_values_keep_their_bounds_and_claims_are_hyped() -> None:
    rng = Rng(1)
    drawn = [draw_component(0.5, 2.0, 0, 10.0, rng) for _ in range(3000)]
    assert all(0.5 * c.price <= c.value <= 2 * c.price for c in drawn)
    assert np.mean([c.claim - c.value for c in drawn]) == pytest.approx(10, abs=1)


@pytest.mark.parametrize("high", [0.5, 1.0, 2.5])
def test_the_threshold_keeps_its_ratio_in_any_order_of_small_components(high: float) -> None:
    for seed in range(4):
        (record,) = play(
            "zcl-buyer", seed=seed, offers=300, budget=2_000, low=0.25, high=high, **KNOWN
        )
        assert palestra.measure(record)["composition-ratio"] >= 1 / (log(high / 0.25) + 1) - 0.03


def test_it_gets_no_more_than_that_in_the_worst_order() -> None:
    """Values a price that rise to the highest, enough of each to fill the budget (WINE 2008)."""
    budget, price, low = 1_000, 40, 0.25
    for most in (20, 40, 100):
        levels = [(price, value) for value in range(10, most + 1) for _ in range(budget // price)]
        high = most / price
        (record,) = play(
            "zcl-buyer", components=tuple(levels), budget=budget, low=low, high=2.5, **KNOWN
        )
        earned = record.returns[0] / (high * budget)
        proved = 1 / (log(2.5 / low) + 1)
        assert proved - 0.03 <= earned <= proved + 0.08


@pytest.mark.exhaustive
def test_trials_beat_descriptions_and_taking_whatever_comes() -> None:
    means = {}
    for agent in ("zcl-buyer", "zcl-buyer:trials=0", "greedy-buyer:floor=0"):
        records = play(agent, episodes=40, offers=100, trial_price=0)
        measured = [palestra.measure(record) for record in records]
        means[agent] = np.mean([m["composition-ratio"] for m in measured])
        assert all(m["budget-used"] <= 1 for m in measured)
        assert all(m["composition-ratio"] <= 1 for m in measured)
    tried, claimed, blind = means.values()
    assert tried > claimed > blind


def test_what_is_let_go_does_not_come_again_and_kinds_fill() -> None:
    game = Composer(kinds=1, offers=3, budget=1_000)
    episode = Episode(game, seed=0)
    episode.act({0: Buy()})
    assert "Buy()" not in str(game.legal(episode.state, 0))
    with pytest.raises(InvalidAction):
        episode.act({0: Buy()})
    episode.act({0: Skip()})
    episode.act({0: Skip()})
    assert episode.over
    assert episode.returns[0] == episode.state.seen[0].value


def test_nothing_is_bought_or_tried_without_money() -> None:
    episode = Episode(Composer(budget=5, trial_price=3, components=((6, 6), (4, 4))), seed=0)
    with pytest.raises(InvalidAction):
        episode.act({0: Buy()})
    episode.act({0: Try()})
    for action in (Try(), Buy()):
        with pytest.raises(InvalidAction):
            episode.act({0: action})
    assert episode.state.left == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [({"offers": 0}, "offers"), ({"low": 0.0}, "low"), ({"high": 3.0}, "high"),
     ({"low": 1.0, "high": 0.5}, "high"), ({"trials": 11}, "sandbox has 100"),
     ({"hype": float("nan")}, "hype"), ({"components": ((20, 90),)}, "must be worth from"),
     ({"components": ((20,),)}, "a list of 2 items: an integer, an integer"),
     ({"components": ((-5, 3),)}, "component 0")],
)  # fmt: skip
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        Composer(**options)
