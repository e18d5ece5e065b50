"""What a picture consists of: marks at their places, which every painter can draw.

Layouts turn a scene into marks; `raster` paints them on a surface, the replay page as SVG. Lengths
are pixels, or the units of an SVG's view box. A colour is a name of the theme; "" draws nothing.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from palestra_renderers.lettering import Face

Anchor = Literal["start", "middle", "end"]
Points = tuple[tuple[float, float], ...]


class Rect(NamedTuple):
    """A rectangle, its corners rounded by `radius`."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    edge: str = ""
    thick: float = 1
    radius: float = 0


class Circle(NamedTuple):
    """A circle around (x, y)."""

    x: float
    y: float
    radius: float
    fill: str
    edge: str = ""
    thick: float = 1


class Polygon(NamedTuple):
    """A closed figure."""

    points: Points
    fill: str
    edge: str = ""
    thick: float = 1


class Line(NamedTuple):
    """Straight lines from point to point."""

    points: Points
    colour: str
    thick: float = 1


class Words(NamedTuple):
    """A line of text of `height`, its middle at `y`; on an opaque `ground` it is painted faster."""

    x: float
    y: float
    text: str
    height: float
    colour: str = "ink"
    anchor: Anchor = "start"
    ground: str = ""
    face: Face = ""


class Sprite(NamedTuple):
    """A picture of the theme in a square around (x, y), turned clockwise by `turn` degrees."""

    x: float
    y: float
    size: float
    name: str
    colour: str
    edge: str = ""
    turn: int = 0


class Layer(NamedTuple):
    """Marks on the page's own background that painters keep: they return in many pictures.

    The marks lie in a box of `width` x `height` whose upper left corner is their (0, 0) and is
    drawn at (x, y).
    """

    x: float
    y: float
    width: float
    height: float
    marks: tuple[Mark, ...]


Mark = Rect | Circle | Polygon | Line | Words | Sprite | Layer


class Place(NamedTuple):
    """A box (left, top, width, height) that stands for a name in moves, such as a cell."""

    box: tuple[float, float, float, float]
    name: str
