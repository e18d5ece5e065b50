"""Graphs: colouring, cuts, independent sets, Steiner trees."""

from __future__ import annotations

from typing import Any

from palestra import Rng

from palestra_tasks.combinatorial.linear import Linear
from palestra_tasks.combinatorial.problem import (
    Infeasible,
    Instance,
    Problem,
    check_choice,
    check_list,
    exact,
    random_graph,
    register,
    relaxation_bound,
    whole,
)

GREEDY_COLOURS = """
def solve(instance):
    near = [set() for _ in range(instance['nodes'])]
    for u, v in instance['edges']:
        near[u].add(v)
        near[v].add(u)
    colours = {}
    while len(colours) < instance['nodes']:
        node = max((n for n in range(instance['nodes']) if n not in colours),
                   key=lambda n: (len({colours[m] for m in near[n] if m in colours}), len(near[n])))
        used = {colours[m] for m in near[node] if m in colours}
        colours[node] = min(c for c in range(instance['nodes']) if c not in used)
    return [colours[n] for n in range(instance['nodes'])]
"""


def colours_used(instance: Instance, answer: Any) -> float:
    nodes = instance["nodes"]
    colours = [whole(c, 0, nodes - 1, "colour") for c in check_list(answer, "the answer", nodes)]
    for u, v in instance["edges"]:
        if colours[u] == colours[v]:
            raise Infeasible(f"neighbours {u} and {v} have one colour")
    return float(len(set(colours)))


def colouring_bound(instance: Instance) -> float:
    """The size of a clique found greedily."""
    edges = {tuple(edge) for edge in instance["edges"]}
    degree = [sum(n in e for e in edges) for n in range(instance["nodes"])]
    best = 1
    for start in range(instance["nodes"]):
        clique = [start]
        for node in sorted(range(instance["nodes"]), key=lambda n: -degree[n]):
            if all((min(node, m), max(node, m)) in edges for m in clique if m != node):
                clique = [*dict.fromkeys((*clique, node))]
        best = max(best, len(clique))
    return float(best)


def colouring_optimum(instance: Instance) -> float:
    """A backtracking search for each number of colours, most saturated node first."""
    near: list[set[int]] = [set() for _ in range(instance["nodes"])]
    for u, v in instance["edges"]:
        near[u].add(v)
        near[v].add(u)

    def paint(colours: dict[int, int], most: int) -> bool:
        left = [n for n in range(len(near)) if n not in colours]
        if not left:
            return True
        taken = {n: {colours[m] for m in near[n] if m in colours} for n in left}
        node = max(left, key=lambda n: (len(taken[n]), len(near[n])))
        used = max(colours.values(), default=-1)
        return any(
            paint({**colours, node: c}, most)
            for c in range(min(most, used + 2))
            if c not in taken[node]
        )

    number = int(colouring_bound(instance))
    while not paint({}, number):
        number += 1
    return float(number)


def cut_weight(instance: Instance, answer: Any) -> float:
    side = set(check_choice(answer, instance["nodes"], "node"))
    return float(sum(w for u, v, w in instance["edges"] if (u in side) != (v in side)))


def cut_model(instance: Instance) -> Linear:
    """One side for every node; node 0 is on the other side."""
    model = Linear("max")
    side = [model.switch() for _ in range(instance["nodes"])]
    model.highs[0] = 0.0
    for u, v, weight in instance["edges"]:
        cut = model.variable(float(weight), 0, 1)
        model.row({cut: 1.0, side[u]: -1.0, side[v]: -1.0}, high=0)
        model.row({cut: 1.0, side[u]: 1.0, side[v]: 1.0}, high=2)
        if weight < 0:
            model.row({cut: 1.0, side[u]: -1.0, side[v]: 1.0}, 0)
            model.row({cut: 1.0, side[u]: 1.0, side[v]: -1.0}, 0)
    return model


def cut_bound(instance: Instance) -> float:
    return float(sum(max(0, w) for _, _, w in instance["edges"]))


def independent_size(instance: Instance, answer: Any) -> float:
    nodes = set(check_choice(answer, instance["nodes"], "node"))
    for u, v in instance["edges"]:
        if u in nodes and v in nodes:
            raise Infeasible(f"neighbours {u} and {v} are both chosen")
    return float(len(nodes))


def independent_model(instance: Instance) -> Linear:
    model = Linear("max")
    nodes = [model.switch(1.0) for _ in range(instance["nodes"])]
    for u, v in instance["edges"]:
        model.row({nodes[u]: 1.0, nodes[v]: 1.0}, high=1)
    return model


def steiner_length(instance: Instance, answer: Any) -> float:
    edges, terminals = instance["edges"], instance["terminals"]
    taken = check_choice(answer, len(edges), "edge")
    home = list(range(instance["nodes"]))

    def root(node: int) -> int:
        while home[node] != node:
            node = home[node]
        return node

    for number in taken:
        home[root(edges[number][0])] = root(edges[number][1])
    for terminal in terminals[1:]:
        if root(terminal) != root(terminals[0]):
            raise Infeasible(f"terminals {terminals[0]} and {terminal} are not connected")
    return float(sum(edges[number][2] for number in taken))


def steiner_model(instance: Instance) -> Linear:
    """A unit of flow from the first terminal to every other one."""
    model, edges = Linear(), instance["edges"]
    bought = [model.switch(float(weight)) for _, _, weight in edges]
    start = instance["terminals"][0]
    for goal in instance["terminals"][1:]:
        ways = [(model.variable(0, 0, 1), model.variable(0, 0, 1)) for _ in edges]
        for (there, back), edge in zip(ways, bought, strict=True):
            model.row({there: 1.0, back: 1.0, edge: -1.0}, high=0)
        for node in range(instance["nodes"]):
            terms: dict[int, float] = {}
            for (there, back), (u, v, _) in zip(ways, edges, strict=True):
                if node in (u, v):
                    sign = 1.0 if node == u else -1.0
                    terms[there], terms[back] = sign, -sign
            need = 1.0 if node == start else -1.0 if node == goal else 0.0
            model.row(terms, need, need)
    return model


def draw_weighted(rng: Rng, size: int, percent: int, low: int, high: int) -> list[list[int]]:
    return [[u, v, rng.between(low, high)] for u, v in random_graph(rng, size, percent)]


def draw_steiner(rng: Rng, size: int) -> Instance:
    edges = draw_weighted(rng, size, 25, 1, 20)
    joined = {tuple(edge[:2]) for edge in edges}
    for node in range(1, size):  # a path keeps it connected
        if (node - 1, node) not in joined:
            edges.append([node - 1, node, rng.between(8, 25)])
    nodes = list(range(size))
    rng.shuffle(nodes)
    return {"nodes": size, "edges": sorted(edges), "terminals": sorted(nodes[: max(3, size // 3)])}


COLOURING = register(
    Problem(
        "graph-colouring",
        "min",
        "Graph colouring: nodes 0 … instance['nodes'] - 1, edges [u, v] in instance['edges']. "
        "Neighbours have different colours. Return the colour of every node, a list of whole "
        "numbers from 0. Minimise the number of colours.",
        lambda rng, size: {"nodes": size, "edges": random_graph(rng, size, 40)},
        colours_used,
        colouring_optimum,
        colouring_bound,
        GREEDY_COLOURS,
        "def solve(instance):\n    return list(range(instance['nodes']))\n",
        (12, 22),
    )
)
CUT = register(
    Problem(
        "max-cut",
        "max",
        "Maximum cut: nodes 0 … instance['nodes'] - 1, edges [u, v, weight] in instance['edges']. "
        "Return the nodes of one side, a list; the others are on the other side. Maximise the "
        "weight of edges between the sides.",
        lambda rng, size: {"nodes": size, "edges": draw_weighted(rng, size, 50, 1, 12)},
        cut_weight,
        lambda i: float(round(exact(cut_model(i)))),
        cut_bound,
        """
def solve(instance):
    n, edges = instance['nodes'], instance['edges']
    best = None
    for start in range(4):
        side = [(node >> start) & 1 for node in range(n)]
        better = True
        while better:
            better = False
            for node in range(n):
                gain = sum(w if side[u] == side[v] else -w for u, v, w in edges if node in (u, v))
                if gain > 0:
                    side[node] = 1 - side[node]
                    better = True
        value = sum(w for u, v, w in edges if side[u] != side[v])
        if best is None or value > best[0]:
            best = value, [node for node in range(n) if side[node]]
            report(best[1])
    return best[1]
""",
        "def solve(instance):\n    return [0]\n",
        (9, 13),
    )
)
INDEPENDENT = register(
    Problem(
        "independent-set",
        "max",
        "Maximum independent set: nodes 0 … instance['nodes'] - 1, edges [u, v] in "
        "instance['edges']. No two chosen nodes are neighbours. Return the chosen nodes, a list. "
        "Maximise their number.",
        lambda rng, size: {"nodes": size, "edges": random_graph(rng, size, 20)},
        independent_size,
        lambda i: float(round(exact(independent_model(i)))),
        lambda i: relaxation_bound(independent_model(i)),
        """
def solve(instance):
    near = [set() for _ in range(instance['nodes'])]
    for u, v in instance['edges']:
        near[u].add(v)
        near[v].add(u)
    left, taken = set(range(instance['nodes'])), []
    while left:
        node = min(sorted(left), key=lambda n: len(near[n] & left))
        taken.append(node)
        left -= near[node] | {node}
    return taken
""",
        "def solve(instance):\n    return [0]\n",
        (14, 30),
    )
)
STEINER = register(
    Problem(
        "steiner-tree",
        "min",
        "Steiner tree: nodes 0 … instance['nodes'] - 1; instance['edges'][k] is [u, v, weight]. "
        "Connect all of instance['terminals']; other nodes may be used. Return the numbers k of "
        "the edges taken, a list. Minimise their weight.",
        draw_steiner,
        steiner_length,
        lambda i: float(round(exact(steiner_model(i)))),
        lambda i: relaxation_bound(steiner_model(i)),
        """
def solve(instance):
    near = {}
    for k, (u, v, w) in enumerate(instance['edges']):
        near.setdefault(u, []).append((v, w, k))
        near.setdefault(v, []).append((u, w, k))
    tree, taken = {instance['terminals'][0]}, set()
    left = set(instance['terminals'][1:])
    while left:
        far = {node: 0 for node in tree}
        how, done = {}, set()
        while True:
            node = min((n for n in far if n not in done), key=lambda n: (far[n], n))
            done.add(node)
            if node in left:
                break
            for other, w, k in near[node]:
                if other not in far or far[node] + w < far[other]:
                    far[other] = far[node] + w
                    how[other] = (node, k)
        left.discard(node)
        while node not in tree:
            tree.add(node)
            node, k = how[node]
            taken.add(k)
        left -= tree
    return sorted(taken)
""",
        "def solve(instance):\n    return list(range(len(instance['edges'])))\n",
        (10, 16),
    )
)
