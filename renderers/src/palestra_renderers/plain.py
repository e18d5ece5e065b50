"""A scene as plain text, and untrusted text made safe to show."""

from __future__ import annotations

from collections.abc import Sequence

from palestra import Episode, Grid, Piece, Scene, Widget, printable, renderer

LINE_LIMIT = 400


def clean(text: str, limit: int = LINE_LIMIT) -> str:
    """One line of text, with control characters and direction marks shown as `\\u{…}`.

    It is clipped to `limit` characters. A player's message may contain terminal escapes or a
    hundred thousand letters; it must not move the cursor, change colours or flood the screen.
    """
    if len(text) <= limit and text.isprintable():  # usually there is no such character
        return text
    shown = printable(text[: limit + 1]).replace("\n", "\\n")
    return shown if len(shown) <= limit else f"{shown[:limit]}…"


def grid_lines(grid: Grid) -> list[str]:
    """Rows of a grid, two columns per cell, with its labels."""
    wide = max([1, *(len(p.glyph) for row in grid.cells for p in row if p)])
    margin = max([0, *(len(label) for label in grid.row_labels)])
    lines = []
    if grid.column_labels:
        lines.append(" " * (margin + 1) + " ".join(c.rjust(wide) for c in grid.column_labels))
    for number, row in enumerate(grid.cells):
        label = grid.row_labels[number] if grid.row_labels else ""
        cells = [_cell(grid, piece, number, c).rjust(wide) for c, piece in enumerate(row)]
        lines.append(f"{label.rjust(margin)} {' '.join(cells)}")
    return lines


def _cell(grid: Grid, piece: Piece | None, row: int, column: int) -> str:
    if piece is not None:
        return clean(piece.glyph)
    return "░" if (row, column) in grid.shaded else "·"


def scene_lines(scene: Scene) -> list[str]:
    """A whole scene, line by line."""
    lines = [clean(scene.caption)] if scene.caption else []
    if scene.grid is not None:
        lines += grid_lines(scene.grid)
    for owner, cards in scene.hands:
        lines.append(f"{clean(owner)}: {' '.join(f'[{clean(card.glyph)}]' for card in cards)}")
    for bar in scene.bars:
        full = max(bar.full, 1e-9)
        filled = round(20 * min(1.0, max(0.0, bar.value / full)))
        lines.append(f"{clean(bar.label):<14} {'█' * filled:<20} {bar.value:.4g} of {bar.full:.4g}")
    for text in scene.lines:
        lines += [clean(line) for line in text.splitlines()]
    return lines + [widget_line(widget) for widget in scene.widgets]


def widget_line(widget: Widget) -> str:
    """A widget in words: its kind, and its number if it can be acted on."""
    text = clean(widget.text)
    if widget.kind == "field":
        text = f"{text}: [{clean(widget.value)}]"
    elif widget.kind == "tick":
        text = f"{'(x)' if widget.chosen else '( )'} {text}"
    elif widget.kind == "button":
        text = f"< {text} >"
    elif widget.kind == "heading":
        text = f"# {text}"
    number = f"{widget.number:>3} " if widget.number else "    "
    return f"{number}{'  ' * widget.depth}{text}"


def shown_return(episode: Episode, seat: int, viewer: int | None) -> float | None:
    """A seat's return so far; None if `viewer` must not see it.

    Another seat's rewards may reveal its hidden information, so they are shown only at the end. The
    same holds for rewards from before a newcomer came.
    """
    if viewer is not None and episode.life(viewer) and not episode.over:
        return episode.paid(seat, episode.life(seat)) if seat == viewer else None
    open_to_all = viewer in (None, seat) or episode.over or episode.game.perfect_information
    return float(episode.returns[seat]) if open_to_all else None


def seat_title(episode: Episode, seat: int, names: Sequence[str], viewer: int | None) -> str:
    """Player, agent, and the seat's return so far."""
    name = f" {clean(names[seat], 40)}" if seat < len(names) else ""
    paid = shown_return(episode, seat, viewer)
    return f"{episode.players[seat]}{name}{'' if paid is None else f': {paid:.4g}'}"


def status_lines(
    episode: Episode, names: Sequence[str] = (), viewer: int | None = None
) -> list[str]:
    """The seats, their returns so far, and whose turn it is."""
    return [
        f"{'>' if seat in episode.to_act else ' '} {seat_title(episode, seat, names, viewer)}"
        for seat in range(len(episode.players))
    ]


def ending(episode: Episode) -> str:
    """The outcome in one line; empty while the episode goes on."""
    outcome = episode.outcome if episode.over else None
    if outcome is None:
        return ""
    pairs = zip(episode.players, outcome.results, strict=True)
    results = ", ".join(f"{seat} {result}" for seat, result in pairs)
    return f"{results}{f' ({clean(outcome.reason)})' if outcome.reason else ''}"


@renderer("ansi", families=("*",))
class AnsiRenderer:
    """Mode "ansi": the scene as a string, without escapes."""

    def draw(self, episode: Episode, viewer: int | None) -> str:
        status = status_lines(episode, viewer=viewer)
        lines = [*status, *scene_lines(episode.scene(viewer))]
        end = ending(episode)
        return "\n".join([*lines, end] if end else lines) + "\n"

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


def event_lines(episode: Episode, viewer: int | None, limit: int = LINE_LIMIT) -> list[str]:
    """Every event the viewer may know; a spectator also sees who private ones are for."""
    if viewer is not None:
        return [clean(event.text, limit) for event in episode.transcript(viewer)]
    lines = []
    for event in episode.events:
        names = [episode.players[seat] for seat in sorted(event.audience or ())]
        to = f"(to {', '.join(names)}) " if names else ""
        lines.append(clean(f"{to}{event.text}", limit))
    return lines
