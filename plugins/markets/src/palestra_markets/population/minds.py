"""Reference groups and governments of `markets/Population-v0`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from palestra import Agent, Decision, InvalidOption, TextAction, Turn, agent

from palestra_markets.population.population import GOVERNMENT, Policy, Population, Stay


def read(turn: Turn) -> list[float]:
    if not isinstance(turn.game, Population):
        raise InvalidOption(f"this agent is for markets/Population-v0, not {turn.env}")
    seen: list[float] = np.asarray(turn.observation).astype(float).tolist()
    return seen


class Mind(Agent):
    """Answers turn by turn."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self.choose(turn, read(turn))) for turn in turns]

    @abstractmethod
    def choose(self, turn: Turn, seen: list[float]) -> TextAction:
        """An action, from the array view."""


@agent(
    "cautious-group",
    plays=("markets/Population-v0",),
    needs=("array",),
    summary="Stays at home the more, fear=15 percent for each percent infectious.",
)
class CautiousGroup(Mind):
    """Keeps `fear` percent of the group at home for every percent of all who are infectious."""

    def __init__(self, fear: float = 15.0) -> None:
        if not 0 <= fear <= 1000:
            raise InvalidOption(f"cautious-group: fear must be from 0 to 1000, not {fear}")
        self._fear = fear

    def choose(self, turn: Turn, seen: list[float]) -> TextAction:
        if turn.seat == GOVERNMENT:
            raise InvalidOption("cautious-group takes a group's seat, not the government's")
        return Stay(min(95, round(self._fear * 100 * seen[6])))


@agent(
    "threshold-government",
    plays=("markets/Population-v0",),
    needs=("array",),
    summary="Closes closed=60 percent and pays stimulus=300 above threshold=2 percent infectious.",
)
class ThresholdGovernment(Mind):
    """Closes and pays while more than `threshold` percent of all people are infectious.

    With closed=0 and stimulus=0 it does nothing.
    """

    def __init__(self, threshold: float = 2.0, closed: int = 60, stimulus: int = 300) -> None:
        for name, value, most in (
            ("threshold", threshold, 100),
            ("closed", closed, 100),
            ("stimulus", stimulus, 1000),
        ):
            if not 0 <= value <= most:
                raise InvalidOption(
                    f"threshold-government: {name} must be from 0 to {most}, not {value}"
                )
        self._threshold, self._answer = threshold, Policy(stimulus, closed)

    def choose(self, turn: Turn, seen: list[float]) -> TextAction:
        if turn.seat != GOVERNMENT:
            raise InvalidOption("threshold-government takes the first seat, the government's")
        return self._answer if 100 * seen[6] > self._threshold else Policy(0, 0)
