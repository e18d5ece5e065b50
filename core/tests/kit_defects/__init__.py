"""One-line defects of real games, each with the check that finds it and what that says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Defect(NamedTuple):
    """A part of a game's file, what is written in its place, and how the kit finds that.

    The part occurs once. `options` are those of the game.
    """

    game: str
    line: str
    made: str
    check: str
    says: str
    options: Mapping[str, Any] = {}
