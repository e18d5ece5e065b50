"""Vehicle routing: the player builds tours, which are the first population of a genetic algorithm.

The player appends one customer after another; when all are served, the next tour begins. When
`tours` tours are built, a genetic algorithm starts from them (and from random orders that fill the
population) and runs for `budget` children. The return is the mean over the checkpoints 0, 1 %, 10 %
and 100 % of the budget of reference / length, where the reference is the same algorithm from Clarke
and Wright's savings with the whole budget. So both a good start and a start that leads on pay.

A random start earns more of this with few customers than with many. `pays="share"` pays the share
of the way from a random start (0) to the reference (1), which is comparable between sizes.

After Greenberg, Sitawarin et al., "Accelerating Vehicle Routing via AI-Initialized Genetic
Algorithms" (EARLI), 2025, where a policy trained by reinforcement learning makes the initial
population and quality is reported against time; here against evaluated children, so that results
do not depend on the machine.

Checked: the algorithm finds the published optimum of E-n22-k4 (375), and its lengths equal those of
the verifier of `cvrp`.

Left out: time windows, the training of the policy, and clock time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

from palestra import EpisodeRecord, Integer, Meta, Option, Rng, TextAction, environment, metric
from palestra.kernel.rng import check_seed
from palestra.scene import Graph, Link, Node, Part

from palestra_tasks.desk import Final, Reply, TaskGame, TaskState, solo
from palestra_tasks.routing.genetic import Order, Routing, evolve, savings_order, split

CHECKPOINTS = (0.0, 0.01, 0.1, 1.0)  # shares of the budget
MOST = 60  # customers
LEAST_WAY = 0.02  # from a random start to the reference, as three customers may leave none


class Visit(TextAction, frozen=True):
    """Append a customer to the tour."""

    customer: int


@lru_cache(maxsize=512)
def draw_routing(customers: int, layout: str, seed: int) -> Routing:
    """An instance: places uniform in a square of side 100, or in three clusters."""
    rng = Rng.seeded(seed, 3)
    middles = [(rng.between(15, 85), rng.between(15, 85)) for _ in range(3)]
    points = [(50, 50)]
    for number in range(customers):
        x, y = rng.below(101), rng.below(101)
        if layout == "clustered":
            mx, my = middles[number % 3]
            x, y = mx + (x - 50) // 5, my + (y - 50) // 5
        points.append((max(0, min(100, x)), max(0, min(100, y))))
    demands = (0, *(rng.between(1, 9) for _ in range(customers)))
    return Routing(tuple(points), demands, max(9, -(-sum(demands) * 4 // 13)))


@lru_cache(maxsize=512)
def reference(routing: Routing, budget: int, seed: int) -> int:
    """The length that the algorithm reaches from Clarke and Wright's savings."""
    start = savings_order(routing.distances(), routing)
    return evolve(routing, [start], budget, Rng.seeded(seed, 11))[-1]


def mean_ratio(curve: Sequence[int], aim: int) -> float:
    """The mean of aim / length over the checkpoints; a curve has a length for each child."""
    at = [curve[round(share * (len(curve) - 1))] for share in CHECKPOINTS]
    return sum(min(2.0, aim / length) for length in at) / len(at)


@lru_cache(maxsize=512)
def random_ratio(routing: Routing, budget: int, seed: int) -> float:
    """The mean ratio of the algorithm that starts from random orders alone."""
    curve = evolve(routing, [], budget, Rng.seeded(seed, 17))
    return mean_ratio(curve, reference(routing, budget, seed))


@dataclass(slots=True, kw_only=True)
class RouteState(TaskState):
    """The state of a population under construction."""

    seed: int
    tour: Order = ()
    tours: tuple[Order, ...] = ()
    lengths: tuple[int, ...] = ()


@environment(
    "tasks/VehicleRouting-v0",
    family="text",
    tags=("optimisation", "perfect-information"),
    paper=(
        "Greenberg et al. (2025), Accelerating Vehicle Routing via AI-Initialized Genetic "
        "Algorithms"
    ),
    splits={
        "train": {"customers": 12},
        "larger": {"customers": 30},
        "clustered": {"customers": 20, "layout": "clustered"},
        "share": {"customers": 30, "pays": "share"},
    },
)
@dataclass(frozen=True)
class VehicleRouting(TaskGame[RouteState]):
    """One player builds tours that a genetic algorithm starts from.

    Action c visits customer c + 1. An observation is a float32 vector: for each customer its x and
    y, its demand as a share of the capacity and whether it is in the tour, then x and y of the
    last place, the load since the depot (as routes are cut greedily), tours left.
    """

    customers: Annotated[int, Meta(ge=3, le=MOST, description="customers to serve")] = 12
    tours: Annotated[int, Meta(ge=1, le=20, description="tours to build")] = 2
    budget: Annotated[
        int, Meta(ge=10, le=5000, description="children that the genetic algorithm evaluates")
    ] = 200
    layout: Annotated[Literal["uniform", "clustered"], Meta(description="where customers live")] = (
        "uniform"
    )
    pays: Annotated[
        Literal["ratio", "share"],
        Meta(
            description="ratio: reference / length; share: how far that is on the way from a "
            "random start, 0, to the reference, 1"
        ),
    ] = "ratio"

    rules_text = """
        Vehicles with one capacity serve customers from a depot. You build the tours from which a
        genetic algorithm starts.

        Each turn name the next customer, as in Visit(customer=3). When all customers are named, the
        order is cut into routes in the best way, and you begin another tour; different tours help
        the algorithm. When all tours are built, the algorithm runs. You are paid the mean of
        reference / length at four times: at its start, and after 1 %, 10 % and all of its budget.
    """
    perfect_information = True
    action_types = (Visit,)
    feature_bounds = (0.0, 100.0)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (-1.0 if self.pays == "share" else 0.0, 2.0)

    def rules_for(self, seat: int) -> str:
        if self.pays == "ratio":
            return super().rules_for(seat)
        return (
            f"{super().rules_for(seat)}\nOf this mean you are paid the share of the way from that "
            "of random tours, 0, to that of the reference, 1."
        )

    @property
    def menu(self) -> tuple[TextAction, ...]:  # type: ignore[override]
        return tuple(Visit(customer) for customer in range(1, self.customers + 1))

    @property
    def turns(self) -> int:
        """Actions of an episode: every customer once in each tour."""
        return self.customers * self.tours

    @property
    def num_features(self) -> int:
        return 4 * self.customers + 4

    def initial_state(self, seed: int | None = None) -> RouteState:
        rng = Rng.seeded(check_seed(seed))
        return RouteState(rng=rng, seed=rng.word())

    def routing(self, state: RouteState) -> Routing:
        return draw_routing(self.customers, self.layout, state.seed)

    def statement(self, state: RouteState, seat: int) -> str:
        routing = self.routing(state)
        places = [
            f"{c}: at {routing.points[c]}, demand {routing.demands[c]}" for c in routing.customers
        ]
        head = f"Depot at {routing.points[0]}, capacity {routing.capacity}. Customers:"
        return "\n".join([head, *places])

    def notes(self, state: RouteState, seat: int) -> tuple[str, ...]:
        lines = [f"Tour {n + 1} has length {length}." for n, length in enumerate(state.lengths)]
        if len(state.tours) < self.tours:
            now = " ".join(map(str, state.tour)) or "nobody yet"
            lines.append(f"Tour {len(state.tours) + 1} of {self.tours}, so far: {now}")
        return tuple(lines)

    def options(self, state: RouteState, seat: int) -> tuple[Option, ...]:
        free = [c for c in range(1, self.customers + 1) if c not in state.tour]
        return tuple(
            Option(Visit, {"customer": Integer(low, high)}) for low, high in _stretches(free)
        )

    def respond(self, state: RouteState, seat: int, action: Any) -> Reply:
        state.tour = (*state.tour, action.customer)
        if len(state.tour) < self.customers:
            return Reply(f"Customer {action.customer} is next.", kind="visit")
        routing = self.routing(state)
        length, routes = split(routing.distances(), routing, state.tour)
        state.tours, state.tour = (*state.tours, state.tour), ()
        state.lengths = (*state.lengths, length)
        text = f"Tour {len(state.tours)} has length {length}, in {len(routes)} routes."
        return Reply(text, {"length": length}, kind="tour")

    def settle(self, state: RouteState) -> Final:
        routing = self.routing(state)
        curve = evolve(routing, state.tours, self.budget, Rng.seeded(state.seed, 13))
        aim = reference(routing, self.budget, state.seed)
        at = [curve[round(share * self.budget)] for share in CHECKPOINTS]
        score = mean_ratio(curve, aim)
        if self.pays == "share":
            low = random_ratio(routing, self.budget, state.seed)
            score = max(-1.0, min(2.0, (score - low) / max(LEAST_WAY, 1.0 - low)))
        reason = f"Lengths {', '.join(map(str, at))}; reference {aim}."
        return solo(score, reason, lengths=at, reference=aim)

    def features(self, state: RouteState, seat: int) -> list[float]:
        routing, seen = self.routing(state), []
        for c in routing.customers:
            x, y = routing.points[c]
            share = routing.demands[c] / routing.capacity
            seen += [float(x), float(y), share, float(c in state.tour)]
        load = 0
        for c in state.tour:
            demand = routing.demands[c]
            load = demand if load + demand > routing.capacity else load + demand
        x, y = routing.points[state.tour[-1] if state.tour else 0]
        return [*seen, float(x), float(y), load / routing.capacity, self.tours - len(state.tours)]

    def picture(self, state: RouteState, seat: int | None) -> tuple[Part, ...]:
        routing = self.routing(state)
        nodes = [
            Node(str(c), "gold" if c == 0 else 0, place=(x / 100, y / 100))
            for c, (x, y) in enumerate(routing.points)
        ]
        tour = state.tour or (state.tours[-1] if state.tours else ())
        routes = split(routing.distances(), routing, tour)[1] if tour else []
        links = [
            Link(a, b) for route in routes for a, b in zip((0, *route), (*route, 0), strict=True)
        ]
        return (Graph(tuple(nodes), tuple(links)),)


def _stretches(numbers: list[int]) -> list[tuple[int, int]]:
    """Sorted numbers as ranges."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges


@metric(
    "routing-gap",
    measures=("tasks/VehicleRouting-v0",),
    bounds=(-1.0, None),
    better="lower",
)
def gap(record: EpisodeRecord) -> dict[str, float] | None:
    """How much longer than the reference the best tour is, at each share of the budget."""
    for event in record.events:
        if "verdict" in event.data:
            found = event.data["verdict"]
            pairs = zip(CHECKPOINTS, found["lengths"], strict=True)
            return {f"{share:g}": length / found["reference"] - 1 for share, length in pairs}
    return None
