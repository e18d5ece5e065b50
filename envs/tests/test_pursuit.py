"""Pursuit: positions worked out by hand, and whole games compared with PettingZoo's."""

from __future__ import annotations

import warnings
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import Episode, InvalidAction, InvalidOption, Rng, Turn, only
from palestra.agents.making import make_agent
from palestra.engine.batch import Batch
from palestra_envs.grid.pursuit.game import ACTIONS, Pursuit
from palestra_envs.grid.pursuit.hunters import Hunter
from scipy.ndimage import label
from scipy.stats import binomtest, chisquare

SEEDS = st.integers(0, 2**64 - 1)
ALONE = {"shared_reward": False, "freeze_evaders": True}
PUBLIC = (4, 3, 2, 0, 1)  # PettingZoo's numbers for stay, north, south, west, east
WAYS = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))  # rows and columns by action


def play(game: Pursuit, state: Any, *names: str) -> list[dict[str, float]]:
    """Play one action a seat, by name; returns the named terms each was paid."""
    paid = game.step(state, {seat: ACTIONS.index(name) for seat, name in enumerate(names)})
    return [
        {term: round(value, 12) for term, value in paid.rewards.get(seat, {}).items()}
        for seat in range(game.num_players)
    ]


def hunt(
    pursuers: list[tuple[int, int]], evaders: list[tuple[int, int]], **options: Any
) -> tuple[Pursuit, Any]:
    """The 16 by 16 map with everybody in these places; evaders do not move and pay is one's own."""
    settings = {**ALONE, "num_players": len(pursuers), **options}
    game = Pursuit(**settings)
    return game, game.arrange(pursuers, evaders)


def standing(state: Any) -> list[tuple[int, int]]:
    """Where everybody stands: pursuers, then evaders, those caught too."""
    return list(zip(state.row.tolist(), state.column.tolist(), strict=True))


# Payments, by hand


@pytest.mark.parametrize(
    ("evaders", "paid"),
    [
        ([(9, 9)], {"urgency": -0.1}),
        ([(1, 2), (12, 12)], {"tags": 0.01, "urgency": -0.1}),
        ([(1, 2), (2, 1), (2, 3)], {"tags": 0.03, "urgency": -0.1}),
        ([(1, 2), (1, 2)], {"tags": 0.02, "urgency": -0.1}),  # two on one cell
        ([(2, 2), (3, 3), (2, 4)], {"urgency": -0.1}),  # own cell, diagonal, two away
    ],
)
def test_each_evader_beside_a_pursuer_pays_a_hundredth(
    evaders: list[tuple[int, int]], paid: dict[str, float]
) -> None:
    game, state = hunt([(2, 2)], evaders)
    assert play(game, state, "stay") == [paid]


def test_touching_is_paid_where_one_has_moved_to() -> None:
    game, state = hunt([(2, 2), (2, 4)], [(1, 2), (12, 12)])
    paid = play(game, state, "south", "west")
    assert paid == [{"urgency": -0.1}, {"urgency": -0.1}]
    paid = play(game, state, "north", "stay")
    assert paid == [{"tags": 0.01, "urgency": -0.1}, {"urgency": -0.1}]


def test_an_evader_is_caught_when_all_four_sides_are_held() -> None:
    game, state = hunt([(1, 2), (3, 2), (2, 1), (2, 4)], [(2, 2), (12, 12)])
    play(game, state, "stay", "stay", "stay", "stay")
    assert game.evaders(state) == [0, 1]
    paid = play(game, state, "stay", "stay", "stay", "west")
    assert paid == [{"tags": 0.01, "catches": 5.0, "urgency": -0.1}] * 4
    assert game.evaders(state) == [1]
    assert play(game, state, *["stay"] * 4) == [{"urgency": -0.1}] * 4


@pytest.mark.parametrize(
    ("evader", "pursuers"),
    [
        pytest.param((0, 0), [(0, 1), (1, 0)], id="corner"),
        pytest.param((0, 5), [(0, 4), (0, 6), (1, 5)], id="edge"),
        pytest.param((8, 4), [(7, 4), (9, 4), (8, 3)], id="beside the wall in the middle"),
        pytest.param((2, 2), [(1, 2), (1, 2), (3, 2), (2, 1), (2, 3)], id="two on one side"),
    ],
)
def test_walls_and_edges_count_as_held_and_all_who_hold_are_paid(
    evader: tuple[int, int], pursuers: list[tuple[int, int]]
) -> None:
    game, state = hunt(pursuers, [evader])
    paid = play(game, state, *["stay"] * len(pursuers))
    assert [terms["catches"] for terms in paid] == [5.0] * len(pursuers)
    assert game.outcome(state) is not None


def test_catching_two_at_once_is_paid_once_and_standing_by_is_not() -> None:
    ring = [(1, 2), (3, 2), (2, 1), (2, 3), (1, 4), (3, 4), (2, 5), (9, 1)]
    game, state = hunt(ring, [(2, 2), (2, 4), (12, 12)])
    paid = play(game, state, *["stay"] * 8)
    assert [terms.get("catches", 0.0) for terms in paid] == [5.0] * 7 + [0.0]
    assert paid[3]["tags"] == 0.02
    assert len(game.evaders(state)) == 1


@pytest.mark.parametrize(("together", "caught"), [(1, False), (2, True), (3, True)])
def test_without_surrounding_enough_pursuers_on_its_cell_catch_it(
    together: int, caught: bool
) -> None:
    pursuers = [(2, 2)] * together + [(2, 3)] * (3 - together)
    game, state = hunt(pursuers, [(2, 2), (12, 12)], surround=False, n_catch=2)
    paid = play(game, state, "stay", "stay", "stay")
    assert [terms.get("catches", 0.0) for terms in paid] == [
        5.0 if caught and seat < together else 0.0 for seat in range(3)
    ]
    assert (game.evaders(state) == [1]) == caught


def test_shared_pay_is_the_mean_of_what_each_would_get() -> None:
    game, state = hunt([(0, 1), (1, 0), (9, 1), (9, 3)], [(0, 0), (9, 2)], shared_reward=True)
    paid = play(game, state, "stay", "stay", "stay", "stay")
    assert paid == [{"tags": 0.01, "catches": 2.5, "urgency": -0.1}] * 4
    assert list(game.scores(state)) == pytest.approx([2.41] * 4)


# Walking and ending


def test_pursuers_pass_through_one_another_but_not_through_walls() -> None:
    game, state = hunt([(0, 0), (0, 1), (3, 8)], [(12, 12)])
    legal = [{ACTIONS[a] for a in game.legal_actions(state, seat)} for seat in range(3)]
    assert legal == [
        {"stay", "south", "east"},
        {"stay", "south", "west", "east"},
        {"stay", "north", "west", "east"},
    ]
    play(game, state, "east", "west", "north")
    assert standing(state)[:3] == [(0, 1), (0, 0), (2, 8)]
    with pytest.raises(InvalidAction, match="not legal for player_0"):
        game.check(state, 0, ACTIONS.index("north"))


def test_evaders_walk_in_every_direction_alike_and_stay_where_walls_are() -> None:
    counts = dict.fromkeys([(5, 2), (6, 2), (4, 2), (5, 1), (5, 3)], 0)
    corner = 0
    for seed in range(250):
        game, state = hunt([(12, 12)], [(5, 2), (0, 0)], freeze_evaders=False, num_evaders=2)
        game.reseed(state, seed)
        play(game, state, "stay")
        _, first, second, *_ = standing(state)
        counts[first] += 1
        corner += second == (0, 0)
    assert chisquare(list(counts.values())).pvalue > 0.001
    assert chisquare([corner, 250 - corner], [150, 100]).pvalue > 0.001  # stay, north or west


def test_the_episode_ends_with_the_last_evader_or_when_time_is_up() -> None:
    game, state = hunt([(0, 1), (1, 0)], [(0, 0)], max_steps=1)
    play(game, state, "stay", "stay")
    outcome = game.outcome(state)
    assert outcome is not None
    assert (outcome.results, outcome.reason) == (("score", "score"), "all evaders were caught")
    game, state = hunt([(0, 1), (1, 1)], [(0, 0)], max_steps=1)
    play(game, state, "stay", "stay")
    outcome = game.outcome(state)
    assert outcome is not None
    assert outcome.results == ("truncated",) * 2


@settings(max_examples=15)
@given(seed=SEEDS)
def test_everybody_starts_on_the_floor_and_not_beside_his_like(seed: int) -> None:
    game = Pursuit()
    places = standing(game.initial_state(seed))
    for cells in (places[:8], places[8:]):
        assert all(game.layout.lines[row][column] == "." for row, column in cells)
        for at, (row, column) in enumerate(cells):
            assert all(abs(row - r) + abs(column - c) > 1 for r, c in cells[:at])


def test_a_crowded_map_still_fills() -> None:
    game = Pursuit(level="..", num_players=3, num_evaders=5)
    state = game.initial_state(1)
    assert int(state.crowd[0].sum()) == 3
    assert int(state.crowd[1].sum()) == 5


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"num_players": 0}, "num_players must be an integer from 1 to 30"),
        ({"num_evaders": 0}, "num_evaders"),
        ({"rows": 0}, "rows"),
        ({"columns": 61}, "columns"),
        ({"sight": 31}, "sight"),
        ({"surround": False, "n_catch": 9}, "n_catch must be at most num_players, 8"),
        ({"max_steps": 0}, "max_steps"),
        ({"level": "..\n.A"}, "line 2, column 2: 'A' means nothing"),
        ({"level": "@."}, "two cells without a wall"),
        ({"map": "cave"}, "map must be 'fixed' or 'random', not 'cave'"),
        ({"map": "random", "level": "..\n.."}, "level is a fixed map"),
        ({"map": "random", "rows": 1, "columns": 1}, "two cells without a wall"),
        ({"density": 0.95}, "density must be a number from 0 to 0.9, not 0.95"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidOption, match=named):
        Pursuit(**options)


# Random maps


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize(
    ("rows", "columns", "density"), [(16, 16, 0.2), (24, 24, 0.3), (5, 9, 0.6), (2, 2, 0.9)]
)
def test_a_thousand_random_maps_are_each_one_region_with_everybody_in_it(
    rows: int, columns: int, density: float
) -> None:
    batch = Batch(Pursuit(map="random", rows=rows, columns=columns, density=density), 1000)
    batch.reset(3)
    states = batch.lanes["timestep"]["state"]
    for state in states:
        floor = state["walls"].reshape(rows, columns) == 0
        assert label(floor)[1] == 1
        assert floor.sum() >= 2
        assert floor[state["row"], state["column"]].all()
    different = {state["walls"].tobytes() for state in states}
    assert len(different) > (990 if rows > 5 else 8)


@pytest.mark.exhaustive
def test_obstacles_stand_on_each_cell_with_their_density() -> None:
    """On a map so thin in obstacles that they cut off next to nothing."""
    batch = Batch(Pursuit(map="random", density=0.01), 1000)
    batch.reset(4)
    walls = batch.lanes["timestep"]["state"]["walls"]
    by_cell = walls.sum(axis=0)
    assert binomtest(int(walls.sum()), walls.size, 0.01).pvalue > 0.001
    assert chisquare(by_cell).pvalue > 0.001


def test_without_density_a_random_map_is_open() -> None:
    game = Pursuit(map="random", density=0.0, rows=3, columns=4)
    assert not game.walls(game.initial_state(2)).any()


def test_random_walls_stop_players_and_are_seen_in_the_window_alone() -> None:
    game = Pursuit(map="random", density=0.3, sight=2, num_players=3)
    state = game.initial_state(5)
    floor = np.pad(state.walls.reshape(16, 16) == 0, 2)
    for seat in range(3):
        row, column = standing(state)[seat]
        window = floor[row : row + 5, column : column + 5]
        assert np.array_equal(game.observe(state, seat)[0] == 0, window)
        steps = [bool(window[2 + down, 2 + across]) for down, across in WAYS]
        assert game.action_mask(state, seat).tolist() == steps
        picture = game.scene(state, seat).grid
        assert picture is not None
        drawn = [
            (r, c)
            for r, line in enumerate(picture.cells)
            for c, piece in enumerate(line)
            if piece is not None
        ]
        assert all(max(abs(r - row), abs(c - column)) <= 2 for r, c in drawn)


def test_the_rules_tell_of_random_maps_and_print_none() -> None:
    text = Pursuit(map="random", rows=9, columns=11, density=0.25).rules_for(0)
    assert "9 rows and 11 columns and is another in every episode" in text
    assert "with a chance of 0.25" in text
    assert not any("...." in row for row in text.split("\n"))
    assert "...." in Pursuit().rules_for(0)


@settings(max_examples=20)
@given(seed=SEEDS, density=st.floats(0, 0.9), draw=SEEDS)
def test_imagined_maps_fit_what_is_seen_and_are_one_region(
    seed: int, density: float, draw: int
) -> None:
    game = Pursuit(map="random", density=density, num_players=4, num_evaders=5, sight=2)
    state = game.initial_state(seed)
    for seat in range(4):
        other = game.determinize(state, seat, Rng(draw))
        assert np.array_equal(game.observe(other, seat), game.observe(state, seat))
        assert game.describe(other, seat) == game.describe(state, seat)
        floor = other.walls.reshape(16, 16) == 0
        assert label(floor)[1] == 1
        assert floor[other.row, other.column].all()
        assert other.crowd.sum() == state.crowd.sum()


def test_imagined_obstacles_out_of_sight_owe_nothing_to_the_true_ones() -> None:
    game = Pursuit(map="random", density=0.2, num_players=2, num_evaders=2, sight=3)
    alike, walls = [], []
    for seed in range(40):
        state = game.initial_state(seed)
        other = game.determinize(state, 0, Rng(seed + 1000))
        rows, columns = np.indices((16, 16))
        away = np.maximum(abs(rows - state.row[0]), abs(columns - state.column[0])).ravel() > 3
        alike += (state.walls == other.walls)[away].tolist()
        walls += other.walls[away].tolist()
    share = np.mean(walls)
    assert 0.19 < share < 0.24
    assert abs(np.mean(alike) - (share**2 + (1 - share) ** 2)) < 0.02


# What a player sees


def test_the_view_has_walls_pursuers_and_evaders_with_north_on_top() -> None:
    game, state = hunt([(0, 2), (1, 3), (1, 3)], [(2, 1), (0, 5), (0, 2)], sight=2)
    walls, pursuers, evaders = game.observe(state, 0).tolist()
    assert walls == [[1] * 5, [1] * 5, [0] * 5, [0] * 5, [0] * 5]
    assert pursuers == [[0] * 5, [0] * 5, [0, 0, 1, 0, 0], [0, 0, 0, 2, 0], [0] * 5]
    assert evaders == [[0] * 5, [0] * 5, [0, 0, 1, 0, 0], [0] * 5, [0, 1, 0, 0, 0]]
    assert game.describe(state, 0).split("\n")[2:] == [
        "@@@@@",
        "@@@@@",
        "..^..",
        "...P.",
        ".E...",
        "- two other pursuers one cell south and one cell east of you",
        "- one evader on your own cell",
        "- one evader two cells south and one cell west of you",
    ]


def test_catches_are_told_to_all_and_moves_only_to_who_made_them() -> None:
    game, state = hunt([(0, 1), (1, 0), (9, 1)], [(0, 0), (12, 12)])
    events = game.step(state, dict.fromkeys(range(3), 0)).events
    assert [event.audience for event in events] == [only(0), only(1), only(2), None]
    assert events[0].text == "You stay. You are paid 4.91."
    assert events[2].text == "You stay."
    assert events[3].text == "Caught by player_0 and player_1: an evader."


@settings(max_examples=20)
@given(seed=SEEDS, steps=st.integers(0, 8), draw=SEEDS)
def test_redrawing_what_is_hidden_leaves_a_players_views_alone(
    seed: int, steps: int, draw: int
) -> None:
    game = Pursuit(num_players=4, sight=2)
    state, rng = game.initial_state(seed), Rng(seed)
    for _ in range(steps):
        game.step(state, {seat: game.sample(state, seat, rng) for seat in range(4)})
    for seat in range(4):
        other = game.determinize(state, seat, Rng(draw))
        assert np.array_equal(game.observe(other, seat), game.observe(state, seat))
        assert np.array_equal(game.action_mask(other, seat), game.action_mask(state, seat))
        assert other.crowd.sum() == state.crowd.sum()
        assert not any(game.layout.lines[row][column] == "@" for row, column in standing(other))


def test_a_players_scene_leaves_out_whom_he_does_not_see() -> None:
    game, state = hunt([(0, 2), (9, 1)], [(1, 2), (14, 14)])
    whole, seen = game.scene(state).grid, game.scene(state, 0).grid
    assert whole is not None
    assert seen is not None
    assert whole.cells[9][1] is not None
    assert whole.cells[14][14] is not None
    assert seen.cells[9][1] is None
    assert seen.cells[14][14] is None
    assert seen.cells[1][2] is not None
    assert (9, 1) in seen.shaded


# The scripted hunter


def play_out(agent: str, **options: Any) -> Episode:
    game = Pursuit(**options)
    episode, players = Episode(game, 1, compiled=False), make_agent(agent, seed=1)
    while not episode.over:
        turns = [Turn(episode, seat) for seat in episode.to_act]
        decisions = players.act(turns)
        episode.act({t.seat: d.action for t, d in zip(turns, decisions, strict=True)})
    return episode


def test_hunters_who_see_all_catch_every_evader_that_stands_still() -> None:
    options = {"freeze_evaders": True, "sight": 9, "num_evaders": 8, "num_players": 5}
    episode = play_out("hunter", rows=10, columns=10, **options)
    assert episode.outcome is not None
    assert episode.outcome.reason == "all evaders were caught"


@pytest.mark.parametrize("kind", ["fixed", "random"])
def test_hunters_earn_more_than_players_at_random(kind: str) -> None:
    (hunted, *_), (stumbled, *_) = (
        play_out(agent, map=kind, max_steps=100).returns for agent in ("hunter", "random")
    )
    assert hunted > stumbled + 3


def test_hunters_catch_every_evader_that_stands_still_among_obstacles() -> None:
    options = {"freeze_evaders": True, "sight": 9, "num_evaders": 8, "num_players": 5}
    episode = play_out("hunter", rows=10, columns=10, map="random", **options)
    assert episode.outcome is not None
    assert episode.outcome.reason == "all evaders were caught"


@pytest.mark.parametrize(
    ("pursuers", "chosen"),
    [
        pytest.param([(2, 1), (5, 1)], {"stay"}, id="alone on one side"),
        pytest.param([(2, 3), (5, 1)], {"north"}, id="on none"),
        pytest.param([(2, 1), (2, 1)], {"stay", "north"}, id="two on one side"),
        pytest.param([(10, 10), (5, 1)], {"north", "south", "west", "east"}, id="out of sight"),
    ],
)
def test_a_hunter_goes_where_it_is_missing(
    pursuers: list[tuple[int, int]], chosen: set[str]
) -> None:
    game, state = hunt(pursuers, [(1, 1)], rows=12, columns=12, sight=4)
    episode = Episode(game, 0, compiled=False)
    episode.load(state)
    hunters = [Hunter(restless=0.0, seed=seed) for seed in range(40)]
    decisions = [hunter.act([Turn(episode, 0)])[0].action for hunter in hunters]
    assert {ACTIONS[action] for action in decisions} == chosen


@pytest.mark.parametrize("restless", [-0.1, 1.1])
def test_a_hunter_refuses_options_that_cannot_be(restless: float) -> None:
    with pytest.raises(InvalidOption, match="restless"):
        make_agent(f"hunter:restless={restless}")


# PettingZoo's implementation


class Led:
    """Makes the public evaders walk as ours did."""

    def __init__(self) -> None:
        self.moves: list[int] = []

    def act(self, state: Any) -> int:
        return self.moves.pop(0)


def public_twin(game: Pursuit, state: Any) -> tuple[Any, Led]:
    """PettingZoo's game in the same position; x there is the column here, y the row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pygame's imports
        base = pytest.importorskip("pettingzoo.sisl.pursuit.pursuit_base")
    create, led = base.agent_utils.create_agents, Led()

    def create_unplaced(number: int, walls: Any, sight: int, rng: Any, **_: Any) -> Any:
        return create(number, walls, sight, rng)  # by itself it finds no room on small maps

    with mock.patch.object(base.agent_utils, "create_agents", create_unplaced):
        twin = base.Pursuit(
            x_size=game.columns,
            y_size=game.rows,
            shared_reward=game.shared_reward,
            n_evaders=game.num_evaders,
            n_pursuers=game.num_players,
            obs_range=2 * game.sight + 1,
            n_catch=game.n_catch,
            surround=game.surround,
            evader_controller=led,
        )
    for who, (row, column) in enumerate(standing(state)):
        if who < game.num_players:
            twin.pursuer_layer.set_position(who, column, row)
        else:
            twin.evader_layer.set_position(who - game.num_players, column, row)
    twin.model_state[1] = twin.pursuer_layer.get_state_matrix()
    twin.model_state[2] = twin.evader_layer.get_state_matrix()
    return twin, led


def edge_touches(game: Pursuit, before: Any, place: tuple[int, int]) -> int:
    """Evaders on a pursuer's own cell, which the public game counts again at each edge."""
    row, column = place
    edges = (row == 0) + (row == game.rows - 1) + (column == 0) + (column == game.columns - 1)
    return int(before.crowd[1, row, column]) * edges


def walked(before: tuple[int, int], after: tuple[int, int]) -> int:
    """The public number of a step."""
    return PUBLIC[WAYS.index((after[0] - before[0], after[1] - before[1]))]


@settings(max_examples=25)
@given(
    seed=SEEDS,
    rows=st.integers(4, 9),
    columns=st.integers(4, 9),
    players=st.integers(2, 8),
    surround=st.booleans(),
    shared=st.booleans(),
)
def test_whole_games_are_those_of_pettingzoo(
    seed: int, rows: int, columns: int, players: int, surround: bool, shared: bool
) -> None:
    size = {"rows": rows, "columns": columns, "num_players": players, "num_evaders": 6, "sight": 2}
    game = Pursuit(**size, surround=surround, shared_reward=shared)
    state, rng = game.initial_state(seed), Rng(seed)
    twin, led = public_twin(game, state)
    seats = range(players)
    for _ in range(25):
        if not game.to_act(state):
            break
        before, actions = game.clone(state), {seat: game.sample(state, seat, rng) for seat in seats}
        paid = game.step(state, actions).rewards
        old, new = standing(before), standing(state)
        led.moves = [walked(old[players + e], new[players + e]) for e in game.evaders(state)]
        for seat, action in actions.items():
            twin.step(PUBLIC[action], seat, seat == players - 1)
        twice = np.array([0.01 * edge_touches(game, before, new[seat]) for seat in seats])
        tags, *rest = (
            np.array([paid.get(seat, {}).get(term, 0.0) for seat in seats])
            for term in game.reward_terms
        )
        tags += twice.mean() if shared else twice
        assert twin.latest_reward_state == pytest.approx(tags / players + sum(rest))
        assert twin.is_terminal == (not game.evaders(state))
        for seat in seats:
            public = twin.safely_observe(seat).transpose(0, 2, 1)
            assert np.array_equal(public, game.observe(state, seat))
