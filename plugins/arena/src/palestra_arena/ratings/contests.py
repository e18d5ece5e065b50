"""Results in the form that rating systems read: who met whom, and who did better."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from palestra_arena.result import GameResult
from palestra_arena.tally import Tally

Floats = NDArray[np.float64]
Block = tuple[str, int, tuple[str, ...]]


class Rating(NamedTuple):
    """An agent's rating and its confidence interval."""

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


Compared = tuple[tuple[int, ...], tuple[int, ...]]  # players and ranks of one game


@dataclass(frozen=True, slots=True)
class Contests:
    """All games that compare agents, in an order that does not depend on who played first.

    `blocks` are the same games without their order: how many blocks came out in each way. Systems
    that rate game by game need `games`; for the others, blocks that were counted are enough.
    """

    names: tuple[str, ...]
    games: tuple[Contest, ...]
    counted: tuple[tuple[tuple[Compared, ...], int], ...] = ()

    @property
    def blocks(self) -> tuple[tuple[tuple[Compared, ...], int], ...]:
        if self.counted:
            return self.counted
        ways = Counter(
            tuple(sorted((game.players, game.ranks) for game in block))
            for block in _blocks(self.games)
        )
        return tuple(sorted(ways.items()))

    @property
    def wins(self) -> Floats:
        """(agents, agents): how often the row did better than the column, ties as half."""
        table = np.zeros((len(self.names), len(self.names)))
        for block, times in self.blocks:
            for players, ranks in block:
                _count(Contest(players, ranks), table, times)
        return table


def contests_of(counted: Tally) -> Contests:
    """The comparisons of counted games, for systems that do not depend on their order."""
    kinds = [(kind, n) for kind, n in counted.kinds.items() if len(set(kind[0].agents)) > 1]
    names = tuple(sorted({agent for kind, _ in kinds for agent in kind[0].agents}))
    numbers = {name: number for number, name in enumerate(names)}
    ways: Counter[tuple[Compared, ...]] = Counter()
    for kind, times in kinds:
        ways[tuple(sorted(_compare(g.agents, g.points, numbers) for g in kind))] += times
    return Contests(names, (), tuple(sorted(ways.items())))


def contests_from(results: Iterable[GameResult]) -> Contests:
    """The games of a tournament that count and have at least two different agents."""
    counted = [r for r in results if r.counts and len(set(r.match.agents)) > 1]
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
    players, ranks = _compare(result.match.agents, result.points, numbers)
    return Contest(players, ranks, block, result.match.round)


def _compare(agents: Sequence[str], points: Sequence[float], numbers: dict[str, int]) -> Compared:
    """Treat an agent in several seats as one player with the mean of their points."""
    held: dict[int, list[float]] = {}
    for agent, share in zip(agents, points, strict=True):
        held.setdefault(numbers[agent], []).append(share)
    means = {seat: sum(shares) / len(shares) for seat, shares in held.items()}
    ranks = tuple(sum(other > mine for other in means.values()) for mine in means.values())
    return tuple(means), ranks


def _count(game: Contest, table: Floats, weight: float = 1.0) -> None:
    """Add one game to a table of wins: every pair of players was compared once."""
    for i, (seat, rank) in enumerate(zip(game.players, game.ranks, strict=True)):
        for j in range(i + 1, len(game.players)):
            rival, other = game.players[j], game.ranks[j]
            share = 1.0 if rank < other else 0.0 if rank > other else 0.5
            table[seat, rival] += weight * share
            table[rival, seat] += weight * (1 - share)


def resample(contests: Contests, times: int, rng: Generator, *, prior: float = 1.0) -> Floats:
    """Tables of wins drawn by a Bayesian bootstrap (Rubin 1981), (times, agents, agents).

    Whole blocks are weighted, by gamma variates; blocks that came out alike are weighted together,
    so that the cost does not grow with games. Every pair that met gets half of `prior` blocks won
    and half lost besides: with 1, the share of one pair has the posterior of Jeffreys, and an agent
    that won everything gets an interval with a width.
    """
    size, blocks = len(contests.names), contests.blocks
    weights = rng.standard_gamma([number for _, number in blocks], size=(times, len(blocks)))
    kinds = np.zeros((len(blocks), size, size))
    for (kind, _), table in zip(blocks, kinds, strict=True):
        for players, ranks in kind:
            _count(Contest(players, ranks), table)
    drawn = weights @ kinds.reshape(len(blocks), -1)
    tables = drawn.reshape(times, size, size)
    tables += rng.standard_gamma(prior / 2, size=tables.shape) * _games_per_block(contests)
    return tables


def _games_per_block(contests: Contests) -> Floats:
    """(agents, agents): games of a pair in one block of them, on average; 0 for who never met."""
    wins = contests.wins
    blocks = np.zeros_like(wins)
    for block, times in contests.blocks:
        for i, j in {(i, j) for players, _ in block for i in players for j in players if i != j}:
            blocks[i, j] += times
    return (wins + wins.T) / np.maximum(blocks, 1)


def _blocks(games: Sequence[Contest]) -> Iterable[list[Contest]]:
    grouped: dict[int, list[Contest]] = {}
    for game in games:
        grouped.setdefault(game.block, []).append(game)
    return grouped.values()


def block_weights(contests: Contests, times: int, rng: Generator) -> Floats:
    """The weight of each game in each of `times` Bayesian bootstrap samples, (times, games).

    The blocks of one line-up share as many as there are.
    """
    block_of = np.array([game.block for game in contests.games])
    lineups: dict[tuple[int, ...], list[int]] = {}
    for block in _blocks(contests.games):
        lineups.setdefault(tuple(sorted(block[0].players)), []).append(block[0].block)
    weights = np.zeros((times, int(block_of.max(initial=0)) + 1))
    for members in lineups.values():
        weights[:, members] = len(members) * rng.dirichlet(np.ones(len(members)), size=times)
    return weights[:, block_of]
