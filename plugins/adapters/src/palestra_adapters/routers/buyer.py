"""The online knapsack rule as a player of `markets/Composer-v0`, which offers components.

It does not import the market: it reads the array observation and writes moves as text.
"""

from __future__ import annotations

from typing import Annotated

from palestra import Decision, InvalidOption, Meta, ScriptedAgent, Turn, agent

from palestra_adapters.routers.knapsack import Offer, consider


@agent(
    "zcl-buyer",
    plays=("markets/Composer-v0",),
    summary="Buys components by the online knapsack threshold.",
)
class ZclBuyer(ScriptedAgent):
    """Tries a component at most `trials` times, then buys it if its value reaches the threshold.

    The value is the success rate in trials, in percent, or without trials the value claimed.
    """

    def __init__(
        self, *, trials: Annotated[int, Meta(ge=0, description="most trials per component")] = 3
    ) -> None:
        super().__init__()
        self._trials = trials

    def choose(self, turn: Turn) -> Decision:
        return Decision(text=self._move(turn))

    def _move(self, turn: Turn) -> str:
        if turn.env != "markets/Composer-v0":
            raise InvalidOption(f"zcl-buyer is for markets/Composer-v0, not {turn.env}")
        seen = [float(number) for number in turn.observation]
        price, claim, free, left, budget, low, high = (seen[2], seen[3], *seen[5:10])
        tried, allowed, run, solved, cost = seen[10:]
        if free and tried < min(self._trials, allowed) and left >= price + cost:
            return "Try()"
        offer = Offer("", price, 100 * solved / run if run else claim)
        taken = consider(offer, budget - left, budget, low, high).taken
        return "Buy()" if free and taken else "Skip()"
