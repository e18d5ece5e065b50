"""What the last move changed on a board, marked, so that a spectator need not search for it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from palestra import Episode, Game, Grid, Scene, Turn
from palestra.endings import ending_text
from palestra.scene import Hexes, MarkKind, Part, RoundTable, mark_cells

MOST = 4  # cells that one move changes: castling moves two men


def shows_moves(game: Game[Any, Any]) -> bool:
    """Whether a picture says which cells changed: on boards where seats move in turn."""
    return game.order == "sequential" and game.perfect_information and game.num_players > 1


def scene_of(episode: Episode, viewer: int | None) -> Scene:
    """The scene of an episode for a viewer, with who is to act marked round its tables.

    A seat is shown only whether it is to act itself, unless the game marks more: who else is to act
    may tell a role. Nobody is to act once it is over. A forfeit or a truncation leaves a state
    whose caption may still name who is to move: the caption then says how the episode ended.
    """
    scene = episode.scene(viewer)
    if not episode.over or episode.outcome is None:
        acting = [episode.players[seat] for seat in episode.to_act if viewer in (None, seat)]
        return with_acting(scene, acting)
    parts = tuple(map(at_rest, scene.all_parts()))
    scene = scene.with_parts(parts) if parts != tuple(scene.all_parts()) else scene
    cut_short = episode.truncated and not episode.game.truncated(episode.state)
    if scene.caption and (cut_short or "forfeit" in episode.outcome.results):
        scene = replace(scene, caption=ending_text(episode))
    return scene


def with_acting(scene: Scene, players: Collection[str]) -> Scene:
    """The scene with these players marked as those to act at tables where the game marks nobody."""

    def marked(part: Part) -> Part:
        if not isinstance(part, RoundTable) or any(person.acting for person in part.people):
            return part
        people = tuple(replace(one, acting=one.name in players) for one in part.people)
        return replace(part, people=people)

    parts = tuple(scene.all_parts())
    shown = tuple(map(marked, parts))
    return scene.with_parts(shown) if shown != parts else scene


def at_rest(part: Part) -> Part:
    """A table at which nobody is marked as the one to act; other parts as they are."""
    if isinstance(part, RoundTable) and any(person.acting for person in part.people):
        return replace(part, people=tuple(replace(one, acting=False) for one in part.people))
    return part


class Follower:
    """Draws an episode step by step, and marks what changed since the step it saw last."""

    def __init__(self) -> None:
        self._key: tuple[Any, ...] = ()
        self._step = 0
        self._bare = self._marked = Scene()

    def scene(self, episode: Episode, viewer: int | None) -> Scene:
        """The scene of a step, marked if the last one seen was at most a round before."""
        key = (episode.seed, viewer, episode.players)
        return self._follow(scene_of(episode, viewer), key, episode.steps_played, episode.game)

    def scene_of_turn(self, turn: Turn) -> Scene:
        """What a seat sees at its turn, with the moves since its last one marked."""
        scene = with_acting(turn.scene, (turn.game.players[turn.seat],))
        return self._follow(scene, (turn.episode_id, turn.seat), turn.steps_played, turn.game)

    def _follow(self, scene: Scene, key: tuple[Any, ...], step: int, game: Game[Any, Any]) -> Scene:
        if not shows_moves(game):
            return scene
        since = step - self._step if key == self._key else 0
        if key == self._key and not since and scene == self._bare:
            return self._marked  # drawn again
        # a learner's step is one move of every seat
        before = self._bare if 0 < since <= game.num_players else None
        self._key, self._step, self._bare = key, step, scene
        self._marked = with_changes(scene, before)
        return self._marked


def follow(episode: Episode, viewer: int | None) -> Scene:
    """The scene of an episode that many draw, marked since the step each viewer saw last."""
    return _FOLLOWERS.setdefault(episode, {}).setdefault(viewer, Follower()).scene(episode, viewer)


_FOLLOWERS: WeakKeyDictionary[Episode, dict[int | None, Follower]] = WeakKeyDictionary()


def with_changes(scene: Scene, before: Scene | None) -> Scene:
    """The scene with what differs from the scene before marked as the last move."""
    if before is None:
        return scene
    parts, earlier = tuple(scene.all_parts()), tuple(before.all_parts())
    if len(parts) != len(earlier):
        return scene
    shown = tuple(mark_changes(part, old) for part, old in zip(parts, earlier, strict=True))
    return scene.with_parts(shown) if shown != parts else scene


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
