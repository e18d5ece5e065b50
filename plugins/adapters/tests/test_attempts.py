"""Retry, warming and escalation: what counts as a failure, and what the next attempt is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import palestra
import pytest
from adapter_worlds import Free, last, trail
from palestra import Agent, Decision, InvalidOption, Turn
from palestra.agents.models import Request
from palestra_adapters.attempts import Escalation, Retry, Warming
from palestra_adapters.react import ReAct

WAYS = {"p0": {"p1": 1.0, "trap": 0.0}, "p1": {"p2": 1.0}, "trap": {"p1": 0.0}}


def onward(request: Request) -> str:
    at = last(request).split("You are at ")[1].split(",")[0]
    return {"p0": "Go(to='p1')", "p1": "Go(to='p2')", "trap": "Go(to='p1')"}[at]


def played(agent: Agent, **more: Any) -> palestra.EpisodeRecord:
    return palestra.play(trail(WAYS, start="p0", **more), agents=[agent], invalid="retry:4")[0]


def test_the_next_attempt_knows_nothing_of_the_refused_answer() -> None:
    said = iter(["nonsense", "Go(to='nowhere')", "Go(to='p1')", "Go(to='p2')"])
    model = Free(lambda request: f"Action: {next(said)}")
    record = played(Retry(target="react", model=model, tries=3))
    assert record.returns == (2.0,)
    assert record.mistakes == (2,)
    first, second, third, fourth = model.requests
    assert first.messages == second.messages == third.messages
    assert fourth.messages[: len(third.messages)] == third.messages  # the conversation goes on


def test_after_the_last_attempt_the_conversation_goes_on_with_the_refusal() -> None:
    said = iter(["nonsense", "rubbish", "Go(to='p1')", "Go(to='p2')"])
    model = Free(lambda request: f"Action: {next(said)}")
    assert played(Retry(target="react", model=model, tries=2)).returns == (2.0,)
    assert "That was refused" not in last(model.requests[1])
    assert "That was refused" in last(model.requests[2])


def test_a_warmer_attempt_follows_each_refusal() -> None:
    said = iter(["no", "no", "no", "Go(to='p1')", "Go(to='p2')"])
    model = Free(lambda request: f"Action: {next(said)}")
    played(Warming(target="react", model=model, tries=3, step=0.25))
    assert [r.temperature for r in model.requests] == [0.0, 0.25, 0.5, 0.5, 0.5]
    with pytest.raises(InvalidOption, match="step"):
        Warming(model=model, temperature=1.0)


def test_the_stronger_agent_plays_on_after_a_failure_that_the_seat_is_shown() -> None:
    """The trap is a legal move, whose event is the failed check."""
    weak, strong = Free("Action: Go(to='trap')"), Free(lambda r: f"Action: {onward(r)}")
    cheap, dear = ReAct(model=weak), ReAct(model=strong)
    record = played(Escalation(agents=[cheap, dear], signal="paid 0"))
    assert record.returns == (1.0,)
    assert (len(weak.requests), len(strong.requests)) == (1, 2)
    shown = "\n".join(m.content for m in strong.requests[0].messages)
    assert "You go to trap and are paid 0." in shown  # all that the seat has seen
    assert "Thought" not in last(strong.requests[0])


def test_without_a_signal_only_refusals_are_failures() -> None:
    weak = Free(lambda r: "Go(to='trap')" if "at p0" in last(r) else onward(r))
    record = played(Escalation(agents=[Retry(model=weak, tries=1), Retry(model=Free("x"))]))
    assert record.returns == (1.0,)
    assert len(weak.requests) == 3


def test_both_seats_of_one_agent_keep_their_own_attempts() -> None:
    """In self-play one seat's new attempt ends the other's conversation, which is told again."""

    class Shown(Agent):
        def __init__(self) -> None:
            self.since: list[tuple[int, int, bool]] = []

        def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
            for turn in turns:
                self.since.append((turn.seat, turn.steps_played, turn.since > 0))
            wrong = [t.seat == 0 and t.steps_played == 2 and not t.tries for t in turns]
            return [
                Decision(text="?" if w else t.legal_texts[0])
                for w, t in zip(wrong, turns, strict=True)
            ]

        def forget(self, episode_key: int) -> None:
            self.since.append((-1, -1, False))

    inner = Shown()
    agent = Escalation(agents=[inner, inner])
    palestra.play("games/LiarsDice-v0", agents=[agent, agent], invalid="retry:2")
    asked = [(seat, step, told) for seat, step, told in inner.since if seat >= 0]
    assert asked[:3] == [(0, 0, False), (1, 1, False), (0, 2, True)]
    assert asked[3:7] == [(0, 2, False), (1, 3, False), (0, 4, True), (1, 5, True)]


@pytest.mark.parametrize(
    "name", ["retry:echo:4,signal=(", "escalation:echo:4", "retry:echo:4,tries=0"]
)
def test_bad_options_are_refused(name: str) -> None:
    with pytest.raises(InvalidOption, match=r"signal|two agents|tries"):
        palestra.make_agent(name)
