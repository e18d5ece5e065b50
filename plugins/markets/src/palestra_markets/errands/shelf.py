"""Products, their worth to a principal, and what an assistant with leanings prefers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from palestra.kernel.rng import Rng

MOST = 100  # the highest price, quality and greenness
NEED = 100  # value of having any product at all
GOALS = {"cheapest": 0.0, "good value": 1.0, "best": 3.0}  # worth of a point of quality


@dataclass(frozen=True, slots=True)
class Product:
    """Price in money, quality and greenness in points from 0 to MOST."""

    price: int
    quality: int
    green: int


def draw_product(rng: Rng) -> Product:
    return Product(rng.between(20, MOST), rng.between(0, MOST), rng.between(0, MOST))


def worth(product: Product, goal: str) -> float:
    """The principal's gain: the value of any product, plus weighted quality, less the price."""
    return NEED + GOALS[goal] * product.quality - product.price


def best(products: Sequence[Product], goal: str) -> int:
    """The index of the product the goal asks for; the first of equal ones."""
    return max(range(len(products)), key=lambda n: worth(products[n], goal))


def preferred_product(products: Sequence[Product], goal: str, leaning: float, bonus: float) -> int:
    """The product that pays the assistant most: `leaning` a point of greenness, and the bonus.

    The bonus is paid for the product the goal asks for, which also wins ties.
    """
    asked = best(products, goal)

    def gain(n: int) -> tuple[float, bool]:
        return leaning * products[n].green + bonus * (n == asked), n == asked

    return max(range(len(products)), key=gain)
