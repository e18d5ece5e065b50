"""A player for path finding who plans alone around congestion.

The planner of Skrynnik, Andreychuk, Nesterova, Yakovlev and Panov, "Learn to Follow: Decentralized
Lifelong Multi-Agent Pathfinding via Planning and Learning", AAAI 2024: every player plans a path on
which a cell costs more the more often other players were seen there, and follows it to a waypoint a
few cells ahead. The paper follows it by a policy that is trained to reach waypoints; here a rule
does, which steps aside at random when it is blocked.

Left out: the policy that is trained to reach waypoints: here a rule steps aside; costs from the
shape of the map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Annotated

from palestra import Agent, Decision, Meta, Rng, Turn, agent
from palestra.grids.compass import EAST, EASTWARD, NORTH, SOUTHWARD, STAY
from palestra.kernel.rng import check_seed

from palestra_envs.grid.path_finding.game import PathFinding
from palestra_envs.grid.path_finding.pathfinders import Cell
from palestra_envs.grid.path_finding.rhcr import STEP_OFFSETS, Path, Player, read_player

STREAM = 0xF0110


@dataclass
class Memory:
    """What a player remembers: how often others were seen on a cell since their last goal."""

    goal: Cell | None = None
    last: Cell | None = None
    seen: dict[Cell, float] = field(default_factory=dict)
    blocked: int = 0  # steps in a row on the same cell
    waypoint: Cell | None = None

    def update(self, player: Player, fade: float) -> None:
        """Take in another step: other players in sight, a new goal, whether the player moved."""
        if player.goal != self.goal:
            self.seen.clear()
            self.goal, self.waypoint, self.blocked = player.goal, None, 0
        elif player.cell == self.last:
            self.blocked += 1
        else:
            self.blocked = 0
        for cell in self.seen:
            self.seen[cell] *= fade
        for cell in sorted(player.strangers):
            self.seen[cell] = self.seen.get(cell, 0.0) + 1.0
        self.last = player.cell


@agent(
    "follower",
    kind="search",
    needs=("array",),
    paper=(
        "Skrynnik et al. (2024), Learn to Follow: Decentralized Lifelong Multi-Agent "
        "Pathfinding via Planning and Learning"
    ),
)
class Follower(Agent):
    """Plans for each seat alone, around the cells where other players have been seen.

    A step costs 1 and `congestion` for every time that another player was seen on its cell since
    the last goal; with `congestion=0` the planner is a plain shortest path. It follows the path to
    the cell `ahead` steps away, or until it is blocked, and then plans again. From Skrynnik et al.,
    "Learn to Follow", AAAI 2024; the paper's waypoint policy is learnt, this one is a rule.
    """

    plays = (PathFinding,)

    def __init__(
        self,
        *,
        congestion: Annotated[
            float, Meta(ge=0, le=100, description="cost of a cell for each player seen there")
        ] = 1.0,
        fade: Annotated[
            float, Meta(ge=0, le=1, description="share of these costs that is left a step later")
        ] = 1.0,
        ahead: Annotated[
            int, Meta(ge=1, le=64, description="steps to the waypoint before planning again")
        ] = 1,
        aside: Annotated[
            float, Meta(ge=0, le=1, description="chance to step aside after being blocked")
        ] = 0.5,
        seed: int | None = None,
    ) -> None:
        self._congestion, self._fade = congestion, fade
        self._ahead, self._aside = ahead, aside
        self._seed, self._fixed = check_seed(seed), seed is not None
        self._memories: dict[tuple[int, int], Memory] = {}
        self._paths: dict[tuple[int, int], Path] = {}

    def reseed(self, seed: int) -> None:
        if not self._fixed:
            self._seed = check_seed(seed)

    def forget(self, episode_key: int) -> None:
        for kept in (self._memories, self._paths):
            for key in [key for key in kept if key[0] == episode_key]:
                del kept[key]

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._move(turn)) for turn in turns]

    def _move(self, turn: Turn) -> int:
        key = turn.episode_key, turn.seat
        player = read_player(turn)
        memory = self._memories.setdefault(key, Memory())
        memory.update(player, self._fade)
        rng = turn.rng(self._seed, STREAM)
        if memory.blocked and rng.random() < self._aside:
            self._paths.pop(key, None)
            return step_aside(player, rng)
        path = self._path(key, player, memory)
        return direction(player.cell, path[1]) if len(path) > 1 else STAY

    def _path(self, key: tuple[int, int], player: Player, memory: Memory) -> Path:
        """The rest of the path to the waypoint, planned again where it was left or blocked."""
        path = self._paths.get(key, ())
        rest = path[path.index(player.cell) :] if player.cell in path else ()
        if len(rest) < 2 or memory.blocked:
            rest = plan_path(player, memory.seen, self._congestion)[: self._ahead + 1]
        self._paths[key] = rest
        memory.waypoint = rest[-1]
        return rest


def plan_path(player: Player, seen: dict[Cell, float], congestion: float) -> Path:
    """The cheapest path to the goal, as far as the player sees.

    Beyond their sight a step costs 1, so that a path that leaves it costs the distance from there.
    """
    queue: list[tuple[float, float, Cell]] = [(float(player.far[player.cell]), 0.0, player.cell)]
    before: dict[Cell, Cell] = {}
    costs = {player.cell: 0.0}
    done: set[Cell] = set()
    best, end = float("inf"), player.cell
    rim = {cell for cell in player.far if on_rim(player, cell)} | {player.goal}
    while queue:
        bound, cost, cell = heappop(queue)
        if bound >= best:
            break
        if cell in done:
            continue
        done.add(cell)
        if cell in rim and cell != player.cell:
            best, end = bound, cell
            continue
        for down, right in STEP_OFFSETS[NORTH:]:
            there = cell[0] + down, cell[1] + right
            if there not in player.far or there in done:
                continue
            further = cost + 1 + congestion * seen.get(there, 0.0)
            if further < costs.get(there, float("inf")):
                costs[there], before[there] = further, cell
                heappush(queue, (further + player.far[there], further, there))
    path = [end]
    while path[-1] != player.cell:
        path.append(before[path[-1]])
    return tuple(reversed(path))


def on_rim(player: Player, cell: Cell) -> bool:
    """Whether a cell has a neighbour that is farther than the player sees, and is the way on.

    A path leaves a player's sight only where a neighbour is nearer to the goal and unseen, so that
    these cells are where no seen neighbour is nearer.
    """
    near = [
        player.far.get((cell[0] + down, cell[1] + right)) for down, right in STEP_OFFSETS[NORTH:]
    ]
    return player.far[cell] > 0 and all(far is None or far >= player.far[cell] for far in near)


def step_aside(player: Player, rng: Rng) -> int:
    """A random move to a cell that is free now, or stay."""
    ways = [
        action
        for action in range(NORTH, EAST + 1)
        for cell in [(player.cell[0] + SOUTHWARD[action], player.cell[1] + EASTWARD[action])]
        if cell in player.far and cell not in player.strangers
    ]
    return rng.choice(ways) if ways else STAY


def direction(start: Cell, end: Cell) -> int:
    """The action that moves between two neighbouring cells."""
    step = end[0] - start[0], end[1] - start[1]
    return STEP_OFFSETS.index(step)
