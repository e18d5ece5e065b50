"""The screening desk: Bayes' rule, the least cost by enumeration, and what it costs in play."""

from __future__ import annotations

from itertools import product
from math import log
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode, EpisodeRecord, InvalidAction, InvalidOption
from palestra.records.record import EventRecord
from palestra_markets.screening.evidence import (
    SCORES,
    Costs,
    Evidence,
    least_cost,
    optimal_cost,
    posterior,
)
from palestra_markets.screening.screening import THEMES, Accept, Check, Reject, Screening

ID = "markets/Screening-v0"
CLEAR = Evidence(1.2, 0.0)
HIRE = THEMES["hire"].prices


def play(agent: str, **options: Any) -> Any:
    return palestra.play(ID, agents=[agent], **{"seed": 0, "episodes": 1} | options)


def test_prices_are_the_published_ones() -> None:
    assert Costs(150, 2_500, 40_000) == HIRE
    assert least_cost(0.0624, (0,) * 5, 0, CLEAR, 0, HIRE) == pytest.approx(0.0624 * 40_000)
    assert least_cost(0.0626, (0,) * 5, 0, CLEAR, 0, HIRE) == 2_500  # from 2,500 / 40,000 on


@pytest.mark.parametrize("evidence", [CLEAR, Evidence(0.5, 0.3), Evidence(3.0, 1.0)])
@pytest.mark.parametrize("group", [0, 1])
def test_scores_are_distributions_whose_odds_rise(evidence: Evidence, group: int) -> None:
    bad, good = evidence.likelihoods(group)
    assert sum(bad) == pytest.approx(1)
    assert sum(good) == pytest.approx(1)
    odds = [g / b for g, b in zip(good, bad, strict=True) if b > 1e-12]
    assert odds == sorted(odds)
    if not group:
        assert odds[1] / odds[0] == pytest.approx(np.exp(evidence.clarity))


def test_a_posterior_is_bayes_rule_by_hand_and_its_mean_is_the_prior() -> None:
    bad, good = CLEAR.likelihoods(0)
    by_hand = 0.1 * good[4] * good[2] / (0.1 * good[4] * good[2] + 0.9 * bad[4] * bad[2])
    assert posterior(0.1, [4, 2], CLEAR, 0) == pytest.approx(by_hand)
    mean = sum(
        (0.1 * good[s] + 0.9 * bad[s]) * posterior(0.1, [s], CLEAR, 0) for s in range(SCORES)
    )
    assert mean == pytest.approx(0.1)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("group", [0, 1])
def test_the_least_cost_is_that_of_the_best_of_all_policies(theme: str, group: int) -> None:
    """With one check: for every first score accept, reject, or check, then every way to go on."""
    evidence, prices, prior = Evidence(1.0, 0.4), THEMES[theme].prices, THEMES[theme].chance
    bad, good = evidence.likelihoods(group)

    def cost(seen: tuple[int, ...], accept: bool) -> float:
        """Of a decision, weighted with the chance of the notes."""
        is_good, is_bad = prior, 1 - prior
        for score in seen:
            is_good, is_bad = is_good * good[score], is_bad * bad[score]
        return prices.accept * (is_good + is_bad) if accept else prices.miss * is_good

    total = 0.0
    for first in range(SCORES):
        ways = [cost((first,), accept) for accept in (True, False)]
        chance = prior * good[first] + (1 - prior) * bad[first]
        ways += [
            prices.check * chance
            + sum(cost((first, second), accept) for second, accept in enumerate(policy))
            for policy in product((True, False), repeat=SCORES)
        ]
        total += min(ways)
    assert optimal_cost(prior, 1, evidence, group, prices) == pytest.approx(total)


def test_more_checks_never_cost_more() -> None:
    costs = [optimal_cost(0.1, checks, CLEAR, 0, HIRE) for checks in range(6)]
    assert costs == sorted(costs, reverse=True)
    assert costs[4] < 0.8 * costs[0]


@pytest.mark.parametrize("options", [{}, {"theme": "fraud"}, {"bias": 0.5}])
def test_the_optimal_policy_costs_what_it_should(options: dict[str, Any]) -> None:
    records = play("bayes-screener", episodes=40, cases=40, **options)
    game = Screening(**options)
    expected = np.mean(
        [optimal_cost(game.prior, 4, game.evidence, g, game.words.prices) for g in (0, 1)]
    )
    told = [e.data for r in records for e in r.events if e.kind == "reveal"]
    cases = [data for data in told if "accepted" in data]
    costs = [c["price"] + (c["notes"] - 1) * game.words.prices.check for c in cases]
    assert sum(costs) == pytest.approx(-sum(record.returns[0] for record in records))
    assert np.mean(costs) == pytest.approx(expected, abs=4 * np.std(costs) / len(costs) ** 0.5)


def test_the_optimal_policy_is_cheaper_than_confidence_and_fairer_under_bias() -> None:
    costs, gaps, missed = [], [], []
    for agent in ("bayes-screener", "confidence-screener:confidence=0.3"):
        records = play(agent, episodes=12, cases=250, bias=0.6, chance=0.3)
        told = [e.data for r in records for e in r.events if e.kind == "reveal"]
        cases = [data for data in told if "accepted" in data]
        rates = [np.mean([c["accepted"] for c in cases if c["group"] == g]) for g in (0, 1)]
        gaps.append(abs(rates[0] - rates[1]))
        costs.append(np.mean([palestra.measure(r)["cost-ratio"] for r in records]))
        missed.append(np.mean([palestra.measure(r)["missed-share"] for r in records]))
    assert costs[0] == pytest.approx(1, abs=0.1)
    assert costs[1] > 1.5
    assert gaps[0] < 0.8 * gaps[1]
    assert missed[0] < missed[1]


def test_decisions_cost_what_the_rules_say() -> None:
    for seed in range(8):
        episode = Episode(Screening(cases=2), seed=seed)
        good = episode.state.good
        episode.act({0: Check()})
        assert episode.rewards[0] == -150
        episode.act({0: Reject()})
        assert episode.rewards[0] == -40_000 * good
        episode.act({0: Accept()})
        assert episode.rewards[0] == -2_500
        assert episode.over


def test_checks_run_out() -> None:
    episode = Episode(Screening(checks=1), seed=0)
    episode.act({0: Check()})
    with pytest.raises(InvalidAction):
        episode.parse(0, "Check()")


def test_whether_a_case_is_good_is_hidden_until_it_is_decided() -> None:
    game = Screening()
    state = game.initial_state(0)
    seen = set()
    for good in (False, True):
        state.good = good
        seen.add((game.describe(state, 0), game.observe(state, 0).tobytes()))
    assert len(seen) == 1


@pytest.mark.parametrize(
    "options",
    [{"theme": "love"}, {"cases": 0}, {"checks": 9}, {"clarity": float("nan")}, {"bias": 1.5},
     {"chance": 0.0}],
)  # fmt: skip
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="|".join(options)):
        Screening(**options)


def test_a_confidence_that_is_none_is_named() -> None:
    with pytest.raises(
        InvalidOption,
        match=r"confidence of agent .confidence-screener. must be a number from 0 to 1",
    ):
        play("confidence-screener:confidence=2")


def test_the_parity_gap_is_the_difference_of_both_groups_rates() -> None:
    (record,) = play("confidence-screener:confidence=0.1", cases=60)
    told = [e.data for e in record.events if e.kind == "reveal" and "accepted" in e.data]
    blue, green = ([d["accepted"] for d in told if d["group"] == group] for group in (0, 1))
    gap = palestra.measure(record)["parity-gap"]
    assert gap == pytest.approx(abs(sum(blue) / len(blue) - sum(green) / len(green)))
    assert 0 < gap < 1


def test_the_cost_ratio_by_hand() -> None:
    """Good cases are a quarter; a score is three times as likely for them as the one below it."""
    options: dict[str, Any] = {
        "theme": "hire",
        "chance": 0.25,
        "checks": 0,
        "clarity": log(3),
        "bias": 0.0,
    }
    game = Screening(**options)
    told = []
    chances = {3: 1 / 2, 2: 1 / 4, 0: 1 / 28}  # odds of 1/3, times 3, 1 and 1/9
    for case, (score, accepted, good) in enumerate([(3, False, True), (2, True, False), (0, 0, 0)]):
        told.append(EventRecord("reveal", "", {"score": score, "group": 0, "case": case}))
        verdict = {"group": 0, "good": bool(good), "accepted": bool(accepted), "notes": 1}
        told.append(EventRecord("reveal", "", verdict))
    record = EpisodeRecord(ID, 0, ("player_0",), options=options, opening=told)
    accept, miss = game.words.prices.accept, game.words.prices.miss
    spent = miss * chances[3] + accept + miss * chances[0]  # not what happened to be true
    least = sum(min(accept, miss * chance) for chance in chances.values())
    assert palestra.measure(record, ["cost-ratio"])["cost-ratio"] == pytest.approx(spent / least)
    assert "cost-ratio" not in palestra.measure(
        EpisodeRecord(ID, 0, ("player_0",), options=options)
    )
