"""Harvest: apples grow back only near other apples, and players can fine the greedy with a beam.

This is a commons: each player gains by eating, and all lose if a patch is eaten bare, because it
never grows back. All players act at once. In a step they move, eat and shine their beams, and then
apples grow: on each site without apple and player, with a probability that depends on how many
apples lie within distance 2 (the same 12 cells by city-block and by straight-line distance):

    apples within distance 2    0    1       2      3 or more
    chance in a step            0    0.005   0.02   0.05

The game is from Perolat, Leibo, Zambaldi, Beattie, Tuyls and Graepel, "A multi-agent reinforcement
learning model of common-pool resource appropriation", NIPS 2017, where the beam is a time-out; the
table, the fine of 50 and the cost of 1 are from Hughes et al., "Inequity aversion improves
cooperation in intertemporal social dilemmas", NeurIPS 2018. There five players with a window of 15
by 15 cells play 1,000 steps. Their map is not reproduced: where no `level` is given, patches of
five apples are laid out on the grid, too far apart to help each other grow. A `random` map has
`patches` of them and walls around, and all layouts in which they are far enough apart are about
equally likely. There can be as many as fit at regular distances of five rows and columns; maps that
full are slightly more regular.

Beams are three cells wide and reach five cells; the outer two rays start beside the player. Walls
and players stop them. Of several players who head for one cell a random one gets it; nobody enters
a cell whose occupant stays there, and two players cannot swap.

Checked against that table, with rates measured within binomial bounds; a patch eaten bare stays
bare. Random patches: their number and distances by scipy's labels, and the frequencies of layouts
by a count.

Left out: the map of the papers' authors, of which no exact drawing is published.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import InvalidOption, Meta, Rng, Shape, Vocabulary, beside, environment
from palestra.grids.levels import MAX_SIDE
from palestra.grids.windows import cells_in, on_map
from palestra.rules import all_act, randint, truncate, uniform

from palestra_envs.grid.social_dilemmas.game import SocialDilemma
from palestra_envs.grid.social_dilemmas.options import DilemmaState
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
    player_at,
    shine,
    walk,
    write_window,
)

ACTIONS = (
    *("stay", "forward", "backward", "step-left", "step-right", "turn-left", "turn-right"),
    "fine",
)
GROWTH = (0.0, 0.005, 0.02, 0.05)  # by apples within RADIUS; the last for more
RADIUS = 2
PATCH = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
KINDS = {
    "@": "a wall",
    "A": "a cell on which apples grow",
    "P": "a cell to start on",
    ".": "floor",
    " ": "floor",
}
APART = 5  # least distance of the middles of patches: rows and columns added up
EDGE = 2  # least distance of a patch's middle from the map's edge, in rows or columns
SWEEPS = 40  # attempts to move each patch away from its place in the regular layout
LAYOUTS = 20  # tries to lay out patches that fit what is in sight

Cell = tuple[int, int]  # row and column


class HarvestState(DilemmaState):
    """A social dilemma whose apples grow in patches."""

    # the middle of each patch of a random map, numbered row by row
    middle: Annotated[NDArray[np.int32], Shape("middles")]


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
)
@dataclass(frozen=True)
class Harvest(SocialDilemma[HarvestState]):
    """Players gather apples that grow back only near others, and fine one another with beams.

    Actions are 0 stay, 1 forward, 2 backward, 3 step-left, 4 step-right, 5 turn-left, 6 turn-right
    and 7 fine. An observation has the first seven planes of
    `palestra_envs.grid.social_dilemmas.game`. An apple pays 1.
    """

    rows: Annotated[int, Meta(ge=6, le=MAX_SIDE, description="rows of the map, in cells")] = 12
    columns: Annotated[int, Meta(ge=6, le=MAX_SIDE, description="columns of the map, in cells")] = (
        24
    )
    patches: Annotated[int, Meta(ge=1, description="patches of five apples on a random map")] = 6

    vocabulary = Vocabulary(
        words=("apple", "beam", "fine", "eat", "gather"),
    )
    rules_text = beside(__file__, "harvest.txt")

    actions = ACTIONS
    planes = 7
    kinds = KINDS

    def check_random(self) -> None:
        most = regular(self.rows - 2 * EDGE) * regular(self.columns - 2 * EDGE)
        if self.patches > most:
            raise InvalidOption(
                f"patches must be from 1 to {most} on a random map of {self.rows} rows "
                f"and {self.columns} columns, not {self.patches}; make it larger"
            )

    def build(self) -> list[str]:
        """The lines of a map with walls around and patches of five apples, well apart."""
        grid = [list(line) for line in self.outline()]
        for row in range(3, self.rows - 2, APART):
            for column in range(3, self.columns - 2, APART):
                for down, across in PATCH:
                    grid[row + down][column + across] = "A"
        return ["".join(line) for line in grid]

    @property
    def room(self) -> int:
        return super().room - (len(PATCH) * self.patches if self.random else 0)

    @property
    def middles(self) -> int:
        """How many middles of patches a state has; one, which is unused, on a fixed map."""
        return self.patches if self.random else 1

    @staticmethod
    def init_state(config: Harvest, state: HarvestState) -> None:
        lay_out(config, state)
        if config.random:
            plant(config, state)
        enter_all(config, state)
        all_act(state)

    @staticmethod
    def apply_actions(config: Harvest, state: HarvestState, actions: Any, out: Any) -> None:
        walk(config, state, actions)
        eat(config, state, out)
        shine(config, state, actions, out)
        come_and_go(config, state)
        regrow(config, state)
        keep_score(config, state, out)
        if state.turn + 1 >= config.max_steps:
            truncate(state)

    @staticmethod
    def write_observation(config: Harvest, state: HarvestState, seat: int, obs: Any) -> None:
        """See `palestra_envs.grid.social_dilemmas.game` for the planes."""
        write_window(config, state, seat, obs)

    def redraw(self, imagined: HarvestState, hidden: NDArray[np.bool_], rng: Rng) -> None:
        """Lay out patches around the apples in sight and move them about, like `plant`.

        No move leaves a patch with more bare cells in sight, so that as few eaten apples as
        possible are assumed.
        """
        cells = imagined.cells
        ripe = set(cells_in(~hidden & (cells == APPLE)))
        bare = set(cells_in(~hidden & (cells != APPLE)))
        true = [divmod(int(middle), self.columns) for middle in imagined.middle]
        middles = self._layout(ripe, bare, rng) or true
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

    def _layout(self, ripe: set[Cell], bare: set[Cell], rng: Rng) -> list[Cell]:
        """Middles of patches that hold these apples, with few of the bare cells; none if not found.

        Apples at most two steps apart are of one patch.
        """
        inside = [divmod(at, self.columns) for at in range(self.rows * self.columns)]
        for _ in range(LAYOUTS):
            middles: list[Cell] = []
            left = sorted(ripe)
            while left and len(middles) < self.patches:
                around = [m for m in patch_at(left[0]) if self._fits(m, middles)]
                if not around:
                    break
                middles.append(min(around, key=lambda m: self._cost(m, left, bare, rng)))
                left = [cell for cell in left if cell not in patch_at(middles[-1])]
            rng.shuffle(inside)
            for middle in sorted(inside, key=lambda m: len(bare.intersection(patch_at(m)))):
                if len(middles) < self.patches and self._fits(middle, middles):
                    middles.append(middle)
            if not left and len(middles) == self.patches:
                return middles
        return []

    def _cost(
        self, middle: Cell, left: Sequence[Cell], bare: set[Cell], rng: Rng
    ) -> tuple[int, int, float]:
        """How bad a middle is: apples it leaves close by, bare cells, and luck."""
        patch = set(patch_at(middle))
        missed = sum(
            cell not in patch and min(_steps(cell, part) for part in patch) <= 2 for cell in left
        )
        return missed, len(bare & patch), rng.random()

    def _anywhere(self, rng: Rng) -> Cell:
        """A random place for the middle of a patch."""
        return rng.between(EDGE, self.rows - EDGE - 1), rng.between(EDGE, self.columns - EDGE - 1)

    def _fits(self, middle: Cell, others: Iterable[Cell]) -> bool:
        """Whether a patch with this middle is on the map and far enough from others."""
        inside = all(
            EDGE <= at < side - EDGE
            for at, side in zip(middle, (self.rows, self.columns), strict=True)
        )
        return inside and all(_steps(middle, other) >= APART for other in others)

    def random_map_text(self) -> str:
        patches = "patch" if self.patches == 1 else "patches"
        return (
            f"Apples grow in {self.patches} {patches} of five cells, a cell and its four "
            "neighbours; cells of different patches are at least three steps apart. Players start "
            "on other cells. You see apples where they lie, but not where they may grow."
        )


def _steps(one: Cell, other: Cell) -> int:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def plant(config: Harvest, state: HarvestState) -> None:
    """Put patches in random places far enough apart: a Metropolis walk from a regular layout.

    Each patch in turn is moved to a random place if that is far enough from the others, many times
    over; in the long run such a walk visits every layout equally often.
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


def place_regularly(config: Harvest, state: HarvestState) -> None:
    """Put patches on random sites of a regular grid with a random offset."""
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
    """How many patches, at the least distance, fit on so many places in a line."""
    return (places - 1) // APART + 1


def is_apart(config: Harvest, state: HarvestState, patch: int, row: int, column: int) -> bool:
    """Whether a patch with its middle there is too far from the others to help them grow."""
    middle = state.middle
    for other in range(config.patches):
        r, c = middle[other] // config.columns, middle[other] % config.columns
        if other != patch and abs(r - row) + abs(c - column) < APART:
            return False
    return True


def patch_at(middle: Cell) -> list[Cell]:
    """The cells of a patch."""
    return [(middle[0] + down, middle[1] + across) for down, across in PATCH]


def regrow(config: Harvest, state: HarvestState) -> None:
    """Let apples grow, with chances by the apples there were before any has grown."""
    cells, grown = state.cells, 0
    for row in range(config.rows):
        for column in range(config.columns):
            if cells[row, column] == ORCHARD:
                near = min(apples_near(config, state, row, column), len(GROWTH) - 1)
                grows = near > 0 and uniform(state) < GROWTH[near]
                if grows and player_at(config, state, row, column) < 0:
                    cells[row, column] = SPROUT
                    grown += 1
    for row in range(config.rows if grown else 0):
        for column in range(config.columns):
            if cells[row, column] == SPROUT:
                cells[row, column] = APPLE


def apples_near(config: Harvest, state: HarvestState, row: int, column: int) -> int:
    """How many apples lie within distance 2 of a cell, the cell itself excluded."""
    cells, found = state.cells, 0
    for down in range(-RADIUS, RADIUS + 1):
        for across in range(abs(down) - RADIUS, RADIUS - abs(down) + 1):
            r, c = row + down, column + across
            if (down != 0 or across != 0) and on_map(config, r, c) and cells[r, c] == APPLE:
                found += 1
    return found
