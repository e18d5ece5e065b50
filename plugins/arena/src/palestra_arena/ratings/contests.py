"""Results as every rating system reads them: who met whom, and who did better."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from palestra_arena.result import GameResult

Floats = NDArray[np.float64]
Block = tuple[str, int, tuple[str, ...]]


class Rating(NamedTuple):
    """An agent's rating, and the interval that holds it at the confidence asked for."""

    agent: str
    value: float
    low: float
    high: float


class Contest(NamedTuple):
    """One game: players by number, and how many did better than each; equal ranks are ties.

    Contests of one block (same environment, seed and agents, in other seats) are not independent
    of each other, and are drawn together by a bootstrap.
    """

    players: tuple[int, ...]
    ranks: tuple[int, ...]
    block: int = 0
    round: int = 0


@dataclass(frozen=True, slots=True)
class Contests:
    """All games that compare agents, in an order that does not depend on who played first."""

    names: tuple[str, ...]
    games: tuple[Contest, ...]

    @property
    def wins(self) -> Floats:
        """(agents, agents): how often the row did better than the column, ties as half."""
        table = np.zeros((len(self.names), len(self.names)))
        kinds = Counter((game.players, game.ranks) for game in self.games)
        for (players, ranks), times in kinds.items():
            _count(Contest(players, ranks), table, times)
        return table


def contests_from(results: Iterable[GameResult]) -> Contests:
    """The games of a tournament that count and in which somebody was met."""
    counted = [r for r in results if r.status != "void" and len(set(r.match.agents)) > 1]
    counted.sort(key=_order)
    names = tuple(sorted({agent for result in counted for agent in result.match.agents}))
    numbers = {name: number for number, name in enumerate(names)}
    blocks: dict[Block, int] = {}
    games = []
    for result in counted:
        match = result.match
        block = match.environment.label, match.seed, tuple(sorted(match.agents))
        games.append(_contest(result, numbers, blocks.setdefault(block, len(blocks))))
    return Contests(names, tuple(games))


def _order(result: GameResult) -> tuple[int, str, int, tuple[str, ...]]:
    match = result.match
    return match.round, match.environment.label, match.seed, match.agents


def _contest(result: GameResult, numbers: dict[str, int], block: int) -> Contest:
    """An agent that holds several seats is one player, who made the mean of their points."""
    points: dict[int, list[float]] = {}
    for agent, share in zip(result.match.agents, result.points, strict=True):
        points.setdefault(numbers[agent], []).append(share)
    means = {player: sum(shares) / len(shares) for player, shares in points.items()}
    ranks = tuple(sum(other > mine for other in means.values()) for mine in means.values())
    return Contest(tuple(means), ranks, block, result.match.round)


def _count(game: Contest, table: Floats, weight: float = 1.0) -> None:
    """Add one game to a table of wins: every pair of players was compared once."""
    for i, (player, rank) in enumerate(zip(game.players, game.ranks, strict=True)):
        for j in range(i + 1, len(game.players)):
            rival, other = game.players[j], game.ranks[j]
            share = 1.0 if rank < other else 0.0 if rank > other else 0.5
            table[player, rival] += weight * share
            table[rival, player] += weight * (1 - share)


def resample(contests: Contests, times: int, rng: Generator, *, prior: float = 1.0) -> Floats:
    """Tables of wins drawn by a Bayesian bootstrap (Rubin 1981), (times, agents, agents).

    Whole blocks are weighted, by gamma variates; blocks that came out alike are weighted together,
    so that the cost does not grow with games. Every pair that met gets half of `prior` blocks won
    and half lost besides: with 1, the share of one pair has the posterior of Jeffreys, and an agent
    that won everything gets an interval with a width.
    """
    size = len(contests.names)
    outcomes = Counter(
        tuple(sorted((game.players, game.ranks) for game in block))
        for block in _blocks(contests.games)
    )
    weights = rng.standard_gamma(list(outcomes.values()), size=(times, len(outcomes)))
    kinds = np.zeros((len(outcomes), size, size))
    for kind, table in zip(outcomes, kinds, strict=True):
        for players, ranks in kind:
            _count(Contest(players, ranks), table)
    drawn = weights @ kinds.reshape(len(outcomes), -1)
    tables = drawn.reshape(times, size, size)
    tables += rng.standard_gamma(prior / 2, size=tables.shape) * _games_per_block(contests)
    return tables


def _games_per_block(contests: Contests) -> Floats:
    """(agents, agents): games of a pair in one block of them, on average; 0 for who never met."""
    wins = contests.wins
    met: set[tuple[int, int, int]] = set()
    for game in contests.games:
        met |= {(game.block, i, j) for i in game.players for j in game.players if i != j}
    blocks = np.zeros_like(wins)
    for _, i, j in met:
        blocks[i, j] += 1
    games: Floats = (wins + wins.T) / np.maximum(blocks, 1)
    return games


def _blocks(games: Sequence[Contest]) -> Iterable[list[Contest]]:
    grouped: dict[int, list[Contest]] = {}
    for game in games:
        grouped.setdefault(game.block, []).append(game)
    return grouped.values()


def block_weights(contests: Contests, times: int, rng: Generator) -> Floats:
    """How often each game is drawn in each of `times` bootstrap samples, (times, games).

    Blocks are drawn among those of the same line-up.
    """
    block_of = np.array([game.block for game in contests.games])
    lineups: dict[tuple[int, ...], list[int]] = {}
    for block in _blocks(contests.games):
        lineups.setdefault(tuple(sorted(block[0].players)), []).append(block[0].block)
    weights = np.zeros((times, int(block_of.max(initial=0)) + 1))
    for members in lineups.values():
        share = np.full(len(members), 1 / len(members))
        weights[:, members] = rng.multinomial(len(members), share, size=times)
    return weights[:, block_of]
