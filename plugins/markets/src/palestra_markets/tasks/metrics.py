"""Metrics for task auctions."""

from __future__ import annotations

from typing import Any

from palestra import EpisodeRecord, metric

from palestra_markets.tasks.bidding import Worker


def _tasks(record: EpisodeRecord) -> list[dict[str, Any]]:
    return [e.data for e in record.events if e.kind == "reveal" and "succeeded" in e.data]


@metric(
    "plan-success",
    measures=("markets/TaskAuction-v0",),
    bounds=(0.0, 1.0),
    better="higher",
)
def plan_success(record: EpisodeRecord) -> float:
    """The share of all tasks whose plan succeeded."""
    successes = [bool(task["succeeded"]) for task in _tasks(record)]
    return sum(successes) / max(1, len(successes))


@metric(
    "task-efficiency",
    measures=("markets/TaskAuction-v0",),
    bounds=(None, 1.0),
    better="higher",
)
def task_efficiency(record: EpisodeRecord) -> float:
    """Worth less cost of the winners' best plans, divided by that of the best agents' plans."""
    types = (event.data for event in record.opening if event.kind == "worker")
    workers = [Worker(data["skill"], data["step_cost"]) for data in types]
    worth, got, best = int(record.options["worth"]), 0.0, 0.0
    for task in _tasks(record):
        gains = [worker.surplus(task["difficulty"], worth) for worker in workers]
        best += max(0.0, *gains)
        got += gains[task["winner"]] if task["winner"] >= 0 else 0.0
    return got / best if best else 1.0


@metric(
    "largest-share",
    measures=("markets/TaskAuction-v0",),
    bounds=(0.0, 1.0),
)
def largest_share(record: EpisodeRecord) -> float:
    """The share of the awarded tasks won by the largest agent, who has the last seat."""
    winners = [int(task["winner"]) for task in _tasks(record) if task["winner"] >= 0]
    return winners.count(len(record.players) - 1) / max(1, len(winners))
