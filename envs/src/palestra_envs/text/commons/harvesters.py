"""Scripted harvesters: sustainable, greedy, or a fixed catch; they say nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from palestra import Agent, Decision, InvalidOption, Turn, UnknownName, agent

from palestra_envs.text.commons.game import Commons, Harvest, Pass

POLICIES = ("sustainable", "greedy", "fixed")


@agent(
    "harvester",
    plays=("text/Commons-v0",),
    summary="Harvests by rule and says nothing: policy=sustainable|greedy|fixed.",
)
class Harvester(Agent):
    """Plays `text/Commons-v0` from its own array view.

    "sustainable" catches what lets the lake regrow, "greedy" an even share of all there is,
    "fixed" always `amount` tons.
    """

    def __init__(self, *, policy: str = "sustainable", amount: int = 10) -> None:
        if policy not in POLICIES:
            raise UnknownName("harvester policy", policy, POLICIES)
        if amount < 0:
            raise InvalidOption(f"harvester: amount must be 0 or more, not {amount}")
        self._policy, self._amount = policy, amount

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> Any:
        game = turn.game
        if not isinstance(game, Commons):
            raise InvalidOption(f"the harvester plays text/Commons-v0, not {turn.env}")
        stock, played, talking, *_ = np.asarray(turn.observation).tolist()
        members = game.num_players - (played < game.newcomer)
        if talking:
            return Pass()
        if self._policy == "sustainable":
            return Harvest(game.sustainable(stock, members))
        if self._policy == "greedy":
            return Harvest(-(-stock // members))
        return Harvest(min(self._amount, game.capacity))
