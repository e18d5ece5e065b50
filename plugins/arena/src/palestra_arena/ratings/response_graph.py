"""Alpha-Rank from noisy results: which pairing to play next, and when to stop.

ResponseGraphUCB (Rowland et al. 2019, arXiv:1909.09849), for a population whose games are shared
out as points in [0, 1]. Alpha-Rank for strong selection needs only the direction of every pair:
who takes more than half. A pair is played until its confidence interval leaves 1/2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from palestra import InvalidOption

from palestra_arena.ratings.alpha_rank import alpha_rank_mass
from palestra_arena.ratings.contests import Floats

Pair = tuple[int, int]
OPEN_PAIRS = 12  # of which all directions are tried for the range of a mass


@dataclass(slots=True)
class ResponseGraph:
    """What is known about every pair of agents, numbered from 0.

    With probability `confidence`, every settled pair points the right way, at any time: Hoeffding's
    bound, divided over pairs and over the number of trials. A pair whose interval fits into 1/2 ±
    `indifference` is settled as a tie.
    """

    agents: int
    confidence: float = 0.95
    indifference: float = 0.0
    points: dict[Pair, float] = field(default_factory=dict)
    trials: dict[Pair, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1 or not 0 <= self.indifference < 0.5:
            raise InvalidOption("confidence must be between 0 and 1, indifference from 0 to 1/2")
        for pair in self.pairs:
            self.points[pair], self.trials[pair] = 0.0, 0

    @property
    def pairs(self) -> list[Pair]:
        return list(itertools.combinations(range(self.agents), 2))

    def note(self, first: int, second: int, points: float) -> None:
        """Add one independent trial: the share of points that `first` took from `second`."""
        if not 0 <= points <= 1:
            raise InvalidOption(f"points are a share from 0 to 1, not {points}")
        pair = min(first, second), max(first, second)
        self.points[pair] += points if first < second else 1 - points
        self.trials[pair] += 1

    def radius(self, pair: Pair) -> float:
        """Half the width of the interval of a pair's share."""
        count = self.trials[pair]
        if not count:
            return math.inf
        error = (1 - self.confidence) / len(self.points) * 6 / (math.pi * count) ** 2
        return math.sqrt(math.log(2 / error) / (2 * count))

    def edge(self, pair: Pair) -> int | None:
        """1 if the first of a pair takes more than half, -1 if less, 0 for a tie, None if open."""
        radius = self.radius(pair)
        if math.isinf(radius):
            return None
        lead = self.points[pair] / self.trials[pair] - 0.5
        if abs(lead) > radius:
            return 1 if lead > 0 else -1
        return 0 if abs(lead) + radius <= self.indifference else None

    @property
    def unsettled(self) -> list[Pair]:
        """Pairs still to be played, those with the fewest trials first; empty: stop."""
        return sorted((p for p in self.pairs if self.edge(p) is None), key=self.trials.__getitem__)

    def mass(self) -> tuple[Floats, Floats, Floats]:
        """Alpha-Rank masses for the most likely directions, with their minimum and maximum.

        The range is over all directions of the pairs that are not settled, at most `OPEN_PAIRS`
        of them; with more, it is from 0 to 1.
        """
        open_pairs = self.unsettled
        value = self._mass(np.sign([self._lead(pair) for pair in open_pairs]), open_pairs)
        if len(open_pairs) > OPEN_PAIRS:
            return value, np.zeros(self.agents), np.ones(self.agents)
        ways = itertools.product((-1, 1), repeat=len(open_pairs))
        masses = np.array([self._mass(way, open_pairs) for way in ways])
        return value, masses.min(0), masses.max(0)

    def _lead(self, pair: Pair) -> float:
        count = self.trials[pair]
        return self.points[pair] / count - 0.5 if count else 0.0

    def _mass(self, way: Iterable[float], open_pairs: list[Pair]) -> Floats:
        table = np.zeros((self.agents, self.agents))
        directions: dict[Pair, float] = {pair: self.edge(pair) or 0 for pair in self.pairs}
        directions |= zip(open_pairs, way, strict=True)
        for (i, j), direction in directions.items():
            table[i, j], table[j, i] = direction, -direction
        return alpha_rank_mass(table)
