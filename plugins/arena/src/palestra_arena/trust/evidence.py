"""Three independent records of one game: the decisions, the rewards paid, and the states.

After Claw-Eval: an agent's trace, the environment's own log and snapshots of the state are joined
only at grading, so that none is checked against itself. `Evidence` is a listener; pass it to
`palestra.play(hooks=[…])`, or set `evidence` in a tournament's settings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from palestra import Decision, Episode, EpisodeRecord, Turn, hookimpl

from palestra_arena.trust.findings import Finding

SMALL = 1e-6  # of returns; array games keep them in 32 bits


@dataclass(slots=True)
class EpisodeEvidence:
    """The three channels of an episode.

    `trace`: (turn, seat) of every decision that was asked for. `log`: pay by seat of every step,
    as the game paid it when it was played. `snapshots`: (turn, key of the whole state) whenever
    somebody is about to be asked, and after every step.
    """

    episode: Episode
    agents: tuple[str, ...]
    trace: set[tuple[int, int]] = field(default_factory=set)
    log: list[tuple[float, ...]] = field(default_factory=list)
    snapshots: list[tuple[int, bytes]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def note(self, kind: Any, agent: str, why: str) -> None:
        episode = self.episode
        env = episode.spec.id if episode.spec else type(episode.game).__name__
        self.findings.append(Finding(kind, agent, env, episode.seed, episode.steps_played, why))


class Evidence:
    """Collects the channels of episodes in progress, and compares them at the end.

    `findings` are of all episodes so far; each record's `tags["findings"]` holds its own.
    """

    def __init__(self) -> None:
        self._cases: dict[int, EpisodeEvidence] = {}
        self.findings: list[Finding] = []

    @hookimpl
    def palestra_episode_started(self, episode: Episode, agents: tuple[str, ...]) -> None:
        case = self._cases[id(episode)] = EpisodeEvidence(episode, agents)
        case.snapshots.append((episode.steps_played, episode.state_key()))

    @hookimpl
    def palestra_turn_ready(self, turn: Turn) -> None:
        case = self._cases[turn.episode_id]
        self._compare(case, "before anybody was asked")

    @hookimpl
    def palestra_action_chosen(self, turn: Turn, decision: Decision) -> None:
        case = self._cases[turn.episode_id]
        case.trace.add((case.snapshots[-1][0], turn.seat))
        self._compare(case, f"while {case.agents[turn.seat]} was asked", case.agents[turn.seat])

    @hookimpl
    def palestra_stepped(self, episode: Episode) -> None:
        case = self._cases[id(episode)]
        case.log.append(tuple(map(float, episode.rewards)))
        case.snapshots.append((episode.steps_played, episode.state_key()))

    @hookimpl
    def palestra_episode_finished(self, episode: Episode, record: EpisodeRecord) -> None:
        self.close(episode, record)

    def close(self, episode: Episode, record: EpisodeRecord | None) -> list[Finding]:
        """Join the channels of an episode; an episode that was interrupted may have no record."""
        case = self._cases.pop(id(episode), None)
        if case is None:
            return []
        if record is not None:
            self._join(case, record)
            if case.findings:
                record.tags["findings"] = [list_of(finding) for finding in case.findings]
        self.findings += case.findings
        return case.findings

    def _compare(self, case: EpisodeEvidence, when: str, agent: str = "") -> None:
        """Compare the state with the last snapshot; nothing may change it between steps."""
        turn, key = case.snapshots[-1]
        now = case.episode.steps_played, case.episode.state_key()
        if now == (turn, key):
            return
        what = "moves were made" if now[0] != turn else "the state changed"
        case.note("tampering", agent, f"{what} {when}")
        case.snapshots[-1] = now

    def _join(self, case: EpisodeEvidence, record: EpisodeRecord) -> None:
        """Check that every recorded move was requested and that the log has every payment."""
        for number, step in enumerate(record.steps):
            for turn in step.turns:
                if turn.status != "forfeit" and (number, turn.seat) not in case.trace:
                    case.note("tampering", "", f"nobody was asked for move {number} of this seat")
        if record.outcome is None or "forfeit" in record.outcome.results:
            return
        for seat, agent in enumerate(case.agents):
            logged = sum(paid[seat] for paid in case.log)
            if record.returns[seat] - logged > SMALL * max(1.0, abs(logged)):
                why = f"was credited {record.returns[seat]:g}, and the world paid {logged:g}"
                case.note("reward", agent, why)


def list_of(finding: Finding) -> list[Any]:
    """A finding in the form that a record's tag has."""
    return [getattr(finding, name) for name in Finding.__struct_fields__]
