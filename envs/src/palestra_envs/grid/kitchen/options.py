"""The options of a kitchen, values derived from them, and the state of an episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import ArrayGame, ArrayState, InvalidOption, Meta, Shape, constant

from palestra_envs.grid.layouts import (
    LONGEST,
    RANDOM,
    Layout,
    check_solvable,
    place_players,
    read_layout,
)

MAX_SEATS, MAX_COOK_TIME, MAX_STEPS = 4, 100, 1_000_000
NARROWEST = 4  # sides of a random kitchen: on less floor than two by two cells players get stuck
TILE_BITS, TILE_MASK = 3, 7  # how a row of tiles is packed into one integer
TRIES = 8  # attempts to lay a counter, per cell inside a random kitchen


class KitchenState(ArrayState):
    """A kitchen with cooks; cells are numbered row by row.

    A thing is NOTHING, ONION, DISH, or DISH + n for a soup of n onions (`kitchen.rules`).
    """

    cell: Annotated[NDArray[np.int16], Shape("num_players")]  # where each player stands
    facing: Annotated[NDArray[np.int8], Shape("num_players")]  # the direction of each player
    hand: Annotated[NDArray[np.int8], Shape("num_players")]  # the thing each player holds
    tiles: Annotated[NDArray[np.int8], Shape("cells")]  # floor or station, see `grid.layouts`
    there: Annotated[NDArray[np.int8], Shape("cells")]  # the thing on a cell; in a pot, its onions
    clock: Annotated[NDArray[np.int8], Shape("cells")]  # 0, or 1 + the steps a soup has cooked
    soups: Annotated[int, np.int32]  # soups of three onions handed in


@dataclass(frozen=True)
class KitchenOptions(ArrayGame[KitchenState]):
    """The options shared by all parts of the kitchen, and values derived from them."""

    layout: Annotated[
        str,
        Meta(
            description="name of a layout; `random` for a new one in every episode; or a kitchen "
            "drawn as a multi-line text"
        ),
    ] = "cramped_room"
    num_players: Annotated[int, Meta(ge=1, le=MAX_SEATS, description="number of cooks")] = 2
    cook_time: Annotated[
        int, Meta(ge=1, le=MAX_COOK_TIME, description="steps a soup cooks until it is ready")
    ] = 20
    auto_cook: Annotated[
        bool,
        Meta(
            description="whether a pot starts cooking when the third onion is in; otherwise a "
            "player with empty hands starts it"
        ),
    ] = True
    shaped: Annotated[
        bool,
        Meta(description="whether onions put into pots, useful dishes and filled dishes pay too"),
    ] = False
    max_steps: Annotated[
        int, Meta(ge=1, le=MAX_STEPS, description="steps after which the episode is cut off")
    ] = 400
    sight: Annotated[
        int | None,
        Meta(
            ge=1,
            le=LONGEST,
            description="rows and columns a player sees in every direction; None for all",
        ),
    ] = None
    rows: Annotated[
        int, Meta(ge=NARROWEST, le=LONGEST, description="rows of a random kitchen, in cells")
    ] = 5
    columns: Annotated[
        int, Meta(ge=NARROWEST, le=LONGEST, description="columns of a random kitchen, in cells")
    ] = 6
    density: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="share of the cells inside a random kitchen that are to be counters",
        ),
    ] = 0.2

    def validate(self) -> None:
        if self.plan:
            self._check_random_only()
            check_solvable(self.plan, self.starts)
        elif self._inside <= self.num_players:
            raise InvalidOption(
                f"{self.rows} rows and {self.columns} columns leave {self._inside} cells of floor, "
                f"too few for {self.num_players} players to walk: make the kitchen larger"
            )

    def _check_random_only(self) -> None:
        for option in fields(self):
            if option.name in ("rows", "columns", "density"):
                value = getattr(self, option.name)
                if value != option.default:
                    raise InvalidOption(
                        f"{option.name}={value} is for drawn kitchens: give it together with "
                        f"layout={RANDOM!r}"
                    )

    @cached_property
    def plan(self) -> Layout | None:
        """The kitchen; None where the seed decides it. States have `tiles` in either case."""
        return None if self.layout == RANDOM else read_layout(self.layout)

    @property
    def sides(self) -> tuple[int, int]:
        """Rows and columns of the kitchen."""
        return (self.plan.rows, self.plan.columns) if self.plan else (self.rows, self.columns)

    @property
    def cells(self) -> int:
        """How many cells the kitchen has."""
        return self.sides[0] * self.sides[1]

    @property
    def _inside(self) -> int:
        """How many cells of a random kitchen are not on its edge."""
        return (self.rows - 2) * (self.columns - 2)

    # Values that the rules read as `config.name`

    def constants(self) -> Mapping[str, Any]:
        """The usual constants, with `rows` and `columns` of this kitchen, drawn or not."""
        rows, columns = self.sides
        return {**super().constants(), "rows": rows, "columns": columns}

    @constant
    def reach(self) -> int:
        """Rows and columns a player sees in every direction; 0 for all."""
        return self.sight or 0

    @constant
    def drawn(self) -> bool:
        """Whether the seed decides the kitchen."""
        return self.plan is None

    @constant
    def packed_tiles(self) -> tuple[int, ...]:
        """The tiles of a kitchen that is not drawn, one integer a row."""
        rows, columns = self.sides
        packed = [0] * rows
        for cell, tile in enumerate(self.plan.tiles if self.plan else ()):
            packed[cell // columns] |= tile << (TILE_BITS * (cell % columns))
        return tuple(packed)

    @constant
    def starts(self) -> tuple[int, ...]:
        """The cell each player starts on; 0 where that is drawn."""
        return place_players(self.plan, self.num_players) if self.plan else (0,) * self.num_players

    @constant
    def inner_counters(self) -> int:
        """How many counters inside a random kitchen to lay, as far as there is room."""
        room = self._inside - self.num_players - 1
        return min(round(self.density * self._inside), room)

    @constant
    def tries(self) -> int:
        """How often to try to lay a counter inside a random kitchen."""
        return TRIES * self._inside
