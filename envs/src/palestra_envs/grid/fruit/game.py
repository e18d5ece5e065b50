"""Fruit collection: eat all fruit on a small grid; each fruit pays in a reward term of its own.

A player alone, or several who move at once (moves that collide are cancelled, see
`palestra.grids.moving`), steps onto fruit to eat it and earns 1, less `step_cost` for every
step. It ends when no fruit is left, or is truncated after `max_steps`. Fruit and players start on
different random cells.

From Laroche, Fatemi, Romoff and van Seijen, "Multi-Advisor Reinforcement Learning", 2017 (five
fruits on five by five cells), and van Seijen et al., "Hybrid Reward Architecture for Reinforcement
Learning", NIPS 2017: there one advisor a fruit learns from that fruit's term alone, `fruit_0`,
`fruit_1`, ….

The optimum for one player is a shortest path through all fruit, a small travelling salesman
problem. Checked against all orders by itertools; the agent `fruit-advisors` against the paper's
bound on discounts under which advisors do not stall.

The array view is an int16 vector: the player's row and column, those of each fruit, and those of
each other player by seat, -1 -1 for what is eaten or more than `sight` cells away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from palestra import Bar, InvalidOption, Piece, Rng, Scene, check_ranges, environment
from palestra.grids.moving import MOVES, NOWHERE, holder, neighbour, resolve
from palestra.grids.sight import sees
from palestra.rules import all_act, finish, randint, truncate

from palestra_envs.grid.walkers import Walkers

MAX_SEATS, MAX_FRUITS, MAX_SIDE = 4, 10, 30


@environment(
    "grid/Fruit-v0",
    family="grid",
    tags=("reward-terms", "known-optimum"),
    paper="Laroche et al. (2017), Multi-Advisor Reinforcement Learning",
    splits={
        "10x10": {"rows": 10, "columns": 10, "sight": 9, "max_steps": 300},
        "near-sighted": {"sight": 1, "max_steps": 100},
        "held-out-8-fruits": {"rows": 8, "columns": 8, "sight": 7, "num_fruits": 8},
    },
    players=(1, 4),
)
@dataclass(frozen=True)
class Fruit(Walkers):
    """You eat fruit on a grid.

    All players choose one action at the same time: "north", "south", "west" or "east" to move one
    cell, or "stay". If several players head for one cell, none of them moves. A cell whose player
    stays there cannot be entered, nor can two players swap. You eat a fruit by stepping on it and
    earn 1. The episode ends when all fruit has been eaten or time is up.
    """

    rows: int = 5
    columns: int = 5
    num_players: int = 1
    sight: int = 4
    max_steps: int = 50
    num_fruits: int = 5
    step_cost: float = 0.0

    def __post_init__(self) -> None:
        check_ranges(
            self,
            (
                ("rows", 2, MAX_SIDE),
                ("columns", 2, MAX_SIDE),
                ("num_players", 1, MAX_SEATS),
                ("sight", 1, MAX_SIDE),
                ("max_steps", 1, None),
                ("num_fruits", 1, MAX_FRUITS),
                ("step_cost", 0, None),
            ),
        )
        if self.rows * self.columns < self.num_players + self.num_fruits:
            raise InvalidOption(
                f"{self.rows} rows and {self.columns} columns have no room for {self.num_players} "
                f"players and {self.num_fruits} fruits; make the grid larger"
            )

    # What follows from the options

    @property
    def reward_terms(self) -> tuple[str, ...]:  # type: ignore[override]
        return (*(f"fruit_{fruit}" for fruit in range(self.num_fruits)), "time")

    @property
    def perfect_information(self) -> bool:  # type: ignore[override]
        """Whether everybody sees the whole grid from every cell."""
        return self.sight >= max(self.rows, self.columns) - 1

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        return True

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0 - self.step_cost * self.max_steps, float(self.num_fruits))

    @property
    def observation_shape(self) -> tuple[int]:
        return (2 * (1 + self.num_fruits + self.num_players - 1),)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (-1.0, float(max(self.rows, self.columns) - 1))

    def fields(self) -> list[tuple[Any, ...]]:
        """Players, and where each fruit lies (NOWHERE once eaten)."""
        seats = self.num_players
        return [
            ("cell", np.int32, seats),
            ("target", np.int32, seats),
            ("blocked", np.uint8, seats),
            ("earned", np.float64, seats),
            ("fruit", np.int32, self.num_fruits),
        ]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        for seat in range(config.num_players):
            state.cell[seat] = NOWHERE
        for fruit in range(config.num_fruits):
            state.fruit[fruit] = NOWHERE
        for thing in range(config.num_players + config.num_fruits):
            cell = randint(state, config.rows * config.columns)
            while holder(config, state, cell) >= 0 or lying(config, state, cell) >= 0:
                cell = randint(state, config.rows * config.columns)
            if thing < config.num_players:
                state.cell[thing] = state.target[thing] = cell
            else:
                state.fruit[thing - config.num_players] = cell
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        for seat in range(config.num_players):
            there = neighbour(config, state.cell[seat], actions[seat])
            state.target[seat] = state.cell[seat] if there == NOWHERE else there
        resolve(config, state, True)
        left = 0
        for seat in range(config.num_players):
            out.rewards[seat, config.num_fruits] = -config.step_cost
            state.earned[seat] -= config.step_cost
            eaten = lying(config, state, state.cell[seat])
            if eaten >= 0:
                state.fruit[eaten] = NOWHERE
                out.rewards[seat, eaten] = 1.0
                state.earned[seat] += 1.0
        for fruit in range(config.num_fruits):
            left += state.fruit[fruit] != NOWHERE
        if left == 0:
            finish(state)
        elif state.turn + 1 >= config.max_steps:
            truncate(state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        for action in range(len(MOVES)):
            mask[action] = neighbour(config, state.cell[seat], action) != NOWHERE

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """See the module's docstring for the layout."""
        columns, at = config.columns, 2
        view[0], view[1] = state.cell[seat] // columns, state.cell[seat] % columns
        for fruit in range(config.num_fruits):
            cell = state.fruit[fruit]
            seen = cell != NOWHERE and sees(config, state, seat, cell)
            view[at] = cell // columns if seen else -1
            view[at + 1] = cell % columns if seen else -1
            at += 2
        for other in range(config.num_players):
            if other != seat:
                cell = state.cell[other]
                seen = sees(config, state, seat, cell)
                view[at] = cell // columns if seen else -1
                view[at + 1] = cell % columns if seen else -1
                at += 2

    @staticmethod
    def scripted_action(config: Any, state: Any, seat: int) -> int:
        """Walk to the nearest fruit in sight; anywhere if none is."""
        columns, own, nearest, down, right = config.columns, state.cell[seat], 1 << 20, 0, 0
        for fruit in range(config.num_fruits):
            cell = state.fruit[fruit]
            if cell != NOWHERE and sees(config, state, seat, cell):
                south, east = cell // columns - own // columns, cell % columns - own % columns
                if abs(south) + abs(east) < nearest:
                    nearest, down, right = abs(south) + abs(east), south, east
        if nearest == 1 << 20:
            return -1
        if abs(down) >= abs(right):
            return 2 if down > 0 else 1
        return 4 if right > 0 else 3

    def ending(self, state: Any) -> str:
        return "all fruit was eaten"

    # States

    def arrange(self, players: Sequence[tuple[int, int]], fruits: Sequence[tuple[int, int]]) -> Any:
        """A state with everything where you say: (row, column), from 0; other fruit is eaten."""
        if len(players) != self.num_players or len(fruits) > self.num_fruits:
            raise InvalidOption(
                f"got {len(players)} players and {len(fruits)} fruits; this game has "
                f"{self.num_players} and at most {self.num_fruits}"
            )
        state = self.clone(self.initial_state(0))
        state.fruit[:] = NOWHERE
        for seat, place in enumerate(players):
            state.cell[seat] = state.target[seat] = self.at(*place)
        for fruit, place in enumerate(fruits):
            state.fruit[fruit] = self.at(*place)
        return state

    def determinize(self, state: Any, seat: int, rng: Rng) -> Any:
        """Put fruit and players whom the player does not see elsewhere out of sight."""
        imagined, seen = self.clone(state), self.visible(state, seat)
        free = np.flatnonzero(~seen).tolist()
        for other in range(self.num_players):
            if not seen[state.cell[other]]:
                place = free.pop(rng.below(len(free)))
                imagined.cell[other] = imagined.target[other] = place
        for fruit, cell in enumerate(state.fruit.tolist()):
            if cell != NOWHERE and not seen[cell]:
                imagined.fruit[fruit] = free.pop(rng.below(len(free)))
        return imagined

    # Words

    def rules_for(self, seat: int) -> str:
        lines = [
            super().rules_for(seat),
            f"The grid has {self.rows} rows, row 1 the northernmost, and {self.columns} columns, "
            f"column 1 the westernmost. There are {self.num_fruits} fruits at the start and "
            f"{self.num_players} players. {self.sight_text()} "
            f"Time is up after {self.max_steps} steps.",
        ]
        if self.step_cost:
            lines.append(f"Every step costs {self.step_cost:g}.")
        return "\n".join(lines)

    def describe(self, state: Any, player: int) -> str:
        """Exactly what the array view holds, and how much time has gone by."""
        places = self.observe(state, player).reshape(-1, 2).tolist()[1:]
        others = [name for seat, name in enumerate(self.players) if seat != player]
        names = [f"fruit {number + 1}" for number in range(self.num_fruits)] + others
        own = int(state.cell[player])
        lines = [
            f"- {name} in row {row + 1}, column {column + 1}: "
            f"{self.direction(own, self.at(row, column))} of you"
            for name, (row, column) in zip(names, places, strict=True)
            if row >= 0
        ]
        return "\n".join([self.header(state, player), "You see:", *(lines or ["- nothing"])])

    # Pictures

    def scene(self, state: Any, player: int | None = None) -> Scene:
        """The grid; for a player what he sees of it."""
        seen = None if player is None else self.visible(state, player)
        pieces = {
            cell: Piece("F", 3, label=f"fruit {number + 1}")
            for number, cell in enumerate(state.fruit.tolist())
            if cell != NOWHERE and (seen is None or seen[cell])
        }
        for seat in self.seats_shown(state, player):
            pieces[int(state.cell[seat])] = self.disc(seat)
        seats = range(self.num_players) if player is None else (player,)
        bars = [Bar(self.players[p], float(state.earned[p]), self.num_fruits, p) for p in seats]
        caption = f"Step {int(state.turn)} of {self.max_steps}"
        return Scene(caption, grid=self.grid(pieces, seen), bars=tuple(bars))


def lying(config: Any, state: Any, cell: int) -> int:
    """The fruit on a cell; -1 if there is none."""
    found = -1
    for fruit in range(config.num_fruits):
        if state.fruit[fruit] == cell:
            found = fruit
    return found
