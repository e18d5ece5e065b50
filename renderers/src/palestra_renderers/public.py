"""The public part of a picture, in which all seats' pictures agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Any

from palestra import Episode, Grid, Piece, Scene
from palestra.scene import Bars, Card, Cards, Graph, Lines, Node, Page, Part

from palestra_renderers.changes import scene_of
from palestra_renderers.plain import LINE_LIMIT, clean_lines

UNKNOWN = Card(hidden=True, label="hidden")
VEILED = "What players see from where they stand is hidden here while they play."


class Differs(Exception):
    """Something that cannot be shown without what some seat may not see."""


def public_scene(episode: Episode) -> Scene:
    """The scene without anything that some seat cannot see.

    Parts are matched by their place, since a seat's own hand may be called "you"; a part that
    differs is shown as far as all agree, and left out if nothing of it would remain. Where nothing
    is hidden, seats may only sit on other sides of the board.
    """
    if episode.game.perfect_information:
        return scene_of(episode, None)
    views: list[Scene] = [scene_of(episode, seat) for seat in range(episode.game.num_players)]
    caption = views[0].caption if all(v.caption == views[0].caption for v in views) else ""
    shown: list[Part] = []
    for parts in zip(*(tuple(view.all_parts()) for view in views), strict=False):
        try:
            shown.append(common(parts))
        except Differs:
            continue
    if any(isinstance(part, Grid) and is_veiled(part) for part in shown):
        shown.append(Lines((VEILED,)))
    return replace(views[0], caption=caption).with_parts(shown)


def public_lines(episode: Episode, limit: int = LINE_LIMIT) -> list[str]:
    """The lines of the events that every seat may know."""
    return clean_lines((e.text for e in episode.events if e.audience is None), limit)


def common(values: Sequence[Any]) -> Any:
    """What several views of one thing agree on; raises `Differs` if that is nothing."""
    first = values[0]
    if isinstance(first, Page) and len(values) > 1:
        raise Differs  # it is what one player has opened, even if others have opened it too
    if all(value == first for value in values):
        return first
    if any(type(value) is not type(first) for value in values):
        raise Differs
    if isinstance(first, Grid):
        return common_grid(values)
    if isinstance(first, Graph):  # a label that all know by chance may be nobody else's to know
        return common_fields([replace(v, nodes=without_labels(v.nodes)) for v in values])
    if isinstance(first, Card):
        return UNKNOWN
    if isinstance(first, Lines):
        return Lines(remaining(first.lines, [v.lines for v in values]))
    if isinstance(first, Bars):
        return Bars(remaining(first.bars, [v.bars for v in values]))
    if isinstance(first, tuple) and len({len(value) for value in values}) == 1:
        return tuple(common(items) for items in zip(*values, strict=True))
    if is_dataclass(first) and not isinstance(first, Piece):
        return common_fields(values)
    raise Differs


def without_labels(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Nodes without what is written at them."""
    return tuple(replace(node, label="") for node in nodes)


def remaining(items: Sequence[Any], views: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """The items that are in all views; raises `Differs` if there are none."""
    kept = tuple(item for item in items if all(item in view for view in views))
    if not kept:
        raise Differs
    return kept


def common_fields(values: Sequence[Any]) -> Any:
    """A record with the fields that all agree on; others are as if they had not been given."""
    first: Any = values[0]
    if isinstance(first, Cards) and len({value.owner for value in values}) > 1:
        raise Differs
    kept = {}
    for field in fields(first):
        try:
            kept[field.name] = common([getattr(value, field.name) for value in values])
        except Differs:
            if field.default is MISSING:
                raise
            kept[field.name] = field.default
    return replace(first, **kept)


def common_grid(grids: Sequence[Grid]) -> Grid:
    """Cells that all show alike; any other is shaded.

    Where sight is limited, or players see a floor from where they stand, all are: what two players
    see at once tells each of them where the other is.
    """
    first = grids[0]
    if not all(alike(first, grid) for grid in grids):
        raise Differs
    if first.style == "floor" or any(grid.shaded for grid in grids):
        cells = tuple(tuple(None for _ in row) for row in first.cells)
        all_of_it = frozenset((r, c) for r, row in enumerate(cells) for c in range(len(row)))
        return replace(first, cells=cells, shaded=all_of_it, marks=(), ground=())
    rows, hidden = [], set()
    for r, row in enumerate(first.cells):
        hidden |= {(r, c) for c in range(len(row)) if any(g.cells[r][c] != row[c] for g in grids)}
        rows.append(tuple(None if (r, c) in hidden else p for c, p in enumerate(row)))
    same = [mark for mark in first.marks if all(mark in grid.marks for grid in grids)]
    ground = first.ground if all(grid.ground == first.ground for grid in grids) else ()
    return replace(
        first,
        cells=tuple(rows),
        shaded=frozenset(hidden),
        marks=tuple(mark for mark in same if mark[1] not in hidden),
        ground=ground,
    )


def is_veiled(grid: Grid) -> bool:
    """Whether nothing of a board is shown."""
    return len(grid.shaded) == sum(map(len, grid.cells))


def alike(one: Grid, other: Grid) -> bool:
    """Whether two grids have the same form, so that their cells can be compared."""
    lengths = [len(row) for row in one.cells] == [len(row) for row in other.cells]
    labels = (one.row_labels, one.column_labels) == (other.row_labels, other.column_labels)
    return lengths and labels
