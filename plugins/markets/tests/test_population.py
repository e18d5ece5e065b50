"""A town in an epidemic: conservation, the final-size equation, sampling, and a fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng
from palestra.kernel.rng import threefry
from palestra_markets.draws import below, normals, threefry_many, uniforms, words
from palestra_markets.population.contacts import pairs_of
from palestra_markets.population.epidemic import INFECTIOUS, SUSCEPTIBLE, force_of
from palestra_markets.population.modes import fit_transmission, run
from palestra_markets.population.population import Policy, Population, Stay
from palestra_markets.population.town import ARCHETYPES, HOUSEHOLD_SIZES, build_town
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


@pytest.mark.exhaustive
def test_a_transmission_is_found_again_from_the_cases_it_led_to() -> None:
    game = Population(people=20_000, weeks=8)
    cases = run(Population(people=20_000, weeks=8, transmission=0.31), seed=99)
    assert fit_transmission(cases, game) == pytest.approx(0.31, rel=0.05)


# Contacts of one's own

ALONE = {"num_players": 2, "home": 0.0, "work": 0.0, "outside": 0.0, "infected": 0.0}


def outbreak(graph: Any, ill: int, **options: Any) -> Any:
    """A game on a graph, and its state with one infectious person."""
    settings = ALONE | {"people": len(graph), "contacts": pairs_of(graph)} | options
    game = Population(**settings)
    state = game.initial_state(0)
    state.folk.stage[ill] = INFECTIOUS
    return game, state


def week(game: Any, state: Any, stay: int = 0) -> None:
    game.step(state, {0: Policy(0, 0)})
    game.step(state, {1: Stay(stay)})


def test_the_force_is_the_product_of_networkx_adjacency() -> None:
    graph = nx.gnp_random_graph(200, 0.05, seed=1)
    game, state = outbreak(graph, 0, contact=0.7)
    rng = np.random.default_rng(2)
    ill, home = rng.random(200) < 0.3, rng.random(200) < 0.4
    force = force_of(game.town(state), game.disease, ill, home, home & False, game.meetings)
    met = nx.to_scipy_sparse_array(graph, nodelist=range(200)) @ (ill & ~home)
    assert force == pytest.approx(game.transmission * 0.7 * met * ~home)


@pytest.mark.parametrize("graph", [nx.path_graph(12), nx.star_graph(11), nx.grid_2d_graph(4, 3)])
def test_a_sure_illness_travels_by_shortest_paths(graph: Any) -> None:
    """One day to be exposed by an infectious neighbour, and one more to become infectious."""
    game, state = outbreak(graph, 0, transmission=100.0, latent=1.0, infectious=1000.0)
    lengths = nx.single_source_shortest_path_length(graph, next(iter(graph)))
    week(game, state)
    cases = [day[0] for day in state.days]
    reached = [sum(1 for at in lengths.values() if 2 * at - 1 == day) for day in range(1, 8)]
    assert cases == reached


def test_a_star_infects_its_leaves_at_the_rate_of_one_contact() -> None:
    leaves = 20_000
    game, state = outbreak(nx.star_graph(leaves), 0, transmission=0.3, infectious=1000.0)
    state.folk.stage[0] = INFECTIOUS
    week(game, state)
    assert state.days[0][0] / leaves == pytest.approx(1 - np.exp(-0.3), abs=0.012)


def test_the_complete_graph_is_the_town_without_places() -> None:
    """The same seed gives the same epidemic to the last person."""
    people = 400
    apart = {"people": people, "transmission": 0.9, "infected": 0.05}
    mixed = Population(**apart, **WELL_MIXED)
    options = ALONE | apart | {"contact": 1 / people}
    given = Population(contacts=pairs_of(nx.complete_graph(people)), **options)
    for seed in range(3):
        cases = run(mixed, seed=seed, stay=(30,))
        assert run(given, seed=seed, stay=(30,)) == cases
        assert sum(cases) > 50


def test_nobody_catches_it_outside_of_the_component() -> None:
    graph = nx.disjoint_union(nx.gnp_random_graph(60, 0.2, seed=3), nx.complete_graph(40))
    game, state = outbreak(graph, 70, transmission=5.0, weeks=8)
    while game.to_act(state):
        week(game, state)
    (own,) = (part for part in nx.connected_components(graph) if 70 in part)
    ill = set(np.flatnonzero(state.folk.stage != SUSCEPTIBLE).tolist())
    assert ill == own
    game, state = outbreak(graph, 70, transmission=5.0)
    week(game, state, stay=100)
    assert sum(day[0] for day in state.days) == 0


def test_contacts_come_as_pairs_array_graph_or_file(tmp_path: Path) -> None:
    graph = nx.relabel_nodes(nx.cycle_graph(12), {n: f"person {n}" for n in range(12)})
    pairs = pairs_of(graph)
    file = tmp_path / "pairs.csv"
    file.write_text("one,other\n" + "\n".join(f"{a},{b}" for a, b in pairs), "utf-8")
    for contacts in (pairs, [list(p) for p in pairs], np.array(pairs), graph, str(file)):
        game = Population(people=12, contacts=contacts)
        assert (game.meetings == np.array(pairs).T).all()
    (record,) = palestra.play(
        ID, agents=["first"] * 5, seed=0, people=12, contacts=str(file), weeks=2
    )
    assert palestra.replay(record).over


@pytest.mark.parametrize(
    ("contacts", "said"),
    [(((0, 1), (1, 12)), r"pair 2: \(1, 12\) names somebody"), (((0, -1),), "from 0 to 11"),
     (((3, 3),), "cannot meet themselves"), (((0, 1), (1, 0)), "pair 2: 1 and 0 are a pair"),
     (((0, 1, 2),), "two whole numbers"), (((0, 0.5),), "two whole numbers"), ((5,), "two whole"),
     (7, "must be pairs of people"), (np.array([0.5]), "two whole"), ("none.csv", "cannot read")],
)  # fmt: skip
def test_bad_contacts_are_named_by_place(contacts: Any, said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        Population(people=12, contacts=contacts)


@pytest.mark.parametrize(
    ("text", "said"),
    [("a,b\n0,1\n2,x\n", r"line 3.*not '2,x'"), ("0,1,2\n", "line 1"), ("", "holds no pairs"),
     ("0,1\n\n1,2\n", "line 2"), ("0,1\n1,99\n", "pair 2.*names somebody")],
)  # fmt: skip
def test_a_bad_file_of_contacts_is_named_by_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(text, "utf-8")
    with pytest.raises(InvalidOption, match=said):
        Population(people=12, contacts=str(file))


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
    [{"num_players": 3}, {"people": 5}, {"contact": -1.0}, {"infected": 1.5}, {"latent": 0.5},
     {"transmission": -1.0}, {"dread": float("nan")}],
)  # fmt: skip
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="|".join(options)):
        Population(**options)


# Archetypes


@pytest.mark.parametrize(("groups", "shares"), [(8, 2), (24, 6)])
def test_more_archetypes_divide_the_four_by_sex_and_area(groups: int, shares: int) -> None:
    few, many = build_town(60_000, 4, 3), build_town(60_000, groups, 3)
    assert np.array_equal(few.age, many.age)
    assert np.array_equal(few.household, many.household)
    assert np.array_equal(many.archetype // shares, few.archetype)
    parts = many.sizes.reshape(4, shares)
    assert np.array_equal(parts.sum(axis=1), few.sizes)
    for part, size in zip(parts, few.sizes, strict=True):  # each an equal share
        assert abs(part - size / shares).max() < 5 * np.sqrt(size / shares)


def test_a_household_lives_in_one_area() -> None:
    town = build_town(5_000, 24, 1)
    for home in range(0, town.households, 37):
        assert len(set(town.area[town.household == home].tolist())) == 1
    assert set(town.area.tolist()) == {0, 1, 2}


def test_groups_read_the_news_of_their_own_area() -> None:
    game = Population(num_players=25, people=3_000)
    state = game.initial_state(0)
    town = game.town(state)
    state.folk.stage[:] = 0
    state.folk.stage[np.flatnonzero(town.area == 2)[:50]] = 2  # infectious, in the south alone
    south = 50 / (town.area == 2).sum()
    for seat in range(1, 25):
        expected = south if game.group_names[seat - 1].endswith("in the south") else 0
        assert game.local_share(state, seat) == pytest.approx(expected)
        assert f"{100 * expected:.2f} percent of people there" in game.describe(state, seat)
        assert game.observe(state, seat)[-1] == pytest.approx(expected)
    assert "News of" not in game.describe(state, 0)


@pytest.mark.parametrize("seats", [2, 4, 5, 9, 25])
def test_another_town_is_imagined_of_which_the_same_is_published(seats: int) -> None:
    game = Population(num_players=seats, people=400, infected=0.1)
    for weeks in (0, 3):
        episode = Episode(game, weeks)
        while episode.state.week < weeks:
            moves = {s: Policy(100, 80) if s == 0 else Stay(10 * s % 70) for s in episode.to_act}
            episode.act(moves)
        true, seat = episode.state, seats - 1
        town, worlds = game.town(true), [game.determinize(true, seat, Rng(n)) for n in range(6)]
        for world in worlds:
            other = game.town(world)
            assert game.counts(world) == game.counts(true)
            assert game.unemployment(world) == game.unemployment(true)
            assert np.array_equal(other.sizes, town.sizes)
            assert np.array_equal(game.observe(world, seat), game.observe(true, seat))
            fell = world.folk.stage != SUSCEPTIBLE
            assert (np.bincount(other.archetype[fell], minlength=seats - 1) >= true.fallen).all()
            jobless = (other.workplace >= 0) & ~world.folk.employed
            assert (other.job[jobless] == 1).all()
            for home in range(0, other.households, 17):
                assert len(set(other.area[other.household == home].tolist())) == 1
        differ = [world.folk.stage != true.folk.stage for world in worlds]
        assert all(0.02 < part.mean() < 0.9 for part in differ)
        ages = [(game.town(world).age != town.age).mean() for world in worlds]
        assert all(0.4 < part < 0.8 for part in ages)  # as two people of 25, 55 and 20 percent
        if seats == 2:
            adults = {int((game.town(world).workplace >= 0).sum()) for world in worlds}
            assert len(adults) > 1 or weeks  # shares of the unemployed say how many there are


def test_archetypes_have_names_of_their_own() -> None:
    for groups, names in ARCHETYPES.items():
        assert len(set(names)) == groups
    assert ARCHETYPES[8][:4] == (
        "young women",
        "young men",
        "women who work at home",
        "men who work at home",
    )
