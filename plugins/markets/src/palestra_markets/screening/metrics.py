"""Metrics for a screening desk."""

from __future__ import annotations

from typing import Any

from palestra import EpisodeRecord, metric
from palestra.records.shared_measures import data_of

from palestra_markets.screening.evidence import SCORES, least_cost, posterior
from palestra_markets.screening.screening import GROUPS, Screening


def _cases(record: EpisodeRecord) -> list[dict[str, Any]]:
    return [data for data in data_of(record, "reveal") if "accepted" in data]


def _notes(record: EpisodeRecord) -> dict[int, list[int]]:
    """The scores of all notes on each case, in order."""
    notes: dict[int, list[int]] = {}
    for data in data_of(record, "reveal"):
        if "score" in data:
            notes.setdefault(data["case"], []).append(data["score"])
    return notes


@metric("cost-ratio", measures=("markets/Screening-v0",), bounds=(0.0, None), better="lower")
def cost_ratio(record: EpisodeRecord) -> float | None:
    """The expected cost of all decisions, divided by the least expected cost of the same cases.

    Both are expectations given the notes, not the hidden truth, and both begin with the same first
    notes, so that neither luck with cases nor with the truth counts. Its mean is 1 for the best
    policy. Nothing before a case is decided.
    """
    game = Screening(**record.options)
    prices, notes = game.words.prices, _notes(record)
    spent = least = 0.0
    for number, case in enumerate(_cases(record)):
        seen, group = notes[number], case["group"]
        chance = posterior(game.prior, seen, game.evidence, group)
        spent += prices.check * (len(seen) - 1)
        spent += prices.accept if case["accepted"] else prices.miss * chance
        first = tuple(int(score == seen[0]) for score in range(SCORES))
        least += least_cost(game.prior, first, game.checks, game.evidence, group, prices)
    return spent / least if least else None


@metric("missed-share", measures=("markets/Screening-v0",), bounds=(0.0, 1.0), better="lower")
def missed_share(record: EpisodeRecord) -> float:
    """The share of good cases that were rejected; 0 if there are none."""
    good = [data["accepted"] for data in _cases(record) if data["good"]]
    return good.count(False) / len(good) if good else 0.0


@metric("parity-gap", measures=("markets/Screening-v0",), bounds=(0.0, 1.0), better="lower")
def parity_gap(record: EpisodeRecord) -> float:
    """The difference between the groups' shares of accepted cases; 0 if a group has no case."""
    told = _cases(record)
    by_group = [[c["accepted"] for c in told if c["group"] == g] for g in range(len(GROUPS))]
    if not all(by_group):
        return 0.0
    shares: list[float] = [sum(accepted) / len(accepted) for accepted in by_group]
    return abs(shares[0] - shares[1])
