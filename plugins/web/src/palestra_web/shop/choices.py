"""A conditional logit model of a buyer's choices from what the shelf showed.

P(place j) ∝ exp(w · x_j), where x_j holds the article's log price, rating, log number of reviews,
tags and place (the first is the reference). Weights are fitted by maximum likelihood; standard
errors come from the information matrix (McFadden 1974; Allouah et al. 2025 use the same model).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra import EpisodeRecord, Interval, InvalidOption, retrace, wilson

from palestra_web.shop.shelf import SHELF_SIZE, TAGS, Shelf

ATTRIBUTES = ("log price", "rating", "log reviews", *TAGS)
NAMES = (*ATTRIBUTES, *(f"place {place}" for place in range(1, SHELF_SIZE)))
RIDGE = 1e-9  # added to the information matrix, so that a column that never varies gets weight 0

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Choices:
    """A fitted model of choices; its columns are named by `NAMES`."""

    weights: dict[str, float]
    errors: dict[str, float]  # standard errors of the weights
    log_likelihood: float
    shares: tuple[float, ...]  # of the choices, by place

    def in_price(self, name: str) -> float:
        """The relative change of price that has the same effect as one unit of an attribute."""
        return float(np.expm1(self.weights[name] / -self.weights["log price"]))


def features(shelf: Shelf) -> Array:
    """The model's features of a shelf: (8 places, 13 columns named by `NAMES`)."""
    rows = np.zeros((SHELF_SIZE, len(NAMES)))
    for place, article in enumerate(shelf.articles):
        rows[place, :3] = np.log(article.price), article.rating / 10, np.log(article.reviews)
        rows[place, 3:6] = [tag in article.tags for tag in TAGS]
        if place:
            rows[place, 5 + place] = 1
    return rows


def choices_of(records: Iterable[EpisodeRecord]) -> tuple[Array, NDArray[np.int64]]:
    """Features, of shape (trials, 8, 13), and chosen places, from records with a purchase.

    Raises `InvalidOption` for records of another environment, or if nothing was bought in any.
    """
    trials = _purchases(records)
    return np.array([features(data) for data in trials]), np.array([t.bought for t in trials])


def _purchases(records: Iterable[EpisodeRecord]) -> list[Shelf]:
    """The shelves of the records in which something was bought."""
    shelves = []
    for record in records:
        *_, last = retrace(record)
        data = last.state.data
        if not isinstance(data, Shelf):
            raise InvalidOption(f"{record.env} has no shelf; pass records of web/Shelf-v0")
        if data.bought >= 0:
            shelves.append(data)
    if not shelves:
        raise InvalidOption("nothing was bought in these records, so there are no choices to fit")
    return shelves


def fit(shown: Array, chosen: Sequence[int] | NDArray[np.int64]) -> Choices:
    """Fit the model by Newton's method to trials as `choices_of` returns them."""
    picks = np.asarray(chosen)
    weights = np.zeros(shown.shape[2])
    for _ in range(100):
        gradient, information, _ = _derivatives(shown, picks, weights)
        step = np.linalg.solve(information, gradient)
        weights += step / max(1.0, float(np.abs(step).max()))  # a long step may overshoot
        if np.abs(step).max() < 1e-9:
            break
    _, information, value = _derivatives(shown, picks, weights)
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    shares = tuple(float((picks == place).mean()) for place in range(SHELF_SIZE))
    named = dict(zip(NAMES, map(float, weights), strict=True))
    return Choices(named, dict(zip(NAMES, map(float, errors), strict=True)), value, shares)


def _derivatives(shown: Array, chosen: Any, weights: Array) -> tuple[Array, Array, float]:
    utilities = shown @ weights
    utilities -= utilities.max(axis=1, keepdims=True)
    odds = np.exp(utilities)
    shares = odds / odds.sum(axis=1, keepdims=True)
    mean = np.einsum("tp,tpk->tk", shares, shown)
    picked = shown[np.arange(len(chosen)), chosen]
    centred = shown - mean[:, None, :]
    information = np.einsum("tp,tpk,tpl->kl", shares, centred, centred)
    information += RIDGE * np.eye(len(weights))
    value = float(np.log(shares[np.arange(len(chosen)), chosen]).sum())
    return (picked - mean).sum(axis=0), information, value


def market_shares(records: Iterable[EpisodeRecord]) -> dict[str, Interval]:
    """By brand, the share of the purchases with its 95 % interval (Wilson), from 0 to 1.

    records: trials of one fixed assortment (`assortment=1` or more), all of the same.

    Raises `InvalidOption` for other records: if every trial has its own products, no product has a
    share.
    """
    bought: Counter[str] = Counter()
    brands: set[str] = set()
    for data in _purchases(records):
        shelf = {article.brand for article in data.articles}
        if data.articles[0].product < 0 or (brands and shelf != brands):
            raise InvalidOption(
                "market shares need records of one fixed assortment, and these have products of "
                "their own in each trial; play web/Shelf-v0 with assortment=1 and trial='choice'"
            )
        brands = shelf
        bought[data.articles[data.bought].brand] += 1
    trials = bought.total()
    return {brand: wilson(bought[brand], trials) for brand in sorted(brands)}


def share_shift(
    before: Iterable[EpisodeRecord], after: Iterable[EpisodeRecord]
) -> tuple[float, float]:
    """The rise of the seller's share of purchases, and its standard error.

    before, after: trials without and with the seller's edit, as pairs with the same seeds in the
    same order. The error is that of the mean of paired differences.
    """
    pairs = zip(_sales(before), _sales(after), strict=True)
    shifts = np.array([new - old for old, new in pairs], dtype=np.float64)
    if len(shifts) < 2:
        raise InvalidOption(f"share_shift needs two pairs of trials or more, not {len(shifts)}")
    return float(shifts.mean()), float(shifts.std(ddof=1) / np.sqrt(len(shifts)))


def _sales(records: Iterable[EpisodeRecord]) -> list[int]:
    return [int(data.bought == data.sellers_place) for data in _purchases(records)]


def product_concentration(records: Iterable[EpisodeRecord]) -> float:
    """The Herfindahl index of products in a fixed assortment: 1/8 if even, 1 if always the same."""
    return sum(share.value**2 for share in market_shares(records).values())


def concentration(records: Iterable[EpisodeRecord]) -> float:
    """The Herfindahl index of the places bought from: 1/8 if even, 1 if always the same place."""
    _, chosen = choices_of(records)
    shares = np.bincount(chosen, minlength=SHELF_SIZE) / len(chosen)
    return float((shares**2).sum())
