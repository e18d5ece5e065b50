"""Supply and demand: the optimum of a market, its competitive price, and known schedules.

A schedule is a row of unit values for every buyer and of unit costs for every seller, best unit
first: `demand=((150, 120), (140, 100)), supply=((40, 70), (50, 90))`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

Rows = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Equilibrium:
    """The competitive outcome: units traded, their surplus, and the prices that clear the market.

    With no gain from trade, `low` to `high` lies between the best value and the best cost.
    """

    quantity: int
    surplus: int
    low: int
    high: int

    @property
    def price(self) -> float:
        """The middle of the clearing prices."""
        return (self.low + self.high) / 2


def equilibrium(demand: Sequence[Sequence[int]], supply: Sequence[Sequence[int]]) -> Equilibrium:
    """Where the two step functions cross; the last unit traded gains something."""
    values = sorted(chain.from_iterable(demand), reverse=True)
    costs = sorted(chain.from_iterable(supply))
    quantity = 0
    while quantity < min(len(values), len(costs)) and values[quantity] > costs[quantity]:
        quantity += 1
    surplus = sum(values[:quantity]) - sum(costs[:quantity])
    low = max([*costs[:quantity][-1:], *values[quantity : quantity + 1]], default=0)
    high = min([*values[:quantity][-1:], *costs[quantity : quantity + 1]], default=0)
    return Equilibrium(quantity, surplus, min(low, high), max(low, high))


def check_rows(name: str, rows: Sequence[Sequence[int]], *, best_first: int) -> Rows:
    """A schedule as tuples; raises ValueError, which says what is wrong with it.

    `best_first` is -1 where values fall from unit to unit and 1 where costs rise.
    """
    checked = tuple(tuple(row) for row in rows)
    for trader, row in enumerate(checked):
        if len(row) != len(checked[0]) or not row:
            raise ValueError(f"row {trader} of {name} has {len(row)} units, not {len(checked[0])}")
        if any(isinstance(unit, bool) or not isinstance(unit, int) for unit in row):
            raise ValueError(f"row {trader} of {name} is {row}: prices are whole numbers")
        if list(row) != sorted(row, reverse=best_first < 0):
            order = "falling" if best_first < 0 else "rising"
            raise ValueError(f"row {trader} of {name} is {row}, not {order}: best unit first")
    return checked


# Known schedules


def dealt(units: Sequence[int], traders: int) -> Rows:
    """Units, best first, dealt round a table: a row for every trader."""
    return tuple(tuple(units[trader::traders]) for trader in range(traders))


def crossing(*, price: float, units: float, top: int, bottom: int, total: int) -> Mapping[str, Any]:
    """Straight demand from `top` and supply from `bottom` that cross at `price` after `units`.

    `total` units on each side are dealt to six buyers and six sellers; prices go to 200.
    """
    at = [(unit + 0.5) / units for unit in range(total)]
    values = [max(1, round(top + (price - top) * share)) for share in at]
    costs = [min(200, round(bottom + (price - bottom) * share)) for share in at]
    return {"demand": dealt(values, 6), "supply": dealt(costs, 6), "num_players": 12}


def gode_sunder(market: int) -> Mapping[str, Any]:
    """One of five markets after Gode and Sunder (1993), as options of the double auction.

    Six buyers and six sellers with four units each, prices from 1 to 200, and a book that is
    emptied by every trade. The paper draws its schedules and prints no numbers; these are straight
    lines with the same equilibrium prices (69, 69, 106, 170 and 131) and, where every unit is
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
    """One unit each, every cost 50, values 150 down to 70: the market of Cliff (1997) where the
    average price of random traders stays above the equilibrium price, which is the common cost.

    There are two sellers more than buyers, so that no seller can hold out for more.
    """
    values = [150 - round(80 * buyer / (buyers - 1)) for buyer in range(buyers)]
    sellers = buyers + 2
    return {
        "demand": dealt(values, buyers),
        "supply": dealt([50] * sellers, sellers),
        "num_players": buyers + sellers,
        "max_price": 200,
        "rounds": 400,
    }


PRESETS: Mapping[str, Mapping[str, Any]] = {
    **{f"gode-sunder-{market}": gode_sunder(market) for market in range(1, 6)},
    "flat-supply": flat_supply(9),
}
