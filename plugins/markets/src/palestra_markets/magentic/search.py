"""How the marketplace ranks businesses for a query."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from palestra_markets.magentic.scenario import Business, Customer

Ranking = Literal["simple", "filtered", "lexical", "optimal", "cheapest"]


def words(text: str) -> set[str]:
    """The words of a text, without case."""
    return set(re.findall(r"[a-z]+", text.casefold()))


def text_of(business: Business) -> str:
    """The text of a business that a lexical search compares with the query."""
    return f"{' '.join(business.items)} {' '.join(business.amenities)} {business.description}"


def rank_businesses(
    ranking: Ranking,
    query: str,
    customer: Customer,
    businesses: Sequence[Business],
    shuffled: Sequence[int],
) -> list[int]:
    """Numbers of businesses, best first; ties in the order of `shuffled`.

    simple      every business, whatever the query
    filtered    those with every amenity that the query names
    lexical     by how many words they share with the query
    optimal     those that have all the customer wants on their menu first, best rating first
    cheapest    those that can serve the customer first, cheapest first by list prices
    """
    if ranking == "simple":
        return list(shuffled)
    if ranking == "filtered":
        asked = query.casefold()
        named = {a for b in businesses for a in b.amenities if a.casefold() in asked}
        return [n for n in shuffled if named <= set(businesses[n].amenities)]
    if ranking == "lexical":
        sought = words(query)
        return sorted(shuffled, key=lambda n: -len(sought & words(text_of(businesses[n]))))
    order = lower_rated if ranking == "optimal" else unfitness
    return sorted(shuffled, key=lambda n: order(customer, businesses[n]))


def lower_rated(customer: Customer, business: Business) -> tuple[bool, int]:
    """A sort key that puts businesses with all the items first, those with best ratings first."""
    return business.list_price(customer.items) is None, -business.rating


def unfitness(customer: Customer, business: Business) -> tuple[bool, int]:
    """A sort key that puts businesses that can serve the customer first, cheapest first."""
    price = business.list_price(customer.items)
    if price is None or any(need not in business.amenities for need in customer.needs):
        return True, 0
    return False, price
