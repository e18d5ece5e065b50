"""Path finding: POGEMA's episodes played over, networkx's distances, and collisions by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import palestra
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import Episode, InvalidAction, InvalidOption, Rng, Turn
from palestra.agents.making import make_agent
from palestra.grids.compass import MOVES
from palestra.records.metrics import measure
from palestra_envs.grid.path_finding.game import OBSTACLES, OTHERS, PathFinding

SEEDS = st.integers(0, 2**64 - 1)
OPEN = "....\n....\n....\n...."
EPISODES = json.loads((Path(__file__).parent / "data" / "pogema_traces.json").read_text("utf-8"))


def game_on(text: str, players: int, **options: Any) -> PathFinding:
    lines = text.split("\n")
    size = {"rows": len(lines), "columns": len(lines[0])}
    return PathFinding(map="level", level=text, num_players=players, **size, **options)


def graph(game: PathFinding, state: Any) -> nx.Graph:
    """The cells that can be walked on."""
    whole = nx.grid_2d_graph(game.rows, game.columns)
    walls = [game.place(cell) for cell in np.flatnonzero(state.walls)]
    whole.remove_nodes_from(walls)
    return whole


def play(game: PathFinding, state: Any, *names: str) -> list[tuple[int, int]]:
    """Play one action a seat, by name; returns where everybody stands."""
    game.step(state, {seat: MOVES.index(name) for seat, name in enumerate(names)})
    return [game.place(cell) for cell in state.cell]


# POGEMA


@pytest.mark.parametrize(
    "episode", EPISODES, ids=[f"{e['rule']}-{len(e['start'])}" for e in EPISODES]
)
def test_episodes_go_as_in_pogema(episode: dict[str, Any]) -> None:
    level, players = episode["level"], len(episode["start"])
    game = game_on("\n".join(level), players, following=episode["rule"] == "soft", sight=2)
    state = game.arrange(
        [game.place(c) for c in episode["start"]], [game.place(c) for c in episode["goals"]]
    )
    for actions, cells, goals, paid, *views in episode["steps"]:
        earned = game.step(state, dict(enumerate(actions))).rewards
        assert state.cell.tolist() == cells
        assert [int(earned.get(seat, {}).get("goals", 0)) for seat in range(players)] == paid
        for seat, goal in enumerate(goals):
            game.send(state, seat, goal)
        for seat, seen in enumerate(views[0] if views else []):
            planes = game.planes(game.observe(state, seat)).copy()
            planes[OTHERS, 2, 2] = 1  # there one sees oneself
            row, column = game.place(state.cell[seat])
            top, left = max(0, 2 - row), max(0, 2 - column)
            inside = planes[:2, top : game.rows - row + 2, left : game.columns - column + 2]
            bits = "".join(str(bit) for bit in inside[[OBSTACLES, OTHERS]].ravel())
            assert f"{int(bits, 2):x}" == seen


# Collisions, by hand


@pytest.mark.parametrize(
    ("places", "moves", "following", "then"),
    [
        pytest.param([(1, 0), (1, 1)], "east west", True, [(1, 0), (1, 1)], id="a swap"),
        pytest.param([(1, 0), (1, 2)], "east west", True, [(1, 0), (1, 2)], id="one cell, two"),
        pytest.param(
            [(1, 0), (1, 2), (0, 1)], "east west south", True, [(1, 0), (1, 2), (0, 1)], id="three"
        ),
        pytest.param([(1, 0), (1, 1)], "east stay", True, [(1, 0), (1, 1)], id="who stays"),
        pytest.param([(1, 0), (1, 1)], "east east", True, [(1, 1), (1, 2)], id="a chain"),
        pytest.param([(1, 0), (1, 1)], "east east", False, [(1, 0), (1, 2)], id="no chain"),
        pytest.param(
            [(0, 0), (0, 1), (1, 1), (1, 0)],
            "east south west north",
            True,
            [(0, 1), (1, 1), (1, 0), (0, 0)],
            id="a circle",
        ),
        pytest.param(
            [(0, 0), (0, 1), (1, 1), (1, 0)],
            "east south west north",
            False,
            [(0, 0), (0, 1), (1, 1), (1, 0)],
            id="no circle",
        ),
        pytest.param(
            [(1, 0), (1, 1), (1, 2)],
            "east east stay",
            True,
            [(1, 0), (1, 1), (1, 2)],
            id="a chain that ends at one who stays",
        ),
        pytest.param(
            [(1, 0), (1, 1), (1, 3)],
            "east east west",
            True,
            [(1, 0), (1, 1), (1, 3)],
            id="a chain behind one of two for a cell",
        ),
    ],
)
def test_collisions_are_resolved_whoever_has_which_seat(
    places: list[tuple[int, int]], moves: str, following: bool, then: list[tuple[int, int]]
) -> None:
    for turn in range(len(places)):
        game = game_on(OPEN, len(places), following=following)
        names, order = moves.split(), [(i + turn) % len(places) for i in range(len(places))]
        state = game.arrange([places[i] for i in order], [(3, 3)] * len(places))
        assert play(game, state, *[names[i] for i in order]) == [then[i] for i in order]


@settings(max_examples=30)
@given(seed=SEEDS, following=st.booleans())
def test_permuted_seats_move_alike_and_nobody_shares_a_cell(seed: int, following: bool) -> None:
    game, rng = game_on(OPEN, 8, following=following), Rng(seed)
    state = game.initial_state(seed)
    places = [game.place(cell) for cell in state.cell]
    goals = [game.place(cell) for cell in state.goal]
    actions = [game.sample(state, seat, rng) for seat in range(8)]
    order = list(range(8))
    rng.shuffle(order)
    twin = game.arrange([places[i] for i in order], [goals[i] for i in order])
    game.step(state, dict(enumerate(actions)))
    game.step(twin, {seat: actions[i] for seat, i in enumerate(order)})
    assert twin.cell.tolist() == [int(state.cell[i]) for i in order]
    assert len(set(state.cell.tolist())) == 8


def test_a_wall_is_no_legal_move() -> None:
    game = game_on("..#\n...", 1)
    state = game.arrange([(0, 1)], [(1, 2)])
    assert [MOVES[a] for a in game.legal_actions(state, 0)] == ["stay", "south", "west"]
    with pytest.raises(InvalidAction, match="not legal for player_0"):
        game.check(state, 0, MOVES.index("east"))


# Maps and distances


@settings(max_examples=10)
@given(
    seed=SEEDS,
    kind=st.sampled_from(["random", "maze", "warehouse"]),
    rows=st.integers(4, 12),
    columns=st.integers(4, 12),
    density=st.floats(0, 0.9),
)
def test_maps_are_connected_and_steps_to_a_goal_are_networkxs(
    seed: int, kind: str, rows: int, columns: int, density: float
) -> None:
    game = PathFinding(map=kind, rows=rows, columns=columns, density=density)
    state = game.initial_state(seed)
    floor = graph(game, state)
    assert nx.is_connected(floor)
    for seat in range(4):
        assert state.goal[seat] != state.cell[seat]
        steps = nx.single_source_shortest_path_length(floor, game.place(state.goal[seat]))
        far = {game.place(c): int(f) for c, f in enumerate(state.far[seat]) if f >= 0}
        assert far == steps


@pytest.mark.parametrize("seed", range(3))
def test_a_maze_without_loops_is_a_tree_and_each_loop_adds_an_edge(seed: int) -> None:
    game = PathFinding(map="maze", loops=0, rows=11, columns=13)
    floor = graph(game, game.initial_state(seed))
    assert nx.is_tree(floor)
    assert len(floor) == 2 * 6 * 7 - 1
    opened = PathFinding(map="maze", loops=1, rows=11, columns=13)
    floor = graph(opened, opened.initial_state(seed))
    assert len(floor) == 6 * 7 + (5 * 7 + 6 * 6)  # all rooms and all doors between them


def test_the_share_of_obstacles_is_the_density() -> None:
    game = PathFinding(rows=30, columns=30, density=0.2)
    shares = [float(game.initial_state(seed).walls.mean()) for seed in range(10)]
    assert 0.19 < np.mean(shares) < 0.22  # what is cut off is filled up


# Players


@pytest.mark.parametrize("kind", ["random", "maze", "warehouse"])
def test_one_player_alone_reaches_every_goal_in_networkxs_fewest_steps(kind: str) -> None:
    game = PathFinding(map=kind, num_players=1, max_steps=100)
    episode = Episode(game, 5, compiled=False)
    floor, arrived = graph(game, episode.state), 0
    while not episode.over:
        state = episode.state
        start, goal = game.place(state.cell[0]), game.place(state.goal[0])
        fewest = nx.shortest_path_length(floor, start, goal)
        for _ in range(fewest):
            if episode.over:
                return
            assert episode.returns[0] == arrived
            episode.act({0: game.scripted_action(game.config, episode.state, 0)})
        arrived += 1
        assert episode.returns[0] == arrived


def play_out(game: PathFinding, agent: str, seed: int) -> Episode:
    episode, players = Episode(game, seed, compiled=False), make_agent(agent)
    players.reseed(seed)
    while not episode.over:
        turns = [Turn(episode, seat) for seat in episode.to_act]
        decisions = players.act(turns)
        episode.act({t.seat: d.action for t, d in zip(turns, decisions, strict=True)})
    return episode


@pytest.mark.parametrize("seed", range(3))
def test_where_the_theorem_holds_all_of_a_crowd_reach_goals(seed: int) -> None:
    """Okumura et al. 2019: on a map without cut vertices everybody arrives."""
    game = game_on(OPEN, 12, max_steps=200)
    assert nx.is_biconnected(graph(game, game.initial_state(seed)))
    assert min(play_out(game, "pathfinder", seed).returns) > 0


def test_planners_reach_more_than_the_script_and_that_more_than_chance() -> None:
    game = PathFinding(map="warehouse", num_players=8)
    reached = [
        sum(sum(play_out(game, agent, seed).returns) for seed in range(3))
        for agent in ("pathfinder", "scripted", "random")
    ]
    assert reached[0] > reached[1] > reached[2]


def test_throughput_is_goals_of_all_a_step() -> None:
    (record,) = palestra.play("grid/PathFinding-v0", agents=["pathfinder"] * 4, seed=1)
    assert measure(record, ["throughput"])["throughput"] == sum(record.returns) / 64 > 0


# Views and options


def test_the_view_tells_where_one_is_and_what_is_near() -> None:
    game = game_on("....\n.##.\n....", 2, sight=1)
    state = game.arrange([(0, 1), (0, 2)], [(2, 1), (1, 0)])
    own, planes = game.observe(state, 0)[:4], game.planes(game.observe(state, 0))
    assert own.tolist() == [0, 1, 2, 1]
    assert planes.tolist() == [
        [[1, 1, 1], [0, 0, 0], [0, 1, 1]],
        [[0, 0, 0], [0, 0, 1], [0, 0, 0]],
        [[0, 0, 0], [4, 5, 6], [3, 0, 0]],
    ]
    assert game.describe(state, 0).split("\n")[1:] == [
        "Your goal is in row 3, column 2: 2 south of you, 4 steps away.",
        "What you see, north on top; ^ is you, G your goal, P a player, Q a player on your goal, "
        "# an obstacle:",
        "###",
        ".^P",
        ".##",
        "Steps to your goal from each of these cells, if nobody were in the way:",
        " #  #  #",
        " 3  4  5",
        " 2  #  #",
    ]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"map": "cave"}, "map must be 'random' or 'maze' or 'warehouse' or 'level', not 'cave'"),
        ({"density": 1.0}, "density must be a number from 0 to 0.9, not 1.0"),
        ({"num_players": 49}, "num_players"),
        ({"rows": 3, "columns": 3, "num_players": 9}, "at least 9 connected cells, too few"),
        ({"map": "level"}, "level is a drawn map"),
        ({"map": "level", "level": "..\n.."}, "say so with rows=2, columns=2"),
        (
            {"map": "level", "level": ".#.\n.#.\n.#.", "rows": 3, "columns": 3},
            "line 1, column 3 cannot be reached",
        ),
        ({"map": "level", "level": ".x"}, "'x' means nothing"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidOption, match=named):
        PathFinding(**options)
