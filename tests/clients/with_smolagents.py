"""smolagents 1.26: its agents on seats, over HTTP and with a model of its interface."""

from __future__ import annotations

import json
from typing import Any

import palestra
import pytest
from palestra_agents.bridges import bridge
from smolagents import (
    ChatMessage,
    CodeAgent,
    LogLevel,
    Model,
    OpenAIServerModel,
    TokenUsage,
    ToolCallingAgent,
)
from tagged_moves import check, run_page, tagging

COMMONS = {"num_players": 3, "rounds": 3, "talk": False}


def code(tag: str, move: str, body: dict[str, Any]) -> dict[str, Any]:
    """A reply of a `CodeAgent`."""
    answer = f"{tag}\n{move}"
    program = f"final_answer({answer!r})"
    return {"content": f"Thought: a move.\n<code>\n{program}\n</code>"}


def call(tag: str, move: str, body: dict[str, Any]) -> dict[str, Any]:
    """A reply of a `ToolCallingAgent`."""
    arguments = json.dumps({"answer": f"{tag}\n{move}"})
    function = {"name": "final_answer", "arguments": arguments}
    return {"content": None, "tool_calls": [{"id": tag, "type": "function", "function": function}]}


AGENTS = [(CodeAgent, code), (ToolCallingAgent, call)]


def served_agent(kind: Any, url: str) -> Any:
    model = OpenAIServerModel("tiny", api_base=url, api_key="none")
    return kind(tools=[], model=model, verbosity_level=LogLevel.OFF)


@pytest.mark.parametrize(("kind", "form"), AGENTS)
def test_two_games_at_once_have_their_own_conversations(kind: Any, form: Any) -> None:
    with tagging(form=form, refused={1, 2, 5}) as served:
        player = bridge(served_agent(kind, served.url))
        records = palestra.play("games/TicTacToe-v0", agents=[player, "random"], episodes=3)
    check(served, records, [0], refused=3, cached=False)
    turn = records[0].turns[0]
    assert turn.model == "tiny"
    assert turn.facts["trace"][0]["role"] == "user"
    assert turn.facts["trace"][1]["calls"]


@pytest.mark.parametrize(("kind", "form"), AGENTS)
def test_one_agent_on_three_seats_shares_nothing_between_them(kind: Any, form: Any) -> None:
    with tagging(form=form, refused={4}) as served:
        agent = served_agent(kind, served.url)
        records = palestra.play("text/Commons-v0", agents=bridge(agent), episodes=2, **COMMONS)
    check(served, records, [0, 1, 2], refused=1, cached=False)
    assert agent.memory.steps == []


class Says(Model):
    """Writes these programs in turn, of 30 and 4 tokens each."""

    def __init__(self, *programs: str) -> None:
        super().__init__(model_id="says")
        self.programs = list(programs)

    def generate(self, messages: Any, **options: Any) -> ChatMessage:
        text = f"<code>\n{self.programs.pop(0)}\n</code>"
        return ChatMessage(role="assistant", content=text, token_usage=TokenUsage(30, 4))


def test_a_program_of_two_steps_is_one_answer() -> None:
    programs = ["most = max([1, 2, 9])\nprint(most)", "final_answer(most)"]
    model = Says(*programs, "final_answer(8)", "final_answer('7')")
    agent = CodeAgent(tools=[], model=model, verbosity_level=LogLevel.OFF)
    (record,) = palestra.play("games/TicTacToe-v0", agents=[bridge(agent), "first"], episodes=1)
    assert record.outcome.results == ("win", "loss")  # the opponent played 1 and 2
    first = record.turns[0]
    assert (first.raw, first.usage.tokens_in, first.usage.calls) == ("9", 60, 2)
    assert "9" in first.facts["trace"][2]["content"]


def test_a_run_without_a_final_answer_is_a_refused_answer() -> None:
    model = Says(*["print(1)"] * 9)
    agent = CodeAgent(tools=[], model=model, max_steps=2, verbosity_level=LogLevel.OFF)
    (record,) = palestra.play("games/TicTacToe-v0", agents=[bridge(agent), "first"], episodes=1)
    assert record.outcome.results == ("forfeit", "win")
    assert sum(usage.calls for seat, usage in record.usages if seat == 0) >= 6


def test_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("smolagents", monkeypatch, form=code)
