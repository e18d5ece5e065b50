"""Plan-Path: write down a way through a maze, and walk it as far as it goes.

A grid with random walls has a start and a goal with a path between them. A plan
is a string of moves, U, D, L and R; the walker follows it to the end, to the goal, or to the first
move into a wall or off the grid, which is not made and counts as a cost. The next plan starts where
the walker stands, and the episode ends after `turns` plans. It is the planning task of AT-GRPO
(Zhao et al., "Stronger Together: On-Policy Reinforcement Learning for Collaborative LLMs", 2025),
with its 10x10 cells, 22 % walls and rewards: with two players one drafts, by reasoning or by
running code, and the other sees the draft and decides on the plan.

Checked: shortest ways are those that networkx finds, and a planner who plays them is
always paid 1.5.

Left out: the paper's other tasks, of code and mathematics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    Grid,
    Meta,
    Option,
    Outcome,
    Piece,
    Result,
    Rng,
    Scene,
    ScriptedAgent,
    Seat,
    Step,
    TextAction,
    TextGame,
    Turn,
    agent,
    environment,
)
from palestra.grids.paths import way
from palestra.scene import mark_cells

Cell = tuple[int, int]
WAYS: Mapping[str, Cell] = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}
MOVES = "".join(WAYS)
GOAL_PAYS, SHORTEST_PAYS = 1.0, 0.5


class Draft(TextAction, frozen=True):
    """Propose a plan to the planner."""

    path: str


class Plan(TextAction, frozen=True):
    """Walk these moves from where the walker is."""

    path: str


@dataclass(frozen=True, slots=True)
class Moves:
    """What a field of an action may hold: a string of U, D, L and R."""

    limit: int

    def problem(self, value: object) -> str | None:
        if isinstance(value, str) and re.fullmatch(f"[{MOVES}]{{1,{self.limit}}}", value):
            return None
        return f"must be 1 to {self.limit} of the letters U, D, L and R, not {value!r}"

    def sample(self, rng: Rng) -> str:
        return "".join(rng.choice(MOVES) for _ in range(rng.between(1, self.limit)))

    def pattern(self, chars: int) -> str:
        return f"'[{MOVES}]{{1,{self.limit}}}'"

    def longest(self, chars: int) -> int:
        return self.limit + 2

    def __str__(self) -> str:
        return f"'1 to {self.limit} of U, D, L, R'"


@dataclass(slots=True)
class Maze:
    """The state: a map, the walker's way so far, and the draft that waits for a decision."""

    rng: Rng
    walls: frozenset[Cell]
    start: Cell
    goal: Cell
    trail: tuple[Cell, ...]  # cells walked on, the start first
    draft: str = ""
    plans: int = 0  # made so far
    blocked: int = 0  # plans that ended at a wall or the edge

    @property
    def walker(self) -> Cell:
        return self.trail[-1]


@environment(
    "games/PlanPath-v0",
    family="grid",
    tags=("planning", "perfect-information", "deterministic"),
    paper=(
        "Zhao et al. (2025), Stronger Together: On-Policy Reinforcement Learning for "
        "Collaborative LLMs"
    ),
)
@dataclass(frozen=True)
class PlanPath(TextGame[Maze]):
    """Plan-Path: one or two players write plans for a walk through a maze drawn at random.

    The menu numbers straight runs: Plan('U'), Plan('UU'), …; with two players then the same
    drafts. An observation is an int32 vector: own seat, the seat to move, plans made, steps taken,
    moves blocked; rows and columns of the walker and the goal; all cells row by row, 1 for a wall;
    with two players the draft, padded with 0, as 1 + its moves' places in "UDLR". Every player is
    paid 1 when the goal is reached, and 0.5 more if the whole walk was a shortest one.
    """

    num_players: Annotated[
        int, Meta(ge=1, le=2, description="1: a planner; 2: a drafter and a planner")
    ] = 1
    rows: Annotated[int, Meta(ge=2, le=30, description="rows of the map")] = 10
    columns: Annotated[int, Meta(ge=2, le=30, description="columns of the map")] = 10
    wall_density: Annotated[
        float, Meta(ge=0, le=0.5, description="chance that a cell is a wall")
    ] = 0.22
    turns: Annotated[int, Meta(ge=1, le=1000, description="most plans in an episode")] = 4
    plan_limit: Annotated[int, Meta(ge=1, le=1000, description="most moves of one plan")] = 100

    rules_text = """
        You plan a way through a maze, from the start to the goal.

        A plan is a string of moves, U for up, D for down, L for left and R for right. The walker
        follows it until it ends, until the goal is reached, or until a move would lead into a wall
        or off the map; that move is not made, and the rest of the plan is dropped. The next plan
        goes on from where the walker is. On the map S is the walker, G the goal, # a wall and .
        open. Reaching the goal pays 1, and 0.5 more if the whole way walked was a shortest one.
    """
    order = "sequential"
    payoffs = "common"
    deterministic = True
    reward_terms = ("goal", "shortest")
    counters = ("blocked",)
    cost_terms = ("blocked",)
    payoff_bounds = (0.0, GOAL_PAYS + SHORTEST_PAYS)
    action_types = (Draft, Plan)

    # Derived from the options

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        return tuple((row, column) for row in range(self.rows) for column in range(self.columns))

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        roles = ("planner",) if self.num_players == 1 else ("drafter", "planner")
        return tuple(Seat(name, role) for name, role in zip(self.players, roles, strict=True))

    @property
    def planner(self) -> int:
        """The seat that decides on plans."""
        return int(self.num_players - 1)

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Straight runs of every length, in all four directions."""
        longest = min(self.plan_limit, max(self.rows, self.columns) - 1)
        runs = [move * length for move in MOVES for length in range(1, longest + 1)]
        drafts = map(Draft, runs) if self.num_players == 2 else ()
        return (*map(Plan, runs), *drafts)

    # The rules

    def initial_state(self, seed: int | None = None) -> Maze:
        rng = Rng.seeded(seed)
        while True:
            walls = frozenset(cell for cell in self.cells if rng.random() < self.wall_density)
            free = [cell for cell in self.cells if cell not in walls]
            if len(free) < 2:
                continue
            start, goal = rng.choice(free), rng.choice(free)
            maze = Maze(rng, walls, start, goal, (start,))
            if start != goal and self.shortest(maze) is not None:
                return maze

    def to_act(self, state: Maze) -> tuple[int, ...]:
        if state.walker == state.goal or state.plans == self.turns:
            return ()
        return (self.planner if state.draft else 0,)

    def legal(self, state: Maze, seat: int) -> Grammar:
        kind = Plan if seat == self.planner else Draft
        return Grammar((Option(kind, {"path": Moves(self.plan_limit)}),))

    def step(self, state: Maze, actions: Mapping[int, Any]) -> Step:
        ((seat, action),) = actions.items()
        if isinstance(action, Draft):
            state.draft = action.path
            text = f"{self.players[seat]} drafts: {action.path}."
            return Step(events=[Event("draft", text, {"path": action.path})])
        walked = tuple(self._walk(state, action.path))
        cut = len(walked) < len(action.path) and state.goal not in walked
        state.trail += walked
        state.plans, state.blocked, state.draft = state.plans + 1, state.blocked + cut, ""
        text = f"{self.players[seat]} plans {action.path}: {walk_text(walked, cut)}."
        event = Event("walk", text, {"path": action.path, "walked": len(walked), "blocked": cut})
        costs = {seat: {"blocked": float(cut)} for seat in range(self.num_players) if cut}
        return Step(self._payoffs(state), costs, [event])

    def _walk(self, state: Maze, path: str) -> Iterator[Cell]:
        """The cells a plan leads to, as far as it goes."""
        at = state.walker
        for move in path:
            at = (at[0] + WAYS[move][0], at[1] + WAYS[move][1])
            if at not in self._places or at in state.walls:
                return
            yield at
            if at == state.goal:
                return

    @cached_property
    def _places(self) -> frozenset[Cell]:
        return frozenset(self.cells)

    @cached_property
    def _beside(self) -> dict[Cell, list[tuple[str, Cell]]]:
        """The moves from each cell that stay inside, and where they lead."""
        return {
            cell: [
                (move, there)
                for move, (south, east) in WAYS.items()
                if (there := (cell[0] + south, cell[1] + east)) in self._places
            ]
            for cell in self.cells
        }

    def _payoffs(self, state: Maze) -> dict[int, dict[str, float]]:
        if state.walker != state.goal:
            return {}
        whole = self.shortest(Maze(state.rng, state.walls, state.start, state.goal, (state.start,)))
        paid = {"goal": GOAL_PAYS}
        if whole is not None and len(whole) == len(state.trail) - 1:
            paid["shortest"] = SHORTEST_PAYS
        return {seat: dict(paid) for seat in range(self.num_players)}

    def shortest(self, state: Maze) -> str | None:
        """The moves of a shortest way from the walker to the goal; None if there is no way."""

        def steps(cell: Cell) -> list[tuple[str, Cell]]:
            return [step for step in self._beside[cell] if step[1] not in state.walls]

        moves = way(state.walker, {state.goal}, steps)
        return None if moves is None else "".join(moves)

    def record_facts(self, state: Maze) -> dict[str, Any]:
        """Facts for the record: the share of the shortest path from the start already covered.

        The roles too, drafter and planner.
        """
        whole = self.shortest(Maze(state.rng, state.walls, state.start, state.goal, (state.start,)))
        left = len(self.shortest(state) or "")
        progress = max(0.0, 1 - left / len(whole)) if whole else 0.0
        return {"progress": progress, "roles": [seat.role for seat in self.seats]}

    def outcome(self, state: Maze) -> Outcome | None:
        if self.to_act(state):
            return None
        paid = sum(self._payoffs(state).get(0, {}).values())
        result: Result = "score"
        reason = "the goal was reached" if paid else "the plans are used up"
        seats = self.num_players
        return Outcome((result,) * seats, (paid,) * seats, reason)

    # What a player sees

    def rules_for(self, seat: int) -> str:
        lines = [super().rules_for(seat)]
        if self.num_players == 1:
            lines.append("In your turn write Plan(path='RRD').")
        else:
            lines.append(
                "player_0 drafts a plan, Draft(path='RRD'); player_1 sees it and decides, "
                "Plan(path='RRD'). Both are paid the same."
            )
        lines.append(f"There are {self.turns} plans in all, of up to {self.plan_limit} moves.")
        return "\n".join(lines)

    def describe(self, state: Maze, seat: int) -> str:
        rows = [["."] * self.columns for _ in range(self.rows)]
        marks = [*((cell, "#") for cell in state.walls), (state.goal, "G"), (state.walker, "S")]
        for (row, column), mark in marks:
            rows[row][column] = mark
        lines = [
            f"You are the {self.seats[seat].role}. Plans made: {state.plans} of {self.turns}. "
            f"Steps taken: {len(state.trail) - 1}. Blocked: {state.blocked}.",
            *map("".join, rows),
        ]
        if state.draft:
            lines.append(f"The draft: {state.draft}.")
        return "\n".join(lines)

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        size = 9 + len(self.cells) + (self.plan_limit if self.num_players == 2 else 0)
        most = max(self.turns * self.plan_limit, self.rows, self.columns, len(MOVES))
        return spaces.Box(0, most, (size,), np.int32)

    def observe(self, state: Maze, seat: int) -> NDArray[np.int32]:
        """The observation vector; the class docstring gives the layout."""
        acting = self.planner if state.draft else 0
        row = [seat, acting, state.plans, len(state.trail) - 1, state.blocked]
        row += [*state.walker, *state.goal, *(cell in state.walls for cell in self.cells)]
        if self.num_players == 2:
            draft = [1 + MOVES.index(move) for move in state.draft]
            row += draft + [0] * (self.plan_limit - len(draft))
        return np.array(row, np.int32)

    def scene(self, state: Maze, seat: int | None = None) -> Scene:
        pieces: dict[Cell, Piece] = {}
        pieces |= {state.goal: Piece("G", "red", "tile", "goal", "flag")}
        pieces |= {state.walker: Piece("S", 0, "disc", "walker", "person")}
        rows = tuple(
            tuple(pieces.get((row, column)) for column in range(self.columns))
            for row in range(self.rows)
        )
        lines = (f"Plans made: {state.plans} of {self.turns}",)
        draft = (f"Draft: {state.draft}",) if state.draft else ()
        ground = tuple(
            tuple(
                "wall" if (row, column) in state.walls else "floor"
                for column in range(self.columns)
            )
            for row in range(self.rows)
        )
        trail = mark_cells("last", sorted(set(state.trail)))
        return Scene(grid=Grid(rows, marks=trail, ground=ground), lines=(*lines, *draft))


def walk_text(walked: Sequence[Cell], cut: bool) -> str:
    """How far a plan went, in words."""
    steps = f"{len(walked)} step{'s' * (len(walked) != 1)}"
    return f"{steps}, then the way is blocked" if cut else steps


@agent("path-planner", needs=("array",))
class PathPlanner(ScriptedAgent[PlanPath]):
    """Drafts and plans shortest ways."""

    def __init__(
        self,
        *,
        style: Annotated[
            Literal["shortest", "trusting"],
            Meta(description="'trusting' plans whatever was drafted, 'shortest' a shortest way"),
        ] = "shortest",
    ) -> None:
        super().__init__(seed=0)
        self._trusting = style == "trusting"

    def choose(self, turn: Turn[PlanPath]) -> TextAction:
        game = turn.game
        maze = turn.fork(Rng(0)).state  # everything is public
        path = maze.draft if self._trusting and maze.draft else game.shortest(maze) or ""
        path = path[: game.plan_limit]
        return Plan(path) if turn.seat == game.planner else Draft(path)
