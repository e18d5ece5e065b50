"""What is wrong with a picture, found in its marks: text that is hidden, crossed, cut or pale.

`find_flaws(painter.lay_out(scene, status, events), painter.size)` reads the boxes of all marks,
with the widths of text as they are painted, and needs no pixels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from palestra_renderers.layout.labels import Box, hidden_area
from palestra_renderers.lettering import ems, font_size
from palestra_renderers.marks import Circle, Layer, Line, Mark, Polygon, Rect, Sprite, Words
from palestra_renderers.theme import DARK, LIGHT, Rgb, luminance

FlawKind = Literal[
    "outside", "overlap", "covered", "crossed", "on a figure", "hidden figure", "pale", "cut"
]

EDGE = 1.5  # units over the edge of the picture, or of another text, that nobody sees
LETTERS = 0.8  # of the size of the font: from the top of a capital to the foot of a descender
HEAD = 3.0  # radius from which a disc is a figure and not a dot
HIDDEN = 0.3  # of a figure that another covers
COVERED = 0.15  # of a text that lies below something painted later
CONTRAST = 4.5  # WCAG 2.2, AA, for text
SPARE = 0.12  # of the picture's width that is empty beside a text that is cut


Point = tuple[float, float]


class Flaw(NamedTuple):
    """One thing that is wrong: its kind, the text or colour it is about, and its box."""

    kind: FlawKind
    about: str
    box: Box


class Laid(NamedTuple):
    """A mark at its place in the picture, with its box."""

    mark: Mark
    box: Box


def find_flaws(marks: Iterable[Mark], size: tuple[float, float]) -> list[Flaw]:
    """All flaws of a picture of `size` (width, height) that consists of these marks."""
    laid = [Laid(mark, box_of(mark)) for mark in unfold(marks)]
    found = [Flaw("outside", label(one.mark), one.box) for one in laid if outside(one.box, size)]
    texts = [n for n, one in enumerate(laid) if isinstance(one.mark, Words) and one.mark.text]
    found += overlapping_texts([laid[n] for n in texts])
    for number in texts:
        found += text_flaws(number, laid, size)
    return found + hidden_figures(laid)


def unfold(marks: Iterable[Mark], left: float = 0, top: float = 0) -> Iterator[Mark]:
    """The marks without layers, each where it lies in the picture."""
    for mark in marks:
        if isinstance(mark, Layer):
            yield from unfold(mark.marks, left + mark.x, top + mark.y)
        else:
            yield moved(mark, left, top) if left or top else mark


def moved(mark: Any, across: float, down: float) -> Any:
    if isinstance(mark, Polygon | Line):
        points = tuple((x + across, y + down) for x, y in mark.points)
        return type(mark)(points, *mark[1:])
    return type(mark)(mark.x + across, mark.y + down, *mark[2:])


def box_of(mark: Mark) -> Box:
    """The least box around a mark; that of a text reaches from its capitals to its descenders."""
    if isinstance(mark, Rect | Layer):
        return mark.x, mark.y, mark.x + mark.width, mark.y + mark.height
    if isinstance(mark, Polygon | Line):
        across, down = [x for x, _ in mark.points], [y for _, y in mark.points]
        return min(across), min(down), max(across), max(down)
    if isinstance(mark, Words):
        font = font_size(mark.height)
        wide, half = font * ems(mark.text, mark.face), font * LETTERS / 2
        left = mark.x - wide * {"start": 0.0, "middle": 0.5, "end": 1.0}[mark.anchor]
        return left, mark.y - half, left + wide, mark.y + half
    reach = mark.radius if isinstance(mark, Circle) else mark.size * 0.46
    return mark.x - reach, mark.y - reach, mark.x + reach, mark.y + reach


def label(mark: Mark) -> str:
    """A few words that say which mark it is."""
    if isinstance(mark, Words):
        return mark.text
    colour = mark.fill if isinstance(mark, Rect | Circle | Polygon) else getattr(mark, "colour", "")
    return f"{type(mark).__name__.lower()} {colour}".rstrip()


def outside(box: Box, size: tuple[float, float]) -> bool:
    """Whether a box leaves the picture."""
    left, top, right, bottom = box
    return min(left, top) < -EDGE or right > size[0] + EDGE or bottom > size[1] + EDGE


def shared(one: Box, other: Box) -> tuple[float, float]:
    """The width and height of what two boxes share; negative where they are apart."""
    return min(one[2], other[2]) - max(one[0], other[0]), min(one[3], other[3]) - max(
        one[1], other[1]
    )


def area(box: Box) -> float:
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def overlapping_texts(texts: Sequence[Laid]) -> list[Flaw]:
    """Texts that run into an earlier one."""
    ordered = sorted(texts, key=lambda one: one.box[1])
    found, first = [], 0
    for number, one in enumerate(ordered):
        while ordered[first].box[3] < one.box[1] and first < number:
            first += 1
        for other in ordered[first:number]:
            if min(shared(one.box, other.box)) > EDGE:
                found.append(Flaw("overlap", f"{label(one.mark)} | {label(other.mark)}", one.box))
    return found


def text_flaws(number: int, laid: Sequence[Laid], size: tuple[float, float]) -> Iterator[Flaw]:
    """What is wrong with one text: covered, crossed, on a figure, pale, or cut needlessly."""
    mark, box = laid[number]
    assert isinstance(mark, Words)
    near = [n for n, one in enumerate(laid) if n != number and min(shared(box, one.box)) >= 0]
    later = [laid[n] for n in near if n > number and filled(laid[n].mark)]
    if any(hidden_area(box, [one.box]) > COVERED * area(box) for one in later):
        yield Flaw("covered", mark.text, box)
    if any(runs_through(n, number, laid) for n in near if isinstance(laid[n].mark, Line)):
        yield Flaw("crossed", mark.text, box)
    plate = next((n for n in reversed(near) if n < number and under(mark, laid[n])), -1)
    if any(crosses(mark, box, laid[n]) for n in near if plate <= n < number):
        yield Flaw("on a figure", mark.text, box)
    ground = paint(laid[plate].mark if plate >= 0 else None) or "paper"
    worst = min(contrast(theme, mark.colour, ground) for theme in (LIGHT, DARK))
    if worst < CONTRAST - 0.05:
        yield Flaw("pale", f"{mark.text} ({mark.colour} on {ground})", box)
    broken = mark.text.endswith("…") and not mark.text.endswith(" …")  # within a word, for width
    if (
        broken
        and not mark.text.startswith("…")
        and spare(mark, box, laid, size[0]) > SPARE * size[0]
    ):
        yield Flaw("cut", mark.text, box)


def runs_through(line: int, text: int, laid: Sequence[Laid]) -> bool:
    """Whether a line is seen inside the box of a text: not under a plate that is painted between.

    A line that only touches the text's edge is not seen to cross it.
    """
    mark, (left, top, right, bottom) = laid[line].mark, laid[text].box
    assert isinstance(mark, Line)
    box = (left + EDGE, top + EDGE, right - EDGE, bottom - EDGE)
    for start, end in pairwise(mark.points):
        seen = within(start, end, box)
        if seen and not any(
            filled(one.mark) and all(holds(one, point) for point in seen)
            for one in laid[line + 1 : text]
        ):
            return True
    return False


def within(start: Point, end: Point, box: Box) -> tuple[Point, Point] | None:
    """The part of a straight line that lies in a box (Liang and Barsky, 1984), if any does."""
    (x, y), (across, down) = start, (end[0] - start[0], end[1] - start[1])
    first, last = 0.0, 1.0
    for step, far in (
        (-across, x - box[0]),
        (across, box[2] - x),
        (-down, y - box[1]),
        (down, box[3] - y),
    ):
        if step == 0:
            if far < 0:
                return None
        elif step < 0:
            first = max(first, far / step)
        else:
            last = min(last, far / step)
    if first >= last:
        return None
    return (x + first * across, y + first * down), (x + last * across, y + last * down)


def holds(one: Laid, point: Point) -> bool:
    """Whether a point lies in a filled mark; a little outside of its box counts as inside."""
    (x, y), (left, top, right, bottom) = point, one.box
    if not (left - EDGE <= x <= right + EDGE and top - EDGE <= y <= bottom + EDGE):
        return False
    below = one.mark
    if isinstance(below, Circle):
        return (below.x - x) ** 2 + (below.y - y) ** 2 <= (below.radius + EDGE) ** 2
    return not isinstance(below, Polygon) or inside(below, x, y)


def filled(mark: Mark) -> bool:
    return isinstance(mark, Sprite) or bool(paint(mark))


def paint(mark: Mark | None) -> str:
    """The colour that a mark fills its middle with; empty if it is a line, a text or open."""
    if isinstance(mark, Rect | Circle | Polygon):
        return mark.fill
    return mark.colour if isinstance(mark, Sprite) else ""


def crosses(mark: Words, box: Box, other: Laid) -> bool:
    """Whether a text lies on the rim of a disc of which it is not the inscription."""
    disc = other.mark
    if not isinstance(disc, Circle) or disc.radius < HEAD or not disc.fill:
        return False
    middle = (box[0] + box[2]) / 2
    if abs(middle - disc.x) < disc.radius / 2 and abs(mark.y - disc.y) < disc.radius / 2:
        return False
    x = min(max(disc.x, box[0]), box[2])
    y = min(max(disc.y, box[1]), box[3])
    return (x - disc.x) ** 2 + (y - disc.y) ** 2 < (disc.radius - EDGE) ** 2


def under(mark: Words, other: Laid) -> bool:
    """Whether a mark is what the middle of a text is painted on."""
    below, (left, top, right, bottom) = other
    x = mark.x + {"start": 3.0, "middle": 0.0, "end": -3.0}[mark.anchor]
    if not filled(below) or not (left <= x <= right and top <= mark.y <= bottom):
        return False
    if isinstance(below, Circle):
        return (below.x - x) ** 2 + (below.y - mark.y) ** 2 <= below.radius**2
    return not isinstance(below, Polygon) or inside(below, x, mark.y)


def inside(figure: Polygon, x: float, y: float) -> bool:
    """Whether a point lies in a polygon, by how often a ray to the right meets its sides."""
    points, within = figure.points, False
    for (a, b), (c, d) in zip(points, (*points[1:], points[0]), strict=True):
        if (b > y) != (d > y) and x < a + (y - b) / (d - b) * (c - a):
            within = not within
    return within


def contrast(theme: dict[str, Rgb], one: str, other: str) -> float:
    """The contrast of two colours of a theme, from 1 to 21 (WCAG 2.2)."""
    dark, light = sorted(luminance(theme[name]) for name in (one, other))
    return (light + 0.05) / (dark + 0.05)


def spare(mark: Words, box: Box, laid: Sequence[Laid], width: float) -> float:
    """The empty width beside a text, up to the next mark or to the edge of what it lies on."""
    left, right = 0.0, width
    for other, found in laid:
        if other is mark or shared(box, found)[1] <= 0:
            continue
        if found[0] <= box[0] + 1 and found[2] >= box[2] - 1:
            left, right = max(left, found[0]), min(right, found[2])
        elif found[0] >= box[2] - EDGE:
            right = min(right, found[0])
        elif found[2] <= box[0] + EDGE:
            left = max(left, found[2])
    after, before = right - box[2], box[0] - left
    return {"start": after, "end": before, "middle": 2 * min(before, after)}[mark.anchor]


def hidden_figures(laid: Sequence[Laid]) -> list[Flaw]:
    """Discs that something painted later around another middle covers."""
    plates = [one for one in laid if isinstance(one.mark, Rect | Circle) and one.mark.fill]
    return [
        Flaw("hidden figure", label(one.mark), one.box)
        for number, one in enumerate(plates)
        if isinstance(one.mark, Circle) and one.mark.radius >= HEAD and one.mark.edge
        if any(hides(other.box, one.box) for other in plates[number + 1 :])
    ]


def hides(cover: Box, box: Box) -> bool:
    """Whether one box covers much of another that is not what it stands on."""
    across = abs(cover[0] + cover[2] - box[0] - box[2]) / 2
    down = abs(cover[1] + cover[3] - box[1] - box[3]) / 2
    return max(across, down) > EDGE and hidden_area(box, [cover]) > HIDDEN * area(box)
