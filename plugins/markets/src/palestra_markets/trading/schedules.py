"""Supply and demand: the optimum of a market, its competitive price, and known schedules.

A schedule is a row of unit values for every buyer and of unit costs for every seller, best unit
first: `demand=((150, 120), (140, 100)), supply=((40, 70), (50, 90))`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from palestra import InvalidOption

Rows = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Equilibrium:
    """The competitive outcome of a market."""

    quantity: int  # units traded
    surplus: int
    low: int  # of the prices that clear the market; of the best value and cost without trade
    high: int

    @property
    def price(self) -> float:
        """The middle of the clearing prices."""
        return (self.low + self.high) / 2


def equilibrium(demand: Sequence[Sequence[int]], supply: Sequence[Sequence[int]]) -> Equilibrium:
    """The crossing of demand and supply; units without a gain from trade are not traded."""
    values = sorted(chain.from_iterable(demand), reverse=True)
    costs = sorted(chain.from_iterable(supply))
    quantity = 0
    while quantity < min(len(values), len(costs)) and values[quantity] > costs[quantity]:
        quantity += 1
    surplus = sum(values[:quantity]) - sum(costs[:quantity])
    low = max([*costs[:quantity][-1:], *values[quantity : quantity + 1]], default=0)
    high = min([*values[:quantity][-1:], *costs[quantity : quantity + 1]], default=0)
    return Equilibrium(quantity, surplus, min(low, high), max(low, high))


def check_rows(name: str, rows: Rows, *, best_first: int) -> None:
    """Raise `InvalidOption` unless all rows have the same number of units, best first.

    `best_first` is -1 where values fall from unit to unit and 1 where costs rise.
    """
    for trader, row in enumerate(rows):
        if not row:
            raise InvalidOption(f"row {trader} of {name} has no units; give at least one")
        if len(row) != len(rows[0]):
            raise InvalidOption(
                f"row {trader} of {name} has {len(row)} units, not {len(rows[0])} as row 0; give "
                f"every trader the same number of units"
            )
        if list(row) != sorted(row, reverse=best_first < 0):
            order = "falling" if best_first < 0 else "rising"
            raise InvalidOption(f"row {trader} of {name} is {row}, not {order}: best unit first")


# Known schedules


def deal(units: Sequence[int], traders: int) -> Rows:
    """Deal units, best first, to traders one by one: a row for every trader."""
    return tuple(tuple(units[trader::traders]) for trader in range(traders))


def crossing(*, price: float, units: float, top: int, bottom: int, total: int) -> Mapping[str, Any]:
    """Straight lines of demand from `top` and supply from `bottom` that cross at `price`.

    They cross after `units` units; `total` units on each side are dealt to six buyers and six
    sellers. Prices go to 200.
    """
    at = [(unit + 0.5) / units for unit in range(total)]
    values = [max(1, round(top + (price - top) * share)) for share in at]
    costs = [min(200, round(bottom + (price - bottom) * share)) for share in at]
    return {"demand": deal(values, 6), "supply": deal(costs, 6), "num_players": 12}


def gode_sunder(market: int) -> Mapping[str, Any]:
    """One of five markets (1 to 5) after Gode and Sunder (1993), as options of the double auction.

    Six buyers and six sellers with four units each, prices from 1 to 200, and a book that every
    trade empties. The paper plots its schedules and prints no numbers; these are straight lines
    with the same equilibrium prices (69, 69, 106, 170 and 131) and, where every unit is
    traded as unconstrained random traders do, the same efficiencies (90, 90, 76.7, 48.8 and 86 %).
    """
    lines = {
        1: {"price": 69, "units": 18.23, "top": 125, "bottom": 13},
        2: {"price": 69, "units": 18.23, "top": 95, "bottom": 5},
        3: {"price": 106, "units": 16.19, "top": 160, "bottom": 62},
        4: {"price": 170, "units": 13.99, "top": 198, "bottom": 132},
        5: {"price": 131, "units": 17.46, "top": 170, "bottom": 95},
    }
    return {**crossing(**lines[market], total=24), **RULES}  # type: ignore[arg-type]


RULES: Mapping[str, Any] = {"max_price": 200, "rounds": 2000, "empty_on_trade": True}


def flat_supply(buyers: int) -> Mapping[str, Any]:
    """The market of Cliff (1997) with one unit each, every cost 50, and values from 150 to 70.

    The average price of random traders stays above the equilibrium price, which is the common cost.
    There are two more sellers than buyers, so that no seller can hold out for a higher price.
    """
    values = [150 - round(80 * buyer / (buyers - 1)) for buyer in range(buyers)]
    sellers = buyers + 2
    return {
        "demand": deal(values, buyers),
        "supply": deal([50] * sellers, sellers),
        "num_players": buyers + sellers,
        "max_price": 200,
        "rounds": 400,
    }


PRESETS: Mapping[str, Mapping[str, Any]] = {
    **{f"gode-sunder-{market}": gode_sunder(market) for market in range(1, 6)},
    "flat-supply": flat_supply(9),
}
