"""What grid games in which everybody takes a step at once have in common, outside their rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from palestra import ArrayGame, Event, Grid, Outcome, Piece, only
from palestra.grids.moving import EAST, MOVES, NORTH, STAY
from palestra.grids.windows import covered
from palestra.grids.words import counted
from palestra.kernel.game import Result
from palestra.kernel.specs import Payoffs

WALL = Piece("#", shape="square", label="wall")


class Walkers(ArrayGame):
    """Players on a grid who choose at the same time; its games are dataclasses of their options.

    States have `cell` (by seat, counted row by row), `blocked` and `earned`; see
    `palestra.grids.moving`. The first five actions are those of `MOVES`, unless a game says
    otherwise.
    """

    rows: int
    columns: int
    max_steps: int
    sight: int  # cells a player sees in every direction, where that is limited

    order = "simultaneous"
    payoffs: ClassVar[Payoffs] = "general"
    num_actions = len(MOVES)
    observation_dtype = np.int16

    # Endings and pay

    def outcome(self, state: Any) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        if state["truncated"]:
            return replace(ended, reason=f"time was up after {self.max_steps} steps")
        score: Result = "score"
        return replace(ended, results=(score,) * self.num_players, reason=self.ending(state))

    def ending(self, state: Any) -> str:
        """Why an episode that was not cut off ended."""
        return "the task was done"

    def scores(self, state: Any) -> tuple[float, ...]:
        """What each player has earned."""
        return tuple(state["earned"].tolist())

    def noop(self, state: Any, seat: int) -> int:
        return STAY

    # Places

    @property
    def perfect_information(self) -> bool:  # type: ignore[override]
        return False

    def place(self, cell: int) -> tuple[int, int]:
        """Row and column of a cell, from 0."""
        return int(cell) // self.columns, int(cell) % self.columns

    def at(self, row: int, column: int) -> int:
        """The cell in a row and column, from 0."""
        return row * self.columns + column

    def written(self, cell: int) -> str:
        """'row 3, column 4', from 1."""
        row, column = self.place(cell)
        return f"row {row + 1}, column {column + 1}"

    def visible(self, state: Any, seat: int) -> NDArray[np.bool_]:
        """Which cells a player sees, by cell."""
        place = self.place(state.cell[seat])
        return covered(self.rows, self.columns, place, self.sight).ravel()

    def direction(self, start: int, end: int) -> str:
        """'2 north and 1 east', or 'here'."""
        (row, column), (r, c) = self.place(start), self.place(end)
        parts = [
            f"{abs(far)} {less if far < 0 else more}"
            for far, less, more in ((r - row, "north", "south"), (c - column, "west", "east"))
            if far
        ]
        return " and ".join(parts) or "here"

    # Words

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return MOVES[action]

    def header(self, state: Any, seat: int) -> str:
        return (
            f"You are {self.players[seat]} in {self.written(state.cell[seat])}. "
            f"Steps played: {int(state.turn)} of {self.max_steps}."
        )

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> list[Event]:
        """To each player what came of his action.

        A step by which his view changes, or that pays him or blocks him, is a "reveal".
        """
        if before is None:
            return []
        events = []
        for seat, action in sorted(actions.items()):
            text = self.told(before, after, seat, int(action))
            paid = float(after.earned[seat] - before.earned[seat])
            if paid:
                text += f" You are paid {paid:.4g}."
            changed = paid or self.hindered(after, seat)
            changed = changed or not np.array_equal(
                self.observe(before, seat), self.observe(after, seat)
            )
            data = {"player": seat, "action": int(action)}
            events.append(Event("reveal" if changed else "move", text, data, only(seat)))
        return events

    def hindered(self, after: Any, seat: int) -> bool:
        """Whether somebody came in the way of a player in the last step."""
        return bool(after.blocked[seat])

    def told(self, before: Any, after: Any, seat: int, action: int) -> str:
        """What a player reads of his own action."""
        if NORTH <= action <= EAST:
            if self.hindered(after, seat):
                return f"You try to move {MOVES[action]} and are blocked."
            return f"You move {MOVES[action]}."
        return "You stay." if action == STAY else f"You {self.action_text(before, seat, action)}."

    def sight_text(self) -> str:
        return f"You see {counted(self.sight, 'cell')} in every direction, diagonally too."

    # Pictures

    def grid(self, pieces: Mapping[int, Piece], seen: NDArray[np.bool_] | None = None) -> Grid:
        """A grid of pieces by cell; what is not seen is shaded."""
        size = self.rows * self.columns
        cells = [pieces.get(cell) for cell in range(size)]
        hidden = [] if seen is None else np.flatnonzero(~seen).tolist()
        return Grid(
            tuple(tuple(cells[i : i + self.columns]) for i in range(0, size, self.columns)),
            row_labels=tuple(str(row + 1) for row in range(self.rows)),
            column_labels=tuple(str(column + 1) for column in range(self.columns)),
            shaded=frozenset(self.place(cell) for cell in hidden),
        )

    def seats_shown(self, state: Any, player: int | None) -> list[int]:
        """Whom to draw for a player, lowest seats last; everybody for a spectator."""
        seats = list(reversed(range(self.num_players)))
        if player is None:
            return seats
        seen = self.visible(state, player)
        return [seat for seat in seats if seen[state.cell[seat]]]

    def disc(self, seat: int) -> Piece:
        return Piece(str(seat), seat, "disc", self.players[seat])


def windowed(plane: NDArray[Any], kinds: Mapping[int, str]) -> list[str]:
    """A square plane as text, one character a cell, '.' for values without one."""
    return ["".join(kinds.get(value, ".") for value in row) for row in plane.tolist()]
