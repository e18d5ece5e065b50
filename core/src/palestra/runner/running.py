"""Episodes in progress, and the turns that wait in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from palestra.agents.agent import Agent, Turn
from palestra.agents.budget import Account
from palestra.kernel.episode import Episode
from palestra.records.record import Attempt, TurnNote


@dataclass(slots=True)
class RunningEpisode:
    """An episode in progress.

    `since` is, by seat, how much of the transcript it had read at its last turn. `refused`,
    `actions` and `notes` belong to the step that is being decided, by seat. `error` is the
    traceback of what ended the episode, where something failed. `sibling` tells rollouts from one
    start apart.
    """

    number: int
    episode: Episode
    since: list[int]
    refused: dict[int, list[Attempt]] = field(default_factory=dict)
    actions: dict[int, Any] = field(default_factory=dict)
    notes: dict[int, TurnNote] = field(default_factory=dict)
    error: str = ""
    sibling: int = 0

    @property
    def over(self) -> bool:
        """Whether the rules, the runner or an error have ended it."""
        return not self.episode.to_act or bool(self.error)


class PendingTurn(msgspec.Struct, eq=False, gc=False):
    """One turn put to an agent."""

    running: RunningEpisode
    turn: Turn
    agent: Agent
    account: Account
