"""Frozen Lake: cross the ice to the goal; on slippery ice a step may go astray.

A player walks on a rectangle of ice from the start to the goal, one cell north, south, west or
east. On slippery ice he goes where he wants with probability 1/3, and with 1/3 each to either side
of that; a step off the edge leaves him where he is. A hole ends the episode with nothing, the goal
with 1. Maps and rules are those of Gymnasium's FrozenLake, whose transition tables the tests
compare cell by cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from palestra import ArrayGame, Event, Grid, InvalidOption, Outcome, Piece, Scene, environment
from palestra.rules import LOSS, WIN, finish, randint, truncate, turn_to, uniform

LEFT, DOWN, RIGHT, UP = 0, 1, 2, 3
ACTIONS = ("left", "down", "right", "up")
SOUTHWARD, EASTWARD = (0, 1, 0, -1), (-1, 0, 1, 0)
ICE, HOLE, GOAL, START = 0, 1, 2, 3
REACHED = 4  # a flag while a random map is being tested
TILES = "FHGS"
TILE_BITS, MOST = 2, 20
MAPS = {
    "4x4": ("SFFF", "FHFH", "FFFH", "HFFG"),
    "8x8": (
        "SFFFFFFF",
        "FFFFFFFF",
        "FFFHFFFF",
        "FFFFFHFF",
        "FFFHFFFF",
        "FHHFFFHF",
        "FHFFHFHF",
        "FFFHFFFG",
    ),
}
GRIDS = (*MAPS, "random")


@environment(
    "games/FrozenLake-v0",
    family="grid",
    tags=("perfect-information", "chance"),
)
@dataclass(frozen=True)
class FrozenLake(ArrayGame):
    """You walk over a frozen lake from the start to the goal, without falling into a hole.

    Every turn write "left", "down", "right" or "up". In the map @ is where you are, S the start,
    F frozen ice, H a hole and G the goal. Past the edge you cannot go: you stay where you are. If
    the ice is slippery, you go where you want only one time in three; as often you slide to the
    one or the other side of it ("left" may take you left, up or down). The goal pays 1 and ends
    the game; a hole ends it and pays nothing, and so does the last step if you are not there yet.
    """

    grid: str = "4x4"
    slippery: bool = True
    side: int = 8
    frozen: float = 0.8
    layout: tuple[str, ...] = ()
    max_steps: int | None = None

    order = "sequential"
    payoffs = "general"
    num_players = 1
    num_actions = 4
    payoff_bounds = (0.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layout", tuple(self.layout))
        if self.grid not in GRIDS:
            raise InvalidOption(f"grid must be one of {', '.join(GRIDS)}, not {self.grid!r}")
        if not 2 <= self.side <= MOST:
            raise InvalidOption(f"side must be from 2 to {MOST}, not {self.side}")
        if not 0.1 <= self.frozen <= 1:
            raise InvalidOption(f"frozen must be from 0.1 to 1, not {self.frozen}")
        if self.max_steps is not None and self.max_steps < 1:
            raise InvalidOption(f"max_steps must be at least 1, not {self.max_steps}")
        if self.layout:
            self._check_layout()

    def _check_layout(self) -> None:
        text, widths = "".join(self.layout), {len(row) for row in self.layout}
        if len(widths) != 1 or max(len(self.layout), *widths) > MOST or not text:
            raise InvalidOption(f"layout must be at most {MOST} rows of one length, at most {MOST}")
        if not set(text) <= set(TILES) or text.count("S") != 1 or "G" not in text:
            raise InvalidOption("layout must be written in S (one), G (at least one), F and H")

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        return not self.slippery

    # What follows from the options

    @property
    def generated(self) -> bool:
        return self.grid == "random" and not self.layout

    @cached_property
    def map(self) -> tuple[str, ...]:
        """The rows of the map; of a random one, ice of its size."""
        if self.generated:
            return ("F" * self.side,) * self.side
        return self.layout or MAPS[self.grid]

    @property
    def steps(self) -> int:
        return self.max_steps or (100 if len(self.map) * len(self.map[0]) <= 16 else 200)

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (3, len(self.map), len(self.map[0]))

    def constants(self) -> Mapping[str, Any]:
        packed = [
            sum(TILES.index(tile) << (TILE_BITS * column) for column, tile in enumerate(row))
            for row in self.map
        ]
        return {
            "rows": len(self.map),
            "columns": len(self.map[0]),
            "tiles": tuple(packed),
            "slippery": int(self.slippery),
            "generated": int(self.generated),
            "frozen": float(self.frozen),
            "steps": self.steps,
        }

    def fields(self) -> list[tuple[Any, ...]]:
        return [
            ("ice", np.uint8, (len(self.map), len(self.map[0]))),
            ("row", np.int32),
            ("column", np.int32),
        ]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        if config.generated:
            draw_map(config, state)
        else:
            for row in range(config.rows):
                for column in range(config.columns):
                    tile = (config.tiles[row] >> (TILE_BITS * column)) & 3
                    state.ice[row, column] = tile
                    if tile == START:
                        state.row, state.column = row, column
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        direction = actions[0]
        if config.slippery:
            direction = (direction + 3 + randint(state, 3)) % 4
        walk(config, state, direction)
        tile = state.ice[state.row, state.column]
        if tile == GOAL:
            out.rewards[0, 0] = 1.0
            state.result[0] = WIN
            finish(state)
        elif tile == HOLE:
            state.result[0] = LOSS
            finish(state)
        elif state.turn + 1 >= config.steps:
            truncate(state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        for action in range(4):
            mask[action] = 1

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """Planes of the player, the holes and the goal."""
        view[0, state.row, state.column] = 1
        for row in range(config.rows):
            for column in range(config.columns):
                view[1, row, column] = state.ice[row, column] == HOLE
                view[2, row, column] = state.ice[row, column] == GOAL

    def outcome(self, state: Any) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None or state["truncated"]:
            return ended
        reached = ended.results[0] == "win"
        reason = "the goal was reached" if reached else "the ice broke"
        return Outcome(ended.results, ended.scores, reason)

    def scores(self, state: Any) -> tuple[float, ...]:
        return (float(state["result"][0] == WIN),)

    # What the player sees

    def rules_for(self, seat: int) -> str:
        ice = "slippery" if self.slippery else "not slippery"
        return f"{super().rules_for(seat)}\nThe ice is {ice}. You have {self.steps} steps."

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> list[Event]:
        if before is None:
            return []
        text = f"You go {ACTIONS[actions[0]]} and are in row {after.row + 1}, column "
        where = {"row": int(after.row), "column": int(after.column)}
        return [Event("move", f"{text}{after.column + 1}.", {"action": actions[0], **where})]

    def describe(self, state: Any, seat: int) -> str:
        rows = [[TILES[tile] for tile in row] for row in state.ice.tolist()]
        rows[state.row][state.column] = "@"
        place = f"You are in row {state.row + 1}, column {state.column + 1}"
        on = ("on the ice", "in a hole", "at the goal", "at the start")
        return "\n".join(
            [*map("".join, rows), f"{place}, {on[state.ice[state.row, state.column]]}."]
        )

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return ACTIONS[action]

    def scene(self, state: Any, seat: int | None = None) -> Scene:
        looks = (None, Piece("O", -1, "disc", "hole"), Piece("G", 2, "tile", "goal"), None)
        rows = [[looks[tile] for tile in row] for row in state.ice.tolist()]
        rows[state.row][state.column] = Piece("@", 0, "disc", "you")
        return Scene(grid=Grid(tuple(map(tuple, rows))))


def walk(config: Any, state: Any, direction: int) -> None:
    """One step, unless it leads off the edge."""
    row, column = state.row + SOUTHWARD[direction], state.column + EASTWARD[direction]
    if 0 <= row < config.rows and 0 <= column < config.columns:
        state.row, state.column = row, column


def draw_map(config: Any, state: Any) -> None:
    """Ice and holes at random, again until there is a way from the first cell to the last."""
    state.row, state.column = 0, 0
    found = False
    while not found:
        for row in range(config.rows):
            for column in range(config.columns):
                state.ice[row, column] = ICE if uniform(state) < config.frozen else HOLE
        state.ice[0, 0] = START
        state.ice[config.rows - 1, config.columns - 1] = GOAL
        found = has_way(config, state)


def has_way(config: Any, state: Any) -> bool:
    """Whether the last cell can be reached from the first: spread until nothing changes."""
    state.ice[0, 0] |= REACHED
    spread = True
    while spread:
        spread = False
        for row in range(config.rows):
            for column in range(config.columns):
                if state.ice[row, column] & REACHED:
                    for direction in range(4):
                        spread |= reach(config, state, row, column, direction)
    found = bool(state.ice[config.rows - 1, config.columns - 1] & REACHED)
    for row in range(config.rows):
        for column in range(config.columns):
            state.ice[row, column] &= 3
    return found


def reach(config: Any, state: Any, row: int, column: int, direction: int) -> bool:
    """Mark the cell next to this one; whether that is new and no hole."""
    r, c = row + SOUTHWARD[direction], column + EASTWARD[direction]
    if not (0 <= r < config.rows and 0 <= c < config.columns):
        return False
    if state.ice[r, c] == HOLE or state.ice[r, c] & REACHED:
        return False
    state.ice[r, c] |= REACHED
    return True
