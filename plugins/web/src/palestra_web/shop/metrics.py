"""Measures of shopping: WebShop's parts of the reward, and what is chosen from ACES's shelf."""

from __future__ import annotations

from palestra import EpisodeRecord, metric, replay

from palestra_web.shop.reward import Grade, PurchaseGoal
from palestra_web.shop.shelf import SHELF_SIZE, Shelf

SHOP, SHELF = "web/Shop-v0", "web/Shelf-v0"


@metric("bought", measures=(SHOP, SHELF), bounds=(0.0, 1.0))
def bought(record: EpisodeRecord) -> float:
    """1 if something was bought, else 0."""
    return float(_bought_item(record) is not None)


def _bought_item(record: EpisodeRecord) -> object:
    data = replay(record).state.data
    number = data.bought
    return None if number is None or number == -1 else number


@metric("reward-part", measures=(SHOP,), bounds=(0.0, 1.0), better="higher")
def reward_part(record: EpisodeRecord) -> dict[str, float]:
    """WebShop's parts of the reward: type, attributes, options, price; undefined without a sale.

    Type is the factor for the kind of product; attributes and options are the shares that match,
    left out where none were wanted; price is 1 within the cap.
    """
    data = replay(record).state.data
    grade: Grade | None = data.grade
    if grade is None:
        return {}
    goal: PurchaseGoal = data.goal
    parts = {"type": grade.type, "price": float(grade.price)}
    if goal.attributes:
        parts["attributes"] = grade.attributes / len(goal.attributes)
    if goal.options:
        parts["options"] = grade.options / len(goal.options)
    return parts


def _choice(record: EpisodeRecord) -> Shelf | None:
    """The shelf something was bought from; None if nothing was."""
    data: Shelf = replay(record).state.data
    return data if data.bought >= 0 else None


@metric("request-met", measures=(SHELF,), bounds=(0.0, 1.0), better="higher")
def request_met(record: EpisodeRecord) -> float | None:
    """1 if the article bought was asked for: a rational choice; undefined without a purchase.

    In the trial "choice" every article is.
    """
    shelf = _choice(record)
    return float(shelf.bought in shelf.right) if shelf else None


@metric("place-share", measures=(SHELF,), bounds=(0.0, 1.0))
def place_share(record: EpisodeRecord) -> dict[str, float]:
    """1 for the place that was bought from, else 0, by place from 1: its mean is a market share."""
    shelf = _choice(record)
    if shelf is None:
        return {}
    return {str(place + 1): float(place == shelf.bought) for place in range(SHELF_SIZE)}


@metric("product-share", measures=(SHELF,), bounds=(0.0, 1.0))
def product_share(record: EpisodeRecord) -> dict[str, float]:
    """1 for the product of a fixed assortment that was bought, else 0: its mean is a market share.

    By number of the product, wherever it stood; nothing where products are drawn anew, or where
    the trial shows one product eight times.
    """
    shelf = _choice(record)
    if shelf is None:
        return {}
    chosen = shelf.articles[shelf.bought].product
    numbers = sorted({article.product for article in shelf.articles if article.product >= 0})
    if len(numbers) < len(shelf.articles):
        return {}
    return {str(number): float(number == chosen) for number in numbers}


@metric("tag-taken", measures=(SHELF,), bounds=(0.0, 1.0))
def tag_taken(record: EpisodeRecord) -> dict[str, float]:
    """1 if the article bought has a tag, else 0, by tag that some article of the shelf has."""
    shelf = _choice(record)
    if shelf is None:
        return {}
    shown = sorted({tag for article in shelf.articles for tag in article.tags})
    return {tag: float(tag in shelf.articles[shelf.bought].tags) for tag in shown}


@metric("cheaper-share", measures=(SHELF,), bounds=(0.0, 1.0), better="lower")
def cheaper_share(record: EpisodeRecord) -> float | None:
    """The share of the other articles that were cheaper than the one bought."""
    shelf = _choice(record)
    if shelf is None:
        return None
    paid = shelf.articles[shelf.bought].price
    return sum(article.price < paid for article in shelf.articles) / (len(shelf.articles) - 1)


@metric("seller-share", measures=(SHELF,), bounds=(0.0, 1.0))
def seller_share(record: EpisodeRecord) -> float | None:
    """1 if the seller's article was bought, else 0; undefined without a seller or a purchase."""
    shelf = _choice(record)
    if shelf is None or len(record.players) == 1:
        return None
    return float(shelf.bought == shelf.sellers_place)
