"""An agent that plays Minesweeper by exact odds."""

from __future__ import annotations

from typing import cast

from palestra import ScriptedAgent, Turn, agent

from palestra_games.puzzles.minesweeper.game import Minesweeper
from palestra_games.puzzles.minesweeper.odds import VisibleBoard, odds


@agent("minesweeper-odds", needs=("array",))
class MinesweeperOdds(ScriptedAgent):
    """Opens the cell that is least likely a mine, by exact counting; the first row by row."""

    plays = (Minesweeper,)

    def choose(self, turn: Turn) -> int:
        game = cast(Minesweeper, turn.game)
        chances = odds(VisibleBoard(turn.observation.tolist(), game.mines))
        return min(chances, key=lambda cell: (chances[cell], cell))
