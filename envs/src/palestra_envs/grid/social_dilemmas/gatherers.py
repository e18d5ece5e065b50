"""Scripted players of Harvest and Clean Up: one eats, with restraint or without, the other cleans.

Both play from their own array view and mask alone. They walk shortest paths round walls and players
and, where they see nothing to walk to, mostly straight on. One move in ten (`restless`) is such a
wandering one in any case: two players in each other's way would otherwise stay there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from numpy.typing import NDArray
from palestra import Agent, Decision, InvalidOption, Rng, Turn, agent
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
STRAIGHT = 0.8  # how likely a wanderer goes on ahead


@agent(
    "gatherer",
    plays=("grid/Harvest-v0", "grid/CleanUp-v0"),
    needs=("array",),
    summary="Walks to the nearest apple; restraint=1 spares the last of a patch.",
)
class Gatherer(Agent):
    """Walks to the nearest apple and shines no beam.

    With `restraint` it takes an apple only while that many others are in sight within the distance
    at which those of Harvest help each other grow, and steps on no other: 0 takes everything, 1
    never takes the last apple of a patch.
    """

    def __init__(
        self, *, restraint: int = 0, restless: float = 0.1, seed: int | None = None
    ) -> None:
        if restraint < 0:
            raise InvalidOption(f"restraint must be at least 0, not {restraint}")
        if not 0 <= restless <= 1:
            raise InvalidOption(f"restless must be from 0 to 1, not {restless}")
        self._restraint, self._restless = restraint, restless
        self._rng = Rng.seeded(seed, stream=3)

    def reseed(self, seed: int) -> None:
        self._rng = Rng.seeded(seed, stream=3)

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self.choose(turn)) for turn in turns]

    def choose(self, turn: Turn) -> int:
        """The action to play in one turn."""
        if not isinstance(turn.game, (Harvest, CleanUp)):
            raise InvalidOption(f"plays grid/Harvest-v0 and grid/CleanUp-v0, not {turn.env}")
        if not turn.mask[FORWARD]:
            return STAY  # out of the game
        view = turn.observation
        apples = cells(view[APPLES])
        ripe = {apple for apple in apples if near(apple, apples) >= self._restraint}
        blocked = cells(view[WALLS] + view[PLAYERS : PLAYERS + 4].max(axis=0)) | (apples - ripe)
        if self._rng.random() >= self._restless:
            chosen = self.work(view, ripe, blocked)
            if chosen is not None:
                return chosen
        return self._wander(blocked)

    def work(self, view: NDArray[Any], ripe: set[Cell], blocked: set[Cell]) -> int | None:
        """What to do if anything is in sight to be done."""
        return step_towards(ripe, blocked, len(view[0]) // 2)

    def _wander(self, blocked: set[Cell]) -> int:
        if STEPS[FORWARD] not in blocked and self._rng.random() < STRAIGHT:
            return FORWARD
        free = [action for action, cell in STEPS.items() if cell not in blocked]
        return self._rng.choice([TURN_LEFT, TURN_RIGHT, *free])


@agent(
    "cleaner",
    plays=("grid/CleanUp-v0",),
    needs=("array",),
    summary="Cleans the river while it sees waste, and eats when it sees none.",
)
class Cleaner(Gatherer):
    """Cleans the river of Clean Up while it sees waste, and eats when it sees none."""

    def choose(self, turn: Turn) -> int:
        if not isinstance(turn.game, CleanUp):
            raise InvalidOption(f"the cleaner plays grid/CleanUp-v0, not {turn.env}")
        return super().choose(turn)

    def work(self, view: NDArray[Any], ripe: set[Cell], blocked: set[Cell]) -> int | None:
        waste = cells(view[WASTES])
        if not waste:
            return super().work(view, ripe, blocked)
        if any(in_beam(cell, blocked) for cell in waste):
            return CLEAN
        ahead, right = min(waste, key=lambda cell: abs(cell[0]) + abs(cell[1]))
        if ahead < abs(right):
            return TURN_RIGHT if right > 0 else TURN_LEFT
        return step_towards(waste, blocked, len(view[0]) // 2)


def cells(plane: NDArray[Any]) -> set[Cell]:
    """The cells of a window that are not 0."""
    return {(ahead, right) for ahead, right, _ in cells_of(plane)}


def near(apple: Cell, apples: set[Cell]) -> int:
    """How many other apples help one grow back."""
    return sum(
        0 < abs(apple[0] - ahead) + abs(apple[1] - right) <= RADIUS for ahead, right in apples
    )


def in_beam(cell: Cell, blocked: set[Cell]) -> bool:
    """Whether one's beam would reach a cell; it ends at what is blocked, and on it."""
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
