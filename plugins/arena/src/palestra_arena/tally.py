"""Counts over many games: blocks with equal results are stored once, with their number.

A block is one environment, seed and line-up: its games differ in who sat where and share their
chance, so that whatever is estimated counts blocks. Where scores are few (won, lost, drawn) a
million games are a few hundred kinds of blocks, and a leaderboard costs no more than those.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from palestra import Usage

from palestra_arena.result import GameResult, Status


class CountedGame(NamedTuple):
    """One game that counts; tuples have one entry a seat."""

    environment: str  # its label
    agents: tuple[str, ...]
    results: tuple[str, ...]
    ranks: tuple[int, ...]
    points: tuple[float, ...]
    scores: tuple[float, ...]


Kind = tuple[CountedGame, ...]  # the games of a block, sorted
Block = tuple[str, int, tuple[str, ...]]


class Spent(NamedTuple):
    """The usage of an agent's seats, their number of answers, and how many were refused."""

    mistakes: int = 0
    usage: Usage = Usage()
    answers: int = 0

    def plus(self, other: Spent) -> Spent:
        return Spent(
            self.mistakes + other.mistakes, self.usage + other.usage, self.answers + other.answers
        )


@dataclass(slots=True)
class Tally:
    """The number of blocks of every kind, and each agent's usage, by environment."""

    kinds: Counter[Kind] = field(default_factory=Counter)
    spent: dict[tuple[str, str], Spent] = field(default_factory=dict)  # by environment and agent
    void: Counter[str] = field(default_factory=Counter)  # games by environment
    errors: Counter[str] = field(default_factory=Counter)  # games by environment

    @property
    def games(self) -> int:
        """The number of games, including those that count for no agent."""
        counted = sum(len(kind) * times for kind, times in self.kinds.items())
        return counted + self.void.total() + self.errors.total()

    @property
    def environments(self) -> tuple[str, ...]:
        counted = {kind[0].environment for kind in self.kinds}
        return tuple(sorted(counted | set(self.void) | set(self.errors)))

    def only(self, environment: str) -> Tally:
        """The counts for one environment id, with any options."""

        def fits(label: str) -> bool:
            return label.partition("(")[0] == environment

        return Tally(
            Counter({k: times for k, times in self.kinds.items() if fits(k[0].environment)}),
            {key: spent for key, spent in self.spent.items() if fits(key[0])},
            Counter({label: times for label, times in self.void.items() if fits(label)}),
            Counter({label: times for label, times in self.errors.items() if fits(label)}),
        )


def block_of(result: GameResult) -> Block:
    match = result.match
    return match.environment.label, match.seed, tuple(sorted(match.agents))


def counted_game(result: GameResult) -> CountedGame:
    return CountedGame(
        result.match.environment.label,
        result.match.agents,
        result.results,
        result.ranks,
        result.points,
        result.scores,
    )


def spent_in(results: Iterable[GameResult]) -> dict[tuple[str, str], Spent]:
    """The usage of games that count, by environment and agent."""
    found: dict[tuple[str, str], Spent] = {}
    for result in results:
        for seat, agent in enumerate(result.match.agents):
            key = result.match.environment.label, agent
            answers = result.answers[seat] if result.answers else 0
            seats = Spent(result.mistakes[seat], result.usage[seat], answers)
            found[key] = found.get(key, Spent()).plus(seats)
    return found


def by_block(results: Iterable[GameResult]) -> dict[Block, list[CountedGame]]:
    """Games that count, by block."""
    blocks: dict[Block, list[CountedGame]] = {}
    for result in results:
        blocks.setdefault(block_of(result), []).append(counted_game(result))
    return blocks


def tally(results: Iterable[GameResult]) -> Tally:
    """Count games."""
    games = list(results)
    counted = [result for result in games if result.counts]
    done = {result.match for result in games if result.status != "error"}
    unplayed = {result.match: result for result in games if result.match not in done}
    return Tally(
        Counter(tuple(sorted(block)) for block in by_block(counted).values()),
        spent_in(counted),
        labels_of(games, "void"),
        labels_of(unplayed.values(), "error"),
    )


def labels_of(games: Iterable[GameResult], status: Status) -> Counter[str]:
    """How many games have a status, by the environment's label."""
    return Counter(game.match.environment.label for game in games if game.status == status)


def add_spent(
    total: Mapping[tuple[str, str], Spent], more: Mapping[tuple[str, str], Spent]
) -> dict[tuple[str, str], Spent]:
    return dict(total) | {key: total.get(key, Spent()).plus(new) for key, new in more.items()}
