"""A central planner for path finding: rolling-horizon collision resolution.

Li, Tinka, Kiesel, Durham, Kumar and Koenig, "Lifelong Multi-Agent Path Finding in Large-Scale
Warehouses", AAAI 2021: every `replan` steps the paths of all players are planned so that nobody
collides within a window of steps; what lies beyond the window is not coordinated. The solver is
priority-based search (Ma, Harabor, Stuckey, Li and Koenig, AAAI 2019): collisions are resolved one
by one, by deciding which of two players plans around the other, depth first.

No player leaves the cells they see within `sight` steps, and they know the distance of their goal
from each of these cells. So a window of at most `sight` steps needs nothing that is not observed.

Left out: windows longer than players see; other solvers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Annotated, Any, NamedTuple

from numpy.typing import NDArray
from palestra import Agent, Decision, InvalidOption, Meta, Turn, agent
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
from palestra_envs.grid.path_finding.pathfinders import Cell, Plan

Path = tuple[Cell, ...]  # the cell at each time from now, until the window or the goal ends it
STEP_OFFSETS = tuple(zip(SOUTHWARD, EASTWARD, strict=True))


class Player(NamedTuple):
    """What one player knows: where they are, their goal, and its distance from nearby cells."""

    cell: Cell
    goal: Cell
    far: Mapping[Cell, int]
    strangers: frozenset[Cell]  # cells of all other players in sight


def read_player(turn: Turn) -> Player:
    """What a turn of path finding shows of its seat."""
    if not isinstance(turn.game, PathFinding):
        raise InvalidOption(f"this planner plays grid/PathFinding-v0, not {turn.env}")
    return player_from(turn.game, turn.observation)


def player_from(game: PathFinding, seen: NDArray[Any]) -> Player:
    """What an observation shows of its seat."""
    planes, sight = game.planes(seen), game.sight
    row, column = int(seen[OWN_ROW]), int(seen[OWN_COLUMN])
    far, others = {}, set()
    for i, j in zip(*planes[STEPS].nonzero(), strict=True):
        far[row + int(i) - sight, column + int(j) - sight] = int(planes[STEPS, i, j]) - 1
    for i, j in zip(*planes[OTHERS].nonzero(), strict=True):
        others.add((row + int(i) - sight, column + int(j) - sight))
    goal = int(seen[GOAL_ROW]), int(seen[GOAL_COLUMN])
    return Player((row, column), goal, far, frozenset(others))


@dataclass
class Window:
    """One windowed problem: the players' cells and distances, and what blocks them.

    shut: cells that nobody enters in the first step, those of players whom others plan for.
    following: whether a cell can be entered as another player leaves it.
    waited: steps since each player's last goal; of two equally good orders, the one in which the
    player who waited longer goes first is tried first.
    """

    players: Mapping[int, Player]
    steps: int
    following: bool = True
    shut: frozenset[Cell] = frozenset()
    waited: Mapping[int, int] = field(default_factory=dict)
    nodes: int = 200

    def solve(self) -> dict[int, Path] | None:
        """Paths without collisions within the window; None if `nodes` orders were not enough."""
        paths: dict[int, Path] = {}
        for seat in sorted(self.players):
            path = self.shortest(seat, ())
            if path is None:
                return None
            paths[seat] = path
        stack: list[tuple[dict[int, Path], frozenset[tuple[int, int]]]] = [(paths, frozenset())]
        for _ in range(self.nodes):
            if not stack:
                return None
            paths, order = stack.pop()
            pair = self.collision(paths)
            if pair is None:
                return paths
            stack += self.branches(paths, order, pair)
        return None

    def branches(
        self,
        paths: dict[int, Path],
        order: frozenset[tuple[int, int]],
        pair: tuple[int, int],
    ) -> list[tuple[dict[int, Path], frozenset[tuple[int, int]]]]:
        """Both ways to order two players who collide, the better one last."""
        found = []
        for first, second in (pair, pair[::-1]):
            more = order | {(first, second)}
            if second in above(first, order):
                continue
            planned = self.replanned(paths, more, second)
            if planned is not None:
                cost = sum(self.cost(seat, path) for seat, path in planned.items())
                found.append((-cost, self.waited.get(first, 0), -first, planned, more))
        return [(planned, more) for *_, planned, more in sorted(found, key=lambda f: f[:3])]

    def replanned(
        self, paths: dict[int, Path], order: frozenset[tuple[int, int]], second: int
    ) -> dict[int, Path] | None:
        """Paths after a player and those below them have planned around those above them."""
        planned = dict(paths)
        below = [seat for seat in self.players if second in above(seat, order)]
        for seat in sorted([second, *below], key=lambda s: (len(above(s, order)), s)):
            higher = [planned[other] for other in above(seat, order)]
            if seat != second and not any(self.clash(planned[seat], path) for path in higher):
                continue
            path = self.shortest(seat, higher)
            if path is None:
                return None
            planned[seat] = path
        return planned

    def cost(self, seat: int, path: Path) -> int:
        """Steps to the goal along a path, and from its end as if nobody were in the way."""
        return len(path) - 1 + self.players[seat].far[path[-1]]

    def collision(self, paths: Mapping[int, Path]) -> tuple[int, int] | None:
        """The first two players whose paths collide."""
        seats = sorted(paths)
        for i, one in enumerate(seats):
            for other in seats[i + 1 :]:
                if self.clash(paths[one], paths[other]):
                    return one, other
        return None

    def clash(self, one: Path, other: Path) -> bool:
        """Whether two paths meet in a cell, swap, or follow each other where that is forbidden."""
        for t in range(1, min(len(one), len(other))):
            if one[t] == other[t]:
                return True
            ahead, behind = one[t] == other[t - 1], other[t] == one[t - 1]
            if (ahead and behind) or (not self.following and (ahead or behind)):
                return True
        return False

    def shortest(self, seat: int, higher: Sequence[Path]) -> Path | None:
        """The cheapest path that avoids paths; it ends at the goal or with the window."""
        player = self.players[seat]
        start = (player.far.get(player.cell, 0), 0, player.cell, (player.cell,))
        queue: list[tuple[int, int, Cell, Path]] = [start]
        seen: set[tuple[Cell, int]] = set()
        while queue:
            _, minus, cell, path = heappop(queue)
            t = -minus
            if t == self.steps or (cell == player.goal and t > 0):
                return path
            if (cell, t) in seen:
                continue
            seen.add((cell, t))
            for down, right in STEP_OFFSETS:
                there = cell[0] + down, cell[1] + right
                if there not in player.far or (t == 0 and there in self.shut):
                    continue
                if not any(self.hits(cell, there, t + 1, path_) for path_ in higher):
                    far = t + 1 + player.far[there]
                    heappush(queue, (far, -(t + 1), there, (*path, there)))
        return None

    def hits(self, cell: Cell, there: Cell, t: int, path: Path) -> bool:
        """Whether a step from one cell to another, made by time t, collides with a path."""
        if t >= len(path):
            return False
        if path[t] == there:
            return True
        ahead, behind = path[t - 1] == there, path[t] == cell
        return (ahead and behind) or (not self.following and (ahead or behind))


def above(seat: int, order: frozenset[tuple[int, int]]) -> set[int]:
    """Who comes before a player, directly or through others."""
    found: set[int] = set()
    waiting = [seat]
    while waiting:
        below = waiting.pop()
        for first, second in order:
            if second == below and first not in found:
                found.add(first)
                waiting.append(first)
    return found


@dataclass
class Course:
    """The plan of one episode: paths, how far they were followed, and how long each has waited."""

    paths: dict[int, Path] = field(default_factory=dict)
    at: int = 0
    goals: dict[int, Cell] = field(default_factory=dict)
    waited: dict[int, int] = field(default_factory=dict)


@agent(
    "rhcr",
    kind="search",
    needs=("array",),
    paper="Li et al. (2021), Lifelong Multi-Agent Path Finding in Large-Scale Warehouses",
)
class RollingHorizon(Agent):
    """Plans for all its seats together: rolling-horizon collision resolution.

    Every `replan` steps, and whenever a player has a new goal, it plans paths that do not collide
    within a window of `window` steps, by priority-based search. Where the search finds none it
    moves by priority inheritance for one step, as the agent `pathfinder`. From Li et al., "Lifelong
    Multi-Agent Path Finding in Large-Scale Warehouses", AAAI 2021.
    """

    plays = (PathFinding,)

    def __init__(
        self,
        *,
        window: Annotated[
            int, Meta(ge=0, le=64, description="steps without collisions; 0 is as far as one sees")
        ] = 0,
        replan: Annotated[int, Meta(ge=1, le=64, description="steps between plans")] = 1,
        nodes: Annotated[
            int, Meta(ge=1, le=100_000, description="orders of players tried for one plan")
        ] = 200,
    ) -> None:
        self._window, self._replan, self._nodes = window, replan, nodes
        self._courses: dict[int, Course] = {}
        self.plans = self.failures = 0

    def forget(self, episode_key: int) -> None:
        self._courses.pop(episode_key, None)

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        chosen: dict[tuple[int, int], int] = {}
        for key in {turn.episode_key for turn in turns}:
            together = [turn for turn in turns if turn.episode_key == key]
            for seat, action in self._moves(key, together).items():
                chosen[key, seat] = action
        return [Decision(chosen[turn.episode_key, turn.seat]) for turn in turns]

    def _moves(self, key: int, turns: Sequence[Turn]) -> dict[int, int]:
        """The action of every seat in one episode."""
        players = {turn.seat: read_player(turn) for turn in turns}
        course = self._courses.setdefault(key, Course())
        goals = {seat: player.goal for seat, player in players.items()}
        for seat, goal in goals.items():
            same = course.goals.get(seat) == goal
            course.waited[seat] = course.waited.get(seat, 0) + 1 if same else 0
        if not self._holds(course, players, goals):
            course.paths, course.at = self._plan(turns, players, course.waited), 0
        course.goals = goals
        if not course.paths:
            return step_by_inheritance(turns, course.waited)
        now, course.at = course.at, course.at + 1
        return {seat: move_along(path, now) for seat, path in course.paths.items()}

    def _holds(
        self, course: Course, players: Mapping[int, Player], goals: Mapping[int, Cell]
    ) -> bool:
        """Whether the plan can be followed for another step."""
        if course.at >= self._replan or course.goals != goals or not course.paths:
            return False
        return all(
            len(path) > course.at + 1 and path[course.at] == players[seat].cell
            for seat, path in course.paths.items()
        )

    def _plan(
        self, turns: Sequence[Turn], players: Mapping[int, Player], waited: Mapping[int, int]
    ) -> dict[int, Path]:
        game = turns[0].game
        assert isinstance(game, PathFinding)  # checked by `read_player`
        cells = {player.cell for player in players.values()}
        shut = frozenset().union(*(player.strangers for player in players.values())) - cells
        steps = min(self._window or game.sight, game.sight)
        window = Window(players, steps, game.following, shut, waited, self._nodes)
        self.plans += 1
        found = window.solve()
        self.failures += found is None
        return found or {}


def step_by_inheritance(turns: Sequence[Turn], waited: Mapping[int, int]) -> dict[int, int]:
    """One step by priority inheritance, those who waited longest first."""
    plan = Plan()
    for turn in turns:
        assert isinstance(turn.game, PathFinding)
        plan.add(turn.game, turn.seat, turn.observation)
    for seat in sorted(plan.places, key=lambda p: (-waited[p], p)):
        if seat not in plan.chosen:
            plan.choose(seat, None)
    return {seat: plan.action(seat) for seat in plan.places}


def move_along(path: Path, at: int) -> int:
    """The action that takes a player from one cell of a path to the next."""
    if at + 1 >= len(path):
        return STAY
    (row, column), (r, c) = path[at], path[at + 1]
    return next(
        action
        for action in range(len(MOVES))
        if (SOUTHWARD[action], EASTWARD[action]) == (r - row, c - column)
    )
