"""A world of facts as a graph: places and ways, and the things that are there or must get there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import cos, pi, sin

from palestra.scene import Graph, Link, Node

from palestra_tasks.worlds.planning import PlannedWorld

_PARTS = re.compile(r"([^(]+)\((.*)\)")
INNER, OUTER = 0.3, 0.5  # from the middle: of places, and of things


def _split(facts: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Each fact's name and objects, in the order of the alphabet."""
    found = (_PARTS.fullmatch(fact) for fact in sorted(facts))
    return [(m[1], [one for one in m[2].split(", ") if one]) for m in found if m]


def draw_world(planned: PlannedWorld, facts: frozenset[str]) -> Graph:
    """The world where some facts hold.

    Places are what something can be at; a thing stands beside its place, or beside you while it is
    held. A golden arrow leads from a thing to where the goal wants it; things that are there are
    green. A way that is not like most others, such as a locked one, is red and named. In a world
    without places the goals are drawn, those that are met green.
    """
    every = planned.start | planned.goal | facts
    every |= frozenset(fact for action in planned.actions for fact in action.adds)
    stands = [names for kind, names in _split(every) if kind == "at" and len(names) == 2]
    objects = [name for many in planned.world.objects.values() for name in many]
    things = [name for name in objects if any(name == thing for thing, _ in stands)]
    ends = {place for _, place in stands}
    ends |= {n for kind, names in _split(every) if kind != "at" and len(names) == 2 for n in names}
    places = [name for name in objects if name in ends and name not in things]
    if not places and not things:
        goals = sorted(planned.goal)
        return Graph(tuple(Node("", "green" if g in facts else "gold", g) for g in goals))
    spots, nodes = dict[str, tuple[float, float]](), list[Node]()
    for n, name in enumerate(places):
        angle = 2 * pi * n / len(places) - pi / 2
        spots[name] = (cos(angle), sin(angle))
        x, y = (0.5 + INNER * one for one in spots[name])
        nodes.append(Node("", "brown", name, (x, y)))
    at = {names[0]: names[1] for kind, names in _split(facts) if kind == "at" and len(names) == 2}
    wanted = {n[0]: n[1] for kind, n in _split(planned.goal) if kind == "at" and len(n) == 2}
    crowd = dict[str, int]()
    for name in things:
        held = name not in at
        place = at.get(name, at.get("you", ""))
        x, y = spots.get(place, (0.0, 0.0))
        beside = crowd[place] = crowd.get(place, 0) + 1
        turn = 0.3 * (beside // 2) * (-1) ** beside
        x, y = x * cos(turn) - y * sin(turn), x * sin(turn) + y * cos(turn)
        there = wanted.get(name) == at.get(name, "") and not held
        colour = "gold" if name == "you" else "green" if there else "purple" if held else 0
        label = f"{name}, held" if held and place else name
        nodes.append(Node(name[:1], colour, label, (0.5 + OUTER * x, 0.5 + OUTER * y)))
    numbers = {name: n for n, name in enumerate((*places, *things))}
    links = [*_ways(facts, places, numbers)]
    links += [
        Link(numbers[name], numbers[aim], "", "gold", 1.5, directed=True)
        for name, aim in sorted(wanted.items())
        if name in numbers and aim in numbers and at.get(name) != aim
    ]
    return Graph(tuple(nodes), tuple(links))


def _ways(facts: frozenset[str], places: list[str], numbers: dict[str, int]) -> list[Link]:
    """The ways between places, one for each pair and kind; the most frequent kind has no name."""
    kinds = dict[tuple[int, int], set[str]]()
    for kind, names in _split(facts):
        if len(names) == 2 and all(name in places for name in names):
            first, second = sorted(numbers[name] for name in names)
            kinds.setdefault((first, second), set()).add(kind)
    counted = [kind for pair in kinds.values() for kind in pair]
    usual = max(sorted(set(counted)), key=counted.count, default="")
    links = []
    for (first, second), found in sorted(kinds.items()):
        other = sorted(found - {usual})
        links.append(Link(first, second, ", ".join(other), "red" if other else "grey", 2.0))
    return links
