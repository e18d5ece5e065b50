"""Particles: MPE2's episodes played over, and who can know what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import Episode, InvalidOption, Rng, Turn
from palestra.registry import make_agent
from palestra_envs.grid.particle_rules import overlap
from palestra_envs.grid.particles import ACTIONS, Particles

EPISODES = json.loads((Path(__file__).parent / "data" / "mpe_traces.json").read_text("utf-8"))
SCENARIOS = {
    "spread": {},
    "tag": {"num_players": 4},
    "adversary": {},
    "speaker-listener": {"num_players": 2},
}


def of_record(episode: dict[str, Any]) -> Particles:
    name, public = episode["scenario"], episode["options"]
    players = len(episode["steps"][0][0])
    options = {"scenario": name, "num_players": players, "max_steps": len(episode["steps"])}
    options["num_landmarks"] = len(episode["start"]) - players
    if "num_good" in public:
        options["num_prey"] = public["num_good"]
    if "local_ratio" in public:
        options["local_ratio"] = public["local_ratio"]
    return Particles(**options)


def seen_there(game: Particles, view: list[float]) -> list[float]:
    """A public view without the words of the silent, which close those of `spread`."""
    if game.scenario == "spread":
        return view[: len(view) - 2 * (game.num_players - 1)]
    return view


@pytest.mark.parametrize("episode", EPISODES, ids=[e["scenario"] for e in EPISODES])
def test_episodes_go_as_in_mpe2(episode: dict[str, Any]) -> None:
    game = of_record(episode)
    state = game.arrange(episode["start"], goal=episode["goal"])
    touched = 0
    for actions, places, paid, *views in episode["steps"]:
        rewards = game.step(state, dict(enumerate(actions))).rewards
        assert state.place[: game.num_players] == pytest.approx(np.array(places), abs=1e-5)
        totals = [sum(rewards.get(seat, {}).values()) for seat in range(game.num_players)]
        assert totals == pytest.approx(paid, abs=1e-5)
        touched += any("contacts" in terms for terms in rewards.values())
        for seat, public in enumerate(views[0] if views else []):
            expected = seen_there(game, public)
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


@pytest.mark.parametrize(("scenario", "options"), SCENARIOS.items())
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**64 - 1))
def test_redrawing_what_is_hidden_leaves_a_players_views_alone(
    scenario: str, options: dict[str, Any], seed: int
) -> None:
    game, rng = Particles(scenario=scenario, **options), Rng(seed)
    state = game.initial_state(seed)
    for _ in range(3):
        game.step(state, {p: game.sample(state, p, rng) for p in range(game.num_players)})
    for seat in range(game.num_players):
        other = game.determinize(state, seat, rng)
        assert np.array_equal(game.observe(other, seat), game.observe(state, seat))
        assert game.describe(other, seat) == game.describe(state, seat)
        assert game.scene(other, seat) == game.scene(state, seat)


def play_out(game: Particles, agent: str, seed: int) -> tuple[float, ...]:
    episode, players = Episode(game, seed, compiled=False), make_agent(agent)
    players.reseed(seed)
    while not episode.over:
        turns = [Turn(episode, seat) for seat in episode.to_act]
        decisions = players.act(turns)
        episode.act({t.player: d.action for t, d in zip(turns, decisions, strict=True)})
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
        ({"scenario": "keep-away"}, "scenario must be spread or tag or"),
        ({"num_players": 11}, "num_players must be from 1 to 10"),
        ({"scenario": "tag", "num_players": 1}, "num_players must be from 2"),
        ({"scenario": "tag", "num_players": 3, "num_prey": 3}, "num_prey must be from 1 to 2"),
        ({"scenario": "speaker-listener"}, "set num_players=2"),
        ({"local_ratio": 1.5}, "local_ratio"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidOption, match=named):
        Particles(**options)
