"""Metrics of OrderKitchen: how good an allocation is, and how well it uses the cooks."""

from __future__ import annotations

from typing import Any

import numpy as np
from palestra import EpisodeRecord, metric
from palestra.records.shared_measures import data_of, share_of

from palestra_envs.text.order_kitchen.dishes import Order, best_allocation

KITCHEN = "text/OrderKitchen-v0"


def _orders(data: dict[str, Any]) -> list[Order]:
    return [Order(tuple(portions), *rest) for portions, *rest in data["orders"]]


def services(record: EpisodeRecord) -> list[dict[str, Any]]:
    """What was done in each service that is over."""
    return [data for data in data_of(record, "reveal") if "took" in data]


def best_earnings(record: EpisodeRecord) -> float | None:
    """The most that the services of an episode could earn; None before its end."""
    ends = [data for data in data_of(record, "reveal") if "paces" in data]
    if not ends:
        return None
    total = 0.0
    for data in data_of(record, "orders"):
        gains = [[order.gain(pace) for order in _orders(data)] for pace in ends[0]["paces"]]
        total += sum(
            gains[cook][order]
            for cook, order in enumerate(best_allocation(np.array(gains, np.float64)))
            if order is not None
        )
    return total


@metric("allocation-value", measures=(KITCHEN,), bounds=(None, 1.0), better="higher")
def allocation_value(record: EpisodeRecord) -> float | None:
    """What was earned divided by the most that the shift could earn; below 0 for a loss.

    The most is the sum of the services' optima with all paces known, by the Hungarian method.
    Undefined before the end, and where nothing could be earned.
    """
    best = best_earnings(record)
    return record.returns[0] / best if best else None


@metric("orders-served", measures=(KITCHEN,), bounds=(0.0, 1.0), better="higher")
def orders_served(record: EpisodeRecord) -> float | None:
    """The share of orders that were served in time, in services that are over."""
    arrived = [len(data["orders"]) for data in data_of(record, "orders")]
    served = [len(data["served"]) for data in services(record)]
    return sum(served) / sum(arrived[: len(served)]) if served else None


@metric("cook-utilisation", measures=(KITCHEN,), bounds=(0.0, 1.0), better="higher")
def cook_utilisation(record: EpisodeRecord) -> float | None:
    """The share of cooks' time in which they work, while anybody does.

    The time of a service lasts until the last cook is done. Undefined if nobody ever works.
    """
    ticks = [data["ticks"] for data in services(record)]
    time = sum(max(one) * len(one) for one in ticks)
    return sum(map(sum, ticks)) / time if time else None


@metric("valid-allocations", measures=(KITCHEN,), bounds=(0.0, 1.0), better="higher")
def valid_allocations(record: EpisodeRecord) -> float | None:
    """The share of services in which no two cooks took the same order."""
    taken = [[n for n in data["took"] if n] for data in services(record)]
    return share_of([len(one) == len(set(one)) for one in taken])
