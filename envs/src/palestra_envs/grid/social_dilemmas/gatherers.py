"""Scripted players for Harvest and Clean Up: one eats, with or without restraint; one cleans.

Both read only their own array observation and mask. They walk shortest paths around walls and
players and, if they see nothing to walk to, wander mostly straight on. A share `restless` of their
moves is always such wandering, so that two players do not block each other forever.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

from numpy.typing import NDArray
from palestra import Game, Meta, ScriptedAgent, Turn, agent
from palestra.grids.paths import way
from palestra.grids.windows import cells_of

from palestra_envs.grid.social_dilemmas.clean_up import CleanUp
from palestra_envs.grid.social_dilemmas.harvest import RADIUS, Harvest
from palestra_envs.grid.social_dilemmas.rules import (
    APPLES,
    BACKWARD,
    BEAM_LENGTH,
    CLEAN,
    FORWARD,
    PLAYERS,
    STAY,
    STEP_LEFT,
    STEP_RIGHT,
    TURN_LEFT,
    TURN_RIGHT,
    WALLS,
    WASTES,
)

Cell = tuple[int, int]  # ahead and to the right
STEPS = {FORWARD: (1, 0), BACKWARD: (-1, 0), STEP_LEFT: (0, -1), STEP_RIGHT: (0, 1)}
STRAIGHT = 0.8  # chance that a wandering player walks straight on


@agent("gatherer", needs=("array",))
class Gatherer(ScriptedAgent[Harvest | CleanUp]):
    """Walks to the nearest apple and never fines; restraint=1 spares the last apple of a patch.

    With `restraint` it takes an apple only while that many others are in sight within the distance
    at which those of Harvest help each other grow, and steps on no other: 0 takes everything.
    """

    plays: ClassVar[tuple[type[Game[Any, Any]], ...]] = (Harvest, CleanUp)
    stream = 3

    def __init__(
        self,
        *,
        restraint: Annotated[
            int,
            Meta(ge=0, description="number of other apples that must be nearby for it to take one"),
        ] = 0,
        restless: Annotated[float, Meta(ge=0, le=1, description="chance of a random move")] = 0.1,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._restraint, self._restless = restraint, restless

    def choose(self, turn: Turn[Harvest | CleanUp]) -> int:
        if not turn.mask[FORWARD]:
            return STAY  # out of the game
        obs = turn.observation
        apples = cells(obs[APPLES])
        ripe = {apple for apple in apples if near(apple, apples) >= self._restraint}
        blocked = cells(obs[WALLS] + obs[PLAYERS : PLAYERS + 4].max(axis=0)) | (apples - ripe)
        if self.rng.random() >= self._restless:
            chosen = self.work(obs, ripe, blocked)
            if chosen is not None:
                return chosen
        return self._wander(blocked)

    def work(self, obs: NDArray[Any], ripe: set[Cell], blocked: set[Cell]) -> int | None:
        """The action for the work in sight; None if there is none."""
        return step_towards(ripe, blocked, len(obs[0]) // 2)

    def _wander(self, blocked: set[Cell]) -> int:
        if STEPS[FORWARD] not in blocked and self.rng.random() < STRAIGHT:
            return FORWARD
        free = [action for action, cell in STEPS.items() if cell not in blocked]
        return self.rng.choice([TURN_LEFT, TURN_RIGHT, *free])


@agent("cleaner", needs=("array",))
class Cleaner(Gatherer):
    """Cleans the river of Clean Up while it sees waste, and eats when it sees none."""

    plays = (CleanUp,)

    def work(self, obs: NDArray[Any], ripe: set[Cell], blocked: set[Cell]) -> int | None:
        waste = cells(obs[WASTES])
        if not waste:
            return super().work(obs, ripe, blocked)
        if any(in_beam(cell, blocked) for cell in waste):
            return CLEAN
        ahead, right = min(waste, key=lambda cell: abs(cell[0]) + abs(cell[1]))
        if ahead < abs(right):
            return TURN_RIGHT if right > 0 else TURN_LEFT
        return step_towards(waste, blocked, len(obs[0]) // 2)


def cells(plane: NDArray[Any]) -> set[Cell]:
    """The cells of a window that are not 0."""
    return {(ahead, right) for ahead, right, _ in cells_of(plane)}


def near(apple: Cell, apples: set[Cell]) -> int:
    """How many other apples help one grow back."""
    return sum(
        0 < abs(apple[0] - ahead) + abs(apple[1] - right) <= RADIUS for ahead, right in apples
    )


def in_beam(cell: Cell, blocked: set[Cell]) -> bool:
    """Whether the player's beam would reach a cell; it ends on the first blocked cell."""
    ahead, right = cell
    first = 1 if right == 0 else 0
    reach = first <= ahead < first + BEAM_LENGTH and abs(right) <= 1
    return reach and not any((closer, right) in blocked for closer in range(first, ahead))


def step_towards(goals: set[Cell], blocked: set[Cell], sight: int) -> int | None:
    """The first step of a shortest path to a goal in sight; None if none can be reached."""

    def steps(cell: Cell) -> Iterator[tuple[int, Cell]]:
        for action, (ahead, right) in STEPS.items():
            there = cell[0] + ahead, cell[1] + right
            if there not in blocked and max(map(abs, there)) <= sight:
                yield action, there

    moves = way((0, 0), goals, steps)
    return moves[0] if moves else None
