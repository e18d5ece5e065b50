"""Colours by name, light and dark, that the colour-blind can tell apart.

Seats have the colours of Okabe and Ito ("Color Universal Design", 2008); they and the colours of
things are the same in both themes, so that only paper and ink change places.
"""

from __future__ import annotations

from functools import lru_cache

from palestra.kernel.errors import InvalidOption
from palestra.scene import Colour

from palestra_renderers.theme_file import ThemeFile, chosen_theme

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
PAPER: dict[str, Rgb] = {
    "paper": (248, 248, 246),
    "panel": (255, 255, 255),
    "ink": (30, 33, 40),
    "quiet": (94, 99, 108),
    "faint": (205, 207, 212),
    "cell": (238, 241, 245),
    "other": (212, 219, 228),
    "shade": (170, 173, 180),
    "link": (0, 90, 160),
    "mark": (190, 45, 30),
    "keyword": (0, 84, 160),  # these three in programs
    "string": (20, 105, 55),
    "number": (165, 65, 0),
}
DARK_PAPER: dict[str, Rgb] = {
    "paper": (24, 26, 31),
    "panel": (35, 38, 45),
    "ink": (236, 238, 242),
    "quiet": (168, 174, 184),
    "faint": (72, 77, 87),
    "cell": (47, 52, 61),
    "other": (62, 68, 80),
    "shade": (92, 97, 108),
    "link": (120, 190, 255),
    "mark": (255, 122, 99),
    "keyword": (120, 190, 255),
    "string": (140, 210, 150),
    "number": (255, 175, 110),
}
THINGS: dict[str, Rgb] = {
    **{f"seat{number}": colour for number, colour in enumerate(SEATS)},
    "nobody": (120, 125, 135),
    "black": (16, 17, 20),
    "white": (255, 255, 255),
    "grey": (140, 145, 152),
    "red": (196, 40, 40),
    "green": (46, 125, 60),
    "blue": (30, 100, 170),
    "yellow": (240, 205, 60),
    "orange": (222, 120, 30),
    "purple": (130, 80, 160),
    "brown": (120, 80, 45),
    "gold": (214, 170, 40),
    "silver": (176, 182, 190),
    "light": (238, 216, 184),  # squares of a chess board
    "dark": (176, 130, 92),
    "rack": (28, 74, 128),
    "hole": (232, 238, 246),
    "felt": (38, 106, 78),
    "rail": (94, 62, 38),
    "back": (52, 84, 138),  # of a card
    "night": (20, 27, 58),  # behind fireworks, of which these three are
    "ember": (255, 122, 99),
    "leaf": (140, 210, 150),
    "sky": (120, 190, 255),
    "target": (40, 140, 90),
    "winning": (20, 150, 60),
    "last": (214, 178, 40),
    "floor": (226, 215, 196),
    "seam": (204, 190, 166),  # between two tiles of a floor
    "wall": (110, 112, 120),
    "mortar": (86, 88, 96),
    "water": (86, 150, 205),
    "ripple": (140, 190, 230),
    "grass": (150, 190, 110),
    "sand": (226, 206, 150),
    "counter": (190, 158, 120),
    "grain": (164, 132, 96),
    "belt": (150, 155, 162),
    "ice": (206, 232, 245),
    "lava": (206, 72, 36),
    "road": (84, 88, 96),
    "lane": (84, 88, 96),
    "closed": (176, 182, 190),
    "void": (58, 62, 70),
    "waste": (110, 92, 60),
    "goal": (176, 220, 176),
    "forest": (58, 122, 62),
    "hills": (178, 92, 60),
    "pasture": (160, 205, 110),
    "fields": (236, 200, 80),
    "mountains": (132, 136, 148),
    "desert": (222, 202, 158),
}


def colour_of(code: str) -> Rgb:
    """The colour that `hexcode` writes as `code`."""
    red, green, blue = bytes.fromhex(code.removeprefix("#"))
    return red, green, blue


def colours(theme: ThemeFile) -> tuple[dict[str, Rgb], dict[str, Rgb]]:
    """All colours by name, light and dark, with a theme's in place of our own.

    Raises `InvalidOption` if the theme has a colour that no scene can ask for.
    """
    own = {name: colour_of(code) for name, code in theme.both.items()}
    light = {**PAPER, **THINGS, **own, **{n: colour_of(c) for n, c in theme.light.items()}}
    dark = {**DARK_PAPER, **THINGS, **own, **{n: colour_of(c) for n, c in theme.dark.items()}}
    if unknown := sorted((light.keys() | dark.keys()) - {*PAPER, *THINGS}):
        raise InvalidOption(
            f"the theme has unknown colours: {', '.join(unknown)}; a theme may set "
            f"{', '.join(sorted({*PAPER, *THINGS}))}"
        )
    return (dark if theme.always_dark else light), dark


LIGHT, DARK = colours(chosen_theme())
THEMES = {"light": LIGHT, "dark": DARK}
NIGHT = "dark "  # begins the names of the dark colours among the `PAINTS`
PAINTS = LIGHT | {NIGHT + name: colour for name, colour in DARK.items()}


@lru_cache(maxsize=1024)
def paint_of(colour: Colour) -> str:
    """The theme's name for a colour of a scene; what the theme does not know is nobody's."""
    if isinstance(colour, int):
        return "nobody" if colour < 0 else f"seat{colour % len(SEATS)}"
    return colour if colour in LIGHT else "nobody"


def hexcode(colour: Rgb) -> str:
    """A colour as SVG and CSS write it: "#1e2128"."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


def seat_colour(index: int) -> Rgb:
    """The colour of a seat; neutral for -1."""
    return LIGHT[paint_of(index)]


@lru_cache(maxsize=1024)
def ink_on(paint: str) -> str:
    """Black or white, whichever contrasts more with a colour (WCAG 2.2, relative luminance)."""
    light = luminance(LIGHT[paint])
    black, white = luminance(LIGHT["black"]), luminance(LIGHT["white"])
    dark_contrast = (light + 0.05) / (black + 0.05)
    return "black" if dark_contrast >= (white + 0.05) / (light + 0.05) else "white"


def luminance(colour: Rgb) -> float:
    """Relative luminance of an sRGB colour, from 0 to 1 (WCAG 2.2)."""
    shares = [part / 255 for part in colour]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
