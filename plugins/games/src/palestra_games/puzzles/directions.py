"""The four directions of arrow-key games, by action number."""

from __future__ import annotations

ACTIONS = ("up", "down", "left", "right")
UP, DOWN, LEFT, RIGHT = range(4)
SOUTHWARD, EASTWARD = (-1, 1, 0, 0), (0, 0, -1, 1)  # rows and columns that a step adds
