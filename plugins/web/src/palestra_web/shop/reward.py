"""The graded reward of a purchase in WebShop (Yao et al., 2022, section 3.2).

    r = r_type · (matched attributes + matched options + [price ≤ cap])
              / (attributes + options + 1)

Attributes and options match if their token-set ratio is above 85, or if the title, the bullets or
the description contain them; sizes match exactly, colours by their base colour. r_type is 1 for a
product with the same search term, with a category that agrees in two parts, or with more than a
fifth of the nouns in common; otherwise 0.5. It is 0.1 with less than a tenth of the nouns in
common, and 0 with none.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from rapidfuzz import fuzz

from palestra_web.shop.catalogue import Product
from palestra_web.shop.words import BASE_COLOURS

ALIKE = 85  # token-set ratio, in percent, above which texts match


class PurchaseGoal(msgspec.Struct, frozen=True):
    """The purchase that an instruction asks for."""

    product: Product  # one that fits
    attributes: tuple[str, ...]
    options: dict[str, str]  # the value wanted, by the option's name
    cap: int  # greatest price, cents


class Grade(msgspec.Struct, frozen=True):
    """The parts of a reward."""

    type: float  # how well the kind of product fits: r_type above
    attributes: int  # how many match
    options: int  # how many match
    price: int  # 1 if it is within the cap
    total: float  # the reward: 1 for a perfect purchase


def grade(bought: Product, goal: PurchaseGoal, picked: Mapping[str, str]) -> Grade:
    """Grade a purchase; `picked` are the values picked, by option."""
    kind = type_reward(bought, goal.product)
    attributes = sum(has_attribute(bought, wanted) for wanted in goal.attributes)
    wanted_options = [base_colour(value) for value in goal.options.values()]
    matched = sum(has_option(bought, name, v, wanted_options) for name, v in picked.items())
    options = min(matched, len(goal.options))  # a word of the title does not match a second time
    price = int(bought.price <= goal.cap)
    parts = len(goal.attributes) + len(goal.options) + 1
    return Grade(kind, attributes, options, price, kind * (attributes + options + price) / parts)


def matches(
    bought: Product, goal: PurchaseGoal, picked: Mapping[str, str]
) -> dict[str, list[bool]]:
    """Which parts of a goal a purchase meets: its kind, attributes, options and price."""
    values = {name: base_colour(value) for name, value in goal.options.items()}
    return {
        "kind": [type_reward(bought, goal.product) == 1.0],
        "attributes": [has_attribute(bought, wanted) for wanted in goal.attributes],
        "options": [
            name in picked and has_option(bought, name, picked[name], [value])
            for name, value in values.items()
        ],
        "price": [bought.price <= goal.cap],
    }


def type_reward(bought: Product, wanted: Product) -> float:
    """How well the kind of a product fits: r_type above."""
    shared = len(bought.nouns & wanted.nouns) / len(wanted.nouns) if wanted.nouns else 0.2
    if shared == 0:
        return 0.0
    if shared < 0.1:
        return 0.1
    same_category = len(set(bought.category) & set(wanted.category)) >= 2
    return 1.0 if bought.query == wanted.query or same_category or shared > 0.2 else 0.5


def has_attribute(product: Product, wanted: str) -> bool:
    """Whether a product has an attribute, or its texts contain it."""
    return any(fuzz.token_set_ratio(own, wanted) > ALIKE for own in product.attributes) or (
        _texts_contain(product, wanted)
    )


def has_option(product: Product, name: str, value: str, wanted: list[str]) -> bool:
    """Whether a value picked for an option is one of those wanted, or in the product's texts."""
    value = base_colour(value)
    if name.lower() == "size":
        return value in wanted or _texts_contain(product, value)
    return any(fuzz.token_set_ratio(one, value) > ALIKE for one in wanted) or (
        _texts_contain(product, value)
    )


def _texts_contain(product: Product, words: str) -> bool:
    text = (product.title, " ".join(product.bullets), product.description)
    return any(words in part.lower() for part in text)


def base_colour(value: str) -> str:
    """The common name of a colour: "blue" for "navy blue"; other values are returned unchanged."""
    return next((colour for colour in BASE_COLOURS if colour in value), value)
