"""The particle pilot against exact optima, closed forms and chance."""

from __future__ import annotations

from itertools import permutations
from math import dist
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import Agent, Episode, InvalidOption, Rng, Turn
from palestra.agents.making import make_agent
from palestra_envs.grid.particles.game import ACTIONS, Particles
from palestra_envs.grid.particles.pilots import (
    COAST,
    ParticlePilot,
    assign,
    median,
    read_observation,
)
from palestra_envs.grid.xland.game import XLand
from scipy.optimize import minimize

POINTS = st.tuples(st.floats(-1, 1), st.floats(-1, 1)).map(np.array)


def play_out(
    game: Particles, names: list[str], seed: int, state: Any = None, *, compiled: bool = False
) -> Episode:
    """One agent plays all seats of its name."""
    episode = Episode(game, seed, compiled=compiled)
    if state is not None:
        episode.load(state)
    made: dict[str, Agent] = {name: make_agent(name) for name in set(names)}
    for number, name in enumerate(sorted(made)):
        made[name].reseed(1000 * seed + number)
    while not episode.over:
        episode.act(
            {
                seat: made[names[seat]].act([Turn(episode, seat)])[0].action
                for seat in episode.to_act
            }
        )
    return episode


# Steering


def least_distance(place: Any, goal: Any, steps: int) -> float:
    """The least sum of distances from a goal, over all sequences of pushes of a lone disc."""
    here, speed, sums = place[None], np.zeros((1, 2)), np.zeros(1)
    pushes = 0.5 * np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)])
    for _ in range(steps):
        here, speed = here + 0.1 * speed, 0.75 * speed
        sums = sums + np.hypot(*(here - goal).T)
        speed = np.repeat(speed, 5, axis=0) + np.tile(pushes, (len(speed), 1))
        here, sums = np.repeat(here, 5, axis=0), np.repeat(sums, 5)
    return float(sums.min())


def test_a_lone_disc_is_hardly_farther_off_than_the_best_of_all_sequences_of_pushes() -> None:
    game, best, piloted = Particles(num_players=1, max_steps=8, local_ratio=0.0), [], []
    for seed in range(20):
        state = game.initial_state(seed)
        best.append(least_distance(state.place[0], state.place[1], 8))
        piloted.append(-play_out(game, ["particle-pilot"], seed).returns[0])
        assert piloted[-1] >= best[-1] - 1e-6
    assert sum(piloted) < 1.03 * sum(best)


def test_a_player_who_pushes_no_more_coasts_as_far_as_the_geometric_series_says() -> None:
    game = Particles(num_players=1, max_steps=200)
    state = game.arrange([(0, 0), (5, 5)])
    game.step(state, {0: ACTIONS.index("east")})
    for _ in range(150):
        game.step(state, {0: 0})
    assert state.place[0, 0] == pytest.approx(COAST * 0.5, abs=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_a_disc_stops_where_one_more_push_would_not_bring_it_nearer(seed: int) -> None:
    """A push carries 0.2, so that it ends at most 0.1 off along each axis."""
    episode = play_out(Particles(num_players=1, max_steps=60), ["particle-pilot"], seed)
    assert abs(episode.state.place[0] - episode.state.place[1]).max() <= 0.1 + 1e-3
    assert abs(episode.state.speed).max() < 1e-3


# Where to


@settings(max_examples=60)
@given(players=st.lists(POINTS, min_size=1, max_size=5), marks=st.lists(POINTS, max_size=5))
def test_the_assignment_is_the_best_of_all(players: list[Any], marks: list[Any]) -> None:
    found = assign(players, marks)
    pairs = [(p, m) for p, m in enumerate(found) if m is not None]
    assert len(pairs) == len({m for _, m in pairs}) == min(len(players), len(marks))
    total = sum(dist(players[p], marks[m]) for p, m in pairs)
    fewer, more = sorted((players, marks), key=len)
    best = min(
        sum(dist(one, more[other]) for one, other in zip(fewer, chosen, strict=True))
        for chosen in permutations(range(len(more)), len(fewer))
    )
    assert total == pytest.approx(best)


@settings(max_examples=30)
@given(players=st.lists(POINTS, min_size=1, max_size=3), first=st.integers(0, 3))
def test_the_goal_is_never_left_out(players: list[Any], first: int) -> None:
    marks = [np.array(corner) for corner in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
    assert first in assign(players, marks, first)


@settings(max_examples=30)
@given(
    places=st.lists(POINTS, min_size=3, max_size=5),
    weights=st.lists(st.floats(0.1, 1), min_size=5, max_size=5),
)
def test_the_median_has_the_least_expected_distance(
    places: list[Any], weights: list[float]
) -> None:
    where, chances = np.array(places), np.array(weights[: len(places)])

    def cost(here: Any) -> float:
        return float(chances @ np.hypot(*(where - here).T))

    tried = [minimize(cost, start, method="Nelder-Mead").fun for start in where]
    assert cost(median(where, chances)) <= min(tried) + 0.02


def test_the_adversary_goes_where_agents_rest() -> None:
    game = Particles(scenario="adversary", num_players=3, max_steps=40)
    places = [(0, 0), (0.8, 0.1), (0.8, -0.1), (0.8, 0), (-0.8, 0)]
    episode = play_out(game, ["particle-pilot", "first", "first"], 0, game.arrange(places, goal=0))
    assert dist(episode.state.place[0], places[3]) < 0.15


@pytest.mark.parametrize("seed", range(12))
def test_a_listener_ends_beside_the_landmark_that_only_the_speaker_knows(seed: int) -> None:
    game = Particles(scenario="speaker-listener", num_players=2, max_steps=50)
    state = play_out(game, ["particle-pilot"] * 2, seed).state
    assert dist(state.place[1], state.place[2 + int(state.goal)]) < 0.15


@pytest.mark.parametrize("sight", [0.0, 0.7])
@pytest.mark.parametrize(
    ("scenario", "players"), [("spread", 3), ("tag", 5), ("adversary", 4), ("speaker-listener", 2)]
)
def test_a_view_is_read_as_it_is_written(scenario: str, players: int, sight: float) -> None:
    prey = {"num_prey": 2} if scenario == "tag" else {}
    game = Particles(scenario=scenario, num_players=players, sight=sight, **prey)
    state = play_out(game, ["random"] * players, 5).state
    for own in range(scenario == "speaker-listener", players):
        seen, here = read_observation(game, own, game.observe(state, own)), state.place[own]
        for number, where in enumerate(seen.landmarks):
            there = state.place[players + number]
            goal = scenario == "adversary" and own > 0 and number == int(state.goal)
            assert (where is not None) == (not sight or goal or dist(here, there) <= sight)
            assert where is None or where == pytest.approx(there - here, abs=1e-5)
        for seat, where in seen.others.items():
            assert (where is not None) == (not sight or dist(here, state.place[seat]) <= sight)
            assert where is None or where == pytest.approx(state.place[seat] - here, abs=1e-5)
        for seat, how in seen.velocities.items():
            assert (how is not None) == (seen.others[seat] is not None)
            assert how is None or how == pytest.approx(state.speed[seat], abs=1e-5)
        if scenario == "speaker-listener":
            assert seen.heard == int(state.said) - 1
        if scenario != "adversary":
            assert seen.velocity == pytest.approx(state.speed[own], abs=1e-5)


@pytest.mark.parametrize("sight", [0.0, 0.6])
@pytest.mark.parametrize("scenario", ["spread", "tag", "adversary", "speaker-listener"])
def test_it_decides_the_same_whatever_it_cannot_see(scenario: str, sight: float) -> None:
    players = 2 if scenario == "speaker-listener" else 4
    game, rng = Particles(scenario=scenario, num_players=players, sight=sight), Rng(1)
    for seed in range(6):
        state = game.initial_state(seed)
        for _ in range(4):
            game.step(state, {p: game.sample(state, p, rng) for p in range(players)})
        for seat in range(players):
            chosen = set()
            for possible in (state, game.determinize(state, seat, rng)):
                episode = Episode(game, seed, compiled=False)
                episode.load(possible)
                chosen.add(ParticlePilot().act([Turn(episode, seat)])[0].action)
            assert len(chosen) == 1


# Against chance


@pytest.mark.exhaustive(sample=2)
@pytest.mark.parametrize(
    ("options", "seats", "least"),
    [
        pytest.param({}, [0, 1, 2], 10, id="spread"),
        pytest.param({"num_players": 5}, [0, 1, 2, 3, 4], 15, id="five spread"),
        pytest.param({"sight": 0.6}, [0, 1, 2], 6, id="near-sighted spread"),
        pytest.param({"scenario": "tag", "num_players": 4}, [0, 1, 2], 20, id="predators"),
        pytest.param({"scenario": "tag", "num_players": 4}, [3], 4, id="prey"),
        pytest.param(
            {"scenario": "tag", "num_players": 4, "sight": 0.6},
            [0, 1, 2],
            8,
            id="near-sighted tag",
        ),
        pytest.param({"scenario": "adversary"}, [1, 2], 6, id="agents"),
        pytest.param({"scenario": "adversary"}, [0], 4, id="adversary"),
        pytest.param(
            {"scenario": "speaker-listener", "num_players": 2}, [0, 1], 12, id="speaker, listener"
        ),
    ],
)
def test_pilots_earn_far_more_than_chance(
    options: dict[str, Any], seats: list[int], least: float
) -> None:
    """By at least so much with three standard errors to spare, in the same worlds."""
    game, more = Particles(**options), []
    pilots = ["particle-pilot" if p in seats else "random" for p in range(game.num_players)]
    for seed in range(40):
        earned = [
            fmean(play_out(game, names, seed, compiled=True).returns[seat] for seat in seats)
            for names in (pilots, ["random"] * game.num_players)
        ]
        more.append(earned[0] - earned[1])
    assert fmean(more) - 3 * stdev(more) / len(more) ** 0.5 > least


def test_pilots_flee_better_and_hunt_better_than_the_script() -> None:
    game = Particles(scenario="tag", num_players=4)
    contacts = {
        (hunter, prey): fmean(
            play_out(game, [*[hunter] * 3, prey], seed, compiled=True).returns[0]
            for seed in range(40)
        )
        for hunter in ("particle-pilot", "scripted")
        for prey in ("particle-pilot", "scripted")
    }
    for prey in ("particle-pilot", "scripted"):
        assert contacts["particle-pilot", prey] > contacts["scripted", prey] + 5
    for hunter in ("particle-pilot", "scripted"):
        assert contacts[hunter, "particle-pilot"] < contacts[hunter, "scripted"] - 5


def test_it_says_which_game_it_plays_and_forgets_what_is_over() -> None:
    with pytest.raises(InvalidOption, match="plays Particles, not"):
        ParticlePilot().act([Turn(Episode(XLand(), 0, compiled=False), 0)])
    agent, episode = ParticlePilot(), Episode(Particles(), 0, compiled=False)
    agent.act([Turn(episode, seat) for seat in range(3)])
    assert len(agent._memories) == 3
    agent.forget(id(episode))
    assert not agent._memories
