"""Simple baselines that try again: the same agent, a warmer one, or a stronger one.

Kapoor et al., "AI Agents That Matter" (arXiv:2407.01502), show that agents are to be compared with
these at the same cost. An attempt fails where an answer is refused, or where the seat is shown an
event that `signal` matches; the next one starts afresh and knows nothing of the failed answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from palestra import Agent, Decision, InvalidOption, Meta, Turn, agent, make_agent
from palestra.agents.agent import PartialDecisions
from palestra.kernel.registry import registry
from palestra.runner.runner import answers_of

from palestra_adapters.adapter import Plain
from palestra_adapters.members import Composed, in_sequence

Moment = tuple[int, int]  # steps played, answers refused at this turn


@dataclass(slots=True)
class Attempt:
    """Where a seat stands: the number of its attempt, when it began, and what was seen last."""

    number: int = 0
    began: Moment | None = None  # None: at the seat's next turn
    last: Moment | None = None
    seen: int = 0  # events


class TryingAgain(Composed):
    """Plays attempt k of a seat with `members[k]`, and everything after the last one with that."""

    def __init__(self, members: Sequence[Agent], signal: str) -> None:
        self.members = list(members)
        try:
            self._signal = re.compile(signal) if signal else None
        except re.error as error:
            raise InvalidOption(
                f"signal is a regular expression, as in 'error|failed', not {signal!r}: {error}"
            ) from None
        self._attempts: dict[int, dict[int, Attempt]] = {}  # by episode, then by seat

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        put = [self._put(turn) for turn in turns]
        answers: dict[int, Decision | Exception] = {}
        for member in dict.fromkeys(self.members):
            own = [i for i, (whose, _) in enumerate(put) if whose is member]
            if own:
                answers.update(zip(own, answers_of(member, [put[i][1] for i in own]), strict=True))
        listed = [answers[i] for i in range(len(turns))]
        decisions = [answer for answer in listed if isinstance(answer, Decision)]
        if len(decisions) < len(turns):
            raise PartialDecisions(turns, listed)
        for (member, _), decision in zip(put, decisions, strict=True):
            decision.model = decision.model or member.name
        return decisions

    def _put(self, turn: Turn) -> tuple[Agent, Turn]:
        """The member that plays a turn, and the turn as it is put to it."""
        seats = self._attempts.setdefault(turn.episode_key, {})
        attempt = seats.setdefault(turn.seat, Attempt())
        now = turn.steps_played, turn.tries
        if attempt.last not in (None, now) and self._failed(turn, attempt.seen):
            self._start_next(turn.episode_key, attempt)
        if attempt.last != now:
            attempt.last, attempt.seen = now, len(turn.transcript)
        attempt.began = attempt.began or now
        member = self.members[attempt.number]
        if attempt.began == now:  # it has been shown nothing, or is asked this again
            return member, msgspec.structs.replace(turn, since=0, error="")
        return member, turn

    def _failed(self, turn: Turn, seen: int) -> bool:
        if turn.error or self._signal is None:
            return bool(turn.error)
        return any(self._signal.search(event.text) for event in turn.transcript[seen:])

    def _start_next(self, episode: int, attempt: Attempt) -> None:
        if attempt.number + 1 == len(self.members):
            return
        attempt.number += 1
        attempt.began = None
        member = self.members[attempt.number]
        member.forget(episode)
        for other in self._attempts[episode].values():
            if self.members[other.number] is member:  # its conversation is forgotten too
                other.began = None

    def parts(self) -> Sequence[Agent]:
        return self.members

    def forget(self, episode_key: int) -> None:
        self._attempts.pop(episode_key, None)
        super().forget(episode_key)


def _open(target: str, settings: dict[str, Any]) -> Agent:
    """The agent that `target` names, or a model that is asked only for its move."""
    if target.partition(":")[0] in registry().agents:
        return make_agent(target, **settings)
    return Plain(target=target, **settings)


@agent(
    "retry",
    kind="llm",
    summary="Baseline: tries again afresh where an answer fails.",
    paper="Kapoor et al. (2024), AI Agents That Matter",
)
class Retry(TryingAgain):
    """The agent or model `target`, `tries` times: `retry:llm:local:,tries=3`.

    It draws other random numbers in each attempt; without any, it repeats its answer. Other options
    go to the agent.
    """

    def __init__(
        self,
        *,
        target: Annotated[str, Meta(description="an agent of a model, or a model's URI")] = "",
        tries: Annotated[int, Meta(ge=1, le=100, description="attempts at most")] = 5,
        signal: Annotated[
            str, Meta(description="pattern of events that show a failure, as 'error|failed'")
        ] = "",
        **settings: Any,
    ) -> None:
        super().__init__([_open(target, settings)] * tries, signal)


@agent(
    "warming",
    kind="llm",
    summary="Baseline: tries again at a higher temperature.",
    paper="Kapoor et al. (2024), AI Agents That Matter",
)
class Warming(TryingAgain):
    """As `retry`, with a temperature of 0 that rises by `step` with each attempt."""

    def __init__(
        self,
        *,
        target: Annotated[str, Meta(description="an agent of a model, or a model's URI")] = "",
        tries: Annotated[int, Meta(ge=1, le=100, description="attempts at most")] = 5,
        step: Annotated[float, Meta(ge=0, description="rise of the temperature")] = 0.1,
        signal: Annotated[
            str, Meta(description="pattern of events that show a failure, as 'error|failed'")
        ] = "",
        **settings: Any,
    ) -> None:
        if "temperature" in settings:
            raise InvalidOption("warming sets the temperature itself; choose how it rises by step")
        heats = [round(number * step, 6) for number in range(tries)]
        super().__init__([_open(target, settings | {"temperature": h}) for h in heats], signal)


@agent(
    "escalation",
    kind="llm",
    summary="Baseline: a cheap agent, and a stronger one after it fails.",
    paper="Kapoor et al. (2024), AI Agents That Matter",
)
class Escalation(TryingAgain):
    """Agents from the cheapest on, joined by `+`: `escalation:llm:local:+llm:openai:big@…`.

    Each plays until it fails; the last one plays all the rest. Other options go to all of them.
    """

    def __init__(
        self,
        *,
        target: Annotated[str, Meta(description="agents joined by +, the cheapest first")] = "",
        signal: Annotated[
            str, Meta(description="pattern of events that show a failure, as 'error|failed'")
        ] = "",
        agents: Annotated[
            Sequence[Agent | str], Meta(description="from Python: the agents, instead of target")
        ] = (),
        **settings: Any,
    ) -> None:
        members = in_sequence(agents, target, "escalation:llm:local:+llm:openai:big@…")
        opened = [_open(m, settings) if isinstance(m, str) else m for m in members]
        super().__init__(opened, signal)
