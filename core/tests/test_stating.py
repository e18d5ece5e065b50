"""Which lines introduce the speaker's own move, and which give it to somebody else."""

from __future__ import annotations

from time import process_time

import pytest
from palestra.answers import find_stated
from palestra.kernel.actions import stated_action
from palestra.stating import introduced_otherwise

MOVES = {"3": 3, "4": 4, "take 2 from heap 1": 12}


@pytest.mark.parametrize(
    "line",
    [
        "Move:",
        "**My final answer is:**",
        "### Final move:",
        "So, my move is:",
        "That loses. My next move will be:",
        "I play:",
        "I'll go with:",
        "I’d choose the centre:",
        "Therefore, I am going to take:",
        "Let me propose the following:",
        "Here's my move:",
        "Mine:",
        "Nothing ends in a colon here",
        "The score is 3:2.",
    ],
)
def test_a_line_of_the_speaker_introduces_their_move(line: str) -> None:
    assert not introduced_otherwise([line], MOVES)
    assert find_stated(f"{line}\n\n4", MOVES) == 4


@pytest.mark.parametrize(
    "line",
    [
        "player_1 played:",
        "The opponent's best move is:",
        "Best move:",
        "Last turn I played:",
        "I would never play:",
        "I choose anything, but not:",
        "I'll play something other than:",
        "Legal moves:",
        "合法走法：",
        "Mein Zug:",
        "If they take it, I play:",
    ],
)
@pytest.mark.parametrize(
    "between", ["", "\n", "3\n", "- 3\n3\n", "```\n", "take 2 from heap 1\n[3]\n"]
)
def test_any_other_line_that_ends_in_a_colon_refuses_the_move(line: str, between: str) -> None:
    if between.startswith("-"):  # the items of a list are no moves alone: nothing is introduced
        assert find_stated(f"{line}\n{between}4", MOVES) == 4
    else:
        assert find_stated(f"{line}\n{between}4", MOVES) is None


@pytest.mark.parametrize(
    ("line", "stated"),
    [
        ("Analysis:", True),
        ("Based on all this:", True),
        ("They threaten 3, so this is clear:", True),
        ("Here, as asked:", True),
        ("I may call think(x), and then:", True),
        ("Your offer is low. I counter:", True),
        ("Let us look at the page first:", True),
        ("Last, the summary:", True),
        ("player_1 said:", False),
        ("They played:", False),
        ("Their last move was:", False),
        ("The legal actions are:", False),
        ("**Rejected:**", False),
        ("I refuse to play the following:", False),
        ("I will not play:", False),
        ("The opponent's answer:", False),
        ("User:", False),
        ("For example:", False),
        ("The format is:", False),
    ],
)
def test_an_explicit_move_counts_unless_it_is_said_to_be_another(line: str, stated: bool) -> None:
    assert (find_stated(f"{line}\nMove: 4", MOVES) == 4) is stated
    assert (stated_action(f"{line}\nPay(2)\nPay(3)", ("Pay",)) == "Pay(3)") is stated
    assert (stated_action(f"{line}\n```\n{{}}\n```", ("Pay",)) == "{}") is stated


def test_a_megabyte_of_lines_is_read() -> None:
    assert find_stated("Legal moves:\n" + "3\n" * 500_000 + "4", MOVES) == 4  # far above
    assert find_stated("x" * 1_000_000 + ":\n4", MOVES) is None


@pytest.mark.parametrize(
    "text",
    [
        "\\boxed{" * 14_000 + "}",
        "\\boxed{" + "{}" * 40_000 + "}",
        "$" * 90_000 + "\\boxed{4}",
        "." + " " * 90_000 + "\\boxed{4}",
        "is " * 30_000 + "\\boxed{4}",
        "\\boxed{\\text{" + " " * 90_000 + "}}",
        "<answer>" * 11_000 + "</answer>",
        "<answer" + " " * 90_000 + "</answer>",
        '{"move":' * 12_000 + "}",
        "{" * 90_000 + "}",
        '{"move": [' + "1," * 40_000 + "1]}",
        "'" * 89_999 + "４",
        "'\\" * 45_000 + "４",
    ],
    ids=lambda text: text[:9],
)
def test_a_long_statement_is_read_in_no_time(text: str) -> None:
    spent = []
    for _ in range(3):
        started = process_time()
        find_stated(text, {"4": 4, "5": 5})
        spent.append(process_time() - started)
    assert min(spent) < 0.05
