"""Numbers over a record of the tax economy."""

from __future__ import annotations

from palestra import EpisodeRecord, metric


def _mean(record: EpisodeRecord, name: str) -> float:
    told = [float(e.data[name]) for e in record.events if e.kind == "reveal"]
    return sum(told) / max(1, len(told))


@metric(
    "social-welfare",
    measures=("markets/TaxEconomy-v0",),
    summary="The workers' utility, a step and head.",
)
def social_welfare(record: EpisodeRecord) -> float:
    """The workers' utility, a step and head."""
    return _mean(record, "welfare")


@metric(
    "income-gini",
    measures=("markets/TaxEconomy-v0",),
    summary="The Gini coefficient of incomes before taxes, in the mean of all steps.",
)
def income_gini(record: EpisodeRecord) -> float:
    """The Gini coefficient of incomes before taxes, in the mean of all steps."""
    return _mean(record, "gini")


@metric(
    "tax-share",
    measures=("markets/TaxEconomy-v0",),
    summary="Taxes over incomes, in the mean of all steps.",
)
def tax_share(record: EpisodeRecord) -> float:
    """Taxes over incomes, in the mean of all steps."""
    return _mean(record, "tax_share")
