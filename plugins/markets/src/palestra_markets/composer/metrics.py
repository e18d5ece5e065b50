"""Metrics of composed systems."""

from __future__ import annotations

from typing import Any

from palestra import EpisodeRecord, metric

from palestra_markets.composer.components import Component, best_value
from palestra_markets.reading import event_data


def revealed_truth(record: EpisodeRecord) -> dict[str, Any]:
    """The data of the final event, which reveals all components; empty until then."""
    reveals = event_data(record.events, "reveal")
    return next((data for data in reveals if "components" in data), {})


@metric(
    "composition-ratio",
    measures=("markets/Composer-v0",),
    bounds=(0.0, 1.0),
    better="higher",
)
def composition_ratio(record: EpisodeRecord) -> float:
    """The value of the components bought, over the most that the budget could buy.

    It is 0 until the episode ends.
    """
    truth = revealed_truth(record)
    if not truth:
        return 0.0
    components = [Component(*row) for row in truth["components"]]
    got = sum(components[number].value for number in truth["bought"])
    options = record.options
    best = best_value(components, int(options["budget"]), int(options["kinds"]))
    return got / best if best else 1.0


@metric(
    "budget-used",
    measures=("markets/Composer-v0",),
    bounds=(0.0, 1.0),
)
def budget_used(record: EpisodeRecord) -> float:
    """The part of the budget spent on components and trials."""
    left = [data["left"] for data in event_data(record.events, "decision")]
    return 1 - float(left[-1]) / float(record.options["budget"]) if left else 0.0
