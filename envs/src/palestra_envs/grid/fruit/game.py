"""Fruit collection: eat all fruit on a small grid; each fruit pays in a reward term of its own.

A player alone, or several who move at once (moves that collide are cancelled, see
`palestra.grids.moving`), steps onto fruit to eat it and earns 1, less `step_cost` for every
step. It ends when no fruit is left, or is truncated after `max_steps`. Fruit and players start on
different random cells.

From Laroche, Fatemi, Romoff and van Seijen, "Multi-Advisor Reinforcement Learning", 2017 (five
fruits on five by five cells), and van Seijen et al., "Hybrid Reward Architecture for Reinforcement
Learning", NIPS 2017: in these papers one advisor per fruit learns from that fruit's term alone,
`fruit_0`, `fruit_1`, ….

The optimum for one player is a shortest path through all fruit, a small travelling salesman
problem. Checked against all orders by itertools; the agent `fruit-advisors` against the paper's
bound on discounts under which advisors do not stall.

Left out: nothing of the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayState,
    Bar,
    Channel,
    InvalidOption,
    Meta,
    Out,
    Piece,
    Rng,
    Scene,
    Shape,
    Vocabulary,
    environment,
)
from palestra.grids.compass import EAST, MOVES, NORTH, SOUTH, WEST
from palestra.grids.moving import NOWHERE, holder, neighbour, resolve
from palestra.grids.sight import sees
from palestra.rules import all_act, finish, randint, truncate

from palestra_envs.grid.walkers import Walkers

MAX_SIDE = 30


class FruitState(ArrayState):
    """Players and fruit on the grid."""

    cell: Annotated[NDArray[np.int32], Shape("num_players")]  # where each player stands
    target: Annotated[NDArray[np.int32], Shape("num_players")]  # the cell each player heads for
    blocked: Annotated[NDArray[np.uint8], Shape("num_players")]  # 1 if a collision stopped it
    earned: Annotated[NDArray[np.float64], Shape("num_players")]  # what each has been paid so far
    fruit: Annotated[NDArray[np.int32], Shape("num_fruits")]  # where it lies, NOWHERE once eaten
    eater: Annotated[NDArray[np.int32], Shape("num_fruits")]  # the seat that ate it; -1 for none


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
)
@dataclass(frozen=True)
class Fruit(Walkers[FruitState]):
    """Players eat all fruit on a small grid; each fruit pays in a reward term of its own.

    Actions are 0 stay, 1 north, 2 south, 3 west and 4 east.

    An observation is an int16 vector: the player's row and column, those of each fruit, and those
    of each other player by seat, -1 -1 for fruit that is eaten and for what is out of sight.

    A fruit pays 1 to whoever eats it, in the terms `fruit_0`, `fruit_1`, …; `time` is minus
    `step_cost` in every step.
    """

    rows: Annotated[int, Meta(ge=2, le=MAX_SIDE, description="rows of the grid")] = 5
    columns: Annotated[int, Meta(ge=2, le=MAX_SIDE, description="columns of the grid")] = 5
    num_players: Annotated[int, Meta(ge=1, le=4, description="number of players")] = 1
    sight: Annotated[
        int, Meta(ge=1, le=MAX_SIDE, description="cells a player sees in every direction")
    ] = 4
    max_steps: Annotated[
        int, Meta(ge=1, le=1_000_000, description="steps after which the episode is cut off")
    ] = 50
    num_fruits: Annotated[int, Meta(ge=1, le=10, description="fruits at the start")] = 5
    step_cost: Annotated[
        float, Meta(ge=0, le=1e9, description="penalty of every player for each step")
    ] = 0.0

    vocabulary = Vocabulary(
        words=("fruit", "eat", "eaten"),
    )
    rules_text = """
        You eat fruit on a grid.

        All players choose one action at the same time: "north", "south", "west" or "east" to move
        one cell, or "stay". If several players head for one cell, none of them moves. A cell whose
        player stays there cannot be entered, nor can two players swap. You eat a fruit by stepping
        on it and earn 1. The episode ends when all fruit has been eaten or time is up.
    """

    def validate(self) -> None:
        if self.num_cells < self.num_players + self.num_fruits:
            raise InvalidOption(
                f"{self.rows} rows and {self.columns} columns have no room for {self.num_players} "
                f"players and {self.num_fruits} fruits; make the grid larger"
            )

    # Derived from the options

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

    # The rules

    @staticmethod
    def init_state(config: Fruit, state: FruitState) -> None:
        for seat in range(config.num_players):
            state.cell[seat] = NOWHERE
        for fruit in range(config.num_fruits):
            state.fruit[fruit] = NOWHERE
            state.eater[fruit] = -1
        for thing in range(config.num_players + config.num_fruits):
            cell = randint(state, config.rows * config.columns)
            while holder(config, state, cell) >= 0 or fruit_on(config, state, cell) >= 0:
                cell = randint(state, config.rows * config.columns)
            if thing < config.num_players:
                state.cell[thing] = state.target[thing] = cell
            else:
                state.fruit[thing - config.num_players] = cell
        all_act(state)

    @staticmethod
    def apply_actions(config: Fruit, state: FruitState, actions: Any, out: Out) -> None:
        for seat in range(config.num_players):
            there = neighbour(config, state.cell[seat], actions[seat])
            state.target[seat] = state.cell[seat] if there == NOWHERE else there
        resolve(config, state, True)
        left = 0
        for seat in range(config.num_players):
            out.rewards[seat, config.num_fruits] = -config.step_cost
            state.earned[seat] -= config.step_cost
            eaten = fruit_on(config, state, state.cell[seat])
            if eaten >= 0:
                state.fruit[eaten] = NOWHERE
                state.eater[eaten] = seat
                out.rewards[seat, eaten] = 1.0
                state.earned[seat] += 1.0
        for fruit in range(config.num_fruits):
            left += state.fruit[fruit] != NOWHERE
        if left == 0:
            finish(state)
        elif state.turn + 1 >= config.max_steps:
            truncate(state)

    @staticmethod
    def write_legal_mask(config: Fruit, state: FruitState, seat: int, mask: Any) -> None:
        for action in range(len(MOVES)):
            mask[action] = neighbour(config, state.cell[seat], action) != NOWHERE

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        others = self.num_players - 1
        return (
            Channel("own", 2, "the player's row and column"),
            Channel("fruit", 2 * self.num_fruits, "row and column of each fruit; -1 -1 if gone"),
            Channel("others", 2 * others, "row and column of each other player; -1 -1 if unseen"),
        )

    @staticmethod
    def write_observation(config: Fruit, state: FruitState, seat: int, obs: Any) -> None:
        """Write the observation; the class docstring gives the layout."""
        columns, at = config.columns, 2
        obs[0], obs[1] = state.cell[seat] // columns, state.cell[seat] % columns
        for fruit in range(config.num_fruits):
            cell = state.fruit[fruit]
            seen = cell != NOWHERE and sees(config, state, seat, cell)
            obs[at] = cell // columns if seen else -1
            obs[at + 1] = cell % columns if seen else -1
            at += 2
        for other in range(config.num_players):
            if other != seat:
                cell = state.cell[other]
                seen = sees(config, state, seat, cell)
                obs[at] = cell // columns if seen else -1
                obs[at + 1] = cell % columns if seen else -1
                at += 2

    @staticmethod
    def scripted_action(config: Fruit, state: FruitState, seat: int) -> int:
        """Walk to the nearest fruit in sight; move at random if there is none."""
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
            return SOUTH if down > 0 else NORTH
        return EAST if right > 0 else WEST

    def ending(self, state: FruitState) -> str:
        return "all fruit was eaten"

    # States

    def arrange(
        self, players: Sequence[tuple[int, int]], fruits: Sequence[tuple[int, int]]
    ) -> FruitState:
        """A state with players and fruits at these places, (row, column) from 0; no other fruit."""
        if len(players) != self.num_players or len(fruits) > self.num_fruits:
            raise InvalidOption(
                f"got {len(players)} players and {len(fruits)} fruits; this game has "
                f"{self.num_players} and at most {self.num_fruits}"
            )
        state: FruitState = self.clone(self.initial_state(0))
        state.fruit[:] = NOWHERE
        for seat, place in enumerate(players):
            state.cell[seat] = state.target[seat] = self.at(*place)
        for fruit, place in enumerate(fruits):
            state.fruit[fruit] = self.at(*place)
        return state

    def determinize(self, state: FruitState, seat: int, rng: Rng) -> FruitState:
        """Move players and fruit that are out of sight; others may have eaten such fruit by then.

        What the seat has eaten and sees stays. Of the rest, any number may be eaten for which
        others had the time, and at least one fruit of all is left.
        """
        imagined: FruitState = self.clone(state)
        seen = self.visible(state, seat)
        free = np.flatnonzero(~seen).tolist()
        others = [other for other in range(self.num_players) if other != seat]
        for other in others:
            if not seen[state.cell[other]]:
                place = free.pop(rng.below(len(free)))
                imagined.cell[other] = imagined.target[other] = place
            imagined.blocked[other] = 0
        unknown = [
            fruit
            for fruit, cell in enumerate(state.fruit.tolist())
            if (not seen[cell] if cell != NOWHERE else state.eater[fruit] not in (seat, -1))
        ]
        in_sight = np.any((state.fruit != NOWHERE) & seen[state.fruit])
        eaters = others * min(int(state.turn), len(unknown))
        least = max(0, len(unknown) - len(free))  # as many as have no room out of sight
        most = min(len(eaters), len(unknown) - (not in_sight))
        rng.shuffle(eaters)
        rng.shuffle(unknown)
        eaten = rng.between(least, most)
        for place, fruit in enumerate(unknown):
            eater = eaters[place] if place < eaten else -1
            imagined.eater[fruit] = eater
            imagined.fruit[fruit] = NOWHERE if eater >= 0 else free.pop(rng.below(len(free)))
        for other in others:
            time = self.step_cost * int(state.turn)
            imagined.earned[other] = np.count_nonzero(imagined.eater == other) - time
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

    def describe(self, state: FruitState, seat: int) -> str:
        """The observation in words, and how much time has passed."""
        places = self.seen(state, seat).reshape(-1, 2).tolist()[1:]
        others = [name for other, name in enumerate(self.players) if other != seat]
        names = [f"fruit {number + 1}" for number in range(self.num_fruits)] + others
        own = int(state.cell[seat])
        lines = [
            f"- {name} in row {row + 1}, column {column + 1}: "
            f"{self.direction(own, self.at(row, column))} of you"
            for name, (row, column) in zip(names, places, strict=True)
            if row >= 0
        ]
        return "\n".join([self.header(state, seat), "You see:", *(lines or ["- nothing"])])

    # Pictures

    def scene(self, state: FruitState, seat: int | None = None) -> Scene:
        """The grid; for a player what they see of it."""
        seen = None if seat is None else self.visible(state, seat)
        pieces = {
            cell: Piece("F", "red", label=f"fruit {number + 1}", sprite="fruit")
            for number, cell in enumerate(state.fruit.tolist())
            if cell != NOWHERE and (seen is None or seen[cell])
        }
        for shown in self.seats_shown(state, seat):
            self.stand(pieces, int(state.cell[shown]), shown)
        seats = self.watched_seats(seat)
        bars = [Bar(self.players[p], float(state.earned[p]), self.num_fruits, p) for p in seats]
        return Scene(self.caption(state), grid=self.grid(pieces, seen), bars=tuple(bars))


def fruit_on(config: Fruit, state: FruitState, cell: int) -> int:
    """The fruit on a cell; -1 if there is none."""
    found = -1
    for fruit in range(config.num_fruits):
        if state.fruit[fruit] == cell:
            found = fruit
    return found
