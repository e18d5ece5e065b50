"""Episodes in progress, and the turns that wait in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from palestra.agents.agent import Agent, Turn
from palestra.kernel.episode import Episode
from palestra.records.record import Attempt, EpisodeRecord, TurnNote


@dataclass(slots=True)
class RunningEpisode:
    """An episode in progress.

    `since` is, by seat, how much of the transcript it had read at its last turn. `refused`,
    `actions`, `notes` and `lost` belong to the step that is being decided, by seat; `lost` says why
    a seat has no action, which ends the episode once the others have answered; it forfeits, unless
    it is among the `late` in a game that is not zero-sum. `error` is the traceback of what ended
    the episode, where something failed. `sibling` tells rollouts from one start apart. `asked` are
    the seats whose answers are under way.
    """

    number: int
    episode: Episode
    since: list[int]
    refused: dict[int, list[Attempt]] = field(default_factory=dict)
    actions: dict[int, Any] = field(default_factory=dict)
    notes: dict[int, TurnNote] = field(default_factory=dict)
    lost: dict[int, str] = field(default_factory=dict)
    late: set[int] = field(default_factory=set)
    error: str = ""
    sibling: int = 0
    asked: set[int] = field(default_factory=set)

    @property
    def ended(self) -> bool:
        """Whether the rules, the runner or an error have ended it."""
        return not self.episode.to_act or bool(self.error)

    @property
    def over(self) -> bool:
        """Whether it has ended, and no seat is being asked any more."""
        return self.ended and not self.asked

    def awaits(self, seat: int) -> bool:
        """Whether a seat is to answer, has not yet, and is not being asked."""
        episode = self.episode
        return seat in episode.to_act and not (
            seat in self.actions or seat in self.lost or seat in self.asked
        )

    @property
    def answered(self) -> bool:
        """Whether some seats have answered, and none is to answer yet."""
        given = len(self.actions) + len(self.lost)
        return given > 0 and given >= len(self.episode.to_act)

    def unplayed(self) -> dict[int, TurnNote]:
        """Notes on the answers of the step that is being decided, in case it is cut off."""
        refused = {seat: TurnNote(refused=attempts) for seat, attempts in self.refused.items()}
        return refused | self.notes

    def without_pending(self, record: EpisodeRecord) -> EpisodeRecord:
        """A partial record without the mistakes of the step that is being decided."""
        for seat, attempts in self.refused.items():
            counts = list(record.mistakes)
            counts[seat] -= len(attempts)
            record.mistakes = tuple(counts)
        return record

    def clear(self) -> None:
        """Forget the answers of a step that has been played or cut off."""
        self.actions, self.notes, self.lost, self.late = {}, {}, {}, set()
        if self.refused:
            self.refused = {}


class PendingTurn(msgspec.Struct, eq=False, gc=False):
    """One turn put to an agent."""

    running: RunningEpisode
    turn: Turn
    agent: Agent
