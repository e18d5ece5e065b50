"""The combinatorial core against published optima, closed forms and another library."""

from __future__ import annotations

import itertools
import math
from typing import Any

import networkx as nx
import palestra
import pytest
from palestra import Rng
from palestra_tasks.combinatorial import problems
from palestra_tasks.combinatorial.linear import Linear
from palestra_tasks.combinatorial.problem import (
    PROBLEMS,
    Infeasible,
    distances,
    problem,
    score,
)
from palestra_tasks.combinatorial.problems.packing import knapsack_model
from palestra_tasks.combinatorial.problems.routing import two_index_model
from palestra_tasks.combinatorial.problems.scheduling import (
    flow_shop_length,
    job_shop_length,
    neh,
)
from palestra_tasks.routing.genetic import Routing, evolve, savings_order, split

assert problems.__all__

# Fisher and Thompson (1963): 6 jobs on 6 machines, optimum 55
FT06 = [
    [[2, 1], [0, 3], [1, 6], [3, 7], [5, 3], [4, 6]],
    [[1, 8], [2, 5], [4, 10], [5, 10], [0, 10], [3, 4]],
    [[2, 5], [3, 4], [5, 8], [0, 9], [1, 1], [4, 7]],
    [[1, 5], [0, 5], [2, 5], [3, 3], [4, 8], [5, 9]],
    [[2, 9], [1, 3], [4, 5], [5, 4], [0, 3], [3, 1]],
    [[1, 3], [3, 3], [5, 9], [0, 10], [4, 4], [2, 1]],
]
# Christofides and Eilon (1969), E-n22-k4: optimum 375
E_N22 = (
    (145, 215), (151, 264), (159, 261), (130, 254), (128, 252), (163, 247), (146, 246), (161, 242),
    (142, 239), (163, 236), (148, 232), (128, 231), (156, 217), (129, 214), (146, 208), (164, 208),
    (141, 206), (147, 193), (164, 193), (129, 189), (155, 185), (139, 182),
)  # fmt: skip
E_N22_DEMANDS = (
    0, 1100, 700, 800, 1400, 2100, 400, 800, 100, 500, 600, 1200, 1300, 1300, 300, 900, 2100, 1000,
    900, 2500, 1800, 700,
)  # fmt: skip
EVERY = sorted(PROBLEMS)


def drawn(name: str, seed: int, size: int | None = None) -> Any:
    kind = problem(name)
    return kind.draw(Rng.seeded(seed, 1), size or kind.sizes[0])


def solved(code: str, instance: Any) -> Any:
    """The answer of one of our own programs."""
    names: dict[str, Any] = {"report": lambda answer: None}
    exec(code, names)
    return names["solve"](instance)


def test_there_are_enough_problems() -> None:
    assert len(PROBLEMS) >= 12


@pytest.mark.parametrize("name", EVERY)
def test_bound_optimum_and_heuristics_are_in_order(name: str) -> None:
    kind = problem(name)
    sign = 1 if kind.sense == "min" else -1
    for seed in range(4):
        instance = drawn(name, seed)
        best = kind.optimum(instance)
        assert sign * kind.bound(instance) <= sign * best + 1e-6
        found = kind.value(instance, solved(kind.greedy, instance))
        assert sign * best <= sign * found + 1e-6
        assert 0.5 < score(kind, best, found) <= 1


@pytest.mark.parametrize("name", EVERY)
def test_seeds_give_different_instances(name: str) -> None:
    assert len({repr(drawn(name, seed)) for seed in range(20)}) == 20


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    "answer", [None, 7, "abc", [None], [[]], [-1], [10**9], [True], [math.nan], {"a": 1}, [[1, 1]]]
)
def test_a_broken_answer_is_infeasible_and_named(name: str, answer: Any) -> None:
    with pytest.raises(Infeasible, match=r"\w+ \w+"):
        problem(name).value(drawn(name, 0), answer)


# Small instances against a listing of all answers


def test_orders_against_all_orders() -> None:
    for name, seed in itertools.product(("tsp", "flow-shop", "tardiness"), range(5)):
        kind, instance = problem(name), drawn(name, seed, 6)
        every = itertools.permutations(range(6))
        assert kind.optimum(instance) == min(kind.value(instance, list(o)) for o in every), name


def test_choices_against_all_choices() -> None:
    for name, seed in itertools.product(
        ("knapsack", "set-cover", "max-cut", "independent-set"), range(4)
    ):
        kind, instance = problem(name), drawn(name, seed, 8)
        best = max if kind.sense == "max" else min
        values = []
        for chosen in itertools.product((0, 1), repeat=8):
            try:
                values.append(kind.value(instance, [n for n, yes in enumerate(chosen) if yes]))
            except Infeasible:
                continue
        assert kind.optimum(instance) == pytest.approx(best(values)), name


def test_assignments_against_all_assignments() -> None:
    for seed in range(3):
        kind, instance = problem("assignment"), drawn("assignment", seed, 7)
        values = []
        for agents in itertools.product(range(3), repeat=7):
            try:
                values.append(kind.value(instance, list(agents)))
            except Infeasible:
                continue
        assert kind.optimum(instance) == min(values)


# Published instances and closed forms


def test_a_schedule_by_hand() -> None:
    # job 0 over machines 0 and 1, job 1 over machines 1 and 0
    jobs = {"jobs": [[[0, 3], [1, 2]], [[1, 4], [0, 1]]]}
    assert job_shop_length(jobs, [[0, 4], [0, 4]]) == 6
    assert problem("job-shop").optimum(jobs) == 6
    with pytest.raises(Infeasible, match="machine 1"):
        job_shop_length(jobs, [[0, 3], [0, 4]])
    with pytest.raises(Infeasible, match="before its job is ready"):
        job_shop_length(jobs, [[0, 2], [4, 8]])


@pytest.mark.slow
def test_ft06_has_the_published_optimum() -> None:
    assert problem("job-shop").optimum({"jobs": FT06}) == 55


def test_tsplib_distances() -> None:
    # TSPLIB rounds Euclidean distances to the nearest whole number
    assert distances([(0, 0), (3, 4), (1, 1)]) == [[0, 5, 1], [5, 0, 4], [1, 4, 0]]


def test_points_on_a_line_have_a_tour_there_and_back() -> None:
    table = distances([(x, 0) for x in (0, 7, 3, 11, 29, 13)])
    assert problem("tsp").optimum({"distances": table}) == 58


def test_two_models_of_vehicle_routing_agree() -> None:
    for seed in range(2):
        instance = drawn("cvrp", seed, 5)
        found = two_index_model(instance).solve()
        assert found.status == "optimal"
        assert problem("cvrp").optimum(instance) == pytest.approx(found.value)


def test_a_published_flow_shop() -> None:
    # Taillard (1993), 20 jobs on 5 machines, seed 873654221; NEH gives 1286 and the optimum is 1278
    seed, durations = 873654221, [[0] * 5 for _ in range(20)]
    for machine in range(5):
        for job in range(20):
            seed = (16807 * (seed % 127773) - 2836 * (seed // 127773)) % 2147483647
            durations[job][machine] = 1 + math.floor(seed / 2147483647 * 99)
    length = flow_shop_length({"durations": durations}, neh(durations))
    assert length == 1286
    assert problem("flow-shop").bound({"durations": durations}) <= 1278


def test_a_published_knapsack() -> None:
    # Martello and Toth (1990), as given by Burkardt (P07): 15 items, best profit 1458
    values = [135, 139, 149, 150, 156, 163, 173, 184, 192, 201, 210, 214, 221, 229, 240]
    weights = [70, 73, 77, 80, 82, 87, 90, 94, 98, 106, 110, 113, 115, 118, 120]
    instance = {"values": values, "weights": [weights], "capacities": [750]}
    assert problem("knapsack").optimum(instance) == 1458
    # the relaxation is Dantzig's: the best rates first, and a part of the next item
    by_rate = sorted(zip(values, weights, strict=True), key=lambda i: -i[0] / i[1])
    room, total = 750.0, 0.0
    for value, weight in by_rate:
        part = min(1.0, room / weight)
        total, room = total + part * value, room - part * weight
    assert knapsack_model(instance).solve(relaxed=True).value == pytest.approx(total)


def graph_instance(graph: Any) -> dict[str, Any]:
    return {"nodes": len(graph), "edges": [sorted(edge) for edge in graph.edges]}


@pytest.mark.parametrize(
    ("graph", "colours", "independent"),
    [
        (nx.petersen_graph(), 3, 4),
        (nx.cycle_graph(7), 3, 3),
        (nx.complete_graph(5), 5, 1),
        (nx.complete_bipartite_graph(3, 5), 2, 5),
        (nx.mycielski_graph(4), 4, 5),  # Grötzsch's graph has no triangle and needs 4 colours
        (nx.icosahedral_graph(), 4, 3),
    ],
)
def test_known_graphs(graph: Any, colours: int, independent: int) -> None:
    instance = graph_instance(graph)
    assert problem("graph-colouring").optimum(instance) == colours
    assert problem("independent-set").optimum(instance) == independent


@pytest.mark.parametrize("nodes", [3, 4, 5, 6])
def test_the_cut_of_a_complete_graph(nodes: int) -> None:
    edges = [[u, v, 1] for u, v in itertools.combinations(range(nodes), 2)]
    assert problem("max-cut").optimum({"nodes": nodes, "edges": edges}) == nodes**2 // 4


def test_the_cut_of_petersens_graph_is_12() -> None:
    edges = [[*edge, 1] for edge in graph_instance(nx.petersen_graph())["edges"]]
    assert problem("max-cut").optimum({"nodes": 10, "edges": edges}) == 12


def test_steiner_trees_of_two_and_of_all_terminals() -> None:
    for seed in range(3):
        instance = drawn("steiner-tree", seed)
        graph = nx.Graph()
        graph.add_weighted_edges_from(instance["edges"])
        far = nx.shortest_path_length(graph, 0, 7, weight="weight")
        two = {**instance, "terminals": [0, 7]}
        assert problem("steiner-tree").optimum(two) == far
        tree = nx.minimum_spanning_tree(graph).size(weight="weight")
        everything = {**instance, "terminals": list(range(instance["nodes"]))}
        assert problem("steiner-tree").optimum(everything) == tree


def test_bins_beyond_first_fit() -> None:
    # first-fit decreasing needs 3 bins of these, the best packing 2
    instance = {"sizes": [5, 4, 4, 3, 2, 2], "capacity": 10}
    assert problem("bin-packing").optimum(instance) == 2
    # Burkardt's P01: 9 items in bins of 100 need 4
    other = {"sizes": [70, 60, 50, 33, 33, 33, 11, 7, 3], "capacity": 100}
    assert problem("bin-packing").optimum(other) == 4


def test_the_solver_tells_infeasible_from_unbounded() -> None:
    unbounded = Linear("max")
    unbounded.variable(1.0)
    assert unbounded.solve().status == "unbounded"
    infeasible = Linear("max")
    x = infeasible.variable(1.0)
    infeasible.row({x: 1.0}, high=-1)
    assert infeasible.solve().status == "infeasible"


# Vehicle routing


@pytest.mark.parametrize("agent", ["random", "routing-nearest", "routing-savings"])
def test_shares_of_routes_are_comparable_between_sizes(agent: str) -> None:
    """As ratios random tours earn 0.87 with 12 customers and 0.53 with 30."""

    def mean(customers: int, pays: str) -> float:
        options = {"customers": customers, "pays": pays, "budget": 100}
        records = palestra.play(
            "tasks/VehicleRouting-v0", agents=agent, seed=2, episodes=8, **options
        )
        return sum(r.outcome.scores[0] for r in records if r.outcome) / 8

    small, large = mean(12, "share"), mean(30, "share")
    assert small == pytest.approx(large, abs=0.12)
    assert small == pytest.approx({"r": 0.0, "n": 0.8, "s": 1.0}[agent.split("-")[-1][0]], abs=0.15)
    if agent == "random":
        assert mean(12, "ratio") > mean(30, "ratio") + 0.2


def test_the_genetic_algorithm_finds_the_published_optimum() -> None:
    routing = Routing(E_N22, E_N22_DEMANDS, 6000)
    start = savings_order(routing.distances(), routing)
    curve = evolve(routing, [start], 1500, Rng.seeded(3))
    assert curve == sorted(curve, reverse=True)
    assert curve[0] == split(routing.distances(), routing, start)[0] > 375
    assert curve[-1] == 375


def test_a_split_is_what_the_verifier_measures() -> None:
    routing = Routing(E_N22, E_N22_DEMANDS, 6000)
    rng = Rng.seeded(4)
    for _ in range(10):
        order = list(routing.customers)
        rng.shuffle(order)
        length, routes = split(routing.distances(), routing, tuple(order))
        instance = {
            "distances": routing.distances(),
            "demands": list(routing.demands),
            "capacity": 6000,
        }
        assert problem("cvrp").value(instance, [list(route) for route in routes]) == length
