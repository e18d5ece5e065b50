"""GLEE's numbers over a record: what one gains, efficiency and fairness."""

from __future__ import annotations

from palestra import EpisodeRecord, metric

# Bargaining


@metric(
    "deal-efficiency",
    measures=("markets/Bargaining-v0",),
    summary="What both players got, over the sum there was to divide.",
)
def deal_efficiency(record: EpisodeRecord) -> float:
    """What both got, over the sum to divide: 1 for a deal at once, 0 without one."""
    return sum(record.returns) / float(record.options["total"])


@metric(
    "deal-fairness",
    measures=("markets/Bargaining-v0",),
    summary="1 - 4 (p - 1/2)^2, where p is the first player's part of what both got.",
)
def deal_fairness(record: EpisodeRecord) -> float:
    """1 - 4 (p - 1/2)^2, where p is the first player's part of what both got; 1 without a deal."""
    total = sum(record.returns)
    return 1 - 4 * (record.returns[0] / total - 0.5) ** 2 if total else 1.0


@metric(
    "first-seat-gain",
    measures=("markets/Bargaining-v0",),
    summary="What the first player got, over the sum.",
)
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


@metric(
    "trade-efficiency",
    measures=("markets/PriceNegotiation-v0",),
    summary="1 where the product ends with whoever values it more, else 0.",
)
def trade_efficiency(record: EpisodeRecord) -> float:
    """1 where the product ends with whoever values it more, else 0."""
    seller, buyer = _values(record)
    sold = _price(record) is not None
    return float(seller == buyer or sold == (buyer > seller))


@metric(
    "trade-fairness",
    measures=("markets/PriceNegotiation-v0",),
    summary="1 - 4 (s - 1/2)^2, where s is the seller's part of the gain from trade.",
)
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


@metric(
    "seller-gain",
    measures=("markets/PriceNegotiation-v0",),
    summary="What the seller was paid, over the gain from trade.",
)
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


@metric(
    "good-sold",
    measures=("markets/Persuasion-v0",),
    summary="The part of the good products that were bought: efficiency.",
)
def good_sold(record: EpisodeRecord) -> float:
    """The part of the good products that were bought: GLEE's efficiency; 1 without any."""
    bought = [sold for good, sold in _products(record) if good]
    return sum(bought) / len(bought) if bought else 1.0


@metric(
    "bad-unsold",
    measures=("markets/Persuasion-v0",),
    summary="The part of the bad products that were not bought: fairness.",
)
def bad_unsold(record: EpisodeRecord) -> float:
    """The part of the bad products that were not bought: GLEE's fairness; 1 without any."""
    bought = [sold for good, sold in _products(record) if not good]
    return 1 - sum(bought) / len(bought) if bought else 1.0


@metric(
    "sales-rate",
    measures=("markets/Persuasion-v0",),
    summary="The part of all products that were bought: the seller's gain.",
)
def sales_rate(record: EpisodeRecord) -> float:
    """The part of all products that were bought: the seller's own gain."""
    products = _products(record)
    return sum(sold for _, sold in products) / max(1, len(products))


@metric(
    "buyer-gain",
    measures=("markets/Persuasion-v0",),
    summary="What the buyer was paid, over what just the good products would have paid.",
)
def buyer_gain(record: EpisodeRecord) -> float:
    """What the buyer was paid, over what buying just the good products would have paid."""
    worth: int = next(e.data["worth"] for e in record.opening if e.kind == "worth")
    goods = sum(good for good, _ in _products(record))
    return record.returns[1] / max(1, goods * (worth - int(record.options["price"])))
