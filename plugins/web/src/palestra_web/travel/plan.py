"""A plan of a trip day by day, its cost, and the checks that it must pass.

The checks are those of Xie et al., "TravelPlanner: A Benchmark for Real-World Planning with
Language Agents", 2024: eight of common sense ("commonsense"), then the budget and the traveller's
other wishes ("hard"). As in the paper, all hard checks fail for a plan that is incomplete or names
something that does not exist; a wish that was not made is not checked.
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
    TravelTables,
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


class PlanDay(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One day of a plan; places are written `Name, City`, and "-" is nothing."""

    day: int  # from 1
    city: str  # a name, or `from A to B` on a day of travel
    transport: str = NONE  # a flight's number, "self-driving" or "taxi"
    breakfast: str = NONE
    attractions: str = NONE  # separated by ";"
    lunch: str = NONE
    dinner: str = NONE
    lodging: str = NONE  # for the night after this day

    @property
    def ends(self) -> tuple[str, str]:
        """The cities in which the day starts and ends."""
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


Plan = Sequence[PlanDay]


def place_of(entry: str) -> tuple[str, str]:
    """The name and the city of `Name, City`; the city is empty where none is named."""
    name, _, city = entry.rpartition(",")
    return (name.strip(), city.strip()) if name else (city.strip(), "")


def entry_of(name: str, city: str) -> str:
    return f"{name}, {city}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of every check."""

    delivered: bool  # whether the plan has an entry for every day
    commonsense: Mapping[str, bool]  # by check
    hard: Mapping[str, bool]  # by check; without wishes that were not made

    @property
    def final(self) -> bool:
        return self.delivered and all(self.commonsense.values()) and all(self.hard.values())

    @property
    def figures(self) -> dict[str, float]:
        """Delivery, micro (share of checks passed), macro (1 if all are) and final, from 0 to 1."""
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


def hard_checks(request: Request) -> tuple[str, ...]:
    """The hard checks of a request."""
    return tuple(name for name in HARD if name == "budget" or getattr(request, name))


def judge(plan: Plan | None, request: Request, tables: TravelTables) -> Verdict:
    """Run every check; a plan that is None, or does not have every day, passes none."""
    wishes = hard_checks(request)
    if plan is None or [day.day for day in plan] != list(range(1, request.days + 1)):
        return Verdict(False, dict.fromkeys(COMMONSENSE, False), dict.fromkeys(wishes, False))
    index = _TableIndex(tables)
    found = {name: _CHECKS[name](plan, request, index) for name in COMMONSENSE}
    hard = dict.fromkeys(wishes, False)
    if found["within_sandbox"] and found["complete_information"]:
        hard = {name: _CHECKS[name](plan, request, index) for name in wishes}
    return Verdict(True, found, hard)


class _TableIndex:
    """The rows of the tables by the names that a plan gives them."""

    def __init__(self, tables: TravelTables) -> None:
        self.distances = tables.distances
        self.flights = {f.number: f for rows in tables.flights.values() for f in rows}
        self.lodging = {(p.name, p.city): p for rows in tables.lodging.values() for p in rows}
        self.eateries = {(r.name, r.city): r for rows in tables.restaurants.values() for r in rows}
        self.sights = {(s, city) for city, names in tables.attractions.items() for s in names}
        self.cities = tables.cities

    def carries(self, day: PlanDay) -> bool:
        """Whether the transport of a day exists."""
        if day.transport in (DRIVE, TAXI):
            return day.ends in self.distances
        flight = self.flights.get(day.transport)
        return flight is not None and (flight.origin, flight.destination, flight.day) == (
            *day.ends,
            day.day,
        )

    def meals(self, plan: Plan) -> list[Restaurant]:
        """The restaurants of all meals."""
        return [self.eateries[place_of(meal)] for day in plan for meal in day.meals]

    def nights(self, plan: Plan) -> list[Lodging]:
        """The places of all nights."""
        return [self.lodging[place_of(day.lodging)] for day in plan if day.lodging != NONE]


def _within_sandbox(plan: Plan, request: Request, index: _TableIndex) -> bool:
    return all(
        (day.transport == NONE or index.carries(day))
        and all(place_of(meal) in index.eateries for meal in day.meals)
        and all(place_of(sight) in index.sights for sight in day.sights)
        and (day.lodging == NONE or place_of(day.lodging) in index.lodging)
        for day in plan
    )


def _complete_information(plan: Plan, request: Request, index: _TableIndex) -> bool:
    """Transport on travel days, meals and a sight on others, and a bed on all but the last."""
    for day in plan:
        if day.moves and day.transport == NONE:
            return False
        if not day.moves and (len(day.meals) < 3 or not day.sights):
            return False
        if day.day < len(plan) and day.lodging == NONE:
            return False
    return True


def _within_current_city(plan: Plan, request: Request, index: _TableIndex) -> bool:
    for day in plan:
        if any(place_of(entry)[1] not in day.ends for entry in (*day.meals, *day.sights)):
            return False
        if day.lodging != NONE and place_of(day.lodging)[1] != day.ends[1]:
            return False
    return True


def _reasonable_route(plan: Plan, request: Request, index: _TableIndex) -> bool:
    """The days form a round trip from the origin through as many cities as requested."""
    ends = [day.ends for day in plan]
    if ends[0][0] != request.origin or ends[-1][1] != request.origin:
        return False
    if any(one[1] != other[0] for one, other in pairwise(ends)):
        return False
    visited = [end for start, end in ends if start != end][:-1]
    known = index.cities.get(request.region, ())
    return (
        len(set(visited)) == len(visited) == request.cities
        and set(visited) <= set(known)
        and ends[0][1] != request.origin
    )


def _diverse_restaurants(plan: Plan, request: Request, index: _TableIndex) -> bool:
    return _all_different([place_of(meal) for day in plan for meal in day.meals])


def _diverse_attractions(plan: Plan, request: Request, index: _TableIndex) -> bool:
    return _all_different([place_of(sight) for day in plan for sight in day.sights])


def _all_different(things: Sequence[object]) -> bool:
    return len(set(things)) == len(things)


def _non_conflicting_transport(plan: Plan, request: Request, index: _TableIndex) -> bool:
    """A traveller who drives their own car drives all the way."""
    used = {day.transport for day in plan if day.transport != NONE}
    return DRIVE not in used or used == {DRIVE}


def _minimum_nights(plan: Plan, request: Request, index: _TableIndex) -> bool:
    stays = groupby(day.lodging for day in plan if day.lodging != NONE)
    for entry, nights in stays:
        place = index.lodging.get(place_of(entry))
        if place is not None and len(list(nights)) < place.minimum_nights:
            return False
    return True


def _budget(plan: Plan, request: Request, index: _TableIndex) -> bool:
    return _cost(plan, request, index) <= request.budget


def _house_rule(plan: Plan, request: Request, index: _TableIndex) -> bool:
    return all(request.house_rule not in place.forbids for place in index.nights(plan))


def _room_type(plan: Plan, request: Request, index: _TableIndex) -> bool:
    return all(request.accepts_room(place.room_type) for place in index.nights(plan))


def _cuisines(plan: Plan, request: Request, index: _TableIndex) -> bool:
    """Every requested cuisine is eaten; meals in the city of origin do not count."""
    meals = [place for place in index.meals(plan) if place.city != request.origin]
    return set(request.cuisines) <= {cuisine for place in meals for cuisine in place.cuisines}


def _transport(plan: Plan, request: Request, index: _TableIndex) -> bool:
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


def cost(plan: Plan, request: Request, tables: TravelTables) -> int:
    """The cost of a plan for all travellers; everything it names must be in the tables."""
    return _cost(plan, request, _TableIndex(tables))


def _cost(plan: Plan, request: Request, index: _TableIndex) -> int:
    people = request.people
    total = sum(place.price * people for place in index.meals(plan))
    total += sum(room_cost(place, people) for place in index.nights(plan))
    for day in plan:
        if day.transport == DRIVE:
            total += drive_cost(index.distances[day.ends], people)
        elif day.transport == TAXI:
            total += taxi_cost(index.distances[day.ends], people)
        elif day.transport != NONE:
            total += index.flights[day.transport].price * people
    return total
