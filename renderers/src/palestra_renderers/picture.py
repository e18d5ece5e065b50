"""A scene as pixels, drawn with pygame, which is imported on use, without screen or sound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra import Bar, Episode, Grid, Piece, Scene, renderer

from palestra_renderers.drawing import MASKS, pygame, words, words_on
from palestra_renderers.palette import (
    BACKGROUND,
    BOARD,
    FAINT,
    HOLE,
    INK,
    MARKED,
    NEUTRAL,
    SHADE,
    Rgb,
    ink_on,
    seat_colour,
)
from palestra_renderers.plain import clean, ending, event_lines, status_lines
from palestra_renderers.widgets import draw_widgets

Frame = NDArray[np.uint8]
SIZE = (480, 480)
MARGIN = 40  # space beside and above a board, for its labels
SHOWN_EVENTS = 24  # the most events that fit a picture


class Painter:
    """Draws one scene after another onto one surface of `size` pixels."""

    def __init__(self, size: tuple[int, int] = SIZE) -> None:
        self.size = size
        # bytes in the order of the array, so that a frame is one copy of memory
        self.surface = pygame().Surface(size, depth=24, masks=MASKS)
        self._boards: dict[Any, Any] = {}
        self._place = (0, 0, 0, 0, 0)  # of the grid: left, top, cell, rows, columns

    def cell_at(self, x: int, y: int) -> tuple[int, int] | None:
        """The row and column of the cell that was painted at a point."""
        left, top, cell, rows, columns = self._place
        row, column = (y - top) // max(1, cell), (x - left) // max(1, cell)
        return (row, column) if 0 <= row < rows and 0 <= column < columns else None

    def middle_of(self, row: int, column: int) -> tuple[int, int]:
        """The point in the middle of a painted cell."""
        left, top, cell, _, _ = self._place
        return left + column * cell + cell // 2, top + row * cell + cell // 2

    def paint(self, scene: Scene, status: Sequence[str], events: Sequence[str]) -> None:
        """The scene at the top, then as many events as fit, and a panel of seats at the bottom."""
        width, height = self.size
        self.surface.fill(BACKGROUND)
        self._place = (0, 0, 0, 0, 0)
        line = max(16, height // 24)
        top = self._panel(status, events[-1] if events else "", line)
        left, y = line // 2, line // 2
        if scene.caption:
            self._write(scene.caption, left, y, line)
            y += line
        text = [part for entry in scene.lines for part in entry.splitlines()]
        below = line * (len(scene.hands) * 3 + len(scene.bars) + min(3, len(text)))
        if scene.grid is not None:
            room = max(top - y - below - line // 2, height // 4)
            y += self._grid(scene.grid, y, room) + line // 2
        room = top - y - line * (len(scene.bars) + min(3, len(text)))
        most = 3 * line if scene.grid is not None else 5 * line
        tall = min(most, room // max(1, len(scene.hands) + (scene.grid is None)))
        for owner, cards in scene.hands:
            y = self._hand(owner, cards, left, y, max(line // 2, tall))
        for bar in scene.bars:
            y = self._bar(bar, left, y, line)
        y = self._paragraph(text, left, y, top, line, INK)
        if scene.widgets:
            y = draw_widgets(self.surface, scene.widgets, (left, y, self.size[0], top), line)
        if top - y >= 3 * line:
            self._paragraph(events[:-1], left, y + line // 2, top, line, NEUTRAL)

    def write_page(self, texts: Sequence[str]) -> None:
        """Text from the top, instead of a scene; in smaller letters if it would not fit."""
        width, height = self.size
        self.surface.fill(BACKGROUND)
        for line in (20, 16, 13):
            wide = max(12, (width - 2 * line) * 5 // (2 * line))
            parts = [part for text in texts for part in wrap(clean(text, 2_000), wide)]
            if len(parts) * line < height - line:
                break
        for number, part in enumerate(parts[: height // line]):
            self.surface.blit(words(part, line, INK), (line, line // 2 + number * line))

    def _panel(self, status: Sequence[str], note: str, line: int) -> int:
        """Seats in their colours and the last event, at the bottom; returns where it starts."""
        width, height = self.size
        columns = 1 + (len(status) > 4) + (len(status) > 10)
        rows = (len(status) + columns - 1) // columns
        top = height - line * (rows + 1) - line // 2
        pygame().draw.line(self.surface, FAINT, (0, top), (width, top))
        for seat, text in enumerate(status):
            x = seat // rows * (width // columns)
            y = top + line // 4 + seat % rows * line
            centre = (x + line // 2 + line // 4, y + line // 2 - 2)
            pygame().draw.circle(self.surface, seat_colour(seat), centre, line // 4)
            self._write(text, x + line + line // 4, y, line, room=width // columns - 2 * line)
        self._write(note, line // 2, height - line - 2, line, NEUTRAL)
        return int(top)

    def _write(
        self, text: str, x: int, y: int, line: int, colour: Rgb = INK, room: int = 0
    ) -> None:
        letters = max(8, (room or self.size[0] - x) * 5 // (2 * line))
        self.surface.blit(words_on(clean(text, letters), line, colour, BACKGROUND), (x, y))

    def _paragraph(
        self, texts: Sequence[str], x: int, y: int, bottom: int, line: int, colour: Rgb
    ) -> int:
        """The last lines that fit, wrapped at the width; returns where they end."""
        wide = max(12, (self.size[0] - 2 * x) * 5 // (2 * line))
        wrapped = [part for text in texts for part in wrap(clean(text), wide)]
        shown = wrapped[-max(1, (bottom - y) // line) :]
        for number, text in enumerate(shown):
            self.surface.blit(words_on(text, line, colour, BACKGROUND), (x, y + number * line))
        return y + line * len(shown)

    def _grid(self, grid: Grid, top: int, room: int) -> int:
        """Draw a grid in the space available; returns its height."""
        rows, columns = len(grid.cells), max(len(row) for row in grid.cells)
        margin = 18 if grid.column_labels or grid.row_labels else 0
        width = self.size[0]
        cell = max(4, min((room - margin) // rows, (width - 2 * margin - 12) // columns))
        left, y = (width - cell * columns) // 2, top + margin
        self._place = (left, y, cell, rows, columns)
        board = self._board(grid, rows, columns, cell)
        labelled = (0, MARGIN - margin, board.get_width(), board.get_height())
        self.surface.blit(board, (left - MARGIN, y - margin), labelled)
        plain = not grid.shaded and not grid.highlighted
        for r, row in enumerate(grid.cells):
            for c, piece in enumerate(row):
                if piece is None and plain:
                    continue
                box = (left + c * cell, y + r * cell, cell, cell)
                if (r, c) in grid.shaded:
                    pygame().draw.rect(self.surface, SHADE, box)
                if piece is not None:
                    self._piece(piece, box)
                if (r, c) in grid.highlighted:
                    pygame().draw.rect(self.surface, MARKED, box, max(2, cell // 12))
        return cell * rows + margin

    def _board(self, grid: Grid, rows: int, columns: int, cell: int) -> Any:
        """The empty board with its labels in a `MARGIN`, drawn once.

        It has holes if only the columns have labels, otherwise ruled cells.
        """
        key = (rows, columns, cell, grid.checkered, grid.column_labels, grid.row_labels)
        if key not in self._boards:
            self._boards[key] = self._empty_board(grid, rows, columns, cell)
        return self._boards[key]

    def _empty_board(self, grid: Grid, rows: int, columns: int, cell: int) -> Any:
        holes = bool(grid.column_labels) and not grid.row_labels
        module = pygame()
        wide, high = cell * columns + 1, cell * rows + 1
        board = module.Surface((wide + MARGIN, high + MARGIN), module.SRCALPHA)
        board.fill(BOARD if holes else HOLE, (MARGIN, MARGIN, wide, high))
        for r in range(rows):
            for c in range(columns):
                box = (MARGIN + c * cell, MARGIN + r * cell, cell + 1, cell + 1)
                if holes:
                    hole = (box[0] + cell // 2, box[1] + cell // 2)
                    module.draw.circle(board, HOLE, hole, cell * 2 // 5)
                elif grid.checkered and (r + c) % 2:
                    module.draw.rect(board, FAINT, box)
                else:
                    module.draw.rect(board, FAINT, box, 1)
        for column, label in enumerate(grid.column_labels):
            text = words(clean(label, 3), 18, NEUTRAL)
            centre = MARGIN + column * cell + cell // 2
            board.blit(text, text.get_rect(midbottom=(centre, MARGIN - 1)))
        for number, label in enumerate(grid.row_labels):
            text = words(clean(label, 3), 18, NEUTRAL)
            centre = MARGIN + number * cell + cell // 2
            board.blit(text, text.get_rect(midright=(MARGIN - 4, centre)))
        opaque = module.Surface(board.get_size(), 0, self.surface)
        opaque.fill(BACKGROUND)
        opaque.blit(board, (0, 0))
        return opaque

    def _piece(self, piece: Piece, box: tuple[int, int, int, int]) -> None:
        x, y, cell, _ = box
        centre, radius = (x + cell // 2, y + cell // 2), max(2, cell * 2 // 5)
        colour = seat_colour(piece.colour)
        module = pygame()
        if piece.shape == "mark":
            self._mark(piece.glyph, colour, centre, radius)
            return
        if piece.shape == "disc":
            module.draw.circle(self.surface, colour, centre, radius)
            module.draw.circle(self.surface, INK, centre, radius, max(1, cell // 40))
        else:
            inset = max(1, cell // 10)
            shape = (x + inset, y + inset, cell - 2 * inset, cell - 2 * inset)
            module.draw.rect(self.surface, colour, shape, border_radius=max(2, cell // 8))
        if piece.label or piece.shape != "disc":
            text = words(clean(piece.glyph, 3), max(14, cell // 2), ink_on(colour))
            self.surface.blit(text, text.get_rect(center=centre))

    def _mark(self, glyph: str, colour: Rgb, centre: tuple[int, int], radius: int) -> None:
        """Noughts and crosses drawn, anything else written."""
        module, thick = pygame(), max(2, radius // 4)
        x, y = centre
        if glyph == "X":
            reach = radius * 3 // 4
            for sign in (1, -1):
                start, end = (x - reach, y - sign * reach), (x + reach, y + sign * reach)
                module.draw.line(self.surface, colour, start, end, thick)
        elif glyph == "O":
            module.draw.circle(self.surface, _darker(colour), centre, radius * 4 // 5, thick)
        else:
            text = words(clean(glyph, 3), radius * 2, _darker(colour))
            self.surface.blit(text, text.get_rect(center=centre))

    def _hand(self, owner: str, cards: Sequence[Piece], x: int, y: int, tall: int) -> int:
        """A row of cards in a strip of `tall` pixels; returns where the next may start."""
        line = max(16, self.size[1] // 24)
        self._write(owner, x, y + tall // 6, line, room=line * 6)
        module = pygame()
        wide = max(1, tall * 2 // 3)
        for number, card in enumerate(cards):
            place = (x + line * 7 + number * wide, y)
            box = module.Rect(place, (wide * 7 // 8, tall * 5 // 6))
            module.draw.rect(self.surface, (255, 255, 255), box, border_radius=4)
            module.draw.rect(
                self.surface, _darker(seat_colour(card.colour)), box, 2, border_radius=4
            )
            text = words(clean(card.glyph, 3), max(12, tall // 2), INK)
            self.surface.blit(text, text.get_rect(center=box.center))
        return y + tall

    def _bar(self, bar: Bar, x: int, y: int, line: int) -> int:
        module, width = pygame(), self.size[0]
        self._write(bar.label, x, y, line, room=line * 6)
        start, room = x + line * 6, width - x - line * 12
        share = min(1.0, max(0.0, bar.value / bar.full)) if bar.full > 0 else 0.0
        module.draw.rect(self.surface, FAINT, (start, y + 3, room, line - 6))
        module.draw.rect(
            self.surface, seat_colour(bar.colour), (start, y + 3, int(room * share), line - 6)
        )
        self._write(f"{bar.value:.4g} / {bar.full:.4g}", start + room + line // 2, y, line)
        return y + line

    def array(self) -> Frame:
        """The surface as height x width x 3 bytes."""
        width, height = self.size
        rows = np.frombuffer(self.surface.get_buffer().raw, np.uint8).reshape(height, -1)
        return rows[:, : 3 * width].reshape(height, width, 3)


def _darker(colour: Rgb) -> Rgb:
    return (colour[0] * 3 // 4, colour[1] * 3 // 4, colour[2] * 3 // 4)


def wrap(text: str, wide: int) -> list[str]:
    """Break a line at spaces, or anywhere if it has none."""
    lines, rest = [], text
    while len(rest) > wide:
        cut = rest.rfind(" ", 1, wide + 1)
        cut = cut if cut > wide // 2 else wide
        lines.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return [*lines, rest]


@renderer("rgb_array", families=("*",))
class RgbRenderer:
    """Mode "rgb_array": frames of `size` (width, height) as height x width x 3 uint8 arrays."""

    def __init__(self, size: tuple[int, int] = SIZE) -> None:
        self.names: tuple[str, ...] = ()
        self._painter = Painter(size)

    def draw(self, episode: Episode, viewer: int | None) -> Frame:
        paint_episode(self._painter, episode, viewer, self.names)
        return self._painter.array()

    def close(self) -> None:
        """Do nothing: surfaces are plain memory."""


def paint_episode(
    painter: Painter, episode: Episode, viewer: int | None, names: Sequence[str] = ()
) -> None:
    """Paint the current state of an episode, for one seat or for a spectator who sees all."""
    end = ending(episode)
    # an array game writes its log only on request, and no picture requests it
    events = event_lines(episode, viewer)[-SHOWN_EVENTS:] if episode.log_is_ready else []
    events += [end] if end else []
    painter.paint(episode.scene(viewer), status_lines(episode, names, viewer), events)
