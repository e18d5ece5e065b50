"""One row an agent: rating, share of points, returns and costs, each with what it rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from palestra import InvalidOption, Usage

from palestra_arena.ratings import Rating, contests_from, rate
from palestra_arena.result import GameResult
from palestra_arena.statistics import Interval, mean_interval, wilson

UNDECIDED = "no rating: nobody beat anybody, so agents are ranked by what they were paid"


@dataclass(slots=True)
class Row:
    """What one agent did.

    `points` is the mean share of rivals beaten with Wilson's interval, `score` the mean return
    with a bootstrap interval; both count independent blocks (environment, seed, rivals), not
    games, as games of one block share their chance.
    """

    agent: str
    rating: Rating | None
    points: Interval | None
    score: Interval
    games: int
    results: Counter[str]
    forfeits: int
    mistakes: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class Pairing:
    """What the row agent made of its games with the column agent."""

    points: Interval
    games: int


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Rows from best to worst, what everybody made of everybody, and what could not be counted."""

    system: str
    confidence: float
    rows: tuple[Row, ...]
    pairings: dict[tuple[str, str], Pairing]
    games: int
    void: int
    unrated: str = ""
    environments: tuple[str, ...] = ()


@dataclass(slots=True)
class _Sum:
    """Everything an agent did, before it is averaged."""

    blocks: dict[object, list[tuple[float, float]]] = field(default_factory=dict)
    results: Counter[str] = field(default_factory=Counter)
    mistakes: int = 0
    usage: Usage = field(default_factory=Usage)
    games: int = 0


def make_leaderboard(
    results: Iterable[GameResult], system: str = "bradley-terry", *, confidence: float = 0.95
) -> Leaderboard:
    """Rank the agents of a tournament by a rating system, or by points where it cannot rate."""
    games = list(results)
    counted = [result for result in games if result.status != "void"]
    if not counted:
        raise InvalidOption("no game in this store counts, so there is nothing to rank")
    sums: dict[str, _Sum] = {}
    for result in counted:
        _add(result, sums)
    decided = any(len(set(result.ranks)) > 1 for result in counted)
    ratings, unrated = _ratings(counted, system, confidence) if decided else ({}, UNDECIDED)
    rows = [
        _row(agent, total, ratings.get(agent), decided, confidence) for agent, total in sums.items()
    ]
    return Leaderboard(
        system=system,
        confidence=confidence,
        rows=tuple(sorted(rows, key=_merit)),
        pairings=_pairings(counted, confidence),
        games=len(games),
        void=len(games) - len(counted),
        unrated=unrated,
        environments=tuple(sorted({result.match.environment.label for result in games})),
    )


def _ratings(
    results: Sequence[GameResult], system: str, confidence: float
) -> tuple[dict[str, Rating], str]:
    """Ratings by agent, or why there are none."""
    try:
        rated = rate(contests_from(results), system, confidence=confidence)
    except InvalidOption as error:
        return {}, f"no rating: {error}"
    return {rating.agent: rating for rating in rated}, ""


def _merit(row: Row) -> tuple[float, float, float, str]:
    rating = row.rating.value if row.rating else 0.0
    return -rating, -(row.points.value if row.points else 0.0), -row.score.value, row.agent


def _add(result: GameResult, sums: dict[str, _Sum]) -> None:
    match = result.match
    block = match.environment.label, match.seed, match.round, tuple(sorted(match.agents))
    for seat, agent in enumerate(match.agents):
        total = sums.setdefault(agent, _Sum())
        made = total.blocks.setdefault(block, [])
        made.append((result.points[seat], result.scores[seat]))
        total.results[result.results[seat]] += 1
        total.mistakes += result.mistakes[seat]
        total.usage += result.usage[seat]
    for agent in set(match.agents):
        sums[agent].games += 1


def _row(agent: str, total: _Sum, rating: Rating | None, decided: bool, confidence: float) -> Row:
    blocks = total.blocks.values()
    points = [sum(share for share, _ in block) / len(block) for block in blocks]
    scores = [sum(score for _, score in block) / len(block) for block in blocks]
    return Row(
        agent=agent,
        rating=rating,
        points=wilson(sum(points), len(points), confidence) if decided else None,
        score=mean_interval(scores, confidence),
        games=total.games,
        results=total.results,
        forfeits=total.results["forfeit"],
        mistakes=total.mistakes,
        usage=total.usage,
    )


def _pairings(results: Sequence[GameResult], confidence: float) -> dict[tuple[str, str], Pairing]:
    """Every ordered pair of agents that met."""
    blocks: dict[tuple[str, str], dict[object, list[float]]] = {}
    for result in results:
        match = result.match
        for i, one in enumerate(match.agents):
            for j, two in enumerate(match.agents):
                if one != two:
                    better = result.ranks[i] < result.ranks[j]
                    level = result.ranks[i] == result.ranks[j]
                    block = match.environment.label, match.seed, match.round
                    of_pair = blocks.setdefault((one, two), {})
                    of_pair.setdefault(block, []).append(1.0 if better else 0.5 * level)
    return {pair: _pairing(list(found.values()), confidence) for pair, found in blocks.items()}


def _pairing(blocks: list[list[float]], confidence: float) -> Pairing:
    means = [sum(block) / len(block) for block in blocks]
    games = sum(len(block) for block in blocks)
    return Pairing(wilson(sum(means), len(means), confidence), games)
