"""Sokoban: push every box onto a goal; boxes can be pushed, one at a time, and never pulled.

A warehouse keeper walks up, down, left or right. Walking against a box pushes it one cell further,
if the cell behind it is free of walls and boxes. The level is solved when every box stands on a
goal. Levels are written in the usual characters, or drawn: a room is carved by a random walk, boxes
are put on its goals, and the game is played backwards, pulling boxes at random, so that playing the
same moves forwards solves it. The tests compare the shortest solutions found by the solver with
those of another breadth-first search over other states.

Checked: published levels need their published moves and pushes; shortest solutions against a search
by networkx.

Left out: nothing of the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    ArrayState,
    Bar,
    Channel,
    Event,
    Grid,
    InvalidOption,
    Meta,
    Outcome,
    Piece,
    Scene,
    Shape,
    Vocabulary,
    constant,
    environment,
)
from palestra.rules import WIN, finish, randint, truncate, turn_to

from palestra_games.puzzles.directions import ACTIONS, EASTWARD, SOUTHWARD

WALL, GOAL, BOX = 1, 2, 4
FLOOR_TILES = {0: " ", WALL: "#", GOAL: ".", BOX: "$", GOAL | BOX: "*"}
KEEPER_TILES = {0: "@", GOAL: "+"}
TILES = {tile: flags for tiles in (FLOOR_TILES, KEEPER_TILES) for flags, tile in tiles.items()}
MIN_SIDE, MAX_SIDE = 3, 20
ROOMS = 50  # draws before one more box may start on a goal

LEVELS = {
    "corridor": ("#######", "#@ $ .#", "#######"),
    "corner": ("######", "#    #", "# $@ #", "# .  #", "######"),
    "pair": ("#######", "#  .  #", "# $@$ #", "#  .  #", "#     #", "#######"),
    "turn": ("########", "#      #", "# $    #", "# # #. #", "# @ #  #", "########"),
    "three": ("########", "#  . . #", "# $$   #", "#  @ $ #", "#  #.  #", "########"),
}


class SokobanState(ArrayState):
    """A level in play."""

    cells: Annotated[NDArray[np.uint8], Shape("height", "width")]  # flags WALL, GOAL and BOX
    row: Annotated[int, np.int32]  # where the keeper stands
    column: Annotated[int, np.int32]


@environment(
    "games/Sokoban-v0",
    family="grid",
    tags=("perfect-information", "deterministic", "planning"),
)
@dataclass(frozen=True)
class Sokoban(ArrayGame[SokobanState]):
    """Sokoban: a warehouse keeper pushes every box onto a goal.

    Actions are 0 (up), 1 (down), 2 (left) and 3 (right); a step that is blocked changes nothing. An
    observation is four planes of 0 and 1 by row and column: walls, goals, boxes and the keeper.
    Solving the level pays 1.
    """

    level: Annotated[
        Literal["random", "corridor", "corner", "pair", "turn", "three"],
        Meta(description="a level by name, or one drawn anew every episode"),
    ] = "random"
    rows: Annotated[
        int, Meta(ge=5, le=MAX_SIDE, description="rows of a random level, with its outer walls")
    ] = 7
    columns: Annotated[
        int, Meta(ge=5, le=MAX_SIDE, description="columns of a random level, with its outer walls")
    ] = 7
    boxes: Annotated[int, Meta(ge=1, le=64, description="boxes, and goals, of a random level")] = 2
    pulls: Annotated[
        int,
        Meta(
            ge=20, le=100_000, description="random backward steps from which a random level is made"
        ),
    ] = 300
    layout: Annotated[
        tuple[str, ...],
        Meta(description="rows of a level of your own: # wall, @ + keeper, $ * box, . goal"),
    ] = ()
    max_steps: Annotated[int, Meta(ge=1, le=1_000_000, description="most steps in an episode")] = (
        120
    )

    vocabulary = Vocabulary(
        words=("keeper", "warehouse", "box", "push", "pull", "wall", "goal"),
        signs="@+#$*",
    )
    rules_text = """
        You are the keeper of a warehouse and push all boxes onto goals.

        Every turn write "up", "down", "left" or "right". In the map @ is you (+ if you stand on a
        goal), # a wall, $ a box, . a goal and * a box on a goal. Walking against a box pushes it
        one cell further, if there is no wall and no other box; otherwise nothing moves. You cannot
        pull. If all boxes are on goals you have won and are paid 1; if you run out of steps you are
        paid 0.
    """
    order = "sequential"
    payoffs = "general"
    num_players = 1
    num_actions = 4
    deterministic = True
    reward_terms = ("solved",)
    payoff_bounds = (0.0, 1.0)

    def validate(self) -> None:
        if self.layout:
            check_layout(self.layout)
        elif self.level == "random":
            most = (self.rows - 2) * (self.columns - 2) // 5
            if self.boxes > most:
                raise InvalidOption(
                    f"boxes must be from 1 to {most} in this room, not {self.boxes}"
                )

    # Derived from the options

    @constant
    def is_generated(self) -> bool:
        """Whether every episode draws a level of its own."""
        return self.level == "random" and not self.layout

    @cached_property
    def map(self) -> tuple[str, ...]:
        """The rows of the level; of a random one, floor of its size."""
        if self.is_generated:
            return (" " * self.columns,) * self.rows
        return self.layout or LEVELS[self.level]

    @constant
    def height(self) -> int:
        """Rows of the level played."""
        return len(self.map)

    @constant
    def width(self) -> int:
        """Columns of the level played."""
        return len(self.map[0])

    @constant
    def walls(self) -> tuple[int, ...]:
        """By row a mask of its walls, the first column in the lowest bit."""
        return self._masks(WALL)

    @constant
    def goals(self) -> tuple[int, ...]:
        return self._masks(GOAL)

    @constant
    def crates(self) -> tuple[int, ...]:
        """Where the boxes start, as masks."""
        return self._masks(BOX)

    def _masks(self, flag: int) -> tuple[int, ...]:
        return tuple(
            sum(1 << column for column, tile in enumerate(row) if TILES[tile] & flag)
            for row in self.map
        )

    @cached_property
    def _keeper(self) -> tuple[int, int]:
        """Where the keeper starts; (0, 0) in a random level."""
        tiles = ((r, c, tile) for r, row in enumerate(self.map) for c, tile in enumerate(row))
        return next(((r, c) for r, c, tile in tiles if tile in "@+"), (0, 0))

    @constant
    def keeper_row(self) -> int:
        return self._keeper[0]

    @constant
    def keeper_column(self) -> int:
        return self._keeper[1]

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (4, self.height, self.width)

    # The rules

    @staticmethod
    def init_state(config: Sokoban, state: SokobanState) -> None:
        if config.is_generated:
            draw_level(config, state)
        else:
            for row in range(config.height):
                for column in range(config.width):
                    wall = config.walls[row] >> column & 1
                    goal = config.goals[row] >> column & 1
                    box = config.crates[row] >> column & 1
                    state.cells[row, column] = wall * WALL + goal * GOAL + box * BOX
            state.row, state.column = config.keeper_row, config.keeper_column
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: Sokoban, state: SokobanState, actions: Any, out: Any) -> None:
        south, east = SOUTHWARD[actions[0]], EASTWARD[actions[0]]
        row, column = state.row + south, state.column + east
        if not state.cells[row, column] & WALL and clear_way(state, row, column, south, east):
            state.row, state.column = row, column
        if boxes_off(config, state) == 0:
            out.rewards[0, 0] = 1.0
            state.result[0] = WIN
            finish(state)
        elif state.turn + 1 >= config.max_steps:
            truncate(state)

    @staticmethod
    def write_legal_mask(config: Sokoban, state: SokobanState, seat: int, mask: Any) -> None:
        for action in range(4):
            mask[action] = 1

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("walls", 1, "1 where a wall is"),
            Channel("goals", 1, "1 where a goal is"),
            Channel("boxes", 1, "1 where a box is"),
            Channel("keeper", 1, "1 where the keeper stands"),
        )

    @staticmethod
    def write_observation(config: Sokoban, state: SokobanState, seat: int, obs: Any) -> None:
        """Planes of walls, goals, boxes and the keeper."""
        for row in range(config.height):
            for column in range(config.width):
                cell = state.cells[row, column]
                obs[0, row, column] = (cell & WALL) != 0
                obs[1, row, column] = (cell & GOAL) != 0
                obs[2, row, column] = (cell & BOX) != 0
        obs[3, state.row, state.column] = 1

    def outcome(self, state: SokobanState) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        solved = bool(state.result[0] == WIN)
        reason = "all boxes are on goals" if solved else f"out of steps after {self.max_steps}"
        return Outcome(ended.results, (float(solved),), reason)

    # What the player sees

    def record_facts(self, state: SokobanState) -> dict[str, Any]:
        """Facts for the record: how many boxes stand on goals; which objects are the goals."""
        goals = np.argwhere(state.cells & GOAL)
        held = [bool(state.cells[row, column] & BOX) for row, column in goals]
        names = [f"goal {row + 1},{column + 1}" for row, column in goals.tolist()]
        return {
            "progress": sum(held) / len(held),
            "milestones": [f"{n + 1} on goals" for n in range(sum(held))],
            "objects": {name: {"box": on} for name, on in zip(names, held, strict=True)},
            "goal": {name: {"box": True} for name in names},
        }

    def rules_for(self, seat: int) -> str:
        return f"{super().rules_for(seat)}\nYou have {self.max_steps} steps."

    def narrate(
        self, before: SokobanState | None, actions: Mapping[int, int], after: SokobanState
    ) -> list[Event]:
        if before is None:
            return []
        moved = (before.row, before.column) != (after.row, after.column)
        pushed = moved and bool((before.cells != after.cells).any())
        did = "push" if pushed else "walk" if moved else "cannot go"
        data = {"action": actions[0], "moved": moved, "pushed": pushed}
        return [Event("move", f"You {did} {ACTIONS[actions[0]]}.", data)]

    def drawing(self, state: SokobanState) -> tuple[str, ...]:
        """The level as it stands, in the usual characters."""
        rows = [list(map(FLOOR_TILES.__getitem__, row)) for row in state.cells.tolist()]
        under = int(state.cells[state.row, state.column])
        rows[state.row][state.column] = KEEPER_TILES[under]
        return tuple(map("".join, rows))

    def describe(self, state: SokobanState, seat: int) -> str:
        left = int(((state.cells & (BOX | GOAL)) == BOX).sum())
        still = f"{left} box{'es' if left != 1 else ''} not on a goal."
        return "\n".join([*self.drawing(state), still])

    def action_text(self, state: SokobanState, seat: int, action: int) -> str:
        return ACTIONS[action]

    def scene(self, state: SokobanState, seat: int | None = None) -> Scene:
        rows = [[piece(cell) for cell in row] for row in state.cells.tolist()]
        rows[state.row][state.column] = Piece("@", 0, "disc", "keeper", "person")
        count = int(((state.cells & GOAL) > 0).sum())
        done = count - boxes_off(self.config, state)
        bar = Bar("boxes on goals", float(done), float(count), 2)
        grid = Grid(tuple(map(tuple, rows)), ground=ground_of(state.cells.tolist()))
        return Scene(grid=grid, bars=(bar,))


def check_layout(layout: tuple[str, ...]) -> None:
    """Raise `InvalidOption` for rows that do not form a level."""
    text, widths = "".join(layout), {len(row) for row in layout}
    if len(widths) != 1 or min(len(layout), *widths) < MIN_SIDE:
        raise InvalidOption(f"layout must be at least {MIN_SIDE} rows of one length")
    if max(len(layout), *widths) > MAX_SIDE or not set(text) <= set(TILES):
        raise InvalidOption(
            f"layout must be at most {MAX_SIDE} by {MAX_SIDE}, of {''.join(TILES)!r}"
        )
    edge = layout[0] + layout[-1] + "".join(row[0] + row[-1] for row in layout)
    if set(edge) != {"#"} or text.count("@") + text.count("+") != 1:
        raise InvalidOption("layout must be walled in and have one keeper, @ or +")
    goals = text.count(".") + text.count("+")
    if goals != text.count("$") or not goals:
        raise InvalidOption("layout must have a box off its goal, and as many boxes as goals")


def piece(cell: int) -> Piece | None:
    """How a cell without the keeper is drawn."""
    if cell & BOX:
        return Piece("$", "green" if cell & GOAL else "gold", "tile", "box", "box")
    return Piece(".", "red", "disc", "goal", "target") if cell & GOAL else None


def ground_of(cells: list[list[int]]) -> tuple[tuple[str, ...], ...]:
    """Walls and floor."""
    return tuple(tuple("wall" if cell & WALL else "floor" for cell in row) for row in cells)


def clear_way(state: SokobanState, row: int, column: int, south: int, east: int) -> bool:
    """Push a box out of a cell, if there is one; return whether the cell is then free."""
    if not state.cells[row, column] & BOX:
        return True
    if state.cells[row + south, column + east] & (WALL | BOX):
        return False
    move_box(state, row, column, row + south, column + east)
    return True


def move_box(state: SokobanState, row: int, column: int, to_row: int, to_column: int) -> None:
    """Move a box from one cell to another."""
    state.cells[row, column] ^= BOX
    state.cells[to_row, to_column] ^= BOX


def boxes_off(config: Sokoban, state: SokobanState) -> int:
    """How many boxes are not on a goal."""
    count = 0
    for row in range(config.height):
        for column in range(config.width):
            count += (state.cells[row, column] & (BOX | GOAL)) == BOX
    return count


def draw_level(config: Sokoban, state: SokobanState) -> None:
    """Draw a room, put the boxes on its goals, and play the game backwards."""
    drawn, needed = 0, config.boxes
    while True:
        carve(config, state)
        for _ in range(config.boxes):
            place_randomly(config, state)
            state.cells[state.row, state.column] |= GOAL | BOX
        place_randomly(config, state)
        for _ in range(config.pulls):
            step_back(state)
        if boxes_off(config, state) >= needed:
            return
        drawn += 1
        if drawn % ROOMS == 0 and needed > 1:
            needed -= 1


def carve(config: Sokoban, state: SokobanState) -> None:
    """Make two thirds of the inside floor, in one piece."""
    for row in range(config.height):
        for column in range(config.width):
            state.cells[row, column] = WALL
    row = 1 + randint(state, config.height - 2)
    column = 1 + randint(state, config.width - 2)
    left = (config.height - 2) * (config.width - 2) * 2 // 3
    while left > 0:
        if state.cells[row, column] == WALL:
            state.cells[row, column] = 0
            left -= 1
        direction = randint(state, 4)
        r, c = row + SOUTHWARD[direction], column + EASTWARD[direction]
        if 0 < r < config.height - 1 and 0 < c < config.width - 1:
            row, column = r, c


def place_randomly(config: Sokoban, state: SokobanState) -> None:
    """Put the keeper on floor without a box."""
    state.row, state.column = 0, 0
    while state.cells[state.row, state.column] & (WALL | BOX):
        state.row = 1 + randint(state, config.height - 2)
        state.column = 1 + randint(state, config.width - 2)


def step_back(state: SokobanState) -> None:
    """Take a random step, half of the time with the box behind the keeper, if there is one."""
    direction = randint(state, 4)
    south, east = SOUTHWARD[direction], EASTWARD[direction]
    row, column = state.row, state.column
    if state.cells[row + south, column + east] & (WALL | BOX):
        return
    if state.cells[row - south, column - east] & BOX and randint(state, 2):
        move_box(state, row - south, column - east, row, column)
    state.row, state.column = row + south, column + east
