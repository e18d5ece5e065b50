"""Scripted negotiators: fair, greedy, and one that concedes as turns go by."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Annotated, Literal

import numpy as np
from palestra import Meta, ScriptedAgent, TextAction, Turn, agent

from palestra_envs.text.negotiation.contexts import Items
from palestra_envs.text.negotiation.game import (
    WORTH,
    Accept,
    Claim,
    Done,
    Negotiation,
    Propose,
    Walk,
    value_of,
)


@agent("negotiator")
class Negotiator(ScriptedAgent[Negotiation]):
    """Proposes splits and accepts good ones: style=fair|greedy|conceder.

    It reads only its own array observation. It aims at a share of 10: "fair" at 6, "greedy" at all
    it can take, "conceder" from 10 down to 4 as turns go by. It accepts an offer worth at least the
    aim; otherwise it asks for the smallest share worth at least the aim, and so leaves the other as
    much as it can.
    """

    def __init__(
        self,
        *,
        style: Annotated[
            Literal["fair", "greedy", "conceder"],
            Meta(description="which share of the total it aims at"),
        ] = "fair",
    ) -> None:
        super().__init__(seed=0)  # it uses no randomness
        self._style = style

    def choose(self, turn: Turn[Negotiation]) -> TextAction:
        seen = np.asarray(turn.observation).tolist()
        counts, values = tuple(seen[0:3]), tuple(seen[3:6])
        if turn.game.closing == "split":
            return self._close(seen, counts, values)
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

    def _close(
        self, seen: Sequence[int], counts: Sequence[int], values: Sequence[int]
    ) -> TextAction:
        """As with acceptance, but end the talk and claim what the last proposal leaves."""
        aim = self._aim(seen[11], seen[12])
        rest = tuple(c - t for c, t in zip(counts, seen[8:11], strict=True))
        if seen[13]:
            mine = rest if seen[6] else tuple(seen[8:11]) if seen[7] else tuple(counts)
            return Claim(*mine)
        if seen[6] and value_of(rest, values) >= aim:
            return Done()
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
