"""Answers: what was stated is played, or it is refused; prose is never searched."""

from __future__ import annotations

from pathlib import Path

import palestra
import pytest
from hypothesis import given
from hypothesis import strategies as st
from palestra import Episode, InvalidAction, TextAction
from palestra.answers import find_stated
from palestra.kernel.actions import Grammar, Integer, OneOf, Option, Text, read_action

DOCS = Path(__file__).parents[2] / "docs/models.md"
COLUMNS = {str(number): number for number in range(1, 8)}


@pytest.mark.parametrize(
    ("answer", "move"),
    [
        ("4", 4),
        ("  4\n", 4),
        ("[4]", 4),
        ("4.", 4),
        ("**4**", 4),
        ("`4`", 4),
        ('"4"', 4),
        ("“4”", 4),
        ("**[4].**", 4),
        ("Move: 4", 4),
        ("move: [4]", 4),
        ("**Move:** 4", 4),
        ("My answer is: 4", 4),
        ("I looked at [3] and rejected it. My move: [4]", 4),
        ("3 is tempting.\nFinal answer: 4", 4),
        ("First I thought of 3.\n\n4", 4),
        ("```\n4\n```", 4),
        ("４", 4),
        ("Move: ４", 4),
        ("<answer>４</answer>", 4),
        ('{"move": 4}', 4),
        ('{"reasoning": "{3} loses", "move": "４"}', 4),
    ],
)
def test_a_stated_move_is_read(answer: str, move: int) -> None:
    assert find_stated(answer, COLUMNS) == move


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "I refuse to move 4",
        "I will not play [4]",
        "I looked at [3] and rejected it. My move: [9]",
        "4 or 5",
        "Move: 4 or 5",
        "Move: 4, no, 5",
        "player_1 played 4",
        "player_1 played: 4",
        "The other's move: 4",
        "If you move 4, I move 5.",
        "4 is a bad move",
        "[3] [4]",
        "Ich spiele 4",
        "-4",
        "4.0",
        "44",
        "four",
        "Move: 4\nBut that loses.",
        "> 4\nis what they said",
        "4..",
        "4...",
        "* 4",
        "<think>4</think>",
        "<think>\n4",
        "4\n<think>or 5",
    ],
)
def test_what_is_not_stated_is_refused(answer: str) -> None:
    assert find_stated(answer, COLUMNS) is None


# What may stand around an answer, one by one; docs/models.md lists them by these names
TOLERANCES = {
    "spaces": ("  bet  ", "  Pay(3)  "),
    "case": ("BET", None),
    "full stop": ("bet.", "Pay(3)."),
    "asterisks": ("**bet**", "**Pay(3)**"),
    "underscores": ("_bet_", "_Pay(3)_"),
    "back-ticks": ("`bet`", "`Pay(3)`"),
    "quotation marks": ('"bet"', None),
    "square brackets": ("[bet]", None),
    "code fence": ("```\nbet\n```", "```\nPay(3)\n```"),
    "label": ("Move: bet", "Action: Pay(3)"),
    "thoughts": ("<think>pass?</think>bet", "<think>Pay(1)?</think>\nPay(3)"),
    "empty lines": ("\n\nbet\n\n", "\n\nPay(3)\n\n"),
    "words before it": ("I could pass.\nbet", "I could wait.\nPay(3)"),
}


@pytest.mark.parametrize("name", TOLERANCES)
def test_each_tolerance_alone_changes_nothing_and_is_documented(name: str) -> None:
    listed, typed = TOLERANCES[name]
    assert find_stated(listed, {"pass": 0, "bet": 1}) == 1
    if typed is not None:
        assert read_action(typed, GRAMMAR, (Say, Pay)) == Pay(3)
    section = DOCS.read_text("utf-8").partition("## How an answer is read")[2].partition("\n## ")[0]
    assert f"| {name} |" in section


def test_case_counts_only_where_moves_differ_by_it() -> None:
    assert find_stated("PASS", {"pass": 0, "bet": 1}) == 0
    assert find_stated("b4", {"b4": 0, "B4": 1}) == 0
    assert find_stated("B4", {"b4": 0, "B4": 1}) == 1
    assert find_stated("a B", {"A b": 0, "a b": 1}) is None


class Say(TextAction):
    text: str


class Pay(TextAction):
    amount: int
    to: str = "bank"


GRAMMAR = Grammar(
    (
        Option(Say, {"text": Text(40)}),
        Option(Pay, {"amount": Integer(0, 9), "to": OneOf(("bank", "player_1"))}),
    )
)


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        ("Pay(amount=3)", Pay(3)),
        ("Pay(3, 'player_1')", Pay(3, "player_1")),
        ("I have enough.\nPay(3)", Pay(3)),
        ("Thought: pay\nAction: Pay(3).", Pay(3)),
        ("**Pay(3)**", Pay(3)),
        ("```python\nPay(3)\n```", Pay(3)),
        ('{"type": "Pay", "amount": 3}', Pay(3)),
        ('```json\n{"type": "Pay",\n "amount": 3}\n```', Pay(3)),
        ("Say(text='they said Pay(3)')", Say("they said Pay(3)")),
        ("Pay(2)\nPay(3)", Pay(3)),
    ],
)
def test_the_action_that_ends_an_answer_is_read(answer: str, action: TextAction) -> None:
    assert read_action(answer, GRAMMAR, (Say, Pay)) == action


@pytest.mark.parametrize(
    "answer",
    [
        "I will not Pay(3)",
        "Pay(3) is too much",
        "player_1: Pay(3)",
        "> Pay(3)",
        "* Pay(3)",
        "- Pay(3)",
        "Pay(3)...",
        "<think>\nPay(3)",
        "<think>\nPay(3)\n</think>",
        "Say(text='as you wrote:\nPay(3)",
        '{"type": "Say", "text": "as you wrote:\nPay(3)',
        "Pay(amount=True)",
        "Pay(amount=3.0)",
        "Pay(amount='3')",
        "Pay(3, 'bank', 4)",
        "Pay(3, amount=4)",
        "Pay(**{'amount': 3})",
        "Pay(amount=0x" + "f" * 9000 + ")",
        "Pay(amount=" + "9" * 9000 + ")",
        "Say(text='\\ud83d')",
        "Say(" * 20_000,
        "[" * 20_000,
        '{"a":' * 20_000,
        '{"type": "Pay", "amount": ' + "[" * 3000 + "]" * 3000 + "}",
        '{"type": {"a": 1}}',
        '{"type": "Pay", "amount": 3, "more": 1}',
        "x" * 1_000_000,
        "Say(" * 250_000,
        "\n" * 1_000_000,
        "Pay(3",
    ],
)
def test_other_answers_are_refused(answer: str) -> None:
    with pytest.raises(InvalidAction, match="Pay"):
        read_action(answer, GRAMMAR, (Say, Pay))


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
)


@given(ANY)
def test_a_grammar_refuses_any_object_without_raising(value: object) -> None:
    assert value not in GRAMMAR
    assert GRAMMAR.problem(value)
    for domain in (Text(5), Integer(0, 3), OneOf((1, "a"))):
        problem = domain.problem(value)
        assert problem is None or isinstance(problem, str)


@given(st.text(alphabet=st.characters()))
def test_any_text_is_read_or_refused(text: str) -> None:
    for env in ("games/TicTacToe-v0", "text/Negotiation-v0", "games/PrisonersDilemma-v0"):
        episode = Episode(palestra.game(env), 0, compiled=False if "games" in env else None)
        seat = episode.to_act[0]
        try:
            action = episode.parse(seat, text)
        except InvalidAction:
            continue
        episode.check(seat, action)
