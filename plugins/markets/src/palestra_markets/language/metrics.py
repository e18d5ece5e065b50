"""GLEE's numbers over a record: what one gains, efficiency and fairness."""

from __future__ import annotations

from palestra import EpisodeRecord

# Bargaining


def deal_efficiency(record: EpisodeRecord) -> float:
    """What both got, over the sum to divide: 1 for a deal at once, 0 without one."""
    return sum(record.returns) / float(record.options["total"])


def deal_fairness(record: EpisodeRecord) -> float:
    """1 - 4 (p - 1/2)^2, where p is the first player's part of what both got; 1 without a deal."""
    total = sum(record.returns)
    return 1 - 4 * (record.returns[0] / total - 0.5) ** 2 if total else 1.0


def first_seat_gain(record: EpisodeRecord) -> float:
    """What the first player got, over the sum."""
    return record.returns[0] / float(record.options["total"])


# Price negotiation


def _values(record: EpisodeRecord) -> tuple[int, int]:
    seller, buyer = (event.data["value"] for event in record.opening if event.kind == "value")
    return seller, buyer


def _price(record: EpisodeRecord) -> int | None:
    """The price of the sale; None without one."""
    return next((event.data["price"] for event in record.events if event.kind == "sale"), None)


def trade_efficiency(record: EpisodeRecord) -> float:
    """1 where the product ends with whoever values it more, else 0."""
    seller, buyer = _values(record)
    sold = _price(record) is not None
    return float(seller == buyer or sold == (buyer > seller))


def trade_fairness(record: EpisodeRecord) -> float:
    """1 - 4 (s - 1/2)^2, s the seller's part of the gain from trade, at least 0; 1 without a sale.

    A sale that gains nothing is fair at the common value only.
    """
    (seller, buyer), price = _values(record), _price(record)
    if price is None:
        return 1.0
    if seller == buyer:
        return float(price == seller)
    share = float(price - seller) / (buyer - seller)
    return max(0.0, 1 - 4 * (share - 0.5) ** 2)


def seller_gain(record: EpisodeRecord) -> float:
    """What the seller was paid, over the gain from trade; what he was paid where there is none."""
    seller, buyer = _values(record)
    return record.returns[0] / max(1, buyer - seller)


# Persuasion


def _products(record: EpisodeRecord) -> list[tuple[bool, bool]]:
    """Every finished round as (good, bought)."""
    good = [e.data["quality"] == "good" for e in record.events if e.kind == "quality"]
    bought = [turn.text == "Buy()" for turn in record.turns if turn.seat == 1]
    return list(zip(good, bought, strict=False))


def good_sold(record: EpisodeRecord) -> float:
    """The part of the good products that were bought: GLEE's efficiency; 1 without any."""
    bought = [sold for good, sold in _products(record) if good]
    return sum(bought) / len(bought) if bought else 1.0


def bad_unsold(record: EpisodeRecord) -> float:
    """The part of the bad products that were not bought: GLEE's fairness; 1 without any."""
    bought = [sold for good, sold in _products(record) if not good]
    return 1 - sum(bought) / len(bought) if bought else 1.0


def sales_rate(record: EpisodeRecord) -> float:
    """The part of all products that were bought: the seller's own gain."""
    products = _products(record)
    return sum(sold for _, sold in products) / max(1, len(products))


def buyer_gain(record: EpisodeRecord) -> float:
    """What the buyer was paid, over what buying just the good products would have paid."""
    worth: int = next(e.data["worth"] for e in record.opening if e.kind == "worth")
    goods = sum(good for good, _ in _products(record))
    return record.returns[1] / max(1, goods * (worth - int(record.options["price"])))
