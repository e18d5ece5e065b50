"""The board of Catan: adjacency of corners, roads and hexes, map generation, road length.

Hexes are numbered row by row, three, four, five, four and three of them, and called A to S. Drawn
as bricks in a wall, every hex has three corners in the row above it and three in the row below, so
every corner has a row from 0 to 5 and a column from 0 to 10; corners are numbered in that order. A
road is named by its two corners, as in "7-8".
"""

from __future__ import annotations

from collections.abc import Set
from itertools import pairwise

from palestra import Rng

RESOURCES = ("brick", "lumber", "wool", "grain", "ore")
BRICK, LUMBER, WOOL, GRAIN, ORE, DESERT = range(6)
ANY = 5  # the kind of a harbour that takes three of any one resource
KINDS = len(RESOURCES)
TERRAINS = (*RESOURCES, "desert")
TERRAIN_COUNTS = (3, 4, 4, 4, 3, 1)
HARBOURS = (*range(KINDS), ANY, ANY, ANY, ANY)
TOKENS = (5, 2, 6, 3, 8, 10, 9, 12, 11, 4, 8, 10, 9, 4, 5, 6, 3, 11)  # in order of their letters

WIDTHS = (3, 4, 5, 4, 3)  # hexes in each row
HEX_PLACES = tuple((row, 5 - w + 2 * n) for row, w in enumerate(WIDTHS) for n in range(w))
LETTERS = "ABCDEFGHIJKLMNOPQRS"
OUTER = (0, 3, 7, 12, 16, 17, 18, 15, 11, 6, 2, 1)  # the coast, counter-clockwise
INNER = (4, 8, 13, 14, 10, 5)
CENTRE = 9


def ring(row: int, column: int) -> list[tuple[int, int]]:
    """The places of a hex's six corners, clockwise; the hex is at its upper left corner's place."""
    above = [(row, column + n) for n in range(3)]
    return above + [(row + 1, column + n) for n in (2, 1, 0)]


CORNER_PLACES = tuple(sorted({corner for place in HEX_PLACES for corner in ring(*place)}))
HEXES = tuple(tuple(CORNER_PLACES.index(corner) for corner in ring(*place)) for place in HEX_PLACES)
ROADS = tuple(
    sorted(
        {(min(a, b), max(a, b)) for corners in HEXES for a, b in pairwise((*corners, corners[0]))}
    )
)
CORNERS = len(CORNER_PLACES)
ROAD_NAMES = tuple(f"{a}-{b}" for a, b in ROADS)
ROADS_AT = tuple(
    tuple(n for n, ends in enumerate(ROADS) if corner in ends) for corner in range(CORNERS)
)
HEXES_AT = tuple(
    tuple(n for n, corners in enumerate(HEXES) if corner in corners) for corner in range(CORNERS)
)


def other_end(road: int, corner: int) -> int:
    """The corner at the other end of a road."""
    a, b = ROADS[road]
    return b if corner == a else a


NEIGHBOURS = tuple(
    tuple(other_end(road, corner) for road in ROADS_AT[corner]) for corner in range(CORNERS)
)
HARBOUR_CORNERS = (  # clockwise; each harbour serves two neighbouring corners of the coast
    (0, 1),
    (3, 4),
    (14, 15),
    (26, 37),
    (45, 46),
    (50, 51),
    (47, 48),
    (28, 38),
    (7, 17),
)


def spiral(start: int) -> tuple[int, ...]:
    """All hexes in a counter-clockwise inward spiral from one of the island's six corners."""
    outer = OUTER[2 * start :] + OUTER[: 2 * start]
    return (*outer, *INNER[start:], *INNER[:start], CENTRE)


def lay_map(rng: Rng) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Terrains at random, number tokens in a spiral past the desert, harbours at random.

    Returns terrain and number by hex, 0 for the desert's, and the kind of each harbour.
    """
    terrain = [kind for kind, count in enumerate(TERRAIN_COUNTS) for _ in range(count)]
    rng.shuffle(terrain)
    harbours = list(HARBOURS)
    rng.shuffle(harbours)
    number = [0] * len(HEXES)
    tokens = iter(TOKENS)
    for place in spiral(rng.below(6)):
        if terrain[place] != DESERT:
            number[place] = next(tokens)
    return tuple(terrain), tuple(number), tuple(harbours)


def longest_road(mine: Set[int], closed: Set[int]) -> int:
    """The longest trail over the roads in `mine` that does not pass through a `closed` corner."""

    def follow(corner: int, used: frozenset[int]) -> int:
        if used and corner in closed:
            return 0
        onward = [road for road in ROADS_AT[corner] if road in mine and road not in used]
        return max([0, *(1 + follow(other_end(road, corner), used | {road}) for road in onward)])

    return max([0, *(follow(end, frozenset()) for end in {e for r in mine for e in ROADS[r]})])
