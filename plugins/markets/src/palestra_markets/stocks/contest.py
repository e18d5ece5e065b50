"""ContestTrade: a team that follows the portfolios of those members whose proposals did best.

"ContestTrade: A Multi-Agent Trading System Based on Internal Contest Mechanism", 2025. A data team
turns the answers of the tools into factors; every researcher proposes a portfolio from them. Each
morning all proposals of the day before are scored by what they would have earned since, from known
prices only, and the team's portfolio follows the few members with the highest predicted scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import Meta, TextAction, Turn, agent

from palestra_markets.stocks.investors import Holdings, Investor
from palestra_markets.stocks.trading import News

MEMORY = 0.1  # the weight of the last day in a member's predicted score
FRESH = 10  # days for which a report counts as news

Weights = NDArray[np.float64]  # by share


@dataclass(frozen=True, slots=True)
class Factors:
    """What the data team finds, by share."""

    rises: NDArray[np.float64]  # changes over 1, 5 and 20 days, shape (shares, 3)
    surprise: NDArray[np.float64]  # 1 or -1 if the last fresh report is above or below expectations


Researcher = Callable[[Factors], Weights]


def evenly(chosen: NDArray[np.bool_]) -> Weights:
    """The same weight in every chosen share; 0 everywhere if none is chosen."""
    count = int(np.count_nonzero(chosen))
    return chosen / count if count else np.zeros(len(chosen))


def best_two(values: NDArray[np.float64]) -> Weights:
    """Equal weights in the shares with the two largest values above 0."""
    chosen = np.zeros(len(values), bool)
    chosen[np.argsort(-values, kind="stable")[:2]] = True
    return evenly(chosen & (values > 0))


RESEARCHERS: Mapping[str, Researcher] = {
    "momentum": lambda factors: best_two(factors.rises[:, 2]),
    "reversal": lambda factors: best_two(-factors.rises[:, 1]),
    "reports": lambda factors: evenly(factors.surprise > 0),
    "holding": lambda factors: evenly(np.ones(len(factors.rises), bool)),
    "cash": lambda factors: np.zeros(len(factors.rises)),
}


@dataclass(slots=True)
class Contest:
    """What the team remembers of one episode."""

    day: int = -1  # the last day it played
    asked: int = 0  # questions asked today
    prices: Any = None  # by share, at yesterday's proposals
    proposals: Any = None  # yesterday's weights, by researcher and share
    scores: Weights = field(default_factory=lambda: np.zeros(len(RESEARCHERS)))  # by researcher


@agent(
    "contest-trader",
    needs=("array",),
    paper=("ContestTrade: A Multi-Agent Trading System Based on Internal Contest Mechanism"),
)
class ContestTrader(Investor):
    """Follows its best researchers, in proportion to their predicted scores (ContestTrade).

    If no score is above 0, it holds all shares evenly. It asks for the news of every share each
    morning.
    """

    def __init__(
        self,
        keep: Annotated[int, Meta(ge=1, description="researchers that it follows")] = 2,
        every: Annotated[int, Meta(ge=1, description="days from one trade to the next")] = 5,
        contest: Annotated[
            bool,
            Meta(
                description="whether scores decide; False follows all researchers equally, "
                "as an ablation"
            ),
        ] = True,
    ) -> None:
        super().__init__()
        self._keep, self._every, self._contest = keep, every, contest
        self._books: dict[int, Contest] = {}

    def forget(self, episode_key: int) -> None:
        super().forget(episode_key)
        self._books.pop(episode_key, None)

    def choose(self, turn: Turn) -> TextAction:
        holdings = Holdings.of(turn)
        book = self._books.setdefault(turn.episode_key, Contest())
        if book.day != holdings.day:
            book.day, book.asked = holdings.day, 0
        symbols = holdings.game.symbols
        if book.asked < min(len(symbols), holdings.game.questions):
            book.asked += 1
            return News(symbols[book.asked - 1], FRESH)
        return super().choose(turn)

    def weights(self, holdings: Holdings, turn: Turn) -> Sequence[float] | None:
        book, prices = self._books[turn.episode_key], np.array(holdings.prices, float)
        factors = Factors(
            np.asarray(turn.observation)[4:].reshape(-1, 5)[:, 2:].astype(float),
            self._surprises(turn, book.asked, len(prices)),
        )
        if book.proposals is not None:
            earned = book.proposals @ (prices / book.prices - 1)
            book.scores += MEMORY * (earned - book.scores)
        proposals = np.array([propose(factors) for propose in RESEARCHERS.values()])
        book.prices, book.proposals = prices, proposals
        if holdings.day % self._every:
            return None
        return (self.shares_of(book.scores) @ proposals).tolist()

    def shares_of(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The fraction of the portfolio that follows each researcher."""
        count = len(scores)
        if not self._contest:
            return np.full(count, 1 / count)
        followed = np.zeros(count)
        best = np.argsort(-scores, kind="stable")[: self._keep]
        followed[best] = np.maximum(0, scores[best])
        if followed.sum() <= 0:
            followed[list(RESEARCHERS).index("holding")] = 1.0
        return followed / followed.sum()

    def _surprises(self, turn: Turn, asked: int, shares: int) -> NDArray[np.float64]:
        """Surprises by share, from the newest report in each of this morning's answers."""
        answers = [event.data["lines"] for event in turn.transcript if event.kind == "news"]
        found = np.zeros(shares)
        for share, lines in enumerate(answers[len(answers) - asked :]):
            for _, text in lines:
                if " than the " in text and " expected" in text:
                    found[share] = 1 if " more than the " in text else -1
                    break
        return found
