"""The bundled font: what is measured is what is painted, and all that games write has a glyph."""

from __future__ import annotations

import palestra
import pytest
from palestra import Episode, Rng
from palestra_renderers.drawing import words
from palestra_renderers.layout.scenes import lay_out
from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.lettering import (
    EM,
    FILES,
    Face,
    cut,
    font_file,
    font_size,
    height_for,
    text_width,
    wrap,
    wrap_program,
)
from palestra_renderers.marks import Layer, Mark, Words
from PIL import ImageFont

TEXTS = ["player_0: 12.5", "WWWW", "illicit fill", "Zug 3: ♞ f3 → ♔", "−1.50 € für 3 Stück …"]


@pytest.mark.parametrize("face", FILES)
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("height", [14, 20, 33.5])
def test_text_is_as_wide_as_it_is_painted(text: str, height: float, face: Face) -> None:
    painted = words(text, height, (0, 0, 0), face).get_width()
    wide, slack = text_width(text, height, face), 0.6 * len(text) + 2  # letters begin on pixels
    narrowest = wide * font_size(height) / (EM * height)  # the size of a font is a whole number
    assert narrowest - slack <= painted <= wide + slack


@pytest.mark.parametrize("room", [40, 75, 130, 400])
def test_cut_and_wrapped_lines_fit_and_lose_nothing(room: float) -> None:
    text = "Fifteen incomprehensibilities, and   two spaces: iiiiiiiiiiiiiiiiii WWWWWWWWW"
    assert text_width(cut(text, room, 20), 20) <= room
    lines = wrap(text, room, 20)
    assert all(text_width(line, 20) <= room for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert text_width("12.50", height_for("12.50", room, 99)) <= room + 1e-9


@pytest.mark.parametrize("indent", [0, 4, 16, 60])
@pytest.mark.parametrize("room", [120, 240, 400])
def test_a_wrapped_line_of_a_program_goes_on_deeper_than_it_begins(indent: int, room: int) -> None:
    line = (
        f"{' ' * indent}table[row + 1][column] = max(table[row][column], table[row][column + 1], 0)"
    )
    first, *further = wrap_program(line, room, 14)
    assert further
    assert all(text_width(row, 14, "mono") <= room for row in (first, *further))
    margins = [len(row) - len(row.lstrip()) for row in (first, *further)]
    assert margins[0] == indent or indent > margins[0] >= 5
    assert set(margins[1:]) == {margins[0] + 4}
    assert "".join([first, *further]).replace(" ", "") == line.replace(" ", "")


def written(marks: list[Mark] | tuple[Mark, ...]) -> set[str]:
    """Every letter among some marks."""
    found: set[str] = set()
    for mark in marks:
        if isinstance(mark, Words):
            found |= set(mark.text)
        elif isinstance(mark, Layer):
            found |= written(mark.marks)
    return found


@pytest.mark.parametrize("env", [spec.id for spec in palestra.specs()])
def test_every_letter_of_a_picture_has_a_glyph(env: str) -> None:
    spec = next(spec for spec in palestra.specs() if spec.id == env)
    episode, rng, sheet = (
        Episode(palestra.game(env), 3, spec=spec, compiled=False),
        Rng(8),
        Sheet(480, 20),
    )
    for _ in range(8):
        if not episode.over:
            episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})
    lay_out(episode.scene(), sheet, 0, 400)
    font = ImageFont.truetype(font_file(), 40, layout_engine=ImageFont.Layout.BASIC)
    missing = bytes(font.getmask("\U0010ffff"))
    lost = {
        letter
        for letter in written(sheet.marks)
        if not letter.isspace() and bytes(font.getmask(letter)) == missing
    }
    assert not lost
