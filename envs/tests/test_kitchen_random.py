"""Kitchen: drawn from the seed, checked with networkx; seen in part, checked against the whole."""

from __future__ import annotations

from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidOption, Rng, Turn
from palestra.engine.batch import Batch
from palestra.testing.kit import run_check
from palestra.testing.subject import Subject
from palestra_envs.grid.kitchen.cooks import Cook
from palestra_envs.grid.kitchen.game import Kitchen
from palestra_envs.grid.kitchen.observations import read_observation
from palestra_envs.grid.kitchen.rules import (
    DISH,
    GO_EAST,
    GO_NORTH,
    GO_SOUTH,
    GO_WEST,
    INTERACT,
    NOTHING,
    ONION,
    REST,
    SOUP,
)

KITCHEN = "grid/Kitchen-v0"
SPEC = palestra.kernel.registry.registry().environment(KITCHEN)
SYMBOLS = np.array(list(".XPODS"))
DEFAULTS: dict[str, Any] = {}
BIG = {"rows": 8, "columns": 9, "density": 0.25}
NARROW = {"rows": 4, "columns": 9, "density": 1.0, "num_players": 4}
DENSE = {"rows": 9, "columns": 9, "density": 0.6}
FULL = {"rows": 12, "columns": 7, "density": 1.0}
SMALLEST = {"rows": 4, "columns": 4, "num_players": 3}
RING = """
XXXPXX
X 1  P
D XX X
O  2 X
XXOSXX
"""


def drawn(**options: Any) -> Kitchen:
    return Kitchen(layout="random", **options)


def pictures(tiles: np.ndarray[Any, Any]) -> list[str]:
    """Tiles, row by row, as a plan would draw them."""
    return ["".join(line) for line in SYMBOLS[tiles]]


def check_kitchen(tiles: np.ndarray[Any, Any], players: list[int], most_inside: int) -> None:
    """A ring that is closed, floor that nobody can block, and every station within reach."""
    picture = "\n".join(pictures(tiles))
    rows, columns = tiles.shape
    grid = nx.grid_2d_graph(rows, columns)
    floor = grid.subgraph([place for place in grid if tiles[place] == 0])
    edge = [place for place in grid if place[0] in (0, rows - 1) or place[1] in (0, columns - 1)]
    assert not any(tiles[place] == 0 for place in edge), picture
    assert nx.is_biconnected(floor), picture
    kinds = Counter(SYMBOLS[tiles].ravel().tolist())
    assert kinds["P"] in (1, 2), picture
    assert kinds["O"] in (1, 2), picture
    assert (kinds["D"], kinds["S"]) == (1, 1), picture
    for place in zip(*(tiles > 1).nonzero(), strict=True):
        assert any(beside in floor for beside in grid[place]), picture
    assert (tiles[1:-1, 1:-1] > 0).sum() <= most_inside, picture
    assert len(set(players)) == len(players), picture
    assert all(tiles[divmod(cell, columns)] == 0 for cell in players), picture
    assert len(floor) > len(players), picture


# Random kitchens


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize("options", [DEFAULTS, BIG, NARROW, FULL, SMALLEST], ids=str)
def test_thousands_of_random_kitchens_can_be_played(options: dict[str, Any]) -> None:
    game = drawn(**options)
    batch = Batch(game, 1000)
    batch.reset(1)
    states = batch.lanes["timestep"]["state"]
    rows, columns = game.sides
    most = round(game.density * (rows - 2) * (columns - 2))
    for tiles, players in zip(states["tiles"], states["cell"].tolist(), strict=True):
        check_kitchen(tiles.reshape(rows, columns), players, most)
    some = [game.initial_state(seed).tobytes() for seed in batch.episode_seeds[:20]]
    assert [state.tobytes() for state in states[:20]] == some  # drawn without a compiler


def test_seeds_draw_different_kitchens_with_one_or_two_of_some_stations() -> None:
    game = drawn()
    seen = [game.initial_state(seed).tiles for seed in range(200)]
    assert len({tiles.tobytes() for tiles in seen}) > 190
    pots, onions = (Counter(int((tiles == tile).sum()) for tiles in seen) for tile in (2, 3))
    for counted in (pots, onions):  # a fair coin: 5 standard deviations are 36
        assert counted.keys() == {1, 2}
        assert abs(counted[1] - 100) < 36


def test_stations_stand_inside_the_kitchen_too() -> None:
    game = drawn(**BIG)
    inside = [game.initial_state(seed).tiles.reshape(8, 9)[1:-1, 1:-1] for seed in range(50)]
    assert any((tiles > 1).any() for tiles in inside)


@pytest.mark.parametrize(("density", "counters"), [(0.0, 0), (0.1, 1), (0.2, 2)])
def test_density_is_the_share_of_counters_inside(density: float, counters: int) -> None:
    game = drawn(density=density)
    for seed in range(30):
        tiles = game.initial_state(seed).tiles.reshape(5, 6)
        assert (tiles[1:-1, 1:-1] > 0).sum() == counters


def test_all_that_is_said_and_drawn_is_of_this_episodes_kitchen() -> None:
    game = drawn(**BIG)
    for seed in range(5):
        state = game.initial_state(seed)
        lines = pictures(state.tiles.reshape(8, 9))
        text = game.describe(state, 1).splitlines()
        assert [line[3:] for line in text[-8:]] == lines
        assert sum(line.startswith("The pot in") for line in text) == "".join(lines).count("P")
        grid = game.scene(state).grid
        assert grid is not None
        for cell, piece in enumerate(piece for row in grid.cells for piece in row):
            if cell not in state.cell:
                glyph = "." if piece is None else piece.glyph[0]
                assert glyph == lines[cell // 9][cell % 9]
        assert game.look(state, 1) == read_observation(game.observe(state, 1), 2, None, 1)
    for fact in ("another kitchen", "8 rows and 9 columns", "1 to 2 pots"):
        assert fact in game.rules_for(0)
    assert "another kitchen" not in Kitchen().rules_for(0)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"rows": 6}, "rows=6 is for drawn kitchens: give it together with layout='random'"),
        ({"density": 0.5}, "density=0.5 is for drawn kitchens"),
        ({"layout": "random", "rows": 3}, "rows must be an integer from 4 to 20, not 3"),
        ({"layout": "random", "columns": 21}, "columns must be an integer from 4 to 20, not 21"),
        ({"layout": "random", "density": 1.5}, "density must be a number from 0 to 1"),
        ({"layout": "random", "rows": 4, "columns": 4, "num_players": 4}, "leave 4 cells of floor"),
        ({"layout": "randm"}, "did you mean 'random'"),
        ({"sight": 0}, "sight must be an integer from 1 to 20 or None"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises(InvalidOption, match=error):
        Kitchen(**options)


@pytest.mark.parametrize("split", [name for name in SPEC.splits if "random" in name])
def test_the_cook_serves_soups_in_kitchens_it_never_saw(split: str) -> None:
    game = palestra.game(KITCHEN, **SPEC.splits[split])
    served = [soups_of_cooks(game, seed) for seed in range(4)]
    assert min(served) >= 2
    assert sum(served) >= 20


def soups_of_cooks(game: Any, seed: int) -> int:
    """What cooks in all seats deliver in an episode."""
    episode, agent = Episode(game, seed, compiled=False), Cook(seed=seed)
    while not episode.over:
        turns = [Turn(episode, seat) for seat in episode.to_act]
        actions = [decision.action for decision in agent.act(turns)]
        episode.act(dict(zip(episode.to_act, actions, strict=True)))
    assert episode.returns[0] <= game.payoff_bounds[1]
    return int(episode.state.soups)


def test_held_out_kitchens_are_larger_and_the_near_sighted_see_as_much_of_them() -> None:
    small, large, near, far = (
        palestra.game(KITCHEN, **SPEC.splits[name])
        for name in ("random", "held-out-random", "near-sighted", "held-out-near-sighted")
    )
    assert all(a < b for a, b in zip(small.sides, large.sides, strict=True))
    assert (near.sides, far.sides) == (small.sides, large.sides)
    assert near.observation_shape == far.observation_shape == (5, 5, 22)


@pytest.mark.exhaustive(sample=8)
@pytest.mark.parametrize("options", [{"layout": "random"}, {"layout": RING, "sight": 1}], ids=str)
@pytest.mark.parametrize(
    "name",
    [
        "facts_are_true",
        "clone_is_independent",
        "record_replays_exactly",
        "seeds_decide",
        "compiled_equals_interpreted",
        "numbers_stay_in_space",
        "secrets_stay_hidden",
        "transcripts_keep_secrets",
        "private_events_stay_private",
        "renders_offscreen",
    ],
)
def test_each_of_the_two_alone_passes_the_kit(name: str, options: dict[str, Any]) -> None:
    verdict = run_check(Subject(SPEC, options), name)
    open_book = "secret" in name or "private" in name
    wanted = "skipped" if open_book and "sight" not in options else "passed"
    assert verdict.status == wanted, verdict.detail


# A partial view


def positions(game: Kitchen, seed: int, steps: int) -> Any:
    """States of an episode in which cooks and chance take turns."""
    whole = Kitchen(
        layout=game.layout,
        num_players=game.num_players,
        rows=game.rows,
        columns=game.columns,
        density=game.density,
        cook_time=3,
        max_steps=steps,
    )
    episode, agent, rng = Episode(whole, seed, compiled=False), Cook(seed=seed), Rng(seed)
    while not episode.over:
        yield whole, episode.state
        decisions = agent.act([Turn(episode, seat) for seat in episode.to_act])
        actions = [d.action if rng.random() < 0.8 else rng.below(6) for d in decisions]
        episode.act(dict(enumerate(actions)))


@pytest.mark.parametrize("sight", [1, 2, 4])
@pytest.mark.parametrize("options", [BIG, {"num_players": 4}], ids=str)
def test_a_window_is_cut_out_of_the_whole_view(options: dict[str, Any], sight: int) -> None:
    game = drawn(sight=sight, cook_time=3, max_steps=70, **options)
    carried = 0
    for whole, state in positions(game, sight, 70):
        for seat in range(game.num_players):
            view = whole.observe(state, seat)
            beyond = [(sight, sight), (sight, sight), (0, 0)]
            padded = np.pad(view, beyond)
            outside = np.pad(np.zeros(view.shape[:2], bool), sight, constant_values=True)
            padded[outside, 5 * game.num_players + 1] = 1
            padded[outside, 5 * game.num_players + 11] = state.turn > 30
            row, column = divmod(int(state.cell[seat]), game.sides[1])
            window = padded[row : row + 2 * sight + 1, column : column + 2 * sight + 1]
            assert np.array_equal(game.observe(state, seat), window)
            carried += bool(window[:, :, 5 * game.num_players + 9 :][:, :, :2].any())
    assert carried > 20


def near(layout: str = RING, **options: Any) -> tuple[Kitchen, Any]:
    """Two players in the ring: one at the north, one at the south."""
    game = Kitchen(layout=layout, sight=1, **options)
    return game, game.initial_state(0)


def put(
    game: Kitchen, state: Any, seat: int, row: int, column: int, facing: int, held: int
) -> None:
    state.cell[seat] = (row - 1) * game.sides[1] + column - 1
    state.facing[seat], state.hand[seat] = facing, held


def test_the_text_tells_what_is_in_the_window_and_no_more() -> None:
    game, state = near()
    put(game, state, 0, 2, 5, GO_EAST, ONION)
    put(game, state, 1, 2, 4, GO_NORTH, 0)
    state.there[3], state.there[0], state.there[11] = 2, DISH, 1
    state.there[5] = SOUP
    assert game.describe(state, 0).splitlines() == [
        "You are player_0, facing east (pot), holding an onion. Steps played: 0 of 400.",
        "player_1 is one cell west of you, facing north (pot), holding nothing.",
        "The pot one cell north and one cell west of you holds 2 onions.",
        "The pot one cell east of you holds 1 onion.",
        "On the counters: a soup one cell north and one cell east of you.",
        "What you see:",
        "PXX",
        ".@P",
        "X.X",
        "You cannot see what is more than one cell away.",
    ]
    put(game, state, 1, 4, 2, GO_WEST, DISH)
    text = game.describe(state, 0)
    assert "player_1" not in text
    assert "away, nor where one other player may be." in text
    assert "row" not in text
    assert "one cell away" in game.rules_for(0)
    assert "@ is you" in game.rules_for(0)


def test_what_another_faces_is_told_only_where_it_is_in_sight() -> None:
    game, state = near()
    put(game, state, 0, 2, 3, GO_NORTH, 0)
    put(game, state, 1, 2, 4, GO_EAST, 0)
    assert "player_1 is one cell east of you, facing east, holding nothing." in game.describe(
        state, 0
    )


def test_the_picture_of_a_player_is_his_window_and_a_spectators_the_kitchen() -> None:
    game, state = near()
    put(game, state, 0, 2, 5, GO_EAST, ONION)
    put(game, state, 1, 4, 2, GO_WEST, DISH)
    state.there[11], state.clock[11] = 3, 5
    scene = game.scene(state, 0)
    assert scene.grid is not None
    cells = ["".join(f"{p.glyph if p else '.':3}" for p in row) for row in scene.grid.cells]
    assert cells == ["P  X  X  ", ".  A> P  ", "X  .  X  "]
    badges = [p.badge for row in scene.grid.cells for p in row if p and p.badge]
    assert badges == ["0/3", "onion", "16"]
    whole = game.scene(state)
    assert whole.grid is not None
    assert (len(whole.grid.cells), len(whole.grid.cells[0])) == game.sides
    badges = [p.badge for row in whole.grid.cells for p in row if p and p.badge]
    assert sorted(badges) == ["0/3", "16", "dish", "onion"]


def test_who_sees_all_from_everywhere_has_perfect_information() -> None:
    assert not Kitchen(layout=RING, sight=3).perfect_information
    assert Kitchen(layout=RING, sight=4).perfect_information  # from column 2 to column 6
    assert Kitchen().perfect_information


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("options", [{}, DENSE, {"num_players": 4, "density": 0.5}], ids=str)
def test_what_is_imagined_looks_the_same_and_is_a_kitchen(
    options: dict[str, Any], seed: int
) -> None:
    game, rng = drawn(sight=1 + seed % 2, cook_time=3, **options), Rng(seed)
    kitchens, others = set(), set()
    rows, columns = game.sides
    most = round(game.density * (rows - 2) * (columns - 2))
    for number, (_, state) in enumerate(positions(game, seed, 60)):
        seat = number % game.num_players
        for _ in range(3):
            imagined = game.determinize(state, seat, rng)
            assert game.describe(imagined, seat) == game.describe(state, seat)
            assert np.array_equal(game.observe(imagined, seat), game.observe(state, seat))
            places = imagined.cell.tolist()
            check_kitchen(imagined.tiles.reshape(rows, columns), places, most)
            check_things(game, imagined)
            kitchens.add(imagined.tiles.tobytes())
            others.add((tuple(places), tuple(imagined.hand.tolist())))
    assert len(kitchens) > 20
    assert len(others) > 20


def check_things(game: Kitchen, state: Any) -> None:
    """What lies somewhere lies on a counter or is in a pot, which cooks no longer than it takes."""
    assert not state.there[~np.isin(state.tiles, [1, 2])].any()
    pots = state.tiles == 2
    assert not state.clock[~pots].any()
    assert state.there[pots].max() <= 3
    assert state.clock.max() <= min(game.cook_time, int(state.turn)) + 1
    assert not state.clock[state.there != 3].any()
    if state.turn == 0:
        assert not state.there.any()
        assert not state.hand.any()


def test_a_station_in_sight_keeps_floor_beside_it_that_is_not() -> None:
    text = """
XXXPXXXXX
X.......X
X.......X
X..XO...X
X...X...X
X.......D
X.......X
X.......X
XXXXSXXXX
"""
    game = drawn(rows=9, columns=9, density=0.3, num_players=1, sight=1)
    state = game.initial_state(0)
    state.tiles[:] = [".XPODS".index(symbol) for symbol in "".join(text.split())]
    state.cell[0] = 4 * 9 + 3  # south-west of the onions, whose floor is in the north and east
    floors = set()
    for number in range(100):
        tiles = game.determinize(state, 0, Rng(number)).tiles.reshape(9, 9)
        check_kitchen(tiles, [int(state.cell[0])], 15)
        floors.add((int(tiles[2, 4]), int(tiles[3, 5])))
    assert {(0, 1), (1, 0)} <= floors


def test_a_known_kitchen_is_not_imagined_otherwise() -> None:
    game, state = near()
    put(game, state, 1, 4, 4, GO_SOUTH, ONION)
    state.turn = 40
    places, holders = set(), set()
    for number in range(60):
        imagined = game.determinize(state, 0, Rng(number))
        assert imagined.tiles.tobytes() == state.tiles.tobytes()
        places.add(int(imagined.cell[1]))
        held = [*imagined.hand.tolist(), *imagined.there[imagined.tiles == 1].tolist()]
        assert set(held) <= {NOTHING, ONION, DISH, SOUP}
        assert len(list(filter(None, held))) <= 3
        holders.add(bool(imagined.hand[1]))
    # player 0 in row 2, column 3 sees columns 2 to 4 of rows 1 to 3
    assert places == {(2 - 1) * 6 + 5 - 1, (3 - 1) * 6 + 5 - 1, *(18 + c for c in (1, 2, 3, 4))}
    assert holders == {True, False}


# What is told in a partial view


def events_of(game: Kitchen, state: Any, *actions: int) -> list[tuple[str, str, list[int]]]:
    events = game.step(state, dict(enumerate(actions))).events
    return [(e.kind, e.text, sorted(e.audience or [])) for e in events]


def test_players_are_told_what_they_did_themselves() -> None:
    game, state = near()
    put(game, state, 1, 4, 2, GO_WEST, 0)
    assert events_of(game, state, REST, INTERACT) == [
        ("move", "player_0 stays.", [0]),
        ("move", "player_1 takes an onion from the onion dispenser.", [1]),
    ]


def test_soups_of_others_are_news_only_to_those_who_do_not_see_them() -> None:
    paid = "1 soup delivered: 20 points."
    game, state = near(num_players=3)
    put(game, state, 0, 2, 2, GO_NORTH, 0)
    put(game, state, 1, 4, 4, GO_SOUTH, SOUP)
    put(game, state, 2, 4, 5, REST - 1, 0)
    events = events_of(game, state, REST, INTERACT, REST)
    assert [event for event in events if event[0] != "move"] == [
        ("reveal", paid, [0]),
        ("delivery", paid, [1]),
        ("delivery", paid, [2]),
    ]


def test_what_strangers_do_that_does_not_show_is_no_news() -> None:
    game, state = near(num_players=3)
    put(game, state, 0, 3, 2, GO_NORTH, 0)
    put(game, state, 1, 4, 4, GO_WEST, 0)
    put(game, state, 2, 4, 5, GO_WEST, 0)
    for actions in (
        (REST, GO_EAST, GO_EAST),
        (REST, INTERACT, GO_NORTH),
        (REST, GO_SOUTH, GO_SOUTH),
    ):
        assert [kind for kind, _, to in events_of(game, state, *actions) if to == [0]] == ["move"]


def test_being_held_up_by_strangers_is_news() -> None:
    game, state = near(num_players=3)
    put(game, state, 0, 2, 2, GO_NORTH, 0)
    put(game, state, 1, 4, 4, GO_EAST, 0)
    put(game, state, 2, 4, 5, GO_WEST, 0)
    assert events_of(game, state, GO_SOUTH, GO_EAST, GO_WEST)[
        :2
    ] == [  # the other two would change places
        ("move", "player_0 turns south and is held up.", [0]),
        ("reveal", "You see what you could not foresee.", [0]),
    ]


# The cook


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize(("sight", "soups"), [(1, 2), (2, 3)])
def test_near_sighted_cooks_find_their_way(sight: int, soups: int) -> None:
    """On average over twelve kitchens: they differ too much for fewer."""
    served = [soups_of_cooks(drawn(sight=sight), seed) for seed in range(12)]
    assert sum(served) >= soups * len(served)
