"""What the last move changed on a board, marked, so that a spectator need not search for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from palestra import Episode, Grid, Scene
from palestra.scene import Hexes, MarkKind, Part, mark_cells

MOST = 4  # cells that one move changes: castling moves two men


def shows_moves(episode: Episode) -> bool:
    """Whether a picture says which cells changed: on boards where seats move in turn."""
    game = episode.game
    return game.order == "sequential" and game.perfect_information and game.num_players > 1


class Follower:
    """Draws an episode step by step, and marks what changed since the step it saw last."""

    def __init__(self) -> None:
        self._before: tuple[tuple[Any, ...], int, Scene] | None = None

    def scene(self, episode: Episode, viewer: int | None) -> Scene:
        """The scene of a step, marked if the last one seen was at most a round before."""
        scene: Scene = episode.scene(viewer)
        if not shows_moves(episode):
            return scene
        key, step, before = (episode.seed, viewer, episode.players), episode.steps_played, None
        if self._before is not None and self._before[0] == key:
            since = step - self._before[1]  # a learner's step is one move of every seat
            before = self._before[2] if 0 < since <= episode.game.num_players else None
        self._before = (key, step, scene)
        return with_changes(scene, before)


def with_changes(scene: Scene, before: Scene | None) -> Scene:
    """The scene with what differs from the scene before marked as the last move."""
    if before is None:
        return scene
    parts, earlier = tuple(scene.all_parts()), tuple(before.all_parts())
    if len(parts) != len(earlier):
        return scene
    shown = tuple(mark_changes(part, old) for part, old in zip(parts, earlier, strict=True))
    return Scene(scene.caption, parts=shown) if shown != parts else scene


def mark_changes(part: Part, old: Part) -> Part:
    """A board with its changed cells marked; other parts, and boards with many, as they are."""
    if isinstance(part, Grid) and isinstance(old, Grid):
        return _mark_cells(part, old)
    if isinstance(part, Hexes) and isinstance(old, Hexes) and len(part.tiles) == len(old.tiles):
        return _mark_tiles(part, old)
    return part


def _mark_cells(part: Grid, old: Grid) -> Grid:
    if [len(row) for row in part.cells] != [len(row) for row in old.cells]:
        return part
    cells = [
        (r, c)
        for r, row in enumerate(part.cells)
        for c, piece in enumerate(row)
        if piece != old.cells[r][c]
    ]
    known = {cell for _, cell in part.marks}  # what the game marks stays as it is
    if not 0 < len(cells) <= MOST:
        return part
    fresh = mark_cells("last", [cell for cell in cells if cell not in known])
    return replace(part, marks=(*fresh, *part.marks))


def _mark_tiles(part: Hexes, old: Hexes) -> Hexes:
    pairs = enumerate(zip(part.tiles, old.tiles, strict=True))
    tiles = [number for number, (tile, was) in pairs if tile.piece != was.piece]
    known = {number for _, number in part.marks}
    if not 0 < len(tiles) <= MOST:
        return part
    fresh: list[tuple[MarkKind, int]] = [("last", n) for n in tiles if n not in known]
    return replace(part, marks=(*fresh, *part.marks))
