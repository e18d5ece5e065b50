"""WebShop's own files: read as its code reads them, and graded as it grades."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import palestra
import pytest
from palestra import InvalidOption, Rng
from palestra_web.shop.catalogue import Draw
from palestra_web.shop.original import named_options, options_of, price_of, read_original
from palestra_web.shop.reward import grade
from palestra_web.shop.shop import Shop

ROWS: list[dict[str, Any]] = [
    {
        "asin": "B000000001",
        "name": "Harbour Slim Fit Cotton Shirt",
        "query": " Men's Shirts ",
        "category": "fashion",
        "product_category": "Clothing › Men › Shirts",
        "small_description": ["Machine wash.", "Made of cotton."],
        "full_description": "A shirt with long sleeves.",
        "pricing": "$19.99$24.99",
        "customization_options": {
            "Color": [{"value": " Navy/White "}, {"value": "red"}, {"value": "Red"}],
            "Size": [{"value": "small"}, {"value": "xx-large"}],
            "Fit": None,
        },
        "images": ["x.jpg"],
    },
    {
        "asin": "B000000002",
        "name": "Oak Desk Lamp",
        "query": "lamps",
        "category": "home",
        "product_category": "Home › Lighting › Lamps",
        "small_description": "Dims in three steps.",
        "full_description": "Runs on batteries.",
        "pricing": None,
        "customization_options": {},
        "images": ["y.jpg"],
    },
    {"asin": "nan"},
    {"asin": "far-too-long"},
]
ROWS.append(ROWS[0])  # listed twice
ATTRIBUTES = {
    "B000000001": {
        "attributes": ["slim fit", "machine wash"],
        "instruction": "Find me men's shirts that are slim fit",
        "instruction_attributes": ["slim fit"],
    },
    "B000000002": {
        "attributes": ["battery powered"],
        "instruction": "Find me lamps",
        "instruction_attributes": ["battery powered", "slim fit"],
    },
}
HUMAN = {
    "B000000001": [
        {
            "instruction": "I need a red slim shirt, size xx-large.",
            "instruction_attributes": ["slim fit", "long sleeve"],
            "instruction_options": ["xx-large", "red"],
        },
        {"instruction": "A shirt.", "instruction_attributes": [], "instruction_options": []},
    ],
    "B00000000X": [
        {"instruction": "Gone.", "instruction_attributes": ["a"], "instruction_options": []}
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "items_shuffle_1000.json").write_text(json.dumps(ROWS), "utf-8")
    (tmp_path / "items_ins_v2_1000.json").write_text(json.dumps(ATTRIBUTES), "utf-8")
    (tmp_path / "items_human_ins.json").write_text(json.dumps(HUMAN), "utf-8")
    return tmp_path


def test_products_are_read_as_webshop_reads_them(folder: Path) -> None:
    shirt, lamp = read_original(str(folder), 0).catalogue.products
    assert (shirt.query, lamp.query) == ("men's shirts", "lamps")
    assert shirt.category == ("Clothing", "Men", "Shirts")
    assert shirt.options == {"color": ("navy | white", "red"), "size": ("small", "xx-large")}
    assert 1999 <= shirt.price <= 2499
    assert lamp.price == 10_000
    assert lamp.bullets == ("Dims in three steps.",)
    assert lamp.options == {}


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("$1,234.50", 123450, 123450), ("$5.00 to $7.50", 500, 750), ("", 10_000, 10_000)],
)
def test_prices_and_ranges(text: str, low: int, high: int) -> None:
    assert {price_of(text, Draw(seed)) for seed in range(20)} <= set(range(low, high + 1))


def test_peoples_options_are_found_among_the_products(folder: Path) -> None:
    shirt = read_original(str(folder), 0).catalogue.products[0]
    assert named_options(["xx-large", "red"], shirt) == {"size": "xx-large", "color": "red"}
    assert named_options(["red", "wool"], shirt) == {"color": "red", "option 2": "wool"}
    assert named_options({"Color": "Red"}, shirt) == {"color": "red"}
    assert options_of({"A": [], "B": [{"value": "x/y"}]}) == {"b": ("x | y",)}


def test_people_ask_for_what_is_there_and_a_purchase_is_graded(folder: Path) -> None:
    """By WebShop's formula: type 1, two attributes, two options and the price of five parts."""
    game = Shop(data=str(folder))
    state = game.initial_state(3)
    goal = state.data.goal
    assert state.data.phrases[0].startswith("I need a red slim shirt, size xx-large, and price ")
    assert goal.cap > goal.product.price
    shirt, lamp = game.catalogue.products
    assert grade(shirt, goal, {"color": "red", "size": "xx-large"}).total == 1.0
    assert grade(shirt, goal, {"color": "red"}).total == 4 / 5
    assert grade(shirt, goal, {"color": "navy | white", "size": "small"}).total == 3 / 5
    assert grade(lamp, goal, {}).total == 0.0
    other = game.determinize(state, 0, Rng(1))
    assert other.data.phrases == state.data.phrases


def test_generated_instructions_name_each_combination_and_weigh_rare_attributes(
    folder: Path,
) -> None:
    (folder / "items_human_ins.json").unlink()
    read_original.cache_clear()
    asked = read_original(str(folder), 0).instructions
    assert [one.product for one in asked] == [0, 0, 0, 0, 1]
    text = "Find me men's shirts that are slim fit with color: red, and size: small"
    assert text in [one.text for one in asked]
    assert [one.weight for one in asked] == [1 / 5] * 4 + [(1 + 1 / 5) / 2]
    game, drawn = Shop(data=str(folder)), 0
    for seed in range(300):
        drawn += game.initial_state(seed).data.goal.product.number == 1
    assert abs(drawn / 300 - 0.6 / 1.4) < 4 * (0.6 / 1.4 * 0.8 / 1.4 / 300) ** 0.5


def test_an_episode_is_played_and_replayed(folder: Path) -> None:
    options = {"data": str(folder)}
    (record,) = palestra.play("web/Shop-v0", agents="rule-shopper", seed=1, **options)
    assert record.options["data"] == str(folder)
    palestra.verify(record)
    assert 0 < record.returns[0] < 1  # the right product, its options left open


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / "items_ins_v2_1000.json").unlink(), "must hold one file items_i"),
        (lambda folder: (folder / "items_shuffle.json").write_text("[]"), "and has 2"),
        (lambda folder: (folder / "items_shuffle_1000.json").write_text("{"), "WebShop's form"),
        (lambda folder: (folder / "items_shuffle_1000.json").write_text("[{}]"), "'asin'"),
        (lambda folder: (folder / "items_shuffle_1000.json").write_text("[]"), "is asked for"),
    ],
)
def test_files_that_do_not_fit_are_refused(folder: Path, change: Any, said: str) -> None:
    change(folder)
    with pytest.raises(InvalidOption, match=said):
        Shop(data=str(folder))
    with pytest.raises(InvalidOption, match="leave out profile"):
        Shop(data=str(folder), profile=True)
