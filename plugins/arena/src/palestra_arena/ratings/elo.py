"""Elo ratings, updated game by game (Elo 1978), for two or more players."""

from __future__ import annotations

import numpy as np
from numpy.random import default_rng

from palestra_arena.ratings.bradley_terry import MEAN, require_connected
from palestra_arena.ratings.contests import Contests, Floats, Rating, block_weights

K = 32.0


def expected_score(rating: Floats, opponent: Floats) -> Floats:
    """The share of points a rating is expected to take from another."""
    return 1 / (1 + 10 ** ((opponent - rating) / 400))


def elo(
    contests: Contests,
    *,
    confidence: float = 0.95,
    k: float = K,
    initial: float = MEAN,
    resamples: int = 500,
    seed: int = 0,
) -> list[Rating]:
    """Ratings after the last game, with Bayesian bootstrap intervals over blocks.

    After a game every player moves by k times the difference between the points it made (the share
    of rivals it beat) and those expected of it. Elo depends on the order of games: it is the
    canonical order of `Contests`. For the intervals every pair that met has won and lost half a
    block before the first game, so that an agent that won everything has one with a width.
    """
    require_connected(contests)
    rng = default_rng(seed)
    weights = block_weights(contests, resamples, rng)
    history = np.vstack([np.ones(len(contests.games)), weights])
    ratings = np.full((len(history), len(contests.names)), initial)
    for pair in np.argwhere(contests.wins + contests.wins.T > 0):
        won = rng.standard_gamma(0.5, size=resamples)  # before the games, as in `resample`
        ratings[1:, pair] += k * won[:, None] * (np.array([1.0, 0.0]) - 0.5)
    for number, game in enumerate(contests.games):
        players = list(game.players)
        seats = ratings[:, players]
        gain = _points(game.ranks) - _expected_shares(seats)
        ratings[:, players] = seats + k * history[:, number, None] * gain
    tail = (1 - confidence) / 2
    low, high = np.quantile(ratings[1:], [tail, 1 - tail], axis=0)
    return [
        Rating(name, float(ratings[0, i]), float(low[i]), float(high[i]))
        for i, name in enumerate(contests.names)
    ]


def _points(ranks: tuple[int, ...]) -> Floats:
    """Share of rivals each seat beat, ties as half."""
    rank = np.array(ranks)
    beaten = (rank[:, None] < rank[None]).sum(1) + ((rank[:, None] == rank[None]).sum(1) - 1) / 2
    return beaten / (len(ranks) - 1)


def _expected_shares(seats: Floats) -> Floats:
    """The mean over rivals of the share expected against each; `seats` is (samples, seats)."""
    table = expected_score(seats[..., :, None], seats[..., None, :])
    return (table.sum(-1) - 0.5) / (seats.shape[-1] - 1)
