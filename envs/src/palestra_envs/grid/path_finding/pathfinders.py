"""A planner for path finding: priority inheritance with backtracking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray
from palestra import Agent, Decision, InvalidOption, Turn, agent
from palestra.grids.compass import EASTWARD, MOVES, SOUTHWARD, STAY

from palestra_envs.grid.path_finding.game import (
    GOAL_COLUMN,
    GOAL_ROW,
    OTHERS,
    OWN_COLUMN,
    OWN_ROW,
    STEPS,
    PathFinding,
)

Cell = tuple[int, int]


@agent("pathfinder", kind="search", needs=("array",))
class Pathfinder(Agent):
    """Plans for all its seats together: priority inheritance with backtracking.

    It knows what these seats see. In each step players choose the free cell nearest to their goal,
    in order of priority, which is the number of steps since a player's last goal. The player who
    stands there inherits the priority and must find another cell first; if there is none, the next
    nearest is tried. From Okumura et al., "Priority inheritance with backtracking for iterative
    multi-agent path finding", IJCAI 2019. On a map that stays connected if any one cell is removed,
    and with the option `following`, each player reaches their goal in finite time.
    """

    plays = (PathFinding,)

    def __init__(self) -> None:
        self._waited: dict[tuple[int, int], tuple[Cell, int]] = {}

    def forget(self, episode_key: int) -> None:
        self._waited = {key: value for key, value in self._waited.items() if key[0] != episode_key}

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        chosen: dict[tuple[int, int], int] = {}
        for key in {turn.episode_key for turn in turns}:
            together = [turn for turn in turns if turn.episode_key == key]
            for seat, action in self._plan(key, together).items():
                chosen[key, seat] = action
        return [Decision(chosen[turn.episode_key, turn.seat]) for turn in turns]

    def _plan(self, key: int, turns: Sequence[Turn]) -> dict[int, int]:
        """The action of every seat in one episode."""
        plan = Plan()
        for turn in turns:
            if not isinstance(turn.game, PathFinding):
                raise InvalidOption(f"agent 'pathfinder' plays PathFinding, not {turn.env}")
            goal = plan.add(turn.game, turn.seat, turn.observation)
            last, waited = self._waited.get((key, turn.seat), (goal, -1))
            self._waited[key, turn.seat] = goal, waited + 1 if goal == last else 0
        for seat in sorted(plan.places, key=lambda p: (-self._waited[key, p][1], p)):
            if seat not in plan.chosen:
                plan.choose(seat, None)
        return {seat: plan.action(seat) for seat in plan.places}


class Plan:
    """One step of all players it plans for."""

    def __init__(self) -> None:
        self.places: dict[int, Cell] = {}
        self.ways: dict[int, list[Cell]] = {}  # nearest to the goal first
        self.strangers: set[Cell] = set()  # where others were seen
        self.chosen: dict[int, Cell] = {}

    def add(self, game: PathFinding, seat: int, observation: NDArray[Any]) -> Cell:
        """Take in what a player sees; returns their goal."""
        planes, sight = game.planes(observation), game.sight
        row, column = int(observation[OWN_ROW]), int(observation[OWN_COLUMN])
        self.places[seat] = row, column
        for i, j in zip(*planes[OTHERS].nonzero(), strict=True):
            self.strangers.add((row + int(i) - sight, column + int(j) - sight))
        ways = []
        for down, right in zip(SOUTHWARD, EASTWARD, strict=True):
            steps = int(planes[STEPS, sight + down, sight + right])
            if steps:
                crowded = bool(planes[OTHERS, sight + down, sight + right])
                ways.append((steps, crowded, (row + down, column + right)))
        self.ways[seat] = [cell for _, _, cell in sorted(ways)]
        return int(observation[GOAL_ROW]), int(observation[GOAL_COLUMN])

    def choose(self, seat: int, pusher: int | None) -> bool:
        """Give a player a cell for the next step; False if they have to stay."""
        holders = {cell: other for other, cell in self.places.items()}
        for cell in self.ways[seat]:
            if cell in self.chosen.values() or (cell in self.strangers and cell not in holders):
                continue
            if pusher is not None and cell == self.places[pusher]:
                continue
            self.chosen[seat] = cell
            other = holders.get(cell)
            if other is None or other == seat or other in self.chosen:
                return True
            if self.choose(other, seat):
                return True
        self.chosen[seat] = self.places[seat]
        return False

    def action(self, seat: int) -> int:
        """The move that takes a player to their cell."""
        row, column = self.places[seat]
        r, c = self.chosen[seat]
        for action in range(len(MOVES)):
            if (SOUTHWARD[action], EASTWARD[action]) == (r - row, c - column):
                return action
        return STAY
