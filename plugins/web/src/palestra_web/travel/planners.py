"""Scripted agents of `web/TravelDesk-v0`: they know what the tools have told them, and no more."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from palestra import Agent, Decision, InvalidOption, TextAction, Turn, agent

from palestra_web.tools.declare import Call, Done, call
from palestra_web.travel.cheapest import NIGHTS, cheapest
from palestra_web.travel.desk import TravelDesk
from palestra_web.travel.plan import NONE, TAXI, Day, entry_of
from palestra_web.travel.tables import Flight, Lodging, Request, Restaurant, Tables


@dataclass(slots=True)
class Notes:
    """What one seat has been told, and what it still has to do."""

    request: Request
    tables: Tables = field(default_factory=lambda: Tables({}, {}, {}, {}, {}, {}))
    read: int = 0
    calls: Iterator[TextAction] | None = None


class _Planner(Agent):
    """Asks all it wants to know, then notes a plan and hands it in."""

    def __init__(self) -> None:
        self._notes: dict[int, Notes] = {}

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def forget(self, episode_key: int) -> None:
        self._notes.pop(episode_key, None)

    def _choose(self, turn: Turn) -> TextAction:
        if not isinstance(turn.game, TravelDesk):
            raise InvalidOption(f"this agent plans for web/TravelDesk-v0, not {turn.env}")
        events = turn.transcript
        notes = self._notes.get(turn.episode_key)
        if notes is None:
            request = msgspec.convert(dict(events[0].data), Request)
            notes = self._notes[turn.episode_key] = Notes(request)
            notes.calls = self.plan(notes)
        for event in events[notes.read :]:
            if "result" in event.data:
                _learn(notes.tables, event.data)
        notes.read = len(events)
        assert notes.calls is not None
        return next(notes.calls)

    @abstractmethod
    def plan(self, notes: Notes) -> Iterator[TextAction]:
        """The calls to make; after each one `notes` hold what it was answered."""


def _learn(tables: Any, data: Any) -> None:
    """Enter an answer into the tables as they are known."""
    tool, asked, rows = data["tool"], data["arguments"], data["result"]
    if tool == "search_cities":
        tables.cities[asked["region"]] = tuple(rows)
    elif tool == "search_flights":
        key = asked["origin"], asked["destination"], asked["day"]
        tables.flights[key] = tuple(msgspec.convert(rows, list[Flight]))
    elif tool == "search_distance":
        tables.distances[asked["origin"], asked["destination"]] = rows["km"]
    elif tool == "search_lodging":
        tables.lodging[asked["city"]] = tuple(msgspec.convert(rows, list[Lodging]))
    elif tool == "search_restaurants":
        tables.restaurants[asked["city"]] = tuple(msgspec.convert(rows, list[Restaurant]))
    elif tool == "search_attractions":
        tables.attractions[asked["city"]] = tuple(rows)


def _about(city: str) -> Iterator[Call]:
    for kind in ("lodging", "restaurants", "attractions"):
        yield call(f"search_{kind}", city=city)


def _hand_in(plan: Sequence[Day]) -> Iterator[TextAction]:
    for day in plan:
        yield call("note_day", **msgspec.to_builtins(day))
    while True:
        yield Done()


@agent(
    "travel-planner",
    kind="solver",
    plays=("web/TravelDesk-v0",),
    summary="Looks everything up through tools and hands in the cheapest plan that meets it all.",
)
class TravelPlanner(_Planner):
    """Asks about everything it may need and hands in the cheapest plan that meets every wish."""

    def plan(self, notes: Notes) -> Iterator[TextAction]:
        request, tables = notes.request, notes.tables
        yield call("search_cities", region=request.region)
        cities = tables.cities[request.region]
        for city in cities:
            yield from _about(city)
        last = request.days
        yield from _ways(request.origin, cities, 1)
        for city in cities:
            others = [other for other in cities if other != city]
            for day in range(3, last, 2):
                yield from _flights(city, others, day)
            yield from _roads(city, others)
            yield from _ways(city, (request.origin,), last)
        found = cheapest(request, tables)
        yield from _hand_in(found.plan if found else ())


def _ways(origin: str, destinations: Sequence[str], day: int) -> Iterator[Call]:
    yield from _roads(origin, destinations)
    yield from _flights(origin, destinations, day)


def _roads(origin: str, destinations: Sequence[str]) -> Iterator[Call]:
    for destination in destinations:
        yield call("search_distance", origin=origin, destination=destination)


def _flights(origin: str, destinations: Sequence[str], day: int) -> Iterator[Call]:
    for destination in destinations:
        yield call("search_flights", origin=origin, destination=destination, day=day)


@agent(
    "travel-greedy",
    plays=("web/TravelDesk-v0",),
    summary="Takes what is rated best and does not count the money.",
)
class TravelGreedy(_Planner):
    """Goes where it looks first, takes what is rated best there and does not count the money."""

    def plan(self, notes: Notes) -> Iterator[TextAction]:
        request, tables = notes.request, notes.tables
        yield call("search_cities", region=request.region)
        days: list[Day] = []
        here = request.origin
        for city in tables.cities[request.region][: request.cities]:
            yield from _about(city)
            day = len(days) + 1
            yield call("search_flights", origin=here, destination=city, day=day)
            houses = [h for h in tables.lodging[city] if h.minimum_nights <= NIGHTS]
            bed = entry_of(max(houses, key=lambda h: h.rating).name, city)
            ranked = sorted(tables.restaurants[city], key=lambda r: -r.rating)
            breakfast, lunch, dinner = (entry_of(r.name, city) for r in ranked[:3])
            way = _first_flight(tables, here, city, day)
            days.append(Day(day, f"from {here} to {city}", way, lodging=bed))
            sight = entry_of(tables.attractions[city][0], city)
            days.append(Day(day + 1, city, NONE, breakfast, sight, lunch, dinner, bed))
            here = city
        day = request.days
        yield call("search_flights", origin=here, destination=request.origin, day=day)
        way = _first_flight(tables, here, request.origin, day)
        days.append(Day(day, f"from {here} to {request.origin}", way))
        yield from _hand_in(days)


def _first_flight(tables: Tables, origin: str, destination: str, day: int) -> str:
    """The first flight there is, otherwise a taxi."""
    flights = tables.flights[origin, destination, day]
    return flights[0].number if flights else TAXI
