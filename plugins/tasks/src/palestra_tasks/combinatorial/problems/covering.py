"""Covering and locating: set cover, facility location, p-median."""

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
    plane,
    register,
    relaxation_bound,
    whole,
)


def cover_cost(instance: Instance, answer: Any) -> float:
    sets = check_choice(answer, len(instance["sets"]), "set")
    left = set(range(instance["elements"])) - {e for s in sets for e in instance["sets"][s]}
    if left:
        raise Infeasible(f"element {min(left)} is in no chosen set")
    return float(sum(instance["costs"][s] for s in sets))


def cover_model(instance: Instance) -> Linear:
    model = Linear()
    sets = [model.switch(float(cost)) for cost in instance["costs"]]
    for element in range(instance["elements"]):
        model.row({s: 1 for s in sets if element in instance["sets"][s]}, 1)
    return model


def draw_cover(rng: Rng, size: int) -> Instance:
    sets = [sorted({rng.below(size) for _ in range(rng.between(2, 6))}) for _ in range(size)]
    for element in range(size):
        if not any(element in one for one in sets):
            home = rng.choice(sets)
            home.append(element)
            home.sort()
    costs = [len(one) * 3 + rng.between(1, 9) for one in sets]
    return {"elements": size, "sets": sets, "costs": costs}


def location_cost(instance: Instance, answer: Any) -> float:
    opening, service = instance["opening"], instance["service"]
    places = [
        whole(p, 0, len(opening) - 1, "facility")
        for p in check_list(answer, "the answer", len(service))
    ]
    served = sum(service[c][p] for c, p in enumerate(places))
    return float(sum(opening[p] for p in set(places)) + served)


def location_model(instance: Instance) -> Linear:
    model = Linear()
    opened = [model.switch(float(cost)) for cost in instance["opening"]]
    for costs in instance["service"]:
        shares = [model.variable(float(cost), 0, 1) for cost in costs]
        model.row(dict.fromkeys(shares, 1), 1, 1)
        for share, place in zip(shares, opened, strict=True):
            model.row({share: 1.0, place: -1.0}, high=0)
    return model


def median_cost(instance: Instance, answer: Any) -> float:
    table = instance["distances"]
    places = check_choice(answer, len(table), "place")
    if len(places) != instance["p"]:
        raise Infeasible(f"{instance['p']} places must be chosen, not {len(places)}")
    return float(sum(min(row[p] for p in places) for row in table))


def median_model(instance: Instance) -> Linear:
    table, model = instance["distances"], Linear()
    opened = [model.switch() for _ in table]
    model.row(dict.fromkeys(opened, 1), instance["p"], instance["p"])
    for row in table:
        shares = [model.variable(float(far), 0, 1) for far in row]
        model.row(dict.fromkeys(shares, 1), 1, 1)
        for share, place in zip(shares, opened, strict=True):
            model.row({share: 1.0, place: -1.0}, high=0)
    return model


SET_COVER = register(
    Problem(
        "set-cover",
        "min",
        "Set cover: choose sets so that every element 0 … instance['elements'] - 1 is in at least "
        "one; instance['sets'][s] lists the elements of set s, which costs instance['costs'][s]. "
        "Return the chosen sets, a list. Minimise their cost.",
        draw_cover,
        cover_cost,
        lambda i: float(round(exact(cover_model(i)))),
        lambda i: relaxation_bound(cover_model(i)),
        """
def solve(instance):
    left, taken = set(range(instance['elements'])), []
    while left:
        s = min((s for s in range(len(instance['sets'])) if left & set(instance['sets'][s])),
                key=lambda s: instance['costs'][s] / len(left & set(instance['sets'][s])))
        taken.append(s)
        left -= set(instance['sets'][s])
    return taken
""",
        "def solve(instance):\n    return list(range(len(instance['sets'])))\n",
        (14, 30),
    )
)
LOCATION = register(
    Problem(
        "facility-location",
        "min",
        "Facility location: every customer is served from one facility. Opening facility f costs "
        "instance['opening'][f] once; serving customer c from it costs instance['service'][c][f]. "
        "Return the facility of every customer, a list. Minimise the total cost.",
        lambda rng, size: {
            "opening": [rng.between(60, 160) for _ in range(max(3, size // 2))],
            "service": [
                [rng.between(5, 95) for _ in range(max(3, size // 2))] for _ in range(size)
            ],
        },
        location_cost,
        lambda i: float(round(exact(location_model(i)))),
        lambda i: relaxation_bound(location_model(i)),
        """
def solve(instance):
    opening, service = instance['opening'], instance['service']
    def cost(places):
        return sum(opening[p] for p in places) + sum(min(row[p] for p in places) for row in service)
    best = set(range(len(opening)))
    better = True
    while better:
        better = False
        tries = [best ^ {p} for p in range(len(opening))]
        tries += [best - {p} | {q} for p in best for q in range(len(opening)) if q not in best]
        for places in tries:
            if places and cost(places) < cost(best):
                best, better = places, True
    return [min(sorted(best), key=lambda p: row[p]) for row in service]
""",
        "def solve(instance):\n    return [0 for row in instance['service']]\n",
        (10, 16),
    )
)
MEDIAN = register(
    Problem(
        "p-median",
        "min",
        "p-median: choose instance['p'] places; everybody goes to the nearest chosen place. "
        "instance['distances'] is the square table of distances. Return the chosen places, a list. "
        "Minimise the sum of distances.",
        lambda rng, size: {"distances": plane(rng, size), "p": rng.between(2, 4)},
        median_cost,
        lambda i: float(round(exact(median_model(i)))),
        lambda i: relaxation_bound(median_model(i)),
        """
def solve(instance):
    d, p = instance['distances'], instance['p']
    def cost(places):
        return sum(min(row[q] for q in places) for row in d)
    taken = []
    while len(taken) < p:
        taken.append(min((q for q in range(len(d)) if q not in taken),
                         key=lambda q: cost(taken + [q])))
    better = True
    while better:
        better = False
        for at in range(p):
            for q in range(len(d)):
                other = taken[:at] + [q] + taken[at + 1:]
                if q not in taken and cost(other) < cost(taken):
                    taken, better = other, True
    return taken
""",
        "def solve(instance):\n    return list(range(instance['p']))\n",
        (10, 20),
    )
)
