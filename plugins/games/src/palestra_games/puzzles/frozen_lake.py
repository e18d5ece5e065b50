"""Frozen Lake: cross the ice to the goal; on slippery ice a step may go astray.

A player walks on a rectangle of ice from the start to the goal, one cell north, south, west or
east. On slippery ice they go in the chosen direction with probability 1/3, and to either side of it
with 1/3 each; a step off the edge leaves them where they are. A hole ends the episode and pays
nothing, the goal ends it and pays 1. Maps and rules are those of Gymnasium's FrozenLake, whose
transition tables the tests compare cell by cell.

Checked: every transition and the maps against Gymnasium's; random maps can be crossed, by networkx.

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
from palestra.rules import LOSS, WIN, finish, randint, truncate, turn_to, uniform

LEFT, DOWN, RIGHT, UP = 0, 1, 2, 3
ACTIONS = ("left", "down", "right", "up")
SOUTHWARD, EASTWARD = (0, 1, 0, -1), (-1, 0, 1, 0)
ICE, HOLE, GOAL, START = 0, 1, 2, 3
REACHED = 4  # a flag while a random map is being tested
TILES = "FHGS"
TILE_BITS = 2  # of a tile in a packed row
MAX_SIDE = 20
PATIENCE, THAW = 20, 0.05  # failed maps before ice becomes likelier, and by how much
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


class FrozenLakeState(ArrayState):
    """A walk over the ice."""

    ice: Annotated[NDArray[np.uint8], Shape("rows", "columns")]  # ICE, HOLE, GOAL or START
    row: Annotated[int, np.int32]  # where the player stands
    column: Annotated[int, np.int32]


@environment(
    "games/FrozenLake-v0",
    family="grid",
    tags=("perfect-information", "chance"),
)
@dataclass(frozen=True)
class FrozenLake(ArrayGame[FrozenLakeState]):
    """Gymnasium's Frozen Lake: cross the ice from the start to the goal and avoid the holes.

    Actions are 0 (left), 1 (down), 2 (right) and 3 (up). An observation is three planes of 0 and 1
    by row and column: the player, the holes, the goals. The goal pays 1. Random maps always have a
    path; if `frozen` is so low that maps rarely have one, ice becomes likelier with every rejected
    map.
    """

    grid: Annotated[
        Literal["4x4", "8x8", "random"],
        Meta(description="which map: one of Gymnasium's two, or one drawn anew every episode"),
    ] = "4x4"
    slippery: Annotated[
        bool, Meta(description="whether a step slips to either side with chance 1/3 each")
    ] = True
    side: Annotated[
        int, Meta(ge=2, le=MAX_SIDE, description="rows, and columns, of a random map")
    ] = 8
    frozen: Annotated[
        float,
        Meta(ge=0.1, le=1, description="chance that a cell of a random map is ice and not a hole"),
    ] = 0.8
    layout: Annotated[
        tuple[str, ...],
        Meta(description="rows of a map of your own, in S (start), F (ice), H (hole) and G (goal)"),
    ] = ()
    max_steps: Annotated[
        int | None,
        Meta(
            ge=1,
            le=1_000_000,
            description="steps in an episode at most; by default 100 on up to 16 cells, else 200",
        ),
    ] = None

    vocabulary = Vocabulary(
        words=("frozen", "lake", "ice", "hole", "goal", "slippery", "slide"),
        signs="@SFHG",
    )
    rules_text = """
        You walk over a frozen lake from the start to the goal, without falling into a hole.

        Every turn write "left", "down", "right" or "up". In the map @ is where you are, S the
        start, F frozen ice, H a hole and G the goal. Past the edge you cannot go: you stay where
        you are. If the ice is slippery, you go where you want only one time in three; as often you
        slide to the one or the other side of it ("left" may take you left, up or down). The goal
        pays 1 and ends the game; a hole ends it and pays nothing, and so does the last step if you
        are not there yet.
    """
    order = "sequential"
    payoffs = "general"
    num_players = 1
    num_actions = 4
    payoff_bounds = (0.0, 1.0)

    def validate(self) -> None:
        if not self.layout:
            return
        text, widths = "".join(self.layout), {len(row) for row in self.layout}
        if len(widths) != 1 or max(len(self.layout), *widths) > MAX_SIDE or not text:
            raise InvalidOption(
                f"layout must be at most {MAX_SIDE} rows of one length, at most {MAX_SIDE}"
            )
        if not set(text) <= set(TILES) or text.count("S") != 1 or "G" not in text:
            raise InvalidOption("layout must be written in S (one), G (at least one), F and H")

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        return not self.slippery

    # Derived from the options

    @constant
    def is_generated(self) -> bool:
        """Whether every episode draws a map of its own."""
        return self.grid == "random" and not self.layout

    @cached_property
    def map(self) -> tuple[str, ...]:
        """The rows of the map; of a random one, ice of its size."""
        if self.is_generated:
            return ("F" * self.side,) * self.side
        return self.layout or MAPS[self.grid]

    @constant
    def rows(self) -> int:
        return len(self.map)

    @constant
    def columns(self) -> int:
        return len(self.map[0])

    @constant
    def tiles(self) -> tuple[int, ...]:
        """The rows of the map, each packed into a number, the first column in the lowest bits."""
        return tuple(
            sum(TILES.index(tile) << (TILE_BITS * column) for column, tile in enumerate(row))
            for row in self.map
        )

    @constant
    def steps(self) -> int:
        """Steps until time is up."""
        return self.max_steps or (100 if self.rows * self.columns <= 16 else 200)

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (3, self.rows, self.columns)

    # The rules

    @staticmethod
    def init_state(config: FrozenLake, state: FrozenLakeState) -> None:
        if config.is_generated:
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
    def apply_actions(config: FrozenLake, state: FrozenLakeState, actions: Any, out: Any) -> None:
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
    def write_legal_mask(config: FrozenLake, state: FrozenLakeState, seat: int, mask: Any) -> None:
        for action in range(4):
            mask[action] = 1

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("player", 1, "1 where the player stands"),
            Channel("holes", 1, "1 where the ice has a hole"),
            Channel("goals", 1, "1 where a goal is"),
        )

    @staticmethod
    def write_observation(config: FrozenLake, state: FrozenLakeState, seat: int, obs: Any) -> None:
        """Planes of the player, the holes and the goal."""
        obs[0, state.row, state.column] = 1
        for row in range(config.rows):
            for column in range(config.columns):
                obs[1, row, column] = state.ice[row, column] == HOLE
                obs[2, row, column] = state.ice[row, column] == GOAL

    def outcome(self, state: FrozenLakeState) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None or state.truncated:
            return ended
        reached = ended.results[0] == "win"
        reason = "the goal was reached" if reached else "the ice broke"
        return Outcome(ended.results, ended.scores, reason)

    def scores(self, state: FrozenLakeState) -> tuple[float, ...]:
        return (float(state.result[0] == WIN),)

    # What the player sees

    def rules_for(self, seat: int) -> str:
        ice = "slippery" if self.slippery else "not slippery"
        return f"{super().rules_for(seat)}\nThe ice is {ice}. You have {self.steps} steps."

    def narrate(
        self, before: FrozenLakeState | None, actions: Mapping[int, int], after: FrozenLakeState
    ) -> list[Event]:
        if before is None:
            return []
        text = f"You go {ACTIONS[actions[0]]} and are in row {after.row + 1}, column "
        where = {"row": int(after.row), "column": int(after.column)}
        return [Event("move", f"{text}{after.column + 1}.", {"action": actions[0], **where})]

    def describe(self, state: FrozenLakeState, seat: int) -> str:
        rows = [[TILES[tile] for tile in row] for row in state.ice.tolist()]
        rows[state.row][state.column] = "@"
        place = f"You are in row {state.row + 1}, column {state.column + 1}"
        on = ("on the ice", "in a hole", "at the goal", "at the start")
        return "\n".join(
            [*map("".join, rows), f"{place}, {on[state.ice[state.row, state.column]]}."]
        )

    def action_text(self, state: FrozenLakeState, seat: int, action: int) -> str:
        return ACTIONS[action]

    def scene(self, state: FrozenLakeState, seat: int | None = None) -> Scene:
        looks = (None, Piece("O", "water", "disc", "hole", "hole"), GIFT, None)
        rows = [[looks[tile] for tile in row] for row in state.ice.tolist()]
        rows[state.row][state.column] = Piece("@", 0, "disc", "you", "person")
        ground = (("ice",) * self.columns,) * self.rows
        return Scene(grid=Grid(tuple(map(tuple, rows)), ground=ground))


GIFT = Piece("G", "red", "tile", "goal", "gift")


def walk(config: FrozenLake, state: FrozenLakeState, direction: int) -> None:
    """Make one step, unless it leads off the edge."""
    row, column = state.row + SOUTHWARD[direction], state.column + EASTWARD[direction]
    if 0 <= row < config.rows and 0 <= column < config.columns:
        state.row, state.column = row, column


def draw_map(config: FrozenLake, state: FrozenLakeState) -> None:
    """Draw ice and holes until there is a path from the first cell to the last.

    Ice becomes likelier after `PATIENCE` maps without one, since a large map with little ice would
    never have one.
    """
    state.row, state.column = 0, 0
    found, tries = False, 0
    while not found:
        tries += 1
        chance = config.frozen + THAW * max(0, tries - PATIENCE)
        for row in range(config.rows):
            for column in range(config.columns):
                state.ice[row, column] = ICE if uniform(state) < chance else HOLE
        state.ice[0, 0] = START
        state.ice[config.rows - 1, config.columns - 1] = GOAL
        found = has_way(config, state)


def has_way(config: FrozenLake, state: FrozenLakeState) -> bool:
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


def reach(
    config: FrozenLake, state: FrozenLakeState, row: int, column: int, direction: int
) -> bool:
    """Mark the cell next to this one as reached; whether it is new and no hole."""
    r, c = row + SOUTHWARD[direction], column + EASTWARD[direction]
    if not (0 <= r < config.rows and 0 <= c < config.columns):
        return False
    if state.ice[r, c] == HOLE or state.ice[r, c] & REACHED:
        return False
    state.ice[r, c] |= REACHED
    return True
