"""A plan of a trip day by day, what it costs, and the checks it must pass.

The checks are those of Xie et al., "TravelPlanner: A Benchmark for Real-World Planning with
Language Agents", 2024: eight of common sense, then the budget and what else was wished. As there,
wishes are looked at only where the plan is complete and everything in it exists; a wish that was
not made is no check.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import msgspec

from palestra_web.travel.tables import (
    Lodging,
    Request,
    Restaurant,
    Tables,
    drive_cost,
    room_cost,
    taxi_cost,
)

NONE = "-"
DRIVE, TAXI = "self-driving", "taxi"
COMMONSENSE = (
    "within_sandbox", "complete_information", "within_current_city", "reasonable_route",
    "diverse_restaurants", "diverse_attractions", "non_conflicting_transport", "minimum_nights",
)  # fmt: skip
HARD = ("budget", "house_rule", "room_type", "cuisines", "transport")
_MOVE = re.compile(r"from (.+) to (.+)")


class Day(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One day: `city` is a name, or `from A to B`; places are `Name, City`; "-" is nothing.

    `transport` is a flight's number, "self-driving" or "taxi"; attractions are parted by ";".
    """

    day: int
    city: str
    transport: str = NONE
    breakfast: str = NONE
    attractions: str = NONE
    lunch: str = NONE
    dinner: str = NONE
    lodging: str = NONE

    @property
    def ends(self) -> tuple[str, str]:
        """Where the day starts and where it ends."""
        match = _MOVE.fullmatch(self.city.strip())
        return (match[1].strip(), match[2].strip()) if match else (self.city.strip(),) * 2

    @property
    def moves(self) -> bool:
        start, end = self.ends
        return start != end

    @property
    def meals(self) -> tuple[str, ...]:
        return tuple(m for m in (self.breakfast, self.lunch, self.dinner) if m != NONE)

    @property
    def sights(self) -> tuple[str, ...]:
        named = (name.strip() for name in self.attractions.split(";"))
        return tuple(name for name in named if name not in ("", NONE))


Plan = Sequence[Day]


def place_of(entry: str) -> tuple[str, str]:
    """Name and city of `Name, City`; no city where none is named."""
    name, _, city = entry.rpartition(",")
    return (name.strip(), city.strip()) if name else (city.strip(), "")


def entry_of(name: str, city: str) -> str:
    return f"{name}, {city}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What every check found; wishes that were not made are not in `hard`."""

    delivered: bool
    commonsense: Mapping[str, bool]
    hard: Mapping[str, bool]

    @property
    def final(self) -> bool:
        return self.delivered and all(self.commonsense.values()) and all(self.hard.values())

    @property
    def figures(self) -> dict[str, float]:
        """Micro: the share of checks passed; macro: whether all of a kind are."""
        return {
            "delivery": float(self.delivered),
            "commonsense_micro": _share(self.commonsense),
            "commonsense_macro": float(all(self.commonsense.values())),
            "hard_micro": _share(self.hard),
            "hard_macro": float(all(self.hard.values())),
            "final": float(self.final),
        }


def _share(checks: Mapping[str, bool]) -> float:
    return sum(checks.values()) / len(checks)


def asked_for(request: Request) -> tuple[str, ...]:
    """The hard checks of a request."""
    return tuple(name for name in HARD if name == "budget" or getattr(request, name))


def judge(plan: Plan | None, request: Request, tables: Tables) -> Verdict:
    """Run every check; a plan that was not delivered, or not for every day, passes none."""
    wishes = asked_for(request)
    if plan is None or [day.day for day in plan] != list(range(1, request.days + 1)):
        return Verdict(False, dict.fromkeys(COMMONSENSE, False), dict.fromkeys(wishes, False))
    desk = _Lookup(tables)
    found = {name: _CHECKS[name](plan, request, desk) for name in COMMONSENSE}
    hard = dict.fromkeys(wishes, False)
    if found["within_sandbox"] and found["complete_information"]:
        hard = {name: _CHECKS[name](plan, request, desk) for name in wishes}
    return Verdict(True, found, hard)


class _Lookup:
    """The rows of the tables by what a plan calls them."""

    def __init__(self, tables: Tables) -> None:
        self.distances = tables.distances
        self.flights = {f.number: f for rows in tables.flights.values() for f in rows}
        self.lodging = {(p.name, p.city): p for rows in tables.lodging.values() for p in rows}
        self.eateries = {(r.name, r.city): r for rows in tables.restaurants.values() for r in rows}
        self.sights = {(s, city) for city, names in tables.attractions.items() for s in names}
        self.cities = tables.cities

    def carries(self, day: Day) -> bool:
        """Whether there is such transport on such a day."""
        if day.transport in (DRIVE, TAXI):
            return day.ends in self.distances
        flight = self.flights.get(day.transport)
        return flight is not None and (flight.origin, flight.destination, flight.day) == (
            *day.ends,
            day.day,
        )

    def eaten(self, plan: Plan) -> list[Restaurant]:
        return [self.eateries[place_of(meal)] for day in plan for meal in day.meals]

    def nights(self, plan: Plan) -> list[Lodging]:
        return [self.lodging[place_of(day.lodging)] for day in plan if day.lodging != NONE]


def _within_sandbox(plan: Plan, request: Request, desk: _Lookup) -> bool:
    return all(
        (day.transport == NONE or desk.carries(day))
        and all(place_of(meal) in desk.eateries for meal in day.meals)
        and all(place_of(sight) in desk.sights for sight in day.sights)
        and (day.lodging == NONE or place_of(day.lodging) in desk.lodging)
        for day in plan
    )


def _complete_information(plan: Plan, request: Request, desk: _Lookup) -> bool:
    """Transport on days of travel, meals and a sight on the others, a bed for all but the last."""
    for day in plan:
        if day.moves and day.transport == NONE:
            return False
        if not day.moves and (len(day.meals) < 3 or not day.sights):
            return False
        if day.day < len(plan) and day.lodging == NONE:
            return False
    return True


def _within_current_city(plan: Plan, request: Request, desk: _Lookup) -> bool:
    for day in plan:
        if any(place_of(entry)[1] not in day.ends for entry in (*day.meals, *day.sights)):
            return False
        if day.lodging != NONE and place_of(day.lodging)[1] != day.ends[1]:
            return False
    return True


def _reasonable_route(plan: Plan, request: Request, desk: _Lookup) -> bool:
    """From the origin and back, day following on day, through as many cities as were asked for."""
    ends = [day.ends for day in plan]
    if ends[0][0] != request.origin or ends[-1][1] != request.origin:
        return False
    if any(one[1] != other[0] for one, other in pairwise(ends)):
        return False
    visited = [end for start, end in ends if start != end][:-1]
    known = desk.cities.get(request.region, ())
    return (
        len(set(visited)) == len(visited) == request.cities
        and set(visited) <= set(known)
        and ends[0][1] != request.origin
    )


def _diverse_restaurants(plan: Plan, request: Request, desk: _Lookup) -> bool:
    return _all_different([place_of(meal) for day in plan for meal in day.meals])


def _diverse_attractions(plan: Plan, request: Request, desk: _Lookup) -> bool:
    return _all_different([place_of(sight) for day in plan for sight in day.sights])


def _all_different(things: Sequence[object]) -> bool:
    return len(set(things)) == len(things)


def _non_conflicting_transport(plan: Plan, request: Request, desk: _Lookup) -> bool:
    """Whoever drives his own car drives it all the way."""
    used = {day.transport for day in plan if day.transport != NONE}
    return DRIVE not in used or used == {DRIVE}


def _minimum_nights(plan: Plan, request: Request, desk: _Lookup) -> bool:
    stays = groupby(day.lodging for day in plan if day.lodging != NONE)
    for entry, nights in stays:
        place = desk.lodging.get(place_of(entry))
        if place is not None and len(list(nights)) < place.minimum_nights:
            return False
    return True


def _budget(plan: Plan, request: Request, desk: _Lookup) -> bool:
    return _cost(plan, request, desk) <= request.budget


def _house_rule(plan: Plan, request: Request, desk: _Lookup) -> bool:
    return all(request.house_rule not in place.forbids for place in desk.nights(plan))


def _room_type(plan: Plan, request: Request, desk: _Lookup) -> bool:
    return all(request.accepts_room(place.room_type) for place in desk.nights(plan))


def _cuisines(plan: Plan, request: Request, desk: _Lookup) -> bool:
    """Meals at home do not count."""
    eaten = [place for place in desk.eaten(plan) if place.city != request.origin]
    return set(request.cuisines) <= {cuisine for place in eaten for cuisine in place.cuisines}


def _transport(plan: Plan, request: Request, desk: _Lookup) -> bool:
    used = {day.transport for day in plan if day.transport != NONE}
    if request.transport == "no self-driving":
        return DRIVE not in used
    return used <= {DRIVE, TAXI}


_CHECKS = {
    "within_sandbox": _within_sandbox,
    "complete_information": _complete_information,
    "within_current_city": _within_current_city,
    "reasonable_route": _reasonable_route,
    "diverse_restaurants": _diverse_restaurants,
    "diverse_attractions": _diverse_attractions,
    "non_conflicting_transport": _non_conflicting_transport,
    "minimum_nights": _minimum_nights,
    "budget": _budget,
    "house_rule": _house_rule,
    "room_type": _room_type,
    "cuisines": _cuisines,
    "transport": _transport,
}


def cost(plan: Plan, request: Request, tables: Tables) -> int:
    """What a plan costs all travellers; what it names must be in the tables."""
    return _cost(plan, request, _Lookup(tables))


def _cost(plan: Plan, request: Request, desk: _Lookup) -> int:
    people = request.people
    total = sum(place.price * people for place in desk.eaten(plan))
    total += sum(room_cost(place, people) for place in desk.nights(plan))
    for day in plan:
        if day.transport == DRIVE:
            total += drive_cost(desk.distances[day.ends], people)
        elif day.transport == TAXI:
            total += taxi_cost(desk.distances[day.ends], people)
        elif day.transport != NONE:
            total += desk.flights[day.transport].price * people
    return total
