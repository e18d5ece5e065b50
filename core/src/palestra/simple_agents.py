"""Agents that do not think: random, and first legal. What opponents are by default."""

from __future__ import annotations

from collections.abc import Sequence

from palestra.agents import Agent, Decision, Turn
from palestra.rng import Rng


class RandomAgent(Agent):
    """Draws a legal action from its own generator; free text is drawn from the samples given."""

    def __init__(self, *, seed: int | None = None) -> None:
        self._rng = Rng.seeded(seed, stream=2)

    def reseed(self, seed: int) -> None:
        self._rng = Rng.seeded(seed, stream=2)

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(turn.sample(self._rng)) for turn in turns]


class FirstLegalAgent(Agent):
    """Plays the legal action with the lowest number; says the first thing it may say."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._first(turn)) for turn in turns]

    @staticmethod
    def _first(turn: Turn) -> object:
        legal = turn.legal_actions
        return legal[0] if legal else turn.sample(Rng(0))
