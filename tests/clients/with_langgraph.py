"""LangGraph 1.2 and LangChain 1.5: graphs on seats, over HTTP and with LangChain's fake models."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import palestra
import pytest
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from palestra_agents.bridges import bridge
from tagged_moves import check, run_page, tagging

COMMONS = {"num_players": 3, "rounds": 3, "talk": False}


def chat(url: str) -> ChatOpenAI:
    return ChatOpenAI(model="tiny", base_url=url, api_key="none")


def own_graph(url: str, **options: Any) -> Any:
    """A graph of one node."""
    model = chat(url)

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
    return graph.compile(name="solver", **options)


@pytest.mark.parametrize("saved", [False, True], ids=["stateless", "checkpointer"])
def test_two_games_at_once_have_their_own_conversations(saved: bool) -> None:
    with tagging(refused={1, 2, 5}) as served:
        graph = own_graph(served.url, checkpointer=InMemorySaver() if saved else None)
        records = palestra.play("games/TicTacToe-v0", agents=[bridge(graph), "random"], episodes=3)
    check(served, records, [0], refused=3)
    assert records[0].agents[0] == "solver"
    turn = records[0].turns[0]
    assert turn.model == "tiny"
    assert [message["role"] for message in turn.facts["trace"]] == ["user", "assistant"]


def test_one_agent_on_three_seats_shares_nothing_between_them() -> None:
    with tagging(refused={4}) as served:
        agent = create_agent(chat(served.url), system_prompt="Play to win.", name="winner")
        records = palestra.play("text/Commons-v0", agents=bridge(agent), episodes=2, **COMMONS)
    check(served, records, [0, 1, 2], refused=1)


@pytest.mark.parametrize("saved", [False, True], ids=["stateless", "checkpointer"])
def test_a_graph_of_agents_plays_games_at_once(saved: bool) -> None:
    refused = {3, 5, 8, 12}
    with tagging(refused=refused) as served:
        graph = StateGraph(MessagesState)
        for name in ("advisor", "mover"):
            graph.add_node(name, create_agent(chat(served.url), name=name))
        graph.add_edge(START, "advisor").add_edge("advisor", "mover")
        team = graph.compile(name="team", checkpointer=InMemorySaver() if saved else None)
        one, other = bridge(team), bridge(team)
        records = palestra.play("games/TicTacToe-v0", agents=[one, other], episodes=3)
    check(served, records, [0, 1], refused=refused, mates=1)


def test_an_error_inside_is_named_with_the_graph() -> None:
    def fail(state: MessagesState) -> dict[str, Any]:
        raise OSError("the mover is out of memory")

    graph = StateGraph(MessagesState).add_node("fail", fail).add_edge(START, "fail")
    player = bridge(graph.compile(name="team"))
    with pytest.raises(OSError, match=r"mover is out of memory[\s\S]*raised inside team"):
        palestra.play("games/TicTacToe-v0", agents=[player, "first"], episodes=1)


class FakeWithTools(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


def test_calls_of_its_own_tools_are_counted_and_in_the_trace() -> None:
    @tool
    def largest(moves: list[int]) -> int:
        """The largest move."""
        return max(moves)

    used = {"input_tokens": 50, "output_tokens": 3, "total_tokens": 53}
    call = {"name": "largest", "args": {"moves": [1, 2, 9]}, "id": "c", "type": "tool_call"}
    said = [AIMessage("", tool_calls=[call], usage_metadata=used)]
    said += [AIMessage(move) for move in "987"]  # wins against the opponent's 1 and 2
    agent = create_agent(FakeWithTools(messages=iter(said)), [largest])
    (record,) = palestra.play("games/TicTacToe-v0", agents=[bridge(agent), "first"], episodes=1)
    assert record.outcome.results == ("win", "loss")
    first = record.turns[0]
    assert (first.raw, first.usage.tokens_in, first.usage.calls) == ("9", 50, 2)
    roles = [message["role"] for message in first.facts["trace"]]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert first.facts["trace"][2]["content"] == "9"


def test_the_limit_of_its_steps_is_a_refused_answer() -> None:
    def again(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("1")]}

    graph = StateGraph(MessagesState).add_node("again", again)
    endless = graph.add_edge(START, "again").add_edge("again", "again").compile()
    player = bridge(endless, config={"recursion_limit": 4})
    (record,) = palestra.play("games/TicTacToe-v0", agents=[player, "random"], episodes=1)
    assert not record.error
    assert record.outcome.results == ("forfeit", "win")
    assert record.mistakes == (3, 0)


def test_a_graph_that_takes_no_messages_is_refused() -> None:
    class Other(TypedDict):
        letters: Annotated[list[AnyMessage], add_messages]

    graph = StateGraph(Other).add_node("same", lambda state: state).add_edge(START, "same")
    with pytest.raises(palestra.InvalidOption, match=r"has no 'messages'; its keys are .*letters"):
        bridge(graph.compile())
    with pytest.raises(palestra.InvalidOption, match="takes a compiled graph"):
        bridge(graph)


def test_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("LangGraph", monkeypatch)
