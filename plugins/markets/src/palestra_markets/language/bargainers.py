"""Reference players of `markets/Bargaining-v0`: subgame-perfect, and an even split."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil
from typing import Any

import numpy as np
from palestra import Agent, Decision, InvalidOption, Turn, agent

from palestra_markets.language.bargaining import DISCOUNTS, Accept, Bargaining, Propose, Reject

NEAR = 1e-6  # discounts are seen in single precision


def rubinstein_share(own: float, other: float) -> float:
    """The part of the sum a proposer gets in the one subgame-perfect equilibrium without an end.

    Rubinstein (1982): (1 - other) / (1 - own * other); with two discounts of 1 anything is an
    equilibrium, and one half is taken.
    """
    if own >= 1 and other >= 1:
        return 0.5
    return (1 - other) / (1 - own * other)


@lru_cache(maxsize=4096)
def proposer_share(total: int, left: int, own: float, other: float) -> int:
    """What the proposer keeps of `total` with `left` rounds to go, by backward induction.

    In the last round he keeps all; before, he leaves the other just what the other could have by
    proposing in the next round, in whole units, and who is indifferent accepts.
    """
    share = total
    for round_left in range(2, left + 1):
        proposes_last = (left - round_left) % 2 == 0
        answers = other if proposes_last else own
        share = total - least(answers * share)
    return share


def least(amount: float) -> int:
    """The smallest whole number that is not less, for a number off by rounding."""
    return ceil(amount - NEAR)


@agent(
    "rubinstein",
    kind="solver",
    plays=("markets/Bargaining-v0",),
    needs=("array",),
    summary="Offers and accepts as in the subgame-perfect equilibrium.",
)
class Rubinstein(Agent):
    """Offers and accepts as in the subgame-perfect equilibrium.

    With a known last round by backward induction, without one by Rubinstein's shares. A discount it
    is not told it takes to be the mean of those that are drawn.
    """

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> Any:
        game, seen = table(turn)
        _, at, last, own, other, asked, share = seen
        other = other or sum(DISCOUNTS) / len(DISCOUNTS)
        if asked:
            return Accept() if share >= least(self._next(game, seen, own, other)) else Reject()
        if not last:
            left = least(other * rubinstein_share(other, own) * game.total)
            return Propose(game.total - left)
        return Propose(proposer_share(game.total, int(last - at), own, other))

    def _next(self, game: Bargaining, seen: Sequence[float], own: float, other: float) -> float:
        """What rejecting is worth now: proposing in the next round, discounted once."""
        _, at, last, *_ = seen
        if not last:
            return own * rubinstein_share(own, other) * game.total
        left = int(last - at) - 1
        return own * proposer_share(game.total, left, own, other) if left else 0.0


@agent(
    "even-split",
    plays=("markets/Bargaining-v0",),
    needs=("array",),
    summary="Proposes half each and accepts no less than half.",
)
class EvenSplit(Agent):
    """Proposes half of the sum each and accepts no less than half."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> Any:
        game, seen = table(turn)
        if not seen[5]:
            return Propose(game.total - game.total // 2)
        return Accept() if seen[6] >= game.total // 2 else Reject()


def table(turn: Turn) -> tuple[Bargaining, list[float]]:
    """The game and the player's array view, discounts in the precision they were given."""
    if not isinstance(turn.game, Bargaining):
        raise InvalidOption(f"this player is for markets/Bargaining-v0, not {turn.env}")
    seen = np.asarray(turn.observation).astype(float).tolist()
    return turn.game, [round(value, 6) for value in seen]
