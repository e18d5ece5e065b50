"""Numbers over a record of composed systems."""

from __future__ import annotations

from palestra import EpisodeRecord, metric

from palestra_markets.composer.components import Component, best_value


@metric(
    "composition-ratio",
    measures=("markets/Composer-v0",),
    summary="The value of what was bought, over the most that the budget could buy.",
)
def composition_ratio(record: EpisodeRecord) -> float:
    """The value of what was bought, over the most that the budget could buy; 0 before the end."""
    told = [e.data for e in record.events if e.kind == "reveal" and "components" in e.data]
    if not told:
        return 0.0
    components = [Component(*row) for row in told[0]["components"]]
    got = sum(components[number].value for number in told[0]["bought"])
    options = record.options
    best = best_value(components, int(options["budget"]), int(options["kinds"]))
    return got / best if best else 1.0


@metric(
    "budget-used",
    measures=("markets/Composer-v0",),
    summary="What was spent on components and trials, over the budget.",
)
def budget_used(record: EpisodeRecord) -> float:
    """What was spent on components and trials, over the budget."""
    left = [event.data["left"] for event in record.events if event.kind == "decision"]
    return 1 - float(left[-1]) / float(record.options["budget"]) if left else 0.0
