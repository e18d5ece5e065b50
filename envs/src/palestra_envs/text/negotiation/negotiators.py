"""Scripted negotiators: fair, greedy, and one that concedes with time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from palestra import Agent, Decision, InvalidOption, Turn, UnknownName, agent

from palestra_envs.text.negotiation.game import (
    WORTH,
    Accept,
    Items,
    Negotiation,
    Propose,
    Walk,
    value_of,
)

STYLES = ("fair", "greedy", "conceder")


@agent(
    "negotiator",
    plays=("text/Negotiation-v0",),
    summary="Proposes splits and accepts good ones: style=fair|greedy|conceder.",
)
class Negotiator(Agent):
    """Plays `text/Negotiation-v0` from its own array view.

    It aims at a share of 10: "fair" at 6, "greedy" at all it can take, "conceder" from 10 down to
    4 as turns go by. An offer worth at least the aim is accepted; otherwise it asks for the
    smallest share worth at least the aim, and so leaves the other as much as it can.
    """

    def __init__(self, *, style: str = "fair") -> None:
        if style not in STYLES:
            raise UnknownName("negotiator style", style, STYLES)
        self._style = style

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> Any:
        if not isinstance(turn.game, Negotiation):
            raise InvalidOption(f"the negotiator plays text/Negotiation-v0, not {turn.env}")
        seen = np.asarray(turn.observation).tolist()
        counts, values = tuple(seen[0:3]), tuple(seen[3:6])
        aim = self._aim(seen[11], seen[12])
        if seen[6]:
            rest = [c - t for c, t in zip(counts, seen[8:11], strict=True)]
            worth = value_of(rest, values)
            last = seen[11] >= seen[12] - 1
            if worth >= aim or (last and worth > 0):
                return Accept()
            if last:
                return Walk()
        return Propose(*smallest_share(counts, values, aim))

    def _aim(self, turn: int, most: int) -> int:
        if self._style == "fair":
            return 6
        if self._style == "greedy":
            return WORTH
        return max(4, WORTH - round(6 * turn / max(1, most - 1)))


def smallest_share(counts: Sequence[int], values: Sequence[int], aim: int) -> Items:
    """The cheapest share worth at least `aim`: fewest items, then least worth."""
    offers = product(*(range(count + 1) for count in counts))
    enough = [offer for offer in offers if value_of(offer, values) >= aim]
    best = min(enough, key=lambda offer: (sum(offer), value_of(offer, values), offer))
    return best[0], best[1], best[2]
