"""The reference buyer for `markets/Composer-v0`.

The paper's online rule is the agent `zcl-buyer` in palestra-adapters, beside the agent that uses it
to compose agents.
"""

from __future__ import annotations

from typing import Annotated

from palestra import Meta, ScriptedAgent, TextAction, Turn, agent

from palestra_markets.composer.composer import Buy, Composer, Skip, Try
from palestra_markets.reading import observed_numbers


@agent("greedy-buyer", needs=("array",))
class GreedyBuyer(ScriptedAgent[Composer]):
    """Buys every component that fits the budget and whose estimated value justifies its price.

    The estimate comes from trials, or from the component's claim if trials=0. With floor=0 it buys
    every component while the budget lasts.
    """

    def __init__(
        self,
        floor: Annotated[
            float,
            Meta(ge=0, le=1000, description="lowest ratio of value to price at which it buys"),
        ] = 1.0,
        trials: Annotated[
            int, Meta(ge=0, description="trials per component; 0 to rely on its claim")
        ] = 0,
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._floor, self._trials = floor, trials

    def choose(self, turn: Turn[Composer]) -> TextAction:
        seen = observed_numbers(turn)
        price, claim, free, left = seen[2], seen[3], seen[5], seen[6]
        tried, allowed, run, solved, cost = seen[10:]
        if free and tried < min(self._trials, allowed) and left >= price + cost:
            return Try()
        value = 100 * solved / run if run else claim
        return Buy() if free and value >= self._floor * price else Skip()
