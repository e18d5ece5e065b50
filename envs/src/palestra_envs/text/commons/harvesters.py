"""Scripted harvesters: sustainable, greedy, or a fixed catch; they say nothing."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from palestra import Meta, ScriptedAgent, TextAction, Turn, agent

from palestra_envs.text.commons.game import Commons, Harvest
from palestra_envs.text.sharing import Pass


@agent("harvester")
class Harvester(ScriptedAgent[Commons]):
    """Harvests by rule and says nothing: policy=sustainable|greedy|fixed.

    It reads only its own array observation. "sustainable" takes as much as regrows, "greedy" an
    even share of the whole stock, "fixed" always `amount` units.
    """

    def __init__(
        self,
        *,
        policy: Annotated[
            Literal["sustainable", "greedy", "fixed"], Meta(description="how much to take")
        ] = "sustainable",
        amount: Annotated[
            int, Meta(ge=0, description="units per round that policy=fixed takes")
        ] = 10,
    ) -> None:
        super().__init__(seed=0)  # it uses no randomness
        self._policy, self._amount = policy, amount

    def choose(self, turn: Turn[Commons]) -> TextAction:
        game = turn.game
        stock, played, talking, *_ = np.asarray(turn.observation).tolist()
        members = game.num_players - (played < game.newcomer)
        if talking:
            return Pass()
        if self._policy == "sustainable":
            return Harvest(game.sustainable(stock, members))
        if self._policy == "greedy":
            return Harvest(-(-stock // members))
        return Harvest(min(self._amount, game.capacity))
