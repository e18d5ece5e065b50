"""Kitchens as text: the five classic layouts, and a parser for user-defined ones.

One character a cell: `X` counter, `P` pot, `O` onion dispenser, `D` dish dispenser, `S` serving
station, a space for floor, and `1` to `4` for the floor on which a player starts. No floor is on
the edge. Errors name line and column, counted from 1 at the north-west corner.

The layouts are those of Carroll et al., "On the Utility of Learning about Humans for Human-AI
Coordination", NeurIPS 2019.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache

from palestra import InvalidOption

FLOOR, COUNTER, POT, ONIONS, DISHES, SERVING = range(6)
SYMBOLS = " XPODS"  # by tile
TILE_NAMES = ("floor", "counter", "pot", "onion dispenser", "dish dispenser", "serving station")
STARTS = "1234"
SHORTEST, LONGEST = 3, 20  # sides of a kitchen
NOWHERE = -1
RANDOM = "random"  # the name of the layout that is drawn anew for every episode
BESIDE = ((-1, 0), (1, 0), (0, 1), (0, -1))  # offsets, in the order of a kitchen's actions

LAYOUTS = {
    "cramped_room": """
XXPXX
O  2O
X1  X
XDXSX
""",
    "asymmetric_advantages": """
XXXXXXXXX
O XSXOX S
X   P 1 X
X2  P   X
XXXDXDXXX
""",
    "coordination_ring": """
XXXPX
X 1 P
D2X X
O   X
XOSXX
""",
    "forced_coordination": """
XXXPX
O X1P
O2X X
D X X
XXXSX
""",
    "counter_circuit": """
XXXPPXXX
X  2   X
D XXXX S
X  1   X
XXXOOXXX
""",
}


@dataclass(frozen=True)
class Layout:
    """A kitchen; cells are numbered row by row, `starts` is NOWHERE for a digit not in the text."""

    rows: int
    columns: int
    tiles: tuple[int, ...]
    starts: tuple[int, ...]

    def place(self, cell: int) -> tuple[int, int]:
        """Row and column, from 0."""
        return divmod(cell, self.columns)

    def lines(self) -> list[str]:
        """The tiles as text, a line a row, with a dot for floor."""
        drawn = "".join(SYMBOLS[tile] for tile in self.tiles).replace(" ", ".")
        starts = range(0, len(drawn), self.columns)
        return [drawn[start : start + self.columns] for start in starts]

    def cells_of(self, tile: int) -> list[int]:
        """The cells with a tile."""
        return [cell for cell, found in enumerate(self.tiles) if found == tile]

    def around(self, cell: int) -> Iterator[int]:
        """The cells north, south, east and west of a cell, as far as there are any."""
        return (there for there in self.ahead[cell] if there is not None)

    @cached_property
    def ahead(self) -> tuple[tuple[int | None, ...], ...]:
        """By cell the next one north, south, east and west of it; None beyond the edge."""

        def beside(cell: int, south: int, east: int) -> int | None:
            row, column = self.place(cell)
            inside = 0 <= row + south < self.rows and 0 <= column + east < self.columns
            return cell + south * self.columns + east if inside else None

        cells = range(len(self.tiles))
        return tuple(tuple(beside(cell, *offset) for offset in BESIDE) for cell in cells)

    @cached_property
    def regions(self) -> dict[int, frozenset[int]]:
        """For every floor cell, all the floor that a player can walk to from it."""
        found: dict[int, frozenset[int]] = {}
        for start in self.cells_of(FLOOR):
            if start not in found:
                region = {start}
                queue = [start]
                while queue:
                    new = {c for c in self.around(queue.pop()) if self.tiles[c] == FLOOR} - region
                    region |= new
                    queue += new
                found |= dict.fromkeys(region, frozenset(region))
        return found

    def touches(self, region: frozenset[int], cell: int) -> bool:
        """Whether a player in a region can stand beside a cell."""
        return any(beside in region for beside in self.around(cell))


@lru_cache(maxsize=1024)
def layout_of(rows: int, columns: int, tiles: bytes) -> Layout:
    """The kitchen of these tiles, a byte each, row by row."""
    return Layout(rows, columns, tuple(tiles), ())


@lru_cache(maxsize=256)
def read_layout(text: str) -> Layout:
    """The layout with this name, or the one drawn by a multi-line text.

    Raises `InvalidOption` for an unknown name and for a text that is not a valid kitchen.
    """
    if "\n" in text:
        return parse(text)
    if text not in LAYOUTS:
        close = get_close_matches(text, [*LAYOUTS, RANDOM], 1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise InvalidOption(
            f"unknown layout {text!r}; {hint}there are {', '.join(LAYOUTS)} and {RANDOM}; "
            "or draw a kitchen as a text of several lines"
        )
    return parse(LAYOUTS[text])


def parse(text: str) -> Layout:
    """Read a drawn kitchen, without blank lines around it and a common indent.

    Raises `InvalidOption`, with line and column, if it is not a valid kitchen.
    """
    lines = _dedent(text)
    width = len(lines[0]) if lines else 0
    if not (SHORTEST <= len(lines) <= LONGEST and SHORTEST <= width <= LONGEST):
        raise InvalidOption(
            f"a kitchen has {SHORTEST} to {LONGEST} lines and columns, "
            f"not {len(lines)} lines and {width} columns"
        )
    tiles: list[int] = []
    starts = [NOWHERE] * len(STARTS)
    for number, line in enumerate(lines):
        _check_line(lines, number)
        for column, symbol in enumerate(line):
            if symbol in STARTS:
                if starts[int(symbol) - 1] != NOWHERE:
                    error = f"start {symbol} is already taken; draw each start once"
                    raise _fault(number, column, error)
                starts[int(symbol) - 1] = len(tiles)
            tiles.append(FLOOR if symbol in STARTS else SYMBOLS.index(symbol))
    return Layout(len(lines), width, tuple(tiles), tuple(starts))


def _check_line(lines: list[str], number: int) -> None:
    """Raise `InvalidOption` for a wrong length or symbol, or floor on the edge."""
    line, width = lines[number], len(lines[0])
    if len(line) != width:
        error = f"line 1 has {width} columns; give this line as many"
        raise _fault(number, min(len(line), width), error)
    for column, symbol in enumerate(line):
        if symbol not in SYMBOLS + STARTS:
            accepted = "X, P, O, D, S, 1 to 4 or a space"
            raise _fault(number, column, f"{symbol!r} means nothing; use {accepted}")
        on_edge = number in (0, len(lines) - 1) or column in (0, width - 1)
        if on_edge and symbol in " " + STARTS:
            raise _fault(number, column, "the edge must be closed, for example by a counter X")


def _dedent(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.expandtabs().splitlines()]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    indent = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return [line[indent:] for line in lines]


def _fault(line: int, column: int, what: str) -> InvalidOption:
    return InvalidOption(f"layout, line {line + 1}, column {column + 1}: {what}")


def place_players(layout: Layout, players: int) -> tuple[int, ...]:
    """The cell where each player starts: their digit, else the first free floor, row by row."""
    starts = list(layout.starts[:players])
    free = [cell for cell in layout.cells_of(FLOOR) if cell not in starts]
    if starts.count(NOWHERE) > len(free):
        raise InvalidOption(f"the layout has no room for {players} players; draw more floor")
    return tuple(free.pop(0) if start == NOWHERE else start for start in starts)


def check_solvable(layout: Layout, starts: tuple[int, ...]) -> None:
    """Raise `InvalidOption` where players who start here can never deliver a soup.

    Players pass things on over counters that both can reach, and over pots.
    """
    teams = _teams(layout, starts)

    def served_tiles(tile: int, team: frozenset[int]) -> set[int]:
        return {cell for cell in layout.cells_of(tile) if layout.touches(team, cell)}

    for tile in (POT, ONIONS, DISHES, SERVING):
        cells = layout.cells_of(tile)
        if not cells:
            raise InvalidOption(f"the layout has no {TILE_NAMES[tile]} ({SYMBOLS[tile]})")
        if not any(served_tiles(tile, team) for team in teams):
            raise _fault(*layout.place(cells[0]), f"no player can reach this {TILE_NAMES[tile]}")
    filled = {
        pot for team in teams if served_tiles(ONIONS, team) for pot in served_tiles(POT, team)
    }
    emptied = {
        pot for team in teams if served_tiles(DISHES, team) for pot in served_tiles(POT, team)
    }
    if not filled:
        where = layout.place(layout.cells_of(ONIONS)[0])
        raise _fault(*where, "no onion can get from here to a pot")
    if not filled & emptied:
        where = layout.place(layout.cells_of(DISHES)[0])
        raise _fault(*where, "no dish can get from here to a pot that onions get to")
    for team in teams:
        if (
            served_tiles(DISHES, team)
            and served_tiles(SERVING, team)
            and served_tiles(POT, team) & filled
        ):
            return
    where = layout.place(min(filled & emptied))
    raise _fault(*where, "no soup can get from this pot to a serving station")


def _teams(layout: Layout, starts: tuple[int, ...]) -> list[frozenset[int]]:
    """The regions that players can walk on; regions that share a counter are merged."""
    teams = list({layout.regions[start] for start in starts})
    for counter in layout.cells_of(COUNTER):
        joined = [team for team in teams if layout.touches(team, counter)]
        if len(joined) > 1:
            teams = [team for team in teams if team not in joined]
            teams.append(frozenset[int]().union(*joined))
    return teams
