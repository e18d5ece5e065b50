"""An agent that plays Minesweeper by exact odds."""

from __future__ import annotations

from palestra import ScriptedAgent, Turn, agent

from palestra_games.puzzles.minesweeper.game import Minesweeper
from palestra_games.puzzles.minesweeper.odds import VisibleBoard, odds


@agent("minesweeper-odds", needs=("array",))
class MinesweeperOdds(ScriptedAgent[Minesweeper]):
    """Opens the cell that is least likely a mine, by exact counting; the first row by row."""

    def choose(self, turn: Turn[Minesweeper]) -> int:
        game = turn.game
        chances = odds(VisibleBoard(turn.observation.tolist(), game.mines))
        return min(chances, key=lambda cell: (chances[cell], cell))
