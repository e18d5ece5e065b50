"""Wildfire: fire against scipy's dilation and binomial bounds, planes and pay by hand."""

from __future__ import annotations

import numpy as np
import palestra
import pytest
from palestra import InvalidOption
from palestra.grids.compass import EAST, NORTH, SOUTH, STAY, WEST
from palestra_envs.grid.wildfire.game import Wildfire, WildfireState
from palestra_envs.grid.wildfire.rules import (
    BARE,
    BURNT,
    DROP,
    FIRE,
    HOUSE,
    RUIN,
    TREE,
    WATER,
    WET,
    WET_HOUSE,
)
from scipy.ndimage import binary_dilation
from scipy.stats import binomtest

CALM = Wildfire(rows=9, columns=7, spread=1.0, gust=0.0, burn_steps=1000)


def land(game: Wildfire, *, wind: int = NORTH, **at: int) -> WildfireState:
    """Trees everywhere, all planes in the north-west corner, and what `at` puts on c<cell>."""
    state: WildfireState = game.clone(game.initial_state(0))
    state.ground[:], state.cell[:], state.loaded[:], state.age[:] = TREE, 0, 0, 0
    state.wind, state.trees_at_start = wind, game.num_cells
    for cell, kind in at.items():
        state.ground[int(cell[1:])] = kind
    return state


def after(game: Wildfire, state: WildfireState, *actions: int) -> tuple[WildfireState, list[float]]:
    """The state after one step, and what a plane was paid in it by term."""
    moves = dict(enumerate([*actions, *[STAY] * (game.num_players - len(actions))]))
    now = game.clone(state)
    step = game.step(now, moves)
    paid = step.rewards.get(0, {})
    return now, [paid.get(term, 0.0) for term in game.reward_terms]


def test_a_sure_fire_grows_as_a_dilation_within_the_trees() -> None:
    rng = np.random.default_rng(1)
    state = land(CALM, c31=FIRE)
    bare = rng.choice(np.delete(np.arange(63), 31), 20, replace=False)
    state.ground[bare] = BARE
    trees = (state.ground != BARE).reshape(9, 7)
    burning = (state.ground == FIRE).reshape(9, 7)
    for _ in range(6):
        state, _ = after(CALM, state)
        burning = binary_dilation(burning, mask=trees)
        assert ((state.ground == FIRE).reshape(9, 7) == burning).all()


@pytest.mark.parametrize("wind", [NORTH, EAST])
def test_wind_changes_the_chances_by_direction(wind: int) -> None:
    game = Wildfire(rows=3, columns=3, spread=0.3, gust=0.6, lakes=1, houses=0, fires=1)
    caught, tries = np.zeros(4), 600
    start = land(game, wind=wind, c4=FIRE)
    for seed in range(tries):
        state = game.clone(start)
        state.rng[:] = game.initial_state(seed).rng
        state, _ = after(game, state)
        caught += [state.ground[cell] == FIRE for cell in (1, 7, 3, 5)]
    chance = {NORTH: [0.48, 0.12, 0.3, 0.3], EAST: [0.3, 0.3, 0.12, 0.48]}[wind]
    for found, wanted in zip(caught.astype(int).tolist(), chance, strict=True):
        assert binomtest(found, tries, wanted).pvalue > 1e-4


def test_planes_fill_over_water_and_drop_on_what_is_below_them() -> None:
    game = Wildfire(rows=2, columns=4, spread=0.0, gust=0.0, lakes=1, houses=1, fires=1)
    state = land(game, c1=WATER, c2=FIRE, c3=HOUSE)
    assert DROP not in game.legal_actions(state, 0)
    state, paid = after(game, state, EAST)
    assert (state.loaded.tolist(), paid) == ([1, 0, 0], [0, 0, 0, 0])
    state, _ = after(game, state, EAST, SOUTH)
    state.ground[4] = FIRE  # so that the episode goes on
    state, paid = after(game, state, DROP)
    assert (state.ground[2], state.loaded[0], paid) == (WET, 0, [1.0, 0, 0, 0])
    state.loaded[0], state.cell[0] = 1, 3
    state, paid = after(game, state, DROP)
    assert (state.ground[3], paid) == (WET_HOUSE, [0, pytest.approx(0.1), 0, 0])
    state.loaded[0], state.cell[0] = 1, 4
    state, paid = after(game, state, DROP)
    assert paid == [1.0, 0, 0, pytest.approx(10 * 7 / 8 - 10 * 1 / 8)]  # six of eight trees stand
    outcome = game.outcome(state)
    assert outcome is not None
    assert outcome.results == ("score",) * 3


def test_houses_are_lost_and_pass_no_fire_on_and_fires_go_out() -> None:
    game = Wildfire(rows=1 + 1, columns=3, spread=1.0, gust=0.0, burn_steps=2, lakes=1, fires=1)
    state = land(game, c0=FIRE, c1=HOUSE, c2=TREE, c3=WATER, c4=WATER, c5=WATER)
    state, paid = after(game, state)
    assert (state.ground[:3].tolist(), paid) == ([FIRE, RUIN, TREE], [0, 0, -5.0, 0])
    state, paid = after(game, state)
    assert state.ground[:3].tolist() == [BURNT, RUIN, TREE]
    assert paid == [0, 0, 0, pytest.approx(10 / 6)]
    assert game.outcome(state) is not None


def test_the_script_saves_more_than_chance_and_all_are_paid_the_same() -> None:
    means = {}
    for agent in ("scripted", "random"):
        records = palestra.play("grid/Wildfire-v0", agents=agent, episodes=6, seed=5)
        assert all(len(set(record.returns)) == 1 for record in records)
        means[agent] = np.mean([palestra.measure(record)["trees-saved"] for record in records])
    assert means["scripted"] > means["random"] + 0.2


def test_chances_above_one_and_too_much_on_the_map_are_refused() -> None:
    with pytest.raises(InvalidOption, match="must be at most 1"):
        Wildfire(spread=0.8, gust=0.5)
    with pytest.raises(InvalidOption, match="make the grid larger"):
        Wildfire(rows=2, columns=2)
    assert (WEST, EAST) == (3, 4)
