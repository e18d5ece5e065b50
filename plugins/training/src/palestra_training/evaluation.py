"""How well a learner plays what it was not trained on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from palestra import EpisodeRecord, Game, wilson
from palestra.records.intervals import Sample

from palestra_training.plan import TrainPlan
from palestra_training.play import open_env
from palestra_training.pool import is_duel, rank_points

HELD_OUT = 2_000_000_000  # seeds from here on are for evaluation only
LOST = ("loss", "forfeit")
Play = Callable[[Sequence[Sequence[str]], Sequence[int]], Sequence[EpisodeRecord]]
DECIDED = frozenset({"win", "draw", "truncated", *LOST})


def evaluate(plan: TrainPlan, learners: Sequence[str], play: Play) -> list[dict[str, Any]]:
    """Play the learners of all seats, each from its seat in turn, against each opponent.

    learners: the policy of each seat. play: gives the record of each line-up and seed. Gives the
    fields of `curves.Round` that an evaluation fills, for each opponent.
    """
    settings = plan.evaluation
    _, game = open_env(plan, settings.split, **settings.options)
    seats = range(game.num_players)
    found = []
    for name in settings.opponents:
        line_ups, seeds = [], []
        for number in range(settings.episodes):
            own = number % len(seats)
            line_ups.append([learners[seat] if seat == own else name for seat in seats])
            seeds.append(HELD_OUT + number // len(seats))
        found.append({"opponent": name, **scores(game, play(line_ups, seeds))})
    return found


def scores(game: Game[Any, Any], records: Sequence[EpisodeRecord]) -> dict[str, float]:
    """The mean return, with shares unlost and won or with mean rank points.

    Record i is judged by seat i % seats. Shares are of games that are won or lost: zero-sum between
    two seats, or of one seat that is not paid a score. Rank points (see `pool`) are of the other
    games with rivals.
    """
    seats = game.num_players
    own = [number % seats for number in range(len(records))]
    returns, ranks = Sample(), Sample()
    for record, seat in zip(records, own, strict=True):
        returns.add(record.returns[seat])
        if seats > 1:
            ranks.add(rank_points(record.returns, seat))
    mean = returns.interval(bounds=game.payoff_bounds)
    found = {"mean": mean.value, "mean_low": mean.low, "mean_high": mean.high}
    results = [
        record.outcome.results[seat] if record.outcome else "truncated"
        for record, seat in zip(records, own, strict=True)
    ]
    if not is_duel(game) and (seats > 1 or not DECIDED.issuperset(results)):
        if seats > 1 and game.payoffs != "common":
            rank = ranks.interval(bounds=(0.0, 1.0))
            found |= {"rank": rank.value, "rank_low": rank.low, "rank_high": rank.high}
        return found
    unlost = [result not in LOST for result in results]
    by_seat = [unlost[seat::seats] for seat in range(seats)]
    share = wilson(sum(unlost), len(unlost))
    return found | {
        "unlost": share.value,
        "low": share.low,
        "high": share.high,
        "worst": min(sum(seat) / len(seat) for seat in by_seat if seat),
        "won": sum(result == "win" for result in results) / len(results),
    }
