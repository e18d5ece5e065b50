"""Colours that the colour-blind can tell apart (Okabe and Ito, "Color Universal Design", 2008)."""

from __future__ import annotations

Rgb = tuple[int, int, int]

SEATS: tuple[Rgb, ...] = (
    (213, 94, 0),  # vermillion
    (240, 228, 66),  # yellow
    (0, 158, 115),  # bluish green
    (204, 121, 167),  # reddish purple
    (86, 180, 233),  # sky blue
    (230, 159, 0),  # orange
    (0, 114, 178),  # blue
    (90, 90, 90),
)
NEUTRAL: Rgb = (120, 125, 135)
BACKGROUND: Rgb = (248, 248, 246)
INK: Rgb = (30, 33, 40)
FAINT: Rgb = (205, 207, 212)
BOARD: Rgb = (28, 74, 128)
HOLE: Rgb = (232, 238, 246)
SHADE: Rgb = (170, 173, 180)
WHITE: Rgb = (255, 255, 255)
MARKED: Rgb = (204, 60, 40)


def seat_colour(index: int) -> Rgb:
    """The colour of a seat; neutral for -1."""
    return NEUTRAL if index < 0 else SEATS[index % len(SEATS)]


def ink_on(colour: Rgb) -> Rgb:
    """Black or white, whichever reads better on a colour."""
    red, green, blue = colour
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else WHITE
