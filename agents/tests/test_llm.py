"""Language-model agents, with a model that only echoes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import palestra
import pytest
from palestra import Budget, InvalidOption, UnknownName
from palestra.models import Model, Reply, Request
from palestra_agents.echo import EchoModel
from palestra_agents.llm import LLMAgent


class Listening(Model):
    """Keeps every request; answers with lines given in turn."""

    def __init__(self, *lines: str) -> None:
        self.requests: list[Request] = []
        self.calls: list[int] = []
        self._lines = lines

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        self.calls.append(len(requests))
        self.requests += requests
        start = len(self.requests) - len(requests)
        return [Reply(self._lines[(start + i) % len(self._lines)]) for i in range(len(requests))]


def test_the_echo_scheme_opens_through_the_hook() -> None:
    model = palestra.open_model("echo:bet")
    assert isinstance(model, EchoModel)
    assert model.chat([Request(())])[0].text == "bet"
    with pytest.raises(UnknownName, match="model scheme 'ecco'"):
        palestra.open_model("ecco:bet")


def test_prompts_only_ever_grow() -> None:
    model = Listening("1", "2", "3", "4", "5", "6", "7", "8", "9")
    agent = LLMAgent(model=model)
    palestra.play("games/TicTacToe-v0", agents=[agent, agent], episodes=1, invalid="random")
    by_seat: dict[str, list[Request]] = {}
    for request in model.requests:
        seat = request.messages[1].content.split("\n")[0]
        by_seat.setdefault(seat, []).append(request)
    for requests in by_seat.values():
        for earlier, later in pairwise(requests):
            assert later.messages[: len(earlier.messages)] == earlier.messages


def test_all_waiting_games_share_one_call() -> None:
    model = Listening("bet")
    agent = LLMAgent(model=model)
    palestra.play("games/KuhnPoker-v0", agents=[agent, agent], episodes=50)
    assert model.calls == [50, 50]


def test_choices_are_the_legal_moves() -> None:
    model = Listening("pass")
    agent = LLMAgent(model=model, mode="choice")
    palestra.play("games/KuhnPoker-v0", agents=[agent, agent], episodes=1)
    assert {request.choices for request in model.requests} == {("pass", "bet")}


def test_a_refused_reply_is_asked_again_with_the_reason() -> None:
    model = Listening("raise", "bet")
    records = palestra.play(
        "games/KuhnPoker-v0", agents=[LLMAgent(model=model), "first"], episodes=1
    )
    assert "refused" in model.requests[1].messages[-1].content
    assert records[0].turns[0].status == "retried"
    assert records[0].mistakes == (1, 0)


def test_usage_is_counted_and_a_budget_stops_the_model() -> None:
    records = palestra.play(
        "games/ConnectFour-v0",
        agents=["llm:echo:,mode=choice", "random"],
        budgets={"llm:echo:,mode=choice": Budget(calls=2)},
        episodes=1,
    )
    own = [turn for turn in records[0].turns if turn.player == 0]
    assert sum(turn.usage.calls for turn in own) == 2
    assert records[0].outcome is not None
    assert records[0].outcome.results == ("forfeit", "win")
    assert "budget of calls" in records[0].outcome.reason


def test_set_up_errors_are_explained() -> None:
    with pytest.raises(InvalidOption, match="llm:vllm"):
        palestra.make_agent("llm")
    with pytest.raises(UnknownName, match="did you mean 'choice'"):
        palestra.make_agent("llm:echo:,mode=choices")
