"""A genetic algorithm for capacitated vehicle routing: order crossover, local search, split.

A solution is an order of all customers ("giant tour"); the best way to cut it into routes is found
by dynamic programming (Prins, "A simple and effective evolutionary algorithm for the vehicle
routing problem", 2004). Children take a stretch of one parent and the rest in the other's order,
and are improved by moves of single customers and reversals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from palestra import Rng

Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Routing:
    """An instance: distances between places, of which 0 is the depot, demands and a capacity."""

    points: tuple[tuple[int, int], ...]
    demands: tuple[int, ...]  # 0 for the depot
    capacity: int

    @property
    def customers(self) -> range:
        return range(1, len(self.demands))

    def distances(self) -> list[list[int]]:
        """Euclidean distances, rounded to the nearest whole number as in CVRPLIB."""
        return _distances(self.points)


@lru_cache(maxsize=256)
def _distances(points: tuple[tuple[int, int], ...]) -> list[list[int]]:
    return [[int(math.hypot(a - c, b - d) + 0.5) for c, d in points] for a, b in points]


def split(far: Sequence[Sequence[int]], routing: Routing, order: Order) -> tuple[int, list[Order]]:
    """The shortest way to cut an order into routes that vehicles can carry, and those routes."""
    count = len(order)
    best = [0] + [10**12] * count
    cut = [0] * (count + 1)
    for start in range(count):
        load = length = 0
        for end in range(start, count):
            load += routing.demands[order[end]]
            if load > routing.capacity:
                break
            length += far[order[end - 1]][order[end]] if end > start else far[0][order[end]]
            total = best[start] + length + far[order[end]][0]
            if total < best[end + 1]:
                best[end + 1], cut[end + 1] = total, start
    routes, end = [], count
    while end:
        routes.append(tuple(order[cut[end] : end]))
        end = cut[end]
    return best[count], routes[::-1]


def savings_order(far: Sequence[Sequence[int]], routing: Routing) -> Order:
    """Clarke and Wright's (1964) savings heuristic, as one order of customers."""
    routes = [[c] for c in routing.customers]
    ranked = sorted(
        (
            (far[0][a] + far[0][b] - far[a][b], a, b)
            for a in routing.customers
            for b in routing.customers
            if a != b
        ),
        reverse=True,
    )
    home = {c: route for route in routes for c in route}
    for gain, a, b in ranked:
        first, second = home[a], home[b]
        fits = sum(routing.demands[c] for c in (*first, *second)) <= routing.capacity
        if gain > 0 and first is not second and first[-1] == a and second[0] == b and fits:
            first += second
            for c in second:
                home[c] = first
            routes = [route for route in routes if route is not second]
    return tuple(c for route in routes for c in route)


def cross(mother: Order, father: Order, rng: Rng) -> Order:
    """Order crossover: a stretch of the mother in its place, the rest in the father's order."""
    low, high = sorted((rng.below(len(mother)), rng.below(len(mother))))
    kept = mother[low : high + 1]
    others = [c for c in father if c not in set(kept)]
    return (*others[:low], *kept, *others[low:])


def change(order: Order, rng: Rng) -> Order:
    """Move one customer elsewhere, or reverse a stretch."""
    a, b = sorted((rng.below(len(order)), rng.below(len(order))))
    if rng.below(2):
        return (*order[:a], *reversed(order[a : b + 1]), *order[b + 1 :])
    rest = (*order[:a], *order[a + 1 :])
    return (*rest[:b], order[a], *rest[b:])


def evolve(
    routing: Routing,
    population: Sequence[Order],
    budget: int,
    rng: Rng,
    *,
    size: int = 20,
) -> list[int]:
    """The length of the best solution after each of `budget` evaluated children.

    The first entry is the best of the population, which random orders fill up to `size`.
    """
    far = routing.distances()
    people = [(split(far, routing, order)[0], order) for order in population]
    first = min(people)[0] if people else None
    while len(people) < size:
        drawn: list[Any] = list(routing.customers)
        rng.shuffle(drawn)
        people.append((split(far, routing, tuple(drawn))[0], tuple(drawn)))
    people.sort()
    curve = [people[0][0] if first is None else min(first, people[0][0])]
    for _ in range(budget):
        parents = [min(rng.choice(people), rng.choice(people))[1] for _ in range(2)]
        child = cross(parents[0], parents[1], rng)
        length = split(far, routing, child)[0]
        for _ in range(3):
            other = change(child, rng)
            changed = split(far, routing, other)[0]
            if changed < length:
                length, child = changed, other
        if all(child != order for _, order in people) and length < people[-1][0]:
            people[-1] = (length, child)
            people.sort()
        curve.append(people[0][0])
    return curve
