"""Quest: fetch a treasure in a house of rooms, with three difficulty settings.

The rooms form a tree, of which the player has a map. A first key lies somewhere; it opens the chest
of its colour, which holds the key of the next chest, and so on to the last, which holds the
treasure. Where the key, the chests and other, useless things are is hidden until the player has
been there. It is the text world of "A Practitioner's Guide to Multi-turn Agentic Reinforcement
Learning" (Wang and Ammanabrolu, 2025), whose three settings are these:

* size of the state: `rooms`, and `things` that lie about;
* size of the action space: `things` too, each of which can be taken where it lies;
* length of the shortest solution: `length`, exactly, with `chests` chests in it.

Places are drawn evenly from all sequences of rooms whose walk has the wanted length, counted by
dynamic programming. A fourth setting is the reward's `density`: every key, chest and the treasure
is one of 1 + 2 * chests subgoals. The share `density` of those before the last, evenly spaced, is
paid on reaching it; the others are paid together with the next paid one. All subgoals together pay
1.

Checked: the shortest solution, by a search over all states that knows the hidden
rooms, has `length` steps.

Left out: ALFWorld and SWE-Gym, the paper's other domains.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import floor
from typing import Annotated, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    Grid,
    InvalidOption,
    Meta,
    OneOf,
    Option,
    Outcome,
    Piece,
    Result,
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
from palestra.grids.paths import way

WAYS = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1)}
DIRECTIONS = tuple(WAYS)
OPPOSITE = (1, 0, 3, 2)
COLOURS = ("red", "orange", "yellow", "green", "blue", "violet", "white", "black")
ROOMS = (
    *("hall", "kitchen", "pantry", "cellar", "study", "library", "attic", "bedroom", "bathroom"),
    *("nursery", "parlour", "workshop", "garage", "laundry", "chapel", "armoury", "gallery"),
    *("studio", "sauna", "conservatory", "garden", "stable", "barn", "shed", "tower", "vault"),
    *("dungeon", "terrace", "balcony", "porch", "office", "lounge", "larder", "dairy", "bakery"),
    *("brewery", "chamber", "cloister", "crypt", "theatre"),
)
THINGS = (
    *("apple", "candle", "hammer", "teapot", "umbrella", "violin", "carpet", "bottle", "mirror"),
    *("ladder", "basket", "pillow", "kettle", "trumpet", "helmet", "compass", "blanket", "bucket"),
    *("clock", "vase"),
)
TREASURE = "treasure"
Spot = tuple[int, int]
UNSEEN = -1


class Go(TextAction, frozen=True):
    """Go to the next room."""

    direction: str


class Take(TextAction, frozen=True):
    """Take something that lies here."""

    thing: str


class Open(TextAction, frozen=True):
    """Open the chest of this colour with its key; what it holds is then in the room."""

    chest: str


@dataclass(slots=True)
class House:
    """The state: the map, what lies where, and how far the player has come."""

    rng: Rng
    doors: tuple[tuple[int, ...], ...]  # by room, the neighbour in each direction; -1 none
    spots: tuple[Spot, ...]  # by room, its row and column on the map
    places: tuple[int, ...]  # the rooms of the first key and of each chest, in order
    clutter: tuple[int, ...]  # the rooms of the other things; -1 once in hand
    start: int
    room: int  # where the player is
    seen: tuple[bool, ...]  # by room, whether the player has been there
    gained: int = 0  # subgoals reached
    steps: int = 0


@environment(
    "games/Quest-v0",
    family="text",
    tags=("planning", "hidden-information", "deterministic"),
    paper=(
        "Wang and Ammanabrolu (2025), A Practitioner's Guide to Multi-turn Agentic "
        "Reinforcement Learning; Côté et al. (2018), TextWorld"
    ),
)
@dataclass(frozen=True)
class Quest(TextGame[House]):
    """A quest: fetch a treasure that is locked away in a house of rooms.

    The menu numbers Go in four directions, then Take of every key, the treasure and every other
    thing, then Open of every chest. An observation is an int16 vector: the room, steps taken, steps
    left; for every room 1 if it has been seen; for every room its neighbours to the north, south,
    west and east (1 + room, 0 none); where the first key and the chests are (0 unknown, 1 + room);
    for every chest whether it is open; subgoals reached; where things are (1 + room, 0 unknown,
    1 + the number of rooms in hand). All subgoals together pay 1.
    """

    rooms: Annotated[int, Meta(ge=2, le=len(ROOMS), description="rooms of the house")] = 8
    things: Annotated[
        int, Meta(ge=0, le=len(THINGS), description="useless things that lie about")
    ] = 4
    chests: Annotated[
        int, Meta(ge=0, le=len(COLOURS), description="locked chests; the last holds the treasure")
    ] = 2
    length: Annotated[
        int, Meta(ge=1, le=192, description="steps of the shortest solution, exactly")
    ] = 12
    density: Annotated[
        float, Meta(ge=0, le=1, description="share of subgoals that are paid when reached")
    ] = 1.0
    max_steps: Annotated[int, Meta(ge=1, le=10_000, description="most steps in an episode")] = 60

    rules_text = """
        You look for a treasure in a house, of which you have a map. What is in a room you see
        there.

        In your turn write one of:
        Go(direction='north') to go to the next room: north, south, west or east;
        Take(thing='red key') to take something that lies in the room;
        Open(chest='red') to open a chest; you need the key of its colour, which stays in it.
        The first key lies in some room. Every chest holds the key of the next one, and the last
        chest holds the treasure. You have reached your aim when you have taken it. Other things
        that lie about are of no use.
    """
    counters = ("steps",)
    order = "sequential"
    payoffs = "general"
    num_players = 1
    perfect_information = False
    deterministic = True
    reward_terms = ("subgoal",)
    payoff_bounds = (0.0, 1.0)
    action_types = (Go, Take, Open)

    def validate(self) -> None:
        most = self.least_length + (self.chests + 1) * (self.rooms - 1) // 2
        if not self.least_length <= self.length <= most:
            raise InvalidOption(
                f"length must be from {self.least_length} to {most} with {self.rooms} rooms and "
                f"{self.chests} chests, not {self.length}"
            )

    # Derived from the options

    @property
    def least_length(self) -> int:
        """Steps of a solution that needs no walking."""
        return self.subgoals

    @property
    def subgoals(self) -> int:
        """The first key or, without chests, the treasure; then a chest and what is in it."""
        return 1 + 2 * self.chests

    @cached_property
    def prizes(self) -> tuple[str, ...]:
        """The things to take, in order: the keys, then the treasure."""
        return (*(f"{colour} key" for colour in COLOURS[: self.chests]), TREASURE)

    @cached_property
    def paying(self) -> tuple[int, ...]:
        """The numbers of subgoals reached at which something is paid."""
        early = floor(self.density * (self.subgoals - 1) + 0.5)
        return tuple(
            round((n + 1) * self.subgoals / (early + 1)) if n < early else self.subgoals
            for n in range(early + 1)
        )

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        return (
            *map(Go, DIRECTIONS),
            *map(Take, (*self.prizes, *THINGS[: self.things])),
            *map(Open, COLOURS[: self.chests]),
        )

    # The house

    def initial_state(self, seed: int | None = None) -> House:
        rng = Rng.seeded(seed)
        while True:
            doors, spots = build(rng, self.rooms)
            start = rng.below(self.rooms)
            anywhere = [tuple(range(self.rooms))] * (self.chests + 1)
            places = draw_walk(rng, distances(doors), start, anywhere, self.length - self.subgoals)
            if places is not None:
                break
        clutter = tuple(rng.below(self.rooms) for _ in range(self.things))
        seen = tuple(room == start for room in range(self.rooms))
        return House(rng, doors, spots, places, clutter, start, start, seen)

    def prize_in(self, state: House, room: int) -> str:
        """The key or the treasure that lies open in a room, if any."""
        stage = state.gained // 2
        lies = state.gained % 2 == 0 and state.gained < self.subgoals
        return self.prizes[stage] if lies and state.places[stage] == room else ""

    def chests_in(self, state: House, room: int) -> list[int]:
        """The chests in a room by number, open ones too."""
        return [n for n in range(self.chests) if state.places[n + 1] == room]

    def loose_in(self, state: House, room: int) -> list[str]:
        """All that can be taken in a room."""
        prize = self.prize_in(state, room)
        things = [THINGS[n] for n, where in enumerate(state.clutter) if where == room]
        return [prize, *things] if prize else things

    # The rules

    def to_act(self, state: House) -> tuple[int, ...]:
        over = state.gained == self.subgoals or state.steps == self.max_steps
        return () if over else (0,)

    def legal(self, state: House, seat: int) -> Grammar:
        exits = [
            way for way, to in zip(DIRECTIONS, state.doors[state.room], strict=True) if to >= 0
        ]
        options = [Option(Go, {"direction": OneOf(tuple(exits))})]
        things = self.loose_in(state, state.room)
        if things:
            options.append(Option(Take, {"thing": OneOf(tuple(things))}))
        if state.gained % 2 and state.gained // 2 in self.chests_in(state, state.room):
            options.append(Option(Open, {"chest": OneOf((COLOURS[state.gained // 2],))}))
        return Grammar(tuple(options))

    def step(self, state: House, actions: Mapping[int, Any]) -> Step:
        action, state.steps = actions[0], state.steps + 1
        if isinstance(action, Go):
            return self._go(state, action)
        if isinstance(action, Take) and action.thing in THINGS:
            number = THINGS.index(action.thing)
            state.clutter = tuple(UNSEEN if n == number else r for n, r in enumerate(state.clutter))
            return Step(events=[Event("take", f"You take the {action.thing}.")])
        before, state.gained = state.gained, state.gained + 1
        if isinstance(action, Take):
            text = f"You take the {action.thing}."
        else:
            text = f"You open the {action.chest} chest. In it is: {self.prizes[before // 2 + 1]}."
        paid = self.pay_for(state.gained) - self.pay_for(before)
        rewards = {0: {"subgoal": paid}} if paid else {}
        return Step(rewards, events=[Event("subgoal", text, {"gained": state.gained})])

    def _go(self, state: House, action: Go) -> Step:
        state.room = state.doors[state.room][DIRECTIONS.index(action.direction)]
        kind = "move" if state.seen[state.room] else "reveal"
        state.seen = tuple(s or n == state.room for n, s in enumerate(state.seen))
        text = f"You go {action.direction}. {self._room(state)}"
        return Step(events=[Event(kind, text, {"room": state.room})])

    def pay_for(self, gained: int) -> float:
        """The total reward once this many subgoals are reached."""
        return max([0, *(n for n in self.paying if n <= gained)]) / self.subgoals

    def outcome(self, state: House) -> Outcome | None:
        if self.to_act(state):
            return None
        found = state.gained == self.subgoals
        result: Result = "win" if found else "truncated"
        reason = "the treasure was found" if found else "time ran out"
        return Outcome((result,), (self.pay_for(state.gained),), reason)

    @cached_property
    def milestones(self) -> tuple[str, ...]:
        """The subgoals by name, in the order in which they are reached."""
        opened = [f"{colour} chest" for colour in COLOURS[: self.chests]]
        taken = [f"{prize} taken" for prize in self.prizes]
        return tuple(taken[n // 2] if n % 2 == 0 else opened[n // 2] for n in range(self.subgoals))

    def record_facts(self, state: House) -> dict[str, Any]:
        """Facts for the record: the subgoals reached, as objects too."""
        reached = self.milestones[: state.gained]
        return {
            "progress": state.gained / self.subgoals,
            "milestones": reached,
            "objects": {name: {"done": name in reached} for name in self.milestones},
            "goal": {name: {"done": True} for name in self.milestones},
        }

    def truncated(self, state: House) -> bool:
        return state.steps == self.max_steps and state.gained < self.subgoals

    def walkthrough(self, state: House) -> list[TextAction]:
        """A shortest solution from here; it knows the hidden rooms."""
        moves: list[TextAction] = []
        room = state.room
        for goal in range(state.gained, self.subgoals):
            stage = (goal + 1) // 2
            path = route(state.doors, room, [state.places[stage]])
            moves += [Go(DIRECTIONS[way]) for way in path]
            room = state.places[stage]
            moves.append(Open(COLOURS[goal // 2]) if goal % 2 else Take(self.prizes[goal // 2]))
        return moves

    def determinize(self, state: House, seat: int, rng: Rng) -> House:
        """Redraw the unseen places from walks of the same length, and other things anywhere."""
        copy = self.clone(state)
        unseen = tuple(room for room, seen in enumerate(state.seen) if not seen)
        if not unseen:
            return copy
        choices = [(place,) if state.seen[place] else unseen for place in state.places]
        walk = self.length - self.subgoals
        places = draw_walk(rng, distances(state.doors), state.start, choices, walk)
        if places is not None:
            copy.places = places
        copy.clutter = tuple(
            room if room == UNSEEN or state.seen[room] else rng.choice(unseen)
            for room in state.clutter
        )
        return copy

    # What the player sees

    def rules_for(self, seat: int) -> str:
        chests = [f"{colour} chest" for colour in COLOURS[: self.chests]]
        order = f"The chests in order: {', '.join(chests)}. " if chests else "There is no chest. "
        return f"{super().rules_for(seat)}\n{order}You have {self.max_steps} steps."

    def describe(self, state: House, seat: int) -> str:
        known = [self._contents(state, room) for room, seen in enumerate(state.seen) if seen]
        hand = [
            *self._keys(state),
            *(THINGS[n] for n, room in enumerate(state.clutter) if room == UNSEEN),
        ]
        unseen = [ROOMS[room] for room, seen in enumerate(state.seen) if not seen]
        return "\n".join(
            [
                f"Steps taken: {state.steps} of {self.max_steps}.",
                self._room(state),
                f"In hand: {', '.join(hand) or 'nothing'}.",
                f"Map: {'; '.join(self._exits(state, room) for room in range(self.rooms))}.",
                f"Seen so far: {'; '.join(known)}.",
                f"Not seen yet: {', '.join(unseen) or 'nothing'}.",
            ]
        )

    def _keys(self, state: House) -> list[str]:
        """The key in hand; those that were used stay in their chests."""
        return [self.prizes[state.gained // 2]] if state.gained % 2 else []

    def _room(self, state: House) -> str:
        return f"You are in the {self._contents(state, state.room)}."

    def _contents(self, state: House, room: int) -> str:
        chests = [f"{COLOURS[n]} chest" for n in self.chests_in(state, room)]
        return f"{ROOMS[room]}: {', '.join([*chests, *self.loose_in(state, room)]) or 'empty'}"

    @staticmethod
    def _exits(state: House, room: int) -> str:
        doors = zip(DIRECTIONS, state.doors[room], strict=True)
        return f"{ROOMS[room]} " + ", ".join(f"{way} {ROOMS[to]}" for way, to in doors if to >= 0)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        size = 3 + 5 * self.rooms + 1 + 2 * self.chests + 1 + self.things
        return spaces.Box(0, max(self.max_steps, self.rooms + 1), (size,), np.int16)

    def observe(self, state: House, seat: int) -> NDArray[np.int16]:
        """The observation vector; the class docstring gives the layout."""
        row = [state.room, state.steps, self.max_steps - state.steps, *state.seen]
        row += [1 + to for doors in state.doors for to in doors]
        row += [self._known_exits(state, place) for place in state.places]
        row += [state.gained > 2 * n + 1 for n in range(self.chests)]
        row += [state.gained]
        row += [
            self.rooms + 1 if room == UNSEEN else self._known_exits(state, room)
            for room in state.clutter
        ]
        return np.array(row, np.int16)

    @staticmethod
    def _known_exits(state: House, room: int) -> int:
        return room + 1 if state.seen[room] else 0

    def scene(self, state: House, seat: int | None = None) -> Scene:
        """The map, a room a tile, with its number of things where it has been seen."""
        rows, columns = (1 + max(spot[axis] for spot in state.spots) for axis in (0, 1))
        cells: list[list[Piece | None]] = [[None] * columns for _ in range(rows)]
        for room, (row, column) in enumerate(state.spots):
            cells[row][column] = self._tile(state, room, seat)
        lines = [self._room(state), f"Subgoals: {state.gained} of {self.subgoals}"]
        return Scene(grid=Grid(tuple(map(tuple, cells))), lines=tuple(lines))

    def _tile(self, state: House, room: int, seat: int | None) -> Piece:
        label = ROOMS[room]
        if room == state.room:
            return Piece("@", 0, "disc", label, "person")
        if not state.seen[room] and seat is not None:
            return Piece("?", "void", "mark", label)
        prize = self.prize_in(state, room)
        if prize:
            glyph, sprite = ("T", "gem") if prize == TREASURE else ("K", "key")
            return Piece(glyph, "gold", "tile", f"{label}: {prize}", sprite)
        chests = self.chests_in(state, room)
        if chests:
            return Piece("C", "brown", "tile", label, "box")
        return Piece(".", "white", "word", label)


def build(rng: Rng, rooms: int) -> tuple[tuple[tuple[int, ...], ...], tuple[Spot, ...]]:
    """A tree of rooms on a grid: the doors and the spot of each.

    Half of the time a room is put beside the last one, else beside any.
    """
    spots: list[Spot] = [(0, 0)]
    doors = [[UNSEEN] * len(DIRECTIONS) for _ in range(rooms)]
    while len(spots) < rooms:
        base = len(spots) - 1 if rng.below(2) else rng.below(len(spots))
        way = rng.below(len(DIRECTIONS))
        south, east = WAYS[DIRECTIONS[way]]
        spot = (spots[base][0] + south, spots[base][1] + east)
        if spot not in spots:
            doors[base][way], doors[len(spots)][OPPOSITE[way]] = len(spots), base
            spots.append(spot)
    top, left = (min(spot[axis] for spot in spots) for axis in (0, 1))
    return tuple(map(tuple, doors)), tuple((row - top, column - left) for row, column in spots)


def route(doors: Sequence[Sequence[int]], start: int, goals: Iterable[int]) -> list[int]:
    """The directions of a shortest way to any of some rooms."""

    def steps(room: int) -> list[tuple[int, int]]:
        return [(direction, to) for direction, to in enumerate(doors[room]) if to >= 0]

    return way(start, set(goals), steps) or []


def distances(doors: Sequence[Sequence[int]]) -> list[list[int]]:
    """Steps between any two rooms."""
    rooms = range(len(doors))
    return [[len(route(doors, one, [other])) for other in rooms] for one in rooms]


def draw_walk(
    rng: Rng,
    steps: Sequence[Sequence[int]],
    start: int,
    choices: Sequence[Sequence[int]],
    length: int,
) -> tuple[int, ...] | None:
    """A room from each list of choices, such that visiting them in turn takes `length` steps.

    It is drawn uniformly from all such walks; None if there is none.
    """

    @cache
    def count(stage: int, room: int, left: int) -> int:
        if left < 0 or stage == len(choices):
            return int(left == 0)
        return sum(count(stage + 1, to, left - steps[room][to]) for to in choices[stage])

    if not count(0, start, length):
        return None
    walk, room = [], start
    for stage, rooms in enumerate(choices):
        room_before = room
        weights = [count(stage + 1, to, length - steps[room_before][to]) for to in rooms]
        room = rooms[rng.weighted(weights)]
        length -= steps[room_before][room]
        walk.append(room)
    return tuple(walk)


@agent("quest-explorer", needs=("array",))
class QuestExplorer(ScriptedAgent[Quest]):
    """Fetches keys in turn, and looks for them in the nearest room it has not seen."""

    def choose(self, turn: Turn[Quest]) -> TextAction:
        game = turn.game
        house: House = turn.fork(Rng(0)).state
        for action in turn.legal_actions:
            if isinstance(action, Open) or (
                isinstance(action, Take) and action.thing in game.prizes
            ):
                return action
        place = house.places[(house.gained + 1) // 2]
        unseen = [room for room, seen in enumerate(house.seen) if not seen]
        goals = [place] if house.seen[place] else unseen
        return Go(DIRECTIONS[route(house.doors, house.room, goals)[0]])
