"""An invented company in four files of different kinds, and the figures that follow from them.

Amounts are whole numbers: millions in the income statement, thousands in the balance sheet. Each
file is drawn from a seed of its own, so that one can be known and another not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from palestra import Rng

FILES = ("income.csv", "balance.csv", "market.json", "notes.txt")
YEARS = (2021, 2022, 2023)
NAMES = ("Arlen Foods", "Besk Optics", "Corvane", "Dellmar Rail", "Ostrin & Sons", "Talvik Glass")
FORECAST = 3  # years of the plan


@dataclass(frozen=True, slots=True)
class Company:
    """What the four files say. Amounts of the balance are in thousands, all others in millions."""

    revenue: tuple[int, ...]  # by year
    costs: tuple[int, ...]  # of goods sold
    overheads: tuple[int, ...]
    depreciation: tuple[int, ...]
    debt: int
    cash: int
    shares: int  # millions
    price: float
    risk_free: float  # percent, as the next four
    beta: float
    premium: float
    debt_rate: float
    tax: float
    one_off: int  # charge in the overheads of the last year that will not come again
    leases: int  # thousands that are debt and not in the balance sheet's debt
    cash_flows: tuple[int, ...]  # planned
    growth: float  # percent, after the plan


@lru_cache(maxsize=1024)
def draw_company(seeds: tuple[int, ...]) -> Company:
    """The company whose files have these seeds."""
    income, balance, market, notes = (Rng.seeded(s, n + 80) for n, s in enumerate(seeds))
    revenue = [income.between(400, 900)]
    for _ in YEARS[1:]:
        revenue.append(revenue[-1] * income.between(95, 118) // 100)
    costs = [r * income.between(45, 62) // 100 for r in revenue]
    overheads = [r * income.between(15, 25) // 100 for r in revenue]
    flows = [notes.between(30, 60)]
    for _ in range(FORECAST - 1):
        flows.append(flows[-1] + notes.between(2, 9))
    return Company(
        revenue=tuple(revenue),
        costs=tuple(costs),
        overheads=tuple(overheads),
        depreciation=tuple(income.between(15, 40) for _ in revenue),
        debt=balance.between(150_000, 400_000),
        cash=balance.between(20_000, 90_000),
        shares=market.between(20, 80),
        price=market.between(800, 3000) / 100,
        risk_free=market.between(15, 40) / 10,
        beta=market.between(70, 150) / 100,
        premium=market.between(40, 60) / 10,
        debt_rate=market.between(45, 75) / 10,
        tax=float(market.between(18, 30)),
        one_off=notes.between(5, 25),
        leases=notes.between(10_000, 60_000),
        cash_flows=tuple(flows),
        growth=notes.between(5, 20) / 10,
    )


def write_files(company: Company) -> dict[str, str]:
    """The text of every file."""
    rows = ["year,revenue,cost of goods sold,overheads,depreciation"]
    columns = (company.revenue, company.costs, company.overheads, company.depreciation)
    for year, *row in zip(YEARS, *columns, strict=True):
        rows.append(",".join(map(str, (year, *row))))
    market = {
        "shares (millions)": company.shares,
        "share price": company.price,
        "risk-free rate (%)": company.risk_free,
        "beta": company.beta,
        "equity premium (%)": company.premium,
        "interest on debt (%)": company.debt_rate,
        "tax rate (%)": company.tax,
    }
    plan = ", ".join(f"{YEARS[-1] + n + 1}: {flow}" for n, flow in enumerate(company.cash_flows))
    notes = (
        "Notes to the accounts.\n"
        f"1. Overheads of {YEARS[-1]} contain a charge of {company.one_off} million for a plant "
        "that was closed; it will not come again.\n"
        f"2. Leases of {company.leases} thousand are debt in substance. They are not in the debt "
        "of the balance sheet.\n"
        f"3. Free cash flows that the management plans, in millions: {plan}. After that they grow "
        f"by {company.growth} % a year."
    )
    return {
        "income.csv": "# millions; overheads and costs exclude depreciation\n" + "\n".join(rows),
        "balance.csv": f"# thousands, end of {YEARS[-1]}\nitem,amount\n"
        f"financial debt,{company.debt}\ncash,{company.cash}",
        "market.json": json.dumps(market, indent=1),
        "notes.txt": notes,
    }


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that is asked for: its name, what it means, its weight, and the files it needs."""

    name: str
    meaning: str
    weight: int
    files: tuple[str, ...]


FIGURES = (
    Figure("revenue growth", "of the last year, in percent", 1, FILES[:1]),
    Figure("gross margin", "of the last year, in percent of revenue", 1, FILES[:1]),
    Figure("ebitda", "revenue less costs and overheads, last year, in millions", 1, FILES[:1]),
    Figure("market value", "shares times price, in millions", 1, FILES[2:3]),
    Figure("net debt", "financial debt and leases less cash, in millions", 2, (FILES[1], FILES[3])),
    Figure("adjusted ebitda", "ebitda without charges that will not come again", 2, FILES[::3]),
    Figure("leverage", "net debt over adjusted ebitda", 2, (FILES[0], FILES[1], FILES[3])),
    Figure("multiple", "market value and net debt, over adjusted ebitda", 3, FILES),
    Figure("cost of equity", "by the capital asset pricing model, in percent", 2, FILES[2:3]),
    Figure("wacc", "cost of capital after tax, weights by market value and net debt, in percent", 3,
           FILES[1:]),
    Figure("enterprise value", "planned cash flows and what follows, discounted at the wacc from "
           "the ends of years, in millions", 4, FILES[1:]),
    Figure("upside", "of the share price, in percent, if the enterprise value is right", 3,
           FILES[1:]),
)  # fmt: skip
LEVELS: Mapping[str, int] = {"easy": 4, "medium": 8, "hard": 12}  # figures that are asked for


def figures(company: Company) -> dict[str, float]:
    """Every figure, without rounding."""
    ebitda = company.revenue[-1] - company.costs[-1] - company.overheads[-1]
    adjusted = ebitda + company.one_off
    net_debt = (company.debt + company.leases - company.cash) / 1000
    equity = company.shares * company.price
    cost = company.risk_free + company.beta * company.premium
    after_tax = company.debt_rate * (1 - company.tax / 100)
    wacc = (cost * equity + after_tax * net_debt) / (equity + net_debt)
    value = discounted(company.cash_flows, wacc / 100, company.growth / 100)
    return {
        "revenue growth": 100 * (company.revenue[-1] / company.revenue[-2] - 1),
        "gross margin": 100 * (1 - company.costs[-1] / company.revenue[-1]),
        "ebitda": float(ebitda),
        "market value": equity,
        "net debt": net_debt,
        "adjusted ebitda": float(adjusted),
        "leverage": net_debt / adjusted,
        "multiple": (equity + net_debt) / adjusted,
        "cost of equity": cost,
        "wacc": wacc,
        "enterprise value": value,
        "upside": 100 * ((value - net_debt) / equity - 1),
    }


def discounted(flows: Sequence[float], rate: float, growth: float) -> float:
    """The present value of flows at the ends of years that grow by `growth` after the last one."""
    last = flows[-1] * (1 + growth) / (rate - growth)
    present = sum(flow / (1 + rate) ** (n + 1) for n, flow in enumerate(flows))
    return present + last / (1 + rate) ** len(flows)
