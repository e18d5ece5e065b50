"""Two cars merge into one lane, and crash if neither yields.

Each car drives in a lane of its own until the merge, and from there on in one lane with the other.
In every step both choose how far they go: 0, 1 or 2 cells. They crash if they end on the same cell
of the common lane, or if one would pass the other there. Every step on the road costs 1; a crash
costs much more and ends the game. Merging traffic is one of the domains of "A
Game-Theoretic Framework for Managing Risk in Multi-Agent Systems", 2023, which counts crashes in a
driving simulator; this is the smallest form of it, a game of chicken spread over time.

Checked: on a road of n cells the first is out after ceil(n / 2) steps and the other
one step later, where n is even the best pair by exhaustive search; two who yield with probability y
whenever both could enter, and else go, crash with probability (1 - y) / (1 + y).

An observation is an int16 vector of 7 numbers: the own and the other's cell, the own and the
other's last speed, whether each has left the road, and the steps played.

Left out: the driving simulator, with continuous speeds and several lanes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

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
from palestra.rules import all_act, finish, leave, truncate
from palestra.scene import on_top

from palestra_games.dilemmas.outcomes import score_outcome

SPEEDS = ("wait", "slow", "fast")
FAST = 2
TIME, CRASH = 0, 1  # reward terms; a crash is also cost 0


class MergeState(ArrayState):
    """Where the cars are and what they have been paid; arrays are by seat."""

    cars: Annotated[NDArray[np.int16], Shape(2)]  # cells from the start
    speed: Annotated[NDArray[np.int16], Shape(2)]  # cells driven in the last step
    crashed: Annotated[int, np.uint8]  # 1 once they have
    totals: Annotated[NDArray[np.float64], Shape(2)]  # rewards so far


@environment(
    "games/Merge-v0",
    family="grid",
    tags=("coordination", "risk", "costs", "perfect-information", "deterministic"),
    paper="A Game-Theoretic Framework for Managing Risk in Multi-Agent Systems (2023)",
)
@dataclass(frozen=True)
class Merge(ArrayGame[MergeState]):
    """Two cars merge into one lane: both choose at once how far they go, and may crash.

    Actions are 0 (wait), 1 (slow, one cell) and 2 (fast, two cells). The module's docstring has the
    layout of an observation. A step on the road pays -1, and a crash pays -`crash` and counts in
    the cost signal.
    """

    vocabulary = Vocabulary(
        words=("car", "lane", "road", "crash", "merge"),
    )
    rules_text = """
        You drive one of two cars whose lanes merge into one. Both choose at once how far to go.

        Write "wait" to stay where you are, "slow" to drive one cell and "fast" to drive two. Cells
        are numbered from 0, where both of you start, in lanes of your own; from the merge on you
        share one lane. If you both stand on the same cell of the common lane after a step, or if
        one passes the other there, you crash. Whoever reaches the end of the road is out.
    """

    merge: Annotated[int, Meta(ge=1, le=999, description="first cell of the common lane")] = 6
    length: Annotated[int, Meta(ge=2, le=1000, description="the cell where the road ends")] = 10
    crash: Annotated[float, Meta(ge=0, le=1e6, description="penalty for both in a crash")] = 50.0
    steps: Annotated[int, Meta(ge=1, le=10_000, description="most steps in an episode")] = 30

    counters = ("turn", "totals")
    order = "simultaneous"
    payoffs = "general"
    num_players = 2
    num_actions = len(SPEEDS)
    deterministic = True
    reward_terms = ("time", "crash")
    cost_terms = ("crash",)
    observation_shape = (7,)
    observation_dtype = np.int16

    def validate(self) -> None:
        if self.merge >= self.length:
            raise InvalidOption(
                f"merge must be less than length, not {self.merge} and {self.length}"
            )

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (-self.crash - self.steps, 0.0)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (0, max(self.length, self.steps))

    # The rules

    @staticmethod
    def init_state(config: Merge, state: MergeState) -> None:
        all_act(state)

    @staticmethod
    def apply_actions(config: Merge, state: MergeState, actions: Any, out: Any) -> None:
        old = (state.cars[0], state.cars[1])
        alone = not (state.present[0] and state.present[1])
        for seat in range(2):
            if state.present[seat]:
                state.speed[seat] = actions[seat]
                state.cars[seat] += actions[seat]
                out.rewards[seat, TIME] = -1.0
        if not alone and crash_between(config, old, (state.cars[0], state.cars[1])):
            state.crashed = 1
            for seat in range(2):
                out.rewards[seat, CRASH] = -config.crash
                out.costs[seat, 0] = 1.0
        for seat in range(2):
            state.totals[seat] += out.rewards[seat, TIME] + out.rewards[seat, CRASH]
            if state.cars[seat] >= config.length:
                state.cars[seat] = config.length
                if state.crashed == 0:
                    leave(state, seat)
        if state.crashed or not (state.present[0] or state.present[1]):
            finish(state)
        elif state.turn + 1 >= config.steps:
            truncate(state)

    @staticmethod
    def write_legal_mask(config: Merge, state: MergeState, seat: int, mask: Any) -> None:
        for speed in range(len(SPEEDS)):
            mask[speed] = 1

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("cells", 2, "cells from the start: own car, the other"),
            Channel("speeds", 2, "cells driven in the last step: own car, the other"),
            Channel("gone", 2, "1 if the car has left the road: own car, the other"),
            Channel("steps", 1, "steps played"),
        )

    @staticmethod
    def write_observation(config: Merge, state: MergeState, seat: int, obs: Any) -> None:
        """Write the observation; the module's docstring gives the layout."""
        for place in range(2):
            whose = seat if place == 0 else 1 - seat
            obs[place] = state.cars[whose]
            obs[2 + place] = state.speed[whose]
            obs[4 + place] = 1 - state.present[whose]
        obs[6] = state.turn

    def outcome(self, state: MergeState) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None or state.truncated:
            return ended and replace(ended, reason="time is up")
        reason = "the cars crashed" if state.crashed else "both cars are out"
        return score_outcome(ended, reason)

    def scores(self, state: MergeState) -> tuple[float, ...]:
        totals: list[float] = state.totals.tolist()
        return tuple(totals)

    # Words

    def rules_for(self, seat: int) -> str:
        return (
            f"{super().rules_for(seat)}\n"
            f"The lanes merge at cell {self.merge}; the road ends at cell {self.length}. Every "
            f"step you are on the road costs you 1, a crash costs both of you {self.crash:g} and "
            f"ends the game. After {self.steps} steps time is up."
        )

    def describe(self, state: MergeState, seat: int) -> str:
        lines = [f"Steps played: {int(state.turn)} of {self.steps}."]
        for driver, name in ((seat, "You are"), (1 - seat, f"{self.players[1 - seat]} is")):
            cell, speed = int(state.cars[driver]), SPEEDS[state.speed[driver]]
            lane = "the common lane" if cell >= self.merge else "its own lane"
            if driver == seat and cell < self.merge:
                lane = "your own lane"
            where = f"on cell {cell}, in {lane}, last speed {speed}"
            if not state.present[driver]:
                where = f"out, last speed {speed}"
            lines.append(f"{name} {where}.")
        if state.crashed:
            lines.append("The cars have crashed.")
        return "\n".join(lines)

    def action_text(self, state: MergeState, seat: int, action: int) -> str:
        return SPEEDS[action]

    def narrate(
        self, before: MergeState | None, actions: Mapping[int, int], after: MergeState
    ) -> list[Event]:
        if before is None:
            return []
        speeds = {seat: SPEEDS[action] for seat, action in sorted(actions.items())}
        text = "; ".join(f"{self.players[seat]}: {speed}" for seat, speed in speeds.items())
        events = [Event("move", f"{text}.", {"speeds": speeds})]
        if after.crashed:
            events.append(Event("crash", "The cars crash.", {"cells": after.cars.tolist()}))
            return events
        for seat in range(2):
            if before.present[seat] and not after.present[seat]:
                events.append(Event("out", f"{self.players[seat]} is out.", {"player": seat}))
        return events

    def scene(self, state: MergeState, seat: int | None = None) -> Scene:
        lanes: list[list[Piece | None]] = [[None] * (self.length + 1) for _ in range(2)]
        for driver, cell in enumerate(state.cars.tolist()):
            row = 0 if cell >= self.merge else driver
            car = Piece(str(driver), driver, "square", self.players[driver], "car")
            car = replace(car, badge="X") if state.crashed else car
            lanes[row][cell] = on_top(lanes[row][cell], car)
        labels = tuple(map(str, range(self.length + 1)))
        beyond = self.length + 1 - self.merge  # cells after the end of the second lane
        roads = (
            ("lane",) * self.merge + ("road",) * beyond,
            ("road",) * self.merge + ("grass",) * beyond,
        )
        verge: tuple[tuple[str, ...], ...] = (("grass",) * (self.length + 1),)
        cells: tuple[tuple[Piece | None, ...], ...] = ((None,) * (self.length + 1),)
        cells = (*cells, *map(tuple, lanes), *cells)
        grid = Grid(cells, (), labels, ground=(*verge, *roads, *verge))
        line = f"Step {int(state.turn)} of {self.steps}"
        return Scene(grid=grid, lines=(line, *(["The cars crashed."] if state.crashed else [])))


def crash_between(config: Merge, old: Sequence[int], new: Sequence[int]) -> bool:
    """Whether two cars on the road crash by moving from the cells `old` to the cells `new`."""
    if new[0] < config.merge or new[1] < config.merge:
        return False
    if new[0] == new[1]:
        return True
    both_before = old[0] >= config.merge and old[1] >= config.merge
    return bool(both_before and (old[0] < old[1]) != (new[0] < new[1]))


@agent("driver", needs=("array",))
class Driver(ScriptedAgent[Merge]):
    """Drives fast, keeps off the car ahead, and yields with probability `yields`.

    Whenever both cars could enter the common lane now, it waits with that probability, drawn anew.
    It assumes that a car ahead of it keeps its speed.
    """

    stream = 7

    def __init__(
        self,
        *,
        yields: Annotated[
            float,
            Meta(ge=0, le=1, description="chance to wait where both cars could enter the lane"),
        ] = 0.5,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._yields = yields

    def choose(self, turn: Turn[Merge]) -> int:
        game = turn.game
        own, other, _, speed, _, gone, _ = turn.observation.tolist()
        lane = game.merge - FAST  # from here on the common lane can be entered
        if gone or own < lane or other < lane:
            return FAST
        if own < game.merge and other < game.merge:
            return 0 if self.rng.random() < self._yields else FAST
        if own >= other:
            return FAST
        return max(v for v in range(3) if v == 0 or own + v < max(game.merge, other + speed))
