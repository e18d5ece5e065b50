"""The public part of a picture, in which all seats' pictures agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from palestra import Episode, Grid, Piece, Scene

from palestra_renderers.plain import LINE_LIMIT, clean

UNKNOWN = Piece("?", -1, "card", "hidden")
Hands = tuple[tuple[str, tuple[Piece, ...]], ...]


def public_scene(episode: Episode) -> Scene:
    """The scene without anything that some seat cannot see."""
    views: list[Scene] = [episode.scene(seat) for seat in range(episode.game.num_players)]
    first = views[0]
    return Scene(
        caption=first.caption if all(v.caption == first.caption for v in views) else "",
        grid=_common_grid([view.grid for view in views]),
        hands=_common_hands([view.hands for view in views]),
        bars=tuple(bar for bar in first.bars if all(bar in view.bars for view in views)),
        lines=tuple(line for line in first.lines if all(line in view.lines for view in views)),
        widgets=first.widgets if all(view.widgets == first.widgets for view in views) else (),
    )


def public_lines(episode: Episode, limit: int = LINE_LIMIT) -> list[str]:
    """The events that every seat may know."""
    return [clean(event.text, limit) for event in episode.events if event.audience is None]


def _common_grid(grids: Sequence[Grid | None]) -> Grid | None:
    """Cells that all show alike; any other is shaded."""
    first = grids[0]
    same = [grid for grid in grids if grid is not None and first is not None]
    if first is None or len(same) < len(grids) or not all(_alike(first, grid) for grid in same):
        return None
    rows, hidden = [], set()
    for r, row in enumerate(first.cells):
        hidden |= {
            (r, c)
            for c in range(len(row))
            if any(g.cells[r][c] != row[c] or (r, c) in g.shaded for g in same)
        }
        rows.append(tuple(None if (r, c) in hidden else p for c, p in enumerate(row)))
    marked = frozenset.intersection(*(grid.highlighted for grid in same))
    return replace(first, cells=tuple(rows), shaded=frozenset(hidden), highlighted=marked - hidden)


def _alike(one: Grid, other: Grid) -> bool:
    """Whether two grids have the same form, so that their cells can be compared."""
    lengths = [len(row) for row in one.cells] == [len(row) for row in other.cells]
    labels = (one.row_labels, one.column_labels) == (other.row_labels, other.column_labels)
    return lengths and labels


def _common_hands(hands: Sequence[Hands]) -> Hands:
    """Cards that all see alike, with others face down; hands that differ in size are left out.

    Hands are matched by position, because a seat's own hand may be called "you".
    """
    shown = []
    for place in zip(*hands, strict=False):
        owners, cards = [owner for owner, _ in place], [held for _, held in place]
        if len({len(held) for held in cards}) == 1 and len(set(owners)) == 1:
            faces = zip(*cards, strict=True)
            row = tuple(f[0] if all(c == f[0] for c in f) else UNKNOWN for f in faces)
            shown.append((owners[0], row))
    return tuple(shown)
