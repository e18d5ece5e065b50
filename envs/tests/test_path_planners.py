"""The planners of path finding: windowed plans without collisions, and ways around a crowd."""

from __future__ import annotations

from itertools import product

import networkx as nx
import palestra
import pytest
from palestra import Episode, InvalidOption, Turn, make_agent
from palestra_envs.grid.path_finding.follower import Memory, plan_path
from palestra_envs.grid.path_finding.game import PathFinding
from palestra_envs.grid.path_finding.rhcr import Cell, Player, Window, above, player_from

BAY = ".....\n##.##"  # two players can pass only with one in the bay


def level(text: str, players: int, **options: object) -> PathFinding:
    rows = text.split("\n")
    size = {"rows": len(rows), "columns": len(rows[0])}
    settings = size | {"num_players": players, "map": "level", "level": text} | options
    return PathFinding(**settings)  # type: ignore[arg-type]


def players_of(game: PathFinding, places: list[Cell], goals: list[Cell]) -> dict[int, Player]:
    state = game.arrange(places, goals)
    seats = range(game.num_players)
    return {seat: player_from(game, game.observe(state, seat)) for seat in seats}


def floor_of(game: PathFinding) -> nx.Graph:
    floor = nx.Graph()
    rows = game.level.split("\n")
    cells = [(r, c) for r, row in enumerate(rows) for c, kind in enumerate(row) if kind == "."]
    floor.add_nodes_from(cells)
    for (r, c), (down, right) in product(cells, ((0, 1), (1, 0))):
        if (r + down, c + right) in floor:
            floor.add_edge((r, c), (r + down, c + right))
    return floor


def joint_optimum(game: PathFinding, places: list[Cell], goals: list[Cell]) -> float:
    """The least sum of arrival times of two players who leave when they arrive, by networkx."""
    floor, graph = floor_of(game), nx.DiGraph()
    gone = None
    around = {cell: [cell, *floor[cell]] for cell in floor}
    states = list(product([*floor, gone], repeat=2))
    for one, other in states:
        nexts = [
            [gone] if cell in (gone, goal) else around[cell]
            for cell, goal in zip((one, other), goals, strict=True)
        ]
        for a, b in product(*nexts):
            if a is not gone and a == b:
                continue
            swap = gone not in (a, b) and a == other and b == one
            if not swap:
                moving = (one not in (gone, goals[0])) + (other not in (gone, goals[1]))
                graph.add_edge((one, other), (a, b), weight=moving)
    end = (gone, gone)
    return float(nx.shortest_path_length(graph, tuple(places), end, weight="weight"))


@pytest.mark.parametrize(
    ("text", "places", "goals"),
    [
        (BAY, [(0, 0), (0, 3)], [(0, 4), (0, 0)]),
        ("...\n...", [(0, 0), (0, 2)], [(0, 2), (0, 0)]),
        (".....\n##.##\n##.##", [(0, 1), (2, 2)], [(2, 2), (0, 0)]),
        ("....\n.##.\n....", [(0, 0), (0, 3)], [(0, 3), (2, 0)]),
    ],
)
def test_two_players_arrive_as_early_as_in_the_joint_graph(
    text: str, places: list[Cell], goals: list[Cell]
) -> None:
    game = level(text, 2, sight=12)
    window = Window(players_of(game, places, goals), 12)
    paths = window.solve()
    assert paths is not None
    assert [path[-1] for path in paths.values()] == goals
    assert sum(len(path) - 1 for path in paths.values()) == joint_optimum(game, places, goals)


def test_two_players_who_reach_a_bay_too_late_have_no_order() -> None:
    """Priority-based search is incomplete (Ma et al. 2019): the first waits for nobody."""
    game = level(BAY, 2, sight=12)
    places, goals = [(0, 0), (0, 4)], [(0, 4), (0, 0)]
    assert Window(players_of(game, places, goals), 12).solve() is None
    assert joint_optimum(game, places, goals) < float("inf")


def test_a_player_above_another_is_above_those_below_it() -> None:
    order = frozenset({(3, 1), (1, 2), (0, 4)})
    assert above(2, order) == {1, 3}
    assert above(3, order) == set()


def play_out(game: PathFinding, agent: str, seed: int) -> tuple[float, int]:
    """Goals reached by all, and how often a player was stopped although a plan was found."""
    episode, planner = Episode(game, seed, compiled=False), make_agent(agent)
    planner.reseed(seed)
    stopped = 0
    while not episode.over:
        turns = [Turn(episode, seat) for seat in episode.to_act]
        failures = getattr(planner, "failures", 0)
        decisions = planner.act(turns)
        episode.act({t.seat: d.action for t, d in zip(turns, decisions, strict=True)})
        if getattr(planner, "failures", 0) == failures:
            stopped += int(episode.state.blocked.sum())
    return sum(episode.returns), stopped


@pytest.mark.parametrize("following", [True, False])
@pytest.mark.parametrize("agent", ["rhcr", "rhcr:replan=2,window=2"])
def test_no_move_of_a_planned_window_is_ever_cancelled(agent: str, following: bool) -> None:
    game = PathFinding(map="warehouse", num_players=8, following=following, sight=3, max_steps=40)
    reached, stopped = play_out(game, agent, 1)
    assert stopped == 0
    assert reached > 8


def test_the_window_gains_over_single_steps_and_alone_a_way_around_the_crowd_does() -> None:
    """As in the papers: windows above priority inheritance, congestion above plain paths."""
    game = PathFinding(map="warehouse", num_players=16, sight=4, max_steps=32)
    reached = {
        agent: sum(play_out(game, agent, seed)[0] for seed in range(2))
        for agent in ("rhcr", "pathfinder", "follower", "follower:congestion=0")
    }
    assert reached["rhcr"] > reached["pathfinder"] > reached["follower"]
    assert reached["follower"] > reached["follower:congestion=0"]


RING = "...\n.#.\n..."


def test_a_path_goes_around_cells_where_others_were_seen() -> None:
    game = level(RING, 1, sight=3)
    player = players_of(game, [(0, 1)], [(2, 1)])[0]
    west, east = (0, 0), (0, 2)
    assert plan_path(player, {west: 1.0}, 1.0)[1] == east
    assert plan_path(player, {east: 1.0}, 1.0)[1] == west
    assert plan_path(player, {east: 1.0, (1, 0): 2.0}, 1.0)[1] == east  # 1 costs less than 2
    assert plan_path(player, {west: 9.0}, 0.0) == plan_path(player, {}, 1.0)


@pytest.mark.parametrize("seed", range(4))
def test_without_congestion_a_path_is_as_short_as_networkxs(seed: int) -> None:
    game = PathFinding(rows=9, columns=9, num_players=1, sight=8)
    episode = Episode(game, seed, compiled=False)
    player = player_from(game, Turn(episode, 0).observation)
    path = plan_path(player, {}, 1.0)
    assert path[-1] == player.goal
    floor = nx.Graph(
        (a, b) for a, b in product(player.far, repeat=2) if abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1
    )
    assert len(path) - 1 == nx.shortest_path_length(floor, player.cell, player.goal)


def test_what_was_seen_adds_up_fades_and_is_forgotten_at_the_goal() -> None:
    memory = Memory()
    crowd = frozenset({(1, 1)})
    player = Player((0, 0), (5, 5), {}, crowd)
    memory.update(player, 0.5)
    memory.update(player._replace(cell=(0, 1)), 0.5)
    assert memory.seen == {(1, 1): 1.5}
    memory.update(player._replace(cell=(0, 1), strangers=frozenset()), 0.5)
    assert memory.seen == {(1, 1): 0.75}
    assert memory.blocked == 1
    memory.update(player._replace(goal=(7, 7), strangers=frozenset()), 0.5)
    assert memory.seen == {}
    assert memory.blocked == 0


def test_strangers_in_sight_are_not_walked_into() -> None:
    """A planner of one seat leaves the others' cells alone in its first step."""
    game = level("....\n####", 2, sight=3)
    player = players_of(game, [(0, 0), (0, 1)], [(0, 3), (0, 0)])[0]
    paths = Window({0: player}, 3, shut=player.strangers).solve()
    assert paths is not None
    assert paths[0][:2] == ((0, 0), (0, 0))


def test_planners_refuse_other_games() -> None:
    episode = Episode(palestra.game("grid/Foraging-v0"), 0, compiled=False)
    for agent in ("rhcr", "follower"):
        with pytest.raises(InvalidOption, match="PathFinding"):
            make_agent(agent).act([Turn(episode, 0)])
