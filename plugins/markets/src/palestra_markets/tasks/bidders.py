"""The reference bidder of `markets/TaskAuction-v0`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from palestra import Agent, Decision, InvalidOption, TextAction, Turn, agent

from palestra_markets.tasks.auction import REBIDS, Bid, Pass, TaskAuction
from palestra_markets.tasks.bidding import Worker


@agent(
    "task-bidder",
    plays=("markets/TaskAuction-v0",),
    needs=("array",),
    summary="Asks for the cost of its best plan and margin=20 percent more.",
)
class TaskBidder(Agent):
    """Asks for the cost of its best plan and `margin` percent more; in a rebid for the cost alone.

    Where cost exceeds worth it passes. With margin=0 this is dominant under second scores.
    """

    def __init__(self, margin: float = 20.0) -> None:
        if not 0 <= margin <= 10_000:
            raise InvalidOption(f"task-bidder: margin must be from 0 to 10000, not {margin}")
        self._margin = margin

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> TextAction:
        game = turn.game
        if not isinstance(game, TaskAuction):
            raise InvalidOption(f"this bidder is for markets/TaskAuction-v0, not {turn.env}")
        seen = np.asarray(turn.observation).astype(float).tolist()
        difficulty = int(seen[4])
        worker = Worker(round(seen[6], 2), int(seen[7]))
        steps = worker.best_plan(difficulty, game.worth)
        cost = worker.cost(steps)
        margin = 0.0 if seen[0] == REBIDS else self._margin
        ask = round(cost * (1 + margin / 100))
        return Bid(steps, ask) if ask <= game.worth else Pass()
