"""Reference desks of `markets/Screening-v0`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from palestra import Agent, Decision, InvalidOption, TextAction, Turn, agent

from palestra_markets.screening.evidence import cost_of_check, posterior
from palestra_markets.screening.screening import Accept, Check, Reject, Screening


class Screener(Agent):
    """Decides from a case's group and notes by score."""

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> TextAction:
        if not isinstance(turn.game, Screening):
            raise InvalidOption(f"this agent is for markets/Screening-v0, not {turn.env}")
        seen = [int(number) for number in np.asarray(turn.observation)[:10]]
        return self.decide(turn.game, seen[2], tuple(seen[5:]), seen[4])

    @abstractmethod
    def decide(self, game: Screening, group: int, counts: tuple[int, ...], left: int) -> TextAction:
        """An action; `counts` are notes by score, `left` how many may be bought."""


def chance_of_good(game: Screening, group: int, counts: tuple[int, ...]) -> float:
    notes = [score for score, count in enumerate(counts) for _ in range(count)]
    return posterior(game.prior, notes, game.evidence, group)


@agent(
    "bayes-screener",
    kind="solver",
    plays=("markets/Screening-v0",),
    needs=("array",),
    summary="The least expected cost; buys notes where they are worth it.",
)
class BayesScreener(Screener):
    """The least expected cost: buys a note exactly where it is worth more than it costs."""

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


@agent(
    "confidence-screener",
    plays=("markets/Screening-v0",),
    needs=("array",),
    summary="Accepts above confidence=0.5 from the first note, whatever the prices.",
)
class ConfidenceScreener(Screener):
    """Accepts what it believes to be good with a chance of `confidence`; buys no notes.

    It knows neither the prices nor that notes of a group may be too low.
    """

    def __init__(self, confidence: float = 0.5) -> None:
        if not 0 <= confidence <= 1:
            raise InvalidOption(
                f"confidence-screener: confidence must be from 0 to 1, not {confidence}"
            )
        self._confidence = confidence

    def decide(self, game: Screening, group: int, counts: tuple[int, ...], left: int) -> TextAction:
        return Accept() if chance_of_good(game, 0, counts) >= self._confidence else Reject()
