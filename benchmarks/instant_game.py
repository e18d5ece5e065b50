"""A game of one seat that costs next to nothing, for measuring what is around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from palestra import ArrayGame, ArrayState, Out
from palestra.rules import all_act


class InstantState(ArrayState):
    """A number of steps."""

    count: Annotated[int, np.int32]


@dataclass(frozen=True)
class Instant(ArrayGame[InstantState]):
    """One seat that acts for ever."""

    order = "simultaneous"
    payoffs = "general"
    num_players = 1
    num_actions = 2
    observation_shape = (1,)
    fixed_moves = True
    rules_text = "Act."

    @staticmethod
    def init_state(config: Instant, state: InstantState) -> None:
        all_act(state)

    @staticmethod
    def apply_actions(config: Instant, state: InstantState, actions: Any, out: Out) -> None:
        state.count += 1

    @staticmethod
    def write_legal_mask(config: Instant, state: InstantState, seat: int, mask: Any) -> None:
        mask[:] = 1

    @staticmethod
    def write_observation(config: Instant, state: InstantState, seat: int, view: Any) -> None:
        view[0] = state.count % 2

    def describe(self, state: Any, seat: int) -> str:
        return f"Step {state.count}."

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return str(action)
