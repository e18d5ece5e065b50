"""Reference players for `markets/Screening-v0`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated

import numpy as np
from palestra import Meta, ScriptedAgent, TextAction, Turn, agent

from palestra_markets.screening.evidence import cost_of_check, posterior
from palestra_markets.screening.screening import Accept, Check, Reject, Screening


class Screener(ScriptedAgent[Screening]):
    """Decides from the group of a case and its notes by score."""

    def choose(self, turn: Turn[Screening]) -> TextAction:
        seen = [int(number) for number in np.asarray(turn.observation)[:10]]
        return self.decide(turn.game, seen[2], tuple(seen[5:]), seen[4])

    @abstractmethod
    def decide(self, game: Screening, group: int, counts: tuple[int, ...], left: int) -> TextAction:
        """An action; `counts` are notes by score, `left` the notes that can still be bought."""


def chance_of_good(game: Screening, group: int, counts: tuple[int, ...]) -> float:
    """The chance that a case is good after some notes by score."""
    notes = [score for score, count in enumerate(counts) for _ in range(count)]
    return posterior(game.prior, notes, game.evidence, group)


@agent("bayes-screener", kind="solver", needs=("array",))
class BayesScreener(Screener):
    """Minimises expected cost: buys a note exactly if it saves more than it costs."""

    def decide(self, game: Screening, group: int, counts: tuple[int, ...], left: int) -> TextAction:
        prices = game.words.prices
        now = {
            Accept: prices.accept,
            Reject: prices.miss * chance_of_good(game, group, counts),
        }
        best = min(now, key=lambda action: now[action])
        if left:
            known = game.prior, counts, left, game.evidence, group, prices
            if cost_of_check(*known) < now[best]:
                return Check()
        return best()


@agent("confidence-screener", needs=("array",))
class ConfidenceScreener(Screener):
    """Accepts cases that are likely to be good after the first note, and ignores prices.

    It buys no notes, and makes no correction for the group whose notes may be too low.
    """

    def __init__(
        self,
        confidence: Annotated[
            float, Meta(ge=0, le=1, description="lowest estimated chance at which it accepts")
        ] = 0.5,
    ) -> None:
        super().__init__()
        self._confidence = confidence

    def decide(self, game: Screening, group: int, counts: tuple[int, ...], left: int) -> TextAction:
        return Accept() if chance_of_good(game, 0, counts) >= self._confidence else Reject()
