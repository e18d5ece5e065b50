"""Clean Up: apples grow only while somebody keeps the river clean, which pays nothing.

A public good: cleaning costs time away from the orchard and everybody eats what it makes grow. All
players act at once. In a step they move, eat, shine their beams, and then apples and waste appear,
both by the share of the river that waste covers after cleaning, called d:

    an apple, on each orchard cell without apple and player     0.05 * (1 - d / 0.4), at least 0
    waste, on one random clean cell of the river                0.5 if d < 0.4, else 0

The four numbers are options: `apple_rate`, `depletion` (0.4), `restoration` (0.0, up to which the
chance of an apple is full; the line falls from there to `depletion`) and `waste_rate`.

The game, the numbers, the fine of 50 and its cost of 1 are from Hughes et al., "Inequity aversion
improves cooperation in intertemporal social dilemmas", NeurIPS 2018; the limits are named as in the
public implementation. There five players with a view of 15 by 15 cells play 1,000 steps, and at the
start waste covers just more than lets an apple grow. Their map is not reproduced: where no `level`
is given, the western third of the map is river, every second row of it full of waste, and the
eastern third orchard. On a `random` map the river lies along a random side and the orchard along
the opposite one, with walls around and floor in between. Each is at least one line of cells deep
and less than half of all lines, any such depth as likely as another; waste covers the share
`initial_waste` of the river, rounded to whole cells, at random. The public implementation tries
clean cells one after another with that chance each until one takes waste; here, as in the paper,
the chance is one for the whole river.

Both beams are three cells wide and reach five cells, the outer two from beside the player on; walls
and players stop them, and each row of a cleaning beam ends on the first waste, which it clears.
Beams are shone in a random order, which only matters for cleaning. Players walk through water.
Moves are those of `palestra_envs.grid.social_dilemmas.harvest`.

Checked against those closed forms: rates of apples and waste measured within binomial bounds.
Random maps: their parts and the share of waste by scipy's labels.

The array view has all the planes of `palestra_envs.grid.social_dilemmas.game`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra import InvalidOption, Rng, check_ranges, environment
from palestra.grids.levels import MAX_SIDE
from palestra.grids.windows import NORTH, SOUTH, WEST, places_of
from palestra.rules import all_act, randint, truncate, uniform

from palestra_envs.grid.social_dilemmas.game import SocialDilemma
from palestra_envs.grid.social_dilemmas.harvest import ACTIONS as HARVEST_ACTIONS
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
    look,
    player_at,
    shine,
    walk,
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
    players=(1, 10),
)
@dataclass(frozen=True)
class CleanUp(SocialDilemma):
    """You gather apples on a map that you share with other players; they need a clean river.

    All players choose one action at the same time:
    - "forward", "backward", "step-left", "step-right": step one cell, seen from the way you face,
      without turning. Walls cannot be entered. If several players head for one cell, a random one
      of them gets it. A cell whose player stays there cannot be entered, nor can two players swap.
    - "turn-left", "turn-right": turn on the spot by a quarter.
    - "fine": shine a beam ahead of you, three cells wide and five long; its outer cells begin
      beside you. Walls and players stop it. Every player it hits is fined, and it costs you too.
    - "clean": shine a cleaning beam of the same shape. Each of its three rows clears the first
      waste it meets and ends there. It costs nothing.
    - "stay": do nothing.
    Beams are shone after all have moved, in a random order. You eat an apple by stepping on it, and
    earn 1. Then apples grow in the orchard, the more of them the less of the river is covered with
    waste, and new waste keeps coming. You can walk through the river, waste or not.
    Places are given as (cells ahead of you, cells to your right); negative numbers are behind you
    and to your left. How others face is given as you see it: "ahead" is the way you face. In what
    you see, @ is a wall, A an apple, ~ water, H waste, and a digit the player of that number.
    """

    columns: int = 18
    apple_rate: float = 0.05
    waste_rate: float = 0.5
    depletion: float = 0.4
    restoration: float = 0.0
    initial_waste: float = 0.5

    actions = (*HARVEST_ACTIONS, "clean")
    planes = 10
    kinds = KINDS
    least_rows, least_columns = 3, 5

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("apple_rate", "waste_rate", "initial_waste"):
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidOption(f"{name} must be from 0 to 1, not {getattr(self, name)}")
        if not 0 <= self.restoration < self.depletion <= 1:
            raise InvalidOption(
                "restoration and depletion must be shares of the river, the first the smaller, "
                f"not {self.restoration} and {self.depletion}"
            )

    def check_random(self) -> None:
        check_ranges(self, (("rows", 5, MAX_SIDE), ("columns", 5, MAX_SIDE)))

    def build(self) -> list[str]:
        """A third river, a third floor, a third orchard, and walls around."""
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

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        lay_out(config, state)
        if config.random:
            landscape(config, state)
            spoil(config, state)
        enter_all(config, state)
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        walk(config, state, actions)
        eat(config, state, out)
        shine(config, state, actions, out)
        come_and_go(config, state)
        grow_and_pollute(config, state)
        keep_score(config, state, out)
        if state.turn + 1 >= config.max_steps:
            truncate(state)

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """See `palestra_envs.grid.social_dilemmas.game` for the planes."""
        look(config, state, seat, view)

    def redraw(self, imagined: Any, hidden: NDArray[np.bool_], rng: Rng) -> None:
        """Choose among the sides and depths that fit, each as likely as on a map yet unseen."""
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

    def told_of_map(self) -> str:
        return (
            "A river lies along one of its sides and the orchard along the opposite one, each at "
            "least one line of cells deep and less than half of the way across; between them is "
            "floor, on which players start. At the start waste covers "
            f"{100 * self.initial_waste:g}% of the river. You see water, waste and apples, but not "
            "where apples may grow."
        )

    def pollution(self, state: Any) -> float:
        """The share of the river that waste covers."""
        waste, clean = river_cells(self.config, state)
        return waste / max(1, waste + clean)

    # Words

    def numbers(self) -> Iterator[str]:
        yield from super().numbers()
        yield (
            "In a step an apple grows on a cell of the orchard with neither apple nor player with "
            f"a chance of {self.apple_rate:g} while at most {self.restoration:.0%} of the river is "
            "covered with waste. The chance falls in a straight line to 0 where "
            f"{self.depletion:.0%} is covered. Below that share, waste also appears on one random "
            f"clean cell of the river with a chance of {self.waste_rate:g} in a step."
        )

    def scenery(self, view: NDArray[Any]) -> dict[str, NDArray[Any]]:
        return {**super().scenery(view), "~": view[WATERS], "H": view[WASTES]}

    def listing(self, view: NDArray[Any]) -> dict[str, list[str]]:
        """Apples, beams, players, waste, and water where somebody stands on it."""
        stood_on = view[PLAYERS : PLAYERS + 4].max(axis=0) > 0
        stood_on[self.sight, self.sight] = True
        return super().listing(view) | {
            "waste": places_of(view[WASTES]),
            "water under a player": places_of(view[WATERS] * stood_on),
            "cleaning beam": places_of(view[CLEANINGS]),
        }

    def beams_in(self, view: NDArray[Any]) -> NDArray[Any]:
        crossed: NDArray[Any] = view[FINES] | view[CLEANINGS]
        return crossed


def deepest(across: int) -> int:
    """How many lines of so many river or orchard may have: less than half."""
    return (across - 1) // 2


def span(config: Any, side: int) -> int:
    """How many lines of cells there are between a side's wall and the opposite one."""
    across: int = (config.rows if side in (NORTH, SOUTH) else config.columns) - 2
    return across


def line(config: Any, side: int, row: int, column: int) -> int:
    """How many lines of cells lie between a cell and a side's wall."""
    if side in (NORTH, SOUTH):
        return row - 1 if side == NORTH else config.rows - 2 - row
    return column - 1 if side == WEST else config.columns - 2 - column


def landscape(config: Any, state: Any) -> None:
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


def spoil(config: Any, state: Any) -> None:
    """Cover the share of the river that has waste at the start, on random cells."""
    _, clean = river_cells(config, state)
    waste, cells = int(config.initial_waste * clean + 0.5), state.cells
    for row in range(config.rows):
        for column in range(config.columns):
            if cells[row, column] == RIVER:
                if randint(state, clean) < waste:
                    cells[row, column] = WASTE
                    waste -= 1
                clean -= 1


def river_cells(config: Any, state: Any) -> tuple[int, int]:
    """How many cells of the river waste covers, and how many are clean."""
    cells, waste, clean = state.cells, 0, 0
    for row in range(config.rows):
        for column in range(config.columns):
            if cells[row, column] == WASTE:
                waste += 1
            elif cells[row, column] == RIVER:
                clean += 1
    return waste, clean


def apple_chance(config: Any, waste: int, clean: int) -> float:
    """The chance that an apple grows on a free cell of the orchard."""
    covered = waste / max(1, waste + clean)
    left = (config.depletion - covered) / (config.depletion - config.restoration)
    chance: float = config.apple_rate * min(1.0, max(0.0, left))
    return chance


def grow_and_pollute(config: Any, state: Any) -> None:
    """Let apples and waste appear, by the waste there is now."""
    waste, clean = river_cells(config, state)
    chance = apple_chance(config, waste, clean)
    if chance > 0:
        grow(config, state, chance)
    spreads = clean > 0 and waste < config.depletion * (waste + clean)
    if spreads and uniform(state) < config.waste_rate:
        pollute(config, state, randint(state, clean))


def grow(config: Any, state: Any, chance: float) -> None:
    """Let an apple grow with this chance wherever one can."""
    cells = state.cells
    for row in range(config.rows):
        for column in range(config.columns):
            grows = cells[row, column] == ORCHARD and uniform(state) < chance
            if grows and player_at(config, state, row, column) < 0:
                cells[row, column] = APPLE


def pollute(config: Any, state: Any, skip: int) -> None:
    """Put waste on a clean cell of the river, `skip` others before it row by row."""
    cells = state.cells
    for row in range(config.rows):
        for column in range(config.columns):
            if cells[row, column] == RIVER:
                if skip == 0:
                    cells[row, column] = WASTE
                skip -= 1
