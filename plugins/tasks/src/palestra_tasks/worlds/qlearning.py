"""A student who learns worlds by Q-learning, from tables of what it sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from palestra import Rng

GREED = 80  # percent of greedy moves
Q = dict[tuple[int, ...], list[float]]


class Practice(Protocol):
    """An episode in a world: what the student sees and does, and what it has achieved."""

    @property
    def actions(self) -> int:
        """How many actions there are."""

    @property
    def steps(self) -> int:
        """How many steps an episode has."""

    @property
    def rate(self) -> float:
        """The learning rate."""

    @property
    def discount(self) -> float:
        """What a reward one step later is worth."""

    @property
    def over(self) -> bool:
        """Whether the episode is over before its steps are used."""

    done: set[str]

    def seen(self) -> tuple[int, ...]:
        """What the student sees."""

    def act(self, action: int) -> float:
        """Carry out an action; what it is paid."""


class PracticeWorld(Protocol):
    """A configuration of a world."""

    def __hash__(self) -> int:
        """Equal configurations have one hash."""

    def problem(self) -> str:
        """Why it is no world; empty if it is."""

    def open(self, rng: Rng) -> Practice:
        """An episode in such a world."""


def _best(values: list[float]) -> int:
    return max(range(len(values)), key=values.__getitem__)


def train(q: Q, config: PracticeWorld, episodes: int, rng: Rng) -> None:
    """Q-learning with some random moves, changing the table in place."""
    for _ in range(episodes):
        world = config.open(rng)
        seen = world.seen()
        for _ in range(world.steps):
            values = q.setdefault(seen, [0.0] * world.actions)
            greedy = rng.below(100) < GREED and any(values)
            action = _best(values) if greedy else rng.below(world.actions)
            paid = world.act(action)
            after = world.seen()
            ahead = 0.0 if world.over else max(q.get(after, (0.0,)))
            values[action] += world.rate * (paid + world.discount * ahead - values[action])
            seen = after
            if world.over:
                break


def success(
    q: Q, original: PracticeWorld, skills: Sequence[str], episodes: int, seed: int
) -> tuple[float, ...]:
    """The share of episodes of a world in which the greedy student has each skill."""
    counts, rng = dict.fromkeys(skills, 0), Rng.seeded(seed, 81)
    for _ in range(episodes):
        world = original.open(rng)
        for _ in range(world.steps):
            values = q.get(world.seen())
            # a twentieth of random moves frees a student who runs against a wall
            moves = values is not None and any(values) and rng.below(20)
            world.act(_best(values) if moves and values else rng.below(world.actions))
            if world.over:
                break
        for skill in world.done:
            counts[skill] += 1
    return tuple(counts[skill] / episodes for skill in skills)
