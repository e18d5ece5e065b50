"""Amounts of money in words."""

from __future__ import annotations


def dollars(cents: int) -> str:
    """Cents as dollars with two decimals: 123456 is '1,234.56'."""
    return f"{cents / 100:,.2f}"
