"""The arena: a leaderboard of a million games, what a tournament costs beside its games, workers.

`python benchmarks/run.py arena` takes some minutes, most of them to write a million games.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter

import palestra
from palestra_arena import GameResult, Settings, Store, run_tournament
from palestra_arena.match import Match
from palestra_arena.report import leaderboard_of
from palestra_arena.result import points_of
from palestra_arena.settings import Environment
from timing import Row, compare, limit

GAMES = 1_000_000
AGENTS = ("minimax:depth=4", "minimax:depth=3", "minimax:depth=2", "first")  # no chance in them
SEARCHERS = tuple(f"mcts:simulations={n}" for n in (50, 100, 150))  # nothing kept between games
BOARD = "games/ConnectFour-v0"


def million() -> Row:
    """A leaderboard of games that were counted before, a thousand new ones included."""
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "games.db") as store:
        for seed in range(GAMES // 2):
            for swapped in (False, True):
                store.add(game(seed, swapped))
            if seed == GAMES // 2 - 501:
                store.tally()  # as a tournament does when it ends
        started = perf_counter()
        board = leaderboard_of(store.tally())
        took = perf_counter() - started
    assert board.games == GAMES
    return limit("leaderboard of 1,000,000 games, 1,000 of them new", took, at_most=1, unit="s")


def game(seed: int, swapped: bool) -> GameResult:
    """A made-up game of two of eight agents, of whom each beats the next more often."""
    one = seed % 8
    two = (one + 1 + seed // 8 % 7) % 8
    agents = (f"agent {one}", f"agent {two}")[:: -1 if swapped else 1]
    first_wins = seed * 2654435761 % 100 < 50 + 5 * (two - one) * (-1 if swapped else 1)
    ranks = (0, 1) if first_wins else (1, 0)
    return GameResult(
        match=Match(Environment(BOARD), agents, seed),
        status="played",
        results=("win", "loss") if first_wins else ("loss", "win"),
        scores=(1.0, -1.0) if first_wins else (-1.0, 1.0),
        ranks=ranks,
        points=points_of(ranks),
        mistakes=(0, 0),
        usage=(palestra.Usage(), palestra.Usage()),
        steps=20,
        seconds=0.01,
    )


def tournament(agents: tuple[str, ...], workers: int, games: int) -> int:
    settings = Settings(environments=(BOARD,), agents=agents, games=games, workers=workers)
    with tempfile.TemporaryDirectory() as folder:
        return run_tournament(settings, Path(folder) / "games.db").played


def overhead() -> Row:
    """The same pairings in one process by `palestra.play`, which keeps nothing."""

    def plain() -> int:
        played = 0
        made = [palestra.make_agent(name) for name in AGENTS]  # once, as a tournament does
        for i, one in enumerate(made):
            for two in made[i + 1 :]:
                for seats in ((one, two), (two, one)):
                    played += len(palestra.play(BOARD, agents=seats, episodes=4))
        return played

    return compare(
        "tournament of scripted agents, one process",
        lambda: tournament(AGENTS, 0, 8),
        plain,
        target=0.95,
        unit="games/s",
        against="palestra.play without a store",
    )


def workers() -> Row:
    """Starting the processes, about a second each, is part of it."""
    return compare(
        "tournament with two workers",
        lambda: tournament(SEARCHERS, 2, 64),
        lambda: tournament(SEARCHERS, 1, 64),
        target=1.7,
        unit="games/s",
        against="one worker",
    )


MEASURES = (million, overhead, workers)
