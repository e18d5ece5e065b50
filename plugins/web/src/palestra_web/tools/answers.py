"""Pictures of the calls of tools and of what they answered."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from palestra.scene import (
    Bar,
    Bars,
    Colour,
    Graph,
    Grid,
    Lines,
    Link,
    Node,
    Part,
    Piece,
    Table,
    mark_cells,
)

from palestra_web.tools.game import Made
from palestra_web.tools.library import Library

CALLS, ROWS, COLUMNS, LETTERS = 6, 20, 4, 40  # in a picture: calls, rows and columns, in a cell
LONGEST = 13  # letters of a tool beside a grid
ASIDE, WIDE = 6, 10  # functions off the way, calls in a grid


def call_table(calls: Sequence[Made], most: int = CALLS) -> Table:
    """The last calls with what each led to, `most` at most; those that failed are red."""
    first = max(0, len(calls) - most)
    rows = tuple(
        (str(number), made.call.tool, _arguments(made), "error" if made.failed else "")
        for number, made in enumerate(calls[first:], first + 1)
    )
    colours = tuple("red" if made.failed else "green" for made in calls[first:])
    return Table(("", "call", "of", ""), rows, colours=colours)


def call_grid(calls: Sequence[Made], most: int) -> Grid:
    """A row for each tool that was called and a column for each of the last calls."""
    width = min(most, WIDE)
    first = max(0, len(calls) - width)
    shown = calls[first:]
    tools = tuple(dict.fromkeys(made.call.tool for made in shown))
    rows = tuple(
        tuple(_call_piece(made) if made.call.tool == tool else None for made in shown)
        + (None,) * (width - len(shown))
        for tool in tools
    )
    last = [(tools.index(shown[-1].call.tool), len(shown) - 1)] if shown else []
    numbers = tuple(str(first + n + 1) for n in range(width))
    return Grid(rows, tuple(map(_short, tools)), numbers, marks=mark_cells("last", last))


def _short(tool: str) -> str:
    """The name of a tool; of a long one without its first word."""
    return (tool if len(tool) <= LONGEST else tool.partition("_")[2] or tool).replace("_", " ")


def _call_piece(made: Made) -> Piece:
    sign, colour = ("x", "red") if made.failed else ("+", "green")
    return Piece(sign, colour, label=_arguments(made))


def type_graph(
    library: Library,
    way: Sequence[str],
    ends: tuple[Sequence[str], Sequence[str]],
    calls: Sequence[Made],
) -> Graph:
    """The types of values that functions lead from and to.

    way: functions drawn above, grey until they were called. ends: the types that a request
        gives, in blue, and asks for, in gold. calls: those made, all of them of functions;
        answered ones are green, failed ones red.
    """
    functions, (given, goals) = library.functions, ends
    called = {made.call.tool: "red" if made.failed else "green" for made in calls}
    shown = list(dict.fromkeys([*way, *called]))[: len(way) + ASIDE]
    above = [kind for name in way for kind in (functions[name].takes, functions[name].gives)]
    above = list(dict.fromkeys([*given, *above, *goals]))
    rest = [kind for name in shown for kind in (functions[name].takes, functions[name].gives)]
    below = [kind for kind in dict.fromkeys(rest) if kind not in above]
    known = {functions[name].gives for name, colour in called.items() if colour == "green"}
    nodes = []
    rows = [row for row in (above, *(below[n : n + 3] for n in range(0, len(below), 3))) if row]
    for number, row in enumerate(rows):
        for place, kind in enumerate(row):
            colour = "green" if kind in known else "silver"
            colour = "gold" if kind in goals else "blue" if kind in given else colour
            across = place / max(1, len(row) - 1) if len(row) > 1 else 0.5
            down = (number + 0.5 * (place % 2)) / max(0.5, len(rows) - 1)
            nodes.append(Node("", colour, kind, (across, min(1.0, down))))
    order = [kind for row in rows for kind in row]
    links = [
        Link(
            order.index(functions[name].takes), order.index(functions[name].gives),
            colour=called.get(name, "silver"), weight=1.6, directed=True,
        )
        for name in shown
        if functions[name].takes != functions[name].gives
    ]  # fmt: skip
    return Graph(tuple(nodes), tuple(links))


def _arguments(made: Made) -> str:
    return _beginning(", ".join(str(value) for value in made.call.values.values()))


def answer_part(made: Made, right: str = "") -> Part:
    """What a call answered: numbers as bars, objects as a table; what is named `right` is gold.

    In a table of objects that row comes first.
    """
    if made.failed:
        return Lines((f"error: {made.reply}",))
    found = json.loads(made.reply)
    if isinstance(found, Mapping) and found and all(map(_is_number, found.values())):
        return _bars(found, right)
    if isinstance(found, Mapping) and found and all(isinstance(v, Mapping) for v in found.values()):
        return _table([{"": key, **value} for key, value in found.items()], right)
    if isinstance(found, list) and found and all(isinstance(one, Mapping) for one in found):
        return _table(found, right)
    pairs = found.items() if isinstance(found, Mapping) else enumerate(_listed(found), 1)
    rows = tuple((str(name), _cell(value)) for name, value in pairs)
    return Table(("", "answer"), rows[:ROWS], colours=_tints(rows[:ROWS], right))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _listed(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


def _bars(found: Mapping[str, float], right: str) -> Bars:
    shown = list(found.items())[:ROWS]
    full = max(1, *found.values())
    return Bars(tuple(Bar(name, n, full, "gold" if name == right else "blue") for name, n in shown))


def _table(found: Sequence[Mapping[str, Any]], right: str) -> Table:
    header = tuple(found[0])[:COLUMNS]
    rows = tuple(tuple(_cell(one.get(name, "")) for name in header) for one in found)
    rows = tuple(sorted(rows, key=lambda row: right not in row))[:ROWS] if right else rows[:ROWS]
    return Table(header, rows, colours=_tints(rows, right))


def _tints(rows: Sequence[tuple[str, ...]], right: str) -> tuple[Colour, ...]:
    return tuple("gold" if right and right in row else "blue" for row in rows)


def _cell(value: Any) -> str:
    return _beginning(f"{value:.1f}" if isinstance(value, float) else str(value))


def _beginning(text: str) -> str:
    """A text, or its beginning with a sign that more follows."""
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 2]} …"
