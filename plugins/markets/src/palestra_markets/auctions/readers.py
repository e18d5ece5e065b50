"""Models of how readers click on advertisements, and the best pages for advertisers.

With `logit` a reader weighs all advertisements on the page at once, and clicks on one or on none:
on i with chance w[i, p_i] / (1 + sum of w), w by advertiser and position. With `cascade` a reader
starts at the top, clicks on an advertisement with chance c[i], and reads on after it with chance
q[i] (D. Kempe and M. Mahdian, "A Cascade Model for Externalities in Sponsored Search", WINE 2008).

A page is a tuple of the advertiser at each position, -1 for an empty position.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Any, Protocol

import numpy as np
from scipy.optimize import linear_sum_assignment

Page = tuple[int, ...]
EMPTY = -1


class Reader(Protocol):
    """A kind of reader: the clicks a page brings, and the page whose clicks are worth the most."""

    @property
    def positions(self) -> int: ...

    def clicks(self, page: Page) -> Any:
        """The chance of a click on each advertiser; 0 for those not on the page."""

    def best_page(self, values: Sequence[float]) -> Page:
        """The page with the largest sum of clicks times values."""

    def quality(self, advertiser: int) -> float:
        """How attractive an advertiser is alone in the first position."""


class Logit:
    """Multinomial logit: `attraction` is a table of positive weights, advertisers by positions."""

    def __init__(self, attraction: Any) -> None:
        self.attraction = np.asarray(attraction, float)

    @property
    def positions(self) -> int:
        return int(self.attraction.shape[1])

    def clicks(self, page: Page) -> Any:
        weights = np.zeros(len(self.attraction))
        for position, advertiser in enumerate(page):
            if advertiser != EMPTY:
                weights[advertiser] = self.attraction[advertiser, position]
        return weights / (1 + weights.sum())

    def best_page(self, values: Sequence[float]) -> Page:
        """The best page by Dinkelbach's method, which solves a sequence of matchings."""
        worth = 0.0
        while True:
            gains = np.maximum(self.attraction * (np.asarray(values) - worth)[:, None], 0)
            rows, columns = linear_sum_assignment(gains, maximize=True)
            page = [EMPTY] * self.positions
            for advertiser, position in zip(rows, columns, strict=True):
                if gains[advertiser, position] > 1e-12:
                    page[position] = int(advertiser)
            found = float(self.clicks(tuple(page)) @ np.asarray(values, float))
            if found <= worth + 1e-12:
                return tuple(page)
            worth = found

    def quality(self, advertiser: int) -> float:
        return float(self.attraction[advertiser, 0])


class Cascade:
    """Reading from the top: chances of a click and of reading on, by advertiser."""

    def __init__(self, click: Any, go_on: Any, positions: int) -> None:
        self.click, self.go_on = np.asarray(click, float), np.asarray(go_on, float)
        self._positions = positions

    @property
    def positions(self) -> int:
        return self._positions

    def clicks(self, page: Page) -> Any:
        found, reads = np.zeros(len(self.click)), 1.0
        for advertiser in page:
            if advertiser != EMPTY:
                found[advertiser] = reads * self.click[advertiser]
                reads *= self.go_on[advertiser]
        return found

    def best_page(self, values: Sequence[float]) -> Page:
        """The exact optimum: dynamic programming over advertisers sorted by v c / (1 - q)."""
        worth = np.asarray(values, float) * self.click
        order = np.argsort(-worth / np.maximum(1 - self.go_on, 1e-12), kind="stable")
        best: list[tuple[float, Page]] = [(0.0, ())] * (self._positions + 1)
        for advertiser in order[::-1].tolist():
            for room in range(self._positions, 0, -1):
                rest, page = best[room - 1]
                taken = worth[advertiser] + self.go_on[advertiser] * rest
                if taken > best[room][0] + 1e-12:
                    best[room] = (taken, (advertiser, *page))
        page = best[self._positions][1]
        return page + (EMPTY,) * (self._positions - len(page))

    def quality(self, advertiser: int) -> float:
        return float(self.click[advertiser])


# Payments, from bids per click


def worth(reader: Reader, page: Page, values: Sequence[float]) -> float:
    """The sum over a page of clicks times values."""
    return float(reader.clicks(page) @ np.asarray(values, float))


def externality_payments(reader: Reader, bids: Sequence[float]) -> tuple[Page, list[float]]:
    """The best page for the bids; each advertiser pays what the others would gain without them."""
    page = reader.best_page(bids)
    paid = []
    for advertiser in range(len(bids)):
        others = [0.0 if n == advertiser else float(bid) for n, bid in enumerate(bids)]
        without = worth(reader, reader.best_page(others), others)
        paid.append(max(0.0, without - worth(reader, page, others)))
    return page, paid


def second_price_payments(reader: Reader, bids: Sequence[float]) -> tuple[Page, list[float]]:
    """Positions by bid times quality; a click costs the least bid that keeps the position."""
    scores = [bid * reader.quality(n) for n, bid in enumerate(bids)]
    ranked = sorted((n for n, bid in enumerate(bids) if bid > 0), key=lambda n: (-scores[n], n))
    page = tuple(ranked[: reader.positions])
    page += (EMPTY,) * (reader.positions - len(page))
    clicks, paid = reader.clicks(page), [0.0] * len(bids)
    for place, above in enumerate(ranked, 1):
        below = scores[ranked[place]] if place < len(ranked) else 0.0
        price = below / reader.quality(above)
        paid[above] = float(clicks[above]) * price
    return page, paid


def virtual(bid: float, most: float) -> float:
    """The virtual value of a value drawn uniformly from 0 to `most`; 0 where it is negative."""
    return max(0.0, 2 * bid - most)


def revenue_payments(reader: Reader, bids: Sequence[int], most: int) -> tuple[Page, list[float]]:
    """R. Myerson's optimal auction for whole bids: the best page for virtual values.

    A bid b pays b x(b) - x(b - 1) - … - x(0), where x(a) are the advertiser's clicks at a bid a.
    """

    def page_of(values: Sequence[float]) -> Page:
        return reader.best_page([virtual(value, most) for value in values])

    page, paid = page_of(bids), []
    for advertiser, bid in enumerate(bids):
        won = []
        for own in range(bid + 1):
            tried = [own if n == advertiser else other for n, other in enumerate(bids)]
            won.append(float(reader.clicks(page_of(tried))[advertiser]))
        paid.append(max(0.0, bid * won[-1] - fsum(won[:-1])))
    return page, paid
