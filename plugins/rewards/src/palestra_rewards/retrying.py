"""R³'s replay and reflection: what to do with tasks whose rollouts have all failed.

"R³: Replay, Reflection, and Ranking Rewards for LLM Reinforcement Learning" (2026). Its third part,
the ranking of failures, is the estimator `r3`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import palestra
from palestra import EpisodeRecord, InvalidOption

from palestra_rewards.branching import close_all, open_branch, seats_of_agents
from palestra_rewards.episodes.turns import won
from palestra_rewards.people import people_of
from palestra_rewards.reading import task_name

APART = 1_000_003  # distance between the agents' seeds of an attempt and its retry


@dataclass(frozen=True, slots=True)
class RetriedTasks:
    """First attempts at every task, and the retries of the tasks in which all of them failed.

    Retries have the tag "retry" and a group of their own, because the learner has read more.
    """

    first: list[EpisodeRecord]
    retries: list[EpisodeRecord] = field(default_factory=list)


def retried_rollouts(
    env: Any,
    *,
    agents: Any,
    seeds: Sequence[int],
    n: int,
    round: int = 0,
    learners: Collection[str] | None = None,
    invalid: str = "retry:2",
    max_episode_steps: int | None = None,
    **options: Any,
) -> RetriedTasks:
    """n rollouts for every seed, and n more for each seed at which no learner succeeded.

    The agents stay open, so a learner that remembers, such as the adapter
    `retrying:llm:…`, reads its failed attempts before it tries again. `learners` are agents by
    name, by default all. Agents draw new random numbers in every `round`.
    """
    if n < 1 or not seeds or len(set(seeds)) < len(seeds):
        raise InvalidOption(f"seeds must differ and n must be 1 or more, not {seeds} and {n}")
    _, seated = open_branch(env, agents, seeds[0], options)
    learning = seats_of_agents(seated, learners)

    def played(seed: int, again: int) -> list[EpisodeRecord]:
        start, _ = open_branch(env, seated, seed, options)
        return palestra.rollouts(
            start.game,
            agents=seated,
            n=n,
            seed=((2 * round + again) * APART + seed) % 2**31,
            start=start,
            invalid=invalid,
            max_episode_steps=max_episode_steps,
        )

    try:
        found = RetriedTasks([])
        for seed in seeds:
            first = played(seed, 0)
            found.first.extend(first)
            if any(_succeeded(record, learning) for record in first):
                continue
            for record in played(seed, 1):
                record.group, record.tags = f"{record.group} retry", {**record.tags, "retry": True}
                found.retries.append(record)
        return found
    finally:
        close_all(seated)


def _succeeded(record: EpisodeRecord, seats: Collection[int]) -> bool:
    return any(won(record, person) for person in people_of(record) if person.seat in seats)


class Successes:
    """Successful records by task, to put into later batches: R³'s replay across contexts.

    `fill` puts a stored success in the place of the last failure of every task whose rollouts have
    all failed, so that the batch keeps its size and its returns differ. The records it puts in have
    the tag "replayed"; they were played by an earlier policy, whose log-probabilities they hold.
    seat: whose success counts. keep: most records of a task; the newest stay.
    """

    def __init__(self, *, seat: int = 0, keep: int = 4) -> None:
        if keep < 1:
            raise InvalidOption(f"keep must be at least 1, not {keep}")
        self.seat, self.keep = seat, keep
        self.stored: dict[str, list[EpisodeRecord]] = {}

    def note(self, records: Sequence[EpisodeRecord]) -> None:
        """Store the successes among these records."""
        for record in records:
            if _succeeded(record, (self.seat,)) and not record.tags.get("replayed"):
                kept = self.stored.setdefault(task_name(record), [])
                kept.append(record)
                del kept[: -self.keep]

    def fill(self, records: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
        """The records, with a stored success in every task that has only failures."""
        batch = list(records)
        places: dict[str, list[int]] = {}
        for place, record in enumerate(batch):
            places.setdefault(task_name(record), []).append(place)
        for task, own in places.items():
            if task in self.stored and not any(_succeeded(batch[p], (self.seat,)) for p in own):
                last = self.stored[task][-1]
                tags = {**last.tags, "replayed": True}
                batch[own[-1]] = msgspec.structs.replace(last, tags=tags)
        return batch
