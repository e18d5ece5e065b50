"""Two games of two steps in which a team must coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from palestra import ArrayGame, ArrayState, Out
from palestra.rules import all_act, finish

CLIMBING = ((11, -30, 0), (-30, 7, 6), (0, 0, 5))  # Claus and Boutilier 1998


class StageState(ArrayState):
    """The state of both games."""

    stage: Annotated[int, np.int8]


class Staged(ArrayGame[StageState]):
    """What the games share: both act in every stage, all actions are legal, the stage is seen."""

    order = "simultaneous"
    payoffs = "general"
    num_players = 2
    deterministic = True

    @staticmethod
    def init_state(config: Any, state: StageState) -> None:
        all_act(state)

    @staticmethod
    def write_legal_mask(config: Any, state: StageState, seat: int, mask: Any) -> None:
        mask[:] = 1

    @staticmethod
    def write_observation(config: Any, state: StageState, seat: int, obs: Any) -> None:
        obs[state.stage] = 1


@dataclass(frozen=True)
class TwoStep(Staged):
    """Rashid et al. 2018: the first player's first action picks a matrix, of 7s or 0 1 1 8."""

    rules_text = "The first player picks a matrix; then both pick a row and a column of it."
    num_actions = 2
    observation_shape = (3,)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, 4.0)

    def describe(self, state: StageState, seat: int) -> str:
        return ("Pick a matrix.", "All cells pay 7.", "The cells pay 0, 1, 1 and 8.")[state.stage]

    @staticmethod
    def apply_actions(config: Any, state: StageState, actions: Any, out: Out) -> None:
        if state.stage == 0:
            state.stage = 1 + actions[0]
            return
        both = actions[0] + actions[1]
        paid = 7.0 if state.stage == 1 else (0.0 if both == 0 else 1.0 if both == 1 else 8.0)
        for seat in range(2):
            out.rewards[seat, 0] = paid / 2
        finish(state)


@dataclass(frozen=True)
class Climb(Staged):
    """First everybody is paid 1 for action 2, whatever the other does; then the climbing game."""

    rules_text = "First take action 2. Then pick a row and a column of the climbing game."
    num_actions = 3
    observation_shape = (2,)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (-15.0, 6.5)

    def describe(self, state: StageState, seat: int) -> str:
        return ("Action 2 pays 1.", "Pick a row or a column.")[state.stage]

    @staticmethod
    def apply_actions(config: Any, state: StageState, actions: Any, out: Out) -> None:
        for seat in range(2):
            if state.stage == 0:
                out.rewards[seat, 0] = 1.0 if actions[seat] == 2 else 0.0
            else:
                out.rewards[seat, 0] = CLIMBING[actions[0]][actions[1]] / 2
        if state.stage == 1:
            finish(state)
        state.stage = 1
