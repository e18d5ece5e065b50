"""A whole scene: its caption, and its parts one below the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

from palestra import Grid, Scene
from palestra.scene import (
    Bars,
    Cards,
    Chart,
    Dice,
    Graph,
    Hexes,
    Lines,
    Page,
    Part,
    Plane,
    RoundTable,
    Talk,
)
from palestra.scene import Table as Cells

from palestra_renderers.layout.cards import lay_cards, lay_dice
from palestra_renderers.layout.charts import bars_height, lay_bars, lay_cells, lay_chart
from palestra_renderers.layout.graphs import lay_graph
from palestra_renderers.layout.grid import lay_grid
from palestra_renderers.layout.hexes import lay_hexes
from palestra_renderers.layout.pages import lay_page
from palestra_renderers.layout.people import lay_table
from palestra_renderers.layout.planes import lay_plane
from palestra_renderers.layout.programs import lay_program
from palestra_renderers.layout.sheet import Sheet, fold
from palestra_renderers.layout.talk import lay_talk, talk_height
from palestra_renderers.lettering import text_width, wrap, wrap_program
from palestra_renderers.marks import Words
from palestra_renderers.plain import clean

FENCE = "```"  # before and after a program in a text


def wrapped_lines(part: Lines, line: float, width: float) -> list[str]:
    """The lines of a text as they are shown, and those of a program in it after a `FENCE`.

    A program stands between two fences, as in Markdown, which are not shown.
    """
    room = width - line - text_width(" …", line)  # which may follow the last that fits
    found, fence = [], ""
    for text in (row for lines in part.lines for row in lines.splitlines()):
        if text.startswith(FENCE):
            fence = "" if fence else FENCE
        else:
            broken = wrap_program if fence else wrap
            found += [fence + row for row in broken(clean(text, 2_000), room, line)]
    return found


def lay_lines(part: Lines, top: float, room: float, sheet: Sheet) -> float:
    """The first and the last lines that fit, wrapped at words; programs in colours."""
    line = sheet.line
    shown = fold(wrapped_lines(part, line, sheet.width), int(room / line))
    at = top + line / 2
    for is_program, rows in groupby(shown, key=lambda row: row.startswith(FENCE)):
        texts = tuple(row.removeprefix(FENCE) for row in rows)
        if is_program:
            sheet.marks += lay_program(texts, line / 2, at, line)
        else:
            sheet.marks += (
                Words(line / 2, at + n * line, text, line, "ink", "start", "paper")
                for n, text in enumerate(texts)
            )
        at += line * len(texts)
    return line * len(shown)


LAYOUTS: dict[type, Callable[[Any, float, float, Sheet], float]] = {
    Grid: lay_grid,
    Hexes: lay_hexes,
    Graph: lay_graph,
    Plane: lay_plane,
    Cards: lay_cards,
    Dice: lay_dice,
    RoundTable: lay_table,
    Chart: lay_chart,
    Cells: lay_cells,
    Talk: lay_talk,
    Bars: lay_bars,
    Lines: lay_lines,
    Page: lay_page,
}
BOARD = 3
# How much of what others leave a part takes; the rest have the height of their lines
SHARES: dict[type, float] = {
    Grid: BOARD,
    Hexes: BOARD,
    Graph: BOARD,
    Plane: BOARD,
    RoundTable: BOARD,
    Chart: 2,
    Talk: 1.5,
    Page: BOARD,
}

LEAST: dict[type, float] = {Cells: 3}  # lines that a part needs; one without an entry
BESIDE_BOARDS, BESIDE_CARDS = 0.4, 0.55  # of the whole: the most for other parts
FILLED = 0.85  # of the whole, by cards and dice; the rest is for events
SHORT = 0.35  # of the whole: a conversation that takes no more has the height of its lines


def fixed_height(part: Part, line: float, width: float) -> float:
    """The height in which a part of lines is at ease."""
    if isinstance(part, Cards):
        return (3.25 if part.cards else 1.25) * line
    if isinstance(part, Dice):
        return 2.05 * line
    if isinstance(part, Bars):
        return bars_height(part, line, width)
    if isinstance(part, Cells):
        return line * (0.9 * (len(part.rows) + 1) + bool(part.title))
    if isinstance(part, Lines):
        return line * len(wrapped_lines(part, line, width))
    return 0.0


def lay_out(scene: Scene, sheet: Sheet, top: float, bottom: float) -> float:
    """Draw a scene between two heights; returns where it ends.

    Boards, tables and charts share what parts of lines leave: at least three fifths of the whole
    for boards, 45 % beside rows of cards, two fifths without boards.
    """
    line = sheet.line
    if scene.caption:
        sheet.write(
            scene.caption, line / 2, top + line / 2, room=sheet.width - line, ground="paper",
            face="bold",
        )  # fmt: skip
        top += line * 1.25
    parts = list(scene.all_parts())
    total, gap = bottom - top, line / 3
    space = total - gap * max(0, len(parts) - 1)
    given = fixed_rooms(parts, space, sheet)
    shares = sum(SHARES[type(part)] for n, part in enumerate(parts) if n not in given)
    rest = space - sum(given.values())
    y = top
    for number, part in enumerate(parts):
        room, from_rest = given.get(number, 0.0), number not in given
        if from_rest:
            share = SHARES[type(part)]
            room, shares = rest * share / shares, shares - share
        elif isinstance(part, Lines) and not shares:  # a text also gets what others have left
            rest += room
            room, from_rest = min(rest, bottom - y), True
        used = LAYOUTS[type(part)](part, y, max(line / 2, room), sheet)
        rest -= used if from_rest else 0.0
        y += used + gap
    return y - gap if parts else y


def fixed_rooms(parts: list[Part], space: float, sheet: Sheet) -> dict[int, float]:
    """The heights of the parts that do not share what is left, by their numbers."""
    line, fixed = sheet.line, dict[int, float]()
    for number, part in enumerate(parts):
        if type(part) not in SHARES:
            fixed[number] = fixed_height(part, line, sheet.width)
        elif isinstance(part, Talk) and (tall := talk_height(part, sheet)) < SHORT * space:
            fixed[number] = tall  # a short conversation leaves space to the others
    kinds = {type(part) for number, part in enumerate(parts) if number not in fixed}
    boards = any(SHARES[kind] == BOARD for kind in kinds)
    cards = any(isinstance(part, Cards | Dice) for part in parts)
    most = (BESIDE_CARDS if cards else BESIDE_BOARDS) if boards else 0.6 if kinds else 1.0
    least = {n: min(tall, line * LEAST.get(type(parts[n]), 1)) for n, tall in fixed.items()}
    more = {n: tall - least[n] for n, tall in fixed.items()}
    spread = shared_room(more, max(0.0, space * most - sum(least.values())))
    given = {number: least[number] + spread[number] for number in fixed}
    if not kinds:
        grow(parts, given, space * FILLED)
    return given


def grow(parts: list[Part], given: dict[int, float], room: float) -> None:
    """Let cards and dice take what is left of a height, up to twice theirs."""
    rows = [n for n, part in enumerate(parts) if isinstance(part, Cards | Dice)]
    taken = sum(given[number] for number in rows)
    others = sum(given.values()) - taken
    for number in rows:
        given[number] *= min(2.0, max(1.0, (room - others) / taken))


def shared_room(wanted: Mapping[int, float], room: float) -> dict[int, float]:
    """What each part gets of a height: small ones all that they want, the others equal shares."""
    given, left = {}, room
    ordered = sorted(wanted, key=lambda number: wanted[number])
    for place, number in enumerate(ordered):
        given[number] = min(wanted[number], left / (len(ordered) - place))
        left -= given[number]
    return given
