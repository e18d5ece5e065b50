"""Plots of a tax economy: rates, taxes, inequality, welfare."""

from __future__ import annotations

from palestra import EpisodeRecord

from palestra_markets.report.plot import Plot, Series, over_time


def plots(record: EpisodeRecord) -> list[Plot]:
    """Plots by step; rates by bracket in the first and the last year."""
    steps = [event.data for event in record.events if event.kind == "reveal" and event.data]
    rates = [event.data["rates"] for event in record.events if event.kind == "rates"]
    ends = [("first year", rates[0]), ("last year", rates[-1])] if rates else []

    def path(name: str, scale: float = 1.0) -> list[float]:
        return [scale * float(data[name]) for data in steps]

    return [
        Plot(
            "Tax rates", [over_time(name, row, "points", 1) for name, row in ends],
            "bracket", "percent",
        ),
        Plot("Mean income", [over_time("income", path("mean_income", 0.01))], "step", "dollars"),
        Plot(
            "Inequality and taxes",
            [over_time("Gini of incomes", path("gini")),
             over_time("taxes over incomes", path("tax_share"))],
            "step",
        ),
        Plot("Welfare", [over_time("utility a head", path("welfare"))], "step", "utility"),
        _incomes(record),
    ]  # fmt: skip


def _incomes(record: EpisodeRecord) -> Plot:
    """Incomes of the last year from the poorest to the richest."""
    returns = [event.data["incomes"] for event in record.events if event.kind == "returns"]
    paid = sorted(income / 100 for income in returns[-1]) if returns else []
    line = Series("income", range(1, len(paid) + 1), paid, "bars")
    return Plot("Incomes at last", [line], "worker, the poorest first", "dollars")
