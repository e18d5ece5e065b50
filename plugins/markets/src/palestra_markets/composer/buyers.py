"""The reference buyer of `markets/Composer-v0` that ships with it.

The online rule of the paper is `zcl-buyer` in palestra-adapters, beside the agent that composes
agents by it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from palestra import Agent, Decision, InvalidOption, TextAction, Turn, agent

from palestra_markets.composer.composer import Buy, Composer, Skip, Try


@agent(
    "greedy-buyer",
    plays=("markets/Composer-v0",),
    needs=("array",),
    summary="Buys what is worth floor=1 times its price, by trials=0 of it or by its claim.",
)
class GreedyBuyer(Agent):
    """Buys what fits and is worth `floor` times its price, by `trials` or, without, by the claim.

    With floor=0 it takes whatever comes while the budget lasts.
    """

    def __init__(self, floor: float = 1.0, trials: int = 0) -> None:
        if not 0 <= floor <= 1000 or trials < 0:
            raise InvalidOption(
                f"greedy-buyer: floor must be from 0 to 1000 and trials at least 0, not {floor} "
                f"and {trials}"
            )
        self._floor, self._trials = floor, trials

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> TextAction:
        if not isinstance(turn.game, Composer):
            raise InvalidOption(f"this buyer is for markets/Composer-v0, not {turn.env}")
        seen = np.asarray(turn.observation).astype(float).tolist()
        price, claim, free, left = seen[2], seen[3], seen[5], seen[6]
        tried, allowed, run, solved, cost = seen[10:]
        if free and tried < min(self._trials, allowed) and left >= price + cost:
            return Try()
        value = 100 * solved / run if run else claim
        return Buy() if free and value >= self._floor * price else Skip()
