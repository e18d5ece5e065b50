"""Payoff tables and names of moves: their forms as options, and their validation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from palestra import Grid, InvalidOption, Meta, Piece, constant
from palestra.scene import mark_cells

COOPERATE, DEFECT = 0, 1
COOPERATE_OR_DEFECT = ("cooperate", "defect")  # by move
FEWEST_MOVES, MOST_MOVES = 2, 10

# Two payoffs a cell, row by row: as one row of numbers, or nested in rows and cells.
Cells = Iterable[float | Iterable[float | Iterable[float]]]


MoveNames = Annotated[
    Sequence[str],
    Meta(
        min_length=FEWEST_MOVES,
        max_length=MOST_MOVES,
        description="names of the moves, as players write them",
    ),
]


class PayoffTable:
    """A mixin with what games derive from their option `payoffs_table`.

    The table has a row for each of player_0's `moves` and a column for each of player_1's
    `replies`, which are the same moves unless a game says otherwise.
    """

    payoffs_table: Any
    moves: Any  # tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]
        object.__setattr__(self, "payoffs_table", self.table)

    def validate(self) -> None:
        check_names("moves", self.moves)

    @property
    def replies(self) -> Sequence[str]:
        """The names of player_1's moves."""
        return self.moves

    @constant
    def table(self) -> tuple[float, ...]:
        """The payoffs as one row of numbers."""
        return flat_payoffs(self.payoffs_table, len(self.moves), len(self.replies))

    def payoff_grid(self, last: tuple[int, int] | None = None) -> Grid:
        """A picture of what each pair of moves pays both; `last` is the pair that is marked."""
        rows: list[tuple[Piece | None, ...]]
        rows = [(None, *(Piece(reply[:2], 1, "word", reply) for reply in self.replies))]
        for row, move in enumerate(self.moves):
            at = 2 * len(self.replies) * row
            pays = self.table[at : at + 2 * len(self.replies)]
            pairs = zip(pays[::2], pays[1::2], strict=True)
            cells = [Piece("", "white", "word", f"{own:g}, {other:g}") for own, other in pairs]
            rows.append((Piece(move[:2], 0, "word", move), *cells))
        marked = [(last[0] + 1, last[1] + 1)] if last else []
        return Grid(tuple(rows), marks=mark_cells("selected", marked))

    def payoffs_of(self, times: int) -> tuple[float, float]:
        """The lowest and highest total payoff of a seat in up to `times` plays of the table."""
        least, most = min(self.table), max(self.table)
        return (min(least, least * times), max(most, most * times))

    def pay(self, row: int, column: int) -> tuple[float, float]:
        """The payoffs of player_0 and player_1 for their moves."""
        cell = 2 * (row * len(self.replies) + column)
        return self.table[cell], self.table[cell + 1]


class HasTable(Protocol):
    """A game of two players with a square table of payoffs."""

    @property
    def num_actions(self) -> int: ...

    @property
    def table(self) -> tuple[float, ...]: ...


class HasLastMoves(Protocol):
    """A state that holds the last move of both players."""

    @property
    def last(self) -> NDArray[np.int32]: ...


def latest_payoff(config: HasTable, state: HasLastMoves, seat: int) -> float:
    """A player's payoff for the last moves; written so that numba compiles it."""
    cell = state.last[0] * config.num_actions + state.last[1]
    return float(config.table[2 * cell + seat])


def flat_payoffs(table: Cells, rows: int, columns: int) -> tuple[float, ...]:
    """A table of `rows` by `columns` cells as one row of 2 * rows * columns numbers.

    Raises `InvalidOption` where it has another size or holds infinite numbers.
    """
    try:
        numbers = tuple(float(x) for x in np.asarray(table, dtype=np.float64).ravel())
    except (TypeError, ValueError):
        numbers = ()
    count = 2 * rows * columns
    if len(numbers) != count or not all(map(isfinite, numbers)):
        raise InvalidOption(
            f"payoffs_table must be {count} numbers for {rows} by {columns} moves: row by row, in "
            f"every cell what the row player and the column player are paid; not {table!r}"
        )
    return numbers


def check_finite(payoffs: Sequence[float]) -> None:
    """Raise `InvalidOption` for a `payoffs_table` with an infinite number."""
    if not all(map(isfinite, payoffs)):
        raise InvalidOption(f"payoffs_table must be finite numbers, not {payoffs!r}")


def check_names(option: str, names: Sequence[str]) -> None:
    """Raise `InvalidOption` for names of moves that a reader could confuse."""
    good = all(name and name == name.strip() for name in names)
    if not good or len({name.casefold() for name in names}) < len(names):
        raise InvalidOption(
            f"{option} must be names that differ in more than capitals, without blanks at their "
            f"ends, not {names!r}"
        )
