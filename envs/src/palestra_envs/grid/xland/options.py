"""The options of XLand, the goals of its named games, and the state of an episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from palestra import ArrayState, Meta, Seat, Shape, check_ranges, constant

from palestra_envs.grid.walkers import Walkers

NONE, NEAR, HOLD, SEE, ON = range(5)  # relations
OPTIONS, TERMS, PARTS = 3, 3, 4  # of a goal; parts of a term
RELATIONS = ("independent", "shared", "rival")
TERRAINS = ("pillars", "rooms", "maze")
PILLARS, ROOMS, MAZE = range(3)
INDEPENDENT, SHARED, RIVAL = range(3)  # how players' goals are related
OBJECTS = ("red ball", "green ball", "blue ball", "red cube", "green cube", "blue cube")
MAX_SEATS, MAX_SIDE, MAX_STEPS = 4, 30, 1_000_000

Term = tuple[int, int, int, int]  # relation, thing, thing or floor, denied


class XLandState(ArrayState):
    """A world of XLand; cells are numbered row by row, things players first, then objects."""

    cell: Annotated[NDArray[np.int32], Shape("num_players")]  # where each player stands
    target: Annotated[NDArray[np.int32], Shape("num_players")]  # where each player heads
    blocked: Annotated[NDArray[np.uint8], Shape("num_players")]  # 1 if something was in the way
    earned: Annotated[NDArray[np.float64], Shape("num_players")]  # payments so far
    lies: Annotated[NDArray[np.int32], Shape("num_objects")]  # the cell of each object; 0 if held
    held_by: Annotated[NDArray[np.int32], Shape("num_objects")]  # a seat, or rules.FREE
    walls: Annotated[NDArray[np.uint8], Shape("num_cells")]  # 1 for a wall
    floor: Annotated[NDArray[np.uint8], Shape("num_cells")]  # the colour of each cell
    # the goal of each player: terms, each a relation, a thing, a thing or floor, 1 if denied
    goals: Annotated[NDArray[np.int8], Shape("num_players", OPTIONS, TERMS, PARTS)]
    opposite: Annotated[NDArray[np.uint8], Shape("num_players")]  # 1 if the goal is negated


@dataclass(frozen=True)
class XLandOptions(Walkers[XLandState]):
    """The options of XLand, and values derived from them."""

    rows: Annotated[int, Meta(ge=3, le=MAX_SIDE, description="rows of the world, in cells")] = 8
    columns: Annotated[
        int, Meta(ge=3, le=MAX_SIDE, description="columns of the world, in cells")
    ] = 8
    num_players: Annotated[int, Meta(ge=1, le=MAX_SEATS, description="number of players")] = 2
    sight: Annotated[
        int, Meta(ge=1, le=MAX_SIDE, description="cells a player sees in every direction")
    ] = 2
    max_steps: Annotated[
        int, Meta(ge=1, le=MAX_STEPS, description="steps after which the episode is cut off")
    ] = 64
    game: Annotated[
        Literal["drawn", "tag", "hide-and-seek", "capture-the-flag"],
        Meta(description="'drawn' for random goals, or the named game that sets them"),
    ] = "drawn"
    relation: Annotated[
        Literal["independent", "shared", "rival"],
        Meta(
            description="whether drawn goals are each player's own, the same for all, or opposite "
            "for every second player"
        ),
    ] = "independent"
    num_objects: Annotated[int, Meta(ge=1, le=len(OBJECTS), description="number of objects")] = 4
    max_options: Annotated[
        int, Meta(ge=1, le=OPTIONS, description="most parts of a drawn goal joined by 'or'")
    ] = 2
    max_terms: Annotated[
        int, Meta(ge=1, le=TERMS, description="most relations of such a part, joined by 'and'")
    ] = 2
    density: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="chance of a pillar on every second cell of every second row; in 'rooms' "
            "of a wall between two rooms, in a 'maze' of a wall that leaves a pillar",
        ),
    ] = 0.5
    terrain: Annotated[
        Literal["pillars", "rooms", "maze"],
        Meta(
            description="what stands in the way: pillars; rooms of three by three cells with a "
            "door in every wall; or a maze, all pillars, with walls from them to the south or east"
        ),
    ] = "pillars"

    def validate(self) -> None:
        if not self.drawn:
            check_ranges(self, (("num_players", 2, MAX_SEATS),))
        if self.homes:
            check_ranges(self, (("num_objects", 2, len(OBJECTS)),))

    @property
    def seats(self) -> tuple[Seat, ...]:
        if self.game == "drawn":
            return super().seats
        names = {
            "tag": ("chaser", "runner"),
            "hide-and-seek": ("seeker", "hider"),
            "capture-the-flag": ("white", "grey"),
        }[self.game]
        teams = [self.team(seat) for seat in range(self.num_players)]
        return tuple(Seat(f"player_{p}", names[team], team) for p, team in enumerate(teams))

    def team(self, seat: int) -> int:
        """The side of a player in a named game, 0 or 1."""
        if self.homes:
            return seat % 2
        first = 1 if self.game == "tag" else self.num_players // 2
        return int(seat >= first)

    def formula(self, seat: int) -> list[list[Term]]:
        """A player's goal in a named game: options of terms."""
        rivals = [p for p in range(self.num_players) if self.team(p) != self.team(seat)]
        team = self.team(seat)
        if self.homes:
            own, other = self.num_players + team, self.num_players + 1 - team
            return [[(ON, other, team, 0), (ON, own, 1 - team, 1)]]
        kind = NEAR if self.game == "tag" else SEE
        if team == 0:
            return [[(kind, seat, rival, 0)] for rival in rivals]
        return [[(kind, rival, seat, 1) for rival in rivals]]

    # Values that the rules read as `config.name`

    @constant
    def ties(self) -> int:
        """How players' goals are related: INDEPENDENT, SHARED or RIVAL."""
        return RELATIONS.index(self.relation)

    @constant
    def homes(self) -> bool:
        """Whether the floor is in three stripes, with a team's side at each end."""
        return self.game == "capture-the-flag"

    @constant
    def ground(self) -> int:
        """The kind of terrain: PILLARS, ROOMS or MAZE."""
        return TERRAINS.index(self.terrain)

    @constant
    def drawn(self) -> bool:
        """Whether goals are drawn."""
        return self.game == "drawn"

    @constant
    def formulas(self) -> tuple[int, ...]:
        """The goals of a named game, all parts in one row; a single 0 if goals are drawn."""
        if self.drawn:
            return (0,)
        goals = np.zeros((self.num_players, OPTIONS, TERMS, PARTS), np.int64)
        for seat in range(self.num_players):
            write_goal(goals[seat], self.formula(seat))
        return tuple(goals.ravel().tolist())


def write_goal(goal: NDArray[Any], options: Sequence[Sequence[Term]]) -> None:
    """Write options of terms into the array of one player's goal."""
    goal[:] = 0
    for option, terms in enumerate(options):
        for number, term in enumerate(terms):
            goal[option, number] = term
