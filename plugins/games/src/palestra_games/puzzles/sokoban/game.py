"""Sokoban: push every box onto a goal; boxes can be pushed, one at a time, and never pulled.

A warehouse keeper walks north, south, west or east. Against a box he pushes it one cell on, if the
cell behind it is free of walls and boxes. The level is solved when every box stands on a goal.
Levels are written in the usual characters, or drawn: a room is carved by a random walk, boxes
are put on its goals, and the game is played backwards, pulling boxes at random, so that playing the
same moves forwards solves it. The tests compare the shortest solutions found by the solver with
those of another breadth-first search over other states.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from palestra import ArrayGame, Bar, Event, Grid, InvalidOption, Outcome, Piece, Scene, environment
from palestra.rules import WIN, finish, randint, truncate, turn_to

ACTIONS = ("up", "down", "left", "right")
SOUTHWARD, EASTWARD = (-1, 1, 0, 0), (0, 0, -1, 1)
WALL, GOAL, BOX = 1, 2, 4
FLOOR_TILES = {0: " ", WALL: "#", GOAL: ".", BOX: "$", GOAL | BOX: "*"}
KEEPER_TILES = {0: "@", GOAL: "+"}
TILES = {tile: (flags, False) for flags, tile in FLOOR_TILES.items()} | {
    tile: (flags, True) for flags, tile in KEEPER_TILES.items()
}
LEAST, MOST = 3, 20
ROOMS = 50  # drawn before one box more may start on a goal

LEVELS = {
    "corridor": ("#######", "#@ $ .#", "#######"),
    "corner": ("######", "#    #", "# $@ #", "# .  #", "######"),
    "pair": ("#######", "#  .  #", "# $@$ #", "#  .  #", "#     #", "#######"),
    "turn": ("########", "#      #", "# $    #", "# # #. #", "# @ #  #", "########"),
    "three": ("########", "#  . . #", "# $$   #", "#  @ $ #", "#  #.  #", "########"),
}


@environment(
    "games/Sokoban-v0",
    family="grid",
    tags=("perfect-information", "deterministic", "planning"),
)
@dataclass(frozen=True)
class Sokoban(ArrayGame):
    """You are the keeper of a warehouse and push all boxes onto goals.

    Every turn write "up", "down", "left" or "right". In the map @ is you (+ if you stand on a
    goal), # a wall, $ a box, . a goal and * a box on a goal. Walking against a box pushes it one
    cell further, if there is no wall and no other box; otherwise nothing moves. You cannot pull. If
    all boxes are on goals you have won and are paid 1; if you run out of steps you are paid 0.
    """

    level: str = "random"
    rows: int = 7
    columns: int = 7
    boxes: int = 2
    pulls: int = 300
    layout: tuple[str, ...] = ()
    max_steps: int = 120

    order = "sequential"
    payoffs = "general"
    num_players = 1
    num_actions = 4
    deterministic = True
    reward_terms = ("solved",)
    payoff_bounds = (0.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layout", tuple(self.layout))
        if self.level not in ("random", *LEVELS):
            raise InvalidOption(
                f"level must be one of random, {', '.join(LEVELS)}, not {self.level!r}"
            )
        if self.max_steps < 1 or self.pulls < 20:
            raise InvalidOption("max_steps must be at least 1 and pulls at least 20")
        if self.layout:
            self._check_layout()
        elif self.level == "random":
            self._check_sides()

    def _check_sides(self) -> None:
        for name, side in (("rows", self.rows), ("columns", self.columns)):
            if not 5 <= side <= MOST:
                raise InvalidOption(f"{name} must be from 5 to {MOST}, not {side}")
        most = (self.rows - 2) * (self.columns - 2) // 5
        if not 1 <= self.boxes <= most:
            raise InvalidOption(f"boxes must be from 1 to {most} in this room, not {self.boxes}")

    def _check_layout(self) -> None:
        text, widths = "".join(self.layout), {len(row) for row in self.layout}
        if len(widths) != 1 or min(len(self.layout), *widths) < LEAST:
            raise InvalidOption(f"layout must be at least {LEAST} rows of one length")
        if max(len(self.layout), *widths) > MOST or not set(text) <= set(TILES):
            raise InvalidOption(f"layout must be at most {MOST} by {MOST}, of {''.join(TILES)!r}")
        edge = self.layout[0] + self.layout[-1] + "".join(r[0] + r[-1] for r in self.layout)
        if set(edge) != {"#"} or text.count("@") + text.count("+") != 1:
            raise InvalidOption("layout must be walled in and have one keeper, @ or +")
        goals = text.count(".") + text.count("+")
        if goals != text.count("$") or not goals:
            raise InvalidOption("layout must have a box off its goal, and as many boxes as goals")

    # What follows from the options

    @property
    def generated(self) -> bool:
        return self.level == "random" and not self.layout

    @cached_property
    def map(self) -> tuple[str, ...]:
        """The rows of the level; of a random one, floor of its size."""
        if self.generated:
            return (" " * self.columns,) * self.rows
        return self.layout or LEVELS[self.level]

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (4, len(self.map), len(self.map[0]))

    def constants(self) -> Mapping[str, Any]:
        keeper = [
            (r, c) for r, row in enumerate(self.map) for c, tile in enumerate(row) if tile in "@+"
        ] or [(0, 0)]
        return {
            "rows": len(self.map),
            "columns": len(self.map[0]),
            "boxes": self.boxes,
            "pulls": self.pulls,
            "generated": int(self.generated),
            "walls": self._masks(WALL),
            "goals": self._masks(GOAL),
            "crates": self._masks(BOX),
            "keeper_row": keeper[0][0],
            "keeper_column": keeper[0][1],
            "max_steps": self.max_steps,
        }

    def _masks(self, flag: int) -> tuple[int, ...]:
        return tuple(
            sum(1 << column for column, tile in enumerate(row) if TILES[tile][0] & flag)
            for row in self.map
        )

    def fields(self) -> list[tuple[Any, ...]]:
        """`cells` holds WALL, GOAL and BOX flags."""
        return [
            ("cells", np.uint8, (len(self.map), len(self.map[0]))),
            ("row", np.int32),
            ("column", np.int32),
        ]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        if config.generated:
            draw_level(config, state)
        else:
            for row in range(config.rows):
                for column in range(config.columns):
                    wall = config.walls[row] >> column & 1
                    goal = config.goals[row] >> column & 1
                    box = config.crates[row] >> column & 1
                    state.cells[row, column] = wall * WALL + goal * GOAL + box * BOX
            state.row, state.column = config.keeper_row, config.keeper_column
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
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
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        for action in range(4):
            mask[action] = 1

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """Planes of walls, goals, boxes and the keeper."""
        for row in range(config.rows):
            for column in range(config.columns):
                cell = state.cells[row, column]
                view[0, row, column] = (cell & WALL) != 0
                view[1, row, column] = (cell & GOAL) != 0
                view[2, row, column] = (cell & BOX) != 0
        view[3, state.row, state.column] = 1

    def outcome(self, state: Any) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        solved = bool(state["result"][0] == WIN)
        reason = "all boxes are on goals" if solved else f"out of steps after {self.max_steps}"
        return Outcome(ended.results, (float(solved),), reason)

    # What the player sees

    def rules_for(self, seat: int) -> str:
        return f"{super().rules_for(seat)}\nYou have {self.max_steps} steps."

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> list[Event]:
        if before is None:
            return []
        moved = (before.row, before.column) != (after.row, after.column)
        pushed = moved and bool((before.cells != after.cells).any())
        did = "push" if pushed else "walk" if moved else "cannot go"
        data = {"action": actions[0], "moved": moved, "pushed": pushed}
        return [Event("move", f"You {did} {ACTIONS[actions[0]]}.", data)]

    def drawing(self, state: Any) -> tuple[str, ...]:
        """The level as it stands, in the usual characters."""
        rows = [[FLOOR_TILES[cell] for cell in row] for row in state.cells.tolist()]
        under = int(state.cells[state.row, state.column])
        rows[state.row][state.column] = KEEPER_TILES[under]
        return tuple(map("".join, rows))

    def describe(self, state: Any, seat: int) -> str:
        left = boxes_off(self.config, state)
        still = f"{left} box{'es' if left != 1 else ''} not on a goal."
        return "\n".join([*self.drawing(state), still])

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return ACTIONS[action]

    def scene(self, state: Any, seat: int | None = None) -> Scene:
        rows = [[look(cell) for cell in row] for row in state.cells.tolist()]
        rows[state.row][state.column] = Piece("@", 0, "disc", "keeper")
        count = int(((state.cells & GOAL) > 0).sum())
        done = count - boxes_off(self.config, state)
        bar = Bar("boxes on goals", float(done), float(count), 2)
        return Scene(grid=Grid(tuple(map(tuple, rows))), bars=(bar,))


def look(cell: int) -> Piece | None:
    """What a cell without the keeper looks like."""
    if cell & WALL:
        return Piece("#", -1, "square", "wall")
    if cell & BOX:
        return Piece("$", 2 if cell & GOAL else 1, "tile", "box")
    return Piece(".", 3, "mark", "goal") if cell & GOAL else None


def clear_way(state: Any, row: int, column: int, south: int, east: int) -> bool:
    """Push a box out of a cell, if there is one; whether the cell is then free."""
    if not state.cells[row, column] & BOX:
        return True
    if state.cells[row + south, column + east] & (WALL | BOX):
        return False
    move_box(state, row, column, row + south, column + east)
    return True


def move_box(state: Any, row: int, column: int, to_row: int, to_column: int) -> None:
    state.cells[row, column] ^= BOX
    state.cells[to_row, to_column] ^= BOX


def boxes_off(config: Any, state: Any) -> int:
    """How many boxes are not on a goal."""
    count = 0
    for row in range(config.rows):
        for column in range(config.columns):
            count += (state.cells[row, column] & (BOX | GOAL)) == BOX
    return count


def draw_level(config: Any, state: Any) -> None:
    """A room, the boxes on its goals, and then the game played backwards."""
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


def carve(config: Any, state: Any) -> None:
    """Two thirds of the inside as floor, in one piece."""
    for row in range(config.rows):
        for column in range(config.columns):
            state.cells[row, column] = WALL
    row = 1 + randint(state, config.rows - 2)
    column = 1 + randint(state, config.columns - 2)
    left = (config.rows - 2) * (config.columns - 2) * 2 // 3
    while left > 0:
        if state.cells[row, column] == WALL:
            state.cells[row, column] = 0
            left -= 1
        direction = randint(state, 4)
        r, c = row + SOUTHWARD[direction], column + EASTWARD[direction]
        if 0 < r < config.rows - 1 and 0 < c < config.columns - 1:
            row, column = r, c


def place_randomly(config: Any, state: Any) -> None:
    """Put the keeper on floor without a box."""
    state.row, state.column = 0, 0
    while state.cells[state.row, state.column] & (WALL | BOX):
        state.row = 1 + randint(state, config.rows - 2)
        state.column = 1 + randint(state, config.columns - 2)


def step_back(state: Any) -> None:
    """One random step of the keeper, half of the time with the box behind him, if there is one."""
    direction = randint(state, 4)
    south, east = SOUTHWARD[direction], EASTWARD[direction]
    row, column = state.row, state.column
    if state.cells[row + south, column + east] & (WALL | BOX):
        return
    if state.cells[row - south, column - east] & BOX and randint(state, 2):
        move_box(state, row - south, column - east, row, column)
    state.row, state.column = row + south, column + east
