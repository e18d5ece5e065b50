"""One row per agent: rating, share of points, returns and costs, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations

from palestra import InvalidOption, Usage

from palestra_arena.ratings import BY_ORDER, Contests, Rating, contests_from, contests_of, rate
from palestra_arena.result import GameResult
from palestra_arena.statistics import Interval, mean_interval, wilson
from palestra_arena.tally import Kind, Spent, Tally, tally

UNDECIDED = "no rating: nobody beat anybody, so agents are ranked by what they were paid"

UNEVEN = 0.05  # share of games by which a seat may exceed its own


@dataclass(slots=True)
class LeaderboardRow:
    """The results of one agent.

    `points` is the mean share of rivals beaten with Wilson's interval, `score` the mean return
    with a bootstrap interval; both count independent blocks (environment, seed, rivals), not
    games, as games of one block share their chance. `refused` is the share of answers that were
    refused, None if answers were not counted; `forfeited` the share of its seats that it forfeited.
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
    answers: int = 0

    @property
    def refused(self) -> float | None:
        return share_refused(self.mistakes, self.answers)

    @property
    def forfeited(self) -> float:
        return self.forfeits / max(1, self.results.total())


def share_refused(mistakes: int, answers: int) -> float | None:
    """The share of answers that were refused; None if answers were not counted."""
    if answers < mistakes:
        return None
    return mistakes / answers if answers else 0.0


@dataclass(frozen=True, slots=True)
class Pairing:
    """The results of the row agent against the column agent."""

    points: Interval
    games: int


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Rows from best to worst, head-to-head results, and games that could not be counted."""

    system: str
    confidence: float
    rows: tuple[LeaderboardRow, ...]
    pairings: dict[tuple[str, str], Pairing]
    games: int
    void: int
    unrated: str = ""
    environments: tuple[str, ...] = ()
    errors: int = 0
    seating: str = ""  # who sat where too often for seats to cancel out; empty if nobody
    winnings: str = ""  # who won more often and was paid less than another; empty if nobody

    @property
    def uncounted(self) -> str:
        """Which games count for no agent; empty if there are none."""
        parts = [f"{self.errors} ended in an error"] * (self.errors > 0)
        parts += [f"{self.void} void"] * (self.void > 0)
        return f"{' and '.join(parts)} (these count for no agent)" if parts else ""


@dataclass(slots=True)
class _Sum:
    """Everything an agent did: what it made of its blocks on average, and how often that."""

    blocks: Counter[tuple[float, float]] = field(default_factory=Counter)  # points and score
    results: Counter[str] = field(default_factory=Counter)
    games: int = 0


def make_leaderboard(
    results: Iterable[GameResult], system: str = "bradley-terry", *, confidence: float = 0.95
) -> Leaderboard:
    """Rank the agents of a tournament by a rating system, or by points where it cannot rate."""
    games = list(results)
    counted = [result for result in games if result.counts]
    contests = contests_from(counted) if system in BY_ORDER else None
    return leaderboard_of(tally(games), system, contests, confidence=confidence)


def leaderboard_of(
    counted: Tally,
    system: str = "bradley-terry",
    contests: Contests | None = None,
    *,
    confidence: float = 0.95,
) -> Leaderboard:
    """The same of games that were counted; systems `BY_ORDER` need the `contests` besides."""
    if not counted.kinds:
        raise InvalidOption("no game in this store counts, so there is nothing to rank")
    kinds = sorted(counted.kinds.items())
    sums: dict[str, _Sum] = {}
    for kind, times in kinds:
        _add(kind, times, sums)
    decided = any(len(set(game.ranks)) > 1 for kind, _ in kinds for game in kind)
    ratings: dict[str, Rating] = {}
    unrated = UNDECIDED
    if decided:
        ratings, unrated = _ratings(contests or contests_of(counted), system, confidence)
    spent = spent_by_agent(counted.spent)
    scores = [score for total in sums.values() for _, score in total.blocks]
    bounds = min(scores), max(scores)  # what any agent was seen to get
    rows = [
        _row(agent, total, ratings.get(agent), decided, confidence, spent[agent], bounds)
        for agent, total in sums.items()
    ]
    rows.sort(key=_merit)
    return Leaderboard(
        system=system,
        confidence=confidence,
        rows=tuple(rows),
        pairings=_pairings(kinds, confidence),
        games=counted.games,
        void=counted.void.total(),
        unrated=unrated,
        environments=counted.environments,
        errors=counted.errors.total(),
        seating=_unbalanced(kinds),
        winnings=_paid_less(rows) if len(counted.environments) == 1 else "",
    )


def _ratings(contests: Contests, system: str, confidence: float) -> tuple[dict[str, Rating], str]:
    """Ratings by agent, or why there are none."""
    try:
        rated = rate(contests, system, confidence=confidence)
    except InvalidOption as error:
        return {}, f"no rating: {error}"
    return {rating.agent: rating for rating in rated}, ""


def _merit(row: LeaderboardRow) -> tuple[float, float, float, str]:
    rating = row.rating.value if row.rating else 0.0
    return -rating, -(row.points.value if row.points else 0.0), -row.score.value, row.agent


def _add(kind: Kind, times: int, sums: dict[str, _Sum]) -> None:
    made: dict[str, list[tuple[float, float]]] = {}
    for game in kind:
        for seat, agent in enumerate(game.agents):
            made.setdefault(agent, []).append((game.points[seat], game.scores[seat]))
            sums.setdefault(agent, _Sum()).results[game.results[seat]] += times
        for agent in set(game.agents):
            sums[agent].games += times
    for agent, seats in made.items():
        points, scores = (sum(values) / len(values) for values in zip(*seats, strict=True))
        sums[agent].blocks[points, scores] += times


def spent_by_agent(by_environment: Mapping[tuple[str, str], Spent]) -> dict[str, Spent]:
    """Every agent's total usage, from its usage by environment."""
    found: dict[str, Spent] = {}
    for (_, agent), spent in by_environment.items():
        found[agent] = found.get(agent, Spent()).plus(spent)
    return found


def _row(
    agent: str,
    total: _Sum,
    rating: Rating | None,
    decided: bool,
    confidence: float,
    spent: Spent,
    bounds: tuple[float, float],
) -> LeaderboardRow:
    blocks = sorted(total.blocks.items())
    times = [number for _, number in blocks]
    points = sum(share * number for (share, _), number in blocks)
    return LeaderboardRow(
        agent=agent,
        rating=rating,
        points=wilson(min(points, sum(times)), sum(times), confidence) if decided else None,
        score=mean_interval([s for (_, s), _ in blocks], confidence, times, bounds=bounds),
        games=total.games,
        results=total.results,
        forfeits=total.results["forfeit"],
        mistakes=spent.mistakes,
        usage=spent.usage,
        answers=spent.answers,
    )


def _unbalanced(kinds: Sequence[tuple[Kind, int]]) -> str:
    """The agent whose seats are the least balanced, in a sentence; empty where all nearly are."""
    sat: dict[tuple[str, tuple[str, ...], str], Counter[int]] = {}
    for kind, times in kinds:
        for game in kind:
            for seat, agent in enumerate(game.agents):
                where = game.environment, tuple(sorted(game.agents)), agent
                sat.setdefault(where, Counter(dict.fromkeys(range(len(game.agents)), 0)))
                sat[where][seat] += times
    excess, worst = 0.0, ""
    for (environment, agents, agent), seats in sat.items():
        (seat, most), total = seats.most_common(1)[0], seats.total()
        over = most / total - 1 / len(seats)
        if len(set(agents)) > 1 and over > max(UNEVEN, excess) and most > min(seats.values()) + 1:
            excess, others = over, list(agents)
            others.remove(agent)
            worst = (
                f"seats are not balanced: {agent} sat at seat {seat} in {most} of {total} games of "
                f"{environment} with {', '.join(others)}, so that an advantage of that seat counts "
                "as strength"
            )
    return worst


def _paid_less(rows: Sequence[LeaderboardRow]) -> str:
    """The agents whose order by score contradicts their order here the most, in a sentence."""
    pairs = [
        (better, worse)
        for better, worse in combinations(rows, 2)
        if better.points and worse.points and better.points.value > worse.points.value
        if better.score.high < worse.score.low
    ]
    if not pairs:
        return ""
    better, worse = max(pairs, key=lambda pair: pair[1].score.value - pair[0].score.value)
    return (
        f"points count who won and not how much: {better.agent} won more often than "
        f"{worse.agent} and was paid less, a score of {better.score.value:.2f} and not of "
        f"{worse.score.value:.2f}"
    )


def _pairings(
    kinds: Sequence[tuple[Kind, int]], confidence: float
) -> dict[tuple[str, str], Pairing]:
    """Every ordered pair of agents that met."""
    won: dict[tuple[str, str], float] = {}  # blocks, by the share of their games
    blocks: Counter[tuple[str, str]] = Counter()
    games: Counter[tuple[str, str]] = Counter()
    for kind, times in kinds:
        shares: dict[tuple[str, str], list[float]] = {}
        for game in kind:
            for (i, one), (j, two) in permutations(enumerate(game.agents), 2):
                if one != two:
                    better, level = game.ranks[i] < game.ranks[j], game.ranks[i] == game.ranks[j]
                    shares.setdefault((one, two), []).append(1.0 if better else 0.5 * level)
        for pair, made in shares.items():
            won[pair] = won.get(pair, 0.0) + times * sum(made) / len(made)
            blocks[pair] += times
            games[pair] += times * len(made)
    return {
        pair: Pairing(wilson(min(won[pair], blocks[pair]), blocks[pair], confidence), games[pair])
        for pair in blocks
    }
