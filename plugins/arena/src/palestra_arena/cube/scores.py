"""Scores by agent, environment and seed, and their means with resamples over seeds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.random import default_rng
from palestra import Interval, InvalidOption, Usage
from palestra.records.intervals import alike_interval

from palestra_arena.ratings.contests import Floats
from palestra_arena.result import GameResult
from palestra_arena.statistics.intervals import resample_weights

RESAMPLES = 2000
Key = tuple[str, str]  # agent, label of an environment


class Scorer(Protocol):
    """A number from a seat's result and its return."""

    def __call__(self, result: str, score: float, /) -> float: ...


def returned(result: str, score: float) -> float:
    """The return, whatever the result."""
    return score


@dataclass(slots=True)
class Scores:
    """What an agent did in an environment: its mean score by seed, and sums over its games."""

    by_seed: dict[int, float]
    games: int = 0
    forfeits: int = 0
    answers: int = 0
    refused: int = 0
    usage: Usage = field(default_factory=Usage)

    def plus(self, other: Scores) -> Scores:
        """The sums of both, without scores by seed."""
        return Scores(
            {},
            self.games + other.games,
            self.forfeits + other.forfeits,
            self.answers + other.answers,
            self.refused + other.refused,
            self.usage + other.usage,
        )


def scores_of(
    results: Iterable[GameResult], agents: Collection[str], scorer: Scorer = returned
) -> dict[Key, Scores]:
    """The scores of `agents` by agent and environment; a seed's is the mean over its games.

    Raises `InvalidOption` where two of the agents met: their scores then depend on each other.
    """
    found: dict[Key, Scores] = {}
    made: dict[tuple[Key, int], list[float]] = {}
    for game in (result for result in results if result.counts):
        match, label = game.match, game.match.environment.label
        tested = [seat for seat, agent in enumerate(match.agents) if agent in agents]
        if len({match.agents[seat] for seat in tested}) > 1:
            raise InvalidOption(
                f"{' and '.join(match.agents)} met in {label}, so that neither's score is its own; "
                "play them against one --partner"
            )
        for seat in tested:
            key = match.agents[seat], label
            answers = game.answers[seat] if game.answers else 0
            here = Scores({}, 1, game.results[seat] == "forfeit", answers, game.mistakes[seat])
            here.usage = game.usage[seat]
            found[key] = found.get(key, Scores({})).plus(here)
            made.setdefault((key, match.seed), []).append(
                float(scorer(game.results[seat], game.scores[seat]))
            )
    for (key, seed), values in made.items():
        found[key].by_seed[seed] = sum(values) / len(values)
    return found


class Means:
    """The mean of every cell: the estimate first, then its value in each resample of the seeds.

    The seeds of an environment are drawn once for all agents, so that differences are paired.
    bounds: the lowest and the highest score there can be; by default those that were seen.
    """

    def __init__(
        self,
        scores: Mapping[Key, Scores],
        confidence: float = 0.95,
        *,
        bounds: tuple[float, float] | None = None,
    ) -> None:
        self.confidence = confidence
        self.cells: dict[Key, Floats] = {}
        rng = default_rng(0)
        for label in sorted({label for _, label in scores}):
            here = {agent: s.by_seed for (agent, env), s in scores.items() if env == label}
            seeds = sorted(set().union(*here.values()))
            weights = resample_weights(len(seeds), RESAMPLES, rng)
            for agent, made in here.items():
                played = np.array([seed in made for seed in seeds])
                values = np.array([made.get(seed, 0.0) for seed in seeds])
                with np.errstate(invalid="ignore"):  # a resample with no seed that it played
                    self.cells[agent, label] = (weights @ values) / (weights @ played)
        seen = [score for cell in scores.values() for score in cell.by_seed.values()]
        self.bounds = bounds or (min(seen, default=0.0), max(seen, default=0.0))

    def scale(self, baseline: str, best: str) -> None:
        """Turn means into the share of the gap closed between two agents, which are 0 and 1.

        The score of MLRC-Bench (Zhang et al. 2025), by environment; both references are resampled
        with the others. Raises `InvalidOption` where `best` is not above `baseline`.
        """
        for label in sorted({label for _, label in self.cells}):
            try:
                low, high = self.cells[baseline, label], self.cells[best, label]
            except KeyError as missing:
                raise InvalidOption(
                    f"{missing.args[0][0]} has no score in {label}; play it there too, with "
                    "--agents, or choose another --gap BASELINE,BEST"
                ) from None
            if not high[0] > low[0]:
                raise InvalidOption(
                    f"{best} is paid {high[0]:g} in {label} and {baseline} {low[0]:g}: there is no "
                    "gap to close; choose another --gap BASELINE,BEST"
                )
            room = np.where(high > low, high - low, np.nan)
            for key in [key for key in self.cells if key[1] == label]:
                self.cells[key] = (self.cells[key] - low) / room
        self.bounds = (np.nan, np.nan)

    def interval(self, values: Floats, blocks: int | None = None) -> Interval:
        """The estimate in `values` with a percentile interval.

        Where all resamples are alike, it is Wilson's over so many `blocks`, or no number.
        """
        tail = (1 - self.confidence) / 2
        value, *others = np.round(values, 12) + 0.0  # not -0 where sums cancel
        drawn = np.array(others)[np.isfinite(others)]
        if not len(drawn) or np.ptp(drawn) <= 1e-12:
            known = self.bounds if blocks and self.bounds[0] == self.bounds[0] else (None, None)
            return alike_interval(float(value), blocks or 1, known, self.confidence)
        low, high = np.quantile(drawn, [tail, 1 - tail])
        return Interval(float(value), float(low), float(high))
