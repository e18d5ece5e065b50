"""What trading agents read of a day: shares with their opening prices, and orders for weights."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping

from palestra import EpisodeRecord, InvalidOption, Turn

OPENS = re.compile(r"^(\w+): opens at ([\d,]+\.\d+).*?; you have ([\d,]+) shares\.", re.MULTILINE)
MORNING = re.compile(r"^(\d{4}-\d\d-\d\d)\. Opening prices: (.*)\.$")
ASKING = ("Prices", "Indicators", "Fundamentals", "News")


def prices_of(turn: Turn) -> dict[str, float]:
    """Today's opening price of every share; raises `InvalidOption` in other games."""
    found = {name: float(price.replace(",", "")) for name, price, _ in OPENS.findall(turn.position)}
    if "Trading" not in turn.env or not found:
        raise InvalidOption(f"this agent plays markets/Trading-v0, not {turn.env}")
    return found


def held(turn: Turn) -> list[str]:
    """The shares of which the investor has some."""
    rows = OPENS.findall(turn.position)
    return [name for name, _, count in rows if int(count.replace(",", ""))]


def day_of(turn: Turn) -> str:
    """Today's date."""
    return turn.position.partition(",")[0]


def mornings(record: EpisodeRecord) -> dict[str, dict[str, float]]:
    """The opening prices of every day of a record, by date and share."""
    days = {}
    for event in record.events:
        found = MORNING.match(event.text)
        if found:
            pairs = (pair.rsplit(" ", 1) for pair in found[2].split(", "))
            days[found[1]] = {name: float(price.replace(",", "")) for name, price in pairs}
    return days


def orders_for(weights: Mapping[str, float], owned: Container[str]) -> list[str]:
    """Orders that lead to these shares of wealth, sales first, and the end of the day.

    What is not owned is not sold, which the market would refuse.
    """
    whole = {name: min(100, max(0, int(100 * weight))) for name, weight in weights.items()}
    traded = [name for name in whole if whole[name] or name in owned]
    ordered = sorted(traded, key=lambda name: (whole[name], name))
    return [f"Target(symbol='{name}', percent={whole[name]})" for name in ordered] + ["EndDay()"]
