"""The reference bidder for `markets/TaskAuction-v0`."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from palestra import Meta, ScriptedAgent, TextAction, Turn, agent

from palestra_markets.tasks.auction import REBIDS, Bid, Pass, TaskAuction
from palestra_markets.tasks.bidding import Worker


@agent("task-bidder", needs=("array",))
class TaskBidder(ScriptedAgent[TaskAuction]):
    """Asks for the cost of its best plan plus a margin; in a rebid, for the cost alone.

    It passes where that price exceeds the worth of the task. With margin=0 this is a dominant
    strategy under second scores.
    """

    def __init__(
        self,
        margin: Annotated[
            float, Meta(ge=0, le=10_000, description="margin over the cost, in percent")
        ] = 20.0,
    ) -> None:
        super().__init__()
        self._margin = margin

    def choose(self, turn: Turn[TaskAuction]) -> TextAction:
        game = turn.game
        seen = np.asarray(turn.observation).astype(float).tolist()
        difficulty = int(seen[4])
        worker = Worker(round(seen[6], 2), int(seen[7]))
        steps = worker.best_plan(difficulty, game.worth)
        cost = worker.cost(steps)
        margin = 0.0 if seen[0] == REBIDS else self._margin
        ask = round(cost * (1 + margin / 100))
        return Bid(steps, ask) if ask <= game.worth else Pass()
