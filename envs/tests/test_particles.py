"""Particles: MPE2's episodes played over, and who can know what."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import Episode, InvalidOption, Rng, Turn
from palestra.agents.making import make_agent
from palestra.scene import Plane
from palestra_envs.grid.particles.game import ACTIONS, Particles
from palestra_envs.grid.particles.rules import overlap
from palestra_envs.grid.particles.tag import Tag

EPISODES = json.loads((Path(__file__).parent / "data" / "mpe_traces.json").read_text("utf-8"))
SCENARIOS = {
    "spread": {},
    "tag": {"num_players": 4},
    "adversary": {},
    "speaker-listener": {"num_players": 2},
}


def recorded_game(episode: dict[str, Any]) -> Particles:
    name, public = episode["scenario"], episode["options"]
    players = len(episode["steps"][0][0])
    options = {"scenario": name, "num_players": players, "max_steps": len(episode["steps"])}
    options["num_landmarks"] = len(episode["start"]) - players
    if "num_good" in public:
        options["num_prey"] = public["num_good"]
    if "local_ratio" in public:
        options["local_ratio"] = public["local_ratio"]
    return Particles(**options)


def public_numbers(game: Particles, view: list[float]) -> list[float]:
    """A public observation without the words of silent players, which end those of `spread`."""
    if game.scenario == "spread":
        return view[: len(view) - 2 * (game.num_players - 1)]
    return view


@pytest.mark.parametrize("episode", EPISODES, ids=[e["scenario"] for e in EPISODES])
def test_episodes_go_as_in_mpe2(episode: dict[str, Any]) -> None:
    game = recorded_game(episode)
    state = game.arrange(episode["start"], goal=episode["goal"])
    touched = 0
    for actions, places, paid, *views in episode["steps"]:
        rewards = game.step(state, dict(enumerate(actions))).rewards
        assert state.place[: game.num_players] == pytest.approx(np.array(places), abs=1e-5)
        totals = [sum(rewards.get(seat, {}).values()) for seat in range(game.num_players)]
        assert totals == pytest.approx(paid, abs=1e-5)
        touched += any("contacts" in terms for terms in rewards.values())
        for seat, public in enumerate(views[0] if views else []):
            expected = public_numbers(game, public)
            view = game.observe(state, seat)
            assert view[: len(expected)].tolist() == pytest.approx(expected, abs=2e-5)
            assert not view[len(expected) :].any()
    assert game.outcome(state) is not None
    if game.scenario in ("spread", "tag"):
        assert touched > 1


@pytest.mark.parametrize("depth", [-0.2, -0.041, -0.02, -0.001, 0.0, 0.003, 0.039, 0.041, 0.1])
def test_the_overlap_is_numpys_softened_one(depth: float) -> None:
    game = Particles(num_players=2)
    state = game.arrange([(0, 0), (0.3 - depth, 0), (1, 1), (1, -1)])
    softened = np.logaddexp(0, depth / 0.001) * 0.001
    assert overlap(game.config, state, 0, 1) == pytest.approx(softened, abs=2e-9)


def test_a_lone_push_follows_the_closed_form() -> None:
    """v' = (3/4) v + 1/2 for a push of 5 over 0.1: v_n = 2 (1 - (3/4)^n), and x sums them up."""
    game = Particles(num_players=1, max_steps=20)
    state, where = game.arrange([(0, 0), (5, 5)]), 0.0
    for step in range(20):
        where += 0.1 * 2 * (1 - 0.75**step)
        game.step(state, {0: ACTIONS.index("east")})
        assert state.place[0].tolist() == pytest.approx([where, 0.0], abs=1e-7)
        assert state.speed[0, 0] == pytest.approx(2 * (1 - 0.75 ** (step + 1)), abs=1e-7)


def test_a_listener_hears_one_step_later_and_only_the_speaker_sees_the_goal() -> None:
    game = Particles(scenario="speaker-listener", num_players=2)
    state = game.arrange([(0, 0), (0.1, 0), (1, 0), (0, 1), (-1, 0)], goal=1)
    assert game.describe(state, 0).endswith("The goal is green.")
    assert "You heard: nothing." in game.describe(state, 1)
    before = game.observe(state, 1).copy()
    state.goal = 2
    assert np.array_equal(game.observe(state, 1), before)
    game.step(state, {0: 2, 1: 0})
    assert "You heard: blue." in game.describe(state, 1)
    assert game.legal_actions(state, 0) == [0, 1, 2]


@pytest.mark.parametrize("sight", [0.0, 0.6])
@pytest.mark.parametrize(("scenario", "options"), SCENARIOS.items())
@settings(max_examples=8)
@given(seed=st.integers(0, 2**64 - 1))
def test_redrawing_what_is_hidden_leaves_a_players_views_alone(
    scenario: str, options: dict[str, Any], sight: float, seed: int
) -> None:
    game, rng = Particles(scenario=scenario, sight=sight, **options), Rng(seed)
    state = game.initial_state(seed)
    for _ in range(3):
        game.step(state, {p: game.sample(state, p, rng) for p in range(game.num_players)})
    for seat in range(game.num_players):
        other = game.determinize(state, seat, rng)
        assert np.array_equal(game.observe(other, seat), game.observe(state, seat))
        assert game.describe(other, seat) == game.describe(state, seat)
        assert game.scene(other, seat) == game.scene(state, seat)


def test_an_id_with_a_scenario_makes_a_game_of_the_scenarios_own_class() -> None:
    made = palestra.game("grid/Particles-v0", scenario="tag", num_players=4)
    assert isinstance(made, Tag)
    assert made == Particles("tag", 4) == Tag(num_players=4)
    assert pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(InvalidOption, match=r"make one with Particles\(scenario='spread'\)"):
        Tag(scenario="spread", num_players=4)


# Sight


def test_what_is_farther_than_sight_is_zeros_and_marked_as_not_seen() -> None:
    """By hand: one landmark just as far off as is seen, one farther, one on the own place."""
    game = Particles(num_players=2, num_landmarks=3, sight=0.5)
    state = game.arrange([(0, 0), (0, 0.75), (0.5, 0), (0.75, 0), (0, 0)])
    view = game.observe(state, 0).tolist()
    own, places, other, marks = view[:4], view[4:10], view[10:12], view[12:]
    assert own == [0, 0, 0, 0]
    assert places == pytest.approx([0.5, 0, 0, 0, 0, 0])
    assert (other, marks) == ([0, 0], [1, 0, 1, 0])
    text = game.describe(state, 0)
    for line in (
        "- landmark 1 (0.500, 0.000)",
        "- landmark 2 is out of sight",
        "- landmark 3 (0.000, 0.000)",
        "- player_1, agent is out of sight",
    ):
        assert line in text
    (plane,) = game.scene(state, 0).parts
    assert isinstance(plane, Plane)
    assert [(s.name, s.label) for s in plane.spots] == [
        ("", "landmark 3"),
        ("", "landmark 1"),
        ("0", ""),
    ]
    assert "at most 0.5 away" in game.rules_for(0)


@pytest.mark.parametrize(("scenario", "options"), SCENARIOS.items())
def test_players_who_see_far_enough_see_the_same_as_without_a_limit(
    scenario: str, options: dict[str, Any]
) -> None:
    all_seen = Particles(scenario=scenario, **options)
    far, rng = Particles(scenario=scenario, sight=100, **options), Rng(1)
    states = all_seen.initial_state(1), far.initial_state(1)
    for _ in range(5):
        for seat in range(all_seen.num_players):
            view, longer = (
                g.observe(s, seat) for g, s in zip((all_seen, far), states, strict=True)
            )
            blind = scenario == "speaker-listener" and seat == 0
            shown = far.landmarks + (scenario != "speaker-listener") * (far.num_players - 1)
            assert longer.sum() == pytest.approx(view.sum() + (0 if blind else shown), abs=1e-4)
            kept = len(np.trim_zeros(view, "b"))
            assert np.array_equal(longer[:kept], view[:kept])
            assert all_seen.describe(states[0], seat) == far.describe(states[1], seat)
            assert all_seen.scene(states[0], seat) == far.scene(states[1], seat)
        actions = {p: all_seen.sample(states[0], p, rng) for p in range(all_seen.num_players)}
        all_seen.step(states[0], actions)
        far.step(states[1], actions)


def test_who_knows_the_goal_sees_it_from_anywhere_and_a_listener_hears_from_anywhere() -> None:
    game = Particles(scenario="adversary", sight=0.1)
    state = game.arrange([(-1, -1), (0, 0), (0, 1), (1, 1), (1, -1)], goal=1)
    assert game.observe(state, 1)[:6].tolist() == [1, -1, 0, 0, 1, -1]
    assert not game.observe(state, 0).any()
    assert "the goal (1.000, -1.000)" in game.describe(state, 1)
    game = Particles(scenario="speaker-listener", num_players=2, sight=0.1)
    state = game.arrange([(0, 0), (1, 1), (0, 1), (-1, 0), (0, -1)], goal=2)
    game.step(state, {0: 2, 1: 0})
    assert game.observe(state, 1).tolist() == [0, 0] + [0, 0] * 3 + [0, 0, 1] + [0, 0, 0]


def test_what_is_hidden_is_redrawn_out_of_sight() -> None:
    game, rng = Particles(scenario="tag", num_players=4, sight=0.6), Rng(3)
    state = game.arrange([(0, 0), (0.3, 0), (0.9, 0.9), (-0.9, 0), (0.5, 0), (0.9, -0.9)])
    redrawn = [game.determinize(state, 0, rng).place for _ in range(50)]
    for place in redrawn:
        assert np.array_equal(place[[0, 1, 4]], state.place[[0, 1, 4]])
        assert (np.hypot(*place[[2, 3, 5]].T) > 0.6).all()
        assert (abs(place) <= 1).all()
    assert len({place.tobytes() for place in redrawn}) == 50


def test_what_hides_in_a_small_corner_is_redrawn_too() -> None:
    game, rng = Particles(scenario="tag", num_players=2, sight=2.8), Rng(3)
    state = game.arrange([(-1, -1), (0.999, 0.999), (0, 0), (0.5, 0)])
    redrawn = [game.determinize(state, 0, rng).place[1] for _ in range(50)]
    assert len({place.tobytes() for place in redrawn}) == 50
    for place in redrawn:
        assert np.hypot(*(place - state.place[0])) > 2.8
        assert not np.array_equal(place, state.place[1])


def play_out(game: Particles, agent: str, seed: int) -> tuple[float, ...]:
    episode, player = Episode(game, seed, compiled=False), make_agent(agent)
    player.reseed(seed)
    while not episode.over:
        turns = [Turn(episode, seat) for seat in episode.to_act]
        decisions = player.act(turns)
        episode.act({t.seat: d.action for t, d in zip(turns, decisions, strict=True)})
    return tuple(episode.returns)


@pytest.mark.parametrize(
    ("scenario", "seat"), [("spread", 0), ("tag", 0), ("adversary", 0), ("speaker-listener", 1)]
)
def test_the_script_earns_more_than_chance(scenario: str, seat: int) -> None:
    game = Particles(scenario=scenario, **SCENARIOS[scenario])
    earned = [
        sum(play_out(game, agent, seed)[seat] for seed in range(6))
        for agent in ("scripted", "random")
    ]
    assert earned[0] > earned[1]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"scenario": "keep-away"}, "scenario must be 'spread' or 'tag' or"),
        ({"num_players": 11}, "num_players must be an integer from 1 to 10"),
        ({"scenario": "tag", "num_players": 1}, "num_players must be from 2"),
        ({"scenario": "tag", "num_players": 3, "num_prey": 3}, "num_prey must be from 1 to 2"),
        ({"scenario": "speaker-listener"}, "set num_players=2"),
        ({"local_ratio": 1.5}, "local_ratio"),
        ({"sight": -0.1}, "sight must be a number at least 0"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidOption, match=named):
        Particles(**options)
