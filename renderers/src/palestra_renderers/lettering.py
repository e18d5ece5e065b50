"""The bundled font: its files, how wide a text is in it, and what of a text fits a width.

Pictures of pages ask the browser for the same font, or for Verdana, which is as wide. A width is in
the pixels or units of its picture, and `height` is that of a line of text.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, Literal

Face = Literal["", "bold", "mono"]

FILES: Final = {
    "": "DejaVuSans.ttf",
    "bold": "DejaVuSans-Bold.ttf",
    "mono": "DejaVuSansMono.ttf",
}
EM = 0.74  # size of the font over the height of a line
SMALLEST = 7  # pixels of an em; smaller letters are blots
HANG = "    "  # before what goes on of a program's line
UNITS = 1_000  # pixels to an em where letters are measured


def font_file(face: Face = "") -> Path:
    return Path(__file__).with_name("fonts") / FILES[face]


def font_size(height: float) -> int:
    """The pixels of an em with which a painter draws text of this height: never wider than it is
    measured, unless it would be too small to read.
    """
    return max(SMALLEST, int(EM * height))


def text_width(text: str, height: float, face: Face = "") -> float:
    """How wide a line of text is."""
    return EM * height * ems(text, face)


@lru_cache(maxsize=16_384)
def ems(text: str, face: Face = "") -> float:
    """The width of a line of text over the size of its font."""
    return sum(advance(letter, face) for letter in text)


@lru_cache(maxsize=4_096)
def advance(letter: str, face: Face = "") -> float:
    return float(_measured(face).getlength(letter)) / UNITS


@cache
def _measured(face: Face) -> Any:
    from PIL import ImageFont

    # letters are measured one by one: the bundled files have no pairs that stand closer
    return ImageFont.truetype(str(font_file(face)), UNITS, layout_engine=ImageFont.Layout.BASIC)


def height_for(text: str, room: float, most: float) -> float:
    """The height, at most `most`, at which a line of text fits a width."""
    return min(most, room / (EM * max(0.1, ems(text))))


def cut(text: str, room: float, height: float, face: Face = "") -> str:
    """A line of text, or as much of its beginning as fits, with an ellipsis."""
    most = room / (EM * height)
    if ems(text, face) <= most:
        return text
    reach = list(accumulate(advance(letter, face) for letter in text))
    fits = bisect_right(reach, most - advance("…", face))
    return f"{text[:fits].rstrip()}…"


def wrap_program(line: str, room: float, height: float) -> list[str]:
    """Break a line of a program: what goes on below begins deeper than the line itself."""
    if text_width(line, height, "mono") <= room:
        return [line]
    text = line.lstrip(" ")
    margin = line[: min(len(line) - len(text), int(room / text_width(" ", height, "mono")) // 3)]
    deeper = margin + HANG
    rows = wrap(text, room - text_width(deeper, height, "mono"), height, "mono")
    return [margin + rows[0], *(deeper + row for row in rows[1:])]


def wrap(text: str, room: float, height: float, face: Face = "") -> list[str]:
    """Break a line of text at spaces, or anywhere if a word does not fit a line."""
    most = room / (EM * height)
    if ems(text, face) <= most:
        return [text]
    reach = list(accumulate((advance(letter, face) for letter in text), initial=0.0))
    lines, start = [], 0
    while reach[-1] - reach[start] > most:
        end = max(start + 1, bisect_right(reach, reach[start] + most + 1e-9) - 1)
        space = text.rfind(" ", start + 1, end + 1)
        end = space if space > 0 else end
        lines.append(text[start:end].rstrip())
        start = end
        while start < len(text) and text[start] == " ":
            start += 1
    return [*lines, text[start:]] if start < len(text) else lines
