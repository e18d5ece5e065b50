"""Level-Based Foraging: hand-computed positions, what is hidden, and the words for it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import (
    Agent,
    EnvSpec,
    Episode,
    InvalidAction,
    InvalidOption,
    Rng,
    Transition,
    Turn,
    only,
)
from palestra.grids.compass import EAST, NORTH, SOUTH, STAY, WEST
from palestra.testing.kit import run_check
from palestra.testing.subject import Subject
from palestra_envs.grid.foraging.foragers import Forager
from palestra_envs.grid.foraging.game import ACTIONS, Foraging
from palestra_envs.grid.foraging.rules import LOAD, food_levels
from palestra_envs.grid.foraging.surroundings import Surroundings, Thing
from palestra_envs.grid.shaping import distance_potential, food_distance

SEEDS = st.integers(0, 2**64 - 1)
SPEC = EnvSpec(
    "grid/Foraging-v0",
    "palestra_envs.grid.foraging.game:Foraging",
    players=(1, 20),
    moves="simultaneous",
    payoffs="general",
    family="grid",
)
PARTIAL = {"num_players": 3, "sight": 2}
KIT = (
    "facts_are_true",
    "gymnasium_checker",
    "sb3_checker",
    "pettingzoo_api",
    "pettingzoo_parallel_api",
    "pettingzoo_seeds",
    "clone_is_independent",
    "forks_diverge",
    "snapshot_gives_same_future",
    "pickles",
    "seeds_decide",
    "masks_agree",
    "nonsense_is_refused",
    "illegal_moves_never_pay",
    "ends_are_told",
    "numbers_stay_in_space",
    "secrets_stay_hidden",
    "transcripts_keep_secrets",
)


def play(game: Foraging, state: Any, *actions: int) -> list[float]:
    """Play one action a seat; returns what each was paid."""
    paid = game.step(state, dict(enumerate(actions))).rewards
    return [paid.get(seat, {}).get("food", 0.0) for seat in range(game.num_players)]


def places(state: Any) -> list[tuple[int, int]]:
    return list(zip(state.row.tolist(), state.column.tolist(), strict=True))


def random_actions(game: Foraging, state: Any, rng: Rng) -> dict[int, int]:
    return {seat: game.sample(state, seat, rng) for seat in game.to_act(state)}


def wander(game: Foraging, seed: int, steps: int) -> Any:
    """The state after some random legal steps from a seed."""
    state, rng = game.initial_state(seed), Rng(seed)
    for _ in range(steps):
        if game.to_act(state):
            game.step(state, random_actions(game, state, rng))
    return state


def forage(game: Foraging, seed: int, agent: Agent) -> Episode:
    """An episode in which one agent plays every seat, interpreted."""
    episode = Episode(game, seed, compiled=False)
    agent.reseed(seed)
    while not episode.over:
        turns = [Turn(episode, seat) for seat in episode.to_act]
        decisions = agent.act(turns)
        episode.act({t.seat: d.action for t, d in zip(turns, decisions, strict=True)})
    return episode


# Moving


@pytest.mark.parametrize(
    ("start", "actions", "end"),
    [
        ([(4, 4)], [NORTH], [(3, 4)]),
        ([(4, 4)], [SOUTH], [(5, 4)]),
        ([(4, 4)], [WEST], [(4, 3)]),
        ([(4, 4)], [EAST], [(4, 5)]),
        ([(4, 4)], [STAY], [(4, 4)]),
        pytest.param([(4, 3), (4, 5)], [EAST, WEST], [(4, 3), (4, 5)], id="both want one cell"),
        pytest.param([(4, 3), (4, 4)], [EAST, STAY], [(4, 3), (4, 4)], id="it stays there"),
        pytest.param([(2, 3), (2, 2)], [WEST, LOAD], [(2, 3), (2, 2)], id="it loads there"),
        pytest.param([(4, 3), (4, 4)], [EAST, WEST], [(4, 4), (4, 3)], id="swap"),
        pytest.param([(4, 3), (4, 4)], [EAST, SOUTH], [(4, 4), (5, 4)], id="follow"),
        pytest.param(
            [(4, 3), (4, 4), (4, 6)],
            [EAST, EAST, WEST],
            [(4, 4), (4, 4), (4, 6)],
            id="follow one who is blocked",
        ),
        pytest.param(
            [(4, 4), (4, 5), (5, 5), (5, 4)],
            [EAST, SOUTH, WEST, NORTH],
            [(4, 5), (5, 5), (5, 4), (4, 4)],
            id="all round",
        ),
        pytest.param(
            [(3, 4), (5, 4), (4, 3), (4, 5)],
            [SOUTH, NORTH, EAST, WEST],
            [(3, 4), (5, 4), (4, 3), (4, 5)],
            id="four want one cell",
        ),
        pytest.param([(4, 4), (4, 4)], [STAY, EAST], [(4, 4), (4, 5)], id="leave a shared cell"),
    ],
)
def test_players_move_unless_somebody_else_has_the_same_target(
    start: list[tuple[int, int]], actions: list[int], end: list[tuple[int, int]]
) -> None:
    game = Foraging(num_players=len(start))
    state = game.arrange([(r, c, 1) for r, c in start], [(1, 2, 9)])
    assert play(game, state, *actions) == [0.0] * len(start)
    assert places(state) == end


def test_walls_food_and_empty_air_are_masked_and_players_are_not() -> None:
    game = Foraging(rows=5, columns=5, num_players=4)
    state = game.arrange([(0, 0, 1), (1, 2, 1), (4, 4, 1), (4, 3, 1)], [(1, 1, 1), (3, 3, 2)])
    legal = [{ACTIONS[a] for a in game.legal_actions(state, seat)} for seat in range(4)]
    assert legal == [
        {"stay", "south", "east"},
        {"stay", "north", "south", "east", "load"},
        {"stay", "north", "west"},
        {"stay", "west", "east", "load"},
    ]
    with pytest.raises(InvalidAction, match="not legal for player_0"):
        game.check(state, 0, NORTH)


# Loading


def test_one_player_loads_food_of_his_level_and_the_episode_ends() -> None:
    game = Foraging(num_players=2)
    state = game.arrange([(3, 4, 2), (0, 0, 1)], [(3, 3, 2)])
    assert play(game, state, LOAD, STAY) == [1.0, 0.0]
    assert game.to_act(state) == ()
    outcome = game.outcome(state)
    assert outcome is not None
    assert (outcome.results, outcome.scores) == (("score", "score"), (1.0, 0.0))
    assert "all food" in outcome.reason
    assert not game.truncated(state)


def test_food_beyond_one_players_level_needs_both() -> None:
    game = Foraging(num_players=2)
    state = game.arrange([(2, 3, 1), (3, 4, 2)], [(3, 3, 3)])
    assert play(game, state, LOAD, STAY) == [0.0, 0.0]
    assert play(game, state, STAY, LOAD) == [0.0, 0.0]
    assert game.foods(state) == [(3, 3, 3)]
    assert play(game, state, LOAD, LOAD) == [1 / 3, 2 / 3]
    assert game.foods(state) == []


def test_a_share_is_level_times_food_over_loaders_and_all_food() -> None:
    game = Foraging(num_players=4, max_player_level=3)
    # the first two load food of level 2, the third one of level 3; the fourth stands diagonally
    players = [(1, 2, 1), (2, 1, 3), (5, 4, 3), (6, 4, 3)]
    state = game.arrange(players, [(2, 2, 2), (5, 5, 3)])
    paid = play(game, state, LOAD, LOAD, LOAD, STAY)
    assert paid == [1 * 2 / (4 * 5), 3 * 2 / (4 * 5), 3 * 3 / (3 * 5), 0.0]
    assert game.scores(state) == tuple(paid)


def test_without_normalising_a_share_is_level_times_food() -> None:
    game = Foraging(num_players=2, normalize_reward=False)
    state = game.arrange([(2, 3, 1), (3, 4, 2)], [(3, 3, 3)])
    assert play(game, state, LOAD, LOAD) == [3.0, 6.0]
    assert game.payoff_bounds == (0.0, 2.0 * 3 * 4)


def test_loading_in_vain_costs_the_penalty_and_only_those_who_load() -> None:
    game = Foraging(num_players=3, penalty=0.25)
    state = game.arrange([(2, 3, 1), (3, 4, 1), (7, 7, 2)], [(3, 3, 3)])
    assert play(game, state, LOAD, STAY, STAY) == [-0.25, 0.0, 0.0]
    assert play(game, state, LOAD, LOAD, STAY) == [-0.25, -0.25, 0.0]
    assert game.scores(state) == (-0.5, -0.25, 0.0)


@pytest.mark.parametrize("last", [STAY, LOAD])
def test_time_runs_out_unless_the_last_step_takes_the_last_food(last: int) -> None:
    game = Foraging(num_players=1, max_steps=10)
    state = game.arrange([(3, 4, 1)], [(3, 3, 1)], turn=8)
    play(game, state, STAY)
    assert game.outcome(state) is None
    play(game, state, last)
    outcome = game.outcome(state)
    assert outcome is not None
    assert game.truncated(state) == (last == STAY)
    assert outcome.results == (("truncated",) if last == STAY else ("score",))
    assert outcome.scores == (0.0 if last == STAY else 1.0,)


@settings(max_examples=25)
@given(seed=SEEDS, players=st.integers(2, 6), coop=st.booleans())
def test_collecting_everything_is_worth_one_to_all_together(
    seed: int, players: int, coop: bool
) -> None:
    game = Foraging(num_players=players, max_player_level=4, force_coop=coop, max_steps=400)
    episode = forage(game, seed, Forager())
    assert episode.outcome is not None
    assert episode.outcome.results == ("score",) * players
    assert sum(episode.outcome.scores) == pytest.approx(1.0, abs=1e-12)
    assert list(episode.outcome.scores) == list(episode.returns)


# The start


@settings(max_examples=60)
@given(
    game=st.builds(
        Foraging,
        rows=st.integers(7, 9),
        columns=st.integers(7, 12),
        num_players=st.integers(1, 20),
        max_food=st.integers(1, 4),
        min_player_level=st.integers(1, 2),
        max_player_level=st.integers(2, 5),
        min_food_level=st.integers(1, 3),
        force_coop=st.booleans(),
    ),
    seed=SEEDS,
)
def test_players_and_food_start_apart_and_with_levels_in_bounds(game: Foraging, seed: int) -> None:
    state = game.initial_state(seed)
    foods, taken = game.foods(state), places(state)
    assert len(set(taken)) == game.num_players
    assert all(0 <= r < game.rows and 0 <= c < game.columns for r, c in taken)
    levels = state.level.tolist()
    assert all(game.min_player_level <= level <= game.max_player_level for level in levels)
    high = sum(sorted(levels)[:3])
    low = high if game.force_coop else min(game.min_food_level, high)
    assert food_levels(game.config, state) == (low, high)
    assert 1 <= len(foods) <= game.max_food
    assert foods == sorted(foods)
    assert int(state.laid_out) == sum(level for *_, level in foods)
    for row, column, level in foods:
        assert 0 < row < game.rows - 1
        assert 0 < column < game.columns - 1
        assert low <= level <= high
        assert (row, column) not in taken
        for r, c, _ in foods:
            south, east = abs(r - row), abs(c - column)
            assert south == east == 0 or max(south, east) > 2 or (south, east) in KNIGHT_OR_FAR


KNIGHT_OR_FAR = {(1, 2), (2, 1), (2, 2)}  # within two cells, neither touching nor in line


@pytest.mark.parametrize("players", [1, 2, 3, 8, 20])
def test_any_number_of_seats_plays_to_the_end(players: int) -> None:
    game = Foraging(num_players=players, sight=2, max_steps=30)
    state, rng = game.initial_state(5), Rng(5)
    steps = 0
    while game.to_act(state):
        assert game.to_act(state) == tuple(range(players))
        for seat in range(players):
            view = game.observe(state, seat)
            assert game.observation_space(seat).contains(view)
            assert game.describe(state, seat)
        game.step(state, random_actions(game, state, rng))
        steps += 1
    assert steps <= 30
    assert game.outcome(state) is not None


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"num_players": 0}, "num_players"),
        ({"num_players": 21}, "num_players"),
        ({"rows": 2}, "rows"),
        ({"columns": 101}, "columns"),
        ({"max_food": 0}, "max_food"),
        ({"min_player_level": 3, "max_player_level": 2}, "max_player_level"),
        ({"min_food_level": 3, "max_food_level": 2}, "max_food_level"),
        ({"sight": 0}, "sight"),
        ({"penalty": -0.1}, "penalty"),
        ({"max_steps": 0}, "max_steps"),
        ({"rows": 4, "columns": 4, "num_players": 4}, "larger"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidOption, match=named):
        Foraging(**options)


@pytest.mark.parametrize("food", [(0, 3, 1), (3, 7, 1), (2, 2, 1), (3, 4, 1), (5, 3, 1)])
def test_food_is_not_arranged_where_it_cannot_lie(food: tuple[int, int, int]) -> None:
    game = Foraging(num_players=1)
    with pytest.raises(InvalidOption, match="food cannot lie"):
        game.arrange([(2, 2, 1)], [(3, 3, 1), food])


# What a player sees


def test_the_view_lists_food_then_oneself_then_others() -> None:
    game = Foraging(num_players=3, max_food=3)
    state = game.arrange([(0, 0, 1), (7, 6, 2), (4, 4, 1)], [(5, 2, 3), (2, 6, 1)])
    near, rest = [2, 6, 1, 5, 2, 3], [-1, -1, 0]
    assert game.observe(state, 1).tolist() == [*near, *rest, 7, 6, 2, 0, 0, 1, 4, 4, 1]


def test_a_partial_view_counts_from_its_own_corner_and_shows_nothing_beyond() -> None:
    game = Foraging(num_players=3, max_food=2, sight=2)
    state = game.arrange([(4, 5, 2), (2, 7, 1), (4, 2, 1)], [(6, 4, 3), (1, 5, 2)])
    assert game.observe(state, 0).tolist() == [
        *(4, 1, 3, -1, -1, 0),  # the food at (6, 4) in a window that starts at (2, 3)
        *(2, 2, 2, 0, 4, 1, -1, -1, 0),
    ]


def test_at_the_edge_a_partial_view_is_cut_off() -> None:
    game = Foraging(num_players=2, max_food=1, sight=2)
    state = game.arrange([(1, 0, 1), (4, 1, 1)], [(2, 2, 1)])
    assert game.observe(state, 0).tolist() == [2, 2, 1, 1, 0, 1, -1, -1, 0]


def test_information_is_perfect_when_everybody_sees_everything() -> None:
    assert Foraging().perfect_information
    assert Foraging(sight=7).perfect_information
    assert not Foraging(sight=6).perfect_information
    assert not Foraging(rows=5, columns=9, sight=7).perfect_information


def test_reading_a_view_gives_levels_and_offsets() -> None:
    game = Foraging(num_players=3, max_food=2, sight=2)
    state = game.arrange([(4, 5, 2), (2, 7, 1), (4, 2, 1)], [(6, 4, 3), (1, 5, 2)])
    expected = Surroundings(2, 2, 2, (Thing(3, 2, -1),), (Thing(1, -2, 2),))
    assert game.read(game.observe(state, 0)) == expected


@settings(max_examples=40)
@given(seed=SEEDS, steps=st.integers(0, 20), sight=st.integers(1, 4), draw=SEEDS)
def test_redrawing_what_is_hidden_leaves_a_players_views_alone(
    seed: int, steps: int, sight: int, draw: int
) -> None:
    game = Foraging(num_players=4, max_food=4, sight=sight, force_coop=seed % 2 == 0)
    state = wander(game, seed, steps)
    for seat in range(4):
        other = game.determinize(state, seat, Rng(draw))
        assert np.array_equal(game.observe(other, seat), game.observe(state, seat))
        assert np.array_equal(game.action_mask(other, seat), game.action_mask(state, seat))
        assert game.describe(other, seat) == game.describe(state, seat)
        assert 1 <= len(game.foods(other)) <= 4
        unseen = game.cells(state, seat, seen=False)
        kept = [p for p in places(state) if p not in unseen]
        assert kept == [p for p in places(other) if p not in unseen]


def test_a_redrawn_world_moves_what_is_hidden() -> None:
    game = Foraging(num_players=2, sight=1, max_player_level=5, max_food=1)
    state = game.arrange([(0, 0, 1), (6, 6, 2)], [(4, 4, 3)])
    drawn = [game.determinize(state, 0, Rng(n)) for n in range(400)]
    unseen = set(game.cells(state, 0, seen=False))
    inside = {(r, c) for r, c in unseen if 0 < r < 7 and 0 < c < 7}
    assert {food[:2] for d in drawn for food in game.foods(d)} == inside
    assert {places(d)[1] for d in drawn} == unseen
    assert {int(d.level[1]) for d in drawn} == {1, 2, 3, 4, 5}
    assert all(game.foods(d)[0][2] <= 1 + int(d.level[1]) for d in drawn)
    assert all(int(d.laid_out) == game.foods(d)[0][2] for d in drawn)


def test_food_in_sight_tells_how_strong_a_hidden_player_is() -> None:
    game = Foraging(num_players=2, sight=1, max_player_level=5, force_coop=True)
    state = game.arrange([(0, 0, 1), (6, 6, 3)], [(1, 1, 4)])
    drawn = [game.determinize(state, 0, Rng(n)) for n in range(20)]
    assert {int(d.level[1]) for d in drawn} == {3}
    assert len({places(d)[1] for d in drawn}) > 10


def test_a_player_does_not_know_how_much_food_is_left_out_of_sight() -> None:
    game = Foraging(num_players=2, sight=1, max_food=3)
    start, later = (
        game.arrange([(0, 0, 1), (6, 6, 2)], [(4, 4, 1), (2, 6, 2)], turn=turn) for turn in (0, 9)
    )
    left = [
        {len(game.foods(game.determinize(s, 0, Rng(n)))) for n in range(60)} for s in (start, later)
    ]
    assert left == [{3}, {1, 2, 3}]


@pytest.mark.parametrize("name", KIT)
def test_a_partial_view_passes_the_kit(name: str) -> None:
    verdict = run_check(Subject(SPEC, dict(PARTIAL)), name)
    assert verdict.status == "passed", verdict.detail


# Words and pictures


def test_the_text_says_in_words_what_the_view_says_in_numbers() -> None:
    game = Foraging(num_players=3, sight=2)
    state = game.arrange([(4, 1, 2), (2, 3, 1), (7, 7, 1)], [(2, 2, 3), (5, 1, 1)], turn=4)
    assert game.describe(state, 0).splitlines() == [
        "You are player_0, level 2, in row 3 or further south, column 2. Steps played: 4 of 50.",
        "You see:",
        "- a food of level 3 two cells north and one cell east of you",
        "- a food of level 1 one cell south of you",
        "- a player of level 1 two cells north and two cells east of you",
        "What lies more than two cells away you cannot see, nor where one other player may be.",
    ]


def test_players_are_named_when_all_are_in_sight() -> None:
    game = Foraging(num_players=3)
    state = game.arrange([(4, 1, 2), (4, 1, 1), (4, 7, 1)], [(2, 2, 3)])
    assert game.describe(state, 1).splitlines() == [
        "You are player_1, level 1, in row 5, column 2. Steps played: 0 of 50.",
        "You see:",
        "- a food of level 3 two cells north and one cell east of you",
        "- player_0 of level 2 on your own cell",
        "- player_2 of level 1 six cells east of you",
    ]


@settings(max_examples=40)
@given(one=SEEDS, other=SEEDS, sight=st.integers(1, 3))
def test_equal_views_read_equally(one: int, other: int, sight: int) -> None:
    game = Foraging(num_players=2, rows=5, columns=5, max_food=1, sight=sight)
    states = [game.initial_state(seed) for seed in (one, other)]
    views = [game.observe(state, 0).tolist() for state in states]
    texts = [game.describe(state, 0) for state in states]
    assert (views[0] == views[1]) == (texts[0] == texts[1])


def test_moves_are_written_and_read_as_words() -> None:
    game = Foraging(num_players=1)
    state = game.arrange([(3, 4, 1)], [(3, 3, 1)])
    words = ["stay", "north", "south", "east", "load"]
    assert [game.action_text(state, 0, a) for a in game.legal_actions(state, 0)] == words
    assert game.parse(state, 0, "I had better go there.\nMove: [North]") == NORTH
    with pytest.raises(InvalidAction, match="stay, north, south, east, load"):
        game.parse(state, 0, "west")


def test_the_rules_give_the_numbers_of_this_game() -> None:
    game = Foraging(rows=6, columns=9, num_players=4, penalty=0.5, sight=3, max_steps=70)
    rules = game.rules_for(0)
    for fact in ("6 rows", "9 columns", "4 players", "70 steps", "0.5", "three cells", '"load"'):
        assert fact in rules
    assert "costs you" not in Foraging().rules_for(0)


def test_each_player_reads_how_their_own_action_went() -> None:
    game = Foraging(num_players=4)
    players = [(2, 3, 1), (3, 4, 1), (5, 5, 1), (5, 7, 1)]
    state = game.arrange(players, [(3, 3, 2)])
    events = game.step(state, {0: LOAD, 1: LOAD, 2: EAST, 3: WEST}).events
    assert [(event.text, event.audience) for event in events] == [
        ("You load the food of level 2.", only(0)),
        ("You load the food of level 2.", only(1)),
        ("You try to move east and are blocked.", only(2)),
        ("You try to move west and are blocked.", only(3)),
    ]


def test_what_comes_into_sight_is_told_to_the_one_who_sees_it() -> None:
    game = Foraging(num_players=2, sight=1)
    state = game.arrange([(4, 2, 1), (1, 6, 1)], [(4, 4, 2)])
    events = game.step(state, {0: EAST, 1: STAY}).events
    assert [(event.kind, event.text, event.audience) for event in events] == [
        ("move", "You move east.", only(0)),
        ("reveal", "New in your sight: a food of level 2 one cell east of you.", only(0)),
        ("move", "You stay.", only(1)),
    ]


def test_a_picture_for_a_player_leaves_out_what_he_does_not_see() -> None:
    game = Foraging(num_players=2, sight=2)
    state = game.arrange([(3, 3, 1), (7, 7, 2)], [(2, 2, 1), (6, 2, 3)])
    seen, everything = game.scene(state, 0).grid, game.scene(state).grid
    assert seen is not None
    assert everything is not None
    assert _drawn(seen.cells) == {(2, 2): "1", (3, 3): "A"}
    assert _drawn(everything.cells) == {(2, 2): "1", (6, 2): "3", (3, 3): "A", (7, 7): "B"}
    lit = {(r, c) for r in range(1, 6) for c in range(1, 6)}
    assert seen.shaded == {(r, c) for r in range(8) for c in range(8)} - lit
    assert everything.shaded == frozenset()
    assert [bar.label for bar in game.scene(state, 0).bars] == ["player_0"]


def _drawn(cells: Any) -> dict[tuple[int, int], str]:
    return {
        (r, c): piece.glyph for r, row in enumerate(cells) for c, piece in enumerate(row) if piece
    }


# States as values


@settings(max_examples=20)
@given(seed=SEEDS, steps=st.integers(0, 15))
def test_clones_and_pickles_are_equal_to_the_byte(seed: int, steps: int) -> None:
    game = Foraging(num_players=3)
    state = wander(game, seed, steps)
    for twin in (game.clone(state), pickle.loads(pickle.dumps(state))):
        assert twin.tobytes() == state.tobytes()
        assert game.state_key(twin) == game.state_key(state)
    assert wander(game, seed, steps).tobytes() == state.tobytes()


# Compiled


@pytest.fixture(
    scope="module",
    params=[
        {"num_players": 4, "sight": 2},
        {"num_players": 3, "force_coop": True, "penalty": 0.1, "rows": 6, "columns": 9},
        {"num_players": 20, "normalize_reward": False, "max_food": 5, "max_food_level": 4},
    ],
    ids=["partial", "cooperative", "crowded"],
)
def pair(request: pytest.FixtureRequest) -> tuple[Episode, Episode]:
    """One game, interpreted and compiled."""
    game = Foraging(**request.param)
    return Episode(game, 0, compiled=False), Episode(game, 0, compiled=True)


@pytest.mark.exhaustive(sample=1)
@settings(max_examples=15)
@given(seed=SEEDS, draw=SEEDS)
def test_compiled_rules_equal_the_interpreted_to_the_bit(
    pair: tuple[Episode, Episode], seed: int, draw: int
) -> None:
    slow, quick = pair
    game, rng = slow.game, Rng(draw)
    assert isinstance(game, Foraging)
    slow.reset(seed)
    quick.reset(seed)
    while True:
        assert slow.state.tobytes() == quick.state.tobytes()
        assert slow.rewards == pytest.approx(quick.rewards, abs=1e-12)
        for seat in range(game.num_players):
            assert slow.observation(seat).tobytes() == quick.observation(seat).tobytes()
            assert slow.action_mask(seat).tobytes() == quick.action_mask(seat).tobytes()
        assert slow.outcome == quick.outcome
        if slow.over:
            break
        actions = random_actions(game, slow.state, rng)
        slow.act(actions)
        quick.act(actions)


PLAY = """
from palestra import Episode, Rng
from palestra_envs.grid.foraging.game import Foraging
game = Foraging(rows=6, columns=6)
episode, rng = Episode(game, 3, compiled=True), Rng(3)
while not episode.over:
    episode.act({seat: game.sample(episode.state, seat, rng) for seat in episode.to_act})
print(episode.outcome, len(list(episode.history())))
"""


@pytest.mark.exhaustive
def test_a_second_process_starts_from_the_first_ones_machine_code(tmp_path: Path) -> None:
    stories, kept = [], []
    for _ in range(2):
        environment = {**os.environ, "PALESTRA_CACHE": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", PLAY],
            env=environment,
            capture_output=True,
            check=True,
            text=True,
        )
        stories.append(done.stdout)
        files = sorted(path for path in tmp_path.rglob("*") if path.suffix in (".nbi", ".nbc"))
        kept.append([(path, path.stat().st_mtime_ns) for path in files])
    assert stories[0] == stories[1]
    assert kept[0]
    assert kept[0] == kept[1]


# The forager


@pytest.mark.parametrize("coop", [False, True])
def test_foragers_gather_everything_when_they_see_everything(coop: bool) -> None:
    game = Foraging(num_players=3, force_coop=coop, max_steps=200)
    for seed in range(15):
        episode = forage(game, seed, Forager())
        assert episode.outcome is not None
        assert episode.outcome.results == ("score",) * 3, f"seed {seed}"


def test_a_forager_takes_the_shortest_way_round_what_is_in_it() -> None:
    game = Foraging(num_players=2)
    # somebody stands on the way, on the food's west side
    state = game.arrange([(3, 2, 2), (3, 3, 1)], [(3, 4, 2)])
    episode = Episode(game, 0, compiled=False)
    episode.load(state)
    walker, path = Forager(restless=0.0), []
    while not episode.over:
        decision = walker.act([Turn(episode, 0)])[0]
        path.append(ACTIONS[decision.action])
        episode.act({0: decision.action, 1: STAY})
    assert len(path) == 4  # three steps to the cell north or south of the food, and load
    assert path[-1] == "load"


def test_a_forager_holds_back_where_loading_in_vain_costs() -> None:
    for penalty, expected in ((0.0, LOAD), (0.1, STAY)):
        game = Foraging(num_players=2, penalty=penalty)
        state = game.arrange([(3, 3, 1), (6, 6, 1)], [(3, 4, 2)])
        episode = Episode(game, 0, compiled=False)
        episode.load(state)
        decision = Forager(restless=0.0).act([Turn(episode, 0)])[0]
        assert decision.action == expected


@settings(max_examples=25)
@given(seed=SEEDS, steps=st.integers(0, 10))
def test_a_forager_decides_by_what_it_sees(seed: int, steps: int) -> None:
    game = Foraging(num_players=3, sight=2, max_food=4)
    episodes = [Episode(game, 0, compiled=False) for _ in range(2)]
    state = wander(game, seed, steps)
    if not game.to_act(state):
        return
    for seat in range(3):
        episodes[0].load(state)
        episodes[1].load(game.determinize(state, seat, Rng(seed)))
        choices = {Forager(seed=1).act([Turn(episode, seat)])[0].action for episode in episodes}
        assert len(choices) == 1
        assert game.action_mask(state, seat)[choices.pop()]


# Shaping


def test_the_potential_is_the_distance_to_the_nearest_food() -> None:
    game = Foraging(rows=6, columns=9, num_players=2)
    state = game.arrange([(0, 0, 1), (5, 8, 1)], [(2, 3, 2), (4, 6, 2)])
    assert distance_potential(game, state, 0) == -5 / 15
    assert distance_potential(game, state, 1) == -3 / 15
    after = game.clone(state)
    play(game, after, SOUTH, STAY)
    terms = food_distance(Transition(game, state, {}, after, 0, over=False, gamma=0.9))
    assert terms == {"food-distance": pytest.approx(0.9 * -4 / 15 + 5 / 15)}


@settings(max_examples=40)
@given(seed=SEEDS, gamma=st.floats(0.5, 1.0), steps=st.integers(1, 30))
def test_shaping_sums_to_minus_the_first_potential(seed: int, gamma: float, steps: int) -> None:
    game = Foraging(num_players=2, max_steps=steps)
    state, rng = game.initial_state(seed), Rng(seed)
    first = [distance_potential(game, state, seat) for seat in range(2)]
    paid, discount = [0.0, 0.0], 1.0
    while game.to_act(state):
        before = game.clone(state)
        game.step(state, random_actions(game, state, rng))
        for seat in range(2):
            over = not game.to_act(state)
            terms = food_distance(Transition(game, before, {}, state, seat, over, gamma))
            paid[seat] += discount * terms["food-distance"]
        discount *= gamma
    assert paid == pytest.approx([-phi for phi in first], abs=1e-12)
