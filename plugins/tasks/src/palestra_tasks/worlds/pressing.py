"""Agents for drawn worlds that take one shortcut each: they learn no laws."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import defaultdict
from typing import Any

from palestra import ScriptedAgent, Turn, agent

from palestra_tasks.worlds.autoenv import AutoEnv, Press

_LINE = re.compile(r"^Attempt \d+: (.*)$", re.MULTILINE)
_PRESS = re.compile(r"\| (\d+): [\d ]+, paid (-?[\d.]+)")
CURIOUS = 0.2  # how often the greedy agent presses any button in practice


def attempts_of(position: str) -> list[list[tuple[int, float]]]:
    """By attempt, which buttons were pressed and what they paid."""
    return [
        [(int(button), float(pay)) for button, pay in _PRESS.findall(line)]
        for line in _LINE.findall(position)
    ]


class Presser(ScriptedAgent[AutoEnv]):
    """Presses by what earlier attempts paid; in the 36 worlds it moves at random."""

    def choose(self, turn: Turn[AutoEnv]) -> Any:
        seen = attempts_of(turn.position)
        if not seen:
            return turn.sample(self.rng)
        buttons = len(turn.game.menu)
        return Press(self.pressed(seen, buttons, len(seen) == turn.game.attempts))

    @abstractmethod
    def pressed(self, seen: list[list[tuple[int, float]]], buttons: int, last: bool) -> int:
        """The number of the button to press."""


@agent("autoenv-replay", kind="scripted")
class Replay(Presser):
    """Presses at random in practice, and repeats at last the attempt that paid most."""

    def pressed(self, seen: list[list[tuple[int, float]]], buttons: int, last: bool) -> int:
        *before, now = seen
        best = max(before, key=lambda one: sum(pay for _, pay in one), default=[])
        if last and len(now) < len(best):
            return best[len(now)][0]
        return self.rng.between(1, buttons)


@agent("autoenv-greedy", kind="scripted")
class Greedy(Presser):
    """Presses the button that paid most on average, wherever the dials stand."""

    def pressed(self, seen: list[list[tuple[int, float]]], buttons: int, last: bool) -> int:
        pays: dict[int, list[float]] = defaultdict(list)
        for button, pay in (press for attempt in seen for press in attempt):
            pays[button].append(pay)
        means = {
            n: sum(pays[n]) / len(pays[n]) if n in pays else 1.0 for n in range(1, buttons + 1)
        }
        best = [n for n in means if means[n] == max(means.values())]
        if not last and self.rng.random() < CURIOUS:
            return self.rng.between(1, buttons)
        return self.rng.choice(best)
