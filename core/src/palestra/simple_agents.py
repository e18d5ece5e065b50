"""Agents that need no install: random, first legal, and a game's own script."""

from __future__ import annotations

from collections.abc import Sequence

from palestra.agents import Agent, Decision, Turn
from palestra.array_game import ArrayGame
from palestra.errors import InvalidOption
from palestra.rng import Rng


class RandomAgent(Agent):
    """Draws a legal action from its own generator; free text is drawn from the samples given."""

    def __init__(self, *, seed: int | None = None) -> None:
        self._rng = Rng.seeded(seed, stream=2)

    def reseed(self, seed: int) -> None:
        self._rng = Rng.seeded(seed, stream=2)

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(turn.sample(self._rng)) for turn in turns]


class ScriptedAgent(RandomAgent):
    """Plays an array game's own `script`, the one its batches play with."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> object:
        game = turn.game
        if not (isinstance(game, ArrayGame) and game.has_script):
            raise InvalidOption(f"{turn.env} has no script; choose another agent than 'scripted'")
        action = int(game.script(game.config, turn._episode._world.state, turn.player))
        legal = 0 <= action < game.num_actions and turn.mask[action]
        return action if legal else turn.sample(self._rng)


class FirstLegalAgent(Agent):
    """Plays the legal action with the lowest number; says the first thing it may say."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._first(turn)) for turn in turns]

    @staticmethod
    def _first(turn: Turn) -> object:
        legal = turn.legal_actions
        return legal[0] if legal else turn.sample(Rng(0))
