"""Transport: a team looks for things in a house and carries all of them to one room.

A house of rooms and doors is drawn, and which room the things are to be brought to. In every step
all players act at once: each goes through a door, takes something, puts down what it carries,
reports what it has seen, says something, or waits. A player has two hands; a container takes one
hand and holds three things. A player sees what lies in the rooms where it has been. All hear where
everybody goes and what they take and put down, so that what lay in a room that was seen stays
known; what lies elsewhere must be found, or reported by somebody who has seen it.

It follows the object transport of "CaPo: Cooperative Plan Optimization for Efficient Embodied
Multi-Agent Cooperation", 2024 (ThreeDWorld Multi-Agent Transport): rooms, two hands, containers of
three, sight of one room, messages that cost a step, and the share that is transported in time.

Checked: the fewest steps of one player by networkx and by trips counted by hand; nobody reads what
it has neither seen nor been told.

Left out: the three dimensions and the size of steps in them; there, players do not hear what others
do in other rooms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, sqrt
from typing import Annotated, Any

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
    Result,
    Rng,
    Scene,
    Step,
    Talking,
    Text,
    TextAction,
    TextGame,
    environment,
    only,
)
from palestra.grids.words import quantity
from palestra.scene import Graph, Link, Node

ROOMS = (
    *("hall", "kitchen", "study", "bedroom", "bathroom", "cellar"),
    *("attic", "garage", "pantry", "library", "workshop", "veranda"),
)
THINGS = (
    *("apple", "book", "candle", "clock", "cup", "drum", "fork", "globe", "hammer", "hat"),
    *("kettle", "lamp", "mirror", "pillow", "plate", "radio", "scarf", "spoon", "towel", "vase"),
)
CONTAINERS = ("basket", "box", "bucket", "crate")
HANDS, ROOM_IN_CONTAINER = 2, 3
UNKNOWN = -1


class Go(TextAction, frozen=True):
    """Go through a door into the next room."""

    to: str


class Take(TextAction, frozen=True):
    """Take something that lies in your room, into a container that you carry if it has room."""

    thing: str


class Drop(TextAction, frozen=True):
    """Put down all things that you carry; you keep containers."""


class Report(TextAction, frozen=True):
    """Tell everybody what lies in the rooms that you have seen."""


class Say(TextAction, frozen=True):
    """Say something to everybody."""

    text: str


class Wait(TextAction, frozen=True):
    """Do nothing."""


LINES = ("I look in the rooms near me.", "I carry what we have found.", "I need help.")


@dataclass(slots=True)
class House:
    """The state. A place is a room's number, then a player's hands, then a container."""

    rng: Rng
    doors: tuple[tuple[int, ...], ...]  # the rooms next to each
    squares: tuple[int, ...]  # where each room lies, for pictures: square by square, row by row
    goal: int
    players: list[int]  # the room of each
    places: list[int]  # of each thing, then of each container
    seen: list[int]  # by seat, a bit for each room
    moved: int = 0  # a bit for each thing and container that anybody has taken
    step: int = 0


@environment(
    "text/Transport-v0",
    family="text",
    tags=("cooperation", "hidden-information", "messages", "planning", "deterministic"),
    paper=(
        "CaPo: Cooperative Plan Optimization for Efficient Embodied Multi-Agent Cooperation (2024)"
    ),
    splits={
        "small": {"rooms": 5, "things": 6, "containers": 1, "steps": 10},
        "large": {"num_players": 4, "rooms": 12, "things": 20, "containers": 4, "steps": 16},
    },
)
@dataclass(frozen=True)
class Transport(Talking, TextGame[House]):
    """A team looks for things in a house and carries all of them to one room.

    The menu numbers Go for every room, Take for every thing and container, Drop, Report, three
    lines to say, and Wait. An observation is an int16 vector: own seat, steps left, the goal, the
    room of every player, the place of every thing and container, for every player and room whether
    the one knows what lies in the other, and for every pair of rooms whether a door joins them. A
    place is the number of a room, `rooms` + the seat of who carries it, `rooms` + `num_players` +
    the number of the container that it is in, or -1 where it is not known. All are paid 1 /
    `things` for a thing that is brought.
    """

    num_players: Annotated[int, Meta(ge=1, le=6, description="number of players")] = 2
    rooms: Annotated[int, Meta(ge=2, le=len(ROOMS), description="rooms of the house")] = 8
    things: Annotated[
        int, Meta(ge=1, le=len(THINGS), description="things to be brought to one room")
    ] = 10
    containers: Annotated[
        int, Meta(ge=0, le=len(CONTAINERS), description="containers that lie about")
    ] = 2
    steps: Annotated[int, Meta(ge=1, le=1000, description="steps until the episode ends")] = 16
    message_limit: Annotated[
        int, Meta(ge=40, le=10_000, description="longest message, in characters")
    ] = 300

    rules_text = """
        You and your team bring things to one room of a house. In every step all act at once; write
        one of:
        Go(to='kitchen') to go through a door into the next room;
        Take(thing='cup') to take a thing or a container that lies in your room;
        Drop() to put down all things that you carry; you keep containers;
        Report() to tell everybody what lies in the rooms that you have seen;
        Say(text='I look upstairs.') to say something to everybody;
        Wait() to do nothing.

        You have two hands. A container takes one hand and holds three things; what you take goes
        into a container that you carry while there is room in it. You see what lies in the rooms
        where you have been. Everybody hears where all go and what they take and put down. A thing
        is brought once it lies in the right room, and stays there.
    """
    order = "simultaneous"
    payoffs = "common"
    perfect_information = False
    deterministic = True
    reward_terms = ("brought",)
    payoff_bounds = (0.0, 1.0)
    counters = ("step",)
    action_types = (Go, Take, Drop, Report, Say, Wait)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The things, then the containers."""
        return THINGS[: self.things] + CONTAINERS[: self.containers]

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        going = map(Go, ROOMS[: self.rooms])
        return (*going, *map(Take, self.names), Drop(), Report(), *map(Say, LINES), Wait())

    # The rules

    def initial_state(self, seed: int | None = None) -> House:
        """Things, containers and players lie and stand anywhere, things not where they are due."""
        rng = Rng.seeded(seed)
        squares = list(range(self.rooms))
        rng.shuffle(squares)
        doors = self._doors(squares, rng)
        goal = rng.below(self.rooms)
        players = [rng.below(self.rooms) for _ in range(self.num_players)]
        others = [room for room in range(self.rooms) if room != goal]
        places = [rng.choice(others) for _ in self.names]
        seen = [1 << room for room in players]
        return House(rng, doors, tuple(squares), goal, players, places, seen)

    def _doors(self, squares: Sequence[int], rng: Rng) -> tuple[tuple[int, ...], ...]:
        """Doors between rooms side by side: those of a tree, and of the others one in four."""
        walls = self._walls()
        rng.shuffle(walls)
        group = list(range(self.rooms))
        near: list[set[int]] = [set() for _ in range(self.rooms)]
        for one, other in walls:
            joined = group[one] == group[other]
            if joined and rng.below(4):
                continue
            group = [group[other] if g == group[one] else g for g in group]
            near[one].add(other)
            near[other].add(one)
        room_at = {square: room for room, square in enumerate(squares)}
        return tuple(tuple(sorted(room_at[n] for n in near[square])) for square in squares)

    @property
    def columns(self) -> int:
        """The squares of a row of the house."""
        return ceil(sqrt(self.rooms))

    def _walls(self) -> list[tuple[int, int]]:
        """The pairs of squares that lie side by side."""
        across = [(n, n + 1) for n in range(self.rooms - 1) if (n + 1) % self.columns]
        return across + [(n, n + self.columns) for n in range(self.rooms - self.columns)]

    def held(self, state: House, seat: int) -> list[int]:
        """What a player has in its hands, containers included."""
        return [n for n, place in enumerate(state.places) if place == self.rooms + seat]

    def inside(self, state: House, container: int) -> list[int]:
        """What is in a container."""
        place = self.rooms + self.num_players + container - self.things
        return [n for n, where in enumerate(state.places) if where == place]

    def carried(self, state: House, seat: int) -> list[int]:
        """The things that a player carries, in its hands or in containers."""
        found = []
        for n in self.held(state, seat):
            found += self.inside(state, n) if n >= self.things else [n]
        return found

    def room_for(self, state: House, seat: int, item: int) -> int | None:
        """The place to which a player would take something; None if there is no room."""
        held = self.held(state, seat)
        for n in held:
            if item < self.things <= n and len(self.inside(state, n)) < ROOM_IN_CONTAINER:
                return self.rooms + self.num_players + n - self.things
        return self.rooms + seat if len(held) < HANDS else None

    def brought(self, state: House) -> int:
        """How many things lie where they are due."""
        return state.places[: self.things].count(state.goal)

    def can_take(self, state: House, seat: int) -> list[int]:
        """What a player can take now."""
        here = state.players[seat]
        return [
            n
            for n, place in enumerate(state.places)
            if place == here
            and not (n < self.things and here == state.goal)
            and self.room_for(state, seat, n) is not None
        ]

    def to_act(self, state: House) -> tuple[int, ...]:
        over = state.step == self.steps or self.brought(state) == self.things
        return () if over else tuple(range(self.num_players))

    def legal(self, state: House, seat: int) -> Grammar:
        doors = tuple(ROOMS[room] for room in state.doors[state.players[seat]])
        options = [Option(Go, {"to": OneOf(doors)})]
        if items := self.can_take(state, seat):
            options.append(Option(Take, {"thing": OneOf(tuple(self.names[n] for n in items))}))
        if self.carried(state, seat):
            options.append(Option(Drop))
        said = Text(self.message_limit, LINES)
        return Grammar((*options, Option(Report), Option(Say, {"text": said}), Option(Wait)))

    def step(self, state: House, actions: Mapping[int, TextAction]) -> Step:
        """All act; who is first where two reach for the same changes from step to step."""
        before, events = self.brought(state), list[Event]()
        for place in range(self.num_players):
            seat = (state.step + place) % self.num_players
            events += self._act(state, seat, actions[seat])
        state.step += 1
        new = self.brought(state) - before
        if new:
            text = f"{self.brought(state)} of {quantity(self.things, 'thing')} are brought."
            events.append(Event("brought", text, {"brought": self.brought(state)}))
        paid = {"brought": new / self.things}
        rewards = {seat: dict(paid) for seat in range(self.num_players)} if new else {}
        return Step(rewards, events=events)

    def _act(self, state: House, seat: int, action: TextAction) -> list[Event]:
        name, here = self.players[seat], state.players[seat]
        if isinstance(action, Go):
            return self._go(state, seat, ROOMS.index(action.to))
        if isinstance(action, Take):
            return [self._take(state, seat, self.names.index(action.thing))]
        if isinstance(action, Drop):
            items = self.carried(state, seat)
            for n in items:
                state.places[n] = here
            text = f"{name} puts down {self._list(state, items)} in the {ROOMS[here]}."
            return [_told(seat, "drop", text, things=[self.names[n] for n in items])]
        if isinstance(action, Report):
            return [self._report(state, seat)]
        if isinstance(action, Say):
            text = f"{name} says: {self.quoted(action.text)}"
            return [Event("message", text, {"player": seat, "text": action.text})]
        return []

    def _go(self, state: House, seat: int, room: int) -> list[Event]:
        state.players[seat] = room
        text = f"{self.players[seat]} goes to the {ROOMS[room]}."
        events = [_told(seat, "go", text, to=ROOMS[room])]
        if not state.seen[seat] >> room & 1:
            state.seen[seat] |= 1 << room
            seen = f"You see in the {ROOMS[room]}: {self._lying(state, room)}."
            events.append(Event("reveal", seen, {"room": ROOMS[room]}, only(seat)))
        return events

    def _take(self, state: House, seat: int, item: int) -> Event:
        thing, place = self.names[item], self.room_for(state, seat, item)
        if place is None or state.places[item] != state.players[seat]:
            text = f"The {thing} is gone: somebody was faster."
            return Event("take", text, {"player": seat, "thing": thing, "gone": True}, only(seat))
        known = all(self.knows(state, other, item) for other in range(self.num_players))
        state.places[item] = place
        state.moved |= 1 << item
        text = f"{self.players[seat]} takes the {thing} in the {ROOMS[state.players[seat]]}."
        return _told(seat, "take" if known else "reveal", text, thing=thing)

    def _report(self, state: House, seat: int) -> Event:
        rooms = self._seen(state, seat)
        state.seen = [seen | state.seen[seat] for seen in state.seen]
        told = "; ".join(f"{ROOMS[room]}: {self._lying(state, room)}" for room in rooms)
        return _told(seat, "reveal", f"{self.players[seat]} reports: {told}.", rooms=rooms)

    def outcome(self, state: House) -> Outcome | None:
        if self.to_act(state):
            return None
        share = self.brought(state) / self.things
        reason = f"{self.brought(state)} of {quantity(self.things, 'thing')} were brought"
        result: Result = "score"
        return Outcome((result,) * self.num_players, (share,) * self.num_players, reason)

    def record_facts(self, state: House) -> dict[str, Any]:
        """The share that is brought."""
        return {"progress": self.brought(state) / self.things}

    def noop(self, state: House, seat: int) -> TextAction:
        return Wait()

    def knows(self, state: House, seat: int, item: int) -> bool:
        """Whether a player knows where something is."""
        place = state.places[item]
        return bool(state.moved >> item & 1) or bool(state.seen[seat] >> place & 1)

    def determinize(self, state: House, seat: int, rng: Rng) -> House:
        """Draw where the things lie that a player does not know, in rooms it has not seen."""
        self.refuse_the_end(state)
        imagined = self.clone(state)
        unseen = [
            room
            for room in range(self.rooms)
            if room != state.goal and not state.seen[seat] >> room & 1
        ]
        imagined.places = [
            place if self.knows(state, seat, n) else rng.choice(unseen)
            for n, place in enumerate(state.places)
        ]
        imagined.rng = Rng.seeded(rng.word())
        return imagined

    # What the players see

    def rules_for(self, seat: int) -> str:
        return (
            f"{super().rules_for(seat)}\nThere are {quantity(self.num_players, 'player')}, "
            f"{quantity(self.rooms, 'room')}, {quantity(self.things, 'thing')} and "
            f"{quantity(self.containers, 'container')}, and {quantity(self.steps, 'step')}."
        )

    def describe(self, state: House, seat: int) -> str:
        here, due = state.players[seat], ROOMS[state.goal]
        plan = "; ".join(
            f"{ROOMS[room]} – {_joined(doors)}" for room, doors in enumerate(state.doors)
        )
        lines = [
            f"Step {min(state.step + 1, self.steps)} of {self.steps}. Bring all things to the "
            f"{due}: {self.brought(state)} of {self.things} are there.",
            f"Doors: {plan}.",
            f"You are {self.players[seat]}, in the {ROOMS[here]}, with {self._hands(state, seat)}.",
            *(
                f"{name} is in the {ROOMS[state.players[n]]}, with {self._hands(state, n)}, and "
                f"knows what lies in {_joined(self._seen(state, n))}."
                for n, name in enumerate(self.players)
                if n != seat
            ),
        ]
        seen = self._seen(state, seat)
        lines += [
            f"In the {ROOMS[room]}: {self._lying(state, room)}."
            for room in sorted(seen, key=lambda room: (room != here, room))
        ]
        if unseen := [room for room in range(self.rooms) if room not in seen]:
            lines.append(f"Not seen: {_joined(unseen)}.{self._dropped(state, unseen)}")
        return "\n".join(lines)

    def _seen(self, state: House, seat: int) -> list[int]:
        """The rooms whose things a player knows."""
        return [room for room in range(self.rooms) if state.seen[seat] >> room & 1]

    def _dropped(self, state: House, unseen: Sequence[int]) -> str:
        """What was put down, as all heard, in rooms that were not seen."""
        told = [
            f" The {self.names[n]} was put down in the {ROOMS[place]}."
            for n, place in enumerate(state.places)
            if place in unseen and state.moved >> n & 1
        ]
        return "".join(told)

    def _hands(self, state: House, seat: int) -> str:
        items = self.held(state, seat)
        return self._list(state, items) if items else "empty hands"

    def _lying(self, state: House, room: int) -> str:
        items = [n for n, place in enumerate(state.places) if place == room]
        return self._list(state, items) if items else "nothing"

    def _list(self, state: House, items: Sequence[int]) -> str:
        """Names of things, and of containers with what is in them."""
        return ", ".join(
            f"{self.names[n]} ({self._list(state, self.inside(state, n)) or 'empty'})"
            if n >= self.things
            else self.names[n]
            for n in items
        )

    @cached_property
    def _space(self) -> spaces.Box:
        size = 3 + self.num_players * (1 + self.rooms) + len(self.names) + self.rooms**2
        return spaces.Box(-1, 1000, (size,), np.int16)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    def observe(self, state: House, seat: int) -> NDArray[np.int16]:
        """The observation vector; the class docstring gives the layout."""
        places = [
            place if self.knows(state, seat, n) else UNKNOWN for n, place in enumerate(state.places)
        ]
        rooms = range(self.rooms)
        seen = [known >> room & 1 for known in state.seen for room in rooms]
        doors = [other in state.doors[room] for room in rooms for other in rooms]
        left = self.steps - state.step
        row = [seat, left, state.goal, *state.players, *places, *seen, *doors]
        return np.array(row, np.int16)

    def scene(self, state: House, seat: int | None = None) -> Scene:
        """The rooms and doors, who is where, and what is known to lie there."""
        across, down = max(1, self.columns - 1), max(1, (self.rooms - 1) // self.columns)
        nodes = tuple(
            replace(
                self._node(state, room, seat),
                place=(square % self.columns / across, square // self.columns / down),
            )
            for room, square in enumerate(state.squares)
        )
        links = tuple(
            Link(room, other)
            for room, near in enumerate(state.doors)
            for other in near
            if room < other
        )
        lines = tuple(
            f"{name}: {ROOMS[state.players[n]]}, with {self._hands(state, n)}"
            for n, name in enumerate(self.players)
        )
        due = f"{self.brought(state)} of {self.things} are in the {ROOMS[state.goal]}"
        caption = f"Step {state.step} of {self.steps}: {due}."
        return Scene(caption, parts=(Graph(nodes, links),), lines=lines)

    def _node(self, state: House, room: int, seat: int | None) -> Node:
        """A room with the number of things that lie in it, in the colour of who is there."""
        here = [seat for seat, place in enumerate(state.players) if place == room]
        who = [self.players[here[0]] if len(here) == 1 else f"{len(here)} players"] if here else []
        known = seat is None or bool(state.seen[seat] >> room & 1)
        lying = str(state.places.count(room)) if known else "?"
        colour = here[0] if here else "gold" if room == state.goal else -1
        return Node(lying, colour, " ".join([ROOMS[room], *who]))


def _told(seat: int, kind: str, text: str, **data: Any) -> Event:
    return Event(kind, text, {"player": seat, **data})


def _joined(rooms: Sequence[int]) -> str:
    return ", ".join(ROOMS[room] for room in rooms)
