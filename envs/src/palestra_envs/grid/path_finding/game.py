"""Path finding: many players walk to goals of their own and get a new one after each.

Lifelong multi-agent path finding: everybody moves at once, one cell north, south, west or east, or
stays. All moves that collide are cancelled: those of players who head for the same cell, those into
the cell of a player who stays (or whose own move is cancelled), and swaps. Chains and circles of
players who follow one another move, unless `following` is off: then no cell can be entered that
anybody stands on, as in POGEMA's "block both". A goal reached pays 1 and a new one is drawn, any
other cell without obstacle. Episodes last `max_steps`; throughput is the number of goals reached by
all, per step.

From Skrynnik, Andreychuk, Nesterova, Yakovlev and Panov, "Learn to Follow: Decentralized Lifelong
Multi-Agent Pathfinding via Planning and Learning", AAAI 2024, whose environment is POGEMA
(Skrynnik et al., "POGEMA: Partially Observable Grid Environment for Multiple Agents", 2022). As in
POGEMA, players can plan around obstacles, because they see the distance of their goal from each
nearby cell; they see other players only nearby.

Maps, each drawn from the seed: `random` obstacles of some `density`, cells cut off from the largest
region filled up (and laid out anew with a tenth fewer where it has no room for all); a `maze`, a
random spanning tree of passages, of whose other walls each is opened with probability `loops`; a
`warehouse` of shelves and aisles; or your own `level`.

Checked against recorded episodes of POGEMA 1.4.0, positions and goals reached, and distances and a
single player's arrivals against networkx.

Left out: the paper's own map files; bring one as `level`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayState,
    Bar,
    Channel,
    InvalidOption,
    Meta,
    Out,
    Piece,
    Rng,
    Scene,
    Shape,
    Vocabulary,
    constant,
    environment,
)
from palestra.grids.compass import EAST, EASTWARD, MOVES, NORTH, SOUTHWARD, STAY
from palestra.grids.levels import MAX_SIDE, Level, read_level
from palestra.grids.moving import (
    NOWHERE,
    holder,
    measure,
    neighbour,
    random_floor,
    random_place,
    resolve,
    scatter,
)
from palestra.grids.paths import routes
from palestra.grids.sight import sees
from palestra.grids.windows import has_bit, on_map
from palestra.rules import all_act, randint, truncate, uniform

from palestra_envs.grid.walkers import WALL, Walkers, distance_lines, plane_lines

MAPS = ("random", "maze", "warehouse", "level")
RANDOM, MAZE = 0, 1
KINDS = {"#": "an obstacle", ".": "floor"}
OWN_ROW, OWN_COLUMN, GOAL_ROW, GOAL_COLUMN, WINDOW = range(5)  # of an observation
OBSTACLES, OTHERS, STEPS = range(3)  # planes


class PathFindingState(ArrayState):
    """Players with their goals, and the map."""

    cell: Annotated[NDArray[np.int32], Shape("num_players")]  # where each player stands
    target: Annotated[NDArray[np.int32], Shape("num_players")]  # the cell each player heads for
    blocked: Annotated[NDArray[np.uint8], Shape("num_players")]  # 1 if a collision stopped it
    goal: Annotated[NDArray[np.int32], Shape("num_players")]  # the cell of each player's goal
    earned: Annotated[NDArray[np.float64], Shape("num_players")]  # goals that each has reached
    walls: Annotated[NDArray[np.uint8], Shape("num_cells")]  # 1 for obstacles
    queue: Annotated[NDArray[np.int16], Shape("num_cells")]  # scratch space of `measure`
    far: Annotated[NDArray[np.int16], Shape("num_players", "num_cells")]  # steps to each goal


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
)
@dataclass(frozen=True)
class PathFinding(Walkers[PathFindingState]):
    """Many players walk to goals of their own and get a new goal after each.

    Actions are 0 stay, 1 north, 2 south, 3 west and 4 east.

    An observation is an int16 vector: the player's own row and column, their goal's row and column,
    and three planes over the window around the player, north on top: obstacles and what lies beyond
    the map (1), other players (1), and one more than the steps from each cell to the goal if nobody
    were in the way (0 where there is no path).

    A goal pays 1 to the player who reaches it.
    """

    figure = "robot"

    rows: Annotated[int, Meta(ge=2, le=MAX_SIDE, description="rows of the map")] = 10
    columns: Annotated[int, Meta(ge=2, le=MAX_SIDE, description="columns of the map")] = 10
    num_players: Annotated[int, Meta(ge=1, le=48, description="number of players")] = 4
    sight: Annotated[
        int, Meta(ge=1, le=MAX_SIDE, description="cells a player sees in every direction")
    ] = 2
    max_steps: Annotated[
        int, Meta(ge=1, le=1_000_000, description="steps after which the episode is cut off")
    ] = 64
    map: Annotated[
        Literal["random", "maze", "warehouse", "level"],
        Meta(description="random obstacles, a maze, shelves with aisles, or the option level"),
    ] = "random"
    density: Annotated[
        float, Meta(ge=0, le=0.9, description="chance of an obstacle on a cell of a random map")
    ] = 0.3
    loops: Annotated[
        float, Meta(ge=0, le=1, description="chance that another wall of a maze is opened")
    ] = 0.1
    level: Annotated[
        str, Meta(description="a map drawn in lines of # (obstacle) and . (floor), for map='level'")
    ] = ""
    following: Annotated[
        bool, Meta(description="whether a cell can be entered as another player leaves it")
    ] = True

    vocabulary = Vocabulary(
        words=(
            "goal",
            "obstacle",
        ),
    )
    rules_text = """
        You walk on a grid, from one goal to the next, among other players with goals of their own.

        All players choose one action at the same time: "north", "south", "west" or "east" to move
        one cell, or "stay". Obstacles and the edge of the map cannot be crossed. If several players
        head for one cell, none of them moves. A cell whose player stays there cannot be entered,
        nor can two players swap. When you reach your goal you are paid 1 and get another goal.
    """
    reward_terms = ("goals",)

    def validate(self) -> None:
        if (self.map == "level") != bool(self.level):
            raise InvalidOption("level is a drawn map: give it together with map='level'")
        fixed = self.fixed_map
        if fixed and (fixed.rows, fixed.columns) != (self.rows, self.columns):
            raise InvalidOption(
                f"the level has {fixed.rows} rows and {fixed.columns} columns; "
                f"say so with rows={fixed.rows}, columns={fixed.columns}"
            )
        if self.room <= self.num_players:
            raise InvalidOption(
                f"the map has at least {self.room} connected cells, too few for "
                f"{self.num_players} players and a goal; make it larger"
            )

    # Derived from the options

    @cached_property
    def fixed_map(self) -> Level | None:
        """The map where it does not depend on the seed."""
        if self.map == "warehouse":
            return read_level(warehouse(self.rows, self.columns), KINDS)
        return read_level(self.level, KINDS) if self.map == "level" else None

    @cached_property
    def room(self) -> int:
        """The least number of connected floor cells."""
        if self.map == "random":
            return self.num_cells
        if self.fixed_map is None:
            return 2 * ((self.rows + 1) // 2) * ((self.columns + 1) // 2) - 1
        return connected_floor(self.fixed_map)

    @constant
    def kind(self) -> int:
        """The kind of map by number."""
        return MAPS.index(self.map)

    @constant
    def obstacles(self) -> tuple[int, ...]:
        """The obstacles of a fixed map, as masks of its rows."""
        return self.fixed_map.masks("#") if self.fixed_map else (0,) * self.rows

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, float(self.max_steps))

    @property
    def observation_shape(self) -> tuple[int]:
        return (WINDOW + 3 * self.side**2,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (0.0, float(self.num_cells))

    # The rules

    @staticmethod
    def init_state(config: PathFinding, state: PathFindingState) -> None:
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
    def apply_actions(config: PathFinding, state: PathFindingState, actions: Any, out: Out) -> None:
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
    def write_legal_mask(
        config: PathFinding, state: PathFindingState, seat: int, mask: Any
    ) -> None:
        for action in range(len(MOVES)):
            there = neighbour(config, state.cell[seat], action)
            mask[action] = there != NOWHERE and state.walls[there] == 0

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        cells = self.side**2
        return (
            Channel("own", 2, "the player's row and column"),
            Channel("goal", 2, "row and column of the goal"),
            Channel("obstacles", cells, "window: 1 for obstacles and beyond the map"),
            Channel("others", cells, "window: 1 for another player"),
            Channel("distances", cells, "window: steps to the goal plus 1; 0 for no path"),
        )

    @staticmethod
    def write_observation(
        config: PathFinding, state: PathFindingState, seat: int, obs: Any
    ) -> None:
        """Write the observation; the class docstring gives the layout."""
        columns, sight, walls, far = config.columns, config.sight, state.walls, state.far
        side = 2 * sight + 1
        row, column = state.cell[seat] // columns, state.cell[seat] % columns
        obs[OWN_ROW], obs[OWN_COLUMN] = row, column
        obs[GOAL_ROW] = state.goal[seat] // columns
        obs[GOAL_COLUMN] = state.goal[seat] % columns
        for i in range(side):
            for j in range(side):
                r, c, at = row - sight + i, column - sight + j, WINDOW + i * side + j
                if not on_map(config, r, c) or walls[r * columns + c] == 1:
                    obs[at] = 1
                else:
                    obs[at + STEPS * side * side] = far[seat, r * columns + c] + 1
        for other in range(config.num_players):
            if other != seat and sees(config, state, seat, state.cell[other]):
                i = state.cell[other] // columns - row + sight
                j = state.cell[other] % columns - column + sight
                obs[WINDOW + (OTHERS * side + i) * side + j] = 1

    @staticmethod
    def scripted_action(config: PathFinding, state: PathFindingState, seat: int) -> int:
        """Take a shortest path, and sometimes step aside if a player blocks it.

        Of the players in sight beside a cell, the one on the highest cell enters it in even steps,
        the one on the lowest in odd ones.
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

    def arrange(
        self, places: Sequence[tuple[int, int]], goals: Sequence[tuple[int, int]]
    ) -> PathFindingState:
        """A state with every player and goal at these places, (row, column) from 0."""
        if len(places) != self.num_players or len(goals) != self.num_players:
            raise InvalidOption(
                f"got {len(places)} places and {len(goals)} goals for {self.num_players} players"
            )
        state: PathFindingState = self.clone(self.initial_state(0))
        for seat, (place, goal) in enumerate(zip(places, goals, strict=True)):
            state.cell[seat] = state.target[seat] = self.at(*place)
            self.send(state, seat, self.at(*goal))
        return state

    def send(self, state: PathFindingState, seat: int, goal: int) -> None:
        """Give a player another goal."""
        state.goal[seat] = goal
        measure(self.config, state, seat, goal)

    def determinize(self, state: PathFindingState, seat: int, rng: Rng) -> PathFindingState:
        """Move players that are out of sight to other unseen cells, and change others' goals.

        The map stays, because the distances to the player's goal depend on it. The others have
        reached at most a goal in ten steps.
        """
        imagined: PathFindingState = self.clone(state)
        seen = self.visible(state, seat)
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
            imagined.blocked[other] = 0
            imagined.earned[other] = rng.below(int(state.turn) // 10 + 1)
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

    def planes(self, observation: NDArray[Any]) -> NDArray[Any]:
        """The planes of an observation: obstacles, other players, steps to the goal."""
        return observation[WINDOW:].reshape(3, self.side, self.side)

    def describe(self, state: PathFindingState, seat: int) -> str:
        """The observation in words, and how much time has passed."""
        planes, goal = self.planes(self.seen(state, seat)), int(state.goal[seat])
        own = int(state.cell[seat])
        marks = planes[OBSTACLES] + 2 * planes[OTHERS]
        marks[planes[STEPS] == 1] += 4
        marks[self.sight, self.sight] = 3
        return "\n".join(
            [
                self.header(state, seat),
                f"Your goal is in {self.place_text(goal)}: {self.direction(own, goal)} of you, "
                f"{int(planes[STEPS, self.sight, self.sight]) - 1} steps away.",
                "What you see, north on top; ^ is you, G your goal, P a player, Q a player on your "
                "goal, # an obstacle:",
                *plane_lines(marks, ".#P^G.Q"),
                "Steps to your goal from each of these cells, if nobody were in the way:",
                *distance_lines(planes[STEPS]),
            ]
        )

    # Pictures

    def scene(self, state: PathFindingState, seat: int | None = None) -> Scene:
        """The map with players and goals; for a player their own goal and what they see."""
        seen = None if seat is None else self.visible(state, seat)
        walls = state.walls if seen is None else state.walls * seen
        pieces = {int(cell): WALL for cell in np.flatnonzero(walls)}
        seats = self.watched_seats(seat)
        for owner in seats:
            label = f"goal of {self.players[owner]}"
            pieces[int(state.goal[owner])] = Piece(f"g{owner}", owner, "mark", label, "flag")
        for shown in self.seats_shown(state, seat):
            self.stand(pieces, int(state.cell[shown]), shown)
        most = max(1.0, *(float(state.earned[p]) for p in seats))
        bars = [Bar(self.players[p], float(state.earned[p]), most, p) for p in seats]
        return Scene(self.caption(state), grid=self.grid(pieces, seen), bars=tuple(bars))


def next_goal(config: PathFinding, state: PathFindingState, seat: int) -> None:
    """Draw another goal for a player, and measure how far it is from every cell."""
    goal = random_floor(config, state)
    while goal == state.cell[seat]:
        goal = random_floor(config, state)
    state.goal[seat] = goal
    measure(config, state, seat, goal)


def goes_first(config: PathFinding, state: PathFindingState, seat: int, there: int) -> bool:
    """Whether a player may enter a cell before the others they see beside it."""
    own, columns = state.cell[seat], config.columns
    for other in range(config.num_players):
        place = state.cell[other]
        far = abs(place // columns - there // columns) + abs(place % columns - there % columns)
        later = (place > own) == (state.turn % 2 == 0)
        if far == 1 and other != seat and later and sees(config, state, seat, place):
            return False
    return True


def carve(config: PathFinding, state: PathFindingState) -> None:
    """Carve a random spanning tree of passages between every second cell, by depth first search."""
    cells, columns = config.rows * config.columns, config.columns
    for cell in range(cells):
        state.walls[cell] = 1
    state.walls[0] = 0
    depth = 1  # `queue` holds the way back to where it began, cell 0
    while depth > 0:
        here = int(state.queue[depth - 1])
        way = unvisited_direction(config, state, here)
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


def unvisited_direction(config: PathFinding, state: PathFindingState, here: int) -> int:
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


def connected_floor(level: Level) -> int:
    """How many cells of floor a map has; raises `InvalidOption` where they are not connected."""
    floor = {
        (row, column)
        for row, line in enumerate(level.lines)
        for column, kind in enumerate(line)
        if kind == "."
    }
    if not floor:
        return 0
    start = min(floor)

    def steps(cell: tuple[int, int]) -> Iterator[tuple[int, tuple[int, int]]]:
        for action in range(NORTH, EAST + 1):
            there = cell[0] + SOUTHWARD[action], cell[1] + EASTWARD[action]
            if there in floor:
                yield action, there

    cut_off = floor - routes(start, steps).keys()
    if cut_off:
        row, column = min(cut_off)
        raise InvalidOption(
            f"level: line {row + 1}, column {column + 1} cannot be reached from "
            f"line {start[0] + 1}, column {start[1] + 1}; connect all floor"
        )
    return len(floor)


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
