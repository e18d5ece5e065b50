"""Pictures of a trip: its route, its days, and how the plan stands to the request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from palestra.scene import Bar, Bars, Colour, Graph, Grid, Link, Node, Piece

from palestra_web.travel.plan import NONE, PlanDay, Verdict, cost
from palestra_web.travel.tables import Request, TravelTables

ROWS = {  # of the calendar: the fields of a day in it
    "travel": ("transport",),
    "meals": ("breakfast", "lunch", "dinner"),
    "sights": ("attractions",),
    "night": ("lodging",),
}


def route(
    start: str, cities: Sequence[str], plan: Sequence[PlanDay], witness: Sequence[PlanDay]
) -> Graph:
    """The cities on a circle, the plan's legs with their days, and in gold those of a witness."""
    legs = [(day, *day.ends) for day in plan if day.moves]
    names = list(dict.fromkeys([start, *cities, *(end for _, *ends in legs for end in ends)]))
    goldens = {day.ends for day in witness if day.moves}
    visited = {end for _, *ends in legs for end in ends}

    def colour(name: str) -> Colour:
        return "blue" if name == start else 0 if name in visited else "silver"

    nodes = tuple(Node("", colour(name), name) for name in names)
    links = [
        Link(names.index(a), names.index(b), colour="gold", weight=2.4, directed=True)
        for a, b in sorted(goldens)
    ]
    links += [
        Link(names.index(a), names.index(b), f"day {day.day}", 0, 1.2, directed=True)
        for day, a, b in legs
    ]
    return Graph(nodes, tuple(links))


def calendar(plan: Mapping[int, PlanDay], days: int, verdict: Verdict | None) -> Grid:
    """How much is planned for each day; green once the plan passes every check."""
    colour: Colour = "green" if verdict and verdict.final else 0
    rows = []
    for names in ROWS.values():
        row: list[Piece | None] = []
        for day in range(1, days + 1):
            entries = [getattr(plan[day], name) for name in names if day in plan]
            said = [one for one in entries if one != NONE]
            count = sum(one.count(";") + 1 for one in said)
            row.append(Piece(str(count), colour, label="; ".join(said)) if said else None)
        rows.append(tuple(row))
    numbers = tuple(str(day) for day in range(1, days + 1))
    return Grid(tuple(rows), tuple(ROWS), numbers)


def standing(
    plan: Sequence[PlanDay], request: Request, tables: TravelTables, verdict: Verdict
) -> Bars:
    """How many checks a plan passes, and what it costs of the budget if all it names exists."""
    groups = {"common sense": verdict.commonsense, "wishes": verdict.hard}
    bars = [
        Bar(name, sum(found.values()), len(found), "green" if all(found.values()) else "red")
        for name, found in groups.items()
    ]
    if verdict.commonsense["within_sandbox"]:
        paid, budget = cost(plan, request, tables), request.budget
        bars.append(Bar("cost of budget", paid, budget, "green" if paid <= budget else "red"))
    return Bars(tuple(bars))
