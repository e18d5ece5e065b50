"""AG2 1.2: its agents, and agents that ask others, on seats: over HTTP and with its own model."""

from __future__ import annotations

from typing import Any

import palestra
import pytest
from ag2 import Agent, tool
from ag2.config import OpenAIConfig
from ag2.events import ModelMessage, ModelResponse, ToolCallEvent, Usage
from ag2.testing import TestConfig
from palestra_agents.bridges import bridge
from tagged_moves import asking, check, run_page, tagging

COMMONS = {"num_players": 3, "rounds": 3, "talk": False}


def served_agent(url: str, name: str = "winner", **options: Any) -> Agent[Any]:
    config = OpenAIConfig(model="tiny", base_url=url, api_key="none")
    return Agent(name, prompt="Play to win.", config=config, **options)


def advised_agent(url: str) -> Agent[Any]:
    advisor = served_agent(url, "advisor")
    return served_agent(url, "mover", tools=[advisor.as_tool(description="Knows what to play.")])


def test_two_games_at_once_have_their_own_conversations() -> None:
    with tagging(refused={1, 2, 5}) as served:
        player = bridge(served_agent(served.url))
        records = palestra.play("games/TicTacToe-v0", agents=[player, "random"], episodes=3)
    check(served, records, [0], refused=3)
    assert records[0].agents[0] == "winner"
    turn = records[0].turns[0]
    assert turn.model == "tiny"
    assert [message["role"] for message in turn.facts["trace"]] == ["user", "assistant"]


def test_one_agent_in_two_bridges_shares_nothing_between_three_seats() -> None:
    with tagging(refused={4}) as served:
        agent = served_agent(served.url)
        one, other = bridge(agent), bridge(agent)
        records = palestra.play("text/Commons-v0", agents=[one, other, one], episodes=2, **COMMONS)
    check(served, records, [0, 1, 2], refused=1)


@pytest.mark.parametrize("seed", range(3))
def test_an_agent_asks_another_as_its_tool(seed: int) -> None:
    refused = {5, 8, 11, 14, 17}
    with tagging(form=asking("objective"), refused=refused, seed=seed) as served:
        agent = advised_agent(served.url)
        records = palestra.play("games/TicTacToe-v0", agents=[bridge(agent)] * 2, episodes=3)
    check(served, records, [0, 1], refused=refused, mates=2)  # its call, and the advisor
    trace = records[0].turns[0].facts["trace"]
    assert [one["role"] for one in trace] == ["user", "assistant", "tool", "assistant"]


@tool
def largest(moves: list[int]) -> int:
    """The largest move."""
    return max(moves)


def test_its_own_tools_run_and_are_in_the_trace() -> None:
    call = ToolCallEvent("largest", arguments='{"moves": [1, 2, 9]}')
    last = ModelResponse(ModelMessage("8"), usage=Usage(50, 3))
    agent = Agent("a", config=TestConfig(call, "9", last, "7"), tools=[largest])
    player = bridge(agent)
    (record,) = palestra.play("games/TicTacToe-v0", agents=[player, "first"], episodes=1)
    assert not record.error
    assert record.turns[0].facts["trace"][2] == {"role": "tool", "content": "9"}


def test_an_error_inside_is_named_with_the_agent() -> None:
    agent = Agent("a", config=TestConfig("9", OSError("the model is out of memory")))
    with pytest.raises(OSError, match=r"out of memory\nraised inside a, a Agent"):
        palestra.play("games/TicTacToe-v0", agents=[bridge(agent), "first"], episodes=1)


def test_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("AG2", monkeypatch)
