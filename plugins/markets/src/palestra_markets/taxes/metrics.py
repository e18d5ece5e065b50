"""Metrics for the tax economy."""

from __future__ import annotations

from palestra import EpisodeRecord, metric


def _mean(record: EpisodeRecord, name: str) -> float:
    values = [float(e.data[name]) for e in record.events if e.kind == "reveal" and e.data]
    return sum(values) / max(1, len(values))


@metric(
    "social-welfare",
    measures=("markets/TaxEconomy-v0",),
    better="higher",
)
def social_welfare(record: EpisodeRecord) -> float:
    """The workers' mean utility per step."""
    return _mean(record, "welfare")


@metric(
    "income-gini",
    measures=("markets/TaxEconomy-v0",),
    bounds=(0.0, 1.0),
)
def income_gini(record: EpisodeRecord) -> float:
    """The Gini coefficient of incomes before taxes, averaged over all steps."""
    return _mean(record, "gini")


@metric(
    "tax-share",
    measures=("markets/TaxEconomy-v0",),
    bounds=(None, 1.0),
)
def tax_share(record: EpisodeRecord) -> float:
    """Taxes divided by incomes, averaged over all steps."""
    return _mean(record, "tax_share")
