"""The state of a chess game."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from palestra import ArrayState, Shape

from palestra_games.board.chess.rules import DRAW_CLOCK, MOST_MOVES


class ChessState(ArrayState):
    """A position, and what follows from it for the player to move."""

    board: Annotated[NDArray[np.int8], Shape(128)]  # kinds of men, Black's negative; see the rules
    men: Annotated[NDArray[np.int64], Shape(2, 14)]  # by seat: sets of cells, as the seat sees them
    kings: Annotated[NDArray[np.int16], Shape(2)]  # by seat: the king's cell
    castling: Annotated[int, np.uint8]  # rights as bits 1, 2, 4, 8 for K, Q, k, q
    en_passant: Annotated[int, np.int16]  # cell where a pawn can be taken en passant, or NOWHERE
    clock: Annotated[int, np.int16]  # half moves without capture or pawn move
    men_key: Annotated[int, np.int64]  # Zobrist key of the men on the board
    keys: Annotated[
        NDArray[np.int64], Shape(DRAW_CLOCK + 1)
    ]  # of the positions since the clock's 0
    earlier: Annotated[int, np.int8]  # how often this position has occurred before
    checked: Annotated[int, np.uint8]  # 1 if the player to move is in check
    how_over: Annotated[int, np.uint8]  # IN_PLAY, CHECKMATE, …
    num_moves: Annotated[int, np.int16]  # legal moves
    moves: Annotated[NDArray[np.int16], Shape(MOST_MOVES)]  # their action numbers, then zeros
