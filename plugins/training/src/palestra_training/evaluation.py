"""How well a learner plays what it was not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palestra import EpisodeRecord, wilson
from palestra.agents.agent import Agent
from palestra.agents.making import make_agent
from palestra.records.intervals import Sample

from palestra_training.plan import TrainPlan
from palestra_training.play import open_env, play_groups

HELD_OUT = 2_000_000_000  # seeds from here on are for evaluation only
LOST = ("loss", "forfeit")


def evaluate(plan: TrainPlan, learners: Sequence[Agent]) -> list[dict[str, Any]]:
    """Play the learners of all seats, each from its seat in turn, against each opponent.

    Gives the fields of `trainer.Round` that an evaluation fills, for each opponent.
    """
    settings = plan.evaluation
    spec, game = open_env(plan, settings.split, **settings.options)
    seats = range(game.num_players)
    found = []
    for name in settings.opponents:
        rival = make_agent(name)
        rival.reseed(HELD_OUT)
        line_ups, seeds = [], []
        for number in range(settings.episodes):
            own = number % len(seats)
            line_ups.append([learners[seat] if seat == own else rival for seat in seats])
            seeds.append(HELD_OUT + number // len(seats))
        records = play_groups(game, spec, plan, line_ups, seeds, 1)
        found.append({"opponent": name, **scores(records, len(seats))})
    return found


def scores(records: Sequence[EpisodeRecord], seats: int) -> dict[str, float]:
    """Shares unlost and won and the mean return, where record i is judged by seat i % seats."""
    own = [number % seats for number in range(len(records))]
    results = [
        record.outcome.results[seat] if record.outcome else "truncated"
        for record, seat in zip(records, own, strict=True)
    ]
    unlost = [result not in LOST for result in results]
    by_seat = [unlost[seat::seats] for seat in range(seats)]
    share = wilson(sum(unlost), len(unlost))
    returns = Sample()
    for record, seat in zip(records, own, strict=True):
        returns.add(record.returns[seat])
    mean = returns.interval()
    return {
        "unlost": share.value,
        "low": share.low,
        "high": share.high,
        "worst": min(sum(seat) / len(seat) for seat in by_seat if seat),
        "won": sum(result == "win" for result in results) / len(results),
        "mean": mean.value,
        "mean_low": mean.low,
        "mean_high": mean.high,
    }
