"""Hiring experts: scoring rules, the linear programme, and hidden efforts."""

from __future__ import annotations

from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption
from palestra_markets.hiring.hiring import Decide, Exert, Hiring, Offer, Optimal, Report
from palestra_markets.hiring.information import (
    Information,
    Mechanism,
    decision_value,
    joint,
    payments,
    scoring_mechanism,
)
from palestra_markets.hiring.programme import MARGIN, optimal_mechanism

ID = "markets/Hiring-v0"
TWO = Information(2, 2, (0.5, 0.7, 0.85), 0.0)
SHARED = Information(2, 2, (0.5, 0.7, 0.85), 0.5)
COSTS = ((0, 200, 600), (0, 260, 500))


def play(principal: str, experts: int = 2, **options: Any) -> Any:
    agents = [principal] + ["rational-expert"] * experts
    return palestra.play(ID, agents=agents, **{"seed": 0, "episodes": 1} | options)


# Information


@pytest.mark.parametrize("overlap", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("states", [2, 3])
def test_signals_are_right_as_often_as_the_level_says(states: int, overlap: float) -> None:
    known = Information(states, 2, (1 / states, 0.6, 0.9), overlap)
    for profile in known.profiles:
        table = joint(known, profile)
        assert table.sum() == pytest.approx(1)
        assert table.sum((0, 1)) == pytest.approx(1 / states)
        for expert, level in enumerate(profile):
            own = table.sum(1 - expert)
            assert np.trace(own) == pytest.approx(known.accuracies[level])


def test_experts_who_share_their_luck_are_right_together() -> None:
    known = Information(2, 2, (0.5, 0.8), 1.0)
    assert joint(known, (1, 1))[0, 0, 0] + joint(known, (1, 1))[1, 1, 1] == pytest.approx(0.8)
    assert decision_value(known, (1, 1)) == pytest.approx(0.8)  # the second finds nothing new


def test_two_independent_experts_decide_as_often_right_as_the_binomial_says() -> None:
    known = Information(2, 3, (0.5, 0.7), 0.0)
    assert decision_value(known, (1, 1, 1)) == pytest.approx(0.7**3 + 3 * 0.7**2 * 0.3)


# Scoring rules


@pytest.mark.parametrize("rule", ["quadratic", "logarithmic", "spherical"])
@pytest.mark.parametrize("known", [TWO, SHARED, Information(3, 2, (1 / 3, 0.5, 0.9), 0.2)])
@pytest.mark.parametrize("verified", [True, False])
def test_under_a_proper_rule_truth_is_the_best_report_at_every_signal(
    rule: str, known: Information, verified: bool
) -> None:
    for profile in known.profiles:
        offered = scoring_mechanism(known, profile, rule, 100_000, verified)
        for expert, level in enumerate(profile):
            pays = offered.expected(known, expert, level, level)
            assert (pays.diagonal() >= pays.max(1) - 1).all()  # a unit of rounding


def test_a_quadratic_score_is_that_of_brier() -> None:
    """Accuracy 0.7: 0.82 for what was likely, 0.02 else; stretched to 0 and the most."""
    table = payments(TWO, (1, 0), 0, "quadratic", 1000, verified=True)
    assert table[:, 0, :].tolist() == [[1000, 0], [0, 1000]]
    three = Information(2, 1, (0.5, 0.7), 0.0)
    assert payments(three, (1,), 0, "flat", 7, verified=True).tolist() == [[7, 7], [7, 7]]


def test_a_flat_wage_buys_no_effort() -> None:
    offered = scoring_mechanism(TWO, (1, 1), "flat", 10_000, verified=True)
    assert offered.best_answer(TWO, 0, 1, COSTS[0]) == (0, 200)


# The programme


@pytest.mark.parametrize(("right", "cost"), [(0.7, 200), (0.85, 600), (0.9, 1000)])
def test_the_least_pay_that_makes_one_expert_work_is_the_closed_form(
    right: float, cost: int
) -> None:
    """Paid p when they are right: p (q - 1/2) = c, so that q c / (q - 1/2) is paid on average."""
    one = Information(2, 1, (0.5, right), 0.0)
    _, worth = optimal_mechanism(one, ((0, cost),), 10_000, 10_000, only=((1,),))
    paid = right * (cost + MARGIN) / (right - 0.5)
    assert worth == pytest.approx(10_000 * right - paid)


@pytest.mark.parametrize("known", [TWO, SHARED, Information(2, 3, (0.5, 0.8), 0.4)])
@pytest.mark.parametrize("verified", [True, False])
def test_no_deviation_pays_under_the_programmes_mechanism(
    known: Information, verified: bool
) -> None:
    """Every level with every way of reporting, by enumeration, in whole units."""
    costs = tuple((0, 200 + 40 * n, 600)[: known.levels] for n in range(known.experts))
    offered, worth = optimal_mechanism(known, costs, 10_000, 10_000, verified)
    assert sum(offered.chances) == pytest.approx(1)
    assert offered.principal_value(known, 10_000) == pytest.approx(worth, abs=5)
    for expert, advised in product(range(known.experts), range(known.levels)):
        if all(profile[expert] != advised for profile in offered.profiles):
            continue
        obeyed = offered.expected(known, expert, advised, advised).trace() - costs[expert][advised]
        for level, told in product(range(known.levels), product(range(2), repeat=2)):
            pays = offered.expected(known, expert, advised, level)
            gain = sum(pays[seen, said] for seen, said in enumerate(told)) - costs[expert][level]
            assert gain <= obeyed + 1.0001 * (level == advised)
        assert obeyed >= 0


def test_payments_stay_within_bounds_and_know_no_state_where_it_is_not_verified() -> None:
    offered, _ = optimal_mechanism(SHARED, COSTS, 10_000, 4_000, False)
    for tables in offered.pays:
        for table in tables:
            assert table.min() >= 0
            assert table.max() <= 4_000
            assert (table[..., 0] == table[..., 1]).all()


def test_correlating_efforts_beats_every_single_profile() -> None:
    equal = ((0, 200, 600),) * 2
    _, best = optimal_mechanism(SHARED, equal, 10_000, 10_000)
    single = [
        optimal_mechanism(SHARED, equal, 10_000, 10_000, only=(profile,))[1]
        for profile in SHARED.profiles
    ]
    assert best > max(single) + 50


def test_the_optimum_is_that_of_another_solver_in_another_form() -> None:
    """With cvxpy, over reports only (the state is not verified), deviations by best report."""
    known, value, most = SHARED, 10_000, 10_000
    profiles, m = known.profiles, 2
    chance = cp.Variable(len(profiles), nonneg=True)
    pay = [[cp.Variable((m, m), nonneg=True) for _ in range(2)] for _ in profiles]
    rules: list[Any] = [cp.sum(chance) == 1]
    gain: Any = 0
    for place, profile in enumerate(profiles):
        seen = joint(known, profile).sum(2)
        gain += chance[place] * value * decision_value(known, profile)
        for expert in range(2):
            gain -= cp.sum(cp.multiply(seen, pay[place][expert]))
            rules.append(pay[place][expert] <= most * chance[place])
    for expert, advised in product(range(2), range(3)):
        mine = [at for at, p in enumerate(profiles) if p[expert] == advised]
        weight = sum(chance[at] for at in mine)
        truth: Any = sum(
            cp.sum(cp.multiply(joint(known, profiles[at]).sum(2), pay[at][expert])) for at in mine
        )
        for level in range(3):
            for told in product(range(m), repeat=m):
                lies = sum(a != b for a, b in enumerate(told)) / m
                margin = MARGIN if level != advised else lies * MARGIN * (level > 0)
                paid: Any = 0
                for at in mine:
                    chosen = list(profiles[at])
                    chosen[expert] = level
                    seen = joint(known, tuple(chosen)).sum(2)
                    seen = seen if expert == 0 else seen.T
                    table = pay[at][expert] if expert == 0 else pay[at][expert].T
                    paid += sum(seen[s] @ table[told[s]] for s in range(m))
                extra = COSTS[expert][level] - COSTS[expert][advised] - margin
                rules.append(truth >= paid - weight * extra)
    problem = cp.Problem(cp.Maximize(gain), rules)
    problem.solve()
    _, worth = optimal_mechanism(known, COSTS, value, most, False)
    assert worth == pytest.approx(problem.value, rel=1e-4)


# The game


def test_rational_experts_obey_and_tell_the_truth_to_the_reference_principals() -> None:
    for principal in ("programme-principal", "scoring-principal"):
        for options in ({}, {"overlap": 0.5}, {"overlap": 0.5, "verified": False}):
            (record,) = play(principal, rounds=30, **options)
            measured = palestra.measure(record)
            assert measured["obedience"] == measured["truthfulness"] == 1


@pytest.mark.exhaustive
def test_the_principal_gains_what_the_programme_says() -> None:
    (record,) = play("programme-principal", rounds=3000, overlap=0.5)
    told = [tuple(e.data["costs"]) for e in record.opening if e.kind == "costs"]
    _, worth = optimal_mechanism(SHARED, tuple(told), 10_000, 10_000)
    ends = [e.data for e in record.events if "gained" in e.data]
    gains = [data["gained"] - sum(data["paid"]) for data in ends]
    spread = np.std(gains) / len(gains) ** 0.5
    assert np.mean(gains) == pytest.approx(worth, abs=4 * spread)


def test_no_scoring_rule_is_worth_more_than_the_programme() -> None:
    for verified in (True, False):
        game = Hiring(overlap=0.5, verified=verified)
        _, worth = optimal_mechanism(SHARED, COSTS, 10_000, 10_000, verified)
        for rule, pay, profile in product(
            ("quadratic", "spherical"), range(0, 10_001, 500), SHARED.profiles
        ):
            offer = Offer(rule, pay, "".join(map(str, profile)))
            tried: Mechanism = game.mechanism_of(offer, COSTS)
            gains = [
                tried.best_answer(SHARED, n, level, COSTS[n])[1] for n, level in enumerate(profile)
            ]
            if max(gains) == 0:
                assert tried.principal_value(SHARED, 10_000) <= worth + 10


@pytest.mark.slow
@pytest.mark.exhaustive
def test_who_explores_comes_closer_to_the_best_the_longer_they_play() -> None:
    """Mean gain a round; the regret of explore-then-commit falls with T^(-1/3)."""
    gains = []
    for rounds in (60, 2000):
        records = play("exploring-principal", episodes=4, rounds=rounds, known=False)
        gains.append(np.mean([palestra.measure(r)["principal-gain"] for r in records]))
    assert gains[1] > gains[0] + 0.1
    assert gains[1] > 0.5  # what deciding without experts gains


def test_money_goes_from_the_principal_to_the_experts() -> None:
    episode = Episode(Hiring(rounds=1), seed=0)
    episode.act({0: Offer("quadratic", 3000, "11")})
    episode.act({1: Exert(1), 2: Exert(0)})
    costs = episode.state.costs
    episode.act({1: Report(episode.state.signals[0]), 2: Report(0)})
    episode.act({0: Decide(1)})
    paid = episode.step.rewards
    assert paid[0]["decision"] == 10_000 * (episode.state.last == (1, 1))
    assert -paid[0]["paid"] == sum(paid.get(seat, {}).get("paid", 0) for seat in (1, 2))
    assert episode.returns[1] == paid.get(1, {}).get("paid", 0) - costs[0][1]


def test_advice_efforts_and_signals_are_private() -> None:
    episode = Episode(Hiring(), seed=3)
    episode.act({0: Optimal()})
    episode.act({1: Exert(2), 2: Exert(0)})
    for other in (0, 2):
        kinds = [e.kind for e in episode.transcript(other) if e.audience == frozenset({1})]
        assert kinds == []
    assert "level 2" not in episode.prompt(0) + episode.prompt(2)


def test_unknown_costs_are_each_experts_secret_and_no_optimum_is_offered() -> None:
    episode = Episode(Hiring(known=False), seed=0)
    assert "costs" not in {e.kind for e in episode.transcript(0)}
    told = Episode(Hiring(), seed=0)
    assert sum(e.kind == "costs" for e in told.transcript(0)) == 2
    assert sum(e.kind == "costs" for e in told.transcript(1)) == 1
    assert [e.data["expert"] for e in episode.transcript(2) if e.kind == "costs"] == [2]
    with pytest.raises(InvalidAction):
        episode.parse(0, "Optimal()")
    with pytest.raises(InvalidOption, match="must know the costs"):
        play("programme-principal", known=False)


@pytest.mark.parametrize(
    "options",
    [
        {"num_players": 5},
        {"states": 4},
        {"accuracies": (0.4, 0.9)},
        {"accuracies": (0.9, 0.5)},
        {"accuracies": (0.5, 1.0)},
        {"costs": (0, 5)},
        {"costs": (1, 2, 3)},
        {"overlap": float("nan")},
        {"verified": False, "num_players": 2},
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="|".join(options)):
        Hiring(**options)


def test_a_seats_picture_tells_nothing_of_what_others_have_earned() -> None:
    game = palestra.game(ID, num_players=4)
    state = game.initial_state(0)
    state.totals = [40, 10, -5, 7]
    for seat in range(4):
        other = game.clone(state)
        other.totals = [
            own if n == seat else 90_000 * (n + 1) for n, own in enumerate(state.totals)
        ]
        assert game.scene(state, seat) == game.scene(other, seat)
