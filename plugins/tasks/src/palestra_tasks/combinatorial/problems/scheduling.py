"""Schedules: job shop, flow shop, and one machine with weighted tardiness."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from palestra import Rng

from palestra_tasks.combinatorial.linear import Linear
from palestra_tasks.combinatorial.problem import (
    Infeasible,
    Instance,
    Problem,
    check_list,
    exact,
    order,
    register,
    whole,
)

LATEST = 10**9  # a start time


def job_shop_length(instance: Instance, answer: Any) -> float:
    """When the last operation ends; raises `Infeasible` where two share a machine or a job."""
    jobs = instance["jobs"]
    busy: dict[int, list[tuple[int, int]]] = {}
    end = 0
    for job, starts in zip(jobs, check_list(answer, "the answer", len(jobs)), strict=True):
        ready = 0
        for (machine, time), start in zip(
            job, check_list(starts, "a job's list of starts", len(job)), strict=True
        ):
            begin = whole(start, 0, LATEST, "a start")
            if begin < ready:
                raise Infeasible(f"an operation starts at {begin}, before its job is ready")
            ready = begin + time
            busy.setdefault(machine, []).append((begin, ready))
        end = max(end, ready)
    for machine, spans in busy.items():
        for (_, over), (begin, _) in zip(sorted(spans), sorted(spans)[1:], strict=False):
            if begin < over:
                raise Infeasible(f"machine {machine} does two operations at once")
    return float(end)


def job_shop_bound(instance: Instance) -> float:
    """The longest job, or the busiest machine."""
    jobs = instance["jobs"]
    machines: dict[int, int] = {}
    for job in jobs:
        for machine, time in job:
            machines[machine] = machines.get(machine, 0) + time
    return float(max(max(machines.values()), max(sum(t for _, t in job) for job in jobs)))


def job_shop_model(instance: Instance) -> Linear:
    """Manne's disjunctive model."""
    jobs, model = instance["jobs"], Linear()
    horizon = float(sum(t for job in jobs for _, t in job))
    length = model.variable(1.0, job_shop_bound(instance), horizon)
    starts = [[model.variable(0, 0, horizon) for _ in job] for job in jobs]
    on: dict[int, list[tuple[int, int]]] = {}
    for j, job in enumerate(jobs):
        for k, (machine, time) in enumerate(job):
            after = starts[j][k + 1] if k + 1 < len(job) else length
            model.row({after: 1.0, starts[j][k]: -1.0}, time)
            on.setdefault(machine, []).append((starts[j][k], time))
    for operations in on.values():
        for (a, a_time), (b, b_time) in combinations(operations, 2):
            first = model.switch()  # 1 if a comes before b
            model.row({b: 1.0, a: -1.0, first: -horizon}, a_time - horizon)
            model.row({a: 1.0, b: -1.0, first: horizon}, b_time)
    return model


def flow_shop_length(instance: Instance, jobs: list[int]) -> float:
    durations = instance["durations"]
    ends = [0] * len(durations[0])
    for job in jobs:
        before = 0
        for machine, time in enumerate(durations[job]):
            before = ends[machine] = max(ends[machine], before) + time
    return float(ends[-1])


def neh(durations: list[list[int]]) -> list[int]:
    """Nawaz, Enscore and Ham's (1983) insertion order; ties keep the earlier job and place."""
    instance: Instance = {"durations": durations}
    found: list[int] = []
    for job in sorted(range(len(durations)), key=lambda j: -sum(durations[j])):
        places = [[*found[:at], job, *found[at:]] for at in range(len(found) + 1)]
        found = min(places, key=lambda jobs: flow_shop_length(instance, jobs))
    return found


def flow_shop_bound(instance: Instance) -> float:
    """For every machine: its work, with the shortest way to it and from it."""
    durations = instance["durations"]
    machines = range(len(durations[0]))
    return float(
        max(
            sum(job[m] for job in durations)
            + min(sum(job[:m]) for job in durations)
            + min(sum(job[m + 1 :]) for job in durations)
            for m in machines
        )
    )


def flow_shop_optimum(instance: Instance) -> float:
    """Depth-first branch and bound over permutations, from NEH's schedule."""
    durations = instance["durations"]
    machines = range(len(durations[0]))
    best = flow_shop_length(instance, neh(durations))

    def search(ends: list[int], left: tuple[int, ...]) -> None:
        nonlocal best
        if not left:
            best = min(best, float(ends[-1]))
            return
        for job in left:
            now, before = list(ends), 0
            for m in machines:
                before = now[m] = max(now[m], before) + durations[job][m]
            rest = tuple(other for other in left if other != job)
            tails = [min((sum(durations[o][m + 1 :]) for o in rest), default=0) for m in machines]
            if max(now[m] + sum(durations[o][m] for o in rest) + tails[m] for m in machines) < best:
                search(now, rest)

    search([0] * len(machines), tuple(range(len(durations))))
    return best


def tardiness(instance: Instance, jobs: list[int]) -> float:
    """The weighted sum of how late jobs end."""
    time = late = 0
    for job in jobs:
        length, weight, due = instance["jobs"][job]
        time += length
        late += weight * max(0, time - due)
    return float(late)


def tardiness_optimum(instance: Instance) -> float:
    """Dynamic programming over the sets of jobs that are done."""
    jobs = instance["jobs"]
    best = [0.0] + [float("inf")] * ((1 << len(jobs)) - 1)
    for group in range(1, 1 << len(jobs)):
        time = sum(job[0] for n, job in enumerate(jobs) if group >> n & 1)
        best[group] = min(
            best[group ^ 1 << n] + weight * max(0, time - due)
            for n, (_, weight, due) in enumerate(jobs)
            if group >> n & 1
        )
    return best[-1]


def draw_job_shop(rng: Rng, size: int) -> Instance:
    machines, jobs = size - 1, []
    for _ in range(size):
        route = list(range(machines))
        rng.shuffle(route)
        jobs.append([[machine, rng.between(1, 20)] for machine in route])
    return {"jobs": jobs}


def draw_tardiness(rng: Rng, size: int) -> Instance:
    lengths = [rng.between(1, 20) for _ in range(size)]
    total = sum(lengths)
    return {"jobs": [[p, rng.between(1, 9), rng.between(total // 5, total)] for p in lengths]}


JOB_SHOP = register(
    Problem(
        "job-shop",
        "min",
        "Job shop: instance['jobs'] has for every job its operations in order, each [machine, "
        "duration]. An operation starts when the one before it in its job has ended, and a machine "
        "does one at a time. Return the start times, a list for every job. Minimise the time at "
        "which the last operation ends.",
        draw_job_shop,
        job_shop_length,
        lambda i: float(round(exact(job_shop_model(i)))),
        job_shop_bound,
        """
def solve(instance):
    jobs = instance['jobs']
    best = None
    for rule in range(3):
        ready = [0] * len(jobs)
        free, step, starts = {}, [0] * len(jobs), [[] for _ in jobs]
        for _ in range(sum(len(job) for job in jobs)):
            def key(j):
                machine, time = jobs[j][step[j]]
                begin = max(ready[j], free.get(machine, 0))
                rest = sum(t for m, t in jobs[j][step[j]:])
                return [(begin, -rest), (begin + time, -rest), (begin, time)][rule]
            j = min((j for j in range(len(jobs)) if step[j] < len(jobs[j])), key=key)
            machine, time = jobs[j][step[j]]
            begin = max(ready[j], free.get(machine, 0))
            starts[j].append(begin)
            ready[j] = free[machine] = begin + time
            step[j] += 1
        if best is None or max(ready) < best[0]:
            best = max(ready), starts
            report(starts)
    return best[1]
""",
        """
def solve(instance):
    time, starts = 0, []
    for job in instance['jobs']:
        starts.append([])
        for machine, duration in job:
            starts[-1].append(time)
            time += duration
    return starts
""",
        (4, 5),
    )
)
FLOW_SHOP = register(
    Problem(
        "flow-shop",
        "min",
        "Permutation flow shop: every job goes over machines 0, 1, … in this order, and all "
        "machines take the jobs in one order, which you choose. instance['durations'][j][m] is the "
        "time of job j on machine m. Return the order of jobs, a list. Minimise the time at which "
        "the last job leaves the last machine.",
        lambda rng, size: {
            "durations": [[rng.between(1, 99) for _ in range(3)] for _ in range(size)]
        },
        lambda i, answer: flow_shop_length(i, order(answer, len(i["durations"]), "job")),
        flow_shop_optimum,
        flow_shop_bound,
        """
def solve(instance):
    durations = instance['durations']
    def length(order):
        ends = [0] * len(durations[0])
        for job in order:
            before = 0
            for m, time in enumerate(durations[job]):
                before = ends[m] = max(ends[m], before) + time
        return ends[-1]
    found = []
    for job in sorted(range(len(durations)), key=lambda j: -sum(durations[j])):
        found = min((found[:at] + [job] + found[at:] for at in range(len(found) + 1)), key=length)
    return found
""",
        "def solve(instance):\n    return list(range(len(instance['durations'])))\n",
        (6, 8),
    )
)
TARDINESS = register(
    Problem(
        "tardiness",
        "min",
        "One machine: instance['jobs'] has for every job [duration, weight, due time]. A job that "
        "ends t late costs weight * t. Return the order of jobs, a list. Minimise the total cost.",
        draw_tardiness,
        lambda i, answer: tardiness(i, order(answer, len(i["jobs"]), "job")),
        tardiness_optimum,
        lambda i: 0.0,
        """
def solve(instance):
    jobs = instance['jobs']
    def cost(order):
        time = late = 0
        for job in order:
            time += jobs[job][0]
            late += jobs[job][1] * max(0, time - jobs[job][2])
        return late
    order = sorted(range(len(jobs)), key=lambda j: jobs[j][2])
    better = True
    while better:
        better = False
        for i in range(len(order)):
            for j in range(i + 1, len(order)):
                other = order[:]
                other[i], other[j] = order[j], order[i]
                if cost(other) < cost(order):
                    order, better = other, True
    return order
""",
        "def solve(instance):\n    return list(range(len(instance['jobs'])))\n",
        (8, 11),
    )
)
