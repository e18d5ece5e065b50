from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cvxpy
import numpy as np
import palestra
import pyspiel
import pytest
from numpy.typing import NDArray
from open_spiel.python import policy as spiel_policy
from open_spiel.python.algorithms import exploitability
from open_spiel.python.egt import alpharank as spiel_alpharank
from palestra import InvalidOption, UnknownName
from palestra_arena.meta_game import (
    meta_solve,
    nash_mixes,
    normal_nash_conv,
    profile_mass,
    psro,
    risk_averse_equilibrium,
    sequence_form,
)
from palestra_arena.meta_game.normal_form import read_payoffs
from palestra_arena.meta_game.risk_averse import best_risk_averse
from scipy import optimize

KUHN = palestra.game("games/KuhnPoker-v0")
LEDUC = palestra.game("games/LeducHoldem-v0")
SPIEL = {"kuhn": (KUHN, "kuhn_poker"), "leduc": (LEDUC, "leduc_poker")}
STAG = np.array([[4.0, 0.0], [1.5, 1.5]])  # stag pays 4 together and 0 alone, hare 1.5 anyway


def symmetric(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return table, table.T


# Normal form


@pytest.mark.parametrize("seed", range(4))
def test_nash_mixes_have_the_value_that_another_solver_finds(seed: int) -> None:
    table = np.random.default_rng(seed).normal(size=(4, 6))
    x = cvxpy.Variable(4, nonneg=True)
    value = cvxpy.Problem(cvxpy.Maximize(cvxpy.min(table.T @ x)), [cvxpy.sum(x) == 1]).solve()
    row, column = nash_mixes((table, -table))
    assert row @ table @ column == pytest.approx(value, abs=1e-6)
    assert normal_nash_conv((table, -table), (row, column)) == pytest.approx(0, abs=1e-8)


def test_nash_mixes_refuse_what_is_not_zero_sum() -> None:
    with pytest.raises(InvalidOption, match="zero-sum"):
        nash_mixes(symmetric(STAG))


@pytest.mark.parametrize("alpha", [0.1, 1.0, 2.0])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 2)])
def test_alpha_rank_of_profiles_agrees_with_openspiel(shape: tuple[int, ...], alpha: float) -> None:
    rng = np.random.default_rng(len(shape))
    tables = [rng.random(shape) for _ in shape]
    _, _, expected, _, _ = spiel_alpharank.compute(tables, m=30, alpha=alpha)
    found = profile_mass(tuple(tables), alpha=alpha, population=30)
    order = found.transpose(range(len(shape))).ravel()
    if not np.allclose(order, expected, atol=1e-6):  # OpenSpiel counts the first player fastest
        order = found.transpose(range(len(shape))[::-1]).ravel()
    np.testing.assert_allclose(order, expected, atol=1e-6)


def test_alpha_rank_gives_matching_pennies_a_quarter_each() -> None:
    table = np.array([[1.0, -1.0], [-1.0, 1.0]])
    np.testing.assert_allclose(profile_mass((table, -table)), 1 / 4, atol=1e-9)


def test_a_meta_solver_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(UnknownName, match="risk-averse"):
        meta_solve("risk-averze", symmetric(STAG))


# Risk-averse equilibrium


@pytest.mark.parametrize("gamma", [0.0, 0.3, 5.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_best_response_is_the_quadratic_programs(seed: int, gamma: float) -> None:
    rng = np.random.default_rng(seed)
    mean, factor = rng.normal(size=5), rng.normal(size=(5, 4))
    covariance = factor @ factor.T
    x = cvxpy.Variable(5)
    worth = mean @ x - gamma * cvxpy.sum_squares(factor.T @ x)
    best = cvxpy.Problem(cvxpy.Maximize(worth), [x >= 0.01, cvxpy.sum(x) == 1]).solve()
    found = best_risk_averse(mean, covariance, gamma, 0.01)
    assert found.min() >= 0.01 - 1e-12
    assert found.sum() == pytest.approx(1)
    assert mean @ found - gamma * found @ covariance @ found == pytest.approx(best, abs=1e-5)


def test_without_a_mean_to_win_it_is_markowitzs_portfolio_of_least_variance() -> None:
    covariance = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])
    inverse = np.linalg.solve(covariance, np.ones(3))
    found = best_risk_averse(np.zeros(3), covariance, 1.0, 0.0)
    np.testing.assert_allclose(found, inverse / inverse.sum(), atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_without_aversion_it_plays_nash(seed: int) -> None:
    table = np.random.default_rng(seed).normal(size=(3, 4))
    value = float(nash_mixes((table, -table))[0] @ table @ nash_mixes((table, -table))[1])
    found = risk_averse_equilibrium((table, -table), 0.0, tremble=0.0, iterations=4000)
    assert found.values[0] == pytest.approx(value, abs=0.03)
    assert sum(found.gains) < 0.06
    assert normal_nash_conv((table, -table), found.mixes) == pytest.approx(sum(found.gains))


def test_aversion_moves_the_stag_hunt_from_stag_to_hare() -> None:
    """Against even beliefs stag is played with (4/2 - 1.5) / (2 gamma 16/4): half at gamma 1/8."""
    stag = [
        risk_averse_equilibrium(symmetric(STAG), g, iterations=300).mixes[0][0]
        for g in (0, 0.12, 0.13, 1, 50)
    ]
    assert min(stag[:2]) > 0.98
    assert max(stag[2:]) < 0.02


@pytest.mark.parametrize("gamma", [0.1, 0.5, 3.0])
def test_the_game_of_chicken_solves_its_own_first_order_condition(gamma: float) -> None:
    """With p the chance of hawk, 1 - 2p = 8 gamma p (1 - p) (1 + p): Nash's 1/2 and less."""
    table = np.array([[0.0, 4.0], [1.0, 3.0]])
    found = risk_averse_equilibrium(symmetric(table), gamma, tremble=0.0, iterations=3000)

    def condition(p: float) -> float:
        return 1 - 2 * p - 8 * gamma * p * (1 - p * p)

    assert found.mixes[0][0] == pytest.approx(optimize.brentq(condition, 0, 0.5), abs=1e-3)
    assert max(found.gains) < 1e-4


def test_stag_stays_an_equilibrium_up_to_the_aversion_that_trembles_allow() -> None:
    """At p = 1 - e: 4p - 1.5 = 2 gamma 16 p e p."""
    error = 0.1
    p = 1 - error / 2
    limit = (4 * p - 1.5) / (32 * p * p * (1 - p))
    start = ([1.0, 0.0], [1.0, 0.0])
    kept, left = (
        risk_averse_equilibrium(symmetric(STAG), limit * f, tremble=error, start=start).mixes[0][0]
        for f in (0.99, 1.05)
    )
    assert kept == pytest.approx(p)
    assert left < p - 0.01


def played_table(env: str, agents: Sequence[str], episodes: int) -> tuple[Any, Any]:
    """Mean payoffs of the first seat, and the share of episodes that crash, by played games."""
    paid = np.zeros((len(agents), len(agents)))
    crashes = np.zeros_like(paid)
    for i, j in np.ndindex(paid.shape):
        records = palestra.play(env, agents=[agents[i], agents[j]], episodes=episodes, seed=0)
        paid[i, j] = np.mean([record.returns[0] for record in records])
        crashes[i, j] = np.mean(["crashed" in record.outcome.reason for record in records])
    return paid, crashes


def test_aversion_cuts_crashes_and_variance_in_the_merging_game() -> None:
    """Of drivers who never, often or always yield; a crash costs 50."""
    drivers = [f"driver:yields={chance}" for chance in (0, 0.5, 1)]
    paid, crashes = played_table("games/Merge-v0", drivers, 40)
    found = [risk_averse_equilibrium(symmetric(paid), gamma) for gamma in (0.0, 0.05, 1.0)]
    rates = [one.mixes[0] @ crashes @ one.mixes[1] for one in found]
    assert rates[0] > rates[1] > rates[2]
    assert found[2].variances[0] < found[1].variances[0] < found[0].variances[0] / 2


def test_aversion_moves_hunters_of_the_trust_dilemma_from_stag_to_plants() -> None:
    styles = ("together", "rash", "plants")
    paid, _ = played_table("games/TrustDilemma-v0", [f"stag-hunter:style={s}" for s in styles], 10)
    hunt, pick = (risk_averse_equilibrium(symmetric(paid), gamma) for gamma in (0.0, 0.1))
    assert styles[int(hunt.mixes[0].argmax())] == "together"
    assert styles[int(pick.mixes[0].argmax())] == "plants"
    assert pick.worst[0] > hunt.worst[0] + 10
    assert pick.variances[0] < hunt.variances[0] / 10


def test_aversion_lowers_the_variance_of_what_others_cause_and_raises_the_worst_case() -> None:
    """Two ways to merge: fast wins 3 unless the other is fast too, a crash of -10; slow wins 1."""
    merge = np.array([[-10.0, 3.0], [0.5, 1.0]])
    bold, careful = (risk_averse_equilibrium(symmetric(merge), gamma) for gamma in (0.0, 2.0))
    crash = [float(found.mixes[0][0] * found.mixes[1][0]) for found in (bold, careful)]
    assert crash[1] < crash[0] / 7  # the paper's driving game has seven times fewer crashes
    assert careful.variances[0] < bold.variances[0]
    assert careful.worst[0] > bold.worst[0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"gamma": -1}, "gamma"),
        ({"tremble": 1.0}, "tremble"),
        ({"start": ([1.0], [1.0])}, "start"),
        ({"payoffs": (STAG,)}, "one axis a player"),
        ({"payoffs": (STAG, STAG[:1])}, "one axis a player"),
        ({"payoffs": (STAG, STAG * np.nan)}, "finite"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], says: str) -> None:
    given: dict[str, Any] = {"payoffs": symmetric(STAG), "gamma": 1.0}
    with pytest.raises(InvalidOption, match=says):
        risk_averse_equilibrium(**(given | change))


# Sequence form


@pytest.mark.parametrize("name", SPIEL)
def test_uniform_play_has_openspiels_values_and_nash_conv(name: str) -> None:
    ours, theirs = SPIEL[name]
    game = pyspiel.load_game(theirs)
    uniform = spiel_policy.UniformRandomPolicy(game)
    form = sequence_form(ours)
    plans = [form.uniform(0), form.uniform(1)]
    assert form.nash_conv(plans) == pytest.approx(exploitability.nash_conv(game, uniform))
    value = _openspiel_value(game.new_initial_state(), uniform)
    assert form.values(plans)[0] == pytest.approx(value)


def _openspiel_value(state: Any, policy: Any) -> float:
    if state.is_terminal():
        return float(state.returns()[0])
    if state.is_chance_node():
        chances = state.chance_outcomes()
    else:
        chances = policy.action_probabilities(state).items()
    return float(sum(p * _openspiel_value(state.child(a), policy) for a, p in chances))


def test_moves_made_at_once_are_sealed() -> None:
    """Had the second seat seen the first's move, it would win every penny."""
    table = [1, -1, -1, 1, -1, 1, 1, -1]
    pennies = palestra.game("games/MatrixGame-v0", payoffs_table=table, rounds=1)
    form = sequence_form(pennies)
    assert [len(seat.sets) for seat in form.seats] == [1, 1]
    assert form.nash_conv([form.uniform(0), form.uniform(1)]) == pytest.approx(0)


@pytest.mark.parametrize("env", ["games/Blackjack-v0", "games/Werewolf-v0"])
def test_games_that_cannot_be_walked_are_refused(env: str) -> None:
    with pytest.raises(InvalidOption, match=env[6:-3]):
        sequence_form(palestra.game(env))


def test_large_games_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palestra_arena.meta_game.game_tree.LARGEST", 20)
    with pytest.raises(InvalidOption, match="more than 20 positions"):
        sequence_form(KUHN)


# PSRO


def test_double_oracle_solves_kuhn_poker() -> None:
    """Kuhn (1950): -1/18 to the first player."""
    found = psro(KUHN, "nash")
    assert found.settled
    assert found.nash_conv == pytest.approx(0, abs=1e-9)
    assert found.rounds[-1].values[0] == pytest.approx(-1 / 18)
    assert found.rounds[0].nash_conv == pytest.approx(11 / 12)


def test_double_oracle_closes_in_on_the_published_value_of_leduc_poker() -> None:
    """-0.085606424078: OpenSpiel's sequence_form_lp_test.py, by linear programming.

    What both seats together could gain bounds how far the value can be from it.
    """
    found = psro(LEDUC, "nash", rounds=150)
    assert found.nash_conv < 0.05 * found.rounds[0].nash_conv
    assert abs(found.rounds[-1].values[0] - -0.085606424078) <= found.nash_conv


def test_the_policy_found_has_nash_conv_zero_in_openspiel_too() -> None:
    """Kuhn's information sets by card and moves, written as OpenSpiel writes them."""
    found = psro(KUHN, "nash")
    game = pyspiel.load_game("kuhn_poker")
    theirs = spiel_policy.TabularPolicy(game)
    ours = [found.policy(0), found.policy(1)]
    for weight, deal in KUHN.deals() or ():
        assert weight > 0
        for line in ([], [0], [1], [0, 1]):
            state = KUHN.clone(deal)
            for move in line:
                KUHN.step(state, {KUHN.to_act(state)[0]: move})
            seat = KUHN.to_act(state)[0]
            name = f"{int(deal.deck[seat])}{''.join('pb'[move] for move in line)}"
            row = theirs.action_probability_array[theirs.state_lookup[name]]
            chances = ours[seat][KUHN.state_key(state, seat)]
            row[:] = [chances[0], chances[1]]
    assert exploitability.nash_conv(game, theirs) == pytest.approx(0, abs=1e-9)


def test_uniform_is_fictitious_play_and_comes_closer_slowly() -> None:
    found = psro(KUHN, "uniform", rounds=200)
    conv = [told.nash_conv for told in found.rounds]
    assert conv[-1] < 0.05 < conv[5]
    assert found.rounds[-1].sizes == (200, 200)


@pytest.mark.parametrize(("solver", "gamma"), [("alpha-rank", 0.0), ("risk-averse", 0.0)])
def test_other_meta_solvers_leave_little_to_gain(solver: str, gamma: float) -> None:
    found = psro(KUHN, solver, rounds=30, gamma=gamma)
    assert found.nash_conv < 0.25 * found.rounds[0].nash_conv


def test_a_risk_averse_population_hunts_hare() -> None:
    pairs = np.stack([STAG, STAG.T], axis=-1).ravel().tolist()
    stag_hunt = palestra.game("games/MatrixGame-v0", payoffs_table=pairs, rounds=1)
    plain, averse = (psro(stag_hunt, "risk-averse", gamma=gamma) for gamma in (0.0, 50.0))
    stag = [next(iter(found.policy(0).values()))[0] for found in (plain, averse)]
    assert stag[0] > 0.9
    assert stag[1] < 0.1


def test_gamma_belongs_to_one_meta_solver() -> None:
    with pytest.raises(InvalidOption, match="risk-averse"):
        psro(KUHN, "nash", gamma=1.0)


def test_payoffs_are_read_once_and_checked() -> None:
    assert read_payoffs([[[1, 2]], [[3, 4]]])[1].tolist() == [[3.0, 4.0]]
