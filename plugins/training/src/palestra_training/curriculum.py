"""What a learner plays when: a horizon that grows, and starts that are worth playing.

The horizon is AgentGym-RL's (Xi et al. 2025, "ScalingInter-RL"): short episodes first, longer ones
later. The starts are chosen by the filter of Open Ended Learning Team et al. (2021), as in
`palestra train --filter`; see `palestra.task_filter`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec.structs import asdict
from palestra import EpisodeRecord
from palestra.task_filter import TaskFilter

from palestra_training.plan import TaskChoice, TrainPlan

Play = Callable[[Sequence[Sequence[Any]], Sequence[int], int], Sequence[EpisodeRecord]]


def horizon_at(plan: TrainPlan, round: int) -> int | None:
    """The most steps of an episode in a round, counted from 0; None for no limit."""
    begun = [steps for first, steps in plan.horizon if first <= round]
    limits = [*begun[-1:], *filter(None, [plan.max_episode_steps])]
    return min(limits, default=None)


def chosen_starts(
    tasks: TaskChoice,
    seeds: Sequence[int],
    learners: Sequence[Any],
    control: Sequence[Any],
    play: Play,
) -> list[int]:
    """The seeds of which a seat is worth learning: neither too easy, too hard nor free.

    learners, control: an agent for each seat, or its name; the control plays each seat in turn,
    among learners. play: gives the records of line-ups and seeds, so many of each. If no seed
    passes, all stay.
    """
    free = math.inf if tasks.free is None else tasks.free
    chosen = TaskFilter(**{**asdict(tasks), "free": free, "candidates": len(seeds)})
    seats = range(len(learners))

    def returns(line_up: Sequence[Any]) -> np.ndarray:
        records = play([line_up] * len(seeds), seeds, tasks.episodes)
        paid = np.array([record.returns for record in records], float)
        return paid.reshape(len(seeds), tasks.episodes, len(seats))

    own = returns(learners)
    base = np.empty_like(own)
    for seat in seats:
        line_up = [control[s] if s == seat else learners[s] for s in seats]
        base[:, :, seat] = returns(line_up)[:, :, seat]
    kept = np.flatnonzero(np.any(chosen.accept(own, base), axis=1))
    return [seeds[place] for place in kept.tolist()] or list(seeds)
