"""Leaving out of the prompt, and handing over: neither changes the environment."""

from __future__ import annotations

import msgspec
import palestra
import pytest
from adapter_worlds import Free, last, trail
from palestra import InvalidOption
from palestra.agents.models import Request
from palestra_adapters.omit import GONE, Omit
from palestra_adapters.relay import Relay
from palestra_rewards.branching import redone_turns

STEPS = {f"p{i}": {f"p{i + 1}": 1.0} for i in range(6)}


def onward(request: Request, omit: str = "") -> str:
    place = int(last(request).split("at p")[1].split(",")[0])
    return f"{omit}Action: Go(to='p{place + 1}')"


def test_what_was_left_out_is_not_shown_again_and_saves_what_it_held() -> None:
    def forgetful(request: Request) -> str:
        return onward(request, "Thought: plain.\nOmit: 1, 2\n" if "Turn 3" in last(request) else "")

    plain, thrifty = Free(onward), Free(forgetful)
    full, saving = Omit(model=plain), Omit(model=thrifty)
    records = [palestra.play(trail(STEPS, start="p0"), agents=[a])[0] for a in (full, saving)]
    assert records[0].outcome == records[1].outcome
    assert [t.text for t in records[0].turns] == [t.text for t in records[1].turns]
    assert [t.state_key for t in records[0].turns] == [t.state_key for t in records[1].turns]
    shown = "\n".join(m.content for m in thrifty.requests[3].messages)
    assert f"Turn 1. {GONE}" in shown
    assert "Turn 3.\n" in shown
    size = [
        sum(len(m.content) for r in model.requests for m in r.messages)
        for model in (plain, thrifty)
    ]
    thoughts = len("Thought: plain.\n") * 3  # the third turn's, in the three prompts after it
    assert full.saved == 0
    assert saving.saved == size[0] - size[1] + thoughts > 0


def test_a_turn_is_redone_with_everything_visible_and_played_to_its_outcome() -> None:
    """Agent-Omit's second sample: only turns 3 to 5 were asked without turns 1 and 2."""

    def counted(request: Request) -> str:
        return onward(request, "Thought: plain.\nOmit: 1, 2\n" if "Turn 3" in last(request) else "")

    model, again = Free(counted), Free(onward)
    world = trail(STEPS, start="p0")
    (record,) = palestra.play(world, agents=[Omit(model=model)])
    for turn in record.turns:
        turn.usage = msgspec.structs.replace(turn.usage, tokens_in=100)
        turn.facts["full tokens"] = 130 if turn in record.turns[3:] else 100
    redone = redone_turns(record, agents=[Omit(model=again)], game=world)
    assert [one.branched_at for one in redone] == [3, 4, 5]
    assert all(one.outcome == record.outcome for one in redone)
    assert not any(GONE in message.content for r in again.requests for message in r.messages)
    first = again.requests[0]
    for place in range(1, 4):  # everything that the seat saw up to there
        assert f"go to p{place}" in first.messages[-1].content
    assert redone[0].own_turns[0].facts.get("full tokens") == redone[0].own_turns[0].usage.tokens_in
    (one,) = redone_turns(record, agents=[Omit(model=again)], game=world, turns=[5], horizon=1)
    assert (one.branched_at, len(one.own_turns)) == (5, 1)
    with pytest.raises(InvalidOption, match="seat 0 has 6 turns"):
        redone_turns(record, agents=[Omit(model=again)], game=world, turns=[6])


def test_an_empty_thought_is_allowed_and_kept_out_of_the_prompt() -> None:
    model = Free(onward)
    record = palestra.play(trail(STEPS, start="p0"), agents=[Omit(model=model)])[0]
    assert not any(turn.thought for turn in record.turns)
    assert "Thought" not in model.requests[-1].messages[2].content


def test_turns_that_are_not_there_cannot_be_left_out() -> None:
    model = Free(lambda r: onward(r, "Omit: 0, 9\n"))
    record = palestra.play(trail(STEPS, start="p0"), agents=[Omit(model=model)])[0]
    assert len(record.turns) == 6
    assert GONE not in "".join(m.content for r in model.requests for m in r.messages)


def test_the_first_turns_are_the_first_agents() -> None:
    names = {"3": "llm:echo:3", "first": "first"}
    agent = Relay(agents=list(names.values()), turns=1)
    record = palestra.play("games/ConnectFour-v0", agents=[agent, "first"])[0]
    own = [turn for turn in record.turns if turn.seat == 0]
    assert [turn.model for turn in own] == ["llm:echo:3", *["first"] * (len(own) - 1)] or (
        own[0].model.startswith("echo") and all(turn.model == "first" for turn in own[1:])
    )


@pytest.mark.parametrize(("turns", "same_as"), [(0, "minimax"), (99, "first")])
def test_all_or_none_of_the_turns_is_one_agent_alone(turns: int, same_as: str) -> None:
    pair = palestra.play(
        "games/TicTacToe-v0", agents=[f"relay:first+minimax,turns={turns}", "first"], episodes=2
    )
    alone = palestra.play("games/TicTacToe-v0", agents=[same_as, "first"], episodes=2)
    assert [r.outcome for r in pair] == [r.outcome for r in alone]


def test_a_relay_of_models_is_named_in_a_string() -> None:
    agent = palestra.make_agent("relay:llm:echo:a+react:echo:b,turns=2")
    assert isinstance(agent, Relay)
    assert [member.name for member in agent.members] == ["llm:echo:a", "react:echo:b"]
    with pytest.raises(InvalidOption, match="two agents or more"):
        palestra.make_agent("relay:random")
