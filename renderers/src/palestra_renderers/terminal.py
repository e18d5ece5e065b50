"""A live board in the terminal; plain text if the output is not a terminal."""

from __future__ import annotations

from collections.abc import Set

from palestra import Episode, Grid, Piece, Scene, renderer
from palestra.quoting import open_console
from palestra.scene import Cell, Colour
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from palestra_renderers.changes import Follower, scene_of
from palestra_renderers.plain import (
    broken,
    clean,
    ending,
    event_lines,
    status_lines,
)
from palestra_renderers.theme import LIGHT, ink_on, paint_of
from palestra_renderers.words import cell_text, grid_lines, part_lines, scene_lines, symbol

DISCS = "●○◆◇▲△■□"  # one per seat, so that colour is not the only difference
SHOWN_EVENTS = 6
BORDER = 3  # lines of a terminal that a panel does not fill
FEWEST = 6  # lines that are shown even if the terminal has fewer


@renderer("terminal", families=("*",))
class TerminalRenderer:
    """Mode "terminal": redraws in place on a terminal, prints each step elsewhere.

    `names` are the agents' names, one per seat.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.names: tuple[str, ...] = ()
        self._console = console or open_console()
        self._live: Live | None = None
        self._events: list[str] = []
        self._position = 0
        self._episode = 0
        self._follower = Follower()

    def draw(self, episode: Episode, viewer: int | None) -> None:
        """Show the current state; the last call of an episode leaves the picture on the screen."""
        if self._episode != id(episode) or not episode.steps_played:
            self._events, self._position, self._episode = [], 0, id(episode)
        events = event_lines(episode, viewer)[self._position :]
        self._position += len(events)
        self._events += events
        if not self._console.is_terminal:
            self._print(episode, viewer, events)
            return
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False)
            self._live.start()
        self._live.update(self._picture(episode, viewer), refresh=True)
        if episode.over:
            self.close()

    def _print(self, episode: Episode, viewer: int | None, events: list[str]) -> None:
        lines = [*events, *scene_lines(scene_of(episode, viewer)), ending(episode)]
        for line in lines:
            self._console.print(Text(line), soft_wrap=True)

    def _picture(self, episode: Episode, viewer: int | None) -> RenderableType:
        scene = scene_texts(self._follower.scene(episode, viewer))
        seats = [
            Text.assemble((DISCS[seat % len(DISCS)], chip(seat)), f" {line}")
            for seat, line in enumerate(status_lines(episode, self.names, viewer))
        ]
        wide = max(1, self._console.width - 4)
        events = [
            Text("\n".join(broken(line, wide)), style="dim")
            for line in self._events[-SHOWN_EVENTS:]
        ]
        end = ending(episode)
        if end:
            events.append(Text(end, style="bold"))
        parts = self._fitted(scene, seats, events)
        title = episode.spec.id if episode.spec else type(episode.game).__name__
        return Panel(Group(*parts), title=f"{title}, turn {episode.steps_played}", expand=False)

    def _fitted(self, scene: list[Text], seats: list[Text], events: list[Text]) -> list[Text]:
        """What fits the terminal, whose lower lines would be lost otherwise.

        Where it is low, seats stand side by side, then older events go, then the scene's end.
        """
        room = max(FEWEST, self._console.height - BORDER)
        scene, happened = self._lines(scene), [self._lines([event]) for event in events]
        least = len(happened[-1]) if happened else 0
        if len(scene) + 1 + len(self._lines(seats)) + least > room:
            seats = self._abreast(seats, room // 2)
        seats = self._lines(seats)
        left = max(1, room - 1 - len(seats) - least)
        if len(scene) > left:
            scene = [*scene[: left - 1], Text("…", style="dim")]
        shown: list[Text] = []
        for lines in reversed(happened):
            if shown and len(scene) + 1 + len(seats) + len(shown) + len(lines) > room:
                break
            shown = [*lines, *shown]
        return [*scene, Text(), *seats, *shown]

    def _abreast(self, seats: list[Text], most: int) -> list[Text]:
        """Seats in columns of one width, in few lines: those to move first if not all fit."""
        wide = max(seat.cell_len for seat in seats) + 2
        columns = max(1, (self._console.width - 4 + 2) // wide)
        if len(seats) > columns * most:
            seats = sorted(seats, key=lambda seat: seat.plain[2:3] != ">")
            kept = max(1, columns * most - 1)
            seats = [*seats[:kept], Text(f"and {len(seats) - kept} more", style="dim")]
        for seat in seats:
            seat.pad_right(wide - seat.cell_len)
        rows = [Text().join(seats[n : n + columns]) for n in range(0, len(seats), columns)]
        for row in rows:
            row.rstrip()
        return rows

    def _lines(self, texts: list[Text]) -> list[Text]:
        """Texts as lines of the panel."""
        wide = max(1, self._console.width - 4)
        return [line for text in texts for line in text.wrap(self._console, wide)]

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def scene_texts(scene: Scene) -> list[Text]:
    """A scene as text for the terminal: boards in colours, everything else in lines."""
    texts = [Text(clean(scene.caption))] if scene.caption else []
    for part in scene.all_parts():
        if isinstance(part, Grid):
            board = coloured_grid(part)
            board.right_crop(1)  # the end of its last line would be an empty one
            texts.append(board)
        else:
            texts += [Text(line) for line in part_lines(part)]
    return texts


def chip(colour: Colour) -> str:
    """The style of something in a colour: on a ground of that colour, in ink that is legible on it.

    Nobody knows whether the terminal itself is dark or light, so no style relies on its ground.
    """
    paint = paint_of(colour)
    ink, ground = LIGHT[ink_on(paint)], LIGHT[paint]
    return "rgb({},{},{}) on rgb({},{},{})".format(*ink, *ground)


def coloured_grid(grid: Grid) -> Text:
    """A grid with every piece in its seat's colour, and marked cells in brackets."""
    text = Text()
    margin = max([0, *(len(label) for label in grid.row_labels)])
    if grid.column_labels:
        text.append(grid_lines(grid)[0] + "\n", style="dim")
    wide = max([1, *(len(_symbol(p)) for row in grid.cells for p in row if p)])
    wide = max([wide, *(len(label) for label in grid.column_labels)])
    marked = {at for _, at in grid.marks}
    for number, row in enumerate(grid.cells):
        label = grid.row_labels[number] if grid.row_labels else ""
        text.append(label.rjust(margin), style="dim")
        for column, piece in enumerate(row):
            text.append(_between((number, column), marked), style="bold")
            bare = cell_text(grid, None, number, column)
            style = chip(piece.colour) if piece else "dim"
            text.append((_symbol(piece) if piece else bare).rjust(wide), style=style)
        text.append(f"{_between((number, len(row)), marked)}\n", style="bold")
    return text


def _between(cell: Cell, marked: Set[Cell]) -> str:
    """What stands before a cell: a bracket where marked cells begin or end."""
    before = (cell[0], cell[1] - 1) in marked
    return " " if before == (cell in marked) else "]" if before else "["


def _symbol(piece: Piece) -> str:
    if piece.shape == "disc" and not piece.label and isinstance(piece.colour, int):
        return DISCS[max(0, piece.colour) % len(DISCS)]
    return symbol(piece)
