"""The tax economy: money to the cent, closed forms, published rates, and the planner's optimum."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng
from palestra_markets.taxes.economy import Rates, Speak, TaxEconomy, Vote, Work, gini
from palestra_markets.taxes.households import (
    INCOME_SCALE,
    INCOME_SHAPES,
    Tastes,
    draw_skill,
    settle,
    skill_behind,
    stackelberg,
    welfare,
)
from palestra_markets.taxes.schedule import (
    BRACKETS,
    FEDERAL,
    in_proportion,
    saez_rate,
    saez_rates,
    shares,
    tax,
)
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

ID = "markets/TaxEconomy-v0"
TASTES = Tastes(0.5, 1.5e-5, 3.0)
NO_TAX = (0,) * 7


def after_steps(game: TaxEconomy, seed: int, steps: int) -> Episode:
    """An episode after some steps of work, with hours drawn from 20 to 70."""
    episode, rng, worked = Episode(game, seed), Rng(seed), 0
    while worked < steps:
        actions = {seat: game.sample(episode.state, seat, rng) for seat in episode.to_act}
        if all(isinstance(action, Work) for action in actions.values()):
            actions = {seat: Work(rng.between(20, 70)) for seat in actions}
            worked += 1
        episode.act(actions)
    return episode


def play(planner: str, workers: int = 5, **options: Any) -> Any:
    agents = [planner] + ["rational-worker"] * workers
    return palestra.play(ID, agents=agents, **{"seed": 0, "episodes": 1} | options)


# What a seat imagines


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ({"num_players": 9}, 1),
        ({"num_players": 9, "altruists": 2, "adversaries": 1}, 3),
        ({"num_players": 7, "elections": True}, 2),
    ],
)
def test_no_worker_reads_in_what_they_imagine_what_another_earns(
    options: dict[str, Any], steps: int
) -> None:
    """Income by hours is the hourly wage, which is told to nobody else."""
    game = TaxEconomy(**options, steps=5)
    exact = drawn = 0
    for seed in range(6):
        episode = after_steps(game, seed, steps)
        true = episode.state
        for own in range(game.num_workers):
            turn = palestra.Turn(episode, game.seat_of(own))
            worlds = [turn.fork(Rng(n)).state for n in range(3)]
            for world in worlds:
                assert sum(world.incomes) == sum(true.incomes)  # which is published
                assert sum(world.taxes) == sum(true.taxes)
                mine = [world.hours[own], world.incomes[own], world.utilities[own]]
                assert mine == [true.hours[own], true.incomes[own], true.utilities[own]]
            for other in set(range(game.num_workers)) - {own}:
                drawn += 1
                for name in ("incomes", "taxes", "utilities"):
                    values = {getattr(world, name)[other] for world in worlds}
                    exact += getattr(true, name)[other] in values
                score = game.seat_of(other)
                exact += true.scores[score] in {world.scores[score] for world in worlds}
    assert drawn > 200
    assert exact < drawn / 20


def test_who_sets_the_rates_remembers_the_incomes_until_the_next_step() -> None:
    game = TaxEconomy(num_players=6, steps=2)
    episode = after_steps(game, 3, 2)
    for known in (True, True, False):
        world = palestra.Turn(episode, 0).fork(Rng(1)).state
        assert (world.incomes == episode.state.incomes) is known
        episode.act({s: game.sample(episode.state, s, Rng(s)) for s in episode.to_act})


@pytest.mark.parametrize(
    ("total", "weights", "parts"),
    [
        (10, [1, 2, 7], [1, 2, 7]),
        (10, [0, 0, 0], [3, 3, 4]),
        (7, [0, 3, 0], [0, 7, 0]),
        (0, [5, 1], [0, 0]),
        (5, [1], [5]),
        (0, [], []),
    ],
)
def test_a_sum_is_split_in_proportion(total: int, weights: list[int], parts: list[int]) -> None:
    assert in_proportion(total, weights) == parts


# Taxes


def test_the_tax_of_100_000_dollars_in_2024_is_what_the_irs_tables_say() -> None:
    """1,160 + 12 % of 35,550 + 22 % of 52,850, as in the 2024 rate schedule of single filers."""
    assert tax(10_000_000, FEDERAL) == 1_705_300
    assert tax(60_935_000, FEDERAL) == 18_364_725  # where the last bracket begins: 183,647.25
    assert tax([0, 1_160_000], FEDERAL).tolist() == [0, 116_000]


def test_shares_add_up_and_differ_by_a_cent_at_most() -> None:
    for total, count, first in product((0, 1, 17, 1000), (1, 3, 7), (0, 2)):
        parts = shares(total, count, first)
        assert sum(parts) == total
        assert max(parts) - min(parts) <= 1


@pytest.mark.parametrize("options", [{}, {"elections": True}, {"num_players": 8, "years": 3}])
def test_taxes_equal_rebates_in_every_step(options: dict[str, Any]) -> None:
    episode, worked = Episode(TaxEconomy(**options), seed=1), 0
    rng = Rng(0)
    while not episode.over:
        steps = len(episode.state.history)
        episode.act({p: episode.game.sample(episode.state, p, rng) for p in episode.to_act})
        state = episode.state
        if len(state.history) == steps:
            continue  # nobody worked
        worked += 1
        assert sum(state.taxes) == sum(state.rebates)
        consumed = (episode.game.consumption(state, w) for w in range(len(state.workers)))  # type: ignore[attr-defined]
        assert sum(consumed) == sum(state.incomes)
        assert state.taxes == [int(tax(income, state.rates)) for income in state.incomes]
    assert worked == episode.game.years * episode.game.steps  # type: ignore[attr-defined]


# Households


@pytest.mark.parametrize("tastes", [TASTES, Tastes(0.23, 1e-6, 3.5), Tastes(1.0, 1e-4, 2.0)])
def test_hours_without_tax_are_those_of_the_closed_form_and_of_an_optimiser(tastes: Tastes) -> None:
    for skill in (3_000, 30_000, 300_000):
        exact = tastes.untaxed_hours(skill)
        found = minimize_scalar(
            lambda h, w=skill: -tastes.utility(w * h, h), bounds=(0.01, 400), method="bounded"
        )
        assert exact == pytest.approx(found.x, rel=1e-3)
        if exact < 100:
            assert abs(int(tastes.best_hours(skill, NO_TAX, 0)) - exact) <= 0.5 + 1e-6


def test_rational_workers_of_an_untaxed_economy_work_the_closed_form() -> None:
    (record,) = play("fixed-planner:rate=0")
    skills = [e.data["skill"] for e in record.opening if e.kind == "worker"]
    slips = [e.data for e in record.events if e.kind == "slip"]
    for number, slip in enumerate(slips):
        exact = min(100.0, TASTES.untaxed_hours(skills[number % 5]))
        assert abs(slip["hours"] - exact) <= 0.5 + 1e-6
        assert slip["tax"] == slip["rebate"] == 0


def test_the_elasticity_is_that_of_hours_under_a_flat_tax_not_paid_back() -> None:
    def income(kept: float) -> float:
        return minimize_scalar(
            lambda h: -TASTES.utility(kept * 50_000 * h, h), bounds=(1, 100), method="bounded"
        ).x

    measured = np.log(income(0.9) / income(0.6)) / np.log(0.9 / 0.6)
    assert measured == pytest.approx(TASTES.elasticity, rel=1e-3)


def test_nobody_gains_by_other_hours_where_the_economy_settles() -> None:
    skills = np.array([5_000, 20_000, 60_000, 200_000])
    hours, rebate = settle(TASTES, skills, FEDERAL)
    owed = tax(skills * hours, FEDERAL)
    assert rebate == pytest.approx(owed.sum() / 4)
    for place, skill in enumerate(skills):
        others = owed.sum() - owed[place]
        utilities = [
            float(TASTES.utility(skill * h - (t := tax(skill * h, FEDERAL)) + (others + t) / 4, h))
            for h in range(101)
        ]
        assert utilities[hours[place]] == pytest.approx(max(utilities), abs=1e-4)


def test_a_skill_is_found_behind_the_income_it_earns() -> None:
    for skill in (8_000, 40_000, 150_000):
        income = skill * int(TASTES.best_hours(skill, FEDERAL, 500_000))
        assert skill_behind(TASTES, income, FEDERAL, 500_000) == pytest.approx(skill, rel=0.03)


def test_skills_follow_the_published_distribution_of_incomes() -> None:
    """The share of drawn incomes below 30, 60 and 120 thousand against its integrated density."""
    a, p, q = INCOME_SHAPES
    rng = Rng(5)
    drawn = np.array([draw_skill(rng) for _ in range(4000)])

    def density(x: float) -> float:
        part = (x / INCOME_SCALE) ** a
        return part**p / (x * (1 + part) ** (p + q))

    whole = quad(density, 1, 5e7, limit=500)[0]
    for income in (30_000, 60_000, 120_000):
        share = quad(density, 1, income, limit=500)[0] / whole
        spread = (share * (1 - share) / 4000) ** 0.5
        assert (drawn <= income).mean() == pytest.approx(share, abs=4 * spread)


@pytest.mark.parametrize(("motive", "care"), [("altruists", 0.5), ("adversaries", -0.5)])
def test_motives_weigh_the_utility_of_the_others(motive: str, care: float) -> None:
    episode = Episode(TaxEconomy(num_players=4, **{motive: 3}), seed=0)
    episode.act({0: Rates(*FEDERAL)})
    episode.act({1: Work(10), 2: Work(50), 3: Work(90)})
    u = episode.state.utilities
    assert episode.rewards[1] == pytest.approx(0.5 * u[0] + care * (u[1] + u[2]) / 2)
    assert episode.rewards[0] == pytest.approx(sum(u) / 3)


# Planners


def test_the_top_rate_of_diamond_and_saez_is_73_percent() -> None:
    """P. Diamond and E. Saez, "The Case for a Progressive Tax", 2011: a = 1.5, e = 0.25, G = 0."""
    assert saez_rate(0, 1.5, 0.25) == pytest.approx(0.727, abs=5e-4)


def test_the_rates_of_a_pareto_tail_are_the_closed_form() -> None:
    """Exact quantiles of a Pareto distribution and weights of zero above: 1 / (1 + a e)."""
    quantiles = (np.arange(400_000) + 0.5) / 400_000
    incomes = 11_600 * (1 - quantiles) ** (-1 / 2.0)
    weights = (incomes <= 29_375).astype(float)  # the middle of the second bracket
    rates = saez_rates(incomes, weights, 0.5)
    assert rates[-1] == pytest.approx(1 / (1 + 2 * 0.5), abs=0.02)
    middle = 73_837.5  # of the third bracket, whose density is its mean
    mean_density = (11_600 / 47_150) ** 2 - (11_600 / 100_525) ** 2
    tail = middle * mean_density / (100_525 - 47_150) / (11_600 / middle) ** 2
    assert rates[2] == pytest.approx(1 / (1 + tail * 0.5), abs=1e-3)


def test_saez_rates_are_from_0_to_1_whatever_the_incomes() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        count = int(rng.integers(1, 40))
        incomes = rng.choice([0, 1e4, 5e4, 1e5, 1e6], count) * rng.random(count)
        rates = saez_rates(incomes, TASTES.weight(100 * incomes), float(rng.random()))
        assert all(0 <= rate <= 1 for rate in rates)
    assert saez_rates([5e4] * 5, [1.0] * 5, 0.3) == [0.0] * 7  # equals have nothing to share


def test_no_rates_of_the_grid_serve_better_than_stackelbergs() -> None:
    """Exhaustively, for workers who reach three brackets only."""
    skills = np.array([3_000, 12_000, 45_000])
    found = stackelberg(TASTES, skills, FEDERAL, step=15)
    grid = range(0, 91, 15)
    best = max(
        welfare(TASTES, skills, (a, b, c, *found[3:])) for a, b, c in product(grid, repeat=3)
    )
    earned = skills * settle(TASTES, skills, NO_TAX)[0]
    assert earned.max() < 100 * BRACKETS[3]
    assert welfare(TASTES, skills, found) == pytest.approx(best)


def test_planners_serve_in_the_order_of_what_they_know() -> None:
    means = {}
    for planner in ("fixed-planner:rate=0", "fixed-planner", "saez-planner", "stackelberg-planner"):
        measured = [palestra.measure(r)["social-welfare"] for r in play(planner, episodes=6)]
        means[planner] = float(np.mean(measured))
    assert list(means.values()) == sorted(means.values())


# Elections and rules


def test_the_most_votes_win_and_only_the_winner_sees_incomes() -> None:
    episode = Episode(TaxEconomy(num_players=3, elections=True, years=2, steps=1), seed=0)
    episode.act({0: Speak("Less tax."), 1: Speak(), 2: Speak("More tax.")})
    assert 'player_2: "More tax."' in episode.prompt(0)
    episode.act({0: Vote("player_2"), 1: Vote("player_2"), 2: Vote("player_0")})
    assert episode.to_act == (2,)
    episode.act({2: Rates(*FEDERAL)})
    episode.act({p: Work(40) for p in range(3)})
    episode.act({p: Speak() for p in range(3)})
    episode.act({p: Vote("player_1") for p in range(3)})
    assert [e.kind for e in episode.transcript(1)][-1] == "returns"
    assert "returns" not in {e.kind for e in episode.transcript(0)}
    assert (episode.observation(0)[23:] == -1).all()
    assert (episode.observation(1)[23:] > 0).all()


def test_rational_workers_hold_elections_and_tax_for_themselves() -> None:
    records = palestra.play(ID, agents=["rational-worker"] * 5, elections=True, seed=0, episodes=3)
    for record in records:
        assert sum(event.kind == "elected" for event in record.events) == 4
        assert len({tuple(e.data["rates"]) for e in record.events if e.kind == "rates"}) > 1


def test_votes_are_drawn_by_lot_among_equals() -> None:
    winners = set()
    for seed in range(20):
        episode = Episode(TaxEconomy(num_players=3, elections=True), seed=seed)
        episode.act({p: Speak() for p in range(3)})
        episode.act({p: Vote(f"player_{p}") for p in range(3)})
        winners.update(episode.to_act)
    assert winners == {0, 1, 2}


def test_gini_of_known_incomes() -> None:
    assert gini([0, 0, 0]) == 0
    assert gini([5, 5, 5]) == pytest.approx(0)
    assert gini([0, 0, 0, 8]) == pytest.approx(3 / 4)
    assert gini([1, 3]) == pytest.approx(1 / 4)


@pytest.mark.parametrize("text", ["Work(hours=101)", "Work(hours=-1)", "Shift(bracket=1, by=5)"])
def test_impossible_hours_and_rates_out_of_turn_are_refused(text: str) -> None:
    episode = Episode(TaxEconomy(), seed=0)
    with pytest.raises(InvalidAction):
        episode.parse(0, "Shift(bracket=1, by=-11)")
    episode.act({0: Rates(*FEDERAL)})
    with pytest.raises(InvalidAction):
        episode.parse(1, text)


@pytest.mark.parametrize(
    "options",
    [
        {"num_players": 2},
        {"years": 0},
        {"altruists": 6},
        {"adversaries": -1},
        {"aversion": -0.5},
        {"effort": 0.0},
        {"toil": 1.0},
        {"toil": float("nan")},
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="|".join(options)):
        TaxEconomy(**options)


def test_planners_out_of_their_seat_are_told_so() -> None:
    with pytest.raises(InvalidOption, match="only the planner's seat; seat workers as"):
        palestra.play(ID, agents=["fixed-planner"] * 6)


def test_the_brackets_are_seven() -> None:
    assert len(BRACKETS) == len(FEDERAL) == 7
