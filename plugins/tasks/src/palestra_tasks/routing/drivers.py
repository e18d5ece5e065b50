"""Scripted agents of `tasks/VehicleRouting-v0`."""

from __future__ import annotations

from typing import Any

from palestra import ScriptedAgent, Turn, agent

from palestra_tasks.routing.game import VehicleRouting, Visit
from palestra_tasks.routing.genetic import Routing, savings_order


def _read(turn: Turn[VehicleRouting]) -> tuple[Routing, set[int], int]:
    """The instance in an observation, who is in the tour, and how many tours are left."""
    seen, count = turn.observation.tolist(), turn.game.customers
    rows = [seen[4 * n : 4 * n + 4] for n in range(count)]
    points = ((50, 50), *((round(x), round(y)) for x, y, _, _ in rows))
    demands = (0, *(round(share * 10_000) for _, _, share, _ in rows))
    visited = {n + 1 for n, row in enumerate(rows) if row[3]}
    return Routing(points, demands, 10_000), visited, round(seen[-1])


@agent("routing-savings", kind="solver")
class SavingsDriver(ScriptedAgent[VehicleRouting]):
    """Builds Clarke and Wright's tour first; later tours serve the nearest customer next."""

    def choose(self, turn: Turn[VehicleRouting]) -> Any:
        routing, visited, left = _read(turn)
        if left == turn.game.tours:
            order = savings_order(routing.distances(), routing)
            return next(Visit(c) for c in order if c not in visited)
        return nearest(turn)


@agent("routing-nearest", kind="scripted")
class NearestDriver(ScriptedAgent[VehicleRouting]):
    """Always goes to the nearest customer who is left."""

    def choose(self, turn: Turn[VehicleRouting]) -> Any:
        return nearest(turn)


def nearest(turn: Turn[VehicleRouting]) -> Visit:
    """The customer nearest to the last place."""
    routing, visited, _ = _read(turn)
    seen = turn.observation.tolist()
    x, y = seen[-4], seen[-3]
    left = [c for c in routing.customers if c not in visited]
    return Visit(min(left, key=lambda c: _square(routing.points[c], x, y)))


def _square(point: tuple[int, int], x: float, y: float) -> float:
    return (point[0] - x) ** 2 + (point[1] - y) ** 2
