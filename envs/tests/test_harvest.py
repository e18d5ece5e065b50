"""Harvest: regrowth against the published table, moves, beams, views, and what restraint pays."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import Agent, Episode, InvalidAction, InvalidOption, Rng, Turn, make_agent, only
from palestra.grids.compass import (
    FACING_EAST,
    FACING_NORTH,
    FACING_SOUTH,
    FACING_WEST,
)
from palestra_envs.grid.social_dilemmas.gatherers import Gatherer, near, step_towards
from palestra_envs.grid.social_dilemmas.harvest import ACTIONS, Harvest, regrow
from palestra_envs.grid.social_dilemmas.rules import (
    APPLE,
    FLOOR,
    FORWARD,
    ORCHARD,
    PLAYERS,
    STEP_LEFT,
    WALL,
)
from scipy.ndimage import label
from scipy.spatial.distance import cdist
from scipy.stats import binomtest, chisquare

SEEDS = st.integers(0, 2**64 - 1)
PUBLISHED = {0: 0.0, 1: 0.005, 2: 0.02, 3: 0.05, 4: 0.05, 12: 0.05}  # Hughes et al. (2018)
WITHIN_TWO = [
    *((-1, 0), (0, 1), (2, 0), (1, 1), (-1, -1), (0, -2)),
    *((1, 0), (0, -1), (-2, 0), (1, -1), (-1, 1), (0, 2)),
]
OPEN = """
@@@@@@@@@
@.......@
@.......@
@.......@
@.......@
@A......@
@@@@@@@@@
"""


def play(game: Harvest, state: Any, *names: str) -> list[dict[str, float]]:
    """Play one action a seat, by name; returns the named terms each was paid."""
    paid = game.step(state, {seat: game.actions.index(name) for seat, name in enumerate(names)})
    return [dict(paid.rewards.get(seat, {})) for seat in range(game.num_players)]


def places(state: Any) -> list[tuple[int, int]]:
    return list(zip(state.row.tolist(), state.column.tolist(), strict=True))


def meadow(*players: tuple[int, int, int], **options: Any) -> tuple[Harvest, Any]:
    """An open field with one apple in its south-west corner, and players on it."""
    game = Harvest(level=OPEN, num_players=len(players), **options)
    return game, game.arrange(game.layout.text(), dict(enumerate(players)))


def clusters(neighbours: int) -> tuple[Harvest, list[tuple[int, int]]]:
    """Many bare sites, each with that many apples within distance 2 and no other near it."""
    grid = [["."] * 58 for _ in range(58)]
    middles = [(row, column) for row in range(3, 55, 6) for column in range(3, 55, 6)]
    for row, column in middles:
        for down, across in [(0, 0), *WITHIN_TWO[:neighbours]]:
            grid[row + down][column + across] = "A"
    return Harvest(level="\n".join(map("".join, grid)), num_players=1), middles


# Growing


@pytest.mark.parametrize(("neighbours", "chance"), PUBLISHED.items())
def test_apples_grow_at_the_published_rate(neighbours: int, chance: float) -> None:
    game, middles = clusters(neighbours)
    state = game.initial_state(3)
    state.row[0], state.column[0] = 0, 0
    for cell in middles:
        state.cells[cell] = ORCHARD
    start, steps, grown = state.cells.copy(), 120, 0
    for _ in range(steps):
        regrow(game.config, state)
        grown += sum(int(state.cells[cell]) == APPLE for cell in middles)
        state.cells[:] = start
    trials = steps * len(middles)
    if chance == 0:
        assert grown == 0
    else:
        assert binomtest(grown, trials, chance).pvalue > 0.001


def test_apples_three_cells_away_do_not_help() -> None:
    level = ["A..A", "....", ".A..", "...."]  # the first is 3 from each of the others
    game = Harvest(level="\n".join(level), num_players=1)
    state = game.arrange("...A\n....\n.A..\n....", {0: (3, 3, FACING_NORTH)})
    for _ in range(2000):
        regrow(game.config, state)
    assert state.cells[0, 0] == ORCHARD


def test_a_patch_eaten_bare_stays_bare_and_others_recover() -> None:
    game = Harvest(num_players=1, rows=7, columns=12)  # two patches
    drawing = [line.replace("A", ".") for line in game.layout.lines]
    drawing[3] = (
        game.layout.lines[3][:6] + drawing[3][6:]
    )  # three apples of the western one are left
    state = game.arrange("\n".join(drawing), {0: (1, 1, FACING_NORTH)})
    for _ in range(1500):
        regrow(game.config, state)
    assert (state.cells[:, :6] == APPLE).sum() == 5
    assert (state.cells[:, 6:] == APPLE).sum() == 0


def test_no_apple_grows_under_a_player() -> None:
    game = Harvest(level="AAA\nAAA\n...", num_players=1)
    state = game.arrange("A.A\nAAA\n...", {0: (0, 1, FACING_NORTH)})
    for _ in range(500):
        regrow(game.config, state)
    assert state.cells[0, 1] == ORCHARD


def test_growth_looks_at_the_apples_before_any_has_grown() -> None:
    game = Harvest(level="A" * 60 + "\n" + "." * 60, num_players=1)
    state = game.arrange("A" + "." * 59 + "\n" + "." * 60, {0: (1, 59, FACING_NORTH)})
    for _ in range(400):
        before = (state.cells[0] == APPLE).nonzero()[0]
        regrow(game.config, state)
        for column in (state.cells[0] == APPLE).nonzero()[0]:
            assert min(abs(before - column)) <= 2


# Eating and moving


def test_an_apple_is_worth_one_to_whoever_steps_on_it() -> None:
    game, state = meadow((5, 2, FACING_NORTH), (1, 1, FACING_NORTH))
    assert play(game, state, "step-left", "stay") == [{"apples": 1.0}, {}]
    assert state.cells[5, 1] == ORCHARD
    assert play(game, state, "stay", "stay") == [{}, {}]
    assert game.scores(state) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("facing", "ends"),
    [
        (FACING_NORTH, [(2, 4), (4, 4), (3, 3), (3, 5)]),
        (FACING_EAST, [(3, 5), (3, 3), (2, 4), (4, 4)]),
        (FACING_SOUTH, [(4, 4), (2, 4), (3, 5), (3, 3)]),
        (FACING_WEST, [(3, 3), (3, 5), (4, 4), (2, 4)]),
    ],
)
def test_steps_go_by_the_way_one_faces(facing: int, ends: list[tuple[int, int]]) -> None:
    for name, end in zip(("forward", "backward", "step-left", "step-right"), ends, strict=True):
        game, state = meadow((3, 4, facing))
        play(game, state, name)
        assert places(state) == [end]
        assert state.facing[0] == facing


def test_turns_go_round_the_compass() -> None:
    game, state = meadow((3, 4, FACING_NORTH))
    seen = []
    for name in ("turn-right",) * 4 + ("turn-left",) * 2:
        play(game, state, name)
        seen.append(int(state.facing[0]))
    assert seen == [FACING_EAST, FACING_SOUTH, FACING_WEST, FACING_NORTH, FACING_WEST, FACING_SOUTH]


@pytest.mark.parametrize(
    ("start", "names", "ends"),
    [
        pytest.param([(1, 1, FACING_NORTH)], ["forward"], [(1, 1)], id="wall"),
        pytest.param(
            [(3, 3, FACING_EAST), (3, 4, FACING_EAST)],
            ["forward", "stay"],
            [(3, 3), (3, 4)],
            id="it stays",
        ),
        pytest.param(
            [(3, 3, FACING_EAST), (3, 4, FACING_EAST)],
            ["forward", "forward"],
            [(3, 4), (3, 5)],
            id="follow",
        ),
        pytest.param(
            [(3, 3, FACING_EAST), (3, 4, FACING_WEST)],
            ["forward", "forward"],
            [(3, 3), (3, 4)],
            id="swap",
        ),
        pytest.param(
            [(3, 6, FACING_EAST), (3, 7, FACING_EAST)],
            ["forward", "forward"],
            [(3, 6), (3, 7)],
            id="follow a blocked",
        ),
        pytest.param(
            [(3, 3, FACING_EAST), (3, 4, FACING_SOUTH), (4, 4, FACING_WEST), (4, 3, FACING_NORTH)],
            ["forward"] * 4,
            [(3, 4), (4, 4), (4, 3), (3, 3)],
            id="all round",
        ),
        pytest.param(
            [(3, 3, FACING_EAST), (3, 4, FACING_EAST), (3, 5, FACING_WEST)],
            ["forward"] * 3,
            [(3, 3), (3, 4), (3, 5)],
            id="behind two who would swap",
        ),
    ],
)
def test_who_may_enter_a_cell(
    start: list[tuple[int, int, int]], names: list[str], ends: list[tuple[int, int]]
) -> None:
    game, state = meadow(*start)
    play(game, state, *names)
    assert places(state) == ends


def test_a_contested_cell_goes_to_a_random_one_whatever_the_seats() -> None:
    start = [(2, 4, FACING_SOUTH), (3, 3, FACING_EAST), (3, 5, FACING_WEST)]
    won = [0, 0, 0]
    for seed in range(600):
        game, state = meadow(*start)
        game.reseed(state, seed)
        play(game, state, "forward", "forward", "forward")
        winners = [seat for seat, place in enumerate(places(state)) if place == (3, 4)]
        assert len(winners) == 1
        won[winners[0]] += 1
    assert all(binomtest(count, 600, 1 / 3).pvalue > 0.001 for count in won)


# Beams


def test_a_beam_is_three_wide_five_long_and_stops_at_walls_and_players() -> None:
    game, state = meadow(
        (3, 2, FACING_EAST), (2, 4, FACING_NORTH), (3, 7, FACING_NORTH), (2, 6, FACING_NORTH)
    )
    paid = play(game, state, "fine", "stay", "stay", "stay")
    assert paid == [{"beams": -1.0}, {"fines": -50.0}, {"fines": -50.0}, {}]
    lit = {(int(r), int(c)) for r, c in zip(*state.beams.nonzero(), strict=True)}
    assert lit == {
        *((2, c) for c in (2, 3, 4)),  # ends on player_1
        *((3, c) for c in (3, 4, 5, 6, 7)),
        *((4, c) for c in (2, 3, 4, 5, 6)),
    }
    play(game, state, "stay", "stay", "stay", "stay")
    assert not state.beams.any()


def test_two_players_can_fine_each_other_in_one_step() -> None:
    game, state = meadow((3, 2, FACING_EAST), (3, 4, FACING_WEST), fine=10.0, fine_cost=0.5)
    assert play(game, state, "fine", "fine") == [{"beams": -0.5, "fines": -10.0}] * 2
    assert game.scores(state) == (-10.5, -10.5)


def test_beams_are_shone_after_moving() -> None:
    game, state = meadow((3, 2, FACING_EAST), (1, 4, FACING_SOUTH))
    assert play(game, state, "fine", "forward")[1] == {"fines": -50.0}
    game, state = meadow((3, 2, FACING_EAST), (2, 4, FACING_NORTH))
    assert play(game, state, "fine", "forward")[1] == {}


def test_a_time_out_takes_a_player_off_the_map_for_that_many_steps() -> None:
    game, state = meadow((3, 2, FACING_EAST), (3, 4, FACING_WEST), fine=0.0, time_out=3)
    play(game, state, "fine", "stay")
    for left in (3, 2, 1):
        assert state.absent.tolist() == [0, left]
        assert game.legal_actions(state, 1) == [ACTIONS.index("stay")]
        assert not game.observe(state, 1).any()
        assert not game.observe(state, 0)[PLAYERS : PLAYERS + 4].any()
        assert game.describe(state, 1).endswith("You are out of the game and see nothing.")
        events = game.step(state, {0: 0, 1: 0}).events
    assert state.absent.tolist() == [0, 0]
    row, column = places(state)[1]
    assert game.layout.lines[row][column] == "."
    assert events[1].text.startswith("You are back. You stand in row")
    assert len(game.legal_actions(state, 1)) == len(ACTIONS)


# Maps and options


def test_patches_are_laid_out_by_size_and_too_far_apart_to_help_each_other() -> None:
    game = Harvest(rows=16, columns=38, num_players=5, sight=7)
    assert (game.layout.rows, game.layout.columns, game.layout.count("A")) == (16, 38, 3 * 7 * 5)
    apples = {
        (r, c) for r, line in enumerate(game.layout.lines) for c, k in enumerate(line) if k == "A"
    }
    assert {near(apple, apples) for apple in apples} == {4}


@given(seed=SEEDS, players=st.integers(1, 10))
@settings(max_examples=20)
def test_players_start_apart_on_marked_cells(seed: int, players: int) -> None:
    game = Harvest(level="PPPPP\nAAAAA\nPPPPP\n.....", num_players=players)
    taken = places(game.initial_state(seed))
    assert len(set(taken)) == players
    assert {row for row, _ in taken} <= {0, 2}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"num_players": 0}, "num_players must be an integer from 1 to 10"),
        ({"num_players": 11}, "num_players"),
        ({"rows": 5}, "rows must be an integer from 6 to 60"),
        ({"columns": 61}, "columns"),
        ({"sight": 0}, "sight"),
        ({"fine": -1.0}, "fine must be a number at least 0"),
        ({"fine_cost": -1.0}, "fine_cost"),
        ({"time_out": -1}, "time_out"),
        ({"max_steps": 0}, "max_steps"),
        ({"level": "@A.@\n@.x@"}, "line 2, column 3: 'x' means nothing; use '@' a wall"),
        ({"level": "@A.@\n@..@@"}, "line 2, column 5: the line is 5 characters long"),
        ({"level": "@A.@\n@."}, "line 2, column 3: the line is 2 characters long"),
        ({"level": "." * 61}, "line 1 has 61 characters"),
        ({"level": "A.\n" * 61}, "61 lines"),
        ({"level": "\n"}, "line 1 has 0 characters"),
        ({"level": "@..@"}, "no cell on which an apple could grow"),
        ({"level": "@A.@", "num_players": 2}, "1 cells to start on, too few for 2 players"),
        ({"map": "cave"}, "map must be 'fixed' or 'random', not 'cave'"),
        ({"map": "random", "level": "A..."}, "level is a fixed map"),
        ({"patches": 0}, "patches must be an integer at least 1, not 0"),
        (
            {"map": "random", "patches": 9},
            "patches must be from 1 to 8 on a random map of 12 rows and 24 columns, not 9",
        ),
        ({"map": "random", "rows": 6, "columns": 6, "patches": 2}, "from 1 to 1 on a random map"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidOption, match=named):
        Harvest(**options)


# Random maps

CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])


def deals(game: Harvest, seeds: range) -> list[Any]:
    """What a game deals; an episode compiles less than a batch."""
    return [Episode(game, seed, compiled=True).state for seed in seeds]


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize(
    ("rows", "columns", "patches"), [(12, 24, 6), (12, 24, 8), (24, 36, 18), (6, 60, 12), (6, 6, 1)]
)
def test_a_thousand_random_maps_have_so_many_patches_none_of_which_helps_another(
    rows: int, columns: int, patches: int
) -> None:
    game = Harvest(map="random", rows=rows, columns=columns, patches=patches)
    states = deals(game, range(3, 1003))
    inside = np.pad(np.ones((rows - 2, columns - 2), bool), 1)
    for state in states:
        cells = state["cells"]
        assert np.array_equal(cells != WALL, inside)
        apples = cells == APPLE
        assert (apples | (cells == FLOOR))[inside].all()
        found, count = label(apples)
        assert count == patches
        places = [np.argwhere(found == number) for number in range(1, count + 1)]
        for patch in places:
            top, left = patch.min(axis=0)
            assert np.array_equal(apples[top : top + 3, left : left + 3], CROSS)
            assert len(patch) == 5
        whose = np.repeat(np.arange(count), 5)
        apart = cdist(np.concatenate(places), np.concatenate(places), "cityblock")
        assert (apart[whose[:, None] != whose[None, :]] > 2).all()
        assert (cells[state["row"], state["column"]] == FLOOR).all()
    if patches < 12:
        assert len({state["cells"].tobytes() for state in states}) > (990 if rows > 6 else 3)


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize(("rows", "columns", "patches"), [(7, 9, 1), (6, 11, 2), (7, 12, 2)])
def test_every_layout_of_patches_is_as_likely_as_any_other(
    rows: int, columns: int, patches: int
) -> None:
    middles = list(itertools.product(range(2, rows - 2), range(2, columns - 2)))
    layouts = {
        frozenset(chosen)
        for chosen in itertools.combinations(middles, patches)
        if all(
            abs(a[0] - b[0]) + abs(a[1] - b[1]) >= 5 for a, b in itertools.combinations(chosen, 2)
        )
    }
    game = Harvest(map="random", rows=rows, columns=columns, patches=patches)
    seen = Counter(
        frozenset(zip(*np.divmod(state.middle.tolist(), columns), strict=True))
        for state in deals(game, range(8, 6008))
    )
    assert set(seen) == layouts
    assert chisquare(list(seen.values())).pvalue > 0.001


def test_the_rules_tell_of_random_maps_and_print_none() -> None:
    text = Harvest(map="random", patches=5).rules_for(0)
    assert "another in every episode. It has 12 rows and 24 columns" in text
    assert "5 patches of five cells" in text
    assert not any("@@" in row for row in text.split("\n"))


@settings(max_examples=20)
@given(seed=SEEDS, steps=st.integers(0, 12), time_out=st.sampled_from([0, 4]), draw=SEEDS)
def test_imagined_patches_fit_what_is_seen(seed: int, steps: int, time_out: int, draw: int) -> None:
    game = Harvest(map="random", num_players=5, patches=6, sight=3, time_out=time_out)
    state, rng = game.initial_state(seed), Rng(seed)
    for _ in range(steps):
        game.step(state, {seat: game.sample(state, seat, rng) for seat in range(5)})
    for seat in range(5):
        other = game.determinize(state, seat, Rng(draw))
        assert np.array_equal(game.observe(other, seat), game.observe(state, seat))
        assert game.describe(other, seat) == game.describe(state, seat)
        sites = (other.cells == APPLE) | (other.cells == ORCHARD)
        assert label(sites)[1] == 6
        assert sites.sum() == 6 * 5
        present = [p for p in range(5) if not other.absent[p]]
        assert len({places(other)[p] for p in present}) == len(present)
        assert not any(other.cells[places(other)[p]] in (WALL, APPLE) for p in present)


def test_nobody_imagines_a_bare_cell_in_sight_before_anything_is_eaten_nor_the_true_map() -> None:
    game, moved = Harvest(map="random", patches=5), 0
    for seed in range(20):
        state = game.initial_state(seed)
        other = game.determinize(state, 0, Rng(seed + 1000))
        rows, columns = np.indices((12, 24))
        away = np.maximum(abs(rows - state.row[0]), abs(columns - state.column[0])) > game.sight
        assert not (other.cells == ORCHARD)[~away].any()
        hidden = label((state.cells == APPLE) & away)[1]
        true = (state.cells == APPLE) & away
        moved += hidden > 0 and not (other.cells[true] != FLOOR).all()
    assert moved > 15


# What a player sees


@pytest.mark.parametrize(
    ("facing", "apple", "other", "turned"),
    [
        (FACING_NORTH, (-2, -1), (1, 1), 1),
        (FACING_EAST, (-1, 2), (1, -1), 0),
        (FACING_SOUTH, (2, 1), (-1, -1), 3),
        (FACING_WEST, (1, -2), (-1, 1), 2),
    ],
)
def test_the_window_is_turned_so_that_up_is_ahead(
    facing: int, apple: tuple[int, int], other: tuple[int, int], turned: int
) -> None:
    game, state = meadow((3, 2, facing), (2, 3, FACING_EAST), sight=2)
    view = game.observe(state, 0)
    assert view.shape == (7, 5, 5)
    ahead, right = apple
    assert view[1].nonzero() == ([2 - ahead], [2 + right])
    ahead, right = other
    assert view[PLAYERS + turned, 2 - ahead, 2 + right] == 2
    assert np.count_nonzero(view[PLAYERS:]) == 1
    # the western wall is a line two cells from the player
    walls = {
        FACING_NORTH: view[0, :, 0],
        FACING_EAST: view[0, 0],
        FACING_SOUTH: view[0, :, 4],
        FACING_WEST: view[0, 0],
    }
    if facing != FACING_EAST:
        assert walls[facing].all()
    assert view[0].sum() == 5


def test_the_text_view_draws_the_window_and_lists_what_is_in_it() -> None:
    game, state = meadow((4, 2, FACING_WEST), (2, 2, FACING_NORTH), sight=2)
    play(game, state, "stay", "stay")
    assert game.describe(state, 0).split("\n") == [
        "You are player_0. Steps played: 1 of 400.",
        "What you see; ^ is you, and up is ahead of you:",
        "@@@@@",
        "@A...",
        "@.^.1",
        "@....",
        "@....",
        "- apple: (1, -1)",
        "- player_1, facing right: (0, 2)",
    ]


def test_each_player_is_told_only_the_result_of_their_own_action() -> None:
    game, state = meadow((3, 2, FACING_EAST), (3, 4, FACING_WEST), (5, 2, FACING_NORTH))
    names = ("fine", "forward", "step-left")
    events = game.step(state, {p: ACTIONS.index(name) for p, name in enumerate(names)}).events
    assert [event.audience for event in events] == [only(0), only(1), only(2)]
    assert [event.text for event in events] == [
        "Your fining beam hits player_1.",
        "You step forward. player_0 fines you.",
        "You step left. You eat an apple.",
    ]
    events = game.step(state, dict.fromkeys(range(3), ACTIONS.index("forward"))).events
    assert events[0].text == "You try to step forward and are blocked."


def test_players_learn_where_they_start() -> None:
    game = Harvest()
    state = game.initial_state(2)
    row, column, facing = int(state.row[1]) + 1, int(state.column[1]) + 1, int(state.facing[1])
    way = ("north", "east", "south", "west")[facing]
    heard = [event for event in game.opening(state) if event.visible_to(1)]
    assert [e.text for e in heard] == [
        f"You stand in row {row}, column {column} of the map and face {way}."
    ]


@settings(max_examples=25)
@given(seed=SEEDS, steps=st.integers(0, 12), time_out=st.sampled_from([0, 4]), draw=SEEDS)
def test_redrawing_what_is_hidden_leaves_a_players_views_alone(
    seed: int, steps: int, time_out: int, draw: int
) -> None:
    game = Harvest(num_players=5, rows=9, columns=14, sight=2, time_out=time_out)
    state, rng = game.initial_state(seed), Rng(seed)
    for _ in range(steps):
        game.step(state, {seat: game.sample(state, seat, rng) for seat in range(5)})
    for seat in range(5):
        other = game.determinize(state, seat, Rng(draw))
        assert np.array_equal(game.observe(other, seat), game.observe(state, seat))
        assert game.describe(other, seat) == game.describe(state, seat)
        present = [p for p in range(5) if not other.absent[p]]
        assert len({places(other)[p] for p in present}) == len(present)
        assert all(game.layout.lines[r][c] != "@" for p in present for r, c in [places(other)[p]])
        assert not (other.cells[state.cells == ORCHARD] == 0).any()


def test_information_is_perfect_only_where_everybody_sees_the_whole_map() -> None:
    assert Harvest(rows=8, columns=10, sight=9).perfect_information
    assert not Harvest(rows=8, columns=10, sight=8).perfect_information
    assert not Harvest(rows=8, columns=10, sight=9, time_out=5).perfect_information


def test_moves_are_read_from_answers_without_mixing_up_turns_and_steps() -> None:
    game, state = meadow((3, 4, FACING_NORTH))
    for number, name in enumerate(ACTIONS):
        assert game.parse(state, 0, f"Nobody is near.\n[{name}]") == number
        assert game.parse(state, 0, f"My move: {name}.") == number
    with pytest.raises(InvalidAction, match="turn-left"):
        game.parse(state, 0, "turn left")


def test_the_rules_name_the_numbers_and_show_the_map() -> None:
    game, _ = meadow((3, 4, FACING_NORTH), (1, 1, FACING_NORTH), fine=20.0, time_out=7)
    text = game.rules_for(0)
    for piece in ("loses 20", "out of the game for 7 steps", "@A......@", "0.005"):
        assert piece in text


def test_a_scene_shows_a_spectator_the_map_and_a_player_their_window() -> None:
    game, state = meadow((4, 2, FACING_WEST), (2, 2, FACING_NORTH), sight=2)
    play(game, state, "stay", "fine")
    whole, window = game.scene(state).grid, game.scene(state, 0).grid
    assert whole is not None
    assert window is not None
    assert whole.cells[4][2] is not None
    assert whole.cells[4][2].glyph == "0<"
    assert whole.cells[1][2] is not None
    assert whole.cells[1][2].label == "fining beam"
    assert len(window.cells) == 5
    assert window.cells[2][2] is not None
    assert window.cells[2][2].label == "player_0, facing ahead"
    assert window.cells[2][4] is not None
    assert window.cells[2][4].label == "player_1, facing right"


def test_time_runs_out() -> None:
    game, state = meadow((3, 4, FACING_NORTH), max_steps=2)
    play(game, state, "stay")
    assert game.outcome(state) is None
    play(game, state, "stay")
    outcome = game.outcome(state)
    assert outcome is not None
    assert outcome.results == ("truncated",)
    assert "time was up after 2 steps" in outcome.reason


# The scripted gatherer


def gather(game: Harvest, agent: Agent, seed: int) -> Episode:
    episode = Episode(game, seed)
    agent.reseed(seed)
    while not episode.over:
        turns = [Turn(episode, seat) for seat in episode.to_act]
        decisions = agent.act(turns)
        episode.act({t.seat: d.action for t, d in zip(turns, decisions, strict=True)})
    return episode


@pytest.mark.exhaustive
def test_restraint_sustains_more_than_greed_over_a_thousand_steps() -> None:
    game = Harvest(max_steps=1000)
    totals, left = {}, {}
    for restraint in (0, 1, 3):
        episodes = [gather(game, Gatherer(restraint=restraint), seed) for seed in range(2)]
        totals[restraint] = [sum(episode.returns) for episode in episodes]
        left[restraint] = [int((e.state.cells == APPLE).sum()) for e in episodes]
    assert left[0] == [0, 0]  # greed leaves nothing, and so nothing more can come
    assert min(totals[1]) > 2 * max(totals[0])
    assert min(totals[3]) > 2 * max(totals[1])


@pytest.mark.exhaustive
def test_restraint_sustains_on_random_maps_too() -> None:
    game = Harvest(map="random", max_steps=600)
    greed, restraint = (gather(game, Gatherer(restraint=number), 1) for number in (0, 1))
    assert sum(greed.returns) == 6 * 5 or not (greed.state.cells == APPLE).any()
    assert sum(restraint.returns) > 1.5 * sum(greed.returns)


def test_a_gatherer_walks_to_the_nearest_apple_and_eats_it() -> None:
    game, state = meadow((3, 3, FACING_EAST))
    episode = Episode(game, 0, compiled=False)
    episode.load(state)
    agent = Gatherer(restless=0.0)
    for _ in range(4):
        [decision] = agent.act([Turn(episode, 0)])
        episode.act({0: decision.action})
    assert list(episode.returns) == [1.0]


def test_with_restraint_a_lone_apple_is_neither_taken_nor_trodden_on() -> None:
    game, state = meadow((5, 2, FACING_NORTH))
    episode = Episode(game, 0, compiled=False)
    episode.load(state)
    agent = Gatherer(restraint=1, restless=1.0, seed=4)
    for _ in range(60):
        [decision] = agent.act([Turn(episode, 0)])
        episode.act({0: decision.action})
    assert episode.state.cells[5, 1] == APPLE


def test_paths_go_round_what_is_in_the_way() -> None:
    assert step_towards({(2, 0)}, set(), 3) == FORWARD
    assert step_towards({(2, 0)}, {(1, 0), (0, 1)}, 3) == STEP_LEFT
    assert step_towards({(2, 0)}, {(1, 0), (0, 1), (0, -1), (-1, 0)}, 3) is None


@pytest.mark.parametrize("options", [{"restraint": -1}, {"restless": 1.5}])
def test_a_gatherer_refuses_options_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match=next(iter(options))):
        make_agent("gatherer", **options)


def test_nothing_tells_after_a_step_where_players_out_of_sight_have_headed() -> None:
    episode, rng = Episode(Harvest(), 3, compiled=False), Rng.seeded(1)
    for _ in range(6):
        episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})
        assert not episode.state.target.any()
