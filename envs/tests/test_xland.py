"""XLand: truth tables, lines of sight and fewest steps, all by hand."""

from __future__ import annotations

from itertools import product
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import Episode, InvalidOption, Rng
from palestra_envs.grid.xland.game import ACTIONS, XLand
from palestra_envs.grid.xland.options import HOLD, NEAR, ON, SEE
from palestra_envs.grid.xland.rules import goal_holds, relates

SEEDS = st.integers(0, 2**64 - 1)
FLOOR = ["0011222"] * 7
RED, GREEN = 2, 3  # the first objects, after two players


def world(goals: Any = (), **where: Any) -> tuple[XLand, Any]:
    """Seven by seven cells, two players in opposite corners, two objects in the others."""
    settings = {"players": [(0, 0), (6, 6)], "objects": [(0, 6), (6, 0)], "floor": FLOOR, **where}
    options = settings.pop("options", {})
    game = XLand(rows=7, columns=7, num_objects=2, sight=6, density=0, **options)
    return game, game.arrange(settings.pop("players"), settings.pop("objects"), goals, **settings)


def play(game: XLand, state: Any, *names: str) -> list[float]:
    """Play one action a seat, by name; returns what each was paid."""
    paid = game.step(state, {seat: ACTIONS.index(name) for seat, name in enumerate(names)})
    return [paid.rewards.get(seat, {}).get("goal", 0.0) for seat in range(game.num_players)]


# Relations


@pytest.mark.parametrize(
    ("players", "objects", "relation", "true"),
    [
        ([(3, 3), (3, 4)], [(0, 6), (6, 0)], (NEAR, 0, 1), True),
        ([(3, 3), (4, 4)], [(0, 6), (6, 0)], (NEAR, 0, 1), False),  # across a corner
        ([(3, 3), (6, 6)], [(3, 3), (6, 0)], (NEAR, RED, 0), True),  # on one cell
        ([(3, 3), (6, 6)], [(5, 0), (6, 0)], (NEAR, RED, GREEN), True),
        ([(3, 3), (6, 6)], [(4, 0), (6, 0)], (NEAR, RED, GREEN), False),
        ([(3, 1), (6, 6)], [(0, 6), (6, 0)], (ON, 0, 0), True),
        ([(3, 2), (6, 6)], [(0, 6), (6, 0)], (ON, 0, 0), False),
        ([(3, 2), (6, 6)], [(0, 6), (6, 0)], (ON, RED, 2), True),
        ([(3, 2), (6, 6)], [(3, 2), (6, 0)], (HOLD, 0, RED), False),  # it only lies there
        ([(0, 0), (0, 6)], [(3, 3), (6, 0)], (SEE, 0, 1), True),
    ],
)
def test_relations_are_what_they_say(
    players: Any, objects: Any, relation: tuple[int, int, int], true: bool
) -> None:
    game, state = world(players=players, objects=objects)
    assert relates(game.config, state, *relation) == true


def test_what_is_held_is_where_its_holder_is() -> None:
    game, state = world(players=[(0, 0), (6, 6)], objects=[(0, 0), (6, 0)])
    play(game, state, "grab", "stay")
    play(game, state, "east", "stay")
    play(game, state, "east", "stay")
    assert relates(game.config, state, HOLD, 0, RED)
    assert relates(game.config, state, ON, RED, 1)
    play(game, state, "drop", "stay")
    play(game, state, "east", "stay")
    assert not relates(game.config, state, HOLD, 0, RED)
    assert int(state.lies[0]) == game.at(0, 2)


@pytest.mark.parametrize(
    ("other", "walls", "seen"),
    [
        ((3, 6), [(3, 4)], False),
        ((3, 6), [(2, 4), (4, 4)], True),
        ((6, 6), [(4, 4)], False),
        ((6, 6), [(4, 5), (5, 4)], True),  # between two corners
        ((5, 4), [(4, 4)], False),  # half way down two and right one, the cell to the right
        ((5, 4), [(4, 3)], True),
        ((3, 4), [(2, 4)], True),  # side by side
    ],
)
def test_walls_on_the_line_hide_what_is_behind_them_both_ways(
    other: tuple[int, int], walls: list[tuple[int, int]], seen: bool
) -> None:
    game, state = world(players=[(3, 3), other], walls=walls)
    assert relates(game.config, state, SEE, 0, 1) == seen
    assert relates(game.config, state, SEE, 1, 0) == seen
    assert ("player_1 in row" in game.describe(state, 0)) == seen


@settings(max_examples=40)
@given(seed=SEEDS)
def test_seeing_is_mutual_and_never_further_than_sight(seed: int) -> None:
    game = XLand(rows=9, columns=9, sight=3, density=0.9)
    state = game.initial_state(seed)
    assert relates(game.config, state, SEE, 0, 1) == relates(game.config, state, SEE, 1, 0)
    (r, c), (row, column) = game.place(state.cell[0]), game.place(state.cell[1])
    if max(abs(r - row), abs(c - column)) > 3:
        assert not relates(game.config, state, SEE, 0, 1)


# Formulas


@pytest.mark.parametrize("values", list(product((False, True), repeat=3)))
def test_a_goal_is_an_or_of_ands_and_its_opposite_the_contrary(values: tuple[bool, ...]) -> None:
    """(a and not b) or c, for all a: on(0, white), b: on(red, white), c: on(1, white)."""
    places = [(3, 0) if values[0] else (3, 6), (4, 0) if values[2] else (4, 6)]
    red = (5, 0) if values[1] else (5, 6)
    goal = [[(ON, 0, 0, 0), (ON, RED, 0, 1)], [(ON, 1, 0, 0)]]
    game, state = world([goal, goal], players=places, objects=[red, (6, 3)])
    a, b, c = values
    assert goal_holds(game.config, state, 0) == ((a and not b) or c)
    state.opposite[1] = 1
    assert play(game, state, "stay", "stay") == [
        float((a and not b) or c),
        float(not ((a and not b) or c)),
    ]


def episode_pay(game: XLand, seed: int) -> list[list[float]]:
    episode, rng, paid = Episode(game, seed, compiled=False), Rng(seed), []
    while not episode.over:
        before = list(episode.returns)
        episode.act({p: game.sample(episode.state, p, rng) for p in episode.to_act})
        paid.append([b - a for a, b in zip(before, episode.returns, strict=True)])
    return paid


@pytest.mark.parametrize("seed", range(4))
def test_shared_goals_pay_alike_and_of_two_rivals_exactly_one_is_paid(seed: int) -> None:
    assert all(one == other for one, other in episode_pay(XLand(relation="shared"), seed))
    assert all(sum(pay) == 1.0 for pay in episode_pay(XLand(relation="rival"), seed))


@pytest.mark.parametrize("players", [2, 3, 4])
def test_the_chaser_is_paid_if_and_only_if_somebody_near_him_is_not(players: int) -> None:
    game = XLand(game="tag", num_players=players)
    for chaser, *runners in episode_pay(game, 1):
        assert chaser == (0.0 if all(runners) else 1.0)
    game = XLand(game="hide-and-seek", num_players=players)
    seekers = players // 2
    for paid in episode_pay(game, 1):
        assert any(paid[:seekers]) == (not all(paid[seekers:]))


def test_flags_start_at_home_and_carrying_one_over_pays_the_team() -> None:
    game = XLand(game="capture-the-flag", num_players=4, rows=5, columns=9, density=0, sight=8)
    state = game.initial_state(0)
    assert [int(state.floor[cell]) for cell in state.lies[:2]] == [0, 1]
    state.cell[:] = state.target[:] = [game.at(0, 8), game.at(4, 8), game.at(4, 0), game.at(4, 4)]
    state.lies[:2] = game.at(0, 0), game.at(0, 8)
    assert play(game, state, "grab", "stay", "stay", "stay") == [0.0] * 4
    for step in range(6):
        paid = play(game, state, "west", "stay", "stay", "stay")
        assert paid == ([1.0, 0.0, 1.0, 0.0] if step == 5 else [0.0] * 4)  # column 3 of 9 is home


@settings(max_examples=25)
@given(seed=SEEDS, players=st.integers(1, 4))
def test_drawn_goals_are_written_and_hardly_ever_hold_at_the_start(seed: int, players: int) -> None:
    game = XLand(num_players=players)
    state = game.initial_state(seed)
    for seat in range(players):
        assert "(" in game.goal_text(state, seat)
        for option in state.goals[seat].tolist():
            for kind, one, other, denied in option:
                assert denied in (0, 1)
                assert kind != HOLD or (one < players <= other)
                assert kind not in (NEAR, SEE) or one != other
    held = [goal_holds(game.config, game.initial_state(s), 0) for s in range(30)]
    assert sum(held) <= 1


# Players


@pytest.mark.parametrize(
    ("goal", "steps"),
    [
        pytest.param((HOLD, 0, RED, 0), 6 + 1, id="six east, and grab"),
        pytest.param((NEAR, 0, GREEN, 0), 5, id="five south"),
        pytest.param((ON, 0, 2, 0), 4, id="four east"),
        pytest.param((ON, GREEN, 1, 0), 6 + 1 + 2, id="six south, grab, two east"),
        pytest.param((NEAR, RED, 1, 0), 6 + 1 + 5, id="six east, grab, five south"),
    ],
)
def test_the_script_reaches_goals_in_the_fewest_steps(goal: Any, steps: int) -> None:
    """On open floor these are Manhattan distances, and one step to grab."""
    game, state = world([[[goal]], [[(NEAR, 0, 1, 0)]]])
    for step in range(1, steps + 1):
        action = game.scripted_action(game.config, state, 0)
        assert play(game, state, ACTIONS[action], "stay")[0] == (step == steps)


@settings(max_examples=10)
@given(seed=SEEDS, relation=st.sampled_from(["independent", "shared", "rival"]))
def test_redrawing_what_is_hidden_leaves_a_players_views_alone(seed: int, relation: str) -> None:
    game, rng = XLand(num_players=3, relation=relation), Rng(seed)
    state = game.initial_state(seed)
    for _ in range(10):
        game.step(state, {p: game.sample(state, p, rng) for p in range(3)})
    for seat in range(3):
        other = game.determinize(state, seat, rng)
        assert np.array_equal(game.observe(other, seat), game.observe(state, seat))
        assert np.array_equal(game.legal(other, seat), game.legal(state, seat))
        assert game.describe(other, seat) == game.describe(state, seat)
        assert game.scene(other, seat).grid == game.scene(state, seat).grid


def test_an_object_on_the_cell_of_another_is_held_in_some_imagined_worlds_alone() -> None:
    game, state = world(players=[(0, 0), (3, 3)], objects=[(3, 3), (0, 6)])
    play(game, state, "stay", "stay")
    item_held = {int(game.determinize(state, 0, Rng(n)).held_by[0]) for n in range(40)}
    assert item_held == {-1, 1}
    play(game, state, "stay", "grab")
    assert state.held_by[0] == 1
    for n in range(40):
        imagined = game.determinize(state, 0, Rng(n))
        assert imagined.lies[0] == (state.cell[1] if imagined.held_by[0] < 0 else 0)
        assert game.determinize(state, 1, Rng(n)).held_by[0] == 1


def test_flags_are_imagined_on_their_own_floor_until_somebody_can_have_carried_them() -> None:
    options = {"rows": 5, "columns": 6, "sight": 1, "game": "capture-the-flag"}
    game = XLand(terrain="maze", num_objects=3, num_players=4, **options)
    for seed in range(20):
        state = game.initial_state(seed)
        imagined = game.determinize(state, seed % 4, Rng(seed))
        assert [int(imagined.floor[imagined.lies[item]]) for item in range(3)] == [0, 1, 0]
        assert (imagined.held_by == -1).all()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"game": "chess"}, "game must be 'drawn' or 'tag' or"),
        ({"relation": "none"}, "relation must be 'independent' or 'shared' or 'rival'"),
        ({"num_players": 5}, "num_players must be an integer from 1 to 4"),
        ({"game": "tag", "num_players": 1}, "num_players must be from 2 to 4"),
        ({"num_objects": 7}, "num_objects"),
        ({"max_terms": 4}, "max_terms must be an integer from 1 to 3"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidOption, match=named):
        XLand(**options)


# Terrain


@pytest.mark.parametrize("terrain", ["pillars", "rooms", "maze"])
@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (5, 8), (8, 8), (9, 11), (12, 7), (16, 13)])
def test_all_floor_is_connected(terrain: Any, rows: int, columns: int) -> None:
    for seed in range(25):
        density = (0.3, 1.0)[seed % 2]
        game = XLand(rows=rows, columns=columns, terrain=terrain, density=density)
        walls = game.initial_state(seed).walls.reshape(rows, columns)
        grid = nx.grid_2d_graph(rows, columns)
        grid.remove_nodes_from(zip(*np.nonzero(walls), strict=True))
        assert nx.is_connected(grid)


def test_rooms_of_three_by_three_have_one_door_in_each_wall() -> None:
    # 11 by 11 cells: three by three rooms, walls on rows and columns 3 and 7
    walls = XLand(rows=11, columns=11, terrain="rooms", density=1.0).initial_state(5).walls
    drawn = walls.reshape(11, 11)
    for line in (3, 7):
        for start in (0, 4, 8):
            assert drawn[line, start : start + 3].sum() == 2
            assert drawn[start : start + 3, line].sum() == 2
    for row, column in product((0, 4, 8), repeat=2):
        assert not drawn[row : row + 3, column : column + 3].any()
    assert drawn[3, 3]
    assert drawn[7, 7]


def test_a_full_maze_has_one_wall_from_every_pillar_that_may_have_one() -> None:
    game = XLand(rows=9, columns=9, terrain="maze", density=1.0)
    for seed in range(20):
        walls = game.initial_state(seed).walls.reshape(9, 9)
        pillars = walls[1::2, 1::2]
        assert pillars.all()
        between = int(walls.sum() - pillars.sum())
        assert 9 <= between <= 15  # 9 have both ways, 6 one of them, the last none


def test_without_density_rooms_have_corners_only() -> None:
    walls = XLand(rows=8, columns=8, terrain="rooms", density=0.0).initial_state(0).walls
    assert np.flatnonzero(walls).tolist() == [27, 31, 59, 63]


def test_a_room_imagined_in_part_has_walls_with_one_door_or_none() -> None:
    game = XLand(terrain="rooms", sight=2, rows=7, columns=11)
    across = [(3, start + n) for start in (0, 4, 8) for n in range(3)]
    for seed in range(40):
        imagined = game.determinize(game.initial_state(seed), 0, Rng(seed))
        walls = [int(imagined.walls[game.at(*place)]) for place in across]
        assert {sum(walls[at : at + 3]) for at in (0, 3, 6)} <= {0, 2}


@pytest.mark.parametrize(("sight", "terrain"), [(1, "pillars"), (2, "maze"), (3, "rooms")])
def test_where_no_draw_fits_what_is_imagined_is_drawn_all_the_same(
    sight: int, terrain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palestra_envs.grid.xland.game.IMAGINED", 0)
    game = XLand(num_players=4, rows=9, columns=12, sight=sight, terrain=terrain)
    for seed in range(12):
        state = game.initial_state(seed)
        worlds = [game.determinize(state, seed % 4, Rng(n)) for n in range(4)]
        cells = [(*world.cell.tolist(), *world.lies.tolist()) for world in worlds]
        assert len(set(cells)) > 1
        assert (*state.cell.tolist(), *state.lies.tolist()) not in cells
        assert all((world.walls[world.cell] == 0).all() for world in worlds)
