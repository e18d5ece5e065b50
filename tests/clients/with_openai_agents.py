"""OpenAI Agents SDK 0.24: its agents on seats, over HTTP and with a model of its interface."""

from __future__ import annotations

from typing import Any

import palestra
import pytest
from openai import AsyncOpenAI
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from palestra_agents.bridges import bridge
from tagged_moves import asking, check, plain, run_page, tagging, tool_call

from agents import (
    Agent,
    Model,
    ModelResponse,
    OpenAIChatCompletionsModel,
    Usage,
    function_tool,
    set_tracing_disabled,
)

COMMONS = {"num_players": 3, "rounds": 3, "talk": False}
set_tracing_disabled(True)


def served_agent(url: str) -> Agent[Any]:
    model = OpenAIChatCompletionsModel("tiny", AsyncOpenAI(base_url=url, api_key="none"))
    return Agent("winner", instructions="Play to win.", model=model)


@pytest.mark.parametrize("moves", ["text", "tools"])
def test_two_games_at_once_have_their_own_conversations(moves: str) -> None:
    form = tool_call if moves == "tools" else plain
    with tagging(form=form, refused={1, 2, 5}) as served:
        player = bridge(served_agent(served.url), moves=moves)
        records = palestra.play("games/TicTacToe-v0", agents=[player, "random"], episodes=3)
    check(served, records, [0], refused=3)
    assert records[0].agents[0] == "winner"
    turn = records[0].turns[0]
    assert turn.model == "tiny"
    assert ("calls" in turn.facts) == (moves == "tools")
    assert turn.facts["trace"][0]["role"] in ("user", "tool")  # a refusal is a call's result


@pytest.mark.parametrize("moves", ["text", "tools"])
def test_one_agent_on_three_seats_shares_nothing_between_them(moves: str) -> None:
    form = tool_call if moves == "tools" else plain
    with tagging(form=form, refused={4}) as served:
        player = bridge(served_agent(served.url), moves=moves)
        records = palestra.play("text/Commons-v0", agents=player, episodes=2, **COMMONS)
    check(served, records, [0, 1, 2], refused=1)


def hands_over(tag: str, move: str, body: dict[str, Any]) -> dict[str, Any]:
    """A reply of an agent that hands each run to another, who has no tools."""
    if not body.get("tools"):
        return plain(tag, move, body)
    name = body["tools"][0]["function"]["name"]
    function = {"name": name, "arguments": "{}"}
    calls = [{"id": f"call_{tag.strip('#')}", "type": "function", "function": function}]
    return {"content": tag, "tool_calls": calls}


def test_a_run_that_is_handed_over_is_one_answer() -> None:
    refused = {3, 5, 8, 12}
    with tagging(form=hands_over, refused=refused) as served:
        mover = served_agent(served.url).clone(name="mover")
        team = served_agent(served.url).clone(name="advisor", handoffs=[mover])
        one, other = bridge(team), bridge(team)
        records = palestra.play("games/TicTacToe-v0", agents=[one, other], episodes=3)
    check(served, records, [0, 1], refused=refused, mates=1)
    assert records[0].agents[0] == "advisor"


def test_an_agent_asks_another_as_its_tool() -> None:
    refused = {5, 8, 11, 14}
    with tagging(form=asking("input"), refused=refused) as served:
        advisor = served_agent(served.url).clone(name="advisor")
        tools = [advisor.as_tool("advise", "Knows what to play.")]
        player = bridge(served_agent(served.url).clone(tools=tools))
        records = palestra.play("games/TicTacToe-v0", agents=[player] * 2, episodes=2)
    check(served, records, [0, 1], refused=refused, mates=2)  # its call, and the advisor


class Says(Model):
    """Answers with these calls and texts in turn, of 40 and 2 tokens each."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    async def get_response(self, *given: Any, **more: Any) -> ModelResponse:
        said = self.answers.pop(0)
        output = said if isinstance(said, list) else [text(said)]
        return ModelResponse(output, Usage(1, 40, output_tokens=2), None)

    def stream_response(self, *given: Any, **more: Any) -> Any:
        raise NotImplementedError


def text(said: str) -> ResponseOutputMessage:
    part = ResponseOutputText(text=said, type="output_text", annotations=[])
    return ResponseOutputMessage(
        id="m", content=[part], role="assistant", status="completed", type="message"
    )


def call(name: str, arguments: str, number: int = 0) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        name=name, arguments=arguments, call_id=f"c{number}", type="function_call"
    )


@function_tool
def largest(moves: list[int]) -> int:
    """The largest move."""
    return max(moves)


def test_its_own_tools_run_beside_the_moves() -> None:
    asked = call("largest", '{"moves": [1, 2, 9]}')
    moves = [[call("play", f'{{"move": "{move}"}}', move)] for move in (9, 8, 7)]
    agent = Agent("a", tools=[largest], model=Says([asked], *moves))
    player = bridge(agent, moves="tools")
    (record,) = palestra.play("games/TicTacToe-v0", agents=[player, "first"], episodes=1)
    assert record.outcome.results == ("win", "loss")  # the opponent played 1 and 2
    first = record.turns[0]
    assert (first.raw, first.usage.tokens_in, first.usage.calls) == ("9", 80, 2)
    roles = [message["role"] for message in first.facts["trace"]]
    assert roles == ["user", "assistant", "tool", "assistant", "tool"]
    assert first.facts["calls"] == [{"name": "play", "arguments": '{"move": "9"}'}]
    assert agent.tools == [largest]


def test_faults_of_the_model_are_refused_answers() -> None:
    twice = [call("play", '{"move": "9"}', 1), call("play", '{"move": "8"}', 2)]
    unknown = [call("win", "{}")]
    ends = [[call("play", f'{{"move": "{move}"}}', move)] for move in (9, 8, 7)]
    player = bridge(Agent("a", model=Says(twice, unknown, *ends)), moves="tools")
    (record,) = palestra.play("games/TicTacToe-v0", agents=[player, "first"], episodes=1)
    assert not record.error
    assert record.mistakes == (2, 0)
    assert [attempt.usage.tokens_in for attempt in record.turns[0].refused] == [40, 40]


def test_a_run_that_never_ends_is_a_refused_answer() -> None:
    asked = [call("largest", '{"moves": [1]}')]
    agent = Agent("a", tools=[largest], model=Says(*[asked] * 6))
    player = bridge(agent, max_turns=2)
    (record,) = palestra.play("games/TicTacToe-v0", agents=[player, "first"], episodes=1)
    assert record.outcome.results == ("forfeit", "win")
    assert sum(usage.calls for seat, usage in record.usages if seat == 0) == 6


def test_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("OpenAI Agents SDK", monkeypatch, form=tool_call)
