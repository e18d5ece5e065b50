"""Plan-Path: shortest ways as networkx finds them, plans that are cut, drafts that are followed."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng, play
from palestra_games.puzzles.plan_path import Draft, Maze, Plan, PlanPath

ROOM = ("S..#", ".#..", "..#G")


def laid(rows: tuple[str, ...], **options: Any) -> Episode:
    """An episode on a map as it is printed."""
    at = {(r, c): mark for r, row in enumerate(rows) for c, mark in enumerate(row)}
    (start,), (goal,) = ([cell for cell, mark in at.items() if mark == m] for m in "SG")
    walls = frozenset(cell for cell, mark in at.items() if mark == "#")
    episode = Episode(PlanPath(rows=len(rows), columns=len(rows[0]), **options), 0)
    episode.load(Maze(Rng(0), walls, start, goal, (start,)))
    return episode


def distance(game: PlanPath, maze: Maze) -> int:
    graph = nx.grid_2d_graph(game.rows, game.columns)
    graph.remove_nodes_from(maze.walls)
    length: int = nx.shortest_path_length(graph, maze.walker, maze.goal)
    return length


@pytest.mark.parametrize("seed", range(40))
def test_every_map_has_a_way_and_shortest_ways_are_those_of_networkx(seed: int) -> None:
    game = PlanPath(wall_density=(0.0, 0.22, 0.4)[seed % 3], rows=4 + seed % 7)
    maze = game.initial_state(seed)
    path = game.shortest(maze)
    assert path is not None
    assert len(path) == distance(game, maze)
    episode = Episode(game, seed)
    episode.act({0: Plan(path)})
    assert episode.over
    assert list(episode.returns) == [1.5]


def test_walls_are_as_dense_as_asked_for() -> None:
    game = PlanPath(rows=20, columns=20, wall_density=0.22)
    counts = [len(game.initial_state(seed).walls) for seed in range(30)]
    assert 0.2 < sum(counts) / 30 / 400 < 0.24


def test_a_plan_is_followed_to_the_wall_and_the_next_goes_on_from_there() -> None:
    episode = laid(ROOM)
    episode.act({0: Plan("RRRR")})
    assert (episode.state.walker, episode.state.blocked) == ((0, 2), 1)
    assert episode.step.costs == {0: {"blocked": 1.0}}
    episode.act({0: Plan("DRD")})
    assert episode.over
    assert list(episode.returns) == [1.5]  # a blocked move is no step


def test_a_detour_pays_the_goal_only_and_the_rest_of_a_plan_beyond_it_is_dropped() -> None:
    episode = laid(ROOM)
    episode.act({0: Plan("DURRDRDUUU")})
    assert list(episode.returns) == [1.0]
    assert episode.state.blocked == 0


def test_plans_are_used_up() -> None:
    episode = laid(ROOM, turns=2)
    for _ in range(2):
        episode.act({0: Plan("U")})
    assert episode.over
    assert list(episode.returns) == [0.0]
    assert episode.outcome is not None
    assert episode.outcome.reason == "the plans are used up"


def test_a_drafter_is_read_and_may_be_overruled() -> None:
    episode = laid(ROOM, num_players=2)
    episode.act({0: Draft("DDD")})
    assert "The draft: DDD." in episode.describe(1)
    with pytest.raises(InvalidAction):
        episode.act({1: Draft("R")})
    episode.act({1: Plan("RRDRD")})
    assert list(episode.returns) == [1.5, 1.5]


@pytest.mark.parametrize(
    ("agents", "paid"),
    [
        (["path-planner"], 1.5),
        (["path-planner", "path-planner"], 1.5),
        (["path-planner", "path-planner:style=trusting"], 1.5),
        (["random", "path-planner"], 1.5),
    ],
)
def test_planners_are_always_paid_in_full(agents: list[str], paid: float) -> None:
    options = {"num_players": len(agents)}
    for record in play("games/PlanPath-v0", agents=agents, episodes=20, seed=1, **options):
        assert record.outcome.scores[0] == paid


def test_random_plans_seldom_arrive() -> None:
    records = play("games/PlanPath-v0", agents=["random"], episodes=60, seed=1)
    assert sum(record.outcome.scores[0] > 0 for record in records) < 30


@pytest.mark.parametrize(
    "options",
    [{"num_players": 3}, {"rows": 1}, {"wall_density": 0.6}, {"turns": 0}, {"plan_limit": 0}],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match=f"{next(iter(options))} must be (a.* )?from"):
        PlanPath(**options)


@pytest.mark.parametrize("options", [{"plan_limit": 1}, {"plan_limit": 2, "num_players": 2}])
def test_no_plan_is_longer_than_a_short_limit(options: dict[str, Any]) -> None:
    episode = Episode(PlanPath(**options), 1)
    rng = Rng(0)
    while not episode.over:
        (seat,) = episode.to_act
        action = episode.sample(seat, rng)
        assert len(action.path) <= options["plan_limit"]
        episode.act({seat: action})
    assert not any(episode.mistakes)
