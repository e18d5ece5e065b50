"""For tests of learners: small games whose answers are known by hand, and a resumed trainer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import ArrayGame, ArrayState, Out, Shape
from palestra.rules import all_act, finish, randint


class BitsState(ArrayState):
    bits: Annotated[NDArray[np.int8], Shape(2)]  # what each player sees
    said: Annotated[int, np.int8]  # 1 more than what player 0 said; 0 before


@dataclass(frozen=True)
class Bits(ArrayGame[BitsState]):
    """Each player sees a bit of their own. With `guess` player 0 says a bit, then 1 guesses 0's.

    Without, both are paid 1 after one step if their bits are equal, whatever they do.
    """

    guess: bool = False

    rules_text = "Bits."
    order = "simultaneous"
    payoffs = "general"
    num_players = 2
    num_actions = 2
    observation_shape = (4,)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def describe(self, state: BitsState, seat: int) -> str:
        return f"bit {state.bits[seat]}"

    @staticmethod
    def init_state(config: Any, state: BitsState) -> None:
        for seat in range(2):
            state.bits[seat] = randint(state, 2)
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: BitsState, actions: Any, out: Out) -> None:
        if config.guess and state.said == 0:
            state.said = 1 + actions[0]
            return
        right = actions[1] == state.bits[0] if config.guess else state.bits[0] == state.bits[1]
        for seat in range(2):
            out.rewards[seat, 0] = 1.0 if right else 0.0
        finish(state)

    @staticmethod
    def write_legal_mask(config: Any, state: BitsState, seat: int, mask: Any) -> None:
        mask[:] = 1

    @staticmethod
    def write_observation(config: Any, state: BitsState, seat: int, obs: Any) -> None:
        obs[state.bits[seat]] = 1
        if state.said > 0 and seat == 1:
            obs[1 + state.said] = 1


class RecallState(ArrayState):
    bit: Annotated[int, np.int8]


@dataclass(frozen=True)
class Recall(ArrayGame[RecallState]):
    """Each sees a bit in the first of two steps; in the second, blind, both are paid for saying it.

    Actions are token * 2 + move: the token is said, the move does nothing.
    """

    rules_text = "Recall."
    order = "simultaneous"
    payoffs = "general"
    num_players = 2
    num_actions = 4
    observation_shape = (3,)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def describe(self, state: RecallState, seat: int) -> str:
        return f"step {state.turn}"

    @staticmethod
    def init_state(config: Any, state: RecallState) -> None:
        state.bit = randint(state, 2)
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: RecallState, actions: Any, out: Out) -> None:
        if state.turn == 0:
            return
        for seat in range(2):
            out.rewards[seat, 0] = 1.0 if actions[seat] // 2 == state.bit else 0.0
        finish(state)

    @staticmethod
    def write_legal_mask(config: Any, state: RecallState, seat: int, mask: Any) -> None:
        mask[:] = 1

    @staticmethod
    def write_observation(config: Any, state: RecallState, seat: int, obs: Any) -> None:
        obs[2 if state.turn > 0 else state.bit] = 1


class NextState(ArrayState):
    symbols: Annotated[NDArray[np.int8], Shape("num_players")]  # what each player sees


@dataclass(frozen=True)
class NextOne(ArrayGame[NextState]):
    """Each player sees a symbol of `num_symbols`, and is paid 1 for naming that of the next one."""

    num_players: int = 2
    num_symbols: int = 2

    rules_text = "Name the next one's symbol."
    order = "simultaneous"
    payoffs = "general"

    @property
    def num_actions(self) -> int:
        return self.num_symbols

    @property
    def observation_shape(self) -> tuple[int, ...]:
        return (self.num_symbols,)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def describe(self, state: NextState, seat: int) -> str:
        return f"symbol {state.symbols[seat]}"

    @staticmethod
    def init_state(config: Any, state: NextState) -> None:
        for seat in range(config.num_players):
            state.symbols[seat] = randint(state, config.num_symbols)
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: NextState, actions: Any, out: Out) -> None:
        for seat in range(config.num_players):
            right = actions[seat] == state.symbols[(seat + 1) % config.num_players]
            out.rewards[seat, 0] = 1.0 if right else 0.0
        finish(state)

    @staticmethod
    def write_legal_mask(config: Any, state: NextState, seat: int, mask: Any) -> None:
        mask[:] = 1

    @staticmethod
    def write_observation(config: Any, state: NextState, seat: int, obs: Any) -> None:
        obs[state.symbols[seat]] = 1


class CueState(ArrayState):
    cues: Annotated[NDArray[np.int8], Shape("num_players")]  # what each player saw first
    length: Annotated[int, np.int8]  # steps of this episode


@dataclass(frozen=True)
class Cue(ArrayGame[CueState]):
    """Each player sees a cue in the first step alone, and is paid 1 for naming it in the last.

    An episode has 2 to `longest` steps; in the last one all see the same mark, in those between
    nothing. Who acts by the present observation alone is paid 1 / `num_cues` at most on average.
    """

    num_players: int = 2
    num_cues: int = 3
    longest: int = 4

    rules_text = "Name the cue."
    order = "simultaneous"
    payoffs = "general"

    @property
    def num_actions(self) -> int:
        return self.num_cues

    @property
    def observation_shape(self) -> tuple[int, ...]:
        return (self.num_cues + 1,)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def describe(self, state: CueState, seat: int) -> str:
        return f"step {state.turn}"

    @staticmethod
    def init_state(config: Any, state: CueState) -> None:
        state.length = 2 + randint(state, config.longest - 1)
        for seat in range(config.num_players):
            state.cues[seat] = randint(state, config.num_cues)
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: CueState, actions: Any, out: Out) -> None:
        if state.turn < state.length - 1:
            return
        for seat in range(config.num_players):
            out.rewards[seat, 0] = 1.0 if actions[seat] == state.cues[seat] else 0.0
        finish(state)

    @staticmethod
    def write_legal_mask(config: Any, state: CueState, seat: int, mask: Any) -> None:
        mask[:] = 1

    @staticmethod
    def write_observation(config: Any, state: CueState, seat: int, obs: Any) -> None:
        if state.turn == 0:
            obs[state.cues[seat]] = 1
        elif state.turn == state.length - 1:
            obs[config.num_cues] = 1


def whole_and_resumed(made: Callable[[], Any], folder: Path) -> tuple[Any, Any]:
    """A trainer after four updates, and one that was saved and loaded after two of its four."""
    whole = made()
    for _ in range(4):
        whole.update()
    half = made()  # it seeds torch's own generator, from which updates draw
    for _ in range(2):
        half.update()
    half.save(folder)
    again = type(half).load(folder)
    for _ in range(2):
        again.update()
    return whole, again
