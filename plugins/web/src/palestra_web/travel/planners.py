"""Scripted agents for `web/TravelDesk-v0`, which know only the tools' answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from palestra import ScriptedAgent, TextAction, Turn, agent

from palestra_web.tools.declare import Call, Done, call
from palestra_web.travel.cheapest import NIGHTS, cheapest
from palestra_web.travel.desk import TravelDesk
from palestra_web.travel.plan import NONE, TAXI, PlanDay, entry_of
from palestra_web.travel.tables import Flight, Lodging, Request, Restaurant, TravelTables


@dataclass(slots=True)
class PlannerNotes:
    """What a planner knows in one episode, and the calls it still makes."""

    request: Request
    tables: TravelTables = field(default_factory=lambda: TravelTables({}, {}, {}, {}, {}, {}))
    read: int = 0  # events read
    calls: Iterator[TextAction] | None = None


class _Planner(ScriptedAgent[TravelDesk]):
    """Calls the tools it needs, then notes a plan and submits it."""

    def __init__(self) -> None:
        super().__init__()
        self._notes: dict[int, PlannerNotes] = {}

    def forget(self, episode_key: int) -> None:
        self._notes.pop(episode_key, None)

    def choose(self, turn: Turn[TravelDesk]) -> TextAction:
        events = turn.transcript
        notes = self._notes.get(turn.episode_key)
        if notes is None:
            request = msgspec.convert(dict(events[0].data), Request)
            notes = self._notes[turn.episode_key] = PlannerNotes(request)
            notes.calls = self.plan(notes)
        for event in events[notes.read :]:
            if "result" in event.data:
                _learn(notes.tables, event.data)
        notes.read = len(events)
        assert notes.calls is not None
        return next(notes.calls)

    @abstractmethod
    def plan(self, notes: PlannerNotes) -> Iterator[TextAction]:
        """The calls to make; after each one `notes` hold its answer."""


def _learn(tables: TravelTables, data: Mapping[str, Any]) -> None:
    """Enter the answer of a tool into the known tables."""
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


def _ask_about(city: str) -> Iterator[Call]:
    for kind in ("lodging", "restaurants", "attractions"):
        yield call(f"search_{kind}", city=city)


def _hand_in(plan: Sequence[PlanDay]) -> Iterator[TextAction]:
    for day in plan:
        yield call("note_day", **msgspec.to_builtins(day))
    while True:
        yield Done()


@agent("travel-planner", kind="solver")
class TravelPlanner(_Planner):
    """Looks up everything it may need and submits the cheapest plan that meets every wish."""

    def plan(self, notes: PlannerNotes) -> Iterator[TextAction]:
        request, tables = notes.request, notes.tables
        yield call("search_cities", region=request.region)
        cities = tables.cities[request.region]
        for city in cities:
            yield from _ask_about(city)
        last = request.days
        yield from _ask_ways(request.origin, cities, 1)
        for city in cities:
            others = [other for other in cities if other != city]
            for day in range(3, last, 2):
                yield from _ask_flights(city, others, day)
            yield from _ask_roads(city, others)
            yield from _ask_ways(city, (request.origin,), last)
        found = cheapest(request, tables)
        yield from _hand_in(found.plan if found else ())


def _ask_ways(origin: str, destinations: Sequence[str], day: int) -> Iterator[Call]:
    yield from _ask_roads(origin, destinations)
    yield from _ask_flights(origin, destinations, day)


def _ask_roads(origin: str, destinations: Sequence[str]) -> Iterator[Call]:
    for destination in destinations:
        yield call("search_distance", origin=origin, destination=destination)


def _ask_flights(origin: str, destinations: Sequence[str], day: int) -> Iterator[Call]:
    for destination in destinations:
        yield call("search_flights", origin=origin, destination=destination, day=day)


@agent("travel-greedy")
class TravelGreedy(_Planner):
    """Visits the first cities it finds and takes the best rated options, whatever they cost."""

    def plan(self, notes: PlannerNotes) -> Iterator[TextAction]:
        request, tables = notes.request, notes.tables
        yield call("search_cities", region=request.region)
        days: list[PlanDay] = []
        here = request.origin
        for city in tables.cities[request.region][: request.cities]:
            yield from _ask_about(city)
            day = len(days) + 1
            yield call("search_flights", origin=here, destination=city, day=day)
            houses = [h for h in tables.lodging[city] if h.minimum_nights <= NIGHTS]
            bed = entry_of(max(houses, key=lambda h: h.rating).name, city)
            ranked = sorted(tables.restaurants[city], key=lambda r: -r.rating)
            breakfast, lunch, dinner = (entry_of(r.name, city) for r in ranked[:3])
            way = _first_flight(tables, here, city, day)
            days.append(PlanDay(day, f"from {here} to {city}", way, lodging=bed))
            sight = entry_of(tables.attractions[city][0], city)
            days.append(PlanDay(day + 1, city, NONE, breakfast, sight, lunch, dinner, bed))
            here = city
        day = request.days
        yield call("search_flights", origin=here, destination=request.origin, day=day)
        way = _first_flight(tables, here, request.origin, day)
        days.append(PlanDay(day, f"from {here} to {request.origin}", way))
        yield from _hand_in(days)


def _first_flight(tables: TravelTables, origin: str, destination: str, day: int) -> str:
    """The number of the first flight, or a taxi where there is none."""
    flights = tables.flights[origin, destination, day]
    return flights[0].number if flights else TAXI
