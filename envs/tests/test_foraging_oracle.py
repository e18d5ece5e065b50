"""Level-Based Foraging against the public implementation, from the same position.

Needs the package `lbforaging`; where it is not installed these tests say so and are skipped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import Rng
from palestra_envs.grid.foraging.game import Foraging
from palestra_envs.grid.foraging.rules import food_levels

public = pytest.importorskip(
    "lbforaging.foraging.environment", reason="the public lbforaging package is not installed"
)

GAMES = st.builds(
    Foraging,
    rows=st.integers(6, 10),
    columns=st.integers(6, 10),
    num_players=st.integers(1, 12),
    max_food=st.integers(1, 5),
    max_player_level=st.integers(1, 4),
    max_food_level=st.none() | st.integers(1, 8),
    sight=st.none() | st.integers(1, 4),
    force_coop=st.booleans(),
    normalize_reward=st.booleans(),
    penalty=st.sampled_from([0.0, 0.1, 1.0]),
    max_steps=st.integers(1, 25),
)
SEEDS = st.integers(0, 2**32 - 1)


def oracle_of(game: Foraging) -> Any:
    oracle = public.ForagingEnv(
        players=game.num_players,
        min_player_level=game.min_player_level,
        max_player_level=game.max_player_level,
        min_food_level=game.min_food_level,
        max_food_level=game.max_food_level,
        field_size=(game.rows, game.columns),
        max_num_food=game.max_food,
        sight=game.sight or max(game.rows, game.columns),
        max_episode_steps=game.max_steps,
        force_coop=game.force_coop,
        normalize_reward=game.normalize_reward,
        penalty=game.penalty,
    )
    # its declared bounds mix up rows and columns, and it refuses its own views of oblong grids
    shape = oracle.observation_space[0].shape
    oracle.observation_space = [spaces.Box(-1, 1000, shape)] * game.num_players
    return oracle


def put(oracle: Any, game: Foraging, state: Any) -> None:
    """Bring the oracle into the position of one of our states."""
    for seat, player in enumerate(oracle.players):
        place = int(state.row[seat]), int(state.column[seat])
        player.setup(place, int(state.level[seat]), (game.rows, game.columns))
    oracle.field = field_of(game, state)
    oracle._food_spawned = oracle.field.sum()
    oracle.current_step = int(state.turn)
    oracle._game_over = False
    oracle._gen_valid_moves()


def field_of(game: Foraging, state: Any) -> Any:
    field = np.zeros((game.rows, game.columns), np.int32)
    for row, column, level in game.foods(state):
        field[row, column] = level
    return field


def without_the_far(game: Foraging, view: Any) -> Any:
    """The oracle's view without players beyond sight, which it shows near two of the edges."""
    things = view.reshape(-1, 3)
    own = things[game.max_food]
    others = [other for other in things[game.max_food + 1 :] if other[2] > 0]
    near = [o for o in others if max(abs(o[:2] - own[:2])) <= game.reach]
    rest = [[-1, -1, 0]] * (game.num_players - 1 - len(near))
    return np.array([*things[: game.max_food], own, *near, *rest], np.float32).ravel()


@settings(max_examples=120)
@given(game=GAMES, seed=SEEDS)
def test_every_step_matches_the_public_implementation(game: Foraging, seed: int) -> None:
    state, rng, oracle = game.initial_state(seed), Rng(seed), oracle_of(game)
    put(oracle, game, state)
    seats = range(game.num_players)
    while game.to_act(state):
        for seat, player in enumerate(oracle.players):
            valid = {action.value for action in oracle._valid_actions[player]}
            assert set(game.legal_actions(state, seat)) == valid
        actions = {seat: game.sample(state, seat, rng) for seat in seats}
        views, rewards, done, _, _ = oracle.step([actions[seat] for seat in seats])
        paid = game.step(state, actions).rewards
        assert [paid.get(seat, {}).get("food", 0.0) for seat in seats] == rewards
        places = [(int(state.row[seat]), int(state.column[seat])) for seat in seats]
        assert places == [tuple(map(int, player.position)) for player in oracle.players]
        assert np.array_equal(field_of(game, state), oracle.field)
        assert done == bool(state.over)
        for seat in seats:
            assert np.array_equal(game.observe(state, seat), without_the_far(game, views[seat]))
    assert list(game.scores(state)) == [player.score for player in oracle.players]


@settings(max_examples=60)
@given(game=GAMES, seed=SEEDS)
def test_what_the_public_implementation_spawns_fits_our_rules(game: Foraging, seed: int) -> None:
    oracle = oracle_of(game)
    oracle.reset(seed=seed)
    players = [(int(p.position[0]), int(p.position[1]), int(p.level)) for p in oracle.players]
    foods = [(int(r), int(c), int(oracle.field[r, c])) for r, c in np.argwhere(oracle.field)]
    state = game.arrange(players, foods)  # refuses food that is too near
    low, high = food_levels(game.config, state)
    assert all(low <= level <= high for _, _, level in foods)
    assert int(state.laid_out) == oracle._food_spawned


def test_food_and_players_spawn_where_they_do_in_the_public_implementation() -> None:
    game = Foraging(rows=6, columns=6, num_players=3, max_food=2, max_steps=1)
    oracle, rounds = oracle_of(game), 1500
    ours, theirs = np.zeros((2, 6, 6)), np.zeros((2, 6, 6))
    for seed in range(rounds):
        state = game.initial_state(seed)
        ours[0][state.row, state.column] += 1
        ours[1] += field_of(game, state) > 0
        oracle.reset(seed=seed)
        for seat in oracle.players:
            theirs[0][seat.position] += 1
        theirs[1] += oracle.field > 0
    # four standard deviations of the difference between two frequencies of at most 0.2
    assert np.abs(ours - theirs).max() / rounds < 4 * (2 * 0.2 * 0.8 / rounds) ** 0.5
