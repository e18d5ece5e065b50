"""Agents written as generators that yield actions and receive the result of each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator
from typing import Any

from palestra import ScriptedAgent, TextAction, Turn

from palestra_web.actions import Stop


class GeneratorAgent(ScriptedAgent):
    """An agent that runs one generator, its play, in each episode.

    A play yields the action of each turn. At every later turn it receives the value of `read_turn`;
    when it returns, `closing_action` gives the last action.
    """

    def __init__(self) -> None:
        super().__init__()
        self._plays: dict[int, Generator[TextAction, Any, Any]] = {}

    def choose(self, turn: Turn) -> TextAction:
        try:
            if turn.episode_key in self._plays:
                return self._plays[turn.episode_key].send(self.read_turn(turn))
            play = self._plays[turn.episode_key] = self.begin(turn)
            return next(play)
        except StopIteration as done:
            return self.closing_action(done.value)

    @abstractmethod
    def begin(self, turn: Turn) -> Generator[TextAction, Any, Any]:
        """The play of an episode, made at its first turn."""

    @abstractmethod
    def read_turn(self, turn: Turn) -> Any:
        """The value that the play receives at a later turn."""

    def closing_action(self, answer: str) -> TextAction:
        """The action to take once a play has returned `answer`."""
        return Stop(answer)

    def forget(self, episode_key: int) -> None:
        self._plays.pop(episode_key, None)
