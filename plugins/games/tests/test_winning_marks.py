"""What a picture shows as the line that won, on boards drawn by hand."""

from __future__ import annotations

from collections.abc import Sequence

import palestra
import pytest
from palestra_games.board.hex import winning_chain
from palestra_games.board.marks import mark_lines


def rows(*lines: str) -> list[list[int]]:
    return [[".XO".index(sign) for sign in line] for line in lines]


def cells(*lines: str) -> list[tuple[int, int]]:
    """The places of the stars."""
    return [(r, c) for r, line in enumerate(lines) for c, sign in enumerate(line) if sign == "*"]


@pytest.mark.parametrize(
    ("board", "length", "exact", "marked"),
    [
        (("XXX", "OO.", "..."), 3, False, ("***", "...", "...")),
        (("X.O", ".XO", "..X"), 3, False, ("*..", ".*.", "..*")),
        (("X.O", "XO.", "O.."), 3, False, ("..*", ".*.", "*..")),
        (("XXX", "X..", "X.O"), 3, False, ("***", "*..", "*..")),  # two lines at once
        (("XX.", "OO.", "..."), 3, False, ("...", "...", "...")),
        (("XXXXX", "O.OOO"), 4, False, ("*****", ".....")),
        (("XXXXX", "OOOO."), 4, True, (".....", "****.")),  # a longer line does not count
        (("XXOXX", "....."), 3, False, (".....", ".....")),  # a line is unbroken
        (("..XO.", ".XO..", "XO..."), 3, False, ("..**.", ".**..", "**...")),
    ],
)
def test_lines_that_win_are_marked(
    board: Sequence[str], length: int, exact: bool, marked: Sequence[str]
) -> None:
    found = mark_lines(rows(*board), length, exact=exact)
    assert found == tuple(("winning", cell) for cell in cells(*marked))


@pytest.mark.parametrize(
    ("board", "chain"),
    [
        (("X..", "X..", "X.."), {(0, 0), (1, 0), (2, 0)}),
        ((".X.", "X..", "X.."), {(0, 1), (1, 0), (2, 0)}),  # down to the left they touch
        (("X..", ".X.", "..X"), set()),  # down to the right they do not
        (("XX.", "XXX", "OO."), set()),
        (("X.X", "OOO", "X.X"), {(1, 0), (1, 1), (1, 2)}),
        ((".X.", ".XX", "XX."), {(0, 1), (1, 1), (2, 0)}),  # a shortest chain, no dead ends
    ],
)
def test_the_chain_that_joins_two_sides_is_found(
    board: Sequence[str], chain: set[tuple[int, int]]
) -> None:
    assert set(winning_chain(rows(*board))) == chain


@pytest.mark.parametrize(
    ("env", "options", "most"),
    [
        ("games/TicTacToe-v0", {}, 6),
        ("games/ConnectFour-v0", {}, 13),
        ("games/Hex-v0", {"board_size": 3}, 9),
    ],
)
def test_the_line_is_marked_at_the_end_and_not_before(
    env: str, options: dict[str, int], most: int
) -> None:
    won = 0
    for seed in range(12):
        (record,) = palestra.play(env, agents=["random", "random"], seed=seed, **options)
        lines: list[object] = []
        for episode in palestra.retrace(record):
            assert not lines, "no move is made after a line has won"
            parts = episode.scene(None).all_parts()
            marks = [m for part in parts for m in getattr(part, "marks", ())]
            lines = [cell for kind, cell in marks if kind == "winning"]
        assert bool(lines) == (record.returns[0] != 0)
        assert len(lines) <= most
        won += bool(lines)
    assert won > 3
