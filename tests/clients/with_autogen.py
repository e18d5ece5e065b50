"""AutoGen 0.7: its agents and teams on seats, over HTTP and with its replayed model."""

from __future__ import annotations

import json
from typing import Any

import palestra
import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination, TextMessageTermination
from autogen_agentchat.teams import (
    DiGraphBuilder,
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, ModelFamily, RequestUsage
from autogen_ext.models.openai import OpenAIChatCompletionClient
from autogen_ext.models.replay import ReplayChatCompletionClient
from palestra_agents.bridges import bridge
from tagged_moves import check, plain, run_page, tagging

COMMONS = {"num_players": 3, "rounds": 3, "talk": False}
INFO: Any = {
    **dict.fromkeys(("vision", "json_output", "structured_output"), False),
    "function_calling": True,
    "family": ModelFamily.UNKNOWN,
}


def served_model(url: str) -> OpenAIChatCompletionClient:
    return OpenAIChatCompletionClient(model="tiny", base_url=url, api_key="none", model_info=INFO)


def served_agent(url: str, name: str = "winner", **options: Any) -> AssistantAgent:
    return AssistantAgent(name, served_model(url), system_message="Play to win.", **options)


def served_team(url: str, kind: str) -> Any:
    pair = [served_agent(url, name) for name in ("advisor", "mover")]
    if kind == "graph":
        graph = DiGraphBuilder().add_node(pair[0]).add_node(pair[1]).add_edge(*pair).build()
        return GraphFlow(pair, graph)
    return RoundRobinGroupChat(pair, termination_condition=MaxMessageTermination(3))


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


@pytest.mark.parametrize("kind", ["round robin", "graph"])
def test_one_team_in_two_bridges_plays_games_at_once(kind: str) -> None:
    refused = {3, 5, 8, 12}
    with tagging(refused=refused) as served:
        team = served_team(served.url, kind)
        one, other = bridge(team), bridge(team)
        records = palestra.play("games/TicTacToe-v0", agents=[one, other], episodes=2)
    check(served, records, [0, 1], refused=refused, cached=False, mates=1)


def test_the_calls_that_choose_a_speaker_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    def choose(tag: str, move: str, body: dict[str, Any]) -> dict[str, Any]:
        choosing = "role play game" in str(body["messages"])
        return {"content": "mover"} if choosing else plain(tag, move, body)

    with tagging(form=choose) as served:
        pair = [served_agent(served.url, name) for name in ("advisor", "mover")]
        stop = MaxMessageTermination(2)
        team = SelectorGroupChat(pair, served_model(served.url), termination_condition=stop)
        records = palestra.play("games/TicTacToe-v0", agents=[bridge(team), "random"], episodes=2)
    assert not caplog.records  # calls are counted by their log, which stays as quiet as it was
    spent = sum((asked.usage for asked in served.exchanges), start=palestra.Usage())
    counted = [usage for record in records for _, usage in record.usages]
    total = sum(counted, start=palestra.Usage())
    assert (total.calls, total.tokens_in) == (len(served.exchanges), spent.tokens_in)


def test_a_swarm_hands_over() -> None:
    call = FunctionCall(id="c", name="transfer_to_mover", arguments="{}")
    asked = CreateResult(
        finish_reason="function_calls", content=[call], usage=RequestUsage(50, 3), cached=False
    )
    advisor = AssistantAgent("advisor", replayed(asked), handoffs=["mover"])
    mover = AssistantAgent("mover", replayed(*"987"))
    team = Swarm([advisor, mover], termination_condition=TextMessageTermination("mover"))
    (record,) = palestra.play("games/TicTacToe-v0", agents=[bridge(team), "first"], episodes=1)
    assert not record.error
    assert record.outcome.results == ("win", "loss")
    assert [turn.usage.calls for turn in record.turns if turn.seat == 0] == [2, 1, 1]


def ledger(done: bool) -> str:
    """What the orchestrator of Magentic-One notes of its progress."""
    facts = {
        "is_request_satisfied": done,
        "is_in_loop": False,
        "is_progress_being_made": True,
        "next_speaker": "mover",
        "instruction_or_question": "Choose.",
    }
    return json.dumps({key: {"reason": "so", "answer": value} for key, value in facts.items()})


def test_magentic_one_plays() -> None:
    said = [[f"Facts {n}", "A plan.", ledger(False), ledger(True), n] for n in "987"]
    info = {**INFO, "json_output": True, "structured_output": False}
    model = ReplayChatCompletionClient([one for turn in said for one in turn], model_info=info)
    mover = AssistantAgent("mover", replayed(*"123"))
    team = MagenticOneGroupChat([mover], model)
    (record,) = palestra.play("games/TicTacToe-v0", agents=[bridge(team), "first"], episodes=1)
    assert not record.error
    assert record.outcome.results == ("win", "loss")


def test_an_error_inside_is_named_with_the_team() -> None:
    class Fails(AssistantAgent):
        async def on_messages_stream(self, *given: Any, **more: Any) -> Any:
            raise OSError("the mover is out of memory")
            yield

    pair = [AssistantAgent("advisor", replayed("Win.")), Fails("mover", replayed("9"))]
    team = RoundRobinGroupChat(pair, termination_condition=MaxMessageTermination(3))
    with pytest.raises(Exception, match=r"mover is out of memory[\s\S]*raised inside"):
        palestra.play("games/TicTacToe-v0", agents=[bridge(team), "first"], episodes=1)


def test_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("AutoGen", monkeypatch)
