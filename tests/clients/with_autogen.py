"""AutoGen 0.7: its agents and teams on seats, over HTTP and with its replayed model."""

from __future__ import annotations

from typing import Any

import palestra
import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, ModelFamily, RequestUsage
from autogen_ext.models.openai import OpenAIChatCompletionClient
from autogen_ext.models.replay import ReplayChatCompletionClient
from palestra_agents.bridges import bridge
from tagged_moves import check, run_page, tagging

COMMONS = {"num_players": 3, "rounds": 3, "talk": False}
INFO: Any = {
    **dict.fromkeys(("vision", "json_output", "structured_output"), False),
    "function_calling": True,
    "family": ModelFamily.UNKNOWN,
}


def served_agent(url: str) -> AssistantAgent:
    model = OpenAIChatCompletionClient(model="tiny", base_url=url, api_key="none", model_info=INFO)
    return AssistantAgent("winner", model, system_message="Play to win.")


def test_two_games_at_once_have_their_own_conversations() -> None:
    with tagging(refused={1, 2, 5}) as served:
        player = bridge(served_agent(served.url))
        records = palestra.play("games/TicTacToe-v0", agents=[player, "random"], episodes=3)
    check(served, records, [0], refused=3, cached=False)
    assert records[0].agents[0] == "winner"
    roles = [message["role"] for message in records[0].turns[0].facts["trace"]]
    assert roles == ["user", "assistant"]


def test_one_agent_in_two_bridges_shares_nothing_between_three_seats() -> None:
    with tagging(refused={4}) as served:
        agent = served_agent(served.url)
        one, other = bridge(agent), bridge(agent)
        records = palestra.play("text/Commons-v0", agents=[one, other, one], episodes=2, **COMMONS)
    check(served, records, [0, 1, 2], refused=1, cached=False)


def replayed(*said: Any) -> ReplayChatCompletionClient:
    return ReplayChatCompletionClient(list(said), model_info=INFO)


def largest(moves: list[int]) -> int:
    """The largest move."""
    return max(moves)


def test_its_own_tools_run_and_are_in_the_trace() -> None:
    call = FunctionCall(id="c", name="largest", arguments='{"moves": [1, 2, 9]}')
    asked = CreateResult(
        finish_reason="function_calls", content=[call], usage=RequestUsage(50, 3), cached=False
    )
    agent = AssistantAgent("a", replayed(asked, "8", "7"), tools=[largest])
    (record,) = palestra.play("games/TicTacToe-v0", agents=[bridge(agent), "first"], episodes=1)
    assert record.outcome.results == ("win", "loss")  # the opponent played 1 and 2
    first = record.turns[0]
    assert (first.raw, first.usage.tokens_in, first.usage.calls) == ("9", 50, 1)
    assert first.facts["trace"][1]["calls"][0]["name"] == "largest"


def test_a_team_takes_a_seat() -> None:
    said = ["Take a corner.", "9", "Now the next.", "8", "And win.", "7"]
    advisor = AssistantAgent("advisor", replayed(*said[::2]))
    mover = AssistantAgent("mover", replayed(*said[1::2]))
    team = RoundRobinGroupChat([advisor, mover], termination_condition=MaxMessageTermination(3))
    (record,) = palestra.play("games/TicTacToe-v0", agents=[bridge(team), "first"], episodes=1)
    assert not record.error
    assert record.outcome.results == ("win", "loss")
    contents = [message["content"] for message in record.turns[0].facts["trace"]]
    assert contents[1:] == ["Take a corner.", "9"]


def test_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("AutoGen", monkeypatch)
