"""The tables of a travel desk and a request to it, drawn from a seed.

Every request can be met: each city has a place to stay that fits it and restaurants with the
cuisines it asks for, and the budget is above the cost of the cheapest plan that `cheapest` finds,
which the trip keeps as its witness. Money is in whole units, distances in km.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from palestra import Rng

REGIONS = ("Andoria", "Belmark", "Corvane", "Drellin", "Estmere", "Farrow", "Galdin", "Hestia")
CITIES = (
    "Ashford", "Brinley", "Calder", "Dunmore", "Elmstead", "Fairhaven", "Glenrock", "Harrow",
    "Ironbridge", "Juniper", "Kelso", "Larkspur", "Marlow", "Norwood", "Oakdale", "Pinewood",
    "Quarry", "Redhill", "Stonefield", "Thornton", "Upland", "Vernon", "Westbrook", "Yarrow",
)  # fmt: skip
FIRST = ("Amber", "Blue", "Copper", "Golden", "Grand", "Green", "Hidden", "Iron", "Old", "Silver")
EATERIES = ("Bistro", "Canteen", "Grill", "Kitchen", "Table")
HOUSES = ("Guesthouse", "Inn", "Lodge", "Residence", "Suites")
SIGHTS = ("Castle", "Gallery", "Garden", "Market", "Museum", "Tower")
CUISINES = ("Chinese", "French", "Indian", "Italian", "Mexican", "Mediterranean")
ROOMS = ("entire room", "private room", "shared room")
ROOM_WISHES = (*ROOMS, "not shared room")
HOUSE_RULES = ("smoking", "parties", "pets", "children", "visitors")
TRANSPORT_WISHES = ("no flight", "no self-driving")
LEVELS = {"easy": 0, "medium": 1, "hard": 3}  # wishes beside the budget
LENGTHS = {3: 1, 5: 2, 7: 3}  # days of a trip, and cities it visits
MOST_PEOPLE = 6
EATERIES_A_CITY, HOUSES_A_CITY, SIGHTS_A_CITY = 7, 5, 4


@dataclass(frozen=True, slots=True)
class Flight:
    """A flight on one day of the trip."""

    number: str
    origin: str
    destination: str
    day: int
    departs: str
    price: int  # a person


@dataclass(frozen=True, slots=True)
class Lodging:
    """A place to stay."""

    name: str
    city: str
    price: int  # a room and night
    room_type: str
    max_occupancy: int
    minimum_nights: int
    forbids: tuple[str, ...]  # of HOUSE_RULES
    rating: int  # 1 to 5


@dataclass(frozen=True, slots=True)
class Restaurant:
    """A restaurant."""

    name: str
    city: str
    cuisines: tuple[str, ...]
    price: int  # a person
    rating: int  # 1 to 5


@dataclass(frozen=True, slots=True)
class TravelTables:
    """Every table, by the arguments of the tool that searches it."""

    cities: dict[str, tuple[str, ...]]  # by region
    flights: dict[tuple[str, str, int], tuple[Flight, ...]]  # by origin, destination and day
    distances: dict[tuple[str, str], int]  # km, by origin and destination
    lodging: dict[str, tuple[Lodging, ...]]  # by city
    restaurants: dict[str, tuple[Restaurant, ...]]  # by city
    attractions: dict[str, tuple[str, ...]]  # names by city


@dataclass(frozen=True, slots=True)
class Request:
    """What a traveller wants; a wish that is empty is not made."""

    origin: str
    region: str
    cities: int  # to visit
    days: int
    people: int
    budget: int
    house_rule: str = ""
    room_type: str = ""
    cuisines: tuple[str, ...] = ()
    transport: str = ""

    def __str__(self) -> str:
        text = (
            f"Plan a trip of {self.days} days for {self.people} people from {self.origin} to "
            f"{self.region}, visiting {self.cities} "
            f"{'city' if self.cities == 1 else 'different cities'} there and returning to "
            f"{self.origin} on the last day. The budget is {self.budget} for all."
        )
        if self.house_rule:
            text += f" Every place to stay must allow {self.house_rule}."
        if self.room_type:
            text += f" Room type: {self.room_type}."
        if self.cuisines:
            text += f" We want to eat, once at least each: {', '.join(self.cuisines)}."
        if self.transport:
            text += f" Transport: {self.transport}."
        return text

    def accepts(self, place: Lodging) -> bool:
        """Whether the rules of a place and the type of its rooms are as wished."""
        return self.house_rule not in place.forbids and self.accepts_room(place.room_type)

    def accepts_room(self, room_type: str) -> bool:
        if self.room_type == "not shared room":
            return room_type != "shared room"
        return self.room_type in ("", room_type)


def drive_cost(km: int, people: int) -> int:
    """The cost of fuel for as many cars as are needed, with five people in each."""
    return int(km * 0.05) * math.ceil(people / 5)


def taxi_cost(km: int, people: int) -> int:
    """The cost of as many taxis as are needed, with four people in each."""
    return km * math.ceil(people / 4)


def room_cost(place: Lodging, people: int) -> int:
    """The cost of a night in as many rooms as are needed."""
    return place.price * math.ceil(people / place.max_occupancy)


def draw_request(days: int, level: str, rng: Rng) -> Request:
    """A request without its budget; its other wishes are drawn from four kinds."""
    request = Request(
        rng.choice(CITIES), rng.choice(REGIONS), LENGTHS[days], days, rng.between(1, MOST_PEOPLE), 0
    )
    kinds = ["house_rule", "room_type", "cuisines", "transport"]
    rng.shuffle(kinds)
    cuisines = list(CUISINES)
    rng.shuffle(cuisines)
    wishes = {
        "house_rule": rng.choice(HOUSE_RULES),
        "room_type": rng.choice(ROOM_WISHES),
        "cuisines": tuple(sorted(cuisines[: rng.between(2, 3)])),
        "transport": rng.choice(TRANSPORT_WISHES),
    }
    chosen = {kind: wishes[kind] for kind in kinds[: LEVELS[level]]}
    return replace(request, **chosen)  # type: ignore[arg-type]


def draw_cities(request: Request, rng: Rng) -> tuple[str, ...]:
    """The cities of the region: one more than the request visits."""
    names = [city for city in CITIES if city != request.origin]
    rng.shuffle(names)
    return tuple(sorted(names[: request.cities + 1]))


def draw_tables(request: Request, cities: tuple[str, ...], rng: Rng) -> TravelTables:
    """Tables about the origin and the cities, in which the request can be met."""
    places = (request.origin, *cities)
    distances: dict[tuple[str, str], int] = {}
    for number, one in enumerate(places):
        for other in places[:number]:
            distances[one, other] = distances[other, one] = rng.between(80, 900)
    flights = {
        (one, other, day): _flights(one, other, day, distances[one, other], rng)
        for one in places
        for other in places
        for day in range(1, request.days + 1)
        if one != other
    }
    return TravelTables(
        {request.region: cities},
        flights,
        distances,
        {city: _lodging(city, request, rng) for city in places},
        {city: _restaurants(city, request, rng) for city in places},
        {city: tuple(_names(SIGHTS, SIGHTS_A_CITY, rng)) for city in places},
    )


def _names(kinds: tuple[str, ...], count: int, rng: Rng) -> list[str]:
    names = [f"{first} {kind}" for first in FIRST for kind in kinds]
    rng.shuffle(names)
    return names[:count]


def _flights(origin: str, destination: str, day: int, km: int, rng: Rng) -> tuple[Flight, ...]:
    """Zero to three flights; their numbers name cities and day, so that no two are equal."""
    code = f"{origin[:2]}{destination[:2]}{day}".upper()
    return tuple(
        Flight(
            f"{code}{n}", origin, destination, day,
            f"{rng.between(6, 21):02d}:{rng.between(0, 59):02d}",
            60 + km // 5 + rng.between(0, 150),
        )
        for n in range(1, rng.between(0, 3) + 1)
    )  # fmt: skip


def _lodging(city: str, request: Request, rng: Rng) -> tuple[Lodging, ...]:
    houses = []
    for name in _names(HOUSES, HOUSES_A_CITY, rng):
        forbids = tuple(rule for rule in HOUSE_RULES if rng.below(3) == 0)
        houses.append(
            Lodging(
                name, city, rng.between(40, 240), rng.choice(ROOMS), rng.between(1, 4),
                rng.between(1, 3), forbids, rng.between(1, 5),
            )
        )  # fmt: skip
    fit = rng.below(len(houses))
    room = request.room_type if request.room_type in ROOMS else ROOMS[0]
    allowed = tuple(rule for rule in houses[fit].forbids if rule != request.house_rule)
    houses[fit] = replace(houses[fit], room_type=room, forbids=allowed, minimum_nights=2)
    return tuple(houses)


def _restaurants(city: str, request: Request, rng: Rng) -> tuple[Restaurant, ...]:
    eateries = []
    for number, name in enumerate(_names(EATERIES, EATERIES_A_CITY, rng)):
        served = {rng.choice(CUISINES), rng.choice(CUISINES)}
        if number < len(request.cuisines):
            served.add(request.cuisines[number])
        price = rng.between(8, 90)
        eateries.append(Restaurant(name, city, tuple(sorted(served)), price, rng.between(1, 5)))
    rng.shuffle(eateries)
    return tuple(eateries)
