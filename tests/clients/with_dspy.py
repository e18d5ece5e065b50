"""DSPy 3.4: its modules on seats, over HTTP and with its dummy model."""

from __future__ import annotations

from typing import Any

import dspy
import palestra
import pytest
from dspy.utils import DummyLM
from palestra_agents.bridges import bridge
from tagged_moves import check, run_page, tagging

COMMONS = {"num_players": 3, "rounds": 3, "talk": False}
SIGNATURE = "history: dspy.History, question -> answer"


def fields(tag: str, move: str, body: dict[str, Any]) -> dict[str, Any]:
    """A reply in the form that DSPy asks for."""
    return {"content": f"[[ ## answer ## ]]\n{tag}\n{move}\n\n[[ ## completed ## ]]"}


def model(url: str) -> dspy.LM:
    return dspy.LM("openai/tiny", api_base=url, api_key="none", cache=False)


class Program(dspy.Module):
    """A program without an asynchronous form."""

    def __init__(self) -> None:
        self.predict = dspy.Predict(SIGNATURE)

    def forward(self, question: str, history: dspy.History) -> Any:
        return self.predict(question=question, history=history)


@pytest.mark.parametrize("kind", [lambda: dspy.Predict(SIGNATURE), Program])
def test_two_games_at_once_have_their_own_conversations(kind: Any) -> None:
    with tagging(form=fields, refused={1, 2, 5}) as served:
        player = bridge(kind(), lm=model(served.url))
        records = palestra.play("games/TicTacToe-v0", agents=[player, "random"], episodes=3)
    check(served, records, [0], refused=3)
    turn = records[0].turns[0]
    assert turn.model == "openai/tiny"
    assert [message["role"] for message in turn.facts["trace"]] == ["user", "assistant"]


def test_one_module_on_three_seats_shares_nothing_between_them() -> None:
    with tagging(form=fields, refused={4}) as served:
        player = bridge(dspy.Predict(SIGNATURE), lm=model(served.url))
        records = palestra.play("text/Commons-v0", agents=player, episodes=2, **COMMONS)
    check(served, records, [0, 1, 2], refused=1)


def test_fields_of_other_names_and_its_reasoning() -> None:
    said = [{"reasoning": f"{move} is free.", "move": move} for move in "987"]
    module = dspy.ChainOfThought("game, talk: dspy.History -> move")
    with dspy.context(lm=DummyLM(said)):
        player = bridge(module, question="game", history="talk", answer="move", lm=dspy.settings.lm)
    (record,) = palestra.play("games/TicTacToe-v0", agents=[player, "first"], episodes=1)
    assert record.outcome.results == ("win", "loss")  # the opponent played 1 and 2
    assert record.turns[0].thought == "9 is free."


def test_a_reply_without_its_fields_is_a_refused_answer() -> None:
    def wrong(tag: str, move: str, body: dict[str, Any]) -> dict[str, Any]:
        return {"content": ""}

    with tagging(form=wrong) as served:
        player = bridge(dspy.Predict(SIGNATURE), lm=model(served.url))
        (record,) = palestra.play("games/TicTacToe-v0", agents=[player, "first"], episodes=1)
    assert record.outcome.results == ("forfeit", "win")
    spent = sum(usage.tokens_in for seat, usage in record.usages if seat == 0)
    assert spent == sum(asked.usage.tokens_in for asked in served.exchanges)


@pytest.mark.parametrize("signature", ["question -> answer", "game, history -> answer"])
def test_a_module_that_takes_other_fields_is_refused(signature: str) -> None:
    with pytest.raises(palestra.InvalidOption, match=r"takes .*, not (history|question);"):
        bridge(dspy.Predict(signature))


def test_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    run_page("DSPy", monkeypatch, form=fields)
