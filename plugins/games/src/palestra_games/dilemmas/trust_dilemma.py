"""A trust dilemma on a grid: take the stag together, or pick plants alone.

Two hunters walk on a grid with one stag and some plants. Both on the stag's cell at once take it
and are paid well; one alone is gored and pays. A plant pays whoever steps on it a little, and two
who meet on one share it. What has been met or picked appears on another cell, drawn evenly. This
stag hunt in space and time is one of the domains of "A Game-Theoretic Framework for Managing Risk
in Multi-Agent Systems", 2023; the rules follow the Monster-Hunt of Tang et al., "Discovering
Diverse Multi-Agent Strategic Behavior via Reward Randomization", ICLR 2021, but with a stag that
does not move.

Checked: two who always hunt together take a stag every (m + n) / 3 steps in the
long run on m x n cells without plants, the mean distance of the grid graph; and of hunting and
picking, hunting together pays most, but hunting has the worse worst case.

An observation is an int16 vector of 7 + 2k numbers for k plants: row and column of the player, of
the other, of the stag and of every plant, and the steps played.

Left out: a stag that moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Literal

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    ArrayState,
    Channel,
    Event,
    Grid,
    InvalidOption,
    Meta,
    Outcome,
    Piece,
    Scene,
    ScriptedAgent,
    Shape,
    Turn,
    Vocabulary,
    agent,
    environment,
)
from palestra.grids.compass import EASTWARD, SOUTHWARD
from palestra.grids.moving import NOWHERE, neighbour
from palestra.rules import all_act, randint, truncate
from palestra.scene import on_top

MOVES = ("stay", "up", "down", "left", "right")  # stay, north, south, west and east
TOGETHER, GORED, PLANT = range(3)  # reward terms
SHARED = 0.5  # of a plant, for each of two who meet on it
MOST_CELLS, MOST_PLANTS = 400, 20


class TrustDilemmaState(ArrayState):
    """Where everything is, in cells counted row by row, and what has happened."""

    hunters: Annotated[NDArray[np.int16], Shape(2)]  # cells by seat
    stag: Annotated[int, np.int16]  # its cell
    growing: Annotated[NDArray[np.int16], Shape("plant_places")]  # cells of the plants
    taken: Annotated[int, np.int32]  # stags taken together
    totals: Annotated[NDArray[np.float64], Shape(2)]  # rewards so far, by seat


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
class TrustDilemma(ArrayGame[TrustDilemmaState]):
    """A stag hunt on a grid: two hunters take a stag together, or pick plants alone.

    Actions are 0 (stay), 1 (up), 2 (down), 3 (left) and 4 (right). The module's docstring has the
    layout of an observation. A stag taken together pays both, a plant pays who picks it, and a
    hunter alone with the stag loses `gore`.
    """

    vocabulary = Vocabulary(
        words=("stag", "plant", "hunt", "gored"),
    )
    rules_text = """
        Two of you hunt on a grid. In every step both choose a move at the same time.

        Write "up", "down", "left", "right" or "stay". If both of you are on the stag's cell after a
        step, you take it together. Whoever is there alone is gored. A plant is picked by stepping
        on it; two who do so at once share it. A new stag or plant then appears on a cell that is
        free. Several of you may stand on one cell, and nobody leaves the grid. Cells are given as
        (row, column), from (0, 0) at the top left.
    """

    rows: Annotated[int, Meta(ge=2, le=MOST_CELLS // 2, description="rows of the grid")] = 5
    columns: Annotated[int, Meta(ge=2, le=MOST_CELLS // 2, description="columns of the grid")] = 5
    plants: Annotated[
        int, Meta(ge=0, le=MOST_PLANTS, description="plants on the grid at any time")
    ] = 2
    stag_reward: Annotated[
        float, Meta(ge=0, le=1e6, description="reward of both for a stag taken together")
    ] = 5.0
    gore: Annotated[
        float, Meta(ge=0, le=1e6, description="reward lost by a hunter alone with the stag")
    ] = 2.0
    plant_reward: Annotated[
        float, Meta(ge=0, le=1e6, description="reward for a plant; two who pick it get half each")
    ] = 1.0
    steps: Annotated[int, Meta(ge=1, le=10_000, description="steps in an episode")] = 40

    counters = ("turn", "totals")
    order = "simultaneous"
    payoffs = "general"
    num_players = 2
    num_actions = len(MOVES)
    reward_terms = ("stag", "gored", "plant")
    observation_dtype = np.int16

    def validate(self) -> None:
        cells = self.rows * self.columns
        if cells > MOST_CELLS:
            raise InvalidOption(
                f"rows and columns must give at most {MOST_CELLS} cells, not {self.rows} and "
                f"{self.columns}"
            )
        if self.plants > cells - 4:
            raise InvalidOption(
                f"plants must be from 0 to {cells - 4} on {cells} cells, not {self.plants}"
            )

    @property
    def plant_places(self) -> int:
        """The length of the array of plants, which cannot be empty."""
        return max(1, self.plants)

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

    # The rules

    @staticmethod
    def init_state(config: TrustDilemma, state: TrustDilemmaState) -> None:
        state.hunters[1] = config.rows * config.columns - 1
        state.stag = -1
        for plant in range(config.plants):
            state.growing[plant] = -1
        state.stag = free_cell(config, state)
        for plant in range(config.plants):
            state.growing[plant] = free_cell(config, state)
        all_act(state)

    @staticmethod
    def apply_actions(
        config: TrustDilemma, state: TrustDilemmaState, actions: Any, out: Any
    ) -> None:
        for seat in range(2):
            state.hunters[seat] = cell_after(config, state.hunters[seat], actions[seat])
        meet(config, state, out)
        pick(config, state, out)
        for seat in range(2):
            for term in range(3):
                state.totals[seat] += out.rewards[seat, term]
        if state.turn + 1 >= config.steps:
            truncate(state)

    @staticmethod
    def write_legal_mask(
        config: TrustDilemma, state: TrustDilemmaState, seat: int, mask: Any
    ) -> None:
        for move in range(5):
            mask[move] = neighbour(config, state.hunters[seat], move) != NOWHERE

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("own", 2, "row and column of the player"),
            Channel("other", 2, "row and column of the other hunter"),
            Channel("stag", 2, "row and column of the stag"),
            Channel("plants", 2 * self.plants, "row and column of each plant"),
            Channel("steps", 1, "steps played"),
        )

    @staticmethod
    def write_observation(
        config: TrustDilemma, state: TrustDilemmaState, seat: int, obs: Any
    ) -> None:
        """Write the observation; the module's docstring gives the layout."""
        for place in range(3 + config.plants):
            if place < 2:
                cell = state.hunters[seat if place == 0 else 1 - seat]
            elif place == 2:
                cell = state.stag
            else:
                cell = state.growing[place - 3]
            obs[2 * place] = cell // config.columns
            obs[2 * place + 1] = cell % config.columns
        obs[6 + 2 * config.plants] = state.turn

    def outcome(self, state: TrustDilemmaState) -> Outcome | None:
        ended = super().outcome(state)
        reason = f"{int(state.taken)} stags were taken together"
        return ended and replace(ended, reason=reason)

    def scores(self, state: TrustDilemmaState) -> tuple[float, ...]:
        totals: list[float] = state.totals.tolist()
        return tuple(totals)

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

    def describe(self, state: TrustDilemmaState, seat: int) -> str:
        own, other = (self.cell(state.hunters[hunter]) for hunter in (seat, 1 - seat))
        lines = [
            f"You are {self.players[seat]} at {own}. Steps played: {int(state.turn)} of "
            f"{self.steps}.",
            f"{self.players[1 - seat]} is at {other}. The stag is at {self.cell(state.stag)}.",
        ]
        if self.plants:
            cells = ", ".join(str(self.cell(cell)) for cell in state.growing.tolist())
            lines.append(f"Plants: {cells}.")
        return "\n".join(lines)

    def action_text(self, state: TrustDilemmaState, seat: int, action: int) -> str:
        return MOVES[action]

    def narrate(
        self, before: TrustDilemmaState | None, actions: Mapping[int, int], after: TrustDilemmaState
    ) -> list[Event]:
        if before is None:
            return []
        moves = {seat: MOVES[action] for seat, action in sorted(actions.items())}
        text = "; ".join(f"{self.players[seat]}: {move}" for seat, move in moves.items())
        events = [Event("move", f"{text}.", {"moves": moves})]
        there = [seat for seat in range(2) if after.hunters[seat] == before.stag]
        if there:
            names = " and ".join(self.players[seat] for seat in there)
            did = "take the stag" if len(there) == 2 else "is gored by the stag"
            events.append(Event("stag", f"{names} {did}.", {"players": there}))
        for plant in before.growing.tolist()[: self.plants]:
            there = [seat for seat in range(2) if after.hunters[seat] == plant]
            if there:
                names = " and ".join(self.players[seat] for seat in there)
                text = f"{names} pick{'s' if len(there) == 1 else ''} a plant."
                events.append(Event("plant", text, {"players": there}))
        return events

    def scene(self, state: TrustDilemmaState, seat: int | None = None) -> Scene:
        pieces: list[Piece | None] = [None] * (self.rows * self.columns)
        for plant in state.growing.tolist()[: self.plants]:
            pieces[plant] = Piece("p", "green", "mark", "plant", "leaf")
        pieces[state.stag] = Piece("S", "brown", "square", "stag", "cow")
        for hunter, cell in enumerate(state.hunters.tolist()):
            person = Piece(str(hunter), hunter, "disc", self.players[hunter], "person")
            pieces[cell] = on_top(pieces[cell], person)
        cells = tuple(
            tuple(pieces[row * self.columns : (row + 1) * self.columns]) for row in range(self.rows)
        )
        line = f"Stags taken: {int(state.taken)}. Step {int(state.turn)} of {self.steps}"
        ground = (("grass",) * self.columns,) * self.rows
        return Scene(grid=Grid(cells, ground=ground), lines=(line,))


def cell_after(config: TrustDilemma, cell: int, move: int) -> int:
    """The cell a move leads to; a move off the grid stays in place."""
    there = neighbour(config, cell, move)
    return int(cell) if there == NOWHERE else there


def is_taken(config: TrustDilemma, state: TrustDilemmaState, cell: int) -> bool:
    """Whether a hunter, the stag or a plant is on a cell."""
    found = cell == state.hunters[0] or cell == state.hunters[1] or cell == state.stag
    for plant in range(config.plants):
        found = found or cell == state.growing[plant]
    return bool(found)


def free_cell(config: TrustDilemma, state: TrustDilemmaState) -> int:
    """A cell with nothing on it, drawn evenly."""
    free = 0
    for cell in range(config.rows * config.columns):
        free += not is_taken(config, state, cell)
    left = randint(state, free)
    for cell in range(config.rows * config.columns):
        if not is_taken(config, state, cell):
            if left == 0:
                return cell
            left -= 1
    return -1


def meet(config: TrustDilemma, state: TrustDilemmaState, out: Any) -> None:
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


def pick(config: TrustDilemma, state: TrustDilemmaState, out: Any) -> None:
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


@agent("stag-hunter", needs=("array",))
class StagHunter(ScriptedAgent[TrustDilemma]):
    """Hunts the stag of the trust dilemma, or picks plants.

    "together" walks next to the stag and steps on it once the other hunter is within one step of
    it, "rash" steps on it at once, "plants" goes to the nearest plant and around the stag.
    """

    def __init__(
        self,
        *,
        style: Annotated[
            Literal["together", "rash", "plants"], Meta(description="how it hunts")
        ] = "together",
    ) -> None:
        super().__init__()
        self._style = style

    def choose(self, turn: Turn[TrustDilemma]) -> int:
        game = turn.game
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
    return list(zip(SOUTHWARD, EASTWARD, strict=True)).index(step)
