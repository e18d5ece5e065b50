"""Reference players for `markets/Bargaining-v0`: subgame-perfect, and an even split."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil

from palestra import ScriptedAgent, TextAction, Turn, agent

from palestra_markets.language.bargaining import DISCOUNTS, Accept, Bargaining, Propose, Reject
from palestra_markets.reading import observed_numbers

NEAR = 1e-6  # observed discounts have single precision


def rubinstein_share(own: float, other: float) -> float:
    """The proposer's share in the unique subgame-perfect equilibrium with infinitely many rounds.

    Rubinstein (1982): (1 - other) / (1 - own * other). With two discounts of 1 every division is an
    equilibrium, and this returns one half.
    """
    if own >= 1 and other >= 1:
        return 0.5
    return (1 - other) / (1 - own * other)


@lru_cache(maxsize=4096)
def proposer_share(total: int, left: int, own: float, other: float) -> int:
    """What the proposer keeps of `total` with `left` rounds to go, by backward induction.

    In the last round the proposer keeps all. In earlier rounds they leave the other exactly what
    the other would get by proposing in the next round, in whole units; an indifferent player
    accepts.
    """
    share = total
    for round_left in range(2, left + 1):
        proposes_last = (left - round_left) % 2 == 0
        answers = other if proposes_last else own
        share = total - least(answers * share)
    return share


def least(amount: float) -> int:
    """The smallest whole number that is not less than an amount, up to rounding errors."""
    return ceil(amount - NEAR)


@agent("rubinstein", kind="solver", needs=("array",))
class Rubinstein(ScriptedAgent[Bargaining]):
    """Offers and accepts as in the subgame-perfect equilibrium.

    It uses backward induction with a known last round and Rubinstein's shares without one. For a
    discount it does not know it assumes the mean of those that are drawn.
    """

    def choose(self, turn: Turn[Bargaining]) -> TextAction:
        game, seen = read_turn(turn)
        _, at, last, own, other, asked, share = seen
        other = other or sum(DISCOUNTS) / len(DISCOUNTS)
        if asked:
            return (
                Accept()
                if share >= least(self._next_round_worth(game, seen, own, other))
                else Reject()
            )
        if not last:
            left = least(other * rubinstein_share(other, own) * game.total)
            return Propose(game.total - left)
        return Propose(proposer_share(game.total, int(last - at), own, other))

    def _next_round_worth(
        self, game: Bargaining, seen: Sequence[float], own: float, other: float
    ) -> float:
        """The value of rejecting now: that of proposing in the next round, discounted once."""
        _, at, last, *_ = seen
        if not last:
            return own * rubinstein_share(own, other) * game.total
        left = int(last - at) - 1
        return own * proposer_share(game.total, left, own, other) if left else 0.0


@agent("even-split", needs=("array",))
class EvenSplit(ScriptedAgent[Bargaining]):
    """Proposes half of the sum for each and accepts no less than half."""

    def choose(self, turn: Turn[Bargaining]) -> TextAction:
        game, seen = read_turn(turn)
        if not seen[5]:
            return Propose(game.total - game.total // 2)
        return Accept() if seen[6] >= game.total // 2 else Reject()


def read_turn(turn: Turn[Bargaining]) -> tuple[Bargaining, list[float]]:
    """The game, and the observation rounded to the precision of the options."""
    return turn.game, [round(value, 6) for value in observed_numbers(turn)]
