"""CityRoutes: a way through a city, by what it costs the climate, comfort and time.

A city is a grid of junctions. Every street between neighbours is a motorway, an avenue or a lane,
and has a length that is drawn. A driver goes from a corner to the opposite one, street by street.
Three values are paid as separate terms, each as a cost per unit of length:

| street | sustainability | comfort | time |
|---|---|---|---|
| motorway | 1.0 | 0.4 | 0.2 |
| avenue | 0.6 | 0.2 | 0.5 |
| lane | 0.2 | 0.8 | 1.0 |

So no kind of street is best for every value, and the way that a driver takes shows how much each
counts. The use case is that of "Learning the Value Systems of Agents with Preference-based and
Inverse Reinforcement Learning", 2026, which names the three values; the numbers are this package's
own.

Checked: terms by hand; the solver's ways against networkx.

Left out: the paper's road network and recorded trips.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from heapq import heappop, heappush
from typing import Annotated

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    Meta,
    OneOf,
    Option,
    Outcome,
    Rng,
    Scene,
    ScriptedAgent,
    Step,
    TextAction,
    TextGame,
    Turn,
    agent,
    environment,
)
from palestra.grids.words import quantity
from palestra.scene import Graph, Link, Node

VALUES = ("sustainability", "comfort", "time")
KINDS: dict[str, tuple[float, float, float]] = {
    "motorway": (1.0, 0.4, 0.2),
    "avenue": (0.6, 0.2, 0.5),
    "lane": (0.2, 0.8, 1.0),
}
NAMES = tuple(KINDS)
COLOURS, WIDTHS = ("red", "blue", "green"), (3.0, 2.0, 1.0)  # in pictures, by kind
WAYS = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1)}
LAID = ("east", "south")  # the directions in which streets are numbered
Place = tuple[int, int]
Street = tuple[int, int]  # number of its kind, and its length


class Drive(TextAction, frozen=True):
    """Drive along the street to the next junction."""

    to: str


@dataclass(slots=True)
class City:
    """The state: the streets, by the junction in the north-west and the direction, and the car."""

    rng: Rng
    streets: dict[tuple[Place, str], Street]
    at: Place = (0, 0)
    turn: int = 0
    earned: float = 0.0  # all terms so far


@environment(
    "text/CityRoutes-v0",
    family="text",
    tags=("values", "planning", "navigation"),
    paper=(
        "Learning the Value Systems of Agents with Preference-based and Inverse Reinforcement "
        "Learning (2026)"
    ),
    splits={"large": {"rows": 6, "columns": 6}},
)
@dataclass(frozen=True)
class CityRoutes(TextGame[City]):
    """A way through a city, by what it costs the climate, comfort and time.

    The menu: Drive north, south, west, east. An observation is an int16 vector: row and column of
    the car, then for every junction, row by row, the kind (from 1; 0 for none) and the length of
    the street to the east, and those of the street to the south.
    """

    rows: Annotated[int, Meta(ge=2, le=20, description="junctions from north to south")] = 4
    columns: Annotated[int, Meta(ge=2, le=20, description="junctions from west to east")] = 4
    longest: Annotated[int, Meta(ge=1, le=100, description="greatest length of a street")] = 3
    turns: Annotated[
        int, Meta(ge=1, le=10_000, description="streets until the episode is truncated")
    ] = 60

    rules_text = """
        You drive through a city, from the junction in the north-west to the one in the south-east.

        In your turn write Drive(to='…') with a direction: north, south, west or east.

        Three costs are counted for every street, each per unit of its length:
        motorway: sustainability 1.0, comfort 0.4, time 0.2;
        avenue: sustainability 0.6, comfort 0.2, time 0.5;
        lane: sustainability 0.2, comfort 0.8, time 1.0.
    """
    order = "sequential"
    payoffs = "general"
    num_players = 1
    reward_terms = VALUES
    action_types = (Drive,)
    counters = ("turn", "earned")
    menu = tuple(map(Drive, WAYS))

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        dearest = max(map(sum, KINDS.values()))
        return (-dearest * self.longest * self.turns, 0.0)

    # The rules

    def initial_state(self, seed: int | None = None) -> City:
        rng = Rng.seeded(seed)
        return City(
            rng,
            {
                (at, way): (rng.between(0, len(NAMES) - 1), rng.between(1, self.longest))
                for at in np.ndindex(self.rows, self.columns)
                for way in LAID
                if self.is_inside(beside(at, way))
            },
        )

    def is_inside(self, at: Place) -> bool:
        return 0 <= at[0] < self.rows and 0 <= at[1] < self.columns

    def street(self, state: City, at: Place, way: str) -> Street | None:
        """The street from a junction in a direction; None where the city ends."""
        if way in LAID:
            return state.streets.get((at, way))
        return state.streets.get((beside(at, way), "south" if way == "north" else "east"))

    def goal(self) -> Place:
        return self.rows - 1, self.columns - 1

    def to_act(self, state: City) -> tuple[int, ...]:
        return () if self.outcome(state) else (0,)

    def legal(self, state: City, seat: int) -> Grammar:
        open_ways = tuple(way for way in WAYS if self.street(state, state.at, way))
        return Grammar((Option(Drive, {"to": OneOf(open_ways)}),))

    def step(self, state: City, actions: Mapping[int, TextAction]) -> Step:
        action = actions[0]
        assert isinstance(action, Drive)
        street = self.street(state, state.at, action.to)
        assert street is not None
        paid = costs(street)
        state.at = beside(state.at, action.to)
        state.turn += 1
        state.earned -= sum(paid.values())
        text = f"You drive {action.to} along {street_text(street)}."
        rewards = {name: -cost for name, cost in paid.items()}
        return Step({0: rewards}, events=[Event("move", text)])

    def outcome(self, state: City) -> Outcome | None:
        if state.at == self.goal():
            return Outcome(("score",), (state.earned,), "the driver arrived")
        if state.turn == self.turns:
            return Outcome(("truncated",), (state.earned,), "the driver did not arrive")
        return None

    # What the player sees

    def rules_for(self, seat: int) -> str:
        return (
            f"{super().rules_for(seat)}\nThe city has {quantity(self.rows, 'row')} and "
            f"{quantity(self.columns, 'column')} of junctions, numbered from 0 in the north-west. "
            f"You may drive {quantity(self.turns, 'street')}."
        )

    def describe(self, state: City, seat: int) -> str:
        lines = [
            f"Streets driven: {state.turn} of {self.turns}. You are at row {state.at[0]}, column "
            f"{state.at[1]}. The streets of the city:"
        ]
        lines += (_street_line(*laid, street) for laid, street in state.streets.items())
        return "\n".join(lines)

    @cached_property
    def _space(self) -> spaces.Box:
        most = max(self.rows, self.columns, self.longest, len(NAMES))
        return spaces.Box(0, most, (2 + 4 * self.rows * self.columns,), np.int16)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    def observe(self, state: City, seat: int) -> NDArray[np.int16]:
        """The observation vector; the class docstring gives the layout."""
        row: list[int] = list(state.at)
        for at in np.ndindex(self.rows, self.columns):
            for way in LAID:
                street = state.streets.get((at, way))
                row += [street[0] + 1, street[1]] if street else [0, 0]
        return np.array(row, np.int16)

    def city_of(self, observation: NDArray[np.int16]) -> City:
        """The city and the car of an observation vector."""
        seen = observation.tolist()
        pairs = zip(seen[2::2], seen[3::2], strict=True)
        named = ((at, way) for at in np.ndindex(self.rows, self.columns) for way in LAID)
        streets = {
            (at, way): (kind - 1, length)
            for (at, way), (kind, length) in zip(named, pairs, strict=True)
            if kind
        }
        return City(Rng.seeded(0), streets, (seen[0], seen[1]))

    def scene(self, state: City, seat: int | None = None) -> Scene:
        """The map: junctions, and streets whose colour and width say their kind."""
        junctions = list(np.ndindex(self.rows, self.columns))
        across, down = max(1, self.columns - 1), max(1, self.rows - 1)
        nodes = [
            Node(
                f"{row},{column}",
                0 if (row, column) == state.at else "gold" if (row, column) == self.goal() else -1,
                "car" if (row, column) == state.at else "goal",
                (column / across, row / down),
            )
            for row, column in junctions
        ]
        nodes = [node if node.colour != -1 else replace(node, label="") for node in nodes]
        links = [
            Link(
                junctions.index(at),
                junctions.index(beside(at, way)),
                str(length),
                COLOURS[kind],
                WIDTHS[kind],
            )
            for (at, way), (kind, length) in sorted(state.streets.items())
        ]
        key = ", ".join(f"{COLOURS[n]}: {name}" for n, name in enumerate(NAMES))
        lines = (f"{key}; numbers are lengths.".capitalize(),)
        caption = f"Streets driven: {state.turn} of {self.turns}."
        return Scene(parts=(Graph(tuple(nodes), tuple(links)),), caption=caption, lines=lines)


def beside(at: Place, way: str) -> Place:
    south, east = WAYS[way]
    return at[0] + south, at[1] + east


def costs(street: Street) -> dict[str, float]:
    """What a street costs by each value."""
    kind, length = street
    return {name: each * length for name, each in zip(VALUES, KINDS[NAMES[kind]], strict=True)}


@lru_cache(maxsize=4096)
def _street_line(at: Place, way: str, street: Street) -> str:
    row, column = beside(at, way)
    return f"- row {at[0]}, column {at[1]} to row {row}, column {column}: {street_text(street)}"


def street_text(street: Street) -> str:
    return f"{NAMES[street[0]]}, length {street[1]}"


@agent("city-router", kind="solver")
class Router(ScriptedAgent[CityRoutes]):
    """Drives the cheapest way by its own weights of the three values (Dijkstra's algorithm)."""

    def __init__(
        self,
        *,
        sustainability: Annotated[
            float, Meta(ge=0, le=1, description="weight of sustainability")
        ] = 1.0,
        comfort: Annotated[float, Meta(ge=0, le=1, description="weight of comfort")] = 1.0,
        time: Annotated[float, Meta(ge=0, le=1, description="weight of time")] = 1.0,
    ) -> None:
        super().__init__(seed=0)
        self._weights = {"sustainability": sustainability, "comfort": comfort, "time": time}

    def choose(self, turn: Turn[CityRoutes]) -> TextAction:
        city = turn.game.city_of(turn.observation)
        reached: set[Place] = set()
        queue: list[tuple[float, int, Place, str]] = [(0.0, 0, city.at, "")]
        pushed = 0
        while queue:
            cost, _, at, first = heappop(queue)
            if at == turn.game.goal():
                return Drive(first)
            if at in reached:
                continue
            reached.add(at)
            for way in WAYS:
                street = turn.game.street(city, at, way)
                if street is not None:
                    pushed += 1
                    further = cost + self._price(street)
                    heappush(queue, (further, pushed, beside(at, way), first or way))
        raise AssertionError("every junction of a grid is reached")

    def _price(self, street: Street) -> float:
        return sum(self._weights[name] * cost for name, cost in costs(street).items())
