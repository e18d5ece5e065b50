"""Plots of a town in an epidemic: compartments, cases, work, policy."""

from __future__ import annotations

from palestra import EpisodeRecord

from palestra_markets.population.epidemic import STAGES
from palestra_markets.population.town import ARCHETYPES
from palestra_markets.report.plot import Plot, over_time


def plots(record: EpisodeRecord) -> list[Plot]:
    """Plots by week, and cases by day."""
    first = next(event.data["counts"] for event in record.opening if event.kind == "town")
    weeks = [event.data for event in record.events if event.kind == "reveal"]
    policies = [event.data for event in record.events if event.kind == "policy"]
    counts = [first, *(week["counts"] for week in weeks)]
    daily = [cases for week in weeks for cases in week["daily"]]
    groups = ARCHETYPES[len(record.players) - 1]
    return [
        Plot(
            "Compartments",
            [over_time(name, [row[n] for row in counts]) for n, name in enumerate(STAGES)],
            "week", "people",
        ),
        Plot("New cases", [over_time("exposed", daily, "bars", 1)], "day", "people"),
        Plot(
            "Work and policy",
            [
                over_time("out of work", [100 * w["unemployment"] for w in weeks], start=1),
                over_time("workplaces closed", [p["closed"] for p in policies], "step", 1),
            ],
            "week", "percent",
        ),
        Plot(
            "At home",
            [
                over_time(name, [week["stays"][number] for week in weeks], start=1)
                for number, name in enumerate(groups)
            ],
            "week", "percent",
        ),
    ]  # fmt: skip
