"""Pictures for a page on which people play: marks, what draws them, how typed moves are read."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from palestra import Episode, Scene, Turn, renderer

from palestra_renderers.changes import follow
from palestra_renderers.public import public_scene
from palestra_renderers.svg import MarkTable, theme_css
from palestra_renderers.typed_moves import read_move
from palestra_renderers.viewpoint import nearest, with_names

NOBODY: Mapping[str, str] = MappingProxyType({})


@renderer("marks", families=("*",))
class MarksRenderer:
    """Mode "marks": a picture as data, which the script of this mode draws as SVG.

    A picture has `height` (of a view box that is 640 wide), `marks` (numbers of a `table`),
    `sprites` by name, and `places`: boxes (left, top, width, height) with the name that each has in
    moves; of two that overlap, the later one lies on top. A server of matches finds this mode by
    its name, and needs to know nothing else of this package.
    """

    def draw(
        self, episode: Episode, viewer: int | None, names: Mapping[str, str] = NOBODY
    ) -> dict[str, Any]:
        """The picture of one seat's view, with its own place nearest; None: of everything.

        names: what people are called, by the names of their players.
        """
        scene = follow(episode, viewer)
        if viewer is not None:
            scene = nearest(scene, episode.players[viewer])
        return marks_of(with_names(scene, names))

    def draw_public(self, episode: Episode, names: Mapping[str, str] = NOBODY) -> dict[str, Any]:
        """The picture of what every seat may see; `names` as in `draw`."""
        known = episode.game.perfect_information
        scene = follow(episode, None) if known else public_scene(episode)
        return marks_of(with_names(scene, names))

    def read_move(self, turn: Turn, typed: str) -> str:
        """The legal move that a typed text means; raises `InvalidAction` and says why."""
        return read_move(turn, typed)

    def script(self) -> str:
        """JavaScript that defines `drawMarks`."""
        return files("palestra_renderers").joinpath("marks.js").read_text("utf-8")

    def style(self) -> str:
        """CSS with the theme's colours as variables, light and dark."""
        return theme_css()

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


def marks_of(scene: Scene) -> dict[str, Any]:
    """A scene's picture with all that is needed to draw it."""
    table = MarkTable()
    picture = table.picture(scene)
    return {**picture, "table": table.marks, "sprites": table.sprites}
