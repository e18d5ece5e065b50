"""An instance of a combinatorial problem and an answer to it, as parts of a picture.

Tables of distances are laid on a plane by classical scaling: the two largest components of the
doubly centred squares (Torgerson, "Multidimensional scaling: I. Theory and method", Psychometrika
1952). Distances here are rounded ones of a plane, so that little is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from palestra.scene import Bar, Bars, Graph, Grid, Link, Node, Part, Piece

from palestra_tasks.combinatorial.problem import Instance

COLUMNS = 24  # of a timetable
Place = tuple[float, float]
Work = tuple[int, int, float, float]  # a machine, a job, start and end


def map_of(distances: Sequence[Sequence[float]]) -> list[Place]:
    """Places in the unit square whose distances are like those of a table."""
    squares = np.asarray(distances, np.float64) ** 2
    centre = np.eye(len(squares)) - 1 / len(squares)
    values, vectors = np.linalg.eigh(-centre @ squares @ centre / 2)
    spots = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))
    spots *= np.where(spots[np.abs(spots).argmax(0), [0, 1]] < 0, -1.0, 1.0)  # signs are arbitrary
    low, wide = spots.min(0), max(1e-9, float((spots.max(0) - spots.min(0)).max()))
    moved = (spots - low) / wide
    moved += (1 - moved.max(0)) / 2
    return [(float(x), float(y)) for x, y in moved]


def draw_instance(name: str, instance: Instance, answer: Any) -> tuple[Part, ...]:
    """An instance, and a feasible answer to it (None: there is none yet).

    name: of the problem, as in `PROBLEMS`.
    """
    return DRAWN[name](instance, _with_whole_numbers(answer))


def _with_whole_numbers(answer: Any) -> Any:
    """An answer in which 2.0 is 2, as verifiers read it."""
    if isinstance(answer, list | tuple):
        return [_with_whole_numbers(one) for one in answer]
    return int(answer) if isinstance(answer, float) and answer.is_integer() else answer


def _tours(instance: Instance, answer: Any) -> tuple[Part, ...]:
    """A map with a closed tour, or with one for each vehicle in its colour."""
    places, depot = map_of(instance["distances"]), "demands" in instance
    routes = [[0, *route] for route in answer or ()] if depot else [answer or []]
    colour_of = {stop: n for n, route in enumerate(routes) for stop in route if depot}
    nodes = tuple(
        Node(str(n), "gold" if depot and n == 0 else colour_of.get(n, 0 if not depot else -1),
             f"needs {instance['demands'][n]}" if depot and n else "", place)
        for n, place in enumerate(places)
    )  # fmt: skip
    links = tuple(
        Link(a, b, colour=n, weight=1.5)
        for n, route in enumerate(routes)
        if len(route) > 1
        for a, b in pairwise([*route, route[0]])
    )
    return (Graph(nodes, links),)


def _medians(instance: Instance, answer: Any) -> tuple[Part, ...]:
    """A map on which every place is linked to the chosen one that is nearest."""
    table, chosen = instance["distances"], list(answer or ())
    nearest = {n: min(chosen, key=lambda m: table[n][m]) for n in range(len(table)) if chosen}
    nodes = tuple(
        Node(str(n), "gold" if n in chosen else 0, place=p) for n, p in enumerate(map_of(table))
    )
    return (Graph(nodes, tuple(Link(n, m, colour=0) for n, m in nearest.items() if n != m)),)


def _services(instance: Instance, answer: Any) -> tuple[Part, ...]:
    """Facilities above, customers below, and who serves whom."""
    sites, service = len(instance["opening"]), instance["service"]
    serves = list(answer or ())
    nodes = [
        Node(f"F{n}", n if n in serves else -1, str(cost), ((n + 0.5) / sites, 0.1))
        for n, cost in enumerate(instance["opening"])
    ]
    nodes += [
        Node(str(n), serves[n] if serves else -1, place=((n + 0.5) / len(service), 0.9))
        for n in range(len(service))
    ]
    links = tuple(Link(site, sites + n, colour=site) for n, site in enumerate(serves))
    return (Graph(tuple(nodes), links),)


def _network(colour: Callable[[int, Any], Any], taken: Callable[..., bool]) -> Callable[..., Any]:
    """A drawing of a graph: the colour of a node, and which edges stand out, given an answer."""

    def draw(instance: Instance, answer: Any) -> tuple[Part, ...]:
        ends = set(instance.get("terminals", ()))
        nodes = tuple(
            Node(str(n), "gold" if n in ends else -1 if answer is None else colour(n, answer))
            for n in range(instance["nodes"])
        )
        links = []
        for number, edge in enumerate(instance["edges"]):
            stands = answer is not None and taken(number, edge, answer)
            label = str(edge[2]) if len(edge) > 2 and stands else ""
            links.append(Link(edge[0], edge[1], label, "orange" if stands else -1, 1 + stands))
        return (Graph(nodes, tuple(links)),)

    return draw


def _loads(loads: Sequence[tuple[str, Sequence[float], float]], things: str) -> tuple[Part, ...]:
    """Things in bins that have a capacity: as many cells as their share of it, a row each."""
    rows, names = [], []
    number = 0
    for name, sizes, capacity in loads:
        cells: list[Piece | None] = []
        for size in sizes:
            wide = max(1, round(COLUMNS * size / capacity))
            label = f"{things} of {size:g}"
            cells += [Piece(f"{size:g}", number, label=label)] * wide
            number += 1
        rows.append(tuple((cells + [None] * COLUMNS)[:COLUMNS]))
        names.append(name)
    return (Grid(tuple(rows), tuple(names), style="rack"),)


def _bins(instance: Instance, answer: Any) -> tuple[Part, ...]:
    sizes, capacity = instance["sizes"], instance["capacity"]
    packed = answer if answer is not None else [[n] for n in range(len(sizes))]
    return _loads(
        [(f"bin {n}", [sizes[i] for i in one], capacity) for n, one in enumerate(packed)], "item"
    )


def _agents(instance: Instance, answer: Any) -> tuple[Part, ...]:
    loads = instance["loads"]
    return _loads(
        [
            (f"agent {n}", [loads[n][j] for j, to in enumerate(answer or ()) if to == n], capacity)
            for n, capacity in enumerate(instance["capacities"])
        ],
        "job",
    )


def _sack(instance: Instance, answer: Any) -> tuple[Part, ...]:
    """What is taken fills each dimension; all items below, those that are taken in colour."""
    taken = list(answer or ())
    filled = [
        (f"limit {n}", [weights[i] for i in taken], capacity)
        for n, (weights, capacity) in enumerate(
            zip(instance["weights"], instance["capacities"], strict=True)
        )
    ]
    values = tuple(
        Bar(f"{n}", value, max(instance["values"]), 0 if n in taken else "grey")
        for n, value in enumerate(instance["values"])
    )
    return (*_loads(filled, "item"), Bars(values))


def _covers(instance: Instance, answer: Any) -> tuple[Part, ...]:
    """A row for each set, a column for each element; sets that are taken in colour."""
    taken = set(answer or ())
    cells = tuple(
        tuple(
            Piece("•", (0 if n in taken else "grey"), label=str(e)) if e in one else None
            for e in range(instance["elements"])
        )
        for n, one in enumerate(instance["sets"])
    )
    labels = tuple(f"{n}: {cost}" for n, cost in enumerate(instance["costs"]))
    return (Grid(cells, labels, tuple(str(e) for e in range(instance["elements"]))),)


def _timetable(work: Sequence[Work], machines: int) -> tuple[Part, ...]:
    """A row for each machine: which job it does when, from the left to the right."""
    end = max((one[3] for one in work), default=1.0)
    rows: list[list[Piece | None]] = [[None] * COLUMNS for _ in range(machines)]
    for machine, job, start, stop in work:
        first = min(COLUMNS - 1, int(COLUMNS * start / end))
        for at in range(first, max(first + 1, round(COLUMNS * stop / end))):
            rows[machine][at] = Piece(str(job), job, label=f"job {job}")
    names = tuple(f"machine {n}" for n in range(machines))
    axis = tuple(f"{end * n / COLUMNS:.0f}" if n % 6 == 0 else "" for n in range(COLUMNS))
    return (Grid(tuple(map(tuple, rows)), names, axis, style="rack"),)


def _job_shop(instance: Instance, answer: Any) -> tuple[Part, ...]:
    jobs = instance["jobs"]
    machines = 1 + max(machine for job in jobs for machine, _ in job)
    work = [
        (machine, n, float(start), float(start + long))
        for n, (job, starts) in enumerate(zip(jobs, answer or (), strict=False))
        for (machine, long), start in zip(job, starts, strict=True)
    ]
    return _timetable(work, machines)


def _flow_shop(instance: Instance, answer: Any) -> tuple[Part, ...]:
    durations, work = instance["durations"], list[Work]()
    free = [0.0] * len(durations[0])
    for job in answer or ():
        ready = 0.0
        for machine, long in enumerate(durations[job]):
            start = max(ready, free[machine])
            ready = free[machine] = start + long
            work.append((machine, job, start, ready))
    return _timetable(work, len(free))


def _one_machine(instance: Instance, answer: Any) -> tuple[Part, ...]:
    """The jobs one after another, and how late each is."""
    work, time, late = list[Work](), 0.0, list[Bar]()
    for job in answer or ():
        long, weight, due = instance["jobs"][job]
        work.append((0, job, time, time + long))
        time += long
        late.append(Bar(f"job {job} late", max(0.0, time - due) * weight, 1.0, job))
    most = max((bar.value for bar in late), default=0.0) or 1.0
    bars = tuple(Bar(bar.label, bar.value, most, bar.colour) for bar in late)
    return (*_timetable(work, 1), *((Bars(bars),) if bars else ()))


DRAWN: dict[str, Callable[[Instance, Any], tuple[Part, ...]]] = {
    "assignment": _agents,
    "bin-packing": _bins,
    "cvrp": _tours,
    "facility-location": _services,
    "flow-shop": _flow_shop,
    "graph-colouring": _network(lambda n, answer: int(answer[n]), lambda *_: False),
    "independent-set": _network(lambda n, answer: 0 if n in answer else -1, lambda *_: False),
    "job-shop": _job_shop,
    "knapsack": _sack,
    "max-cut": _network(
        lambda n, answer: 0 if n in answer else 1,
        lambda _, edge, answer: (edge[0] in answer) != (edge[1] in answer),
    ),
    "p-median": _medians,
    "set-cover": _covers,
    "steiner-tree": _network(lambda n, _: -1, lambda number, _, answer: number in answer),
    "tardiness": _one_machine,
    "tsp": _tours,
}
