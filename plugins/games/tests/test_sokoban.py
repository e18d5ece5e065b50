"""Sokoban: shortest solutions against another search, generated levels, rules at the edges."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from palestra import Episode, InvalidOption, play
from palestra_games.puzzles.sokoban.game import LEVELS, Sokoban
from palestra_games.puzzles.sokoban.solver import shortest

STEPS = {"u": (-1, 0), "d": (1, 0), "l": (0, -1), "r": (0, 1)}


def read(rows: tuple[str, ...]) -> dict[str, set[tuple[int, int]]]:
    """Places by kind, straight from the characters."""
    kinds = {"walls": "#", "goals": ".+*", "boxes": "$*", "keeper": "@+"}
    places = [(r, c, tile) for r, row in enumerate(rows) for c, tile in enumerate(row)]
    return {kind: {(r, c) for r, c, t in places if t in tiles} for kind, tiles in kinds.items()}


def fewest(rows: tuple[str, ...], weight: str) -> int:
    """Fewest "moves" or "pushes" of any solution: Dijkstra's way through the graph of positions."""
    level, graph = read(rows), nx.DiGraph()
    (keeper,) = level["keeper"]
    start = (keeper, frozenset(level["boxes"]))
    todo, solved = [start], []
    graph.add_node(start)
    while todo:
        at = todo.pop()
        if at[1] == level["goals"]:
            solved.append(at)
        for r, c in STEPS.values():
            here = (at[0][0] + r, at[0][1] + c)
            behind = (here[0] + r, here[1] + c)
            push = here in at[1]
            if here in level["walls"] or (push and (behind in level["walls"] | at[1])):
                continue
            then = (here, at[1] - {here} | {behind} if push else at[1])
            if then not in graph:
                todo.append(then)
            graph.add_edge(at, then, moves=1, pushes=int(push))
    lengths = nx.single_source_dijkstra_path_length(graph, start, weight=weight)
    return min(lengths[at] for at in solved)


@pytest.mark.parametrize(
    ("rows", "moves", "pushes"),
    [
        (("#####", "#@$.#", "#####"), 1, 1),
        (LEVELS["corridor"], 3, 2),
        (("#####", "#   #", "# $ #", "#.@ #", "#####"), 6, 2),
        (LEVELS["corner"], 3, 1),
    ],
)
def test_known_levels_have_their_counts(rows: tuple[str, ...], moves: int, pushes: int) -> None:
    assert fewest(rows, "moves") == moves
    assert fewest(rows, "pushes") == pushes
    game = Sokoban(layout=rows)
    solution = shortest(game.observe(game.initial_state(0), 0))
    assert solution is not None
    assert len(solution) == moves


@pytest.mark.parametrize("level", LEVELS)
def test_the_solver_is_as_short_as_another_search(level: str) -> None:
    game = Sokoban(level=level)
    solution = shortest(game.observe(game.initial_state(0), 0))
    assert solution is not None
    assert len(solution) == fewest(game.map, "moves")


@pytest.mark.parametrize("options", [{}, {"rows": 5, "columns": 6, "boxes": 1}])
def test_every_generated_level_is_solved_by_the_solver(options: dict[str, Any]) -> None:
    game, drawings = Sokoban(**options, max_steps=400), set()
    for seed in range(12):
        state = game.initial_state(seed)
        rows = game.drawing(state)
        drawings.add(rows)
        level = read(rows)
        assert len(level["boxes"]) == len(level["goals"]) == game.boxes
        assert level["boxes"] != level["goals"]
        assert len(shortest(game.observe(state, 0)) or ()) == fewest(rows, "moves")
    assert len(drawings) == 12


def test_larger_levels_are_solved_too() -> None:
    records = play(
        "games/Sokoban-v0",
        agents=["sokoban-bfs"],
        episodes=3,
        max_episode_steps=1000,
        boxes=3,
        rows=8,
    )
    assert [record.returns for record in records] == [(1.0,)] * 3


def step(rows: tuple[str, ...], *moves: int) -> Episode:
    episode = Episode(Sokoban(layout=rows), 0, compiled=False)
    for move in moves:
        episode.act({0: move})
    return episode


UP, DOWN, LEFT, RIGHT = range(4)


@pytest.mark.parametrize(
    ("before", "move", "after"),
    [
        ("#@$ $..#", RIGHT, "# @$$..#"),
        ("#@$$ ..#", RIGHT, "#@$$ ..#"),  # not two at once
        ("#@ $.  #", LEFT, "#@ $.  #"),  # a wall
        ("# $@ . #", RIGHT, "# $ @. #"),  # not pulled
        ("#  @*$.#", RIGHT, "#  @*$.#"),
        ("# @*  $#", RIGHT, "#  +$ $#"),
        ("# +$  *#", LEFT, "#@.$  *#"),
    ],
)
def test_pushing(before: str, move: int, after: str) -> None:
    wall = "#" * len(before)
    goals = before.count(".") + before.count("+") + before.count("*")
    boxes = before.count("$") + before.count("*")
    extra = "#" + "." * (boxes - goals) + "$" * (goals - boxes)
    rows = (wall, before, extra.ljust(len(wall) - 1) + "#", wall)
    episode = step(rows, move)
    assert episode.game.drawing(episode.state)[1] == after


def test_the_last_box_on_its_goal_pays_1_and_ends_it() -> None:
    episode = step(("#####", "#@$.#", "#####"), RIGHT)
    assert episode.over
    assert not episode.truncated
    assert episode.returns[0] == 1


def test_time_runs_out() -> None:
    episode = Episode(Sokoban(level="corridor", max_steps=2), 0, compiled=False)
    episode.act({0: LEFT})
    episode.act({0: LEFT})
    assert episode.truncated
    assert episode.returns[0] == 0


def test_the_array_view_is_the_drawing() -> None:
    game = Sokoban()
    state = game.initial_state(3)
    planes, level = game.observe(state, 0), read(game.drawing(state))
    for plane, kind in zip(planes, ("walls", "goals", "boxes", "keeper"), strict=True):
        assert {(r, c) for r, c in np.argwhere(plane).tolist()} == level[kind]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"level": "castle"}, "level must be 'random' or 'corridor'"),
        ({"rows": 4}, "rows must be an integer from 5"),
        ({"boxes": 9}, "boxes must be from 1 to 5"),
        ({"layout": ("###", "#@")}, "rows of one length"),
        ({"layout": ("####", "#@$ ", "####")}, "walled in"),
        ({"layout": ("####", "#@$#", "####")}, "as many boxes as goals"),
        ({"layout": ("####", "#@x#", "####")}, "at most 20 by 20"),
        ({"max_steps": 0}, "max_steps"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        Sokoban(**options)
