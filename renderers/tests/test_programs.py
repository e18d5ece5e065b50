"""Programs in pictures: nothing of them is lost, and each part has its colour and place."""

from __future__ import annotations

import io
import keyword
import tokenize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palestra.scene import Lines
from palestra_renderers.layout.programs import coloured, lay_program
from palestra_renderers.layout.scenes import lay_lines
from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.lettering import text_width
from palestra_renderers.marks import Words
from palestra_renderers.theme import THEMES

PROGRAM = '''
def solve(items, limit=0x1F):
    """Take what fits."""
    # the lightest first
    best = [f"{x:.2f} kg" for x in sorted(items) if x <= limit and not x == 1e-3]
    return best or 'none'
'''.splitlines()
COLOUR = {
    tokenize.STRING: "string",
    tokenize.NUMBER: "number",
    tokenize.COMMENT: "quiet",
}


def colour_at(row: int, column: int) -> str:
    for text, colour in coloured(tuple(PROGRAM))[row]:
        if column < len(text):
            return colour
        column -= len(text)
    raise IndexError(column)


def test_every_part_has_the_colour_of_its_kind() -> None:
    read = io.StringIO("\n".join(PROGRAM) + "\n").readline
    checked = set()
    for token in tokenize.generate_tokens(read):
        kind = COLOUR.get(token.type)
        if token.type == tokenize.NAME:
            kind = "keyword" if keyword.iskeyword(token.string) else "ink"
        if kind and not token.string.startswith("f"):  # one token before Python 3.12, then several
            row, column = token.start
            assert colour_at(row - 1, column) == kind, token
            checked.add(kind)
    assert checked == {"keyword", "ink", "string", "number", "quiet"}


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n")), max_size=6))
def test_no_letter_is_lost_of_what_is_hardly_a_program(lines: list[str]) -> None:
    rows = coloured(tuple(lines or [""]))
    assert ["".join(text for text, _ in row) for row in rows] == (lines or [""])


@pytest.mark.parametrize("size", [11.0, 17.5])
def test_a_part_stands_where_its_line_has_it(size: float) -> None:
    marks = lay_program(tuple(PROGRAM), 100, 50, size)
    letter = text_width("x", marks[0].height, "mono")
    for mark in marks:
        row = round((mark.y - 50) / size)
        column = round((mark.x - 100) / letter)
        assert PROGRAM[row][column:].startswith(mark.text)
        assert mark.x == pytest.approx(100 + column * letter)
        assert mark.face == "mono"
    shown = "".join(mark.text for mark in marks)
    assert "".join(shown.split()) == "".join("".join(PROGRAM).split())


@pytest.mark.parametrize("theme", THEMES)
def test_the_colours_of_programs_are_told_apart(theme: str) -> None:
    names = ("ink", "keyword", "string", "number", "quiet", "panel")
    assert len({THEMES[theme][name] for name in names}) == len(names)


def test_a_program_between_fences_of_a_text_is_shown_as_one() -> None:
    sheet = Sheet(480, 20)
    text = "The slow program:\n```python\nfor x in y:\n    pass\n```\nfor ever"
    assert lay_lines(Lines((text,)), 0, 400, sheet) == 4 * 20
    words = [mark for mark in sheet.marks if isinstance(mark, Words)]
    assert [(mark.text, mark.colour) for mark in words] == [
        ("The slow program:", "ink"),
        ("for", "keyword"),
        ("x", "ink"),
        ("in", "keyword"),
        ("y:", "ink"),
        ("pass", "keyword"),
        ("for ever", "ink"),
    ]
    assert [mark.face for mark in words] == ["", *["mono"] * 5, ""]
    assert sorted({round(mark.y) for mark in words}) == [10, 30, 50, 70]
