"""LLM Swiss Round: a Swiss tournament simulated many times over a table of known win shares."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import ArrayLike, NDArray
from palestra import InvalidOption

Floats = NDArray[np.float64]


def simulate_swiss(
    wins: ArrayLike, *, eliminate: int = 0, simulations: int = 10_000, seed: int = 0
) -> Floats:
    """Expected win score of every model, averaged over random pairings.

    `wins` has shape (environments, models, models): the share of `[e, i, j]` that i wins against j
    in environment e, with `[e, i, j] + [e, j, i] = 1`. One environment is played a round, in
    order. Models of equal score are paired at random; the one left over floats to the next group,
    and the last one left sits the round out for 0 points. After every round the `eliminate` lowest
    drop out, equals at random, and score no more. A pairing is won by chance, in proportion to
    `wins`; 0 and 1 are certain.
    """
    table = np.asarray(wins, dtype=float)
    if table.ndim != 3 or table.shape[1] != table.shape[2]:
        raise InvalidOption(f"wins must be (environments, models, models), not {table.shape}")
    rng = default_rng(seed)
    rounds, models, _ = table.shape
    scores = np.zeros((simulations, models))
    alive = np.ones((simulations, models), dtype=bool)
    rows = np.arange(simulations)[:, None]
    remaining = models
    for environment in range(rounds):
        pairs = remaining // 2
        order = _rank_models(scores, alive, rng)
        first, second = order[:, 0 : 2 * pairs : 2], order[:, 1 : 2 * pairs : 2]
        won = rng.random(first.shape) < table[environment][first, second]
        scores[rows, first] += won
        scores[rows, second] += ~won
        dropped = min(eliminate, remaining - 1)
        if dropped:
            last = _rank_models(scores, alive, rng)[:, remaining - dropped : remaining]
            alive[rows, last] = False
            remaining -= dropped
    return scores.mean(axis=0)


def _rank_models(scores: Floats, alive: NDArray[np.bool_], rng: Generator) -> NDArray[np.int_]:
    """Models by score in every simulation, best first, equals at random, the dropped last."""
    noise = rng.random(scores.shape)
    return np.lexsort((noise, -scores, ~alive), axis=1)
