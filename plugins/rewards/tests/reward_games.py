"""A game of turns whose order follows from the moves, and a potential of its states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from palestra import ArrayGame, ArrayState, Meta
from palestra.rules import finish, mover, randint, turn_to


class RelayState(ArrayState):
    """Who passed how often, and what was drawn on the way."""

    passes: Annotated[int, np.int32]  # passes so far
    drawn: Annotated[int, np.int32]  # the number drawn at the last pass


@dataclass(frozen=True)
class Relay(ArrayGame[RelayState]):
    """Action n passes to the n-th seat from one's own, 0 keeping it; a pass pays who passed."""

    num_players: Annotated[int, Meta(ge=1, le=5, description="how many play")] = 3
    length: Annotated[int, Meta(ge=1, le=100, description="passes of an episode")] = 8

    rules_text = """Pass the baton on."""
    order = "sequential"
    payoffs = "general-sum"
    observation_shape = (1,)
    observation_bounds = (0, 100)

    @property
    def num_actions(self) -> int:
        return self.num_players

    @staticmethod
    def init_state(config: Relay, state: RelayState) -> None:
        turn_to(state, randint(state, config.num_players))

    @staticmethod
    def apply_actions(config: Relay, state: RelayState, actions: Any, out: Any) -> None:
        seat = mover(state)
        out.rewards[seat, 0] = 1.0
        state.passes += 1
        state.drawn = randint(state, 1000)
        if state.passes == config.length:
            finish(state)
        else:
            turn_to(state, (seat + actions[seat]) % config.num_players)

    @staticmethod
    def write_legal_mask(config: Relay, state: RelayState, seat: int, mask: Any) -> None:
        mask[:] = True

    @staticmethod
    def write_observation(config: Relay, state: RelayState, seat: int, obs: Any) -> None:
        obs[0] = state.passes

    def describe(self, state: RelayState, seat: int) -> str:
        return f"Passes so far: {state.passes}."


def place(game: Any, state: Any, seat: int) -> tuple[int, int]:
    """Where a forager stands, whatever else is on the grid."""
    return int(state.row[seat]), int(state.column[seat])


def height(game: Any, state: Any, seat: int) -> float:
    """A potential without any rhyme, another for every state and seat."""
    return ((int(state.drawn) + 31 * int(state.passes)) * (seat + 3) % 97) / 50 - 1


def marks(game: Any, state: Any, seat: int) -> float:
    """0.563 on the empty board of tic-tac-toe, and more for one's own marks than for theirs."""
    board = np.asarray(state.board)
    return 0.563 + 0.2 * float((board == seat + 1).sum()) - 0.1 * float((board > 0).sum())


def letters(game: Any, state: Any, seat: int) -> float:
    """How many letters were guessed in hangman, and one."""
    return 1.0 + len(state.guessed)


def left_to_fill(game: Any, state: Any, seat: int) -> Any:
    """A potential that takes one state of tic-tac-toe, or an array of them."""
    return (seat + 1) * (state["board"] == 0).sum(axis=-1) + state["turn"]


def height_of_bid(game: Any, state: Any, seat: int) -> float:
    """A potential that every seat's bid changes, and that differs by seat."""
    return 2.0 + seat + 0.3 * float(state["standing"])
