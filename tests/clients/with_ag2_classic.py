"""AG2 Classic 0.14: its agents, group chats and patterns on seats, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import palestra
import pytest
from autogen import ConversableAgent, GroupChat, GroupChatManager, LLMConfig, runtime_logging
from autogen.agentchat.group.patterns import AutoPattern, RoundRobinPattern
from palestra_agents.bridges import bridge
from tagged_moves import check, plain, run_page, tagging

COMMONS = {"num_players": 3, "rounds": 3, "talk": False}


@pytest.fixture(autouse=True)
def no_logging() -> Iterator[None]:
    yield
    runtime_logging.stop()


def served_config(url: str) -> LLMConfig:
    facts = {"model": "tiny", "base_url": url, "api_key": "none", "api_type": "openai"}
    return LLMConfig({**facts, "price": [0, 0]}, cache_seed=None)


def served_agent(url: str, name: str = "winner", **options: Any) -> ConversableAgent:
    given = {"system_message": "Play to win.", "human_input_mode": "NEVER", **options}
    return ConversableAgent(name, llm_config=served_config(url), **given)


def served_team(url: str, kind: str) -> Any:
    agents = [served_agent(url, name) for name in ("advisor", "mover")]
    if kind == "pattern":
        return RoundRobinPattern(initial_agent=agents[0], agents=agents)
    group = GroupChat(agents, messages=[], max_round=3, speaker_selection_method="round_robin")
    return GroupChatManager(group, name="team", llm_config=False)


def team_player(url: str, kind: str) -> Any:
    return bridge(served_team(url, kind), max_rounds=3)


def test_two_games_at_once_have_their_own_conversations() -> None:
    with tagging(refused={1, 2, 5}) as served:
        player = bridge(served_agent(served.url))
        records = palestra.play("games/TicTacToe-v0", agents=[player, "random"], episodes=3)
    check(served, records, [0], refused=3)
    assert records[0].agents[0] == "winner"
    roles = [message["role"] for message in records[0].turns[0].facts["trace"]]
    assert roles == ["user", "assistant"]


def test_one_agent_in_two_bridges_shares_nothing_between_three_seats() -> None:
    with tagging(refused={4}) as served:
        agent = served_agent(served.url)
        one, other = bridge(agent), bridge(agent)
        records = palestra.play("text/Commons-v0", agents=[one, other, one], episodes=2, **COMMONS)
    check(served, records, [0, 1, 2], refused=1)


@pytest.mark.parametrize("kind", ["group chat", "pattern"])
@pytest.mark.parametrize("seed", range(3))
def test_a_team_plays_games_at_once(kind: str, seed: int, capsys: Any) -> None:
    refused = {3, 5, 8, 12}
    with tagging(refused=refused, seed=seed) as served:
        player = team_player(served.url, kind)
        records = palestra.play("games/TicTacToe-v0", agents=[player, "random"], episodes=3)
    check(served, records, [0], refused=refused, mates=1)
    assert sum(record.mistakes[0] for record in records)
    trace = records[0].turns[0].facts["trace"]
    assert [one["role"] for one in trace] == ["user", "assistant", "assistant"]
    assert not capsys.readouterr().out


@pytest.mark.parametrize("kind", ["group chat", "pattern"])
def test_one_team_in_two_bridges_shares_nothing_between_three_seats(kind: str) -> None:
    with tagging(refused={7, 9}) as served:
        team = served_team(served.url, kind)
        one, other = bridge(team, max_rounds=3), bridge(team, max_rounds=3)
        records = palestra.play("text/Commons-v0", agents=[one, other, one], episodes=2, **COMMONS)
    check(served, records, [0, 1, 2], refused={7, 9}, mates=1)


def test_the_calls_that_choose_a_speaker_are_counted() -> None:
    def choose(tag: str, move: str, body: dict[str, Any]) -> dict[str, Any]:
        choosing = "select" in str(body["messages"][0]["content"]).lower()
        return {"content": "mover"} if choosing else plain(tag, move, body)

    with tagging(form=choose) as served:
        agents = [served_agent(served.url, name) for name in ("advisor", "mover")]
        pattern = AutoPattern(
            initial_agent=agents[0],
            agents=agents,
            group_manager_args={"llm_config": served_config(served.url)},
        )
        player = bridge(pattern, max_rounds=3)
        records = palestra.play("games/TicTacToe-v0", agents=[player, "random"], episodes=2)
    spent = sum((asked.usage for asked in served.exchanges), start=palestra.Usage())
    counted = [usage for record in records for _, usage in record.usages]
    total = sum(counted, start=palestra.Usage())
    assert (total.tokens_in, total.calls) == (spent.tokens_in, len(served.exchanges))
    turns = [turn for record in records for turn in record.turns if turn.seat == 0]
    assert len(served.exchanges) > 2 * len(turns)  # two answer; another call chooses the second


def largest(moves: list[int]) -> int:
    """The largest move."""
    return max(moves)


def calls_first(tag: str, move: str, body: dict[str, Any]) -> dict[str, Any]:
    if body["messages"][-1]["role"] == "tool":
        return {"content": body["messages"][-1]["content"]}
    function = {"name": "largest", "arguments": json.dumps({"moves": [1, 2, 9]})}
    return {"content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]}


def test_its_own_tools_run_and_are_in_the_trace() -> None:
    with tagging(form=calls_first) as served:
        player = bridge(served_agent(served.url, functions=[largest]))
        (record,) = palestra.play(
            "games/TicTacToe-v0", agents=[player, "first"], episodes=1, invalid="forfeit"
        )
    first = record.turns[0]
    assert (first.raw, first.usage.calls) == ("9", 2)
    roles = [message["role"] for message in first.facts["trace"]]
    assert roles == ["user", "assistant", "tool", "assistant"]


def test_what_was_logged_before_is_still_logged() -> None:
    class Kept:
        calls = 0

        def start(self) -> str:
            return "kept"

        def log_chat_completion(self, *facts: Any) -> None:
            self.calls += 1

        def __getattr__(self, name: str) -> Any:
            return lambda *facts, **more: None

    kept = Kept()
    runtime_logging.start(kept)  # type: ignore[arg-type]
    with tagging() as served:
        player = bridge(served_agent(served.url))
        records = palestra.play("games/TicTacToe-v0", agents=[player, "random"], episodes=2)
    check(served, records, [0])
    assert kept.calls == len(served.exchanges)


def failing(*given: Any, **more: Any) -> Any:
    raise OSError("the adviser is out of memory")


def test_an_error_inside_is_named_with_the_agent() -> None:
    with tagging() as served:
        team = served_team(served.url, "group chat")
        team.groupchat.agents[1].register_reply([ConversableAgent], failing)
        with pytest.raises(OSError, match=r"out of memory\nraised inside team, a GroupChatManager"):
            palestra.play("games/TicTacToe-v0", agents=[bridge(team), "first"], episodes=1)


def test_an_agent_that_asks_a_human_is_refused() -> None:
    with tagging() as served:
        player = bridge(served_agent(served.url, human_input_mode="ALWAYS"))
        with pytest.raises(RuntimeError, match='human_input_mode="NEVER"'):
            palestra.play("games/TicTacToe-v0", agents=[player, "first"], episodes=1)


def test_a_chat_that_ends_without_an_answer_is_a_mistake() -> None:
    silent = ConversableAgent("silent", llm_config=False, human_input_mode="NEVER")
    group = GroupChat([silent], messages=[], max_round=1)
    player = bridge(GroupChatManager(group, llm_config=False))
    (record,) = palestra.play("games/TicTacToe-v0", agents=[player, "first"], episodes=1)
    assert record.outcome.results == ("forfeit", "win")
    assert record.mistakes == (3, 0)


def test_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("AG2 Classic", monkeypatch)
