"""Path finding: many players cross a map to goals of their own; each one reached brings another.

Lifelong multi-agent path finding: everybody moves at once, one cell north, south, west or east, or
stays. Moves that collide are cancelled, whoever makes them: those of all who head for one cell,
those into the cell of a player who stays (or whose own move is cancelled), and swaps. Chains and
circles of players who follow one another move, unless `following` is off: then no cell can be
entered that anybody stands on, as in POGEMA's "block both". A goal reached pays 1 and a new one is
drawn, any other cell without obstacle. Episodes last `max_steps`; throughput is the number of goals
reached by all, a step.

From Skrynnik, Andreychuk, Nesterova, Yakovlev and Panov, "Learn to Follow: Decentralized Lifelong
Multi-Agent Pathfinding via Planning and Learning", AAAI 2024, whose environment is POGEMA
(Skrynnik et al., "POGEMA: Partially Observable Grid Environment for Multiple Agents", 2022). As
there a player can plan by the obstacles, for he sees how far his goal is from each cell near him;
other players he sees only there.

Maps, each drawn from the seed: `random` obstacles of some `density`, cells cut off from the largest
region filled up (and laid out anew with a tenth fewer where it has no room for all); a `maze`, a
random spanning tree of passages, of whose other walls each is opened with probability `loops`; a
`warehouse` of shelves and aisles; or your own `level`.

Checked against recorded episodes of POGEMA 1.4.0, positions and goals reached, and distances and a
single player's arrivals against networkx.

The array view is an int16 vector: the player's own row and column, his goal's row and column, and
three planes over the window around him, north on top: obstacles and what lies beyond the map (1),
other players (1), and one more than the steps from there to his goal if nobody were in the way
(0 where no way leads).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra import Bar, InvalidOption, Piece, Rng, Scene, check_choice, check_ranges, environment
from palestra.grids.levels import MAX_SIDE, Level, read_level
from palestra.grids.moving import (
    EAST,
    MOVES,
    NORTH,
    NOWHERE,
    STAY,
    holder,
    measure,
    neighbour,
    random_floor,
    random_place,
    resolve,
    scatter,
)
from palestra.grids.sight import sees
from palestra.grids.windows import has_bit, on_map
from palestra.rules import all_act, randint, truncate, uniform

from palestra_envs.grid.walkers import WALL, Walkers, windowed

MAPS = ("random", "maze", "warehouse", "level")
RANDOM, MAZE = 0, 1
KINDS = {"#": "an obstacle", ".": "floor"}
OWN_ROW, OWN_COLUMN, GOAL_ROW, GOAL_COLUMN, WINDOW = range(5)  # of a view
OBSTACLES, OTHERS, STEPS = range(3)  # planes
MAX_SEATS = 48


@environment(
    "grid/PathFinding-v0",
    family="grid",
    tags=("planning", "coordination", "partial-view", "chance"),
    paper=(
        "Skrynnik et al. (2024), Learn to Follow: Decentralized Lifelong Multi-Agent "
        "Pathfinding via Planning and Learning"
    ),
    splits={
        "random": {"rows": 20, "columns": 20, "num_players": 16, "sight": 5},
        "maze": {"map": "maze", "rows": 21, "columns": 21, "num_players": 16, "sight": 5},
        "held-out-warehouse": {
            "map": "warehouse",
            "rows": 22,
            "columns": 31,
            "num_players": 32,
            "sight": 5,
            "max_steps": 512,
        },
    },
    players=(1, 48),
)
@dataclass(frozen=True)
class PathFinding(Walkers):
    """You walk on a grid, from one goal to the next, among other players with goals of their own.

    All players choose one action at the same time: "north", "south", "west" or "east" to move one
    cell, or "stay". Obstacles and the edge of the map cannot be crossed. If several players head
    for one cell, none of them moves. A cell whose player stays there cannot be entered, nor can two
    players swap. When you reach your goal you are paid 1 and get another goal.
    """

    rows: int = 10
    columns: int = 10
    num_players: int = 4
    sight: int = 2
    max_steps: int = 64
    map: str = "random"
    density: float = 0.3
    loops: float = 0.1
    level: str = ""
    following: bool = True

    reward_terms = ("goals",)

    def __post_init__(self) -> None:
        check_choice("map", self.map, MAPS)
        check_ranges(
            self,
            (
                ("rows", 2, MAX_SIDE),
                ("columns", 2, MAX_SIDE),
                ("num_players", 1, MAX_SEATS),
                ("sight", 1, MAX_SIDE),
                ("max_steps", 1, None),
                ("density", 0, 0.9),
                ("loops", 0, 1),
            ),
        )
        if (self.map == "level") != bool(self.level):
            raise InvalidOption("level is a drawn map: give it together with map='level'")
        if self.drawn and (self.drawn.rows, self.drawn.columns) != (self.rows, self.columns):
            raise InvalidOption(
                f"the level has {self.drawn.rows} rows and {self.drawn.columns} columns; "
                f"say so with rows={self.drawn.rows}, columns={self.drawn.columns}"
            )
        if self.room <= self.num_players:
            raise InvalidOption(
                f"the map has at least {self.room} connected cells, too few for "
                f"{self.num_players} players and a goal; make it larger"
            )

    # What follows from the options

    @cached_property
    def drawn(self) -> Level | None:
        """The map where it does not depend on the seed."""
        if self.map == "warehouse":
            return read_level(warehouse(self.rows, self.columns), KINDS)
        return read_level(self.level, KINDS) if self.map == "level" else None

    @cached_property
    def room(self) -> int:
        """How many cells there are at least to walk on, all connected."""
        if self.map == "random":
            return self.rows * self.columns
        if self.drawn is None:
            return 2 * ((self.rows + 1) // 2) * ((self.columns + 1) // 2) - 1
        floor = {
            (row, column)
            for row, line in enumerate(self.drawn.lines)
            for column, kind in enumerate(line)
            if kind == "."
        }
        if not floor:
            return 0
        reached = [min(floor)]
        floor.discard(reached[0])
        for row, column in reached:
            for cell in (
                (row - 1, column),
                (row + 1, column),
                (row, column - 1),
                (row, column + 1),
            ):
                if cell in floor:
                    floor.discard(cell)
                    reached.append(cell)
        if floor:
            row, column = min(floor)
            raise InvalidOption(
                f"level: line {row + 1}, column {column + 1} cannot be reached from "
                f"line {reached[0][0] + 1}, column {reached[0][1] + 1}; connect all floor"
            )
        return len(reached)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, float(self.max_steps))

    @property
    def side(self) -> int:
        return 2 * self.sight + 1

    @property
    def observation_shape(self) -> tuple[int]:
        return (WINDOW + 3 * self.side**2,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (0.0, float(self.rows * self.columns))

    def constants(self) -> Mapping[str, Any]:
        masks = self.drawn.masks("#") if self.drawn else (0,) * self.rows
        return {**super().constants(), "kind": MAPS.index(self.map), "obstacles": masks}

    def fields(self) -> list[tuple[Any, ...]]:
        """Places and goals; the map; steps to each player's goal from every cell."""
        seats, cells = self.num_players, self.rows * self.columns
        return [
            ("cell", np.int32, seats),
            ("target", np.int32, seats),
            ("blocked", np.uint8, seats),
            ("goal", np.int32, seats),
            ("earned", np.float64, seats),
            ("walls", np.uint8, cells),
            ("queue", np.int16, cells),
            ("far", np.int16, (seats, cells)),
        ]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        if config.kind == RANDOM:
            scatter(config, state, config.num_players + 1)
        elif config.kind == MAZE:
            carve(config, state)
        else:
            for cell in range(config.rows * config.columns):
                row, column = cell // config.columns, cell % config.columns
                state.walls[cell] = has_bit(config.obstacles, row, column)
        for seat in range(config.num_players):
            state.cell[seat] = NOWHERE
        for seat in range(config.num_players):
            state.cell[seat] = random_place(config, state)
            state.target[seat] = state.cell[seat]
        for seat in range(config.num_players):
            next_goal(config, state, seat)
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        for seat in range(config.num_players):
            there = neighbour(config, state.cell[seat], actions[seat])
            shut = there == NOWHERE or state.walls[there] == 1
            state.target[seat] = state.cell[seat] if shut else there
        resolve(config, state, config.following)
        for seat in range(config.num_players):
            if state.cell[seat] == state.goal[seat]:
                out.rewards[seat, 0] = 1.0
                state.earned[seat] += 1.0
                next_goal(config, state, seat)
        if state.turn + 1 >= config.max_steps:
            truncate(state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        for action in range(len(MOVES)):
            there = neighbour(config, state.cell[seat], action)
            mask[action] = there != NOWHERE and state.walls[there] == 0

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """See the module's docstring for the layout."""
        columns, sight, walls, far = config.columns, config.sight, state.walls, state.far
        side = 2 * sight + 1
        row, column = state.cell[seat] // columns, state.cell[seat] % columns
        view[OWN_ROW], view[OWN_COLUMN] = row, column
        view[GOAL_ROW] = state.goal[seat] // columns
        view[GOAL_COLUMN] = state.goal[seat] % columns
        for i in range(side):
            for j in range(side):
                r, c, at = row - sight + i, column - sight + j, WINDOW + i * side + j
                if not on_map(config, r, c) or walls[r * columns + c] == 1:
                    view[at] = 1
                else:
                    view[at + STEPS * side * side] = far[seat, r * columns + c] + 1
        for other in range(config.num_players):
            if other != seat and sees(config, state, seat, state.cell[other]):
                i = state.cell[other] // columns - row + sight
                j = state.cell[other] % columns - column + sight
                view[WINDOW + (OTHERS * side + i) * side + j] = 1

    @staticmethod
    def scripted_action(config: Any, state: Any, seat: int) -> int:
        """Take a shortest way; who is blocked by a player in it steps aside now and then.

        Of those in sight beside a cell the last enters it in even steps, the first in odd ones.
        """
        own = state.cell[seat]
        nearest, action, aside = state.far[seat, own], STAY, STAY
        for way in range(NORTH, EAST + 1):
            there = neighbour(config, own, way)
            free = there != NOWHERE and state.walls[there] == 0
            if free and holder(config, state, there) < 0 and goes_first(config, state, seat, there):
                aside = way
                if state.far[seat, there] < nearest:
                    nearest, action = state.far[seat, there], way
        return aside if action == STAY and (state.turn + own) % 3 == 0 else action

    # States

    def arrange(self, places: Sequence[tuple[int, int]], goals: Sequence[tuple[int, int]]) -> Any:
        """A state with everybody and his goal where you say: (row, column), from 0."""
        if len(places) != self.num_players or len(goals) != self.num_players:
            raise InvalidOption(
                f"got {len(places)} places and {len(goals)} goals for {self.num_players} players"
            )
        state = self.clone(self.initial_state(0))
        for seat, (place, goal) in enumerate(zip(places, goals, strict=True)):
            state.cell[seat] = state.target[seat] = self.at(*place)
            self.send(state, seat, self.at(*goal))
        return state

    def send(self, state: Any, seat: int, goal: int) -> None:
        """Give a player another goal."""
        state.goal[seat] = goal
        measure(self.config, state, seat, goal)

    def throughput(self, state: Any) -> float:
        """Goals reached by all, a step."""
        return float(state.earned.sum()) / max(1, int(state.turn))

    def determinize(self, state: Any, seat: int, rng: Rng) -> Any:
        """Put whom the player does not see elsewhere out of sight, with other goals.

        The map stays: the ways to his goal tell him of it.
        """
        imagined, seen = self.clone(state), self.visible(state, seat)
        free = np.flatnonzero(~seen & (state.walls == 0)).tolist()
        floor = np.flatnonzero(state.walls == 0).tolist()
        for other in range(self.num_players):
            if other == seat:
                continue
            if not seen[state.cell[other]]:
                place = free.pop(rng.below(len(free)))
                imagined.cell[other] = imagined.target[other] = place
            goal = rng.choice([cell for cell in floor if cell != imagined.cell[other]])
            self.send(imagined, other, goal)
        return imagined

    # Words

    def rules_for(self, seat: int) -> str:
        lines = [super().rules_for(seat)]
        if not self.following:
            lines.append("Nor can a cell be entered whose player leaves it in the same step.")
        lines.append(
            f"The map has {self.rows} rows, row 1 the northernmost, and {self.columns} columns, "
            f"column 1 the westernmost, and {self.num_players} players. {self.sight_text()} "
            f"Time is up after {self.max_steps} steps."
        )
        return "\n".join(lines)

    def planes(self, view: NDArray[Any]) -> NDArray[Any]:
        """The planes of an array view."""
        planes: NDArray[Any] = view[WINDOW:].reshape(3, self.side, self.side)
        return planes

    def describe(self, state: Any, seat: int) -> str:
        """Exactly what the array view holds, and how much time has gone by."""
        planes, goal = self.planes(self.observe(state, seat)), int(state.goal[seat])
        own = int(state.cell[seat])
        marks = planes[OBSTACLES] + 2 * planes[OTHERS]
        marks[planes[STEPS] == 1] += 4
        marks[self.sight, self.sight] = 3
        steps = [
            " ".join(f"{value - 1:2}" if value else " #" for value in row)
            for row in planes[STEPS].tolist()
        ]
        return "\n".join(
            [
                self.header(state, seat),
                f"Your goal is in {self.written(goal)}: {self.direction(own, goal)} of you, "
                f"{int(planes[STEPS, self.sight, self.sight]) - 1} steps away.",
                "What you see, north on top; ^ is you, G your goal, P a player, Q a player on your "
                "goal, # an obstacle:",
                *windowed(marks, {1: "#", 2: "P", 3: "^", 4: "G", 6: "Q"}),
                "Steps to your goal from each of these cells, if nobody were in the way:",
                *steps,
            ]
        )

    # Pictures

    def scene(self, state: Any, player: int | None = None) -> Scene:
        """The map with players and goals; for a player his own goal and what he sees."""
        seen = None if player is None else self.visible(state, player)
        walls = state.walls if seen is None else state.walls * seen
        pieces = {int(cell): WALL for cell in np.flatnonzero(walls)}
        seats = range(self.num_players) if player is None else (player,)
        for seat in seats:
            label = f"goal of {self.players[seat]}"
            pieces[int(state.goal[seat])] = Piece("g", seat, "mark", label)
        for seat in self.seats_shown(state, player):
            pieces[int(state.cell[seat])] = self.disc(seat)
        most = max(1.0, float(state.earned.max() if player is None else state.earned[player]))
        bars = [Bar(self.players[seat], float(state.earned[seat]), most, seat) for seat in seats]
        caption = f"Step {int(state.turn)} of {self.max_steps}"
        return Scene(caption, grid=self.grid(pieces, seen), bars=tuple(bars))


def next_goal(config: Any, state: Any, seat: int) -> None:
    """Draw another goal for a player, and how far it is from everywhere."""
    goal = random_floor(config, state)
    while goal == state.cell[seat]:
        goal = random_floor(config, state)
    state.goal[seat] = goal
    measure(config, state, seat, goal)


def goes_first(config: Any, state: Any, seat: int, there: int) -> bool:
    """Whether the rule of the road gives a player a cell before others he sees beside it."""
    own, columns = state.cell[seat], config.columns
    for other in range(config.num_players):
        place = state.cell[other]
        far = abs(place // columns - there // columns) + abs(place % columns - there % columns)
        later = (place > own) == (state.turn % 2 == 0)
        if far == 1 and other != seat and later and sees(config, state, seat, place):
            return False
    return True


def carve(config: Any, state: Any) -> None:
    """Carve a random spanning tree of passages between every second cell, by depth first search."""
    cells, columns = config.rows * config.columns, config.columns
    for cell in range(cells):
        state.walls[cell] = 1
    state.walls[0] = 0
    depth = 1  # `queue` holds the way back to where it began, cell 0
    while depth > 0:
        here = int(state.queue[depth - 1])
        way = unvisited(config, state, here)
        if way == STAY:
            depth -= 1
            state.queue[depth] = 0
        else:
            between = neighbour(config, here, way)
            there = neighbour(config, between, way)
            state.walls[between], state.walls[there] = 0, 0
            state.queue[depth] = there
            depth += 1
    for cell in range(cells):
        row, column = cell // columns, cell % columns
        inside = row + 1 < config.rows if row % 2 == 1 else column + 1 < columns
        closed = (row + column) % 2 == 1 and inside and state.walls[cell] == 1
        if closed and uniform(state) < config.loops:
            state.walls[cell] = 0


def unvisited(config: Any, state: Any, here: int) -> int:
    """A random way to a passage two cells on that is still closed; STAY where there is none."""
    count, skip = 0, -1
    for turn in range(2):
        for way in range(NORTH, EAST + 1):
            between = neighbour(config, here, way)
            there = NOWHERE if between == NOWHERE else neighbour(config, between, way)
            if there != NOWHERE and state.walls[there] == 1:
                if turn == 0:
                    count += 1
                elif skip == 0:
                    return way
                skip -= turn
        if turn == 0:
            if count == 0:
                return STAY
            skip = randint(state, count)
    return STAY


def warehouse(rows: int, columns: int) -> str:
    """Shelves of up to four cells in every third row, with aisles between and around them."""
    return "\n".join(
        "".join(
            "#"
            if row % 3 == 1 and column % 5 and 0 < row < rows - 1 and 0 < column < columns - 1
            else "."
            for column in range(columns)
        )
        for row in range(rows)
    )
