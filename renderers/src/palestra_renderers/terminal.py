"""A live board in the terminal; plain text if the output is not a terminal."""

from __future__ import annotations

from palestra import Episode, Grid, Piece, renderer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from palestra_renderers.palette import seat_colour
from palestra_renderers.plain import (
    clean,
    ending,
    event_lines,
    grid_lines,
    scene_lines,
    status_lines,
)

DISCS = "●○◆◇▲△■□"  # one per seat, so that colour is not the only difference
SYMBOLS = {"disc": DISCS[0], "mark": "", "tile": "", "card": "", "square": "■"}
SHOWN_EVENTS = 6


@renderer("terminal", families=("*",))
class TerminalRenderer:
    """Mode "terminal": redraws in place on a terminal, prints each step elsewhere.

    `names` are the agents' names, one a seat.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.names: tuple[str, ...] = ()
        self._console = console or Console()
        self._live: Live | None = None
        self._events: list[str] = []
        self._position = 0
        self._episode = 0

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
        lines = [*events, *scene_lines(episode.scene(viewer)), ending(episode)]
        for line in lines:
            self._console.print(Text(line), soft_wrap=True)

    def _picture(self, episode: Episode, viewer: int | None) -> RenderableType:
        scene = episode.scene(viewer)
        parts: list[RenderableType] = []
        if scene.grid is not None:
            parts.append(coloured_grid(scene.grid))
        rest = scene_lines(type(scene)(scene.caption, None, scene.hands, scene.bars, scene.lines))
        parts += [Text(line) for line in rest]
        parts.append(Text())
        for seat, line in enumerate(status_lines(episode, self.names, viewer)):
            parts.append(Text(line, style=_style(seat)))
        parts += [Text(line, style="dim") for line in self._events[-SHOWN_EVENTS:]]
        end = ending(episode)
        if end:
            parts.append(Text(end, style="bold"))
        title = episode.spec.id if episode.spec else type(episode.game).__name__
        return Panel(Group(*parts), title=f"{title}, turn {episode.steps_played}", expand=False)

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def _style(colour: int) -> str:
    red, green, blue = seat_colour(colour)
    return f"rgb({red},{green},{blue})"


def coloured_grid(grid: Grid) -> Text:
    """A grid with every piece in its seat's colour."""
    text = Text()
    margin = max([0, *(len(label) for label in grid.row_labels)])
    if grid.column_labels:
        text.append(grid_lines(grid)[0] + "\n", style="dim")
    wide = max([1, *(len(_symbol(p)) for row in grid.cells for p in row if p)])
    for number, row in enumerate(grid.cells):
        label = grid.row_labels[number] if grid.row_labels else ""
        text.append(f"{label.rjust(margin)} ", style="dim")
        for column, piece in enumerate(row):
            shaded = (number, column) in grid.shaded
            if piece is None:
                text.append(("░" if shaded else "·").rjust(wide) + " ", style="dim")
            else:
                marked = " reverse" if (number, column) in grid.highlighted else ""
                text.append(_symbol(piece).rjust(wide), style=_style(piece.colour) + marked)
                text.append(" ")
        text.append("\n")
    return text


def _symbol(piece: Piece) -> str:
    if piece.shape == "disc" and not piece.label:
        return DISCS[max(0, piece.colour) % len(DISCS)]
    return SYMBOLS[piece.shape] or clean(piece.glyph)
