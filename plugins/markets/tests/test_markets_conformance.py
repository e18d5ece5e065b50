"""Every market through the conformance kit."""

from __future__ import annotations

import pytest
from palestra.testing import check, conformance

VARIANTS = {
    "markets/Bargaining-v0": {"complete": False, "unbounded": True, "total": 20},
    "markets/PriceNegotiation-v0": {"complete": False, "unbounded": True, "outside_1": 5},
    "markets/Persuasion-v0": {
        "complete": False,
        "good_worth": None,
        "myopic": True,
        "continuation": 0.9,
    },
    "markets/Magentic-v0": {
        "num_players": 7,
        "trade": "contractors",
        "search": "filtered",
        "manipulation": "fear",
    },
    "markets/SealedAuction-v0": {"format": "all-pay", "reserve": 20, "rounds": 5},
    "markets/PositionAuction-v0": {
        "mechanism": "vcg",
        "num_players": 4,
        "click_rates": (3.5, 2, 1, 1, 0.5),
    },
    "markets/Trading-v0": {"shares": 2, "days": 8, "fee": 30.0, "questions": 2, "orders": 2},
    "markets/TaxEconomy-v0": {
        "num_players": 4,
        "elections": True,
        "altruists": 1,
        "adversaries": 1,
        "aversion": 1.0,
        "years": 2,
        "steps": 2,
    },
    "markets/Hiring-v0": {
        "num_players": 4,
        "accuracies": (0.5, 0.9),
        "costs": (0, 300),
        "overlap": 0.3,
        "known": False,
    },
    "markets/ContentAuction-v0": {"reader": "cascade", "mechanism": "gsp", "positions": 3},
    "markets/HouseAuction-v0": {"format": "vickrey", "knowledge": "favourite", "houses": 3},
    "markets/Population-v0": {"num_players": 4, "people": 300, "weeks": 3, "infected": 0.1},
    "markets/Screening-v0": {"theme": "fraud", "cases": 4, "bias": 0.4, "chance": 0.3},
    "markets/TaskAuction-v0": {"num_players": 3, "second": True, "rounds": 5},
    "markets/Composer-v0": {"offers": 6, "budget": 80, "kinds": 3, "trials": 2, "probes": 50},
    "markets/Shopping-v0": {"information": "prices", "products": 3, "trips": 3, "leaning": 0.5},
    "markets/DoubleAuction-v0": {
        "max_price": 30,
        "lot": 3,
        "periods": 2,
        "rounds": 30,
        "improve": True,
    },
}

test_conformance = conformance("palestra_markets", variants=VARIANTS)

FIXED = {
    "demand": ((30, 20, 10), (25, 15, 5)),
    "supply": ((5, 12, 24), (8, 16, 28)),
    "num_players": 4,
    "max_price": 30,
    "rounds": 30,
}


@pytest.mark.parametrize(
    "name",
    ["secrets_stay_hidden", "transcripts_keep_secrets", "compiled_equals_interpreted", "pickles"],
)
def test_a_fixed_schedule_conforms_too(name: str) -> None:
    (verdict,) = check("markets/DoubleAuction-v0", only=[name], **FIXED)
    assert verdict.status == "passed", verdict.detail


@pytest.mark.parametrize(
    "name", ["secrets_stay_hidden", "transcripts_keep_secrets", "sealed_moves_stay_sealed"]
)
def test_houses_at_falling_prices_conform_too(name: str) -> None:
    (verdict,) = check("markets/HouseAuction-v0", only=[name], format="dutch", increment=200)
    assert verdict.status == "passed", verdict.detail


@pytest.mark.parametrize("name", ["record_replays_exactly", "pickles", "clone_is_independent"])
def test_contacts_of_ones_own_conform_too(name: str) -> None:
    pairs = tuple((n, n + 1) for n in range(49))
    options = {"people": 50, "weeks": 3, "infected": 0.1}
    (verdict,) = check("markets/Population-v0", only=[name], contacts=pairs, **options)
    assert verdict.status == "passed", verdict.detail


@pytest.mark.parametrize(
    "name", ["secrets_stay_hidden", "transcripts_keep_secrets", "record_replays_exactly"]
)
def test_experts_paid_by_each_others_reports_conform_too(name: str) -> None:
    (verdict,) = check("markets/Hiring-v0", only=[name], verified=False, overlap=0.5)
    assert verdict.status == "passed", verdict.detail
