"""Clean Up: apples grow only while players keep the river clean, which pays nothing.

A public good: cleaning takes time away from the orchard, and all players eat what it makes grow.
All players act at once. In a step they move, eat and shine their beams, and then apples and waste
appear. Both depend on d, the share of the river that waste covers after cleaning:

    an apple, on each orchard cell without apple and player     0.05 * (1 - d / 0.4), at least 0
    waste, on one random clean cell of the river                0.5 if d < 0.4, else 0

The four numbers are options: `apple_rate`, `depletion` (0.4), `restoration` (0.0; up to this share
the chance of an apple is full, and from there it falls linearly to 0 at `depletion`) and
`waste_rate`.

The game, the numbers, the fine of 50 and its cost of 1 are from Hughes et al., "Inequity aversion
improves cooperation in intertemporal social dilemmas", NeurIPS 2018; the limits are named as in the
public implementation. There five players with a window of 15 by 15 cells play 1,000 steps, and at
the start waste covers just too much for an apple to grow. Their map is not reproduced: where no
`level` is given, the western third of the map is river, every second row of it full of waste, and
the eastern third orchard. On a `random` map the river lies along a random side and the orchard
along the opposite one, with walls around and floor in between. Each is at least one line of cells
deep and less than half of all lines, with all such depths equally likely; waste covers the share
`initial_waste` of the river, rounded to whole cells, at random. The public implementation tries
clean cells one after another, each with that chance, until one takes waste; here, as in the paper,
there is one draw for the whole river.

Both beams are three cells wide and reach five cells; the outer two rays start beside the player.
Walls and players stop them, and each ray of a cleaning beam ends on the first waste, which it
clears. Beams are shone in a random order, which only matters for cleaning. Players walk through
water. Moves are those of `palestra_envs.grid.social_dilemmas.harvest`.

Checked against those closed forms: rates of apples and waste measured within binomial bounds.
Random maps: their parts and the share of waste by scipy's labels.

Left out: the map of the paper's authors, of which no exact drawing is published.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import InvalidOption, Meta, Rng, Vocabulary, beside, check_ranges, environment
from palestra.grids.compass import FACING_NORTH, FACING_SOUTH, FACING_WEST
from palestra.grids.levels import MAX_SIDE
from palestra.grids.windows import places_of
from palestra.rules import all_act, randint, truncate, uniform

from palestra_envs.grid.social_dilemmas.game import SocialDilemma
from palestra_envs.grid.social_dilemmas.harvest import ACTIONS as HARVEST_ACTIONS
from palestra_envs.grid.social_dilemmas.options import DilemmaState
from palestra_envs.grid.social_dilemmas.rules import (
    APPLE,
    CLEANINGS,
    FINES,
    FLOOR,
    ORCHARD,
    PLAYERS,
    RIVER,
    WALL,
    WASTE,
    WASTES,
    WATERS,
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

KINDS = {
    "@": "a wall",
    "B": "a cell on which apples grow",
    "H": "a cell of the river, with waste on it at the start",
    "R": "a cell of the river, clean at the start",
    "S": "a stream, which never takes waste",
    "P": "a cell to start on",
    ".": "floor",
    " ": "floor",
}


@environment(
    "grid/CleanUp-v0",
    family="grid",
    tags=("public-good", "social-dilemma", "partial-view", "chance"),
    paper=(
        "Hughes et al. (2018), Inequity aversion improves cooperation in intertemporal social "
        "dilemmas"
    ),
    splits={
        "25x18-5p": {"rows": 25, "columns": 18, "num_players": 5, "sight": 7, "max_steps": 1000},
        "random": {"map": "random"},
        "held-out-20x28": {
            "map": "random",
            "rows": 20,
            "columns": 28,
            "initial_waste": 0.7,
            "num_players": 6,
        },
    },
)
@dataclass(frozen=True)
class CleanUp(SocialDilemma[DilemmaState]):
    """Players gather apples, which grow only while the players keep a river clean without pay.

    Actions are 0 stay, 1 forward, 2 backward, 3 step-left, 4 step-right, 5 turn-left, 6 turn-right,
    7 fine and 8 clean. An observation has all planes of `palestra_envs.grid.social_dilemmas.game`.
    An apple pays 1.
    """

    rows: Annotated[int, Meta(ge=3, le=MAX_SIDE, description="rows of the map, in cells")] = 12
    columns: Annotated[int, Meta(ge=5, le=MAX_SIDE, description="columns of the map, in cells")] = (
        18
    )
    apple_rate: Annotated[
        float,
        Meta(ge=0, le=1, description="chance per step that an apple grows on a free orchard cell"),
    ] = 0.05
    waste_rate: Annotated[
        float, Meta(ge=0, le=1, description="chance per step that waste appears on the river")
    ] = 0.5
    depletion: Annotated[
        float,
        Meta(gt=0, le=1, description="share of waste on the river at which apples stop growing"),
    ] = 0.4
    restoration: Annotated[
        float,
        Meta(
            ge=0,
            lt=1,
            description="share of waste on the river up to which apples grow at the full rate",
        ),
    ] = 0.0
    initial_waste: Annotated[
        float,
        Meta(ge=0, le=1, description="share of waste on the river at the start of a random map"),
    ] = 0.5

    vocabulary = Vocabulary(
        words=("apple", "river", "waste", "beam", "orchard", "fine", "eat", "gather"),
    )
    rules_text = beside(__file__, "clean_up.txt")

    actions = (*HARVEST_ACTIONS, "clean")
    planes = 10
    kinds = KINDS

    def validate(self) -> None:
        super().validate()
        if self.restoration >= self.depletion:
            raise InvalidOption(
                f"restoration must be below depletion, not {self.restoration} and {self.depletion}"
            )

    def check_random(self) -> None:
        check_ranges(self, (("rows", 5, MAX_SIDE), ("columns", 5, MAX_SIDE)))

    def build(self) -> list[str]:
        """The lines of a map: a third river, a third floor, a third orchard, and walls around."""
        third = (self.columns - 2) // 3
        bank = "." * (self.columns - 2 - 2 * third)
        inner = [f"@{'HR'[row % 2] * third}{bank}{'B' * third}@" for row in range(self.rows - 2)]
        return ["@" * self.columns, *inner, "@" * self.columns]

    @property
    def room(self) -> int:
        if not self.random:
            return super().room
        rows, columns = self.rows - 2, self.columns - 2
        return min((n - 2 * deepest(n)) * m for n, m in ((rows, columns), (columns, rows)))

    def first_share(self, full: int) -> float:
        return self.initial_waste if full == WASTE else 0.0

    @staticmethod
    def init_state(config: CleanUp, state: DilemmaState) -> None:
        lay_out(config, state)
        if config.random:
            landscape(config, state)
            spoil(config, state)
        enter_all(config, state)
        all_act(state)

    @staticmethod
    def apply_actions(config: CleanUp, state: DilemmaState, actions: Any, out: Any) -> None:
        walk(config, state, actions)
        eat(config, state, out)
        shine(config, state, actions, out)
        come_and_go(config, state)
        grow_and_pollute(config, state)
        keep_score(config, state, out)
        if state.turn + 1 >= config.max_steps:
            truncate(state)

    @staticmethod
    def write_observation(config: CleanUp, state: DilemmaState, seat: int, obs: Any) -> None:
        """See `palestra_envs.grid.social_dilemmas.game` for the planes."""
        write_window(config, state, seat, obs)

    def redraw(self, imagined: DilemmaState, hidden: NDArray[np.bool_], rng: Rng) -> None:
        """Choose among the sides and depths that fit, each as likely as on a new map."""
        cells = imagined.cells
        seen, apples, waste = ~hidden & (cells != WALL), cells == APPLE, cells == WASTE
        wet, fitting, weights = waste | (cells == RIVER), [], []
        for side in range(4):
            across = span(self.config, side)
            depths = range(1, deepest(across) + 1)
            far = self._lines(side)
            rivers = [n for n in depths if ((far < n) == wet)[seen].all()]
            orchards = [across - n for n in depths if (far >= across - n)[seen & apples].all()]
            fitting.append((far, rivers, orchards))
            weights.append(len(rivers) * len(orchards) / len(depths) ** 2)
        far, rivers, orchards = fitting[rng.weighted(weights)]
        river, orchard = rng.choice(rivers), rng.choice(orchards)
        ground = np.where(far < river, RIVER, np.where(far >= orchard, ORCHARD, FLOOR))
        bare = (cells != WALL) & ~(seen & (apples | waste))
        cells[bare] = ground[bare]

    def _lines(self, side: int) -> NDArray[Any]:
        """By cell, how many lines of cells lie between it and a side's wall."""
        columns = range(self.columns)
        return np.array(
            [[line(self.config, side, row, c) for c in columns] for row in range(self.rows)]
        )

    def random_map_text(self) -> str:
        return (
            "A river lies along one of its sides and the orchard along the opposite one, each at "
            "least one line of cells deep and less than half of the way across; between them is "
            "floor, on which players start. At the start waste covers "
            f"{100 * self.initial_waste:g}% of the river. You see water, waste and apples, but not "
            "where apples may grow."
        )

    def pollution(self, state: DilemmaState) -> float:
        """The share of the river that waste covers."""
        waste, clean = river_cells(self.config, state)
        return waste / max(1, waste + clean)

    # Words

    def option_sentences(self) -> Iterator[str]:
        yield from super().option_sentences()
        yield (
            "In a step an apple grows on a cell of the orchard with neither apple nor player with "
            f"a chance of {self.apple_rate:g} while at most {self.restoration:.0%} of the river is "
            "covered with waste. The chance falls in a straight line to 0 where "
            f"{self.depletion:.0%} is covered. Below that share, waste also appears on one random "
            f"clean cell of the river with a chance of {self.waste_rate:g} in a step."
        )

    def scenery(self, obs: NDArray[Any]) -> dict[str, NDArray[Any]]:
        return {**super().scenery(obs), "~": obs[WATERS], "H": obs[WASTES]}

    def listing(self, obs: NDArray[Any]) -> dict[str, list[str]]:
        """Apples, beams, players, waste, and water on which a player stands."""
        stood_on = obs[PLAYERS : PLAYERS + 4].max(axis=0) > 0
        stood_on[self.sight, self.sight] = True
        return super().listing(obs) | {
            "waste": places_of(obs[WASTES]),
            "water under a player": places_of(obs[WATERS] * stood_on),
            "cleaning beam": places_of(obs[CLEANINGS]),
        }

    def beams_in(self, obs: NDArray[Any]) -> NDArray[Any]:
        return obs[FINES] | obs[CLEANINGS]


def deepest(across: int) -> int:
    """The greatest depth of river or orchard on a map this many lines across: less than half."""
    return (across - 1) // 2


def span(config: CleanUp, side: int) -> int:
    """How many lines of cells there are between a side's wall and the opposite one."""
    return (config.rows if side in (FACING_NORTH, FACING_SOUTH) else config.columns) - 2


def line(config: CleanUp, side: int, row: int, column: int) -> int:
    """How many lines of cells lie between a cell and a side's wall."""
    if side in (FACING_NORTH, FACING_SOUTH):
        return row - 1 if side == FACING_NORTH else config.rows - 2 - row
    return column - 1 if side == FACING_WEST else config.columns - 2 - column


def landscape(config: CleanUp, state: DilemmaState) -> None:
    """Lay a river along a random side and an orchard along the opposite one."""
    side = randint(state, 4)
    across = span(config, side)
    river = 1 + randint(state, deepest(across))
    orchard = 1 + randint(state, deepest(across))
    for row in range(1, config.rows - 1):
        for column in range(1, config.columns - 1):
            far = line(config, side, row, column)
            if far < river:
                state.cells[row, column] = RIVER
            elif far >= across - orchard:
                state.cells[row, column] = ORCHARD


def spoil(config: CleanUp, state: DilemmaState) -> None:
    """Cover a share of the river, on random cells, with the waste of the start."""
    _, clean = river_cells(config, state)
    waste, cells = int(config.initial_waste * clean + 0.5), state.cells
    for row in range(config.rows):
        for column in range(config.columns):
            if cells[row, column] == RIVER:
                if randint(state, clean) < waste:
                    cells[row, column] = WASTE
                    waste -= 1
                clean -= 1


def river_cells(config: CleanUp, state: DilemmaState) -> tuple[int, int]:
    """How many cells of the river waste covers, and how many are clean."""
    cells, waste, clean = state.cells, 0, 0
    for row in range(config.rows):
        for column in range(config.columns):
            waste += cells[row, column] == WASTE  # no jumps: rows of cells fit into a vector
            clean += cells[row, column] == RIVER
    return waste, clean


def apple_chance(config: CleanUp, waste: int, clean: int) -> float:
    """The chance that an apple grows on a free cell of the orchard."""
    covered = waste / max(1, waste + clean)
    left = (config.depletion - covered) / (config.depletion - config.restoration)
    return config.apple_rate * min(1.0, max(0.0, left))


def grow_and_pollute(config: CleanUp, state: DilemmaState) -> None:
    """Let apples and waste appear, with chances by the waste there is now."""
    waste, clean = river_cells(config, state)
    chance = apple_chance(config, waste, clean)
    if chance > 0:
        grow(config, state, chance)
    spreads = clean > 0 and waste < config.depletion * (waste + clean)
    if spreads and uniform(state) < config.waste_rate:
        pollute(config, state, randint(state, clean))


def grow(config: CleanUp, state: DilemmaState, chance: float) -> None:
    """Let an apple grow with this chance on every free cell of the orchard."""
    cells = state.cells
    for row in range(config.rows):
        for column in range(config.columns):
            grows = cells[row, column] == ORCHARD and uniform(state) < chance
            if grows and player_at(config, state, row, column) < 0:
                cells[row, column] = APPLE


def pollute(config: CleanUp, state: DilemmaState, skip: int) -> None:
    """Put waste on a clean cell of the river, `skip` others before it row by row."""
    cells = state.cells
    for row in range(config.rows):
        for column in range(config.columns):
            if cells[row, column] == RIVER:
                if skip == 0:
                    cells[row, column] = WASTE
                skip -= 1
