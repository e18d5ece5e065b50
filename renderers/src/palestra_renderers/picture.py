"""A scene as pixels, drawn with pygame, which is imported on use, without screen or sound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from palestra import Episode, Scene, renderer

from palestra_renderers.changes import Follower
from palestra_renderers.drawing import MASKS, pygame, words
from palestra_renderers.layout.scenes import lay_out
from palestra_renderers.layout.seats import lay_seats
from palestra_renderers.layout.sheet import Sheet, opening
from palestra_renderers.lettering import wrap
from palestra_renderers.marks import Mark, Place, Words
from palestra_renderers.plain import clean, ending, event_lines, status_lines
from palestra_renderers.raster import at_night, paint_marks
from palestra_renderers.theme import THEMES

Frame = NDArray[np.uint8]
SIZE = (480, 480)
SHOWN_EVENTS = 24  # the most events that fit a picture


class Painter:
    """Draws one scene after another onto one surface of `size` pixels, "light" or "dark"."""

    def __init__(self, size: tuple[int, int] = SIZE, theme: str = "light") -> None:
        self.size, self.theme, self._colours = size, theme, THEMES[theme]
        # bytes in the order of the array, so that a frame is one copy of memory
        self.surface = pygame().Surface(size, depth=24, masks=MASKS)
        self.places: list[Place] = []
        self.follower = Follower()

    def name_at(self, x: int, y: int) -> str:
        """The name in moves of what was painted at a point; empty if it has none."""
        for (left, top, wide, high), name in reversed(self.places):
            if left <= x < left + wide and top <= y < top + high:
                return name
        return ""

    def middle_of(self, name: str) -> tuple[int, int]:
        """The point in the middle of what has a name in moves; raises `KeyError`."""
        for (left, top, wide, high), found in self.places:
            if found == name:
                return int(left + wide / 2), int(top + high / 2)
        raise KeyError(name)

    def paint(self, scene: Scene, status: Sequence[str], events: Sequence[str]) -> None:
        """The scene at the top, then as many events as fit, and a panel of seats at the bottom."""
        self.surface.fill(self._colours["paper"])
        marks = self.lay_out(scene, status, events)
        paint_marks(self.surface, map(at_night, marks) if self.theme == "dark" else marks)

    def lay_out(self, scene: Scene, status: Sequence[str], events: Sequence[str]) -> list[Mark]:
        """The marks of a whole picture; afterwards `places` are those that can be clicked."""
        width, height = self.size
        line = max(16, height // 24)
        sheet = Sheet(width, line)
        top = lay_seats(status, events[-1] if events else "", height, sheet, scene.colour_of)
        end = lay_out(scene, sheet, line // 2, top - line // 4)
        if top - end >= 3 * line and len(events) > 1:
            self._older(events[:-1], end + line // 2, top, sheet)
        self.places = sheet.places
        return sheet.marks

    def write_page(self, texts: Sequence[str]) -> None:
        """Text from the top, instead of a scene; in smaller letters if it would not fit."""
        width, height = self.size
        self.surface.fill(self._colours["paper"])
        for line in (20, 16, 13):
            wide = width - 2 * line
            parts = [part for text in texts for part in wrap(clean(text, 2_000), wide, line)]
            if len(parts) * line < height - line:
                break
        for number, part in enumerate(opening(parts, (height - line // 2) // line)):
            place = (line, line // 2 + number * line)
            self.surface.blit(words(part, line, self._colours["ink"]), place)

    def _older(self, events: Sequence[str], top: float, bottom: float, sheet: Sheet) -> None:
        """The last events that fit in full between two heights."""
        line = sheet.line
        wide = sheet.width - line
        room, shown = int((bottom - top) / line), list[str]()
        for event in reversed(events):
            parts = wrap(clean(event), wide, line)
            if len(parts) + len(shown) > room:
                break
            shown = [*parts, *shown]
        for number, text in enumerate(shown):
            at = top + (number + 0.5) * line
            sheet.marks.append(Words(line / 2, at, text, line, "quiet", ground="paper"))

    def array(self) -> Frame:
        """The surface as height x width x 3 bytes."""
        width, height = self.size
        rows = np.frombuffer(self.surface.get_buffer().raw, np.uint8).reshape(height, -1)
        return rows[:, : 3 * width].reshape(height, width, 3)


@renderer("rgb_array", families=("*",))
class RgbRenderer:
    """Mode "rgb_array": frames of `size` (width, height) as height x width x 3 uint8 arrays.

    `theme` is "light" or "dark".
    """

    def __init__(self, size: tuple[int, int] = SIZE, theme: str = "light") -> None:
        self.names: tuple[str, ...] = ()
        self._painter = Painter(size, theme)

    def draw(self, episode: Episode, viewer: int | None) -> Frame:
        paint_episode(self._painter, episode, viewer, self.names)
        return self._painter.array()

    def close(self) -> None:
        """Do nothing: surfaces are plain memory."""


def paint_episode(
    painter: Painter, episode: Episode, viewer: int | None, names: Sequence[str] = ()
) -> None:
    """Paint the current state of an episode, for one seat or for a spectator who sees all."""
    painter.paint(*seen(painter.follower, episode, viewer, names))


def seen(
    follower: Follower, episode: Episode, viewer: int | None, names: Sequence[str] = ()
) -> tuple[Scene, list[str], list[str]]:
    """What a picture of the current state shows: the scene, the seats, and the events."""
    end = ending(episode)
    # an array game writes its log only on request, and no picture requests it
    events = event_lines(episode, viewer)[-SHOWN_EVENTS:] if episode.log_is_ready else []
    if end and end not in events[-1:]:
        events.append(end)
    return follower.scene(episode, viewer), status_lines(episode, names, viewer), events
