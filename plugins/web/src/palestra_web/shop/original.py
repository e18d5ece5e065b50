"""WebShop's own products and instructions, read from files that the player brings.

The folder holds the files of the WebShop repository, under the names its set-up gives them:
`items_shuffle*.json` (products), `items_ins_v2*.json` (attributes and generated instructions) and,
if they are to be used, `items_human_ins.json` (instructions that people wrote).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from itertools import product as combinations
from pathlib import Path
from typing import Any

import msgspec
from palestra import InvalidOption

from palestra_web.shop.catalogue import Catalogue, Draw, Product

UNPRICED = 100.0  # dollars, of a product without a price
FILES = {
    "products": "items_shuffle*.json",
    "attributes": "items_ins_v2*.json",
    "instructions": "items_human_ins.json",
}


class Instruction(msgspec.Struct, frozen=True):
    """What somebody asks for, apart from the price."""

    product: int  # number of one that fits
    text: str
    attributes: tuple[str, ...]
    options: dict[str, str]  # the value wanted, by the option's name
    weight: float  # of drawing it


class Original(msgspec.Struct, frozen=True):
    """The products and instructions of a folder."""

    catalogue: Catalogue
    instructions: tuple[Instruction, ...]


@lru_cache(2)
def read_original(folder: str, seed: int) -> Original:
    """Products and instructions of a folder; `seed` draws prices of which only a range is known.

    Raises `InvalidOption` for a folder without the files, and for files of another form.
    """
    found = {name: sorted(Path(folder).glob(pattern)) for name, pattern in FILES.items()}
    for name in ("products", "attributes"):
        if len(found[name]) != 1:
            raise InvalidOption(
                f"data={folder!r} must hold one file {FILES[name]} with WebShop's {name}, and has "
                f"{len(found[name])}; its repository's set-up script names and loads them"
            )
    try:
        kept, attributes = _read(found["products"][0]), _read(found["attributes"][0])
        human = _read(found["instructions"][0]) if found["instructions"] else {}
        draw, numbers = Draw(seed), dict[str, int]()
        products: list[Product] = []
        for row in kept:
            asin = str(row["asin"])
            if asin == "nan" or len(asin) > 10 or asin in numbers:
                continue
            numbers[asin] = len(products)
            named = attributes.get(asin, {}).get("attributes", ())
            products.append(_product(row, len(products), named, draw))
        if human:
            asked = _written_by_people(human, numbers, products)
        else:
            asked = _generated(attributes, numbers, products)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise InvalidOption(
            f"data={folder!r}: a file has not WebShop's form ({type(error).__name__}: {error})"
        ) from error
    if not asked:
        raise InvalidOption(f"data={folder!r}: no product of {found['products'][0]} is asked for")
    return Original(Catalogue(tuple(products)), tuple(asked))


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def _product(row: Mapping[str, Any], number: int, attributes: Any, draw: Draw) -> Product:
    bullets, query = row["small_description"], str(row["query"]).lower().strip()
    return Product(
        number,
        str(row["name"]),
        query,
        tuple(part.strip() for part in str(row["product_category"]).split("›")),
        "",
        tuple(map(str, attributes)),
        tuple(map(str, bullets if isinstance(bullets, list) else [bullets])),
        str(row["full_description"]),
        options_of(row.get("customization_options") or {}),
        price_of(row.get("pricing"), draw),
        0.0,
        (),
    )


def options_of(kept: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The values a product comes in, in lower case, by the option's name."""
    found = {}
    for name, values in kept.items():
        if values:
            told = [str(v["value"]).strip().replace("/", " | ").lower() for v in values]
            found[name.lower()] = tuple(dict.fromkeys(told))
    return found


def price_of(text: str | None, draw: Draw) -> int:
    """Cents of a price such as "$10.99", or drawn from a range such as "$10.99$20.00"."""
    parts = [re.sub(r"[^\d.]", "", part) for part in (text or "").split("$")[1:]]
    known = [round(100 * float(part)) for part in parts[:2] if part]
    if not known:
        return round(100 * UNPRICED)
    low, high = min(known), max(known)
    return low + draw.below(high - low + 1)


def _written_by_people(
    human: Mapping[str, Any], numbers: Mapping[str, int], products: list[Product]
) -> list[Instruction]:
    """People's instructions for products that are there; those without attributes do not count."""
    return [
        Instruction(
            numbers[asin],
            str(one["instruction"]).strip("."),
            tuple(map(str, one["instruction_attributes"])),
            named_options(one["instruction_options"], products[numbers[asin]]),
            1.0,
        )
        for asin, several in human.items()
        if asin in numbers
        for one in several
        if one["instruction_attributes"]
    ]


def named_options(wanted: Any, product: Product) -> dict[str, str]:
    """Wanted values by the option's name; people's are a list of values."""
    if isinstance(wanted, dict):
        return {str(name).lower(): str(value).lower() for name, value in wanted.items()}
    found: dict[str, str] = {}
    for place, value in enumerate(str(value).lower() for value in wanted):
        names = [n for n, values in product.options.items() if value in values and n not in found]
        found[names[0] if names else f"option {place + 1}"] = value
    return found


def _generated(
    attributes: Mapping[str, Any], numbers: Mapping[str, int], products: list[Product]
) -> list[Instruction]:
    """One instruction for each combination of options; rare attributes weigh more."""
    asked = []
    for asin, number in numbers.items():
        kept = attributes.get(asin, {})
        if not kept.get("instruction"):
            continue
        options = products[number].options
        names = sorted(options)
        for values in combinations(*(options[name] for name in names)):
            wanted = dict(zip(names, values, strict=True))
            told = ", and ".join(f"{name}: {value}" for name, value in wanted.items())
            text = f"{kept['instruction']}{f' with {told}' if told else ''}"
            named = tuple(map(str, kept["instruction_attributes"]))
            asked.append(Instruction(number, text, named, wanted, 1.0))
    count = Counter(name for one in asked for name in one.attributes)
    return [
        msgspec.structs.replace(
            one, weight=sum(1 / count[name] for name in one.attributes) / len(one.attributes)
        )
        for one in asked
    ]
