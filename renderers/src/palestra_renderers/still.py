"""A scene as one SVG that needs no script: for notebooks and other places that keep pictures."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup
from palestra import Scene

from palestra_renderers.layout.scenes import lay_out
from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.lettering import EM
from palestra_renderers.marks import Circle, Layer, Line, Mark, Points, Polygon, Rect, Words
from palestra_renderers.sprites import outlines
from palestra_renderers.svg import HEIGHT, LINE, WIDTH

SANS = "DejaVu Sans, Verdana, sans-serif"
STYLES = {  # family and weight of a face
    "": (SANS, "normal"),
    "bold": (SANS, "bold"),
    "mono": ("DejaVu Sans Mono, Menlo, Consolas, monospace", "normal"),
}
BOX = 25.2  # units of a sprite's outline that fill its square, as in marks.js


def still(scene: Scene) -> tuple[Markup, int]:
    """The SVG in the theme's variables (`svg.theme_css`), and the height of its view box."""
    sheet = Sheet(WIDTH, LINE)
    height = round(lay_out(scene, sheet, 0, HEIGHT) + 4)
    tag = Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>')
    return tag.format(WIDTH, height, scene.caption or "board", drawn(sheet.marks)), height


def drawn(marks: Iterable[Mark]) -> Markup:
    """Marks as SVG elements; every text is escaped."""
    return Markup("").join(map(element, marks))


def element(mark: Mark) -> Markup:
    """One mark as an SVG element."""
    if isinstance(mark, Layer):
        place = Markup('<g transform="translate({:.1f} {:.1f})">{}</g>')
        return place.format(mark.x, mark.y, drawn(mark.marks))
    if isinstance(mark, Rect):
        box = Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="{}" {}/>')
        look = style(mark.fill, mark.edge, mark.thick)
        return box.format(mark.x, mark.y, mark.width, mark.height, mark.radius, look)
    if isinstance(mark, Circle):
        disc = Markup('<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}" {}/>')
        return disc.format(mark.x, mark.y, mark.radius, style(mark.fill, mark.edge, mark.thick))
    if isinstance(mark, Polygon):
        figure = Markup('<polygon points="{}" {}/>')
        return figure.format(path(mark.points), style(mark.fill, mark.edge, mark.thick))
    if isinstance(mark, Line):
        line = Markup('<polyline points="{}" {}/>')
        return line.format(path(mark.points), style("", mark.colour, mark.thick))
    if isinstance(mark, Words):
        words = Markup(
            '<text x="{:.1f}" y="{:.1f}" dy=".33em" font-size="{:.1f}" font-family="{}"'
            ' font-weight="{}" text-anchor="{}" {}>{}</text>'
        )
        family, weight = STYLES[mark.face]
        size, look = mark.height * EM, style(mark.colour)
        return words.format(mark.x, mark.y, size, family, weight, mark.anchor, look, mark.text)
    sprite = Markup(
        '<path transform="translate({:.1f} {:.1f}) rotate({}) scale({:.3f}) translate(-12 -12)"'
        ' d="{}" {}/>'
    )
    look, scale = style(mark.colour, mark.edge, 0.9), mark.size / BOX
    return sprite.format(mark.x, mark.y, mark.turn, scale, outlines()[mark.name], look)


def style(fill: str, edge: str = "", thick: float = 1) -> Markup:
    look = Markup('fill="{}" stroke="{}" stroke-width="{}"')
    return look.format(paint(fill), paint(edge), thick)


def paint(name: str) -> str:
    return f"var(--c-{name})" if name else "none"


def path(points: Points) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
