"""The options of a social dilemma, its map, and the state of an episode."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from palestra import ArrayGame, ArrayState, InvalidOption, Meta, Shape, constant
from palestra.grids.levels import MAX_SIDE, Level, read_level
from palestra.grids.windows import MAX_SIGHT

MAX_SEATS, MAX_TIME_OUT, MAX_STEPS = 10, 100, 1_000_000


class DilemmaState(ArrayState):
    """Players and beams on a map; facings are numbered as in `palestra.grids.compass`."""

    row: Annotated[NDArray[np.int32], Shape("num_players")]  # FAR for players who are out
    column: Annotated[NDArray[np.int32], Shape("num_players")]
    facing: Annotated[NDArray[np.int16], Shape("num_players")]
    target: Annotated[NDArray[np.int32], Shape("num_players")]  # cell headed for; 0 between steps
    absent: Annotated[NDArray[np.int16], Shape("num_players")]  # steps a player is still out
    ate: Annotated[NDArray[np.uint8], Shape("num_players")]  # 1 if they ate in the last step
    hit: Annotated[NDArray[np.int16], Shape("num_players")]  # a bit for each seat they hit in it
    cleaned: Annotated[NDArray[np.uint8], Shape("num_players")]  # cells they cleaned in it
    earned: Annotated[NDArray[np.float64], Shape("num_players")]  # payments so far
    cells: Annotated[NDArray[np.uint8], Shape("map_rows", "map_columns")]  # rules.FLOOR, …
    beams: Annotated[NDArray[np.uint8], Shape("map_rows", "map_columns")]  # bits of the last step


AnyDilemmaState = TypeVar("AnyDilemmaState", bound=DilemmaState)


@dataclass(frozen=True)
class DilemmaOptions(ArrayGame[AnyDilemmaState], Generic[AnyDilemmaState]):
    """The options of a social dilemma, and its map."""

    rows: Annotated[int, Meta(ge=1, le=MAX_SIDE, description="rows of the map, in cells")] = 12
    columns: Annotated[int, Meta(ge=1, le=MAX_SIDE, description="columns of the map, in cells")] = (
        24
    )
    level: Annotated[
        str,
        Meta(
            description="a map of your own, one line a row, in place of one laid out on `rows` and "
            "`columns`; players start on the cells marked 'P', if there are any"
        ),
    ] = ""
    map: Annotated[
        Literal["fixed", "random"],
        Meta(description="whether all episodes have the same map or each draws its own"),
    ] = "fixed"
    num_players: Annotated[int, Meta(ge=1, le=MAX_SEATS, description="number of players")] = 4
    sight: Annotated[
        int, Meta(ge=1, le=MAX_SIGHT, description="cells a player sees in every direction")
    ] = 5
    fine: Annotated[
        float, Meta(ge=0, description="cost of being hit by a fining beam, in apples")
    ] = 50.0
    fine_cost: Annotated[
        float, Meta(ge=0, description="cost of shining a fining beam, in apples")
    ] = 1.0
    time_out: Annotated[
        int,
        Meta(
            ge=0,
            le=MAX_TIME_OUT,
            description="steps for which a player hit by a fining beam is out of the game",
        ),
    ] = 0
    max_steps: Annotated[
        int, Meta(ge=1, le=MAX_STEPS, description="steps after which the episode is cut off")
    ] = 400

    kinds: ClassVar[Mapping[str, str]]  # what the characters of a map mean

    def validate(self) -> None:
        if self.random:
            if self.level:
                raise InvalidOption("level is a fixed map: give it without map='random'")
            self.check_random()
        elif self.layout.count("AB") == 0:
            raise InvalidOption("level: there is no cell on which an apple could grow")
        if self.room < self.num_players:
            raise InvalidOption(
                f"the map has {self.room} cells to start on, too few for {self.num_players} "
                "players; make it larger or mark more cells with 'P'"
            )

    @abstractmethod
    def check_random(self) -> None:
        """Raise `InvalidOption` for a random map that is impossible."""

    @abstractmethod
    def build(self) -> list[str]:
        """The lines of the fixed map where no level is given."""

    def outline(self) -> list[str]:
        """The lines of a map with walls around and nothing in it."""
        inner = "@" + "." * (self.columns - 2) + "@"
        return ["@" * self.columns, *[inner] * (self.rows - 2), "@" * self.columns]

    @cached_property
    def layout(self) -> Level:
        """The map; where it is random, the walls around it."""
        lines = self.outline() if self.random else self.build()
        return read_level(self.level or "\n".join(lines), self.kinds)

    @property
    def start_kinds(self) -> str:
        """The characters of cells to start on: marked ones or, where there are none, any floor."""
        return "P" if self.layout.count("P") else ". "

    @property
    def room(self) -> int:
        """How many cells there are at least to start on."""
        return self.layout.count(self.start_kinds)

    @property
    def map_rows(self) -> int:
        """Rows of the map, whether it is a level of the user's own or not."""
        return self.layout.rows

    @property
    def map_columns(self) -> int:
        """Columns of the map."""
        return self.layout.columns

    # What the rules read as `config.name`; sets of cells are masks, see `Level.masks`

    def constants(self) -> Mapping[str, Any]:
        """The usual constants, with `rows` and `columns` of the map, even if a level is given."""
        sides = {"rows": self.map_rows, "columns": self.map_columns}
        return {**super().constants(), **sides}

    @constant
    def random(self) -> bool:
        """Whether every episode has its own map, which its state holds."""
        return self.map == "random"

    @constant
    def walls(self) -> tuple[int, ...]:
        """Walls."""
        return self.layout.masks("@")

    @constant
    def apples(self) -> tuple[int, ...]:
        """Cells with an apple at the start."""
        return self.layout.masks("A")

    @constant
    def orchard(self) -> tuple[int, ...]:
        """Cells on which apples grow."""
        return self.layout.masks("AB")

    @constant
    def waste(self) -> tuple[int, ...]:
        """Cells with waste at the start."""
        return self.layout.masks("H")

    @constant
    def river(self) -> tuple[int, ...]:
        """Cells that take waste."""
        return self.layout.masks("HR")

    @constant
    def stream(self) -> tuple[int, ...]:
        """Water that takes no waste."""
        return self.layout.masks("S")

    @constant
    def starts(self) -> tuple[int, ...]:
        """Cells to start on."""
        return self.layout.masks(self.start_kinds)
