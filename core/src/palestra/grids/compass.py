"""Directions on a grid, to move and to face, by number, name and offset.

A place is a row and a column, counted from 0 at the north-west corner. A cell is a place as one
number, row by row. An offset is two numbers, how far south and how far east; both are negative to
the north and west.

There are two numberings, with different names. Directions in which players move are actions:
`STAY`, `NORTH`, `SOUTH`, `WEST`, `EAST`. Directions in which players look are facings, clockwise,
so that (facing + 1) % 4 is to the right. All of it compiles.
"""

from __future__ import annotations

# Actions

STAY, NORTH, SOUTH, WEST, EAST = range(5)
MOVES = ("stay", "north", "south", "west", "east")
SOUTHWARD = (0, -1, 1, 0, 0)  # rows south, by action
EASTWARD = (0, 0, 0, -1, 1)  # columns east, by action

# Facings

FACING_NORTH, FACING_EAST, FACING_SOUTH, FACING_WEST = range(4)
FACINGS = ("north", "east", "south", "west")
FACING_SOUTHWARD = (-1, 0, 1, 0)  # rows south, by facing
FACING_EASTWARD = (0, 1, 0, -1)  # columns east, by facing
RELATIVE_FACINGS = ("ahead", "right", "back", "left")  # how another player faces, seen by oneself
