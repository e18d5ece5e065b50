"""The common parts, outside the rules, of grid games with simultaneous steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from palestra import ArrayGame, Event, Grid, Outcome, Piece, only
from palestra.grids.compass import EAST, MOVES, NORTH, STAY
from palestra.grids.windows import window_mask
from palestra.grids.words import quantity
from palestra.kernel.game import Result
from palestra.kernel.specs import Payoffs
from palestra.kernel.state import Record
from palestra.scene import on_top

WALL = Piece("#", shape="square", label="wall", sprite="wall")


class WalkersState(Record, Protocol):
    """The fields that the state of every game of walkers has.

    Games with collisions also have `blocked` by seat, see `palestra.grids.moving`.
    """

    turn: int
    cell: NDArray[np.int32]  # where each seat stands, counted row by row
    earned: NDArray[np.float64]  # what each seat has been paid so far


StateT = TypeVar("StateT", bound=WalkersState)


class Walkers(ArrayGame[StateT]):
    """Players on a grid who choose at the same time; its games are dataclasses of their options.

    The first five actions are those of `palestra.grids.compass.MOVES`, unless a game says
    otherwise.
    """

    rows: int
    columns: int
    max_steps: int
    sight: int  # cells a player sees in every direction, where that is limited

    order = "simultaneous"
    payoffs: ClassVar[Payoffs] = "general"
    figure: ClassVar[str] = "person"  # the sprite of a player
    num_actions = len(MOVES)
    observation_dtype = np.int16

    # Endings and pay

    def outcome(self, state: StateT) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        if ended.results[0] == "truncated":
            return replace(ended, reason=f"time was up after {self.max_steps} steps")
        score: Result = "score"
        return replace(ended, results=(score,) * self.num_players, reason=self.ending(state))

    def ending(self, state: StateT) -> str:
        """Why an episode that was not cut off ended."""
        return "the task was done"

    def scores(self, state: StateT) -> tuple[float, ...]:
        """What each player has earned."""
        return tuple(state.earned.tolist())

    def noop(self, state: StateT, seat: int) -> int:
        return STAY

    # Places

    @property
    def perfect_information(self) -> bool:  # type: ignore[override]
        return False

    @property
    def num_cells(self) -> int:
        """How many cells the map has."""
        return self.rows * self.columns

    @property
    def side(self) -> int:
        """How many cells wide the window is that a player sees."""
        return 2 * self.sight + 1

    def place(self, cell: int) -> tuple[int, int]:
        """Row and column of a cell, from 0."""
        return int(cell) // self.columns, int(cell) % self.columns

    def at(self, row: int, column: int) -> int:
        """The cell in a row and column, from 0."""
        return row * self.columns + column

    def place_text(self, cell: int) -> str:
        """A place for readers, such as 'row 3, column 4', from 1."""
        return _place_text(int(cell), self.columns)

    def visible(self, state: StateT, seat: int) -> NDArray[np.bool_]:
        """Which cells a player sees, by cell."""
        place = self.place(state.cell[seat])
        return window_mask(self.rows, self.columns, place, self.sight).ravel()

    def direction(self, start: int, end: int) -> str:
        """The way from one cell to another, such as '2 north and 1 east', or 'here'."""
        return _direction(int(start), int(end), self.columns)

    # Words

    def action_text(self, state: StateT, seat: int, action: int) -> str:
        return MOVES[action]

    def header(self, state: StateT, seat: int) -> str:
        """The first line of a description: who and where a player is, and the time."""
        return (
            f"You are {self.players[seat]} in {self.place_text(state.cell[seat])}. "
            f"Steps played: {int(state.turn)} of {self.max_steps}."
        )

    def caption(self, state: StateT) -> str:
        """The caption of a picture."""
        return f"Step {int(state.turn)} of {self.max_steps}"

    def narrate(
        self, before: StateT | None, actions: Mapping[int, int], after: StateT
    ) -> list[Event]:
        """Tell each player what their action led to.

        The event is a "reveal" where the step changes what the player sees, pays them, or blocks
        them; otherwise a "move".
        """
        if before is None:
            return []
        events = []
        for seat, action in sorted(actions.items()):
            text = self.result_text(before, after, seat, int(action))
            paid = float(after.earned[seat] - before.earned[seat])
            if paid:
                text += f" You are paid {paid:.4g}."
            changed = paid or self.hindered(after, seat)
            changed = (
                changed or self.seen(before, seat).tobytes() != self.seen(after, seat).tobytes()
            )
            data = {"player": seat, "action": int(action)}
            events.append(Event("reveal" if changed else "move", text, data, only(seat)))
        return events

    def hindered(self, after: StateT, seat: int) -> bool:
        """Whether another player blocked a player in the last step."""
        blocked = getattr(after, "blocked", None)  # games without collisions have no such field
        return blocked is not None and bool(blocked[seat])

    def result_text(self, before: StateT, after: StateT, seat: int, action: int) -> str:
        """What a player reads about their own action."""
        if NORTH <= action <= EAST:
            if self.hindered(after, seat):
                return f"You try to move {MOVES[action]} and are blocked."
            return f"You move {MOVES[action]}."
        return "You stay." if action == STAY else f"You {self.action_text(before, seat, action)}."

    def sight_text(self) -> str:
        """A sentence that says how far players see."""
        return f"You see {quantity(self.sight, 'cell')} in every direction, diagonally too."

    # Pictures

    def grid(
        self,
        pieces: Mapping[int, Piece],
        seen: NDArray[np.bool_] | None = None,
        ground: Mapping[int, str] | None = None,
    ) -> Grid:
        """A grid of pieces and grounds by cell; cells that are not `seen` are shaded."""
        size = self.rows * self.columns
        cells = [pieces.get(cell) for cell in range(size)]
        hidden = [] if seen is None else np.flatnonzero(~seen).tolist()
        grounds = [(ground or {}).get(cell, "") for cell in range(size)]
        starts = range(0, size, self.columns)
        return Grid(
            tuple(tuple(cells[i : i + self.columns]) for i in starts),
            ground=tuple(tuple(grounds[i : i + self.columns]) for i in starts) if ground else (),
            row_labels=tuple(str(row + 1) for row in range(self.rows)),
            column_labels=tuple(str(column + 1) for column in range(self.columns)),
            style="floor",
            shaded=frozenset(self.place(cell) for cell in hidden),
        )

    def watched_seats(self, seat: int | None) -> tuple[int, ...]:
        """The seats whose private details a picture shows: one, or all for a spectator."""
        return tuple(range(self.num_players)) if seat is None else (seat,)

    def seats_shown(self, state: StateT, seat: int | None) -> list[int]:
        """The seats to draw for a player, lowest last; all of them for a spectator."""
        seats = list(reversed(range(self.num_players)))
        if seat is None:
            return seats
        seen = self.visible(state, seat)
        return [other for other in seats if seen[state.cell[other]]]

    def stand(self, pieces: dict[int, Piece], cell: int, seat: int) -> None:
        """Put a player on a cell, beside what is there."""
        pieces[cell] = on_top(pieces.get(cell), self.disc(seat))

    def disc(self, seat: int) -> Piece:
        """The piece that stands for a player."""
        return Piece(str(seat), seat, "disc", self.players[seat], self.figure)


def plane_lines(plane: NDArray[Any], signs: str) -> list[str]:
    """A plane as lines of text: for each cell the sign of its value, '.' for values beyond them."""
    text = plane.astype(np.uint8).tobytes().translate(signs.ljust(256, ".").encode()).decode()
    columns = plane.shape[1]
    return [text[start : start + columns] for start in range(0, len(text), columns)]


def distance_lines(steps: NDArray[Any]) -> list[str]:
    """A plane of one more than the steps from each cell, as lines of text; # where no way leads."""
    return [" ".join(map(_distance, row)) for row in steps.tolist()]


@lru_cache(maxsize=4096)
def _place_text(cell: int, columns: int) -> str:
    row, column = divmod(cell, columns)
    return f"row {row + 1}, column {column + 1}"


@lru_cache(maxsize=4096)
def _direction(start: int, end: int, columns: int) -> str:
    south, east = end // columns - start // columns, end % columns - start % columns
    parts = [
        f"{abs(far)} {less if far < 0 else more}"
        for far, less, more in ((south, "north", "south"), (east, "west", "east"))
        if far
    ]
    return " and ".join(parts) or "here"


@lru_cache(maxsize=1024)
def _distance(value: int) -> str:
    return f"{value - 1:2}" if value else " #"
