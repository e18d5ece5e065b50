"""Whom a learner plays: a pool of agents and of its own past, and how often each is drawn.

"uniform" draws all alike. "pfsp" is prioritised fictitious self-play (Vinyals et al. 2019,
AlphaStar): a rival that the learner scores p against has weight (1 - p)², so that hard rivals come
often. "nash" draws from an equilibrium of the rivals' own games against one another (Lanctot et al.
2017, PSRO).

What they are drawn by is points from 0 to 1. In a zero-sum game of two seats a win is worth 1, and
a draw or a game that was cut off 0.5. Elsewhere a win says little or is not given: points are the
share of the other seats that were paid less, ties as half, or, where all seats are paid alike, the
return within its bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra import EpisodeRecord, Game
from palestra.kernel.rng import Rng

Floats = NDArray[np.float64]
KEPT = 0.9  # share of what is known of a rival that a new round of games keeps
POINTS = {"win": 1.0, "draw": 0.5}  # of a duel; every other result is worth 0
UNDECIDED = 0.5  # points of both seats of a duel that was cut off
DRAW = 1 << 30


class Pool:
    """The rivals by name, the learner's score against each, and their scores among themselves."""

    def __init__(self, names: Sequence[str], matching: str) -> None:
        self.names, self.matching = list(names), matching
        self.past: dict[str, Any] = {}  # weights of the learner's saved versions, oldest first
        self._points: dict[str, tuple[float, float]] = {}  # points and games, older ones less
        self._table: dict[str, dict[str, float]] = {}  # mean score of a row against a column

    def score(self, name: str) -> float:
        """The learner's recent score against a rival, from 0 to 1; 0.5 before the first game."""
        points, games = self._points.get(name, (0.0, 0.0))
        return points / games if games else 0.5

    def tell(self, name: str, gained: Sequence[float]) -> None:
        """Count the learner's points against a rival in the episodes of one round."""
        points, games = self._points.get(name, (0.0, 0.0))
        self._points[name] = KEPT * points + sum(gained), KEPT * games + len(gained)

    def met(self, row: str, column: str, score: float) -> None:
        """Note a rival's mean score against another."""
        self._table.setdefault(row, {})[column] = score
        self._table.setdefault(column, {})[row] = 1.0 - score

    def remember(self, name: str, weights: Any, most: int) -> None:
        """Add a version of the learner, and forget the oldest if there are more than `most`."""
        self.past[name] = weights
        self.names.append(name)
        if len(self.past) > most:
            oldest = next(iter(self.past))
            del self.past[oldest]
            self.names.remove(oldest)

    def unmet(self, name: str) -> list[str]:
        """The rivals that one has not played yet."""
        return [other for other in self.names if other != name and other not in self._row(name)]

    def _row(self, name: str) -> Mapping[str, float]:
        return self._table.get(name, {})

    def weights(self) -> Floats:
        """The probability of each rival, in the order of `names`."""
        if self.matching == "nash":
            return nash_weights(
                tuple(tuple(self._row(a).get(b, 0.5) - 0.5 for b in self.names) for a in self.names)
            )
        if self.matching == "pfsp":
            return pfsp_weights([self.score(name) for name in self.names])
        return np.full(len(self.names), 1 / len(self.names))

    def draw(self, rng: Rng) -> str:
        place = rng.below(DRAW) / DRAW
        ends = np.cumsum(self.weights())
        found = int(np.searchsorted(ends / ends[-1], place, side="right"))
        return self.names[min(found, len(self.names) - 1)]

    def state(self) -> dict[str, Any]:
        """A copy of everything known; weights are shared, as nobody changes them."""
        table = {name: dict(row) for name, row in self._table.items()}
        return {
            "names": list(self.names),
            "past": dict(self.past),
            "points": dict(self._points),
            "table": table,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        self.names, self.past = list(state["names"]), dict(state["past"])
        self._table = {name: dict(row) for name, row in state["table"].items()}
        self._points = dict(state["points"])


def is_duel(game: Game[Any, Any]) -> bool:
    """Whether a game is zero-sum between two seats, so that its results say all."""
    return game.payoffs == "zero-sum" and game.num_players == 2


def rank_points(returns: Sequence[float], seat: int) -> float:
    """The share of the other seats that were paid less than a seat, ties as half."""
    own = returns[seat]
    beaten = sum(1.0 if other < own else 0.5 * (other == own) for other in returns)
    return (beaten - 0.5) / (len(returns) - 1)


def points_of(game: Game[Any, Any], record: EpisodeRecord, seat: int) -> float:
    """A seat's points for an episode, from 0 to 1."""
    if is_duel(game):
        result = record.outcome.results[seat] if record.outcome else "truncated"
        return UNDECIDED if result == "truncated" else POINTS.get(result, 0.0)
    if game.num_players > 1 and game.payoffs != "common":
        return rank_points(record.returns, seat)
    low, high = game.payoff_bounds
    return min(1.0, max(0.0, (record.returns[seat] - low) / (high - low))) if high > low else 0.5


def pfsp_weights(scores: Sequence[float]) -> Floats:
    """(1 - score)² for each rival, normalised; all alike if the learner beats every one."""
    hard: Floats = (1 - np.asarray(scores, np.float64)) ** 2
    total = float(hard.sum())
    return hard / total if total > 0 else np.full(len(hard), 1 / len(hard))


@lru_cache(maxsize=1)  # a round draws many rivals from the same table
def nash_weights(payoffs: tuple[tuple[float, ...], ...], rounds: int = 20_000) -> Floats:
    """An equilibrium mix of a symmetric zero-sum game, to about 1e-2, by regret matching+.

    payoffs: what each row gains against each column. Tammelin (2014); the average of later mixes
    weighs more.
    """
    table = np.asarray(payoffs, float)
    regrets, total = np.zeros(len(table)), np.zeros(len(table))
    for time in range(1, rounds + 1):
        positive = regrets.sum()
        mix = regrets / positive if positive > 0 else np.full(len(table), 1 / len(table))
        gains = table @ mix
        regrets = np.maximum(regrets + gains - mix @ gains, 0)
        total += time * mix
    return total / total.sum()
