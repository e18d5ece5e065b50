"""GLEE's metrics: gains, efficiency and fairness."""

from __future__ import annotations

from palestra import EpisodeRecord, metric

from palestra_markets.reading import event_data

# Bargaining


@metric(
    "deal-efficiency",
    measures=("markets/Bargaining-v0",),
    bounds=(0.0, 1.0),
    better="higher",
)
def deal_efficiency(record: EpisodeRecord) -> float:
    """The sum of both payoffs, divided by the sum to divide.

    It is 1 for a deal in the first round and 0 without a deal.
    """
    return sum(record.returns) / float(record.options["total"])


@metric(
    "deal-fairness",
    measures=("markets/Bargaining-v0",),
    bounds=(0.0, 1.0),
    better="higher",
)
def deal_fairness(record: EpisodeRecord) -> float:
    """1 - 4 (p - 1/2)^2, where p is the first player's share of the total payoff.

    1 without a deal.
    """
    total = sum(record.returns)
    return 1 - 4 * (record.returns[0] / total - 0.5) ** 2 if total else 1.0


@metric(
    "first-seat-gain",
    measures=("markets/Bargaining-v0",),
    bounds=(0.0, 1.0),
)
def first_seat_gain(record: EpisodeRecord) -> float:
    """The first player's payoff, divided by the sum to divide."""
    return record.returns[0] / float(record.options["total"])


# Price negotiation


def _values(record: EpisodeRecord) -> tuple[int, int]:
    """The seller's and the buyer's value."""
    seller, buyer = (data["value"] for data in event_data(record.opening, "value"))
    return seller, buyer


def _price(record: EpisodeRecord) -> int | None:
    """The price of the sale; None without one."""
    return next((data["price"] for data in event_data(record.events, "sale")), None)


@metric(
    "trade-efficiency",
    measures=("markets/PriceNegotiation-v0",),
    bounds=(0.0, 1.0),
    better="higher",
)
def trade_efficiency(record: EpisodeRecord) -> float:
    """1 if the product ends up with the player who values it more, else 0."""
    seller, buyer = _values(record)
    sold = _price(record) is not None
    return float(seller == buyer or sold == (buyer > seller))


@metric(
    "trade-fairness",
    measures=("markets/PriceNegotiation-v0",),
    bounds=(0.0, 1.0),
    better="higher",
)
def trade_fairness(record: EpisodeRecord) -> float:
    """1 - 4 (s - 1/2)^2, where s is the seller's share of the gain from trade; at least 0.

    1 without a sale. A sale without a gain from trade is fair only at the common value.
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
)
def seller_gain(record: EpisodeRecord) -> float:
    """The seller's payoff, divided by the gain from trade if there is one."""
    seller, buyer = _values(record)
    return record.returns[0] / max(1, buyer - seller)


# Persuasion


def _products(record: EpisodeRecord) -> list[tuple[bool, bool]]:
    """Every finished round as (good, bought)."""
    good = [data["quality"] == "good" for data in event_data(record.events, "quality")]
    bought = [turn.text == "Buy()" for turn in record.turns if turn.seat == 1]
    return list(zip(good, bought, strict=False))


@metric(
    "good-sold",
    measures=("markets/Persuasion-v0",),
    bounds=(0.0, 1.0),
    better="higher",
)
def good_sold(record: EpisodeRecord) -> float:
    """The share of good products that are bought (GLEE's efficiency); 1 if there are none."""
    bought = [sold for good, sold in _products(record) if good]
    return sum(bought) / len(bought) if bought else 1.0


@metric(
    "bad-unsold",
    measures=("markets/Persuasion-v0",),
    bounds=(0.0, 1.0),
    better="higher",
)
def bad_unsold(record: EpisodeRecord) -> float:
    """The share of bad products that are not bought (GLEE's fairness); 1 if there are none."""
    bought = [sold for good, sold in _products(record) if not good]
    return 1 - sum(bought) / len(bought) if bought else 1.0


@metric(
    "sales-rate",
    measures=("markets/Persuasion-v0",),
    bounds=(0.0, 1.0),
)
def sales_rate(record: EpisodeRecord) -> float:
    """The share of all products that are bought, which measures the seller's gain."""
    products = _products(record)
    return sum(sold for _, sold in products) / max(1, len(products))


@metric(
    "buyer-gain",
    measures=("markets/Persuasion-v0",),
    bounds=(None, 1.0),
    better="higher",
)
def buyer_gain(record: EpisodeRecord) -> float:
    """The buyer's payoff, divided by that of buying exactly the good products."""
    worth: int = event_data(record.opening, "worth")[0]["worth"]
    goods = sum(good for good, _ in _products(record))
    return record.returns[1] / max(1, goods * (worth - int(record.options["price"])))
