"""The paper's own files: read as they are, traded to the optimum, refused where they do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pytest
import yaml
from palestra import InvalidOption, Rng
from palestra_markets.magentic.marketplace import Magentic
from palestra_markets.magentic.original import named_in, read_original
from scipy.optimize import linear_sum_assignment

CUSTOMERS: list[dict[str, Any]] = [
    {
        "id": "customer_0001",
        "name": "Ann",
        "request": "Could you find me soup?",
        "menu_features": {"Red Soup": 3.99, "Red Soup with Bread": 9.49},
        "amenity_features": ["Garden"],
    },
    {"menu_features": {"Bread, plain": 5.0}, "amenity_features": []},
]
MENU = {"Red Soup": 4.0, "Red Soup with Bread": 10.78, "Bread, plain": 2.5}
BUSINESSES: list[dict[str, Any]] = [
    {
        "name": name,
        "description": "Good\n  food.",
        "rating": rating,
        "menu_features": menu,
        "amenity_features": {"Garden": garden, "Wifi": True},
        "min_price_factor": factor,
    }
    for name, rating, menu, garden, factor in (
        ("A", 1.0, MENU, True, 0.78),
        ("B", 0.5, MENU, False, 0.6),
        ("C", 0.9, {"Red Soup": 1.0}, True, 0.9),
    )
]
OPTIONS: dict[str, Any] = {"num_players": 5, "customers": 2}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for kind, files in (("customers", CUSTOMERS), ("businesses", BUSINESSES)):
        (tmp_path / kind).mkdir()
        for number, told in enumerate(files):
            text = yaml.safe_dump(told, sort_keys=False)
            (tmp_path / kind / f"{number:04}.yaml").write_text(text, "utf-8")
    return tmp_path


def test_files_are_read_as_they_are(folder: Path) -> None:
    town = read_original(str(folder))
    ann, other = town.customers
    assert ann.wants == (("Red Soup", 399), ("Red Soup with Bread", 949))
    assert (ann.needs, ann.value) == (("Garden",), 2 * 1348)
    assert other.items == ("Bread plain",)
    first = town.businesses[0]
    assert first.prices == {"Bread plain": 250, "Red Soup": 400, "Red Soup with Bread": 1078}
    assert (first.amenities, first.rating, first.floor) == (("Garden", "Wifi"), 50, 78)
    assert first.description == "A: Good food."


def test_customers_who_take_the_best_proposal_reach_the_optimum(folder: Path) -> None:
    """Each customer at the business that serves them at the lowest price, by assignment."""
    town = read_original(str(folder))
    gains = np.zeros((2, 6))  # a business may serve both
    for row, customer in enumerate(town.customers):
        for column, business in enumerate(town.businesses):
            price = business.least_price(customer.items)
            if price is not None and customer.is_met_by(business, customer.items):
                gains[row, column] = gains[row, 3 + column] = customer.value - price
    best = gains[linear_sum_assignment(gains, maximize=True)]
    assert best.min() > 0
    for seed in range(4):
        (record,) = palestra.play(
            "markets/Magentic-v0",
            agents=["market-customer"] * 2 + ["market-business"] * 3,
            seed=seed,
            data=str(folder),
            **OPTIONS,
        )
        assert list(record.returns[:2]) == best.tolist()
        assert palestra.measure(record)["welfare-ratio"] == 1.0
        palestra.verify(record)


def test_a_name_inside_a_longer_one_is_not_read() -> None:
    names = ("Red Soup", "Bread", "Red Soup with Bread")
    assert named_in("I would like: Red Soup with Bread.", names) == ("Red Soup with Bread",)
    assert named_in("Bread and Red Soup", names) == ("Red Soup", "Bread")


@pytest.mark.parametrize("listing", ["card", "menu"])
def test_what_is_hidden_is_redrawn_among_what_is_there(folder: Path, listing: str) -> None:
    game = Magentic(data=str(folder), listing=listing, **OPTIONS)  # type: ignore[arg-type]
    state = game.initial_state(1)
    seen = [game.determinize(state, 0, Rng(seed)).businesses for seed in range(20)]
    assert len({repr(town) for town in seen}) > 1
    cards = {tuple((b.rating, b.description) for b in town) for town in seen}
    assert cards == {tuple((b.rating, b.description) for b in state.businesses)}
    assert game.determinize(state, 0, Rng(1)).customers[0] == state.customers[0]


def test_a_folder_that_does_not_fit_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="play it with num_players=5 and customers=2"):
        Magentic(data=str(folder))
    with pytest.raises(InvalidOption, match="there are no YAML files in"):
        Magentic(data=str(tmp_path / "elsewhere"), **OPTIONS)
    (folder / "businesses" / "0001.yaml").write_text("name: [", "utf-8")
    read_original.cache_clear()
    with pytest.raises(InvalidOption, match=r"0001\.yaml has not the form"):
        Magentic(data=str(folder), **OPTIONS)
    (folder / "businesses" / "0001.yaml").write_text("name: B", "utf-8")
    with pytest.raises(InvalidOption, match="KeyError: 'menu_features'"):
        Magentic(data=str(folder), **OPTIONS)
