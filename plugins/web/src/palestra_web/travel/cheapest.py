"""The cheapest plan of a kind: travel on every second day, three meals on every day between.

Exact for that kind of plan: routes and ways to travel are tried one by one, nights are cheapest
city by city, and meals are chosen by dynamic programming over the cuisines covered so far.
"""

from __future__ import annotations

from itertools import combinations, pairwise, permutations
from typing import NamedTuple

from palestra_web.travel.plan import DRIVE, NONE, TAXI, Day, entry_of
from palestra_web.travel.tables import (
    Lodging,
    Request,
    Restaurant,
    Tables,
    drive_cost,
    room_cost,
    taxi_cost,
)

NIGHTS = 2  # in every city
MEALS = 3


class Priced(NamedTuple):
    cost: int
    plan: tuple[Day, ...]


Meals = tuple[Restaurant, ...]


def cheapest(request: Request, tables: Tables) -> Priced | None:
    """The cheapest plan that meets every wish, whatever the budget; None if there is none.

    Looks only at the rows that `tables` has, so an agent can give what it has been told so far.
    """
    best: Priced | None = None
    for route in permutations(tables.cities[request.region], request.cities):
        priced = _along(route, request, tables)
        if priced is not None and (best is None or priced.cost < best.cost):
            best = priced
    return best


def _along(route: tuple[str, ...], request: Request, tables: Tables) -> Priced | None:
    travel = _travel((request.origin, *route, request.origin), request, tables)
    houses = [_house(city, request, tables) for city in route]
    meals = _meals(route, request, tables)
    if travel is None or meals is None:
        return None
    total, ways = travel
    days: list[Day] = []
    here = request.origin
    for city, house, eaten in zip(route, houses, meals, strict=True):
        if house is None:
            return None
        bed = entry_of(house.name, city)
        total += NIGHTS * room_cost(house, request.people)
        total += request.people * sum(place.price for place in eaten)
        day = len(days) + 1
        days.append(Day(day, f"from {here} to {city}", ways[day // 2], lodging=bed))
        breakfast, lunch, dinner = (entry_of(place.name, city) for place in eaten)
        sight = entry_of(tables.attractions[city][0], city)
        days.append(Day(day + 1, city, NONE, breakfast, sight, lunch, dinner, bed))
        here = city
    days.append(Day(len(days) + 1, f"from {here} to {request.origin}", ways[-1]))
    return Priced(total, tuple(days))


def _travel(
    stops: tuple[str, ...], request: Request, tables: Tables
) -> tuple[int, list[str]] | None:
    """Drive all the way, or take the cheaper of flight and taxi for every leg."""
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


def _house(city: str, request: Request, tables: Tables) -> Lodging | None:
    fitting = [
        house
        for house in tables.lodging[city]
        if house.minimum_nights <= NIGHTS and request.accepts(house)
    ]
    return min(fitting, key=lambda house: room_cost(house, request.people), default=None)


def _meals(route: tuple[str, ...], request: Request, tables: Tables) -> list[Meals] | None:
    """Three restaurants a city, which together serve all that is wished."""
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
