"""Tours: the travelling salesman, and capacitated vehicle routing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from palestra import Rng

from palestra_tasks.combinatorial.linear import Linear
from palestra_tasks.combinatorial.problem import (
    Infeasible,
    Instance,
    Problem,
    check_list,
    order,
    plane,
    register,
    whole,
)


def tour_length(distances: Any, tour: list[int]) -> int:
    """The length of a closed tour."""
    return sum(int(distances[a][b]) for a, b in zip(tour, [*tour[1:], *tour[:1]], strict=True))


def shortest_paths_through(distances: Any) -> Any:
    """Held and Karp's table: [set, last], the shortest path from city 0 through a set of others.

    Sets are bit masks of cities 1 … n - 1.
    """
    table = np.asarray(distances, np.float64)
    others = len(table) - 1
    best = np.full((1 << others, others), np.inf)
    for city in range(others):
        best[1 << city, city] = table[0, city + 1]
    for group in range(1, 1 << others):
        row = best[group]
        for city in range(others):
            if not group >> city & 1:
                reach = np.min(row + table[1:, city + 1])
                best[group | 1 << city, city] = min(best[group | 1 << city, city], reach)
    return best


def tsp_optimum(instance: Instance) -> float:
    """By Held and Karp's dynamic programme."""
    table = np.asarray(instance["distances"], np.float64)
    if len(table) < 2:
        return 0.0
    return float(np.min(shortest_paths_through(table)[-1] + table[1:, 0]))


def tsp_bound(instance: Instance) -> float:
    """Half the sum of each city's two shortest ways."""
    table = np.array(instance["distances"], np.float64)
    np.fill_diagonal(table, np.inf)
    return float(np.sort(table, axis=1)[:, :2].sum() / 2)


def routes_of(instance: Instance, answer: Any) -> list[list[int]]:
    """The routes of an answer; raises `Infeasible`."""
    count, routes = len(instance["demands"]), []
    for route in check_list(answer, "the answer"):
        stops = [whole(c, 1, count - 1, "customer") for c in check_list(route, "a route")]
        load = sum(instance["demands"][c] for c in stops)
        if load > instance["capacity"]:
            raise Infeasible(f"a route carries {load}, more than {instance['capacity']}")
        routes.append(stops)
    order([c - 1 for route in routes for c in route], count - 1, "customer")
    return routes


def routes_length(instance: Instance, answer: Any) -> float:
    routes = routes_of(instance, answer)
    return float(sum(tour_length(instance["distances"], [0, *route]) for route in routes if route))


def cvrp_optimum(instance: Instance) -> float:
    """The best tour of every set that one vehicle can carry, then the best partition of all."""
    table = np.asarray(instance["distances"], np.float64)
    demands, capacity = instance["demands"][1:], instance["capacity"]
    whole_set = (1 << len(demands)) - 1
    tours = np.min(shortest_paths_through(table) + table[1:, 0], axis=1)
    loads = [sum(d for i, d in enumerate(demands) if s >> i & 1) for s in range(whole_set + 1)]
    best = [0.0] + [float("inf")] * whole_set
    for group in range(1, whole_set + 1):
        lowest, part = group & -group, group
        while part:
            if part & lowest and loads[part] <= capacity:
                best[group] = min(best[group], float(tours[part]) + best[group ^ part])
            part = (part - 1) & group
    return best[whole_set]


def cvrp_bound(instance: Instance) -> float:
    """Each customer's share of a trip out and back, by what they load."""
    far, capacity = instance["distances"][0], instance["capacity"]
    return math.fsum(2 * far[c] * d / capacity for c, d in enumerate(instance["demands"]))


def draw_cvrp(rng: Rng, size: int) -> Instance:
    demands = [0, *(rng.between(1, 9) for _ in range(size))]
    capacity = max(max(demands), -(-sum(demands) * 10 // 25))
    return {"distances": plane(rng, size + 1), "demands": demands, "capacity": capacity}


TSP = register(
    Problem(
        "tsp",
        "min",
        "Travelling salesman: visit every city once and return to the first. instance['distances'] "
        "is the square table of distances. Return the order of cities, a list. Minimise the length "
        "of the closed tour.",
        lambda rng, size: {"distances": plane(rng, size)},
        lambda i, answer: float(
            tour_length(i["distances"], order(answer, len(i["distances"]), "city"))
        ),
        tsp_optimum,
        tsp_bound,
        """
def solve(instance):
    d = instance['distances']
    n = len(d)
    best = None
    for start in range(n):
        tour, left = [start], set(range(n)) - {start}
        while left:
            last = tour[-1]
            city = min(sorted(left), key=lambda c: d[last][c])
            tour.append(city)
            left.remove(city)
        better = True
        while better:
            better = False
            for i in range(n - 1):
                for j in range(i + 2, n if i else n - 1):
                    a, b, c, e = tour[i], tour[i + 1], tour[j], tour[(j + 1) % n]
                    if d[a][c] + d[b][e] < d[a][b] + d[c][e]:
                        tour[i + 1:j + 1] = reversed(tour[i + 1:j + 1])
                        better = True
        length = sum(d[tour[i - 1]][tour[i]] for i in range(n))
        if best is None or length < best[0]:
            best = length, tour
            report(tour)
    return best[1]
""",
        "def solve(instance):\n    return list(range(len(instance['distances'])))\n",
        (9, 12),
    )
)
CVRP = register(
    Problem(
        "cvrp",
        "min",
        "Vehicle routing: vehicles start and end at place 0 and serve customers 1, 2, …; "
        "instance['demands'][c] is what customer c needs (0 for the depot) and no route may carry "
        "more than instance['capacity']. instance['distances'] is the table of distances. Return "
        "the routes, a list of lists of customers without the depot. Minimise the total length.",
        draw_cvrp,
        routes_length,
        cvrp_optimum,
        cvrp_bound,
        """
def solve(instance):
    d, q, limit = instance['distances'], instance['demands'], instance['capacity']
    n = len(q)
    routes = [[c] for c in range(1, n)]
    savings = sorted(((d[0][a] + d[0][b] - d[a][b], a, b)
                      for a in range(1, n) for b in range(1, n) if a != b), reverse=True)
    for gain, a, b in savings:
        if gain <= 0:
            break
        first = [r for r in routes if r[-1] == a]
        second = [r for r in routes if r[0] == b]
        if first and second and first[0] is not second[0]:
            if sum(q[c] for c in first[0] + second[0]) <= limit:
                routes.remove(first[0])
                routes.remove(second[0])
                routes.append(first[0] + second[0])
    return routes
""",
        "def solve(instance):\n    return [[c] for c in range(1, len(instance['demands']))]\n",
        (7, 9),
    )
)


def two_index_model(instance: Instance) -> Linear:
    """Miller, Tucker and Zemlin's model of vehicle routing, for tests of the dynamic programme."""
    table, demands, capacity = instance["distances"], instance["demands"], instance["capacity"]
    count, model = len(demands), Linear()
    arcs = {(a, b): model.switch(table[a][b]) for a in range(count) for b in range(count) if a != b}
    loads = [model.variable(0, demands[c], capacity) for c in range(count)]
    for c in range(1, count):
        model.row({arcs[c, o]: 1 for o in range(count) if o != c}, 1, 1)
        model.row({arcs[o, c]: 1 for o in range(count) if o != c}, 1, 1)
    for (a, b), arc in arcs.items():
        if a and b:
            terms = {loads[b]: 1.0, loads[a]: -1.0, arc: -float(capacity)}
            model.row(terms, demands[b] - capacity)
    return model
