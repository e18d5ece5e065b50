"""The effect of wordings on a score: paired differences by seed, and the spread over prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import default_rng
from palestra import EpisodeRecord, Interval, InvalidOption
from palestra.phrasing.wording import WORDINGS
from palestra.records.answers import AnswerCounts, counts_of

from palestra_arena.ablation.run import LEGAL, NULL, PLAIN
from palestra_arena.statistics.comparisons import compare_paired, correct
from palestra_arena.statistics.intervals import mean_interval

RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Effect:
    """One variant compared with plain: the mean difference of scores over seeds, with statistics.

    `p_value` is that of the paired permutation test, `adjusted` the same after Holm's correction
    over all variants. `refused` and `forfeited` are shares of the tested agent's answers and games.
    """

    variant: str
    changes: str
    score: Interval
    difference: Interval
    p_value: float
    adjusted: float
    refused: float
    forfeited: float
    pairs: int


@dataclass(frozen=True, slots=True)
class Ablation:
    """The score in the plain wording, every variant's effect, and the score over all prompts.

    `over_prompts` is the mean over the plain wording and all paraphrases, each prompt weighted
    equally, with a bootstrap interval that resamples seeds and prompts; `prompt_deviation` is the
    standard deviation of their means. The null variant and those of the legal moves are not
    paraphrases and are left out of both.
    """

    plain: Effect
    effects: tuple[Effect, ...]
    over_prompts: Interval
    prompt_deviation: float
    failed: int = 0


def ablation_of(
    records: Mapping[str, Sequence[EpisodeRecord]], *, confidence: float = 0.95
) -> Ablation:
    """The effects in records by variant, as `run_ablation` returns them.

    The score of a seed is the tested agent's mean return over the seats it played. Seeds that are
    missing in a variant, or ended in an error there, are left out of its pairs.
    """
    if PLAIN not in records:
        raise InvalidOption("an ablation needs the games in the plain wording: variant 'plain'")
    scores = {variant: _scores(games) for variant, games in records.items()}
    seats = max((len(seed) for seed in scores[PLAIN].values()), default=0)
    means = {
        variant: {s: sum(p) / seats for s, p in by_seed.items() if len(p) == seats}
        for variant, by_seed in scores.items()
    }
    made: list[tuple[str, Any, list[float]]] = []
    for variant in records:
        if variant != PLAIN:
            shared = sorted(means[variant].keys() & means[PLAIN].keys())
            one, two = ([means[v][seed] for seed in shared] for v in (variant, PLAIN))
            made.append((variant, compare_paired(one, two, confidence=confidence), one))
    seen = [score for by_seed in means.values() for score in by_seed.values()]
    bounds = min(seen, default=0.0), max(seen, default=0.0)
    adjusted = correct([found.p_value for _, found, _ in made])
    effects = tuple(
        _effect(variant, records[variant], own, found, float(p), confidence, bounds)
        for (variant, found, own), p in zip(made, adjusted, strict=True)
    )
    plain_scores = list(means[PLAIN].values())
    plain = _effect(PLAIN, records[PLAIN], plain_scores, None, 1.0, confidence, bounds)
    table = _table(means)
    return Ablation(
        plain,
        effects,
        _over_prompts(table, confidence),
        float(table.mean(axis=1).std(ddof=1)) if len(table) > 1 else 0.0,
        sum(bool(game.error) for games in records.values() for game in games),
    )


def _scores(games: Sequence[EpisodeRecord]) -> dict[int, list[float]]:
    """The tested agent's returns by seed, one per seat."""
    found: dict[int, list[float]] = {}
    for game in games:
        if not game.error:
            found.setdefault(game.seed, []).append(game.returns[game.tags["tested"]])
    return found


def _effect(
    variant: str,
    games: Sequence[EpisodeRecord],
    scores: Sequence[float],
    found: Any,
    adjusted: float,
    confidence: float,
    bounds: tuple[float, float],
) -> Effect:
    counts = AnswerCounts(episodes=0)
    for game in games:
        if not game.error:
            counts += counts_of(game)[game.tags["tested"]]
    changes = WORDINGS[variant].changes if variant in WORDINGS else "a wording of its own"
    return Effect(
        variant,
        changes,
        mean_interval(scores, confidence, bounds=bounds),
        found.difference if found else Interval(0.0, 0.0, 0.0),
        found.p_value if found else 1.0,
        adjusted,
        counts.refused_share,
        counts.forfeited_share,
        len(scores),
    )


def _table(means: Mapping[str, Mapping[int, float]]) -> Any:
    """Scores (prompts, seeds) of the plain wording and the paraphrases, on seeds that all have."""
    prompts = [variant for variant in means if variant not in (NULL, *LEGAL)]
    shared = sorted(set.intersection(*(set(means[variant]) for variant in prompts)))
    if not shared:
        raise InvalidOption("no seed was finished in every wording; resume the ablation")
    return np.array([[means[variant][seed] for seed in shared] for variant in prompts])


def _over_prompts(table: Any, confidence: float) -> Interval:
    rng, (prompts, seeds) = default_rng(0), table.shape
    drawn = np.empty(RESAMPLES)
    for number in range(RESAMPLES):
        rows, columns = rng.integers(prompts, size=prompts), rng.integers(seeds, size=seeds)
        drawn[number] = table[np.ix_(rows, columns)].mean()
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Interval(float(table.mean()), float(low), float(high))
