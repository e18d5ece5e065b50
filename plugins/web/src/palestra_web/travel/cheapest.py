"""The cheapest plan that travels every second day and eats three meals on the other days.

It is optimal among these plans: it tries every route and every means of transport, takes the
cheapest place to stay in each city, and chooses meals by dynamic programming over the cuisines
covered.
"""

from __future__ import annotations

from itertools import combinations, pairwise, permutations
from typing import NamedTuple

from palestra_web.travel.plan import DRIVE, NONE, TAXI, PlanDay, entry_of
from palestra_web.travel.tables import (
    Lodging,
    Request,
    Restaurant,
    TravelTables,
    drive_cost,
    room_cost,
    taxi_cost,
)

NIGHTS = 2  # in every city
MEALS = 3


class PricedPlan(NamedTuple):
    """A plan, and what it costs all travellers."""

    cost: int
    plan: tuple[PlanDay, ...]


Meals = tuple[Restaurant, ...]


def cheapest(request: Request, tables: TravelTables) -> PricedPlan | None:
    """The cheapest plan that meets every wish, whatever the budget; None if there is none.

    Reads only the rows in `tables`, so an agent can pass what tools have shown it so far.
    """
    best: PricedPlan | None = None
    for route in permutations(tables.cities[request.region], request.cities):
        priced = _along(route, request, tables)
        if priced is not None and (best is None or priced.cost < best.cost):
            best = priced
    return best


def _along(route: tuple[str, ...], request: Request, tables: TravelTables) -> PricedPlan | None:
    travel = _travel((request.origin, *route, request.origin), request, tables)
    houses = [_house(city, request, tables) for city in route]
    meals = _meals(route, request, tables)
    if travel is None or meals is None:
        return None
    total, ways = travel
    days: list[PlanDay] = []
    here = request.origin
    for city, house, eaten in zip(route, houses, meals, strict=True):
        if house is None:
            return None
        bed = entry_of(house.name, city)
        total += NIGHTS * room_cost(house, request.people)
        total += request.people * sum(place.price for place in eaten)
        day = len(days) + 1
        days.append(PlanDay(day, f"from {here} to {city}", ways[day // 2], lodging=bed))
        breakfast, lunch, dinner = (entry_of(place.name, city) for place in eaten)
        sight = entry_of(tables.attractions[city][0], city)
        days.append(PlanDay(day + 1, city, NONE, breakfast, sight, lunch, dinner, bed))
        here = city
    days.append(PlanDay(len(days) + 1, f"from {here} to {request.origin}", ways[-1]))
    return PricedPlan(total, tuple(days))


def _travel(
    stops: tuple[str, ...], request: Request, tables: TravelTables
) -> tuple[int, list[str]] | None:
    """The cheapest transport: driving all the way, or a flight or taxi on each leg."""
    people, legs = request.people, list(pairwise(stops))
    choices: list[tuple[int, list[str]]] = []
    if request.transport != "no self-driving" and all(leg in tables.distances for leg in legs):
        fuel = sum(drive_cost(tables.distances[leg], people) for leg in legs)
        choices.append((fuel, [DRIVE] * len(legs)))
    ways = []
    for number, (one, other) in enumerate(legs):
        options = []
        if (one, other) in tables.distances:
            options.append((taxi_cost(tables.distances[one, other], people), TAXI))
        if request.transport != "no flight":
            flights = tables.flights.get((one, other, 2 * number + 1), ())
            options += [(flight.price * people, flight.number) for flight in flights]
        if options:
            ways.append(min(options))
    if len(ways) == len(legs):
        choices.append((sum(price for price, _ in ways), [way for _, way in ways]))
    return min(choices, default=None)


def _house(city: str, request: Request, tables: TravelTables) -> Lodging | None:
    fitting = [
        house
        for house in tables.lodging[city]
        if house.minimum_nights <= NIGHTS and request.accepts(house)
    ]
    return min(fitting, key=lambda house: room_cost(house, request.people), default=None)


def _meals(route: tuple[str, ...], request: Request, tables: TravelTables) -> list[Meals] | None:
    """The cheapest three restaurants in each city that together serve every cuisine wished."""
    best: dict[frozenset[str], tuple[int, list[Meals]]] = {frozenset(): (0, [])}
    for city in route:
        further: dict[frozenset[str], tuple[int, list[Meals]]] = {}
        for eaten in combinations(tables.restaurants[city], MEALS):
            price = sum(place.price for place in eaten)
            served = {c for place in eaten for c in place.cuisines if c in request.cuisines}
            for had, (spent, before) in best.items():
                covered = had | served
                if covered not in further or spent + price < further[covered][0]:
                    further[covered] = spent + price, [*before, eaten]
        best = further
    found = best.get(frozenset(request.cuisines))
    return found[1] if found else None
