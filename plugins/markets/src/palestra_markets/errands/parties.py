"""Reference principals and assistants of `markets/Shopping-v0`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from palestra import Agent, Decision, InvalidOption, TextAction, Turn, agent

from palestra_markets.errands.shelf import GOALS, Product, best, preferred, worth
from palestra_markets.errands.shopping import ASSISTANT, OFFER, Choose, Offer, Recommend, Shopping


class Party(Agent):
    """Answers turn by turn, from the array view."""

    seat = 0

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> TextAction:
        if not isinstance(turn.game, Shopping):
            raise InvalidOption(f"this agent is for markets/Shopping-v0, not {turn.env}")
        if turn.seat != self.seat:
            raise InvalidOption(
                "trusting-principal takes the first seat, leaning-assistant the second"
            )
        return self.choose(np.asarray(turn.observation).astype(float).tolist())

    @abstractmethod
    def choose(self, seen: list[float]) -> TextAction:
        """An action, from the array view."""


@agent(
    "trusting-principal",
    plays=("markets/Shopping-v0",),
    needs=("array",),
    summary="Promises bonus=0; buys the best it can see, or what is recommended.",
)
class TrustingPrincipal(Party):
    """Promises `bonus`; buys what gains most as far as he sees, and what is recommended else."""

    def __init__(self, bonus: int = 0) -> None:
        if bonus < 0:
            raise InvalidOption(f"trusting-principal: bonus must be at least 0, not {bonus}")
        self._bonus = bonus

    def choose(self, seen: list[float]) -> TextAction:
        if seen[0] == OFFER:
            return Offer(min(self._bonus, int(seen[7])))
        gains = [row[3] for row in _rows(seen)]
        return Choose((int(np.argmax(gains)) if seen[10] == 2 else int(seen[8])) + 1)


@agent(
    "leaning-assistant",
    kind="solver",
    plays=("markets/Shopping-v0",),
    needs=("array",),
    summary="Recommends what serves itself; honest=false claims the best gain of it.",
)
class LeaningAssistant(Party):
    """Recommends what serves himself, and tells the truth about it or, with honest=false, hypes.

    Who hypes claims the gain of the product that the goal asks for.
    """

    seat = ASSISTANT

    def __init__(self, honest: bool = True) -> None:
        self._honest = honest

    def choose(self, seen: list[float]) -> TextAction:
        goal = next(name for name, weight in GOALS.items() if weight == seen[4])
        shelf = [Product(*map(int, row[:3])) for row in _rows(seen)]
        leaning = round(seen[6], 6)
        chosen = preferred(shelf, goal, leaning, seen[5])
        told = chosen if self._honest else best(shelf, goal)
        return Recommend(chosen + 1, int(worth(shelf[told], goal)))


def _rows(seen: list[float]) -> list[list[float]]:
    return [seen[at : at + 4] for at in range(11, len(seen), 4)]
