"""Assigning jobs to agents who can carry only so much."""

from __future__ import annotations

from typing import Any

from palestra import Rng

from palestra_tasks.combinatorial.linear import Linear
from palestra_tasks.combinatorial.problem import (
    Infeasible,
    Instance,
    Problem,
    check_list,
    exact,
    register,
    relaxation_bound,
    whole,
)


def assignment_cost(instance: Instance, answer: Any) -> float:
    costs, loads = instance["costs"], instance["loads"]
    jobs = len(costs[0])
    agents = [whole(a, 0, len(costs) - 1, "agent") for a in check_list(answer, "the answer", jobs)]
    for agent, capacity in enumerate(instance["capacities"]):
        load = sum(loads[agent][j] for j, a in enumerate(agents) if a == agent)
        if load > capacity:
            raise Infeasible(f"agent {agent} carries {load}, more than {capacity}")
    return float(sum(costs[a][j] for j, a in enumerate(agents)))


def assignment_model(instance: Instance) -> Linear:
    model = Linear()
    given = [[model.switch(float(cost)) for cost in row] for row in instance["costs"]]
    for job in range(len(given[0])):
        model.row({row[job]: 1 for row in given}, 1, 1)
    for row, loads, capacity in zip(given, instance["loads"], instance["capacities"], strict=True):
        model.row({v: float(load) for v, load in zip(row, loads, strict=True)}, high=capacity)
    return model


def draw_assignment(rng: Rng, size: int) -> Instance:
    """Capacities leave room for one hidden assignment, so that every instance is feasible."""
    agents = max(3, size // 4)
    costs = [[rng.between(10, 50) for _ in range(size)] for _ in range(agents)]
    loads = [[rng.between(5, 25) for _ in range(size)] for _ in range(agents)]
    planted = [job % agents for job in range(size)]
    capacities = [
        sum(loads[a][j] for j in range(size) if planted[j] == a) + rng.below(8)
        for a in range(agents)
    ]
    hidden = list(range(agents))
    rng.shuffle(hidden)
    return {
        "costs": [costs[a] for a in hidden],
        "loads": [loads[a] for a in hidden],
        "capacities": [capacities[a] for a in hidden],
    }


ASSIGNMENT = register(
    Problem(
        "assignment",
        "min",
        "Generalised assignment: every job goes to one agent. Job j costs instance['costs'][a][j] "
        "and takes instance['loads'][a][j] of agent a, who has instance['capacities'][a]. Return "
        "the agent of every job, a list. Minimise the cost.",
        draw_assignment,
        assignment_cost,
        lambda i: float(round(exact(assignment_model(i)))),
        lambda i: relaxation_bound(assignment_model(i)),
        """
def solve(instance):
    costs, loads = instance['costs'], instance['loads']
    agents, jobs = len(costs), len(costs[0])
    tried = [0]
    def place(order, at, room, given):
        if at == len(order):
            return given
        tried[0] += 1
        if tried[0] > 3000:
            return None
        j = order[at]
        for a in sorted(range(agents), key=lambda a: (costs[a][j], a)):
            if loads[a][j] <= room[a]:
                rest = room[:]
                rest[a] -= loads[a][j]
                found = place(order, at + 1, rest, {**given, j: a})
                if found is not None:
                    return found
        return None
    order = sorted(range(jobs), key=lambda j: -min(loads[a][j] for a in range(agents)))
    found = place(order, 0, list(instance['capacities']), {})
    return [found[j] for j in range(jobs)]
""",
        "def solve(instance):\n"
        "    agents = len(instance['costs'])\n"
        "    return [j % agents for j in range(len(instance['costs'][0]))]\n",
        (9, 14),
    )
)
