"""pydantic-ai 2.68: its agents on seats, over HTTP and with its own models for tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import palestra
import pytest
from page import block
from palestra_agents.bridges import bridge
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.openai import OpenAIProvider
from tagged_moves import FRAMEWORKS, asking, check, plain, run_page, tagging, tool_call

COMMONS = {"num_players": 3, "rounds": 3, "talk": False}


def served_agent(url: str) -> Agent[Any, Any]:
    model = OpenAIChatModel("tiny", provider=OpenAIProvider(base_url=url, api_key="none"))
    return Agent(model, instructions="Play to win.")


@pytest.mark.parametrize("moves", ["text", "tools"])
def test_two_games_at_once_have_their_own_conversations(moves: str) -> None:
    form = tool_call if moves == "tools" else plain
    with tagging(form=form, refused={1, 2, 5}) as served:
        player = bridge(served_agent(served.url), moves=moves)
        records = palestra.play("games/TicTacToe-v0", agents=[player, "random"], episodes=3)
    check(served, records, [0], refused=3)
    assert records[0].agents[0] == "Agent"
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


def test_an_agent_asks_another_as_its_tool() -> None:
    refused = {5, 8, 11, 14}
    with tagging(form=asking("question"), refused=refused) as served:
        advisor, agent = served_agent(served.url), served_agent(served.url)

        @agent.tool
        async def advise(ctx: RunContext[Any], question: str) -> str:
            """Ask the advisor."""
            return str((await advisor.run(question, usage=ctx.usage)).output)

        one, other = bridge(agent), bridge(agent)
        records = palestra.play("games/TicTacToe-v0", agents=[one, other], episodes=2)
    check(served, records, [0, 1], refused=refused, mates=2)  # its call, and the advisor


def legal_moves(messages: list[ModelMessage]) -> list[str]:
    asked = str(messages[-1].parts[-1].content)
    return re.findall(r"(?:you may play|legal): ([\d, ]+)", asked)[-1].split(", ")


def test_two_calls_are_refused_and_each_has_its_result() -> None:
    returned: list[str] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        last = messages[-1].parts
        returned.extend(str(p.content) for p in last if p.part_kind == "tool-return")
        (tool,) = info.function_tools
        move = tool.parameters_json_schema["properties"]["move"]["enum"][0]
        count = 2 if len(messages) == 1 else 1
        return ModelResponse([ToolCallPart(tool.name, {"move": move}) for _ in range(count)])

    player = bridge(Agent(FunctionModel(answer)), moves="tools")
    (record,) = palestra.play("games/TicTacToe-v0", agents=[player, "random"], episodes=1)
    assert not record.error
    assert record.mistakes == (1, 0)
    assert returned[0] == "Not played."
    assert "an answer calls one tool, not 2" in returned[1]
    assert len(record.turns[0].refused) == 1


def test_its_own_tools_run_and_are_in_the_trace() -> None:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if messages[-1].parts[-1].part_kind == "tool-return":
            return ModelResponse([TextPart(str(messages[-1].parts[-1].content))])
        return ModelResponse([ToolCallPart("largest", {"moves": legal_moves(messages)})])

    agent = Agent(FunctionModel(answer), name="largest")

    @agent.tool_plain
    def largest(moves: list[int]) -> int:
        """The largest move."""
        return max(moves)

    (record,) = palestra.play("games/TicTacToe-v0", agents=[bridge(agent), "random"], episodes=1)
    assert not record.error
    assert record.agents[0] == "largest"
    first = record.turns[0]
    assert (first.raw, first.usage.calls) == ("9", 2)
    roles = [message["role"] for message in first.facts["trace"]]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert first.facts["trace"][1]["calls"][0]["name"] == "largest"


def test_an_answer_with_fields_is_read_as_json() -> None:
    class Harvest(BaseModel):
        type: str = "Harvest"
        amount: int

    model = TestModel(custom_output_args={"amount": 3})
    player = bridge(Agent(model, output_type=Harvest))
    (record,) = palestra.play(
        "text/Commons-v0", agents=[player, "random", "random"], episodes=1, **COMMONS
    )
    assert not record.error
    assert record.mistakes == (0, 0, 0)
    assert {turn.text for turn in record.turns if turn.seat == 0} == {"Harvest(amount=3)"}


def test_a_limit_that_it_reaches_is_a_refused_answer_with_its_usage() -> None:
    agent = Agent(TestModel())  # calls the tool below with arguments that it refuses

    @agent.tool_plain(retries=1)
    def never(word: str) -> str:
        """A tool that takes no word."""
        from pydantic_ai import ModelRetry

        raise ModelRetry("another word")

    (record,) = palestra.play("games/TicTacToe-v0", agents=[bridge(agent), "first"], episodes=1)
    assert not record.error
    assert record.mistakes[0] == 3
    assert sum(usage.calls for seat, usage in record.usages if seat == 0) == 6
    assert record.outcome.results == ("forfeit", "win")


def test_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("pydantic-ai", monkeypatch, form=tool_call)


@pytest.mark.slow
def test_the_command_line_takes_an_agent_from_a_file(tmp_path: Path) -> None:
    code = block("pydantic-ai", FRAMEWORKS).partition("records =")[0]
    file = tmp_path / "my_file.py"
    file.write_text(code.replace("player = ", "agent = "))
    with tagging(form=tool_call) as served:
        command = [
            sys.executable,
            "-m",
            "palestra",
            "play",
            "games/TicTacToe-v0",
            "--episodes",
            "2",
        ]
        done = subprocess.run(
            [*command, "--agents", "my_file.py:agent,random", "--no-isolate", "--out", "run"],
            cwd=tmp_path,
            env={**os.environ, "OPENAI_BASE_URL": served.url, "OPENAI_API_KEY": "none"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    records = list(palestra.read_records(tmp_path / "run" / "episode.jsonl"))
    check(served, records, [0])
    assert records[0].agents == ("my_file.py:agent", "random")
