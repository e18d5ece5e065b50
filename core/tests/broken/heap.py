"""A sound game to break: two take stones, each with a card that the other never sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import ArrayGame, ArrayState, Bar, Meta, Rng, Scene, Shape, environment
from palestra.rules import mover, pass_turn, randint, turn_to, win


class HeapState(ArrayState):
    """A heap in mid-game."""

    heap: Annotated[int, np.int16]  # stones left
    cards: Annotated[NDArray[np.int8], Shape(2)]  # by seat, from 0 to 3


@environment("broken/Heap-v0", family="board")
@dataclass(frozen=True)
class Heap(ArrayGame[HeapState]):
    """Take one or two stones; the last one wins. An observation is the heap and the own card."""

    stones: Annotated[int, Meta(ge=1, le=200, description="stones at the start")] = 80

    rules_text = "Take one or two stones in turn; whoever takes the last one wins."
    order = "sequential"
    payoffs = "zero-sum"
    deterministic = False
    perfect_information = False
    num_players = 2
    num_actions = 2
    observation_shape = (2,)
    observation_dtype = np.int16
    observation_bounds = (0, 200)

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        state.heap = config.stones
        for seat in range(2):
            state.cards[seat] = randint(state, 4)
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        seat = mover(state)
        state.heap -= actions[seat] + 1
        if state.heap == 0:
            win(state, seat, out)
        else:
            pass_turn(state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        mask[0] = 1
        mask[1] = state.heap > 1

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, obs: Any) -> None:
        obs[0] = state.heap
        obs[1] = state.cards[seat]

    def describe(self, state: Any, seat: int) -> str:
        return f"{state.heap} stones; your card is {state.cards[seat]}."

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return str(action + 1)

    def scene(self, state: Any, seat: int | None = None) -> Scene:
        return Scene(bars=(Bar("stones", float(state.heap), float(self.stones)),))

    def determinize(self, state: Any, seat: int, rng: Rng) -> Any:
        copy = self.clone(state)
        copy.cards[1 - seat] = rng.below(4)
        return copy
