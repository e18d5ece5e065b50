"""CrewAI 1.15: agents, crews and flows on seats, over HTTP and with a model of its interface."""

from __future__ import annotations

import json
import os
from typing import Any

os.environ["CREWAI_DISABLE_TELEMETRY"] = os.environ["OTEL_SDK_DISABLED"] = "true"

import palestra
import pytest
from crewai import LLM, Agent, BaseLLM, Crew, Flow, Process, Task
from crewai.flow.flow import listen, start
from crewai.tools import tool
from palestra_agents.bridges import bridge
from tagged_moves import asking, check, plain, run_page, tagging

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


def own_crew(llm: Any, other: Any = None, **options: Any) -> Crew:
    """An advisor and a mover, who share a model unless there is another."""
    advisor = Agent(role="advisor", goal="Advise.", backstory="A player.", llm=llm)
    mover = own_agent(other or llm)
    advise = Task(description="Advise: {question}", expected_output="Advice", agent=advisor)
    move = Task(description="Answer: {question}", expected_output="A move", agent=mover)
    tasks = [advise, move]
    return Crew(name="pair", agents=[advisor, mover], tasks=tasks, **options)


def served_llm(url: str) -> LLM:
    return LLM(model="openai/tiny", base_url=url, api_key="none")


def served_flow(url: str) -> type[Flow[Any]]:
    crew = own_crew(served_llm(url))

    class Talk(Flow[dict[str, Any]]):
        @start()
        def note(self) -> str:
            self.state.setdefault("asked", []).append(self.state["question"])
            return "\n".join(self.state["asked"])

        @listen(note)
        async def decide(self, question: str) -> Any:
            return await crew.copy().kickoff_async(inputs={"question": question})

    return Talk


def served_team(url: str, kind: str) -> Any:
    return served_flow(url) if kind == "flow" else own_crew(served_llm(url))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["crew", "flow"])
@pytest.mark.parametrize("seed", range(3))
def test_a_team_plays_games_at_once(kind: str, seed: int) -> None:
    refused = {3, 5, 8, 12}
    with tagging(refused=refused, seed=seed) as served:
        player = bridge(served_team(served.url, kind))
        records = palestra.play("games/TicTacToe-v0", agents=[player, "random"], episodes=3)
    check(served, records, [0], refused=refused, mates=1)
    assert records[0].agents[0] == ("Talk" if kind == "flow" else "pair")
    assert sum(record.mistakes[0] for record in records)
    turn = records[0].turns[0]
    assert turn.model == "tiny"
    assert [one["role"] for one in turn.facts["trace"]] == ["user", "assistant", "assistant"]


@pytest.mark.parametrize("kind", ["crew", "flow"])
def test_one_team_in_two_bridges_shares_nothing_between_three_seats(kind: str) -> None:
    with tagging(refused={7, 9}) as served:
        team = served_team(served.url, kind)
        one, other = bridge(team), bridge(team)
        records = palestra.play("text/Commons-v0", agents=[one, other, one], episodes=2, **COMMONS)
    check(served, records, [0, 1, 2], refused={7, 9}, mates=1)


@pytest.mark.parametrize("seed", range(2))
def test_a_manager_hands_the_work_of_a_crew_out(seed: int) -> None:
    refused = {4, 5, 9, 10, 15}
    form = asking("context", task="Choose.", coworker="winner")
    with tagging(form=form, refused=refused, seed=seed) as served:
        llm = served_llm(served.url)
        crew = own_crew(llm, process=Process.hierarchical, manager_llm=llm)
        crew.tasks = crew.tasks[1:]
        crew.tasks[0].agent = None
        records = palestra.play("games/TicTacToe-v0", agents=[bridge(crew), "random"], episodes=2)
    check(served, records, [0], refused=refused, mates=2)  # the manager's call, and the mover
    trace = records[0].turns[0].facts["trace"]
    roles = [one["role"] for one in trace]
    assert roles == ["user", "assistant", "assistant", "tool", "assistant"]
    assert trace[1]["calls"][0]["name"] == "delegate_work_to_coworker"


def test_an_agents_steps_are_in_the_trace() -> None:
    @tool
    def largest(moves: list[int]) -> int:
        """The largest move."""
        return max(moves)

    def calls_first(tag: str, move: str, body: dict[str, Any]) -> dict[str, Any]:
        if body["messages"][-1]["role"] == "tool":
            return plain(tag, body["messages"][-1]["content"], body)
        function = {"name": "largest", "arguments": json.dumps({"moves": [1, 2, 9]})}
        call = {"id": "c", "type": "function", "function": function}
        return {"content": None, "tool_calls": [call]}

    with tagging(form=calls_first) as served:
        player = bridge(own_agent(served_llm(served.url), tools=[largest]))
        (record,) = palestra.play(
            "games/TicTacToe-v0", agents=[player, "first"], episodes=1, invalid="forfeit"
        )
    first = record.turns[0]
    assert (first.text, first.usage.calls) == ("9", 2)
    roles = [one["role"] for one in first.facts["trace"]]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert first.facts["trace"][2]["content"] == "9"


class Fails(BaseLLM):
    """Never answers."""

    def call(self, messages: Any, *given: Any, **more: Any) -> str:
        raise OSError("the mover is out of memory")


def test_an_error_inside_is_named_with_the_crew() -> None:
    crew = own_crew(Says(model="says", said=["Take a corner."] * 9), Fails(model="fails"))
    with pytest.raises(OSError, match=r"out of memory\nraised inside pair, a Crew"):
        palestra.play("games/TicTacToe-v0", agents=[bridge(crew), "first"], episodes=1)


def test_a_crew_that_is_not_told_the_question_is_refused() -> None:
    crew = own_crew(Says(model="says", said=[]))
    with pytest.raises(palestra.InvalidOption, match=r"no task of the crew 'pair' has \{game\}"):
        bridge(crew, question="game")
    with pytest.raises(palestra.InvalidOption, match="the class of a Flow, not an instance of it"):
        bridge(served_flow("http://127.0.0.1:1/v1")())


@pytest.mark.parametrize(("section", "mates"), [("CrewAI", 0), ("Teams", 1)])
def test_the_page(section: str, mates: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page(section, monkeypatch, mates=mates)
