"""Agents that misbehave, importable in a worker process."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from palestra import Agent, Decision, Turn, Usage


class Crasher(Agent):
    """Raises on its second move."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        if turns[0].steps_played >= 2:
            raise RuntimeError("no idea what to do")
        return [Decision(turn.legal_actions[0]) for turn in turns]


class Sleeper(Agent):
    """Never answers, and lets no exception disturb it."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        while True:
            try:
                time.sleep(0.05)
            except Exception:
                continue


class Suicide(Agent):
    """Takes its process down."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        os._exit(3)


class KilledOnce(Agent):
    """Its process is killed from outside in its first game; in a fresh one it plays on."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        mark = Path(os.environ["PALESTRA_TEST_MARK"])
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return [Decision(turn.legal_actions[0]) for turn in turns]


class Deaf(Agent):
    """Hangs where no signal reaches it, as native code may."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        while True:
            time.sleep(0.05)


class Cheat(Agent):
    """Plays a number that is never legal."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(10_000) for _ in turns]


class Answers(Agent):
    """Answers whatever it was made with."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [self._answer for _ in turns]


class Picky(Agent):
    """Refuses every request about the first start it has seen, as a model's filter may."""

    def __init__(self) -> None:
        self._refused = ""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        self._refused = self._refused or turns[0].start_key
        if any(turn.start_key == self._refused for turn in turns):
            raise ValueError("400 Bad Request")
        return [Decision(turn.legal_actions[0]) for turn in turns]


class Stammerer(Agent):
    """Answers illegally once a turn, and every answer takes one call."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [
            Decision(turn.legal_actions[0] if turn.tries else 10_000, usage=Usage(calls=1))
            for turn in turns
        ]


class Last(Agent):
    """Plays the legal move with the highest number."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(turn.legal_actions[-1]) for turn in turns]


class Slow(Agent):
    """Plays the first legal move after a pause."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        time.sleep(0.05)
        return [Decision(turn.legal_actions[0]) for turn in turns]


def nobody() -> Agent:
    raise OSError("weights are missing")


def first(turn: Turn) -> int:
    return turn.legal_actions[0]


async def later(turn: Turn) -> int:
    return first(turn)


class Acts:
    def act(self, turn: Turn) -> int:
        return first(turn)


def factory() -> Any:
    return later
