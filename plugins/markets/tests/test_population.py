"""A town in an epidemic: conservation, the final-size equation, sampling, and a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng
from palestra.rng import threefry
from palestra_markets.draws import below, normals, threefry_many, uniforms, words
from palestra_markets.population.modes import fit_transmission, run
from palestra_markets.population.population import Policy, Population, Stay
from palestra_markets.population.town import HOUSEHOLD_SIZES, build_town
from scipy.optimize import brentq
from scipy.stats import kstest

ID = "markets/Population-v0"
WELL_MIXED = {"num_players": 2, "home": 0.0, "work": 0.0, "outside": 1.0}


# Draws


def test_many_draws_are_those_of_the_generator() -> None:
    key, counters = 0x1234567890ABCDEF, [0, 1, 5, 2**33 + 7]
    pairs = zip(*threefry_many(key, np.array(counters)), counters, strict=True)
    for x, y, counter in pairs:
        expected = threefry(key & 0xFFFFFFFF, key >> 32, counter & 0xFFFFFFFF, counter >> 32)
        assert (int(x), int(y)) == expected
    one, many = Rng.seeded(7), Rng.seeded(7)
    assert uniforms(many, 50) == pytest.approx([one.random() for _ in range(50)], abs=1e-9)
    assert one == many


def test_bulk_words_and_normals_are_distributed_as_they_should() -> None:
    rng = Rng.seeded(3)
    assert kstest(words(rng, 20_000) / 2**32, "uniform").pvalue > 0.001
    assert kstest(normals(rng, 20_000), "norm").pvalue > 0.001
    assert below(rng, np.full(20_000, 0.3)).mean() == pytest.approx(0.3, abs=0.013)
    assert len(words(rng, 7)) == 7


# The town


def test_a_town_has_the_households_and_workplaces_it_should() -> None:
    town = build_town(50_000, 4, 1)
    sizes = np.bincount(np.bincount(town.household))[1:]
    assert sizes / sizes.sum() == pytest.approx(HOUSEHOLD_SIZES, abs=0.01)
    assert (town.workplace[town.age != 1] == -1).all()
    assert (town.workplace[town.age == 1] >= 0).all()
    assert town.sizes.sum() == 50_000


@pytest.mark.parametrize("people", [10, 777, 20_000])
@pytest.mark.parametrize("seats", [2, 4, 5])
def test_compartments_sum_to_the_population_every_week(people: int, seats: int) -> None:
    game = Population(num_players=seats, people=people, weeks=6, infected=0.05)
    state, rng = game.initial_state(2), Rng(1)
    before = game.counts(state)
    while game.to_act(state):
        game.step(state, {p: game.sample(state, p, rng) for p in game.to_act(state)})
        counts = game.counts(state)
        assert sum(counts) == people
        assert counts[0] <= before[0]  # nobody is susceptible again
        assert counts[3] >= before[3]
        before = counts
    assert before[0] == game.counts(game.initial_state(2))[0] - sum(day[0] for day in state.days)


def test_a_million_people_sum_to_a_million() -> None:
    game = Population(people=1_000_000, weeks=1)
    state = game.initial_state(0)
    game.step(state, {0: Policy(100, 25)})
    game.step(state, {seat: Stay(30) for seat in range(1, 5)})
    assert sum(game.counts(state)) == 1_000_000
    assert sum(day[0] for day in state.days) > 1_000


# The epidemic


@pytest.mark.parametrize("reproduction", [1.5, 2.5])
def test_without_places_the_epidemic_ends_at_the_final_size(reproduction: float) -> None:
    """Kermack and McKendrick: log(s / s0) = -R (1 - s), s0 susceptible at first, s in the end."""
    ill = 0.002
    game = Population(
        people=100_000, weeks=80, infected=ill, infectious=6.0,
        transmission=reproduction / 6, **WELL_MIXED,
    )  # fmt: skip
    state = game.initial_state(1)
    while game.to_act(state):
        game.step(state, {0: Policy(0, 0)} if not state.phase else {1: Stay(0)})
    left, start = game.counts(state)[0] / 1e5, 1 - ill
    exact = brentq(lambda s: np.log(s / start) + reproduction * (1 - s), 1e-9, start - 1e-6)
    assert left == pytest.approx(exact, abs=0.01)
    assert game.counts(state)[1] + game.counts(state)[2] == 0


def test_nobody_catches_anything_where_nothing_is_transmitted_or_all_live_alone_at_home() -> None:
    assert sum(run(Population(transmission=0.0), seed=0)) == 0
    alone = Population(home=0.0)
    assert sum(run(alone, seed=0, stay=(100,) * 4)) == 0


def test_closing_and_staying_at_home_lower_the_cases() -> None:
    game = Population(people=20_000)
    open_, closed = (
        np.mean([sum(run(game, seed=s, lever=lambda _, c=c: Policy(0, c))) for s in range(3)])
        for c in (0, 100)
    )
    stayed = np.mean([sum(run(game, seed=s, stay=(80,) * 4)) for s in range(3)])
    assert stayed < closed < 0.9 * open_


def test_asking_groups_and_asking_everybody_agree_in_the_mean() -> None:
    """The same percents for four groups, and for one group of all."""
    options = {"people": 10_000, "weeks": 8}
    four = [sum(run(Population(**options), seed=s, stay=(40,) * 4)) for s in range(12)]
    one = [
        sum(run(Population(num_players=2, **options), seed=s, stay=(40,))) for s in range(12, 24)
    ]
    spread = (np.var(four) / 12 + np.var(one) / 12) ** 0.5
    assert np.mean(four) == pytest.approx(np.mean(one), abs=4 * spread)


def test_a_transmission_is_found_again_from_the_cases_it_led_to() -> None:
    game = Population(people=20_000, weeks=8)
    cases = run(Population(people=20_000, weeks=8, transmission=0.31), seed=99)
    assert fit_transmission(cases, game) == pytest.approx(0.31, rel=0.05)


# Work and money


def test_who_works_at_home_earns_in_any_case_and_who_cannot_earns_nothing() -> None:
    game = Population(people=20_000, infected=0.0)
    state = game.initial_state(0)
    game.step(state, {0: Policy(0, 0)})
    step = game.step(state, {seat: Stay(100) for seat in range(1, 5)})
    incomes = [step.rewards[seat]["income"] for seat in range(1, 5)]
    assert incomes == pytest.approx([0, 10, 0, 0])  # a full wage for adults who work at home


def test_the_stimulus_goes_to_who_is_out_of_work_to_the_dollar() -> None:
    game = Population(people=5_000, infected=0.0)
    state = game.initial_state(0)
    for _ in range(3):
        game.step(state, {0: Policy(700, 100)})
        jobless = int((game.town(state).workplace >= 0).sum() - state.folk.employed.sum())
        step = game.step(state, {seat: Stay(0) for seat in range(1, 5)})
        assert -step.rewards[0]["stimulus"] * 5_000 == pytest.approx(7 * jobless)
    assert game.unemployment(state) > 0.1


def test_policies_of_the_reference_agents_show_in_the_measures() -> None:
    groups = ["cautious-group"] * 4
    means = {}
    for government in ("threshold-government:closed=0,stimulus=0", "threshold-government"):
        records = palestra.play(ID, agents=[government, *groups], seed=0, episodes=6)
        measured = [palestra.measure(record) for record in records]
        means[government] = {n: np.mean([m[n] for m in measured]) for n in measured[0]}
    idle, busy = means.values()
    assert busy["attack-rate"] < idle["attack-rate"]
    assert busy["mean-unemployment"] > idle["mean-unemployment"]
    assert idle["peak-infectious"] > 0


def test_impossible_policies_and_percents_are_refused() -> None:
    episode = Episode(Population(), seed=0)
    for text in ("Policy(stimulus=-1, closed=0)", "Policy(stimulus=0, closed=101)", "Stay(5)"):
        with pytest.raises(InvalidAction):
            episode.parse(0, text)
    episode.act({0: Policy(0, 0)})
    with pytest.raises(InvalidAction):
        episode.parse(1, "Stay(percent=101)")


@pytest.mark.parametrize(
    "options",
    [{"num_players": 3}, {"people": 5}, {"infected": 1.5}, {"latent": 0.5}, {"transmission": -1.0},
     {"dread": float("nan")}],
)  # fmt: skip
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="|".join(options)):
        Population(**options)
