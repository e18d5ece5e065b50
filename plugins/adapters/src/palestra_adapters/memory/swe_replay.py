"""SWE-Replay: a new trial starts afresh, or from a step of an earlier trial that promises most.

"SWE-Replay: Efficient Test-Time Scaling for Software Engineering Agents", 2026. Steps are grouped
by the abstract state in which they were taken. Rarely visited groups are preferred, and in a group
the steps with the most reasoning; no model judges anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Annotated, Any

from palestra import Decision, Meta, Rng, Turn, agent

from palestra_adapters.thinking import Thinking
from palestra_adapters.wrapper import Wrapper

STREAM = 0x5EE9


@dataclass(frozen=True, slots=True)
class TrialStep:
    """A step of a trial: what the seat saw, the group it is in, its move, words of reasoning."""

    seen: bytes
    group: str
    move: str
    words: int


@dataclass(slots=True)
class Past:
    """A finished trial; `sound` is False if an answer of it was refused."""

    steps: list[TrialStep]
    returns: float
    sound: bool = True


@dataclass(slots=True)
class Going:
    """A trial that is played now; `ahead` are steps to be replayed."""

    task: str
    ahead: list[TrialStep]
    steps: list[TrialStep] = field(default_factory=list)
    visited: set[str] = field(default_factory=set)
    sound: bool = True
    turn: Turn | None = None


@agent(
    "swe-replay",
    kind="llm",
    summary="Starts a trial afresh or from a promising step of an earlier trial of the same start.",
    paper="SWE-Replay: Efficient Test-Time Scaling for Software Engineering Agents (2026)",
)
class SweReplay(Wrapper):
    """Archives trials of one start, and replays a prefix of one with probability `replay`.

    The step to continue after is drawn with probability proportional to 1 / how often its group was
    visited; in the group the one with the most words of reasoning is taken. A group is the set of
    positions that the seat had seen until then. Trials with a refused answer are not replayed.
    After `trials` trials, the best of them is replayed whole. A replayed step costs nothing and has
    the fact `replayed`. Play trials of a start one after the other: `palestra.rollouts(…, live=1)`.
    """

    def __init__(
        self,
        *,
        replay: Annotated[float, Meta(ge=0, le=1, description="share of replayed trials")] = 0.5,
        trials: Annotated[int, Meta(ge=1, description="trials before the best is played")] = 8,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._replay, self._trials = replay, trials
        self.archive: dict[str, list[Past]] = {}
        self._going = self.by_seat(Going)

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        key = turn.episode_key, turn.seat
        if key not in self._going:
            task = f"{turn.env}#{turn.start_key} {turn.seat}"
            past = self.archive.setdefault(task, [])
            ahead = self._start(past, turn.rng(self._seed, STREAM))
            self._going[key] = Going(task, ahead)
        going = self._going[key]
        going.turn = turn
        if turn.error:
            going.sound, going.ahead = False, []
            going.steps = going.steps[:-1]
        step = going.ahead.pop(0) if going.ahead else None
        if step is not None and step.seen == turn.state_key():
            going.steps.append(step)
            going.visited.add(_position(turn))
            return Decision(text=step.move, facts={"replayed": True})
        going.ahead.clear()
        decision = yield from self.inner.think_alone(turn, advice)
        self._note(going, turn, decision)
        return decision

    def _start(self, past: Sequence[Past], rng: Rng) -> list[TrialStep]:
        """The steps to replay: none, the best trial's, or those up to a promising step."""
        if len(past) >= self._trials:
            return list(max(past, key=lambda one: one.returns).steps)
        if not past or rng.random() >= self._replay:
            return []
        return prefix(past, rng)

    def _note(self, going: Going, turn: Turn, decision: Decision) -> None:
        going.visited.add(_position(turn))
        group = blake2b("|".join(sorted(going.visited)).encode(), digest_size=8).hexdigest()
        words = len(decision.thought.split())
        going.steps.append(TrialStep(turn.state_key(), group, decision.text or "", words))

    def forget(self, episode_key: int) -> None:
        for going in self._going.end(episode_key):
            if going.turn is not None:
                past = Past(going.steps, float(going.turn.returns), going.sound)
                self.archive[going.task].append(past)
        super().forget(episode_key)


def prefix(past: Sequence[Past], rng: Rng) -> list[TrialStep]:
    """The steps of a trial up to and with a step drawn for novelty and reasoning.

    Empty if no sound trial has two steps: the last step of a trial is never continued after.
    """
    found = [(one, i) for one in past if one.sound for i in range(len(one.steps) - 1)]
    if not found:
        return []
    counts = Counter(one.steps[i].group for one, i in found)
    groups = sorted(counts)
    group = groups[rng.weighted([1 / counts[name] for name in groups])]
    own = [(one, i) for one, i in found if one.steps[i].group == group]
    chosen, place = max(own, key=lambda pair: pair[0].steps[pair[1]].words)
    return list(chosen.steps[: place + 1])


def _position(turn: Turn) -> str:
    return blake2b(turn.position.encode(), digest_size=8).hexdigest()
