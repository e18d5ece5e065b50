"""Seeds that an agent was trained on. A tournament that contains one reports it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from palestra import InvalidOption
from palestra.kernel.specs import names_environment


class TrainedOn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An agent was trained on seeds `first` to `last` of an environment.

    `environment` is an id, a namespace (`"games/*"`) or `"*"`. An agent's class or object may say
    so itself: `trained_on = (("games/Wordle-v0", 0, 999),)`; settings say it for those that do not.
    """

    agent: str
    environment: str
    first: int
    last: int

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last:
            raise InvalidOption(f"{self.agent} was trained on seeds {self.first} to {self.last}?")

    def covers(self, environment: str, seed: int) -> bool:
        return self.first <= seed <= self.last and names_environment(
            (self.environment,), environment
        )

    def __str__(self) -> str:
        return (
            f"{self.agent} was trained on seeds {self.first} to {self.last} of {self.environment}"
        )


def seeds_trained_on(name: str, agent: Any) -> list[TrainedOn]:
    """The seeds that an agent declares it was trained on."""
    return [TrainedOn(name, *entry) for entry in getattr(agent, "trained_on", ())]


def seen_before(
    trained: Iterable[TrainedOn], environment: str, agents: Sequence[str], seed: int
) -> TrainedOn | None:
    """The first reason not to score these agents on a seed."""
    for entry in trained:
        if entry.agent in agents and entry.covers(environment, seed):
            return entry
    return None
