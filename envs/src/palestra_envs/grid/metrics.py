"""Metrics that studies of grid worlds report."""

from __future__ import annotations

import math

from palestra import EpisodeRecord, metric


@metric(
    "throughput",
    measures=("grid/PathFinding-v0",),
    unit="goals a step",
)
def throughput(record: EpisodeRecord) -> float:
    """Goals reached by all seats, per step."""
    return float(sum(record.returns)) / max(1, sum(bool(step.turns) for step in record.steps))


@metric(
    "margin",
    measures=("grid/Delivery-v0",),
    unit="dollars an order",
)
def margin(record: EpisodeRecord) -> float:
    """Profit per order.

    Each order books repairs once, so repairs count the orders.
    """
    orders = sum("repair" in terms for step in record.steps for terms in step.rewards.values())
    return float(sum(record.returns)) / max(1, orders)


@metric(
    "break-even",
    measures=("grid/Delivery-v0",),
    unit="orders",
)
def break_even(record: EpisodeRecord) -> float:
    """The number of orders that pay for a robot; infinite if the margin is not positive."""
    profit = margin(record)
    return float(record.options["robot_price"]) / profit if profit > 0 else math.inf
