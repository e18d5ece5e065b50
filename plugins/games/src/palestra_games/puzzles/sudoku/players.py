"""An agent that solves a Sudoku and writes the solution down."""

from __future__ import annotations

from math import isqrt

import numpy as np
from palestra import ScriptedAgent, Turn, agent

from palestra_games.puzzles.sudoku.game import Sudoku
from palestra_games.puzzles.sudoku.solver import solutions


@agent("sudoku-solver", needs=("array",))
class SudokuSolver(ScriptedAgent[Sudoku]):
    """Fills the first empty cell with its digit in a solution; any legal digit if there is none."""

    def choose(self, turn: Turn[Sudoku]) -> int:
        cells = np.asarray(turn.observation)[0].ravel().tolist()
        solved = next(solutions(cells), None)
        if solved is None:
            return int(turn.mask.argmax())
        cell = cells.index(0)
        return int(cell * isqrt(len(cells)) + solved[cell] - 1)
