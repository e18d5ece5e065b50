"""Exact mine probabilities for every closed cell, by counting placements.

Closed cells with the same open neighbours are alike and counted together. Groups that share no
open neighbour are independent: the placements of each are listed by how many mines they take, and
the numbers are multiplied, with the ways to lay the other mines where nothing is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from palestra import Rng

CLOSED, MINE = 9, 10  # in the array view; 0 to 8 are counts, MINE one that was opened
Cells = tuple[int, ...]
Counts = tuple[int, ...]  # mines in each group of a component


@dataclass(frozen=True)
class VisibleBoard:
    """What the player sees: rows of codes as in the array view, and how many mines there are."""

    rows: list[list[int]]
    mines: int

    def around(self, cell: int) -> list[int]:
        """The neighbours of a cell, numbered row by row."""
        columns = len(self.rows[0])
        row, column = divmod(cell, columns)
        return [
            r * columns + c
            for r in range(max(row - 1, 0), min(row + 2, len(self.rows)))
            for c in range(max(column - 1, 0), min(column + 2, columns))
            if (r, c) != (row, column)
        ]

    @property
    def flat(self) -> list[int]:
        """The codes of all cells, row by row."""
        return [code for row in self.rows for code in row]


@dataclass(frozen=True)
class Component:
    """Groups of alike cells, and every way to spread mines over the groups."""

    groups: tuple[Cells, ...]
    spreads: tuple[Counts, ...]

    def ways(self, counts: Counts) -> int:
        """The number of placements with this many mines in each group."""
        product = 1
        for group, count in zip(self.groups, counts, strict=True):
            product *= comb(len(group), count)
        return product


def components(board: VisibleBoard) -> tuple[list[Component], Cells]:
    """The independent components, and the closed cells that no open cell is next to."""
    flat = board.flat
    numbers_beside: dict[int, tuple[int, ...]] = {
        cell: tuple(n for n in board.around(cell) if flat[n] < CLOSED)
        for cell, code in enumerate(flat)
        if code == CLOSED
    }
    alike: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for cell, numbers in numbers_beside.items():
        alike[numbers].append(cell)
    unknown = tuple(alike.pop((), []))
    parts = [
        Component(tuple(tuple(alike[key]) for key in keys), spreads(board, flat, keys, alike))
        for keys in connected_keys(list(alike))
    ]
    return parts, unknown


def connected_keys(keys: list[tuple[int, ...]]) -> list[list[tuple[int, ...]]]:
    """Keys grouped into connected components: keys that share a number are together."""
    parts: list[list[tuple[int, ...]]] = []
    left = list(keys)
    while left:
        part, reached = [left.pop(0)], 0
        while reached < len(part):
            near = [key for key in left if set(key) & set(part[reached])]
            left = [key for key in left if key not in near]
            part += near
            reached += 1
        parts.append(part)
    return parts


def spreads(
    board: VisibleBoard,
    flat: list[int],
    keys: Sequence[tuple[int, ...]],
    alike: dict[tuple[int, ...], list[int]],
) -> tuple[Counts, ...]:
    """Every choice of mines by group that agrees with all numbers."""
    need = {number: flat[number] for key in keys for number in key}
    room = {number: sum(len(alike[k]) for k in keys if number in k) for number in need}
    found: list[Counts] = []

    def choose(at: int, chosen: list[int], laid: int) -> None:
        if at == len(keys):
            found.append(tuple(chosen))
            return
        key = keys[at]
        cells = len(alike[key])
        for number in key:
            room[number] -= cells
        for count in range(min(cells, board.mines - laid) + 1):
            for number in key:
                need[number] -= count
            if all(0 <= need[number] <= room[number] for number in key):
                choose(at + 1, [*chosen, count], laid + count)
            for number in key:
                need[number] += count
        for number in key:
            room[number] += cells

    choose(0, [], 0)
    return tuple(found)


def totals(part: Component) -> dict[int, int]:
    """Placements of a component by the number of mines in it."""
    by_mines: dict[int, int] = defaultdict(int)
    for counts in part.spreads:
        by_mines[sum(counts)] += part.ways(counts)
    return by_mines


def convolve(one: dict[int, int], two: dict[int, int]) -> dict[int, int]:
    """The number of placements, by number of mines, of two independent parts together."""
    ways: dict[int, int] = defaultdict(int)
    for a, first in one.items():
        for b, second in two.items():
            ways[a + b] += first * second
    return ways


def placements(board: VisibleBoard) -> int:
    """The number of mine placements that fit the visible board."""
    parts, unknown = components(board)
    ways = rest_ways(board, len(unknown))
    for part in parts:
        ways = convolve(ways, totals(part))
    return ways.get(board.mines, 0)


def rest_ways(board: VisibleBoard, unknown: int) -> dict[int, int]:
    """The number of placements, by number of mines, over cells without information."""
    return {k: comb(unknown, k) for k in range(min(unknown, board.mines) + 1)}


def odds(board: VisibleBoard) -> dict[int, float]:
    """The probability of a mine, for every closed cell."""
    parts, unknown = components(board)
    own = [totals(part) for part in parts]
    rest = rest_ways(board, len(unknown))
    everything = rest
    for each in own:
        everything = convolve(everything, each)
    total = everything[board.mines]
    found: dict[int, float] = {}
    for part, _ in zip(parts, own, strict=True):
        others = rest
        for other, each in zip(parts, own, strict=True):
            if other is not part:
                others = convolve(others, each)
        mines = [0] * len(part.groups)
        for counts in part.spreads:
            ways = part.ways(counts) * others.get(board.mines - sum(counts), 0)
            mines = [m + ways * count for m, count in zip(mines, counts, strict=True)]
        for group, laid in zip(part.groups, mines, strict=True):
            found |= dict.fromkeys(group, laid / len(group) / total)
    if unknown:
        inside = {0: 1}
        for each in own:
            inside = convolve(inside, each)
        laid = sum(k * ways * inside.get(board.mines - k, 0) for k, ways in rest.items())
        found |= dict.fromkeys(unknown, laid / len(unknown) / total)
    return found


def place_mines(board: VisibleBoard, rng: Rng) -> list[int]:
    """The cells of the mines of one placement that fits, all equally likely."""
    parts, unknown = components(board)
    suffix = [rest_ways(board, len(unknown))]
    for part in reversed(parts):
        suffix.append(convolve(suffix[-1], totals(part)))
    left, mines = board.mines, []
    for part, after in zip(parts, reversed(suffix[:-1]), strict=True):
        weights = [part.ways(c) * after.get(left - sum(c), 0) for c in part.spreads]
        counts = part.spreads[rng.weighted(weights)]
        for group, count in zip(part.groups, counts, strict=True):
            mines += draw_cells(group, count, rng)
        left -= sum(counts)
    return sorted(mines + draw_cells(unknown, left, rng))


def draw_cells(cells: Sequence[int], count: int, rng: Rng) -> list[int]:
    """Some of the cells, all choices equally likely."""
    drawn = list(cells)
    rng.shuffle(drawn)
    return drawn[:count]
