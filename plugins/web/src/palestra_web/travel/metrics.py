"""Numbers over a record of the travel desk: the metrics of TravelPlanner for one plan."""

from __future__ import annotations

from palestra import EpisodeRecord, metric


def _figure(record: EpisodeRecord, name: str) -> float:
    told = [event.data["figures"] for event in record.events if event.kind == "verdict"]
    return float(told[-1][name]) if told else 0.0


@metric(
    "plan-delivery",
    measures=("web/TravelDesk-v0",),
    summary="1 if a plan for every day was handed in.",
)
def delivery(record: EpisodeRecord) -> float:
    """1 if a plan for every day was handed in."""
    return _figure(record, "delivery")


@metric(
    "commonsense-micro",
    measures=("web/TravelDesk-v0",),
    summary="The share of checks of common sense passed.",
)
def commonsense_micro(record: EpisodeRecord) -> float:
    """The share of checks of common sense that were passed."""
    return _figure(record, "commonsense_micro")


@metric(
    "hard-micro",
    measures=("web/TravelDesk-v0",),
    summary="The share of wishes met, the budget among them.",
)
def hard_micro(record: EpisodeRecord) -> float:
    """The share of wishes, the budget among them, that were met."""
    return _figure(record, "hard_micro")


@metric(
    "final-pass",
    measures=("web/TravelDesk-v0",),
    summary="1 if every check was passed.",
)
def final_pass(record: EpisodeRecord) -> float:
    """1 if every check was passed."""
    return _figure(record, "final")
