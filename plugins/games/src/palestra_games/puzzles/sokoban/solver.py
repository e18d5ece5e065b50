"""A solver for Sokoban: breadth-first search over the keeper's and the boxes' places."""

from __future__ import annotations

from collections import deque
from typing import Annotated, Any

import numpy as np
from palestra import Meta, ScriptedAgent, Turn, agent

from palestra_games.puzzles.directions import EASTWARD, SOUTHWARD
from palestra_games.puzzles.sokoban.game import Sokoban

Position = tuple[int, frozenset[int]]  # cells, row by row
LIMIT = 1_000_000


@agent("sokoban-bfs", needs=("array",))
class SokobanSolver(ScriptedAgent[Sokoban]):
    """Plays a shortest solution of a Sokoban level, found by breadth-first search.

    Length is counted in steps. It plays "up" if it finds no solution, and searches again if a
    position is not the result of its own last move.
    """

    def __init__(
        self,
        *,
        limit: Annotated[int, Meta(ge=1, description="most positions to search")] = LIMIT,
    ) -> None:
        super().__init__(seed=0)
        self._limit = limit
        self._plans: dict[bytes, int] = {}

    def choose(self, turn: Turn[Sokoban]) -> int:
        planes = np.asarray(turn.observation)
        key = planes.tobytes()
        if key not in self._plans:
            self._plans = self._plan(planes)
        return self._plans.get(key, 0)

    def _plan(self, planes: Any) -> dict[bytes, int]:
        """The move in every position on the way."""
        moves: dict[bytes, int] = {}
        planes = planes.copy()
        for move in shortest(planes, self._limit) or ():
            moves[planes.tobytes()] = move
            play(planes, move)
        return moves


def play(planes: Any, move: int) -> None:
    """Take one step, on the planes of walls, goals, boxes and the keeper."""
    ((row, column),) = np.argwhere(planes[3])
    south, east = SOUTHWARD[move], EASTWARD[move]
    planes[3, row, column], planes[3, row + south, column + east] = 0, 1
    if planes[2, row + south, column + east]:
        planes[2, row + south, column + east] = 0
        planes[2, row + 2 * south, column + 2 * east] = 1


def shortest(planes: Any, limit: int = LIMIT) -> list[int] | None:
    """Moves of a shortest solution; None if there is none among the first `limit` positions."""
    columns = planes.shape[2]
    walls, goals, boxes = (frozenset(np.flatnonzero(plane).tolist()) for plane in planes[:3])
    strides = [s * columns + e for s, e in zip(SOUTHWARD, EASTWARD, strict=True)]
    start: Position = (int(np.flatnonzero(planes[3])[0]), boxes)
    came: dict[Position, tuple[Position, int] | None] = {start: None}
    queue = deque([start])
    while queue and len(came) < limit:
        at = queue.popleft()
        if at[1] == goals:
            return way_to(at, came)
        for move, stride in enumerate(strides):
            then = after_step(at, stride, walls)
            if then is not None and then not in came:
                came[then] = (at, move)
                queue.append(then)
    return None


def after_step(at: Position, stride: int, walls: frozenset[int]) -> Position | None:
    """The position after a step; None if it is blocked."""
    keeper, boxes = at[0] + stride, at[1]
    if keeper in walls:
        return None
    if keeper not in boxes:
        return keeper, boxes
    if keeper + stride in walls or keeper + stride in boxes:
        return None
    return keeper, boxes - {keeper} | {keeper + stride}


def way_to(at: Position, came: dict[Position, tuple[Position, int] | None]) -> list[int]:
    """The moves that led to a position."""
    moves = []
    step = came[at]
    while step is not None:
        moves.append(step[1])
        step = came[step[0]]
    return moves[::-1]
