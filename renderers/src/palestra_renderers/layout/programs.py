"""Programs in Python as marks: the language's words, texts, numbers and comments in colours."""

from __future__ import annotations

import re
from functools import lru_cache

from palestra_renderers.lettering import EM, font_size, text_width
from palestra_renderers.marks import Words

WORD = re.compile(r"\S+")


def lay_program(lines: tuple[str, ...], x: float, top: float, size: float) -> list[Words]:
    """The lines of a program from (x, top) on, in letters of one width.

    Words are placed one by one, and by the size that painters use: they round it to pixels, and
    the width of a letter too.

    lines: as they are shown. size: of a line, in the units of the picture.
    """
    marks = []
    height = (font_size(size) + 0.001) / EM
    for row, parts in enumerate(coloured(lines)):
        before = ""
        for text, colour in parts:
            for word in WORD.finditer(text):
                at = x + text_width(before + text[: word.start()], height, "mono")
                marks.append(Words(at, top + size * row, word[0], height, colour, face="mono"))
            before += text
    return marks


@lru_cache(maxsize=256)
def coloured(lines: tuple[str, ...]) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Of each line its parts, one after the other, and the theme's name of their colour."""
    from pygments.lexers.python import PythonLexer
    from pygments.token import Comment, Keyword, Number, Operator, String

    kinds = (
        (Keyword, "keyword"),
        (Operator.Word, "keyword"),
        (String, "string"),
        (Number, "number"),
        (Comment, "quiet"),
    )
    rows: list[list[tuple[str, str]]] = [[]]
    lexer = PythonLexer(stripnl=False, ensurenl=False)
    for token, text in lexer.get_tokens("\n".join(lines)):
        colour = next((name for kind, name in kinds if token in kind), "ink")
        first, *further = text.split("\n")
        _append(rows[-1], first, colour)
        for line in further:
            rows.append([])
            _append(rows[-1], line, colour)
    return tuple(map(tuple, rows))


def _append(row: list[tuple[str, str]], text: str, colour: str) -> None:
    """Put text at the end of a line: to its last part if nobody sees the difference."""
    if row and (row[-1][1] == colour or text.isspace() or not text):
        row[-1] = (row[-1][0] + text, row[-1][1])
    elif text:
        row.append((text, colour))
