"""Two cars merge into one lane: who goes first, and what if neither yields.

Each car drives in a lane of its own until the merge, and from there on in one lane with the other.
In every step both choose how far they go: 0, 1 or 2 cells. They crash if they come to stand on one
cell of the common lane, or if one would pass the other there. Every step on the road costs 1, a
crash much more, and ends the game. Merging traffic is a host of the risk-averse equilibria of "A
Game-Theoretic Framework for Managing Risk in Multi-Agent Systems", 2023, which counts crashes in a
driving simulator; this is the smallest form of it, a game of chicken spread over time.

Known answers checked: on a road of n cells the first is out after ceil(n / 2) steps and the other
one step later, where n is even the best pair by exhaustive search; two who yield with probability y
whenever both could enter, and else go, crash with probability (1 - y) / (1 + y).

The array view is an int16 vector of 7 numbers: the own and the other's cell, the own and the
other's last speed, whether each has left the road, and the steps played.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from palestra import (
    Agent,
    ArrayGame,
    Decision,
    Event,
    Grid,
    InvalidOption,
    Outcome,
    Piece,
    Rng,
    Scene,
    Turn,
    agent,
    environment,
)
from palestra.kernel.game import Result
from palestra.rules import all_act, finish, leave, truncate

SPEEDS = ("wait", "slow", "fast")
FAST = 2
TIME, CRASH = 0, 1  # reward terms; a crash is cost 0, too


@environment(
    "games/Merge-v0",
    family="grid",
    tags=("coordination", "risk", "costs", "perfect-information", "deterministic"),
    paper="A Game-Theoretic Framework for Managing Risk in Multi-Agent Systems (2023)",
)
@dataclass(frozen=True)
class Merge(ArrayGame):
    """You drive one of two cars whose lanes merge into one. Both choose at once how far to go.

    Write "wait" to stay where you are, "slow" to drive one cell and "fast" to drive two. Cells are
    numbered from 0, where both of you start, in lanes of your own; from the merge on you share one
    lane. If you both stand on the same cell of the common lane after a step, or if one passes the
    other there, you crash. Whoever reaches the end of the road is out.
    """

    merge: int = 6
    length: int = 10
    crash: float = 50.0
    steps: int = 30

    order = "simultaneous"
    payoffs = "general"
    num_players = 2
    num_actions = len(SPEEDS)
    deterministic = True
    reward_terms = ("time", "crash")
    cost_terms = ("crash",)
    observation_dtype = np.int16

    def __post_init__(self) -> None:
        if not 1 <= self.merge < self.length <= 1000:
            raise InvalidOption(
                "merge must be at least 1 and less than length, length at most 1000, not "
                f"{self.merge} and {self.length}"
            )
        if not 0 <= self.crash <= 1e6:
            raise InvalidOption(f"crash must be from 0 to 1e6, not {self.crash}")
        if not 1 <= self.steps <= 10_000:
            raise InvalidOption(f"steps must be from 1 to 10,000, not {self.steps}")

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (-self.crash - self.steps, 0.0)

    observation_shape = (7,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (0, max(self.length, self.steps))

    def fields(self) -> list[tuple[Any, ...]]:
        """Where the cars are, how fast they last went, whether they crashed, and their totals."""
        return [
            ("cars", np.int16, 2),
            ("speed", np.int16, 2),
            ("crashed", np.uint8),
            ("totals", np.float64, 2),
        ]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
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
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        for speed in range(len(SPEEDS)):
            mask[speed] = 1

    @staticmethod
    def write_observation(config: Any, state: Any, player: int, view: Any) -> None:
        """See the module's docstring for the layout."""
        for place in range(2):
            seat = player if place == 0 else 1 - player
            view[place] = state.cars[seat]
            view[2 + place] = state.speed[seat]
            view[4 + place] = 1 - state.present[seat]
        view[6] = state.turn

    def outcome(self, state: Any) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None or state["truncated"]:
            return ended and replace(ended, reason="time is up")
        score: Result = "score"
        reason = "the cars crashed" if state["crashed"] else "both cars are out"
        return replace(ended, results=(score, score), reason=reason)

    def scores(self, state: Any) -> tuple[float, ...]:
        return tuple(state["totals"].tolist())

    # Words

    def rules_for(self, seat: int) -> str:
        return (
            f"{super().rules_for(seat)}\n"
            f"The lanes merge at cell {self.merge}; the road ends at cell {self.length}. Every "
            f"step you are on the road costs you 1, a crash costs both of you {self.crash:g} and "
            f"ends the game. After {self.steps} steps time is up."
        )

    def describe(self, state: Any, player: int) -> str:
        lines = [f"Steps played: {int(state.turn)} of {self.steps}."]
        for seat, name in ((player, "You are"), (1 - player, f"{self.players[1 - player]} is")):
            cell, speed = int(state.cars[seat]), SPEEDS[state.speed[seat]]
            lane = "the common lane" if cell >= self.merge else "its own lane"
            if seat == player and cell < self.merge:
                lane = "your own lane"
            where = f"on cell {cell}, in {lane}, last speed {speed}"
            if not state.present[seat]:
                where = f"out, last speed {speed}"
            lines.append(f"{name} {where}.")
        if state.crashed:
            lines.append("The cars have crashed.")
        return "\n".join(lines)

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return SPEEDS[action]

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> list[Event]:
        if before is None:
            return []
        moved = [(seat, SPEEDS[action]) for seat, action in sorted(actions.items())]
        told = "; ".join(f"{self.players[seat]}: {speed}" for seat, speed in moved)
        events = [Event("move", f"{told}.", {"speeds": dict(moved)})]
        if after.crashed:
            events.append(Event("crash", "The cars crash.", {"cells": after.cars.tolist()}))
            return events
        for seat in range(2):
            if before.present[seat] and not after.present[seat]:
                events.append(Event("out", f"{self.players[seat]} is out.", {"player": seat}))
        return events

    def scene(self, state: Any, player: int | None = None) -> Scene:
        lanes: list[list[Piece | None]] = [[None] * (self.length + 1) for _ in range(2)]
        for seat, cell in enumerate(state.cars.tolist()):
            row = 0 if cell >= self.merge else seat
            glyph = "X" if state.crashed else ""
            lanes[row][cell] = Piece(glyph, seat, "square", self.players[seat])
        shaded = frozenset((1, cell) for cell in range(self.merge, self.length + 1))
        labels = tuple(map(str, range(self.length + 1)))
        grid = Grid(tuple(map(tuple, lanes)), column_labels=labels, shaded=shaded)
        line = f"Step {int(state.turn)} of {self.steps}"
        return Scene(grid=grid, lines=(line, *(["The cars crashed."] if state.crashed else [])))


def crash_between(config: Any, old: Any, new: Any) -> bool:
    """Whether two cars on the road crash by moving from the cells `old` to the cells `new`."""
    if new[0] < config.merge or new[1] < config.merge:
        return False
    if new[0] == new[1]:
        return True
    both_before = old[0] >= config.merge and old[1] >= config.merge
    return bool(both_before and (old[0] < old[1]) != (new[0] < new[1]))


@agent(
    "driver",
    plays=("games/Merge-v0",),
    needs=("array",),
    summary="Merges fast, and yields with probability yields where both cars could enter.",
)
class Driver(Agent):
    """Drives fast, keeps off the car ahead, and yields with probability `yields`.

    Whenever both cars could enter the common lane now, it waits with that probability, drawn anew.
    It takes for granted that a car ahead of it keeps its speed.
    """

    def __init__(self, *, yields: float = 0.5, seed: int | None = None) -> None:
        if not 0 <= yields <= 1:
            raise InvalidOption(f"driver: yields must be from 0 to 1, not {yields}")
        self._yields = yields
        self._rng = Rng.seeded(seed, stream=7)

    def reseed(self, seed: int) -> None:
        self._rng = Rng.seeded(seed, stream=7)

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> int:
        game = turn.game
        if not isinstance(game, Merge):
            raise InvalidOption(f"the driver plays games/Merge-v0, not {turn.env}")
        own, other, _, speed, _, gone, _ = turn.observation.tolist()
        lane = game.merge - FAST  # from here on the common lane can be entered
        if gone or own < lane or other < lane:
            return FAST
        if own < game.merge and other < game.merge:
            return 0 if self._rng.random() < self._yields else FAST
        if own >= other:
            return FAST
        return max(v for v in range(3) if v == 0 or own + v < max(game.merge, other + speed))
