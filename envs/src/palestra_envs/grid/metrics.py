"""Numbers over a record that studies of grid worlds report."""

from __future__ import annotations

import math

from palestra import EpisodeRecord, metric


@metric(
    "throughput",
    measures=("grid/PathFinding-v0",),
    unit="goals a step",
    summary="Goals reached by all seats, a step.",
)
def throughput(record: EpisodeRecord) -> float:
    """Goals reached by all seats, a step, in a record of `grid/PathFinding-v0`."""
    return float(sum(record.returns)) / max(1, sum(bool(step.turns) for step in record.steps))


@metric(
    "margin",
    measures=("grid/Delivery-v0",),
    unit="dollars an order",
    summary="Profit an order.",
)
def margin(record: EpisodeRecord) -> float:
    """Profit an order, in a record of `grid/Delivery-v0`; each order books repairs once."""
    orders = sum("repair" in terms for step in record.steps for terms in step.rewards.values())
    return float(sum(record.returns)) / max(1, orders)


@metric(
    "break-even",
    measures=("grid/Delivery-v0",),
    unit="orders",
    summary="Orders of this margin that pay for a robot.",
)
def break_even(record: EpisodeRecord) -> float:
    """How many orders of this margin pay for a robot; infinite where the margin is not positive."""
    profit = margin(record)
    return float(record.options["robot_price"]) / profit if profit > 0 else math.inf
