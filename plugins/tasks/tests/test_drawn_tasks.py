"""What the pictures of tasks say is true: routes, loads, ways, best values, changed lines."""

from __future__ import annotations

import json
import math
from itertools import combinations
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode, Rng, Turn
from palestra.agents.making import make_agent
from palestra.sandbox import Limits
from palestra.scene import Cards, Chart, Graph, Grid, Part, Series, Table
from palestra_renderers.picture import Painter, paint_episode
from palestra_tasks.combinatorial import problems
from palestra_tasks.combinatorial.drawing import DRAWN, draw_instance, map_of
from palestra_tasks.combinatorial.problem import PROBLEMS, Infeasible, distances
from palestra_tasks.combinatorial.problems.routing import tour_length
from palestra_tasks.desk import Program, shown_action
from palestra_tasks.engineering.bench import Submit
from palestra_tasks.experiments.workspace import Execute
from palestra_tasks.pictures import APART, best_so_far, thinned, tries_chart
from palestra_tasks.running import run
from palestra_tasks.worlds.planworld import PlanWorld

assert problems  # importing it registers them
LIMITS = Limits(lines=500_000, cpu=5, seconds=20.0)


def part(episode: Episode, kind: type, seat: int | None = None) -> Any:
    """The first part of a kind in a scene."""
    return next(one for one in episode.scene(seat).all_parts() if isinstance(one, kind))


def play(env: str, agent: str, seed: int, **options: Any) -> list[Episode]:
    """The positions of an episode that an agent plays."""
    episode, player = (
        Episode(palestra.game(env, **options), seed, compiled=False),
        make_agent(agent),
    )
    player.reseed(seed)
    found = [episode.fork()]
    while not episode.over:
        decided = player.act([Turn(episode, 0)])[0]
        episode.act({0: getattr(decided, "action", decided)})
        found.append(episode.fork())
    return found


@pytest.mark.parametrize("seed", range(6))
def test_a_map_has_the_distances_of_its_table(seed: int) -> None:
    rng = Rng.seeded(seed)
    points = [(rng.below(101), rng.below(40)) for _ in range(5 + 4 * seed)]
    table = np.array(distances(points), float)
    laid = np.array(map_of(table.tolist()))
    mine = np.sqrt(((laid[:, None] - laid[None]) ** 2).sum(2))
    scale = (table * mine).sum() / (mine * mine).sum()
    assert abs(scale * mine - table).max() < 2.0  # which were rounded
    assert laid.min() >= 0
    assert laid.max() <= 1 + 1e-9


def drawn_value(name: str, instance: Any, parts: tuple[Part, ...]) -> float:
    """The value of an answer, read from its drawing alone."""
    if name in ("tsp", "cvrp"):
        links = [one for p in parts if isinstance(p, Graph) for one in p.links]
        return sum(instance["distances"][link.start][link.end] for link in links)
    if name in ("max-cut", "steiner-tree"):
        links = [one for p in parts if isinstance(p, Graph) for one in p.links]
        return sum(int(link.label) for link in links if link.label)
    if name == "p-median":
        links = [one for p in parts if isinstance(p, Graph) for one in p.links]
        return sum(instance["distances"][link.start][link.end] for link in links)
    if name == "graph-colouring":
        return len({node.colour for p in parts if isinstance(p, Graph) for node in p.nodes})
    if name == "independent-set":
        return sum(node.colour == 0 for p in parts if isinstance(p, Graph) for node in p.nodes)
    if name == "facility-location":
        (graph,) = (p for p in parts if isinstance(p, Graph))
        sites = len(instance["opening"])
        opened = sum(instance["opening"][site] for site in {link.start for link in graph.links})
        served = (instance["service"][one.end - sites][one.start] for one in graph.links)
        return opened + sum(served)
    (grid,) = (p for p in parts if isinstance(p, Grid))
    if name == "bin-packing":
        return len(grid.cells)
    if name == "set-cover":
        rows = enumerate(grid.cells)
        taken = [n for n, row in rows if any(cell and cell.colour == 0 for cell in row)]
        return sum(instance["costs"][n] for n in taken)
    return math.nan


@pytest.mark.parametrize("seed", [3, 8, 21])
@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_the_value_of_an_answer_can_be_read_from_its_drawing(name: str, seed: int) -> None:
    kind = PROBLEMS[name]
    for size in (*kind.sizes, kind.sizes[1] + 3):
        instance = kind.draw(Rng.seeded(seed, size), size)
        assert draw_instance(name, instance, None)
        for code in (kind.trivial, kind.greedy):
            ran = run(code, "solve", instance, limits=LIMITS)
            answer = ran.reported if ran.value is None else ran.value
            try:
                value = kind.value(instance, answer)
            except Infeasible:  # which is never drawn
                assert name == "assignment"
                continue
            read = drawn_value(name, instance, draw_instance(name, instance, answer))
            assert math.isnan(read) or read == value


def test_every_problem_has_a_drawing() -> None:
    assert set(DRAWN) == set(PROBLEMS)


@pytest.mark.parametrize("name", ["job-shop", "flow-shop"])
def test_a_timetable_has_every_job_on_every_machine_once(name: str) -> None:
    kind = PROBLEMS[name]
    instance = kind.draw(Rng.seeded(5), kind.sizes[0])
    answer = run(kind.greedy, "solve", instance, limits=LIMITS).value
    (grid,) = draw_instance(name, instance, answer)
    assert isinstance(grid, Grid)
    jobs = len(instance["jobs"] if name == "job-shop" else instance["durations"])
    for row in grid.cells:
        order = [cell.glyph for cell in row if cell]
        changes = [one for one, before in zip(order, ["", *order], strict=False) if one != before]
        assert len(changes) == len(set(changes))  # a job is not begun again
        assert jobs - 2 <= len(changes) <= jobs  # a short one may be less than a cell


def test_a_picture_shows_the_answer_of_the_best_program() -> None:
    episode = Episode(palestra.game("tasks/COBench-v0", problem="tsp"), 4)
    assert not part(episode, Graph).links
    episode.act({0: Program("def solve(instance):\n    return None\n")})
    assert not part(episode, Graph).links
    episode.act({0: Program(PROBLEMS["tsp"].trivial)})
    graph = part(episode, Graph)
    table = episode.game.example(episode.state)["distances"]
    count = len(table)
    drawn = sum(table[link.start][link.end] for link in graph.links)
    assert drawn == tour_length(table, list(range(count)))


@pytest.mark.parametrize("most", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_the_best_so_far_is_the_running_extreme(seed: int, most: bool) -> None:
    rng = Rng.seeded(seed)
    tried = [(float(rng.below(50) - 20), rng.below(4) > 0) for _ in range(3 + 5 * seed)]
    corners = best_so_far(tried, most=most)
    worst = -math.inf if most else math.inf
    running = (np.maximum if most else np.minimum).accumulate(
        [value if counts else worst for value, counts in tried]
    )
    last = dict(corners)  # of two corners at one try the latter
    for number, value in last.items():
        assert running[int(number) - 1] == value
    if corners:
        assert corners[-1] == (len(tried), running[-1])


def test_a_chart_of_tries_tells_those_that_do_not_count() -> None:
    tried = [(1.0, True), (9.0, False), (math.nan, False), (2.0, True)]
    chart = tries_chart(tried, 7, "score", ("level", 3.0))
    points = {one.name: one.points for one in chart.series}
    assert points["does not count"] == ((2.0, 9.0),)
    assert points["counts"] == ((1.0, 1.0), (4.0, 2.0))
    assert points["level"][-1] == (7.0, 3.0)


@pytest.mark.parametrize("seed", range(4))
def test_thinned_clouds_leave_out_only_what_would_be_hidden(seed: int) -> None:
    rng = Rng.seeded(seed)
    groups = [[(rng.random() * 9, rng.random()) for _ in range(120)] for _ in range(2)]
    kept = thinned([Series(str(n), tuple(g), "points", n) for n, g in enumerate(groups)])
    every, left = [p for g in groups for p in g], [p for one in kept for p in one.points]
    wide, high = (max(axis) - min(axis) for axis in zip(*every, strict=True))

    def far(a: tuple[float, float], b: tuple[float, float]) -> float:
        return math.hypot((a[0] - b[0]) / wide / APART[0], (a[1] - b[1]) / high / APART[1])

    assert all(far(a, b) >= 1 for a, b in combinations(left, 2))
    assert all(min(far(a, b) for b in left) < 1 for a in every)


@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
@pytest.mark.parametrize("seed", [2, 5, 9])
def test_golden_arrows_of_a_world_are_its_goals(level: str, seed: int) -> None:
    moved = set()
    for episode in play("tasks/PlanWorld-v0", "planworld-planner", seed, level=level):
        graph, game, state = part(episode, Graph), episode.game, episode.state
        assert isinstance(game, PlanWorld)
        goal = game.planned(state).goal
        labels = [node.label.removesuffix(", held") for node in graph.nodes]
        aims = {
            f"at({labels[link.start]}, {labels[link.end]})" for link in graph.links if link.directed
        }
        assert aims == goal - state.facts
        assert sum(node.colour == "green" for node in graph.nodes) == len(goal & state.facts)
        moved.add(next(node.place for node in graph.nodes if node.label == "you"))
    assert not aims
    assert len(moved) > 1


def test_changed_lines_of_a_program_have_a_plus_sign() -> None:
    before = Program("def solve(n):\n    total = 0\n    return total\n")
    after = Program("def solve(n):\n    total = n\n    return total\n")
    shown = shown_action(after, before).split("\n")
    assert [line[2] for line in shown[1:]] == [" ", "+", " "]
    assert "+" not in shown_action(after)


def test_only_a_judge_and_spectators_see_how_many_lines_programs_execute() -> None:
    episode = Episode(palestra.game("tasks/FastCode-v0", num_players=2), 3)
    seen = {
        seat: [p.title for p in episode.scene(seat).all_parts() if isinstance(p, Chart)]
        for seat in (0, 1, None)
    }
    assert "lines executed" not in seen[0]
    assert "lines executed" in seen[1]
    assert "lines executed" in seen[None]


@pytest.mark.parametrize("kind", ["workflow", "hidden", "edit", "composed"])
def test_a_file_that_meets_all_rules_is_green(kind: str) -> None:
    positions = play("tasks/Errands-v0", "errands-careful", 6, kind=kind)
    assert set(part(positions[0], Table).colours) == {"grey"}
    table = part(positions[-1], Table)
    assert all(row[0] and row[1] for row in table.rows)
    assert set(table.colours[:-1]) == {"green"}
    assert not any(card.hidden for card in part(positions[-1], Cards).cards)
    assert not [p for p in positions[-1].scene(0).all_parts() if isinstance(p, Table)]


def test_right_figures_of_a_data_room_are_green_for_spectators_only() -> None:
    for env_options in (
        {"company": "small"},
        {"company": "medium"},
        {"company": "plain", "level": "hard"},
    ):
        end = play("tasks/DataRoom-v0", "dataroom-analyst", 5, **env_options)[-1]
        table = part(end, Table)
        right = [abs(float(row[1]) / float(row[3]) - 1) < 0.005 for row in table.rows]
        assert [colour == "green" for colour in table.colours] == right
        assert any(right)
        assert all(len(row) == 3 for row in part(end, Table, 0).rows)


def test_the_line_of_a_lesson_divides_labels_that_are_right() -> None:
    for seed in range(5):
        end = play("tasks/DataTeacher-v0", "teacher-weighing", seed)[-1]
        chart = part(end, Chart)
        course = end.game.plain_course(end.state)
        name = chart.title.removeprefix("examples of ")
        skill = next(one for one in course.skills if one.name == name)
        ends = next(one.points for one in chart.series if one.name == "true line")
        assert len(ends) == 2
        (a, b), (c, d) = ends
        normal = np.array([math.cos(skill.angle), math.sin(skill.angle)])
        assert normal @ np.array([c - a, d - b]) == pytest.approx(0, abs=1e-9)
        points = {one.name: one.points for one in chart.series if one.kind == "points"}
        wrong = sum(
            (normal @ np.array(point) > skill.offset) != (label == "label 1")
            for label, some in points.items()
            for point in some
        )
        assert wrong == 0 if skill.noise == 0 else wrong <= 0.6 * sum(map(len, points.values()))


def test_an_interval_of_an_estimate_has_two_errors_each_way() -> None:
    end = play("tasks/Econometrics-v0", "econometrics-reader", 3, study="any")[-1]
    chart = part(end, Chart, 0)
    assert "true" not in {one.name for one in chart.series}
    assert "true" in {one.name for one in part(end, Chart).series}
    (reach,) = (one.points for one in chart.series if not one.name)
    (middle,) = (one.points for one in chart.series if one.name == "estimate")
    text = end.state.past[0].reply
    value, error = (
        float(word.strip(".")) for word in text.split(": ")[1].split(", standard error ")
    )
    assert middle == ((1.0, value),)
    assert reach[1][1] - reach[0][1] == pytest.approx(4 * error)


def test_a_world_without_places_draws_its_goals() -> None:
    world = {
        "name": "lamps",
        "objects": {"lamp": ["red", "blue", "white"]},
        "operators": [
            {"name": "light", "parameters": {"a": "lamp"}, "needs": [], "adds": ["lit(?a)"]}
        ],
        "start": ["lit(blue)"],
        "goal": ["lit(red)", "lit(blue)"],
    }
    positions = play("tasks/PlanWorld-v0", "planworld-planner", 1, world=json.dumps(world))
    colours = [[n.colour for n in part(position, Graph).nodes] for position in positions]
    assert colours == [["green", "gold"], ["green", "green"]]


@pytest.mark.parametrize("value", ["1e308", "-1e308", "1e154", "0"])
@pytest.mark.parametrize("data", ["line", "curve", "classes", "series"])
def test_predictions_of_any_size_can_be_painted(data: str, value: str) -> None:
    episode = Episode(palestra.game("tasks/MLWorkspace-v0", project="plain", data=data), 2)
    code = f"def predict(rows, targets, queries):\n    return [{value}] * len(queries)\n"
    episode.act({0: Program(code)})
    episode.act({0: Execute()})
    painter = Painter((480, 480))
    for seat in (None, 0):
        paint_episode(painter, episode, seat)
        assert np.ptp(painter.array()) > 0


def test_a_picture_runs_no_script_that_was_not_executed() -> None:
    episode = Episode(palestra.game("tasks/MLWorkspace-v0", project="plain", data="line"), 2)

    def titles() -> list[str]:
        return [one.title for one in episode.scene(None).parts if isinstance(one, Chart)]

    episode.act({0: Execute()})
    assert titles() == ["validation error", "validation rows"]
    episode.act(
        {0: Program("def predict(rows, targets, queries):\n    while True:\n        pass\n")}
    )
    assert titles() == ["validation error", "rows of the data"]
    episode.act(
        {0: Program("def predict(rows, targets, queries):\n    return [0] * len(queries)\n")}
    )
    episode.act({0: Execute()})
    assert titles() == ["validation error", "validation rows"]


def test_objectives_far_from_the_start_do_not_flatten_a_chart() -> None:
    episode = Episode(palestra.game("tasks/FrontierEng-v0", design="three-bar-truss"), 2)
    first = episode.state.first
    for values in ("[1.0, 1.0]", "[0.001, 0.001]", "[0.9, 0.5]"):
        episode.act({0: Submit(values)})
    drawn = [y for one in part(episode, Chart).series for _, y in one.points]
    assert max(map(abs, drawn)) <= 3 * abs(first)
