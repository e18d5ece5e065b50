"""The plan of rounds that all schedules share, and the points of a pairing."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple

from palestra import InvalidOption

from palestra_arena.match import Meeting
from palestra_arena.result import GameResult
from palestra_arena.settings import Environment, Settings

Plan = Generator[list[Meeting], Sequence[GameResult], None]


class ScheduledEnvironment(NamedTuple):
    """An environment of the tournament, its number of seats, and the agents left out of it."""

    environment: Environment
    seats: int
    unfit: frozenset[str] = frozenset()

    def fitting(self, agents: Sequence[str]) -> list[str]:
        """The agents that are not left out."""
        return [agent for agent in agents if agent not in self.unfit]


def pairs_only(kind: str, settings: Settings, entries: Sequence[ScheduledEnvironment]) -> None:
    """Refuse what a schedule of pairings cannot arrange."""
    for entry in entries:
        if entry.seats != 2:
            raise InvalidOption(
                f"a {kind} pairs two agents, and {entry.environment.label} seats {entry.seats}; "
                "choose the schedule round-robin, cross-play or population for it"
            )
    if len(settings.agents) < 2:
        raise InvalidOption(f"a {kind} needs at least two agents")


def match_points(results: Sequence[GameResult], agents: tuple[str, str]) -> float:
    """The first agent's points in a pairing of a round: 1, 1/2 or 0; 1/2 if no game counts.

    It is 1 for more than half of the points.
    """
    share = total = 0.0
    for result in results:
        if result.counts and set(result.match.agents) == set(agents):
            share += result.points[result.match.agents.index(agents[0])]
            total += 1
    return 0.5 + 0.5 * ((2 * share > total) - (2 * share < total))
