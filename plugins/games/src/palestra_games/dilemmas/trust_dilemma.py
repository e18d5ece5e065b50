"""A trust dilemma on a grid: take the stag together, or pick plants alone.

Two hunters walk on a grid with one stag and some plants. Both on the stag's cell at once take it
and are paid well; one alone is gored and pays. A plant pays whoever steps on it a little, and two
who meet on one share it. What has been met or picked appears on another cell, drawn evenly. The
stag hunt so spread over space and time is a host of the risk-averse equilibria of "A
Game-Theoretic Framework for Managing Risk in Multi-Agent Systems", 2023; the rules follow the
Monster-Hunt of Tang et al., "Discovering Diverse Multi-Agent Strategic Behavior via Reward
Randomization", ICLR 2021, but for a stag that stands.

Known answers checked: two who always hunt together take a stag every (m + n) / 3 steps in the
long run on m x n cells without plants, the mean distance of the grid graph; and of hunting and
picking, hunting together pays most, and hunting has the worse worst case.

The array view is an int16 vector of 7 + 2k numbers for k plants: row and column of the player, of
the other, of the stag and of every plant, and the steps played.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import networkx as nx
import numpy as np
from palestra import (
    Agent,
    ArrayGame,
    Decision,
    Event,
    Grid,
    InvalidOption,
    Outcome,
    Piece,
    Scene,
    Turn,
    UnknownName,
    agent,
    environment,
)
from palestra.rules import all_act, randint, truncate

MOVES = ("stay", "up", "down", "left", "right")
ROW_STEPS = (0, -1, 1, 0, 0)
COLUMN_STEPS = (0, 0, 0, -1, 1)
TOGETHER, GORED, PLANT = range(3)  # reward terms
SHARED = 0.5  # of a plant, for each of two who meet on it
MOST_CELLS, MOST_PLANTS = 400, 20


@environment(
    "games/TrustDilemma-v0",
    family="grid",
    tags=("social-dilemma", "coordination", "risk", "perfect-information", "chance"),
    paper=(
        "A Game-Theoretic Framework for Managing Risk in Multi-Agent Systems (2023); Tang et "
        "al. (2021), Discovering Diverse Multi-Agent Strategic Behavior via Reward "
        "Randomization"
    ),
)
@dataclass(frozen=True)
class TrustDilemma(ArrayGame):
    """Two of you hunt on a grid. In every step both choose a move at the same time.

    Write "up", "down", "left", "right" or "stay". If both of you are on the stag's cell after a
    step, you take it together. Whoever is there alone is gored. A plant is picked by stepping on
    it; two who do so at once share it. A new stag or plant then appears on a cell that is free.
    Several of you may stand on one cell, and nobody leaves the grid. Cells are given as (row,
    column), from (0, 0) at the top left.
    """

    rows: int = 5
    columns: int = 5
    plants: int = 2
    stag_reward: float = 5.0
    gore: float = 2.0
    plant_reward: float = 1.0
    steps: int = 40

    order = "simultaneous"
    payoffs = "general"
    num_players = 2
    num_actions = len(MOVES)
    reward_terms = ("stag", "gored", "plant")
    observation_dtype = np.int16

    def __post_init__(self) -> None:
        if min(self.rows, self.columns) < 2 or self.rows * self.columns > MOST_CELLS:
            raise InvalidOption(
                f"rows and columns must be at least 2 and give at most {MOST_CELLS} cells, not "
                f"{self.rows} and {self.columns}"
            )
        most = min(MOST_PLANTS, self.rows * self.columns - 4)
        if not 0 <= self.plants <= most:
            raise InvalidOption(f"plants must be from 0 to {most} here, not {self.plants}")
        for name in ("stag_reward", "gore", "plant_reward"):
            if not 0 <= getattr(self, name) <= 1e6:
                raise InvalidOption(f"{name} must be from 0 to 1e6, not {getattr(self, name)}")
        if not 1 <= self.steps <= 10_000:
            raise InvalidOption(f"steps must be from 1 to 10,000, not {self.steps}")

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        best = max(self.stag_reward, self.plant_reward)
        return (-self.gore * self.steps, best * self.steps)

    @property
    def observation_shape(self) -> tuple[int]:
        return (7 + 2 * self.plants,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (0, max(self.steps, self.rows, self.columns))

    def fields(self) -> list[tuple[Any, ...]]:
        """Cells as row * columns + column, and what has happened."""
        return [
            ("hunters", np.int16, 2),
            ("stag", np.int16),
            ("growing", np.int16, max(1, self.plants)),
            ("taken", np.int32),
            ("totals", np.float64, 2),
        ]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        state.hunters[1] = config.rows * config.columns - 1
        state.stag = -1
        for plant in range(config.plants):
            state.growing[plant] = -1
        state.stag = free_cell(config, state)
        for plant in range(config.plants):
            state.growing[plant] = free_cell(config, state)
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        for seat in range(2):
            state.hunters[seat] = walked(config, state.hunters[seat], actions[seat])
        meet(config, state, out)
        pick(config, state, out)
        for seat in range(2):
            for term in range(3):
                state.totals[seat] += out.rewards[seat, term]
        if state.turn + 1 >= config.steps:
            truncate(state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        for move in range(5):
            mask[move] = (
                move == 0 or walked(config, state.hunters[seat], move) != (state.hunters[seat])
            )

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """See the module's docstring for the layout."""
        for place in range(3 + config.plants):
            if place < 2:
                cell = state.hunters[seat if place == 0 else 1 - seat]
            elif place == 2:
                cell = state.stag
            else:
                cell = state.growing[place - 3]
            view[2 * place] = cell // config.columns
            view[2 * place + 1] = cell % config.columns
        view[6 + 2 * config.plants] = state.turn

    def outcome(self, state: Any) -> Outcome | None:
        ended = super().outcome(state)
        reason = f"{int(state.taken)} stags were taken together"
        return ended and replace(ended, reason=reason)

    def scores(self, state: Any) -> tuple[float, ...]:
        return tuple(state["totals"].tolist())

    # Words

    def cell(self, number: int) -> tuple[int, int]:
        """Row and column of a cell."""
        return divmod(int(number), self.columns)

    def rules_for(self, seat: int) -> str:
        return (
            f"{super().rules_for(seat)}\n"
            f"A stag taken together pays each of you {self.stag_reward:g}; being gored costs "
            f"{self.gore:g}; a plant pays {self.plant_reward:g}. The grid has {self.rows} rows "
            f"and {self.columns} columns. There are {self.steps} steps."
        )

    def describe(self, state: Any, player: int) -> str:
        own, other = (self.cell(state.hunters[seat]) for seat in (player, 1 - player))
        lines = [
            f"You are {self.players[player]} at {own}. Steps played: {int(state.turn)} of "
            f"{self.steps}.",
            f"{self.players[1 - player]} is at {other}. The stag is at {self.cell(state.stag)}.",
        ]
        if self.plants:
            cells = ", ".join(str(self.cell(cell)) for cell in state.growing.tolist())
            lines.append(f"Plants: {cells}.")
        return "\n".join(lines)

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return MOVES[action]

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> list[Event]:
        if before is None:
            return []
        moved = {seat: MOVES[action] for seat, action in sorted(actions.items())}
        told = "; ".join(f"{self.players[seat]}: {move}" for seat, move in moved.items())
        events = [Event("move", f"{told}.", {"moves": moved})]
        there = [seat for seat in range(2) if after.hunters[seat] == before.stag]
        if there:
            names = " and ".join(self.players[seat] for seat in there)
            did = "take the stag" if len(there) == 2 else "is gored by the stag"
            events.append(Event("stag", f"{names} {did}.", {"players": there}))
        for plant in before.growing.tolist()[: self.plants]:
            there = [seat for seat in range(2) if after.hunters[seat] == plant]
            if there:
                names = " and ".join(self.players[seat] for seat in there)
                told = f"{names} pick{'s' if len(there) == 1 else ''} a plant."
                events.append(Event("plant", told, {"players": there}))
        return events

    def scene(self, state: Any, player: int | None = None) -> Scene:
        pieces: list[Piece | None] = [None] * (self.rows * self.columns)
        for plant in state.growing.tolist()[: self.plants]:
            pieces[plant] = Piece("p", 2, "mark", "plant")
        pieces[state.stag] = Piece("S", 3, "square", "stag")
        for seat, cell in enumerate(state.hunters.tolist()):
            both = state.hunters[0] == state.hunters[1]
            pieces[cell] = Piece("2" if both else "", seat, "disc", self.players[seat])
        cells = tuple(
            tuple(pieces[row * self.columns : (row + 1) * self.columns]) for row in range(self.rows)
        )
        line = f"Stags taken: {int(state.taken)}. Step {int(state.turn)} of {self.steps}"
        return Scene(grid=Grid(cells), lines=(line,))


def walked(config: Any, cell: int, move: int) -> int:
    """Where a move leads; off the grid nobody goes."""
    row = cell // config.columns + ROW_STEPS[move]
    column = cell % config.columns + COLUMN_STEPS[move]
    if row < 0 or row >= config.rows or column < 0 or column >= config.columns:
        return int(cell)
    return int(row * config.columns + column)


def taken(config: Any, state: Any, cell: int) -> bool:
    """Whether a hunter, the stag or a plant is on a cell."""
    found = cell == state.hunters[0] or cell == state.hunters[1] or cell == state.stag
    for plant in range(config.plants):
        found = found or cell == state.growing[plant]
    return bool(found)


def free_cell(config: Any, state: Any) -> int:
    """A cell with nothing on it, drawn evenly."""
    free = 0
    for cell in range(config.rows * config.columns):
        free += not taken(config, state, cell)
    left = randint(state, free)
    for cell in range(config.rows * config.columns):
        if not taken(config, state, cell):
            if left == 0:
                return cell
            left -= 1
    return -1


def meet(config: Any, state: Any, out: Any) -> None:
    """Two on the stag's cell take it, one alone is gored."""
    first, second = state.hunters[0] == state.stag, state.hunters[1] == state.stag
    if first and second:
        state.taken += 1
        for seat in range(2):
            out.rewards[seat, TOGETHER] = config.stag_reward
    elif first:
        out.rewards[0, GORED] = -config.gore
    elif second:
        out.rewards[1, GORED] = -config.gore
    if first or second:
        state.stag = free_cell(config, state)


def pick(config: Any, state: Any, out: Any) -> None:
    """Whoever is on a plant picks it; two share it."""
    for plant in range(config.plants):
        cell = state.growing[plant]
        both = state.hunters[0] == cell and state.hunters[1] == cell
        share = SHARED if both else 1.0
        for seat in range(2):
            if state.hunters[seat] == cell:
                out.rewards[seat, PLANT] += share * config.plant_reward
        if state.hunters[0] == cell or state.hunters[1] == cell:
            state.growing[plant] = free_cell(config, state)


@agent(
    "stag-hunter",
    plays=("games/TrustDilemma-v0",),
    needs=("array",),
    summary="Hunts the stag of the trust dilemma or picks plants: style=together|rash|plants.",
)
class StagHunter(Agent):
    """Hunts the stag, or picks plants: style=together|rash|plants.

    "together" goes beside the stag and steps on it once the other is no more than a step away from
    it, "rash" steps on it at once, "plants" goes to the nearest plant and around the stag.
    """

    STYLES = ("together", "rash", "plants")

    def __init__(self, *, style: str = "together") -> None:
        if style not in self.STYLES:
            raise UnknownName("stag-hunter style", style, self.STYLES)
        self._style = style

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> int:
        game = turn.game
        if not isinstance(game, TrustDilemma):
            raise InvalidOption(f"the stag-hunter plays games/TrustDilemma-v0, not {turn.env}")
        seen = turn.observation.tolist()
        cells = [(seen[i], seen[i + 1]) for i in range(0, len(seen) - 1, 2)]
        own, other, stag, *plants = cells
        if self._style == "plants":
            nearest = min(plants, key=lambda cell: apart(own, cell), default=own)
            return first_move(own, nearest, stag, (game.rows, game.columns))
        if self._style == "together" and apart(own, stag) == 1 and apart(other, stag) > 1:
            return 0
        return first_move(own, stag, (-1, -1), (game.rows, game.columns))


Cell = tuple[int, int]


def apart(one: Cell, other: Cell) -> int:
    """Steps between two cells."""
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


@lru_cache(maxsize=4096)
def first_move(start: Cell, end: Cell, around: Cell, size: Cell) -> int:
    """The first move of a shortest way that keeps off the cell `around`."""
    grid = nx.grid_2d_graph(*size)
    grid.remove_nodes_from([around] if around not in (start, end) else [])
    way = nx.shortest_path(grid, start, end)
    if len(way) < 2:
        return 0
    step = (way[1][0] - start[0], way[1][1] - start[1])
    return list(zip(ROW_STEPS, COLUMN_STEPS, strict=True)).index(step)
