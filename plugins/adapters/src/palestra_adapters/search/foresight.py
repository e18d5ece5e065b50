"""What searches with trees of their own share: other seats to look ahead with, and roll-outs."""

from __future__ import annotations

from typing import Annotated, Any

from palestra import Meta, Turn, make_agent

from palestra_adapters.adapter import Adapter, legal_move
from palestra_adapters.search.spots import Lookahead, Scale, Spot
from palestra_adapters.thinking import Thinking


class Foresight(Adapter):
    """Looks ahead on forks in which the agent `others` plays the other seats."""

    def __init__(
        self,
        *,
        others: Annotated[str, Meta(description="who plays the other seats")] = "random",
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._others = make_agent(others)

    def reseed(self, seed: int) -> None:
        super().reseed(seed)
        self._others.reseed(seed + 1)

    def ahead(self, turn: Turn) -> tuple[Lookahead, Scale]:
        """What steps through forks of a turn, and the scale of what they pay."""
        return Lookahead(self._others, self.rng), Scale.of(turn.game)

    def play_on(self, lookahead: Lookahead, spot: Spot, **fields: Any) -> Thinking[Spot | None]:
        """Where the model's own move leads; a random legal one replaces what cannot be read.

        fields: those of `Adapter.move`.
        """
        turn = spot.turn
        messages = self.single(turn.game.rules_for(turn.seat), turn.position)
        (reply,) = yield [self.move(turn, messages, **fields)]
        move = legal_move(turn, reply.text) or turn.action_text(turn.sample(self.rng))
        return (yield from lookahead.step(spot, move))
