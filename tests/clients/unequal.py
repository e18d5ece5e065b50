"""A game whose seats see and do different things, as a stranger might write one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from gymnasium import spaces
from palestra import Game, InvalidAction, Outcome, Rng, Step

SEES = (2, 4)  # numbers that each seat sees
CHOICES = (5, 3)  # actions of each seat
ROUNDS = 4


@dataclass
class Rounds:
    rng: Rng
    target: int = 0  # what the leader is shown
    played: int = 0
    last: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Unequal(Game[Rounds, int]):
    """The leader shows one of five signs and the follower answers with one of three.

    Both are paid 1 where the answer is the sign modulo three.
    """

    num_players = 2
    order = "simultaneous"
    payoffs = "common"

    def initial_state(self, seed: int | None = None) -> Rounds:
        rng = Rng.seeded(seed)
        return Rounds(rng, rng.below(3))

    def to_act(self, state: Rounds) -> tuple[int, ...]:
        return (0, 1) if state.played < ROUNDS else ()

    def legal(self, state: Rounds, seat: int) -> Any:
        return range(CHOICES[seat])

    def step(self, state: Rounds, actions: Mapping[int, int]) -> Step:
        state.last = actions[0], actions[1]
        state.played += 1
        state.target = state.rng.below(3)
        hit = float(actions[0] % 3 == actions[1])
        return Step(rewards={seat: {"payoff": hit} for seat in (0, 1)})

    def outcome(self, state: Rounds) -> Outcome | None:
        over = state.played >= ROUNDS
        return Outcome(("score", "score"), (0.0, 0.0), "all rounds are played") if over else None

    def observation_space(self, seat: int) -> spaces.Box:
        return spaces.Box(0, 8, (SEES[seat],), np.int8)

    def observe(self, state: Rounds, seat: int) -> Any:
        seen = (state.target, state.played) if seat == 0 else (*state.last, state.played, 8)
        return np.array(seen, np.int8)

    def describe(self, state: Rounds, seat: int) -> str:
        return f"round {state.played}: {self.observe(state, seat).tolist()}"

    def action_space(self, seat: int) -> spaces.Discrete:
        return spaces.Discrete(CHOICES[seat])

    def action_mask(self, state: Rounds, seat: int) -> Any:
        return np.ones(CHOICES[seat], np.int8)

    def action_of(self, index: int) -> int:
        return index

    def index_of(self, action: int) -> int | None:
        return action

    def check(self, state: Rounds, seat: int, action: int) -> None:
        if action not in range(CHOICES[seat]):
            raise InvalidAction(action, f"0 to {CHOICES[seat] - 1}")

    def sample(self, state: Rounds, seat: int, rng: Rng) -> int:
        return rng.below(CHOICES[seat])

    def parse(self, state: Rounds, seat: int, text: str) -> int:
        if text not in map(str, range(CHOICES[seat])):
            raise InvalidAction(text, f"0 to {CHOICES[seat] - 1}")
        return int(text)

    def action_text(self, state: Rounds, seat: int, action: int) -> str:
        return str(action)

    def clone(self, state: Rounds) -> Rounds:
        return replace(state, rng=replace(state.rng))

    def reseed(self, state: Rounds, seed: int) -> None:
        state.rng = Rng.seeded(seed)

    def state_key(self, state: Rounds, seat: int | None = None) -> bytes:
        return repr((state.target, state.played, state.last)).encode()
