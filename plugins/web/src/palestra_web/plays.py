"""Agents that follow a play: a generator an episode, which gives the next action and is told what
the last one led to."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Sequence
from typing import Any

from palestra import Agent, Decision, TextAction, Turn

from palestra_web.actions import Stop


class Player(Agent):
    """Carries on the play of every episode it sits in."""

    def __init__(self) -> None:
        self._plays: dict[int, Generator[TextAction, Any, Any]] = {}

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._next(turn)) for turn in turns]

    def _next(self, turn: Turn) -> TextAction:
        try:
            if turn.episode_key in self._plays:
                return self._plays[turn.episode_key].send(self.told(turn))
            play = self._plays[turn.episode_key] = self.begin(turn)
            return next(play)
        except StopIteration as done:
            return self.ended(done.value)

    @abstractmethod
    def begin(self, turn: Turn) -> Generator[TextAction, Any, Any]:
        """The play of an episode, at its first turn."""

    @abstractmethod
    def told(self, turn: Turn) -> Any:
        """What the play is told at every later turn."""

    def ended(self, answer: str) -> TextAction:
        """The action once a play has returned."""
        return Stop(answer)

    def forget(self, episode_key: int) -> None:
        self._plays.pop(episode_key, None)
