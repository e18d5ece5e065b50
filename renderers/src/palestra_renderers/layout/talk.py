"""Conversations, as bubbles beside the names of those who speak."""

from __future__ import annotations

from palestra.scene import Saying, Talk

from palestra_renderers.layout.programs import lay_program
from palestra_renderers.layout.sheet import Sheet, opening
from palestra_renderers.lettering import wrap, wrap_program
from palestra_renderers.marks import Circle, Rect, Words
from palestra_renderers.plain import clean_lines
from palestra_renderers.theme import paint_of


def said_lines(saying: Saying, sheet: Sheet) -> list[str]:
    """What somebody said, in at most ten lines."""
    line = sheet.line
    wide = sheet.width - min(sheet.width / 4, line * 6) - 2 * line
    rows = clean_lines([saying.text], 600)
    broken = wrap_program if saying.code else wrap
    return opening([part for row in rows for part in broken(row, wide, line * 0.85)], 10)


def talk_height(talk: Talk, sheet: Sheet) -> float:
    """The height of a conversation in full."""
    size = sheet.line * 0.85
    return sum(size * (len(said_lines(saying, sheet)) + 1) for saying in talk.sayings[-40:])


def lay_talk(talk: Talk, top: float, room: float, sheet: Sheet) -> float:
    """The last sayings that fit, as bubbles beside their speakers' names; of the last what fits."""
    line = sheet.line
    size, name = line * 0.85, min(sheet.width / 4, line * 6)
    shown: list[tuple[int, list[str]]] = []
    height = 0.0
    for number in range(len(talk.sayings) - 1, -1, -1):
        lines = said_lines(talk.sayings[number], sheet)
        if not shown:
            lines = opening(lines, int(room / size - 1 - (number > 0)))
        height += size * len(lines) + size
        if height + size * (number > 0) > room and shown:
            break
        shown.insert(0, (number, lines))
    y = top
    if shown and shown[0][0]:
        sheet.note(f"… {shown[0][0]} earlier", line * 0.6, y + size / 2, size)
        y += size
    for number, lines in shown:
        saying = talk.sayings[number]
        tall = size * len(lines) + size / 2
        paint = paint_of(saying.colour)
        sheet.marks.append(Circle(line * 0.8, y + size * 0.75, size / 3, paint, "black"))
        sheet.write(saying.speaker, line * 1.4, y + size * 0.75, room=name - line, height=size)
        box = Rect(
            name + line / 2, y, sheet.width - name - line, tall, "panel", "faint", 1, size / 2
        )
        sheet.marks.append(box)
        first = y + size * 0.75
        if saying.code:
            sheet.marks += lay_program(tuple(lines), name + line, first, size)
        else:
            words = (
                Words(name + line, first + size * n, text, size) for n, text in enumerate(lines)
            )
            sheet.marks += words
        y += tall + size / 2
    return y - top
