"""Packing: bins, and a knapsack with several resources."""

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
    order,
    register,
    relaxation_bound,
    whole,
)


def bins_used(instance: Instance, answer: Any) -> float:
    sizes, capacity, packed = instance["sizes"], instance["capacity"], []
    bins = check_list(answer, "the answer")
    for one in bins:
        items = [whole(i, 0, len(sizes) - 1, "item") for i in check_list(one, "a bin")]
        load = sum(sizes[i] for i in items)
        if load > capacity:
            raise Infeasible(f"a bin holds {load}, more than {capacity}")
        packed += items
    order(packed, len(sizes), "item")
    return float(sum(1 for one in bins if one))


def first_fit_decreasing(sizes: list[int], capacity: int) -> int:
    loads: list[int] = []
    for size in sorted(sizes, reverse=True):
        for place, load in enumerate(loads):
            if load + size <= capacity:
                loads[place] += size
                break
        else:
            loads.append(size)
    return len(loads)


def bins_bound(instance: Instance) -> float:
    """All sizes over one bin's, rounded up."""
    return float(-(-sum(instance["sizes"]) // instance["capacity"]))


def bins_optimum(instance: Instance) -> float:
    """First-fit decreasing where the bound proves it, else a model of as many bins."""
    sizes, capacity = instance["sizes"], instance["capacity"]
    most = first_fit_decreasing(sizes, capacity)
    if most == bins_bound(instance):
        return float(most)
    model = Linear()
    used = [model.switch(1.0) for _ in range(most)]
    ranked = sorted(sizes, reverse=True)
    held = {(i, b): model.switch() for i in range(len(ranked)) for b in range(min(i + 1, most))}
    for i in range(len(ranked)):
        model.row({held[i, b]: 1 for b in range(most) if (i, b) in held}, 1, 1)
    for b in range(most):
        terms = {held[i, b]: float(s) for i, s in enumerate(ranked) if (i, b) in held}
        model.row({**terms, used[b]: -float(capacity)}, high=0)
        if b:
            model.row({used[b - 1]: 1.0, used[b]: -1.0}, 0)
    return float(round(exact(model)))


def knapsack_value(instance: Instance, answer: Any) -> float:
    items = check_choice(answer, len(instance["values"]), "item")
    for resource, weights in enumerate(instance["weights"]):
        load = sum(weights[i] for i in items)
        if load > instance["capacities"][resource]:
            limit = instance["capacities"][resource]
            raise Infeasible(f"resource {resource}: {load} is more than {limit}")
    return float(sum(instance["values"][i] for i in items))


def knapsack_model(instance: Instance) -> Linear:
    model = Linear("max")
    items = [model.switch(float(v)) for v in instance["values"]]
    for weights, limit in zip(instance["weights"], instance["capacities"], strict=True):
        model.row({i: float(w) for i, w in zip(items, weights, strict=True)}, high=limit)
    return model


def draw_knapsack(rng: Rng, size: int) -> Instance:
    weights = [[rng.between(5, 60) for _ in range(size)] for _ in range(2)]
    values = [sum(row[i] for row in weights) // 2 + rng.between(1, 25) for i in range(size)]
    capacities = [sum(row) * rng.between(35, 55) // 100 for row in weights]
    return {"values": values, "weights": weights, "capacities": capacities}


BINS = register(
    Problem(
        "bin-packing",
        "min",
        "Bin packing: put every item into a bin; instance['sizes'] has the items' sizes and no bin "
        "holds more than instance['capacity']. Return the bins, a list of lists of item numbers. "
        "Minimise the number of bins.",
        lambda rng, size: {"sizes": [rng.between(15, 70) for _ in range(size)], "capacity": 100},
        bins_used,
        bins_optimum,
        bins_bound,
        """
def solve(instance):
    sizes, limit = instance['sizes'], instance['capacity']
    bins = []
    for item in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        fits = [b for b in bins if sum(sizes[i] for i in b) + sizes[item] <= limit]
        if fits:
            max(fits, key=lambda b: sum(sizes[i] for i in b)).append(item)
        else:
            bins.append([item])
    return bins
""",
        "def solve(instance):\n    return [[i] for i in range(len(instance['sizes']))]\n",
        (12, 18),
    )
)
KNAPSACK = register(
    Problem(
        "knapsack",
        "max",
        "Knapsack with several resources: choose items; item i is worth instance['values'][i] and "
        "takes instance['weights'][r][i] of resource r, of which there is "
        "instance['capacities'][r]. Return the chosen items, a list. Maximise their value.",
        draw_knapsack,
        knapsack_value,
        lambda i: float(round(exact(knapsack_model(i)))),
        lambda i: relaxation_bound(knapsack_model(i)),
        """
def solve(instance):
    values, weights, limits = instance['values'], instance['weights'], instance['capacities']
    def rate(i):
        return values[i] / sum(w[i] / c for w, c in zip(weights, limits))
    taken, left = [], list(limits)
    for i in sorted(range(len(values)), key=rate, reverse=True):
        if all(w[i] <= l for w, l in zip(weights, left)):
            taken.append(i)
            left = [l - w[i] for w, l in zip(weights, left)]
    return taken
""",
        "def solve(instance):\n    return []\n",
        (14, 30),
    )
)
