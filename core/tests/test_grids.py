"""What grid games share, against networkx, numpy's rotations and brute force."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from palestra import InvalidOption
from palestra.grids.compass import (
    EAST,
    EASTWARD,
    FACING_EASTWARD,
    FACING_SOUTHWARD,
    FACINGS,
    MOVES,
    NORTH,
    SOUTHWARD,
)
from palestra.grids.levels import read_level
from palestra.grids.moving import NOWHERE, measure, neighbour, resolve
from palestra.grids.paths import routes, way
from palestra.grids.sight import clear_line, sees
from palestra.grids.windows import (
    ahead_of,
    cells_of,
    draw_window,
    right_of,
    window_column,
    window_row,
)
from palestra.grids.words import quantity, where

ROWS, COLUMNS = 4, 5
SIZE = SimpleNamespace(rows=ROWS, columns=COLUMNS, num_players=4, sight=2)
walls = st.lists(st.booleans(), min_size=ROWS * COLUMNS, max_size=ROWS * COLUMNS)
cells = st.integers(0, ROWS * COLUMNS - 1)


def graph_of(blocked: list[bool]) -> Any:
    """The floor as networkx sees it."""
    grid = networkx.grid_2d_graph(ROWS, COLUMNS)
    grid.remove_nodes_from([divmod(cell, COLUMNS) for cell in range(len(blocked)) if blocked[cell]])
    return grid


def test_actions_and_facings_of_one_name_lead_the_same_way_and_facings_turn_right() -> None:
    for facing, name in enumerate(FACINGS):
        south, east = FACING_SOUTHWARD[facing], FACING_EASTWARD[facing]
        action = MOVES.index(name)
        assert (SOUTHWARD[action], EASTWARD[action]) == (south, east)
        right = (facing + 1) % 4
        assert (FACING_SOUTHWARD[right], FACING_EASTWARD[right]) == (east, -south)
    assert (SOUTHWARD[0], EASTWARD[0]) == (0, 0)


@given(walls, cells)
def test_ways_are_as_long_as_networkx_finds(blocked: list[bool], start: int) -> None:
    blocked[start] = False
    graph = graph_of(blocked)
    lengths = networkx.single_source_shortest_path_length(graph, divmod(start, COLUMNS))
    expected = {row * COLUMNS + column: far for (row, column), far in lengths.items()}

    def steps(cell: int) -> Iterator[tuple[int, int]]:
        for action in range(NORTH, EAST + 1):
            there = neighbour(SIZE, cell, action)
            if there != NOWHERE and not blocked[there]:
                yield action, there

    found = routes(start, steps)
    assert {cell: route.length for cell, route in found.items()} == expected
    assert sorted(expected.values()) == [route.length for route in found.values()]
    for cell, route in found.items():
        moves, here = way(start, {cell}, steps), start
        assert moves is not None
        assert (len(moves), (*moves, -1)[0]) == route
        for move in moves:
            here = neighbour(SIZE, here, move)
            assert not blocked[here]
        assert here == cell
    others = expected.keys() - {start}
    nearest = min((expected[cell] for cell in others), default=0)
    assert not others or len(way(start, others, steps) or ()) == nearest
    assert way(start, set(range(ROWS * COLUMNS)) - found.keys(), steps) is None

    state = SimpleNamespace(
        walls=np.array(blocked, np.int8),
        far=np.zeros((1, len(blocked)), np.int16),
        queue=np.zeros(len(blocked), np.int16),
    )
    assert measure(SIZE, state, 0, start) == len(expected)
    assert {c: int(far) for c, far in enumerate(state.far[0]) if far >= 0} == expected
    assert not state.queue.any()


def moved(cell: list[int], target: list[int], following: bool) -> tuple[list[int], list[int]]:
    state = SimpleNamespace(
        cell=np.array(cell), target=np.array(target), blocked=np.zeros(len(cell), np.int8)
    )
    config = SimpleNamespace(rows=ROWS, columns=COLUMNS, num_players=len(cell))
    resolve(config, state, following)
    return state.cell.tolist(), state.blocked.tolist()


def by_brute_force(cell: list[int], target: list[int], following: bool) -> list[int]:
    """The largest set of moves in which nobody is in another's way."""
    walkers = [p for p in range(len(cell)) if target[p] != cell[p]]
    alone = [p for p in walkers if [target[q] for q in walkers].count(target[p]) == 1]
    if not following:
        alone = [p for p in alone if target[p] not in cell]
    for size in range(len(alone), -1, -1):
        for going in combinations(alone, size):
            ends = [target[p] if p in going else cell[p] for p in range(len(cell))]
            swapped = any(
                target[p] == cell[q] and target[q] == cell[p] for p, q in combinations(going, 2)
            )
            if len(set(ends)) == len(ends) and not swapped:
                return ends
    raise AssertionError("nobody moving is always possible")


@given(st.lists(cells, min_size=4, max_size=4, unique=True), st.data(), st.booleans())
def test_as_many_walk_as_can_whatever_their_seats(
    cell: list[int], data: st.DataObject, following: bool
) -> None:
    target = [
        there if there != NOWHERE else here
        for here in cell
        for there in [neighbour(SIZE, here, data.draw(st.integers(0, EAST)))]
    ]
    ends, blocked = moved(cell, target, following)
    assert ends == by_brute_force(cell, target, following)
    assert blocked == [int(e != t) for e, t in zip(ends, target, strict=True)]
    order = data.draw(st.permutations(range(4)))
    again, _ = moved([cell[p] for p in order], [target[p] for p in order], following)
    assert again == [ends[p] for p in order]


@pytest.mark.parametrize("facing", range(4))
def test_a_window_is_the_map_turned(facing: int) -> None:
    sight, world = 2, np.arange(81).reshape(9, 9)
    state = SimpleNamespace(row=[4], column=[3])
    window = [
        [
            world[
                window_row(state, 0, facing, ahead, right),
                window_column(state, 0, facing, ahead, right),
            ]
            for right in range(-sight, sight + 1)
        ]
        for ahead in range(sight, -sight - 1, -1)
    ]
    assert np.array_equal(window, np.rot90(world[2:7, 1:6], facing))
    for ahead, right, value in cells_of(np.array(window)):
        row, column = divmod(value, 9)
        assert (ahead_of(facing, row - 4, column - 3), right_of(facing, row - 4, column - 3)) == (
            ahead,
            right,
        )


def test_a_window_is_drawn_with_later_planes_on_top() -> None:
    walls, me = np.eye(3, dtype=np.int8), np.zeros((3, 3), np.int8)
    me[1, 1] = 1
    assert draw_window({"#": walls, "^": me}) == ["#..", ".^.", "..#"]


def test_walls_stand_in_the_way_of_a_look_both_ways() -> None:
    lines = ["..#..", ".....", "#.#..", "....."]
    state = SimpleNamespace(walls=np.array([c == "#" for c in "".join(lines)], np.int8), cell=[11])
    looks = {
        (0, 4): False,  # along a row, through a wall
        (5, 9): True,
        (10, 12): True,  # from wall to wall: the ends themselves do not count
        (11, 13): False,
        (6, 18): False,  # along a diagonal
        (1, 19): True,  # between two walls
    }
    for (one, other), clear in looks.items():
        assert clear_line(SIZE, state, one, other) == clear
        assert clear_line(SIZE, state, other, one) == clear
    assert [cell for cell in range(20) if sees(SIZE, state, 0, cell)] == [
        row * COLUMNS + column for row in range(4) for column in range(4)
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("@@\n@x", "line 2, column 2: 'x' means nothing; use '@' a wall, '.' floor"),
        ("@@@\n@", "line 2, column 2: the line is 1 characters long, the first line 3"),
        ("", "line 1 has 0 characters"),
        ("\n".join("." * 61), "61 lines; a map has at most 60"),
    ],
)
def test_a_level_that_cannot_be_read_is_told_by_line_and_column(text: str, says: str) -> None:
    with pytest.raises(InvalidOption, match=says.replace("(", r"\(")):
        read_level(text, {"@": "a wall", ".": "floor"})


def test_a_level_counts_and_masks() -> None:
    level = read_level("@.@\n..@\n", {"@": "a wall", ".": "floor"})
    assert (level.rows, level.columns, level.count("@"), level.count("@.")) == (2, 3, 3, 6)
    assert level.masks("@") == (0b101, 0b100)
    assert level.text() == "@.@\n..@"


def test_places_in_words() -> None:
    assert quantity(1, "cell") == "one cell"
    assert quantity(11, "food") == "11 foods"
    assert where(-2, 1) == "two cells north and one cell east of you"
    assert where(0, 0) == "on your own cell"
