"""The paper's own customers and businesses, read from YAML files that the player brings.

A folder holds `customers/*.yaml` and `businesses/*.yaml`, as the folders of data in the repository
of the Magentic Marketplace do. A customer's price of an item is what it is worth to them, and a
business's factor of its prices is the lowest percentage that it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from palestra import InvalidOption, MissingExtra
from palestra.kernel.rng import Rng

from palestra_markets.magentic.basket import MOST_ITEMS
from palestra_markets.magentic.scenario import Business, Customer, Manipulation, Town, mislead

T = TypeVar("T")


@dataclass(frozen=True)
class Original:
    """Everybody in a folder, in order of the files' names."""

    customers: tuple[Customer, ...]
    businesses: tuple[Business, ...]

    @property
    def items(self) -> tuple[str, ...]:
        return tuple(sorted({item for business in self.businesses for item in business.prices}))

    @property
    def amenities(self) -> tuple[str, ...]:
        named = {need for customer in self.customers for need in customer.needs}
        offered = {name for business in self.businesses for name in business.amenities}
        return tuple(sorted(named | offered))


@lru_cache(4)
def read_original(folder: str) -> Original:
    """Customers and businesses of a folder; raises `InvalidOption` if it has no such files."""
    customers = _read_all(Path(folder) / "customers", _customer)
    businesses = _read_all(Path(folder) / "businesses", _business)
    for customer in customers:
        if len(customer.wants) > MOST_ITEMS:
            raise InvalidOption(
                f"data={folder!r}: a customer wants {len(customer.wants)} items, and a proposal "
                f"has {MOST_ITEMS} at most; leave that file out"
            )
    return Original(tuple(customers), tuple(businesses))


def _read_all(folder: Path, read: Callable[[Mapping[str, Any]], T]) -> list[T]:
    try:
        import yaml
    except ModuleNotFoundError:
        raise MissingExtra("PyYAML", "palestra-markets[yaml]") from None
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise InvalidOption(
            f"there are no YAML files in {folder}; data must be a folder with customers/*.yaml and "
            "businesses/*.yaml"
        )
    found = []
    for path in paths:
        try:
            found.append(read(yaml.safe_load(path.read_text("utf-8"))))
        except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
            raise InvalidOption(
                f"{path} has not the form of the Magentic Marketplace "
                f"({type(error).__name__}: {error})"
            ) from error
    return found


def _cents(prices: Mapping[str, Any]) -> dict[str, int]:
    """Prices in cents; a list of items has commas between them, so their names have none."""
    if not prices:
        raise ValueError("menu_features is empty")
    return {str(name).replace(",", ""): round(100 * float(p)) for name, p in prices.items()}


def _customer(told: Mapping[str, Any]) -> Customer:
    needs = tuple(sorted(map(str, told["amenity_features"] or ())))
    return Customer(tuple(_cents(told["menu_features"]).items()), needs)


def _business(told: Mapping[str, Any]) -> Business:
    prices = dict(sorted(_cents(told["menu_features"]).items()))
    amenities = tuple(str(name) for name, has in told["amenity_features"].items() if has)
    rating, floor = round(50 * float(told["rating"])), round(100 * float(told["min_price_factor"]))
    words = f"{told['name']}: {' '.join(str(told['description']).split())}"
    return Business(prices, amenities, rating, floor, 0, words, next(iter(prices)))


def draw_original_town(
    original: Original, latency: int, manipulation: Manipulation, misleading: int, seed: int
) -> Town:
    """The folder's town; a seed draws only how slow businesses are, and in what order they lie."""
    rng = Rng.seeded(seed, stream=2)
    shops = [replace(b, latency=rng.between(0, latency)) for b in original.businesses]
    honest = max(0, len(shops) - misleading)
    shops = [*shops[:honest], *(mislead(one, manipulation) for one in shops[honest:])]
    order = list(range(len(shops)))
    rng.shuffle(order)
    return Town(original.customers, tuple(shops), tuple(order))


def redraw_original(business: Business, original: Original, rng: Rng) -> Business:
    """A business with the same card, and another one's menu, amenities and lowest prices."""
    other = rng.choice(original.businesses)
    return replace(business, prices=other.prices, amenities=other.amenities, floor=other.floor)


def named_in(text: str, names: Sequence[str]) -> tuple[str, ...]:
    """The names that a text holds, but for those that are only a part of a longer one."""
    found, left = set[str](), text
    for name in sorted(names, key=len, reverse=True):
        if name in left:
            found.add(name)
            left = left.replace(name, "\n")
    return tuple(name for name in names if name in found)
