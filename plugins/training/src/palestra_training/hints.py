"""Rollouts that begin where an expert has led: the harder a start, the longer its hint.

After "ADHint: Adaptive Hints with Difficulty Priors for Reinforcement Learning": some rollouts of a
start begin from a part of an expert's episode, whose length grows with how rarely the learner
succeeds without, and they are compared with one another only. Success is a win between two seats of
a zero-sum game, and elsewhere a return that is not below the expert's. The length here is linear in
that rate; the paper's weighting of gradients within hints is left out, since nothing here is
learned from the moves of a hint.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from msgspec.structs import replace
from palestra import EpisodeRecord, Game
from palestra.agents.agent import Agent
from palestra.runner.listeners import Listeners

from palestra_training.plan import TrainPlan
from palestra_training.play import Start, play_groups, play_starts
from palestra_training.pool import POINTS, is_duel

HINTED = 1 << 20  # siblings from here on have a hint


def hint_steps(score: float, steps: int, most: float) -> int:
    """The length of a hint: most (1 - score) of an expert's steps, and never all of them.

    score: how often the learner succeeds without, from 0 to 1. most: a share of the steps.
    """
    return min(steps - 1, int(most * (1 - score) * steps))


def score_of(
    records: Sequence[EpisodeRecord], learners: Collection[str], guide: EpisodeRecord | None = None
) -> float:
    """How often the learners' seats succeed: the mean of 1 for a win and 0.5 for a draw.

    guide: an expert's episode from the same start; to succeed is then to be paid as much as it was.
    """
    points = [
        float(record.returns[seat] >= guide.returns[seat])
        if guide is not None
        else POINTS.get(record.outcome.results[seat], 0.0)
        if record.outcome
        else 0.0
        for record in records
        for seat, name in enumerate(record.agents)
        if name in learners
    ]
    return sum(points) / len(points)


def play_hinted(
    game: Game[Any, Any],
    spec: Any,
    plan: TrainPlan,
    line_ups: Sequence[Sequence[Agent]],
    seeds: Sequence[int],
    earlier: Sequence[int],
    expert: Agent,
    learners: Collection[str],
    listeners: Listeners | None = None,
) -> list[EpisodeRecord]:
    """The rollouts of every seed, some of them after a hint; those of one seed follow each other.

    The expert plays the seats of the learners, who are named, once from every seed.
    """
    hinted = round(plan.group_size * plan.hints.share)
    size = plan.group_size - hinted
    plain = play_groups(game, spec, plan, line_ups, seeds, size, earlier, listeners)
    led = [[expert if one.name in learners else one for one in each] for each in line_ups]
    guides = play_groups(game, spec, plan, led, seeds, 1)
    starts, before = [], earlier or [0] * len(seeds)
    for place, guide in enumerate(guides):
        own = plain[place * size : (place + 1) * size]
        score = score_of(own, learners, None if is_duel(game) else guide)
        steps = hint_steps(score, len(guide.steps), plan.hints.most)
        cut = replace(guide, steps=guide.steps[:steps], outcome=None, mistakes=())
        hint = cut if steps else None
        first = HINTED + before[place] * hinted
        starts += [Start(line_ups[place], seeds[place], first + i, hint) for i in range(hinted)]
    found = play_starts(
        game,
        spec,
        starts,
        invalid=plan.invalid,
        max_episode_steps=plan.max_episode_steps,
        listeners=listeners,
        asynchronous=plan.asynchronous,
    )
    both = zip(_parts(plain, size), _parts(found, hinted), strict=True)
    records = [record for own, after in both for record in [*own, *after]]
    for number, record in enumerate(records):
        record.number = number
    return records


def _parts(records: Sequence[EpisodeRecord], size: int) -> list[Sequence[EpisodeRecord]]:
    return [records[start : start + size] for start in range(0, len(records), size)]
