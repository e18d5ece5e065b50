"""Meetings of line-ups, and matches: the single games of a meeting."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from palestra_arena.settings import Environment, Settings


class Meeting(NamedTuple):
    """Agents that are to play each other in one environment, in one round of the schedule."""

    environment: Environment
    agents: tuple[str, ...]
    round: int = 0


class Match(msgspec.Struct, frozen=True):
    """One game: who sits where, from which seed. Equal matches play the same game."""

    environment: Environment
    agents: tuple[str, ...]
    seed: int
    round: int = 0

    @property
    def key(self) -> bytes:
        """16 bytes that identify the match in a store: a hash of all its fields."""
        return blake2b(msgspec.json.encode(self, order="deterministic"), digest_size=16).digest()


def seatings(agents: tuple[str, ...], how: str) -> list[tuple[str, ...]]:
    """The orders in which agents are seated, without duplicates."""
    if how == "fixed":
        orders = [agents]
    elif how == "permute":
        orders = list(itertools.permutations(agents))
    else:
        orders = [agents[i:] + agents[:i] for i in range(len(agents))]
    return list(dict.fromkeys(orders))


def matches_of(meeting: Meeting, settings: Settings) -> Iterator[Match]:
    """The games of a meeting: the seeds of its round, and every seed in every seating.

    All meetings of a round share their seeds, and no two rounds do, so that a second meeting of the
    same agents gives new information.
    """
    orders = seatings(meeting.agents, settings.seating)
    seeds = -(-settings.games // len(orders))
    first = settings.seed + meeting.round * seeds
    for seed in range(first, first + seeds):
        for order in orders:
            yield Match(meeting.environment, order, seed, meeting.round)
