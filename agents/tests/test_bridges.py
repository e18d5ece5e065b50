"""Bridges to agent frameworks, as far as they need none; tests/clients run each with its own."""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import requires
from typing import Any

import palestra
import pytest
from palestra import InvalidOption, MissingExtra, UnknownName
from palestra.llm.tool_calls import MoveTools
from palestra_agents.bridges import Answer, Bridge, Conversation, bridge
from palestra_agents.bridges.bridge import FRAMEWORKS, as_text


class Listening(Bridge):
    """Answers with the first of its replies that is left, and keeps what it was asked."""

    MOVES = ("text", "tools")

    def __init__(self, *replies: str, **options: Any) -> None:
        super().__init__("somebody", **options)
        self.replies = list(replies)
        self.asked: list[tuple[Any, str]] = []
        self.offers: list[MoveTools | None] = []

    async def ask(
        self, conversation: Conversation, question: str, offer: MoveTools | None
    ) -> Answer:
        self.asked.append((conversation.history, question))
        self.offers.append(offer)
        said = self.replies.pop(0)
        unread = "out of steps" if not said else ""
        return Answer(said, [*(conversation.history or []), said], unread=unread)


def test_rules_stand_in_the_first_question_and_reasons_in_repeated_ones() -> None:
    player = Listening("x", "", "9", "8", "7")
    (record,) = palestra.play("games/TicTacToe-v0", agents=[player, "first"], episodes=1)
    assert record.outcome is not None
    assert record.outcome.results == ("win", "loss")  # the opponent played 1 and 2
    assert record.mistakes == (2, 0)
    histories, questions = zip(*player.asked, strict=True)
    assert histories == (None, ["x"], ["x", ""], ["x", "", "9"], ["x", "", "9", "8"])
    assert [question.count("You play tic-tac-toe") for question in questions] == [1, 0, 0, 0, 0]
    assert questions[0].endswith("player_0, you may play: 1, 2, 3, 4, 5, 6, 7, 8, 9")
    assert questions[1].startswith("That was refused: cannot play 'x'")
    assert questions[2].startswith("That was refused: cannot play '': out of steps; legal: 1, 2, 3")
    assert [attempt.error for attempt in record.turns[0].refused] == [
        question.removeprefix("That was refused: ").removesuffix("\nAnswer with your move only.")
        for question in questions[1:3]
    ]
    assert questions[3].endswith("player_0, you may play: 2, 3, 4, 5, 6, 7, 8")


def test_a_conversation_ends_with_its_episode() -> None:
    player = Listening(*"987987")
    palestra.play("games/TicTacToe-v0", agents=[player, "first"], episodes=2)
    assert sorted(history is None for history, _ in player.asked) == [*[False] * 4, True, True]
    assert not player._conversations


def test_moves_as_tools_are_offered_and_asked_for() -> None:
    player = Listening(*"987", moves="tools")
    palestra.play("games/TicTacToe-v0", agents=[player, "first"], episodes=1)
    assert "Make your move by calling one of the tools." in player.asked[0][1]
    tools = player.offers[1].tools if player.offers[1] else ()
    assert tools[0].parameters["properties"]["move"]["enum"] == list("2345678")


def test_unknown_objects_and_forms_are_refused() -> None:
    with pytest.raises(InvalidOption, match=r"takes a compiled graph .* not .*object"):
        bridge(object())
    with pytest.raises(InvalidOption, match="give an object of that class"):
        bridge(Listening)
    with pytest.raises(UnknownName, match="speech"):
        Listening(moves="speech")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_framework_that_is_not_installed_is_named(
    framework: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = FRAMEWORKS[framework].partition(":")[0]
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, framework, None)  # as if it were not there
    with pytest.raises(MissingExtra, match=r"is not installed; run: pip install \"[a-z0-9-]+>="):
        importlib.import_module(module)


def test_no_framework_is_a_requirement() -> None:
    needed = " ".join(requires("palestra-agents") or ())
    assert not any(name.replace("_", "-") in needed for name in FRAMEWORKS if name != "agents")


def test_answers_of_any_type_become_text() -> None:
    class Fields:
        def model_dump_json(self) -> str:
            return '{"type": "Pass"}'

    assert [as_text(one) for one in (None, "a ", 4, Fields())] == [
        "",
        "a ",
        "4",
        '{"type": "Pass"}',
    ]
