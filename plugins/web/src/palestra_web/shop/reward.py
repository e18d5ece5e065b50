"""What a purchase is worth: the graded reward of WebShop (Yao et al., 2022, section 3.2).

    r = r_type · (matched attributes + matched options + [price ≤ cap])
              / (attributes + options + 1)

Attributes and options match if their token-set ratio is above 85, or if they stand in the title,
the bullets or the description; sizes match exactly, colours by their base colour. r_type is 1 for
a product of the same search term, of a category alike in two parts, or with more than a fifth of
the nouns; else 0.5; it is 0.1 below a tenth of the nouns and 0 with none in common.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from rapidfuzz import fuzz

from palestra_web.shop.catalogue import Product
from palestra_web.shop.words import BASE_COLOURS

ALIKE = 85


class Goal(msgspec.Struct, frozen=True):
    """What is wanted: a product with attributes and options, at most `cap` cents."""

    product: Product
    attributes: tuple[str, ...]
    options: dict[str, str]
    cap: int


class Grade(msgspec.Struct, frozen=True):
    """The parts of a reward; `total` is 1 for a perfect purchase."""

    type: float
    attributes: int
    options: int
    price: int
    total: float


def grade(bought: Product, goal: Goal, picked: Mapping[str, str]) -> Grade:
    """Grade a purchase with the options picked."""
    kind = type_reward(bought, goal.product)
    attributes = sum(has_attribute(bought, wanted) for wanted in goal.attributes)
    wanted_options = [base_colour(value) for value in goal.options.values()]
    matched = sum(has_option(bought, name, v, wanted_options) for name, v in picked.items())
    options = min(matched, len(goal.options))  # a word of the title is no second match
    price = int(bought.price <= goal.cap)
    parts = len(goal.attributes) + len(goal.options) + 1
    return Grade(kind, attributes, options, price, kind * (attributes + options + price) / parts)


def type_reward(bought: Product, wanted: Product) -> float:
    shared = len(bought.nouns & wanted.nouns) / len(wanted.nouns) if wanted.nouns else 0.2
    if shared == 0:
        return 0.0
    if shared < 0.1:
        return 0.1
    same_category = len(set(bought.category) & set(wanted.category)) >= 2
    return 1.0 if bought.query == wanted.query or same_category or shared > 0.2 else 0.5


def has_attribute(product: Product, wanted: str) -> bool:
    return any(fuzz.token_set_ratio(own, wanted) > ALIKE for own in product.attributes) or (
        _written(product, wanted)
    )


def has_option(product: Product, name: str, value: str, wanted: list[str]) -> bool:
    value = base_colour(value)
    if name.lower() == "size":
        return value in wanted or _written(product, value)
    return any(fuzz.token_set_ratio(one, value) > ALIKE for one in wanted) or (
        _written(product, value)
    )


def _written(product: Product, words: str) -> bool:
    text = (product.title, " ".join(product.bullets), product.description)
    return any(words in part.lower() for part in text)


def base_colour(value: str) -> str:
    """A colour by its common name: "navy blue" is blue. Other values stay as they are."""
    return next((colour for colour in BASE_COLOURS if colour in value), value)
