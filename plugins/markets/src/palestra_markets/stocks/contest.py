"""ContestTrade: a team whose members propose portfolios and are listened to by how they have done.

"ContestTrade: A Multi-Agent Trading System Based on Internal Contest Mechanism", 2025. A data team
turns what the tools answer into factors; every researcher proposes a portfolio from them. Each
morning all proposals of the day before are scored by what they would have earned since, which uses
nothing but prices that are known, and the portfolio of the team follows those few members whose
predicted score is highest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from palestra import InvalidOption, TextAction, Turn, agent

from palestra_markets.stocks.investors import Holdings, Investor
from palestra_markets.stocks.trading import News

MEMORY = 0.1  # the weight of the last day in a member's predicted score
FRESH = 10  # days a report is news


@dataclass(frozen=True, slots=True)
class Factors:
    """What the data team found, by share.

    `rises` are changes over 1, 5 and 20 days, of shape (shares, 3); `surprise` is 1 where the last
    fresh report was above what was expected, -1 where below, else 0.
    """

    rises: Any
    surprise: Any


Researcher = Callable[[Factors], Any]


def evenly(chosen: Any) -> Any:
    """The same part in every chosen share; nothing without any."""
    count = int(np.count_nonzero(chosen))
    return chosen / count if count else np.zeros(len(chosen))


def best_two(values: Any) -> Any:
    """The two largest values above 0, evenly."""
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
    """The notebook of one episode: headlines asked for today, yesterday's proposals, scores."""

    day: int = -1
    asked: int = 0
    prices: Any = None
    proposals: Any = None
    scores: Any = field(default_factory=lambda: np.zeros(len(RESEARCHERS)))


@agent(
    "contest-trader",
    plays=("markets/Trading-v0",),
    needs=("array",),
    summary="ContestTrade: follows the keep=2 researchers that did best; contest=false: all.",
)
class ContestTrader(Investor):
    """Follows its `keep` best researchers, in proportion to their predicted scores.

    Where nobody's is above 0 it holds everything evenly. `contest=false` is the ablation: all
    researchers in equal parts. It asks for the news of every share each morning and trades every
    `every` days.
    """

    def __init__(self, keep: int = 2, every: int = 5, contest: bool = True) -> None:
        super().__init__()
        for name, value in (("keep", keep), ("every", every)):
            if value < 1:
                raise InvalidOption(f"contest-trader: {name} must be at least 1, not {value}")
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
        mixed: list[float] = (self.shares_of(book.scores) @ proposals).tolist()
        return mixed

    def shares_of(self, scores: Any) -> Any:
        """How much of the portfolio follows each researcher."""
        count = len(scores)
        if not self._contest:
            return np.full(count, 1 / count)
        heard = np.zeros(count)
        best = np.argsort(-scores, kind="stable")[: self._keep]
        heard[best] = np.maximum(0, scores[best])
        if heard.sum() <= 0:
            heard[list(RESEARCHERS).index("holding")] = 1.0
        return heard / heard.sum()

    def _surprises(self, turn: Turn, asked: int, shares: int) -> Any:
        """From the newest report in each of this morning's answers."""
        answers = [event.data["lines"] for event in turn.transcript if event.kind == "news"]
        found = np.zeros(shares)
        for share, lines in enumerate(answers[len(answers) - asked :]):
            for _, text in lines:
                if " than the " in text and " expected" in text:
                    found[share] = 1 if " more than the " in text else -1
                    break
        return found
