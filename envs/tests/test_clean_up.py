"""Clean Up: apples and waste against closed forms, the cleaning beam, and what is seen of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import palestra
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import Agent, Episode, InvalidOption, Rng, Turn
from palestra.grids.compass import (
    FACING_EAST,
    FACING_NORTH,
    FACING_SOUTH,
    FACING_WEST,
)
from palestra_envs.grid.social_dilemmas.clean_up import (
    CleanUp,
    apple_chance,
    grow_and_pollute,
    river_cells,
)
from palestra_envs.grid.social_dilemmas.gatherers import Cleaner, Gatherer, in_beam
from palestra_envs.grid.social_dilemmas.rules import (
    APPLE,
    CLEANINGS,
    FLOOR,
    ORCHARD,
    RIVER,
    WALL,
    WASTE,
    WASTES,
    WATERS,
)
from scipy.ndimage import find_objects, label
from scipy.stats import binomtest, chisquare

SEEDS = st.integers(0, 2**64 - 1)
ORCHARD_CELLS = 200


def valley(waste: int, river: int = 20, **options: Any) -> tuple[CleanUp, Any]:
    """A river of so many cells, the first of them full of waste, and a large empty orchard."""
    water = ("H" * waste + "R" * (river - waste)).ljust(20, ".")
    level = "\n".join([water, *["B" * 20] * (ORCHARD_CELLS // 20), "P" * 20])
    game = CleanUp(level=level, num_players=1, **options)
    return game, game.initial_state(7)


def play(game: CleanUp, state: Any, *names: str) -> list[dict[str, float]]:
    paid = game.step(state, {seat: game.actions.index(name) for seat, name in enumerate(names)})
    return [dict(paid.rewards.get(seat, {})) for seat in range(game.num_players)]


# Apples and waste


@pytest.mark.parametrize(
    ("waste", "chance"),
    [(0, 0.05), (1, 0.04375), (2, 0.0375), (4, 0.025), (6, 0.0125), (8, 0.0), (9, 0.0), (20, 0.0)],
)
def test_the_chance_of_an_apple_falls_in_a_straight_line_with_waste(
    waste: int, chance: float
) -> None:
    assert apple_chance(CleanUp().config, waste, 20 - waste) == pytest.approx(chance)


def test_up_to_restoration_the_chance_is_full() -> None:
    config = CleanUp(apple_rate=0.2, restoration=0.25, depletion=0.75).config
    covered = [0, 5, 10, 15, 20]
    expected = [0.2, 0.2, 0.1, 0.0, 0.0]
    assert [apple_chance(config, n, 20 - n) for n in covered] == pytest.approx(expected)


@pytest.mark.parametrize(("waste", "chance"), [(0, 0.05), (2, 0.0375), (4, 0.025), (6, 0.0125)])
def test_apples_appear_as_often_as_the_closed_form_says(waste: int, chance: float) -> None:
    game, state = valley(waste, waste_rate=0.0)
    start, grown, steps = state.cells.copy(), 0, 60
    for _ in range(steps):
        grow_and_pollute(game.config, state)
        grown += int((state.cells == APPLE).sum())
        state.cells[:] = start
    assert binomtest(grown, steps * ORCHARD_CELLS, chance).pvalue > 0.001


def test_an_orchard_left_alone_fills_up_as_independent_cells_do() -> None:
    filled, runs, steps, chance = 0, 10, 30, 0.025
    for seed in range(runs):
        game, state = valley(4, waste_rate=0.0)
        game.reseed(state, seed)
        for _ in range(steps):
            play(game, state, "stay")
        filled += int((state.cells == APPLE).sum())
    assert binomtest(filled, runs * ORCHARD_CELLS, 1 - (1 - chance) ** steps).pvalue > 0.001


def test_nothing_grows_while_too_much_of_the_river_is_covered() -> None:
    game, state = valley(8)
    for _ in range(300):
        play(game, state, "stay")
    assert (state.cells != APPLE).all()
    assert river_cells(game.config, state) == (8, 12)  # and no waste comes on top


def test_waste_appears_in_every_second_step_on_any_clean_cell_alike() -> None:
    game, state = valley(4, apple_rate=0.0)
    start, steps, hits = state.cells.copy(), 1600, np.zeros(20, int)
    for _ in range(steps):
        grow_and_pollute(game.config, state)
        new = (state.cells[0] == WASTE) & (start[0] == RIVER)
        assert new.sum() <= 1
        hits += new
        state.cells[:] = start
    assert not hits[:4].any()
    assert binomtest(int(hits.sum()), steps, 0.5).pvalue > 0.001
    assert chisquare(hits[4:]).pvalue > 0.001


def test_waste_stops_coming_once_it_reaches_depletion() -> None:
    game, state = valley(0, waste_rate=1.0)
    for covered in (1, 2, 3, 4, 5, 6, 7, 8, 8, 8):
        play(game, state, "stay")
        assert game.pollution(state) == covered / 20


def test_without_a_river_apples_grow_at_the_full_rate() -> None:
    game = CleanUp(level="BBB\nPPP", num_players=1, apple_rate=1.0)
    state = game.initial_state(0)
    play(game, state, "stay")
    assert (state.cells[0] == APPLE).all()


# Cleaning


def test_each_row_of_a_cleaning_beam_clears_the_first_waste_and_ends_there() -> None:
    level = "RHHRHH\nPRRRHH\nHRRRRR\nBBBBBB"
    game = CleanUp(level=level, num_players=1, waste_rate=0.0)
    state = game.initial_state(0)
    state.facing[0] = FACING_EAST
    assert play(game, state, "clean") == [{}]
    drawn = ["".join("~H"[int(kind == WASTE)] for kind in row) for row in state.cells[:3]]
    assert drawn == ["~~H~HH", "~~~~~H", "~~~~~~"]
    assert int(state.cleaned[0]) == 3
    lit = [row.nonzero()[0].tolist() for row in state.beams[:3]]
    assert lit == [[0, 1], [1, 2, 3, 4], [0]]
    assert game.pollution(state) == pytest.approx(4 / 17)


def test_players_stop_a_cleaning_beam_and_are_not_fined_by_it() -> None:
    game = CleanUp(level="PRPHH\nBBBBB", num_players=2, waste_rate=0.0)
    state = game.arrange("...HH\n.....", {0: (0, 0, FACING_EAST), 1: (0, 2, FACING_NORTH)})
    assert play(game, state, "clean", "stay") == [{}, {}]
    assert game.pollution(state) == pytest.approx(2 / 3)


def test_two_cleaners_clear_two_wastes_in_a_row_in_one_step() -> None:
    game = CleanUp(level="PRHH\nPPRR\nBBBB", num_players=2, waste_rate=0.0)
    state = game.arrange("..HH\n....\n....", {0: (0, 0, FACING_EAST), 1: (1, 1, FACING_EAST)})
    play(game, state, "clean", "clean")
    assert game.pollution(state) == 0
    assert state.cleaned.tolist() == [1, 1]


def test_fining_beams_pass_over_waste_and_cost() -> None:
    game = CleanUp(level="PHP\nBBB", num_players=2)
    state = game.arrange(".H.\n...", {0: (0, 0, FACING_EAST), 1: (0, 2, FACING_NORTH)})
    assert play(game, state, "fine", "stay") == [{"beams": -1.0}, {"fines": -50.0}]
    assert state.cells[0, 1] == WASTE


def test_players_wade_through_water_and_waste_and_eat_in_the_orchard() -> None:
    game = CleanUp(level="PRHSB", num_players=1, apple_rate=0.0)
    state = game.arrange("..H.A", {0: (0, 0, FACING_EAST)})
    paid = [play(game, state, "forward")[0] for _ in range(4)]
    assert paid == [{}, {}, {}, {"apples": 1.0}]
    assert state.cells[0].tolist()[-1] == ORCHARD


# Maps, options, views


def test_the_default_map_starts_with_half_the_river_covered() -> None:
    game = CleanUp()
    state = game.initial_state(0)
    assert game.pollution(state) == 0.5
    assert (state.cells != APPLE).all()
    assert all(
        game.layout.lines[int(r)][int(c)] == "."
        for r, c in zip(state.row, state.column, strict=True)
    )


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"apple_rate": 1.5}, "apple_rate must be a number from 0 to 1"),
        ({"waste_rate": -0.1}, "waste_rate"),
        ({"restoration": 0.4}, "restoration must be below depletion, not 0.4 and 0.4"),
        ({"depletion": 1.1}, "depletion must be a number at most 1 above 0, not 1.1"),
        ({"rows": 2}, "rows"),
        ({"columns": 4}, "columns"),
        ({"level": "@A@"}, "line 1, column 2: 'A' means nothing"),
        ({"level": "HRP"}, "no cell on which an apple could grow"),
        ({"num_players": 11}, "num_players"),
        ({"map": "cave"}, "map must be 'fixed' or 'random', not 'cave'"),
        ({"map": "random", "level": "RBP"}, "level is a fixed map"),
        ({"map": "random", "rows": 4}, "rows must be from 5 to 60, not 4"),
        ({"map": "random", "rows": 5, "columns": 5}, "3 cells to start on, too few for 4 players"),
        ({"initial_waste": 1.1}, "initial_waste must be a number from 0 to 1"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidOption, match=named):
        CleanUp(**options)


def strip(cells: Any, *kinds: int) -> tuple[slice, slice]:
    """The rows and columns of the one rectangle that these kinds of cells fill."""
    covered = np.isin(cells, kinds)
    found, count = label(covered)
    assert count == 1
    (box,) = find_objects(found)
    assert covered[box].all()
    return box  # type: ignore[no-any-return]


def deals(game: CleanUp, seeds: range) -> list[Any]:
    """What a game deals; an episode compiles less than a batch."""
    return [Episode(game, seed, compiled=True).state for seed in seeds]


def side_and_depth(box: tuple[slice, slice], rows: int, columns: int) -> tuple[str, int]:
    """Along which side of the map a rectangle lies, from end to end, and how deep it is."""
    top, left = (part.start for part in box)
    bottom, right = (part.stop for part in box)
    if (left, right) == (1, columns - 1):
        assert (top == 1) != (bottom == rows - 1)
        return "north" if top == 1 else "south", bottom - top
    assert (top, bottom) == (1, rows - 1)
    assert (left == 1) != (right == columns - 1)
    return "west" if left == 1 else "east", right - left


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize(
    ("rows", "columns", "share"), [(12, 18, 0.5), (20, 28, 0.7), (5, 7, 0.29), (12, 18, 0.0)]
)
def test_a_thousand_random_maps_have_a_river_an_orchard_across_and_a_share_of_waste(
    rows: int, columns: int, share: float
) -> None:
    game = CleanUp(map="random", rows=rows, columns=columns, initial_waste=share, num_players=3)
    opposite = {"north": "south", "south": "north", "west": "east", "east": "west"}
    drawn: dict[str, Counter[int]] = {side: Counter() for side in opposite}
    for state in deals(game, range(3, 1003)):
        cells = state["cells"]
        assert np.array_equal(cells != WALL, np.pad(np.ones((rows - 2, columns - 2), bool), 1))
        side, depth = side_and_depth(strip(cells, RIVER, WASTE), rows, columns)
        across, width = side_and_depth(strip(cells, ORCHARD), rows, columns)
        assert across == opposite[side]
        lines = (rows if side in ("north", "south") else columns) - 2
        assert 0 < 2 * depth < lines
        assert 0 < 2 * width < lines
        river = int(np.isin(cells, (RIVER, WASTE)).sum())
        assert abs(int((cells == WASTE).sum()) - share * river) <= 0.5
        assert (cells[state["row"], state["column"]] == FLOOR).all()
        drawn[side][depth] += 1
    assert chisquare([count.total() for count in drawn.values()]).pvalue > 0.001
    for side, depths in drawn.items():
        lines = (rows if side in ("north", "south") else columns) - 2
        counts = [depths[depth] for depth in range(1, (lines + 1) // 2)]
        assert len(counts) == 1 or chisquare(counts).pvalue > 0.001


@pytest.mark.exhaustive
def test_waste_lies_anywhere_in_a_random_river() -> None:
    game = CleanUp(map="random", rows=5, columns=5, num_players=1, initial_waste=0.4)
    cells = np.array([state.cells for state in deals(game, range(1, 3001))])[:, 1:4, 1:4]
    wet = np.isin(cells, (RIVER, WASTE))
    west = wet[:, :, 0].all(axis=1)
    assert (cells[west] == WASTE).sum(axis=(1, 2)).tolist() == [1] * int(west.sum())
    assert chisquare((cells[west][:, :, 0] == WASTE).sum(axis=0)).pvalue > 0.001


def test_the_rules_tell_of_random_maps_and_print_none() -> None:
    text = CleanUp(map="random", initial_waste=0.29).rules_for(0)
    assert "another in every episode. It has 12 rows and 18 columns" in text
    assert "waste covers 29% of the river" in text
    assert not any("@@" in row for row in text.split("\n"))


def test_the_view_shows_water_waste_and_cleaning_beams() -> None:
    game = CleanUp(level="SRH\nPRH\nBBB", num_players=1, sight=1, waste_rate=0.0)
    state = game.arrange("..H\n..H\n..A", {0: (1, 0, FACING_EAST)})
    play(game, state, "clean")
    view = game.observe(state, 0)
    assert view.shape == (10, 3, 3)
    # looking east: ahead is column 1, the left of the window is row 0
    assert view[WATERS].tolist() == [[1, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert not view[WASTES].any()
    assert view[CLEANINGS].tolist() == [[1, 1, 1], [1, 0, 1], [0, 0, 0]]
    assert game.describe(state, 0).split("\n")[2:] == [
        "~~.",
        "~^.",
        "@@@",
        "- cleaning beam: (1, -1), (1, 0), (1, 1), (0, -1), (0, 1)",
    ]


def test_water_under_a_player_is_put_into_words() -> None:
    game = CleanUp(level="PRR\nBBB\nPPP", num_players=2, sight=2, waste_rate=0.0)
    state = game.arrange("...\n...\n...", {0: (0, 1, FACING_EAST), 1: (0, 2, FACING_WEST)})
    assert "- water under a player: (1, 0), (0, 0)" in game.describe(state, 0)


@settings(max_examples=20)
@given(seed=SEEDS, steps=st.integers(0, 12), draw=SEEDS)
def test_redrawing_what_is_hidden_leaves_a_players_views_alone(
    seed: int, steps: int, draw: int
) -> None:
    game = CleanUp(num_players=4, sight=2, time_out=3)
    state, rng = game.initial_state(seed), Rng(seed)
    for _ in range(steps):
        game.step(state, {seat: game.sample(state, seat, rng) for seat in range(4)})
    for seat in range(4):
        other = game.determinize(state, seat, Rng(draw))
        assert np.array_equal(game.observe(other, seat), game.observe(state, seat))
        assert game.describe(other, seat) == game.describe(state, seat)
        assert sum(river_cells(game.config, other)) == sum(river_cells(game.config, state))


@settings(max_examples=20)
@given(seed=SEEDS, steps=st.integers(0, 12), draw=SEEDS)
def test_imagined_maps_fit_what_is_seen(seed: int, steps: int, draw: int) -> None:
    game = CleanUp(map="random", num_players=4, sight=3, time_out=3, depletion=0.9)
    state, rng = game.initial_state(seed), Rng(seed)
    for _ in range(steps):
        game.step(state, {seat: game.sample(state, seat, rng) for seat in range(4)})
    for seat in range(4):
        other = game.determinize(state, seat, Rng(draw))
        assert np.array_equal(game.observe(other, seat), game.observe(state, seat))
        assert game.describe(other, seat) == game.describe(state, seat)
        side, _ = side_and_depth(strip(other.cells, RIVER, WASTE), 12, 18)
        across, _ = side_and_depth(strip(other.cells, ORCHARD, APPLE), 12, 18)
        assert {side, across} in ({"north", "south"}, {"west", "east"})


def test_who_sees_nothing_of_the_river_imagines_it_on_any_side_that_is_out_of_sight() -> None:
    game = CleanUp(map="random", rows=14, columns=14, sight=2, num_players=1)
    state = game.initial_state(0)
    state.cells[1:-1, 1:-1] = FLOOR
    state.cells[1, 1:-1], state.cells[-2, 1:-1] = RIVER, ORCHARD
    state.row[0], state.column[0] = 7, 3  # sees columns 1 to 5 of rows 5 to 9: no water
    sides = Counter(
        side_and_depth(strip(game.determinize(state, 0, Rng(n)).cells, RIVER, WASTE), 14, 14)
        for n in range(1200)
    )
    # of 5 depths 4 fit from the north, 3 from the south, all from the east and none from the west
    fitting = [("north", n) for n in range(1, 5)] + [("south", n) for n in range(1, 4)]
    fitting += [("east", n) for n in range(1, 6)]
    assert set(sides) == set(fitting)
    assert chisquare(list(sides.values())).pvalue > 0.001


def test_the_rules_give_the_numbers_and_explain_the_map() -> None:
    text = CleanUp(apple_rate=0.125, depletion=0.3).rules_for(0)
    for piece in ("a chance of 0.125", "30% is covered", "H is a cell of the river, with waste"):
        assert piece in text


# The scripted cleaner


def earned(*agents: Agent, **options: Any) -> list[float]:
    """What each seat gets in 200 steps."""
    game = CleanUp(num_players=len(agents), max_steps=200, **options)
    episode = Episode(game, 1, compiled=False)
    while not episode.over:
        decided = {seat: agents[seat].act([Turn(episode, seat)])[0] for seat in episode.to_act}
        episode.act({seat: decision.action for seat, decision in decided.items()})
    return list(episode.returns)


@pytest.mark.parametrize("kind", ["fixed", "random"])
def test_without_anybody_who_cleans_nobody_ever_eats(kind: str) -> None:
    assert earned(*[Gatherer(seed=seat) for seat in range(3)], map=kind) == [0, 0, 0]


def test_cleaners_feed_themselves_and_others_on_random_maps() -> None:
    team = [Cleaner(seed=0), Cleaner(seed=1), Gatherer(seed=2)]
    assert earned(*team, map="random")[2] > 10


def test_one_cleaner_feeds_the_others_and_earns_less_than_they_do() -> None:
    cleaner, *eaters = earned(Cleaner(seed=0), Gatherer(seed=1), Gatherer(seed=2))
    assert cleaner < min(eaters)
    assert min(eaters) > 20


@pytest.mark.parametrize(
    ("facing", "chosen"),
    [
        (FACING_EAST, "clean"),
        (FACING_NORTH, "turn-right"),
        (FACING_SOUTH, "turn-left"),
        (FACING_WEST, "turn-left"),
    ],
)
def test_a_cleaner_turns_to_waste_and_cleans_it(facing: int, chosen: str) -> None:
    game = CleanUp(level="PRRH\nBBBB", num_players=1)
    episode = Episode(game, 0, compiled=False)
    episode.load(game.arrange("...H\n....", {0: (0, 0, facing)}))
    [decision] = Cleaner(restless=0.0).act([Turn(episode, 0)])
    assert game.actions[decision.action] == chosen


@pytest.mark.parametrize(
    ("cell", "blocked", "reached"),
    [
        ((1, 0), set(), True),
        ((5, 0), set(), True),
        ((6, 0), set(), False),
        ((0, 1), set(), True),
        ((4, -1), set(), True),
        ((5, -1), set(), False),
        ((2, 2), set(), False),
        ((-1, 0), set(), False),
        ((3, 0), {(2, 0)}, False),
        ((3, 0), {(2, 1)}, True),
        ((2, 1), {(0, 1)}, False),
    ],
)
def test_a_cleaner_knows_what_its_beam_reaches(
    cell: tuple[int, int], blocked: set[tuple[int, int]], reached: bool
) -> None:
    assert in_beam(cell, blocked) == reached


def test_a_cleaner_plays_nothing_but_clean_up() -> None:
    with pytest.raises(InvalidOption, match="plays grid/CleanUp-v0, not"):
        palestra.play("grid/Harvest-v0", agents=["cleaner"] * 4)


def test_nothing_tells_after_a_step_where_players_out_of_sight_have_headed() -> None:
    episode, rng = Episode(CleanUp(), 3, compiled=False), Rng.seeded(1)
    for _ in range(6):
        episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})
        assert not episode.state.target.any()
