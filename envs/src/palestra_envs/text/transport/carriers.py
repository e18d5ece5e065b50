"""Scripts that look for things and carry them, alone or with regard to the others."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from palestra import Meta, ScriptedAgent, TextAction, Turn, agent

from palestra_envs.text.transport.game import (
    HANDS,
    ROOM_IN_CONTAINER,
    ROOMS,
    Drop,
    Go,
    Report,
    Take,
    Transport,
    Wait,
)


@dataclass(frozen=True)
class Sight:
    """What an observation tells, by name."""

    game: Transport
    row: NDArray[np.int16]

    @cached_property
    def _parts(self) -> list[list[int]]:
        game = self.game
        sizes = (3, game.num_players, len(game.names), game.num_players * game.rooms)
        parts = np.split(self.row, np.cumsum(sizes))
        return [part.tolist() for part in parts]

    @property
    def seat(self) -> int:
        return self._parts[0][0]

    @property
    def left(self) -> int:
        return self._parts[0][1]

    @property
    def goal(self) -> int:
        return self._parts[0][2]

    @property
    def players(self) -> list[int]:
        return self._parts[1]

    @property
    def places(self) -> list[int]:
        return self._parts[2]

    def knows(self, seat: int, room: int) -> bool:
        return bool(self._parts[3][seat * self.game.rooms + room])

    @cached_property
    def ways(self) -> list[list[int]]:
        """The number of doors from each room to each other one."""
        rooms = self.game.rooms
        doors = np.reshape(self._parts[4], (rooms, rooms))
        return [_ways(doors, room) for room in range(rooms)]

    def next_room(self, to: int) -> int:
        """The next room on a shortest way."""
        here = self.players[self.seat]
        rooms = range(self.game.rooms)
        near = [room for room in rooms if self.ways[here][room] == 1]
        return min(near, key=lambda room: (self.ways[room][to], room))

    def room_left(self, seat: int) -> int:
        """How many things a player can still take."""
        game, places = self.game, self.places
        held = [n for n, place in enumerate(places) if place == game.rooms + seat]
        free = HANDS - len(held)
        for n in held:
            if n >= game.things:
                inside = places.count(game.rooms + game.num_players + n - game.things)
                free += ROOM_IN_CONTAINER - inside
        return free

    @cached_property
    def lying(self) -> list[int]:
        """The things that are known to lie somewhere, and are to be brought."""
        there = range(self.game.rooms)
        things = enumerate(self.places[: self.game.things])
        return [n for n, place in things if place in there and place != self.goal]


def _ways(doors: NDArray[np.int16], start: int) -> list[int]:
    found, queue = {start: 0}, deque([start])
    while queue:
        room = queue.popleft()
        for other in np.flatnonzero(doors[room]).tolist():
            if other not in found:
                found[other] = found[room] + 1
                queue.append(other)
    return [found[room] for room in range(len(doors))]


@agent("carrier")
class Carrier(ScriptedAgent[Transport]):
    """Takes what is near, looks into rooms it has not seen, and brings in time what it has."""

    def __init__(
        self,
        *,
        claims: Annotated[
            bool, Meta(description="leave things and rooms to a player who is nearer to them")
        ] = True,
        reports: Annotated[
            bool, Meta(description="report what it cannot carry and others have not seen")
        ] = False,
    ) -> None:
        super().__init__(seed=0)  # it uses no randomness
        self._claims, self._reports = claims, reports

    def choose(self, turn: Turn[Transport]) -> TextAction:
        sight = Sight(turn.game, np.asarray(turn.observation))
        here, legal = sight.players[sight.seat], turn.legal
        carries = Drop() in legal
        if carries and here == sight.goal:
            return Drop()
        late = sight.left <= sight.ways[here][sight.goal] + 1
        if not (carries and late):
            if (item := self._reach(sight, here)) is not None:
                return Take(turn.game.names[item])
            if self._reports and self._has_news(sight):
                return Report()
            if sight.room_left(sight.seat) and (room := self._aim(sight)) is not None:
                return Go(ROOMS[sight.next_room(room)])
        return Go(ROOMS[sight.next_room(sight.goal)]) if carries else Wait()

    @staticmethod
    def _reach(sight: Sight, here: int) -> int | None:
        """What to take here: a container that is worth a hand, or a thing."""
        things = [n for n in sight.lying if sight.places[n] == here]
        room, many = sight.room_left(sight.seat), sight.game.things > HANDS
        hands = [n for n, at in enumerate(sight.places) if at == sight.game.rooms + sight.seat]
        for n in range(sight.game.things, len(sight.places)):
            if sight.places[n] == here and len(hands) < HANDS and many:
                return n
        return things[0] if things and room else None

    @staticmethod
    def _has_news(sight: Sight) -> bool:
        """Whether things lie where somebody has not seen them, and cannot be carried now."""
        if sight.room_left(sight.seat):
            return False
        others = [n for n in range(sight.game.num_players) if n != sight.seat]
        places = [sight.places[n] for n in sight.lying if sight.knows(sight.seat, sight.places[n])]
        return any(not sight.knows(n, place) for n in others for place in places)

    def _aim(self, sight: Sight) -> int | None:
        """The room to go to: where a thing lies, or else one that was not seen."""
        things = {sight.places[n] for n in sight.lying}
        rooms = range(sight.game.rooms)
        unseen = {r for r in rooms if r != sight.goal and not sight.knows(sight.seat, r)}
        for wanted in (things, unseen):
            if mine := self._mine(sight, wanted):
                ways = sight.ways[sight.players[sight.seat]]
                return min(mine, key=lambda room: (ways[room], room))
        return None

    def _mine(self, sight: Sight, rooms: Iterable[int]) -> list[int]:
        """Of some rooms, those to which no other player with room left is nearer."""
        if not self._claims:
            return list(rooms)
        seats = [n for n in range(sight.game.num_players) if sight.room_left(n)]
        return [
            room
            for room in rooms
            if min(seats, key=lambda n: (sight.ways[sight.players[n]][room], n)) == sight.seat
        ]
