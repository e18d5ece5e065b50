"""CrewAI 1.15: its agents on seats, over HTTP and with a model of its interface."""

from __future__ import annotations

import os
from typing import Any

os.environ["CREWAI_DISABLE_TELEMETRY"] = os.environ["OTEL_SDK_DISABLED"] = "true"

import palestra
import pytest
from crewai import LLM, Agent, BaseLLM
from palestra_agents.bridges import bridge
from tagged_moves import check, run_page, tagging

COMMONS = {"num_players": 3, "rounds": 3, "talk": False}


def own_agent(llm: Any, **options: Any) -> Agent:
    return Agent(role="winner", goal="Win.", backstory="A player.", llm=llm, **options)


def served_agent(url: str) -> Agent:
    return own_agent(LLM(model="openai/tiny", base_url=url, api_key="none"))


def test_two_games_at_once_have_their_own_conversations() -> None:
    with tagging(refused={1, 2, 5}) as served:
        player = bridge(served_agent(served.url))
        records = palestra.play("games/TicTacToe-v0", agents=[player, "random"], episodes=3)
    check(served, records, [0], refused=3)
    assert records[0].agents[0] == "winner"
    assert records[0].turns[0].model == "tiny"


def test_one_agent_on_three_seats_shares_nothing_between_them() -> None:
    with tagging(refused={4}) as served:
        player = bridge(served_agent(served.url))
        records = palestra.play("text/Commons-v0", agents=player, episodes=2, **COMMONS)
    check(served, records, [0, 1, 2], refused=1)


class Says(BaseLLM):
    """Answers with these texts in turn."""

    said: list[str]

    def call(self, messages: Any, *given: Any, **more: Any) -> str:
        return self.said.pop(0)


def test_its_own_model_answers() -> None:
    agent = own_agent(Says(model="says", said=["9", "8", "7"]))
    (record,) = palestra.play("games/TicTacToe-v0", agents=[bridge(agent), "first"], episodes=1)
    assert not record.error
    assert record.outcome.results == ("win", "loss")  # the opponent played 1 and 2


def test_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("CrewAI", monkeypatch)
