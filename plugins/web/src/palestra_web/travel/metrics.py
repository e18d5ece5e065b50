"""The metrics of TravelPlanner for the plan in a record of the travel desk."""

from __future__ import annotations

from palestra import EpisodeRecord, metric


def _figure(record: EpisodeRecord, name: str) -> float:
    figures = [event.data["figures"] for event in record.events if event.kind == "verdict"]
    return float(figures[-1][name]) if figures else 0.0


@metric(
    "plan-delivery",
    measures=("web/TravelDesk-v0",),
    bounds=(0.0, 1.0),
    better="higher",
)
def delivery(record: EpisodeRecord) -> float:
    """1 if a plan for every day was handed in."""
    return _figure(record, "delivery")


@metric(
    "commonsense-micro",
    measures=("web/TravelDesk-v0",),
    bounds=(0.0, 1.0),
    better="higher",
)
def commonsense_micro(record: EpisodeRecord) -> float:
    """The share of commonsense checks that the plan passes."""
    return _figure(record, "commonsense_micro")


@metric(
    "hard-micro",
    measures=("web/TravelDesk-v0",),
    bounds=(0.0, 1.0),
    better="higher",
)
def hard_micro(record: EpisodeRecord) -> float:
    """The share of wishes that the plan meets; the budget is one of them."""
    return _figure(record, "hard_micro")
