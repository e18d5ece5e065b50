"""Harvest: apples that grow back only where others are left, and a beam to fine the greedy with.

A commons: everybody gains by eating and all lose if a patch is eaten bare, for then it never grows
back. All players act at once. In a step they move, eat, shine their beams and then apples grow: on
each site without apple and player, with a probability that depends on how many apples lie within
distance 2 (which are the same 12 cells by city-block and by straight-line distance):

    apples within distance 2    0    1       2      3 or more
    chance in a step            0    0.005   0.02   0.05

The game is from Perolat, Leibo, Zambaldi, Beattie, Tuyls and Graepel, "A multi-agent reinforcement
learning model of common-pool resource appropriation", NIPS 2017, where the beam is a time-out; the
table, the fine of 50 and the cost of 1 from Hughes et al., "Inequity aversion improves cooperation
in intertemporal social dilemmas", NeurIPS 2018. There five players with a view of 15 by 15 cells
play 1,000 steps. Their map is not reproduced: where no `level` is given, patches of five apples are
laid out on the grid, too far apart to help each other. On a `random` map there are `patches` of
them, walls around, and any layout in which they are so far apart is about as likely as any other.
There can be as many as have room at regular distances of five rows and columns; maps as full as
that are a little nearer to regular ones.

Beams are three cells wide and reach five cells, the outer two from beside the player on; walls and
players stop them. Of several who head for one cell a random one gets it; nobody enters a cell whose
occupant stays there, and two cannot swap.

Checked against that table, rates measured within binomial bounds; a patch eaten bare stays bare.
Random patches: their number and distances by scipy's labels, and that layouts are alike by a count.

The array view has the planes of `palestra_envs.grid.social_dilemmas.game` and no others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra import InvalidOption, Rng, check_ranges, environment
from palestra.grids.windows import cells_in, on_map
from palestra.rules import all_act, randint, truncate, uniform

from palestra_envs.grid.social_dilemmas.game import SocialDilemma
from palestra_envs.grid.social_dilemmas.rules import (
    APPLE,
    FLOOR,
    ORCHARD,
    SPROUT,
    WALL,
    come_and_go,
    eat,
    enter_all,
    keep_score,
    lay_out,
    look,
    player_at,
    shine,
    walk,
)

ACTIONS = (
    *("stay", "forward", "backward", "step-left", "step-right", "turn-left", "turn-right"),
    "fine",
)
GROWTH = (0.0, 0.005, 0.02, 0.05)  # by apples within RADIUS; the last for all more
RADIUS = 2
PATCH = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
KINDS = {
    "@": "a wall",
    "A": "a cell on which apples grow",
    "P": "a cell to start on",
    ".": "floor",
    " ": "floor",
}
APART = 5  # rows and columns, added up, from one patch's middle to the next; at least
EDGE = 2  # rows or columns from a patch's middle to the map's edge; at least
SWEEPS = 40  # attempts to move a patch from where the regular layout has it

Cell = tuple[int, int]  # row and column


@environment(
    "grid/Harvest-v0",
    family="grid",
    tags=("commons", "social-dilemma", "partial-view", "chance"),
    paper=(
        "Perolat et al. (2017), A multi-agent reinforcement learning model of common-pool "
        "resource appropriation; Hughes et al. (2018), Inequity aversion improves cooperation "
        "in intertemporal social dilemmas"
    ),
    splits={
        "16x38-5p": {"rows": 16, "columns": 38, "num_players": 5, "sight": 7, "max_steps": 1000},
        "time-out": {"fine": 0.0, "fine_cost": 0.0, "time_out": 25},
        "random": {"map": "random"},
        "held-out-24x36": {
            "map": "random",
            "rows": 24,
            "columns": 36,
            "patches": 18,
            "num_players": 6,
        },
    },
    players=(1, 10),
)
@dataclass(frozen=True)
class Harvest(SocialDilemma):
    """You gather apples on a map that you share with other players.

    All players choose one action at the same time:
    - "forward", "backward", "step-left", "step-right": step one cell, seen from the way you face,
      without turning. Walls cannot be entered. If several players head for one cell, a random one
      of them gets it. A cell whose player stays there cannot be entered, nor can two players swap.
    - "turn-left", "turn-right": turn on the spot by a quarter.
    - "fine": shine a beam ahead of you, three cells wide and five long; its outer cells begin
      beside you. Walls and players stop it. Every player it hits is fined, and it costs you too.
    - "stay": do nothing.
    Beams are shone after all have moved. You eat an apple by stepping on it, and earn 1. Then
    apples grow, on the map's apple cells that hold neither apple nor player. The chance that one
    grows on such a cell in a step depends on the apples within two steps of it (rows and columns
    added up): none 0, one 0.005, two 0.02, three or more 0.05. Where all apples are gone, none ever
    grows again.
    Places are given as (cells ahead of you, cells to your right); negative numbers are behind you
    and to your left. How others face is given as you see it: "ahead" is the way you face. In what
    you see, @ is a wall, A an apple, and a digit the player of that number.
    """

    patches: int = 6

    actions = ACTIONS
    planes = 7
    kinds = KINDS
    least_rows = least_columns = 6

    def __post_init__(self) -> None:
        check_ranges(self, (("patches", 1, None),))
        super().__post_init__()

    def check_random(self) -> None:
        most = regular(self.rows - 2 * EDGE) * regular(self.columns - 2 * EDGE)
        if self.patches > most:
            raise InvalidOption(
                f"patches must be from 1 to {most} on a random map of {self.rows} rows "
                f"and {self.columns} columns, not {self.patches}; make it larger"
            )

    def build(self) -> list[str]:
        """Walls around, and patches of five apples, three cells or more from one another."""
        grid = [list(line) for line in self.outline()]
        for row in range(3, self.rows - 2, APART):
            for column in range(3, self.columns - 2, APART):
                for down, across in PATCH:
                    grid[row + down][column + across] = "A"
        return ["".join(line) for line in grid]

    @property
    def room(self) -> int:
        return super().room - (len(PATCH) * self.patches if self.random else 0)

    def fields(self) -> list[tuple[Any, ...]]:
        """Also the middles of patches on a random map, counted row by row."""
        return [*super().fields(), ("middle", np.int32, self.patches if self.random else 1)]

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        lay_out(config, state)
        if config.random:
            plant(config, state)
        enter_all(config, state)
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        walk(config, state, actions)
        eat(config, state, out)
        shine(config, state, actions, out)
        come_and_go(config, state)
        regrow(config, state)
        keep_score(config, state, out)
        if state.turn + 1 >= config.max_steps:
            truncate(state)

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """See `palestra_envs.grid.social_dilemmas.game` for the planes."""
        look(config, state, seat, view)

    def redraw(self, imagined: Any, hidden: NDArray[np.bool_], rng: Rng) -> None:
        """Move patches about, like `plant`, so that each still has those of its apples in sight.

        No move leaves a patch with more bare cells in sight, so that no more than need be is taken
        to have been eaten.
        """
        cells = imagined.cells
        ripe = set(cells_in(~hidden & (cells == APPLE)))
        bare = set(cells_in(~hidden & (cells != APPLE)))
        middles = [divmod(int(middle), self.columns) for middle in imagined.middle]
        for _ in range(SWEEPS):
            for patch, middle in enumerate(middles):
                shown = ripe.intersection(patch_at(middle))
                there = rng.choice(patch_at(min(shown))) if shown else self._anywhere(rng)
                others = middles[:patch] + middles[patch + 1 :]
                fewer = len(bare.intersection(patch_at(there))) <= len(
                    bare.intersection(patch_at(middle))
                )
                if fewer and shown.issubset(patch_at(there)) and self._fits(there, others):
                    middles[patch] = there
        cells[cells != WALL] = FLOOR
        for patch, middle in enumerate(middles):
            imagined.middle[patch] = middle[0] * self.columns + middle[1]
            for cell in patch_at(middle):
                cells[cell] = APPLE if cell in ripe else ORCHARD

    def _anywhere(self, rng: Rng) -> Cell:
        """A random place for the middle of a patch."""
        return rng.between(EDGE, self.rows - EDGE - 1), rng.between(EDGE, self.columns - EDGE - 1)

    def _fits(self, middle: Cell, others: Iterable[Cell]) -> bool:
        """Whether a patch may lie there beside these."""
        inside = all(
            EDGE <= at < side - EDGE
            for at, side in zip(middle, (self.rows, self.columns), strict=True)
        )
        row, column = middle
        return inside and all(abs(row - r) + abs(column - c) >= APART for r, c in others)

    def told_of_map(self) -> str:
        patches = "patch" if self.patches == 1 else "patches"
        return (
            f"Apples grow in {self.patches} {patches} of five cells, a cell and its four "
            "neighbours; cells of different patches are at least three steps apart. Players start "
            "on other cells. You see apples where they lie, but not where they may grow."
        )


def plant(config: Any, state: Any) -> None:
    """Put patches anywhere far enough apart: a Metropolis walk from a regular layout.

    Each patch in turn is moved to a random place if that is far enough from the others, many times
    over; in the long run such a walk comes to every layout alike.
    """
    middle, cells, columns = state.middle, state.cells, config.columns
    place_regularly(config, state)
    for _ in range(SWEEPS):
        for patch in range(config.patches):
            row = EDGE + randint(state, config.rows - 2 * EDGE)
            column = EDGE + randint(state, columns - 2 * EDGE)
            if is_apart(config, state, patch, row, column):
                middle[patch] = row * columns + column
    for patch in range(config.patches):
        row, column = middle[patch] // columns, middle[patch] % columns
        for part in range(len(PATCH)):
            cells[row + PATCH[part][0], column + PATCH[part][1]] = APPLE


def place_regularly(config: Any, state: Any) -> None:
    """Put patches on random sites of a regular grid that lies anywhere on the map."""
    high, wide = config.rows - 2 * EDGE, config.columns - 2 * EDGE
    across = regular(wide)
    sites, placed = regular(high) * across, 0
    top = EDGE + randint(state, (high - 1) % APART + 1)
    left = EDGE + randint(state, (wide - 1) % APART + 1)
    for site in range(sites):
        if randint(state, sites - site) < config.patches - placed:
            row, column = top + APART * (site // across), left + APART * (site % across)
            state.middle[placed] = row * config.columns + column
            placed += 1


def regular(places: int) -> int:
    """How many of so many places in a line are a regular distance apart."""
    return (places - 1) // APART + 1


def is_apart(config: Any, state: Any, patch: int, row: int, column: int) -> bool:
    """Whether a patch with its middle there has no apple that could help one of the others."""
    middle = state.middle
    for other in range(config.patches):
        r, c = middle[other] // config.columns, middle[other] % config.columns
        if other != patch and abs(r - row) + abs(c - column) < APART:
            return False
    return True


def patch_at(middle: Cell) -> list[Cell]:
    """The cells of a patch."""
    return [(middle[0] + down, middle[1] + across) for down, across in PATCH]


def regrow(config: Any, state: Any) -> None:
    """Let apples grow, each as likely as the apples around its site before any has grown."""
    cells = state.cells
    for row in range(config.rows):
        for column in range(config.columns):
            if cells[row, column] == ORCHARD:
                near = min(apples_near(config, state, row, column), len(GROWTH) - 1)
                grows = near > 0 and uniform(state) < GROWTH[near]
                if grows and player_at(config, state, row, column) < 0:
                    cells[row, column] = SPROUT
    for row in range(config.rows):
        for column in range(config.columns):
            if cells[row, column] == SPROUT:
                cells[row, column] = APPLE


def apples_near(config: Any, state: Any, row: int, column: int) -> int:
    """How many apples lie within distance 2 of a cell, its own left out."""
    cells, found = state.cells, 0
    for down in range(-RADIUS, RADIUS + 1):
        for across in range(abs(down) - RADIUS, RADIUS - abs(down) + 1):
            r, c = row + down, column + across
            if (down != 0 or across != 0) and on_map(config, r, c) and cells[r, c] == APPLE:
                found += 1
    return found
