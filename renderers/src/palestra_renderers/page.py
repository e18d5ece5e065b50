"""Pictures for a page on which people play: marks, what draws them, how typed moves are read."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from palestra import Episode, Scene, Turn, renderer

from palestra_renderers.changes import follow
from palestra_renderers.public import public_scene
from palestra_renderers.svg import MarkTable, theme_css
from palestra_renderers.typed_moves import read_move


@renderer("marks", families=("*",))
class MarksRenderer:
    """Mode "marks": a picture as data, which the script of this mode draws as SVG.

    A picture has `height` (of a view box that is 640 wide), `marks` (numbers of a `table`),
    `sprites` by name, and `places`: boxes (left, top, width, height) with the name that each has in
    moves; of two that overlap, the later one lies on top. A server of matches finds this mode by
    its name, and needs to know nothing else of this package.
    """

    def draw(self, episode: Episode, viewer: int | None) -> dict[str, Any]:
        """The picture of one seat's view; None: of everything."""
        return marks_of(follow(episode, viewer))

    def draw_public(self, episode: Episode) -> dict[str, Any]:
        """The picture of what every seat may see."""
        known = episode.game.perfect_information
        return marks_of(follow(episode, None) if known else public_scene(episode))

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
