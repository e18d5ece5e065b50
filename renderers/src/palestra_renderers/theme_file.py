"""The theme that PALESTRA_THEME names, as its plugin wrote it down."""

from __future__ import annotations

import os
from functools import cache
from importlib.resources import files
from typing import Annotated

import msgspec
from msgspec import Meta
from palestra.kernel.errors import InvalidOption, UnknownName
from palestra.kernel.registry import registry

HexColour = Annotated[str, Meta(pattern="^#[0-9a-fA-F]{6}$")]


class ThemeFile(msgspec.Struct, forbid_unknown_fields=True):
    """What a theme changes of Palestra's own; all that it leaves out stays as it is.

    both, light, dark: colours by name, such as "grass" or "seat0", as "#1e2128"; `both` holds those
    that light and dark have in common. always_dark: also draw what is light with the dark colours.
    sprites: outlines in a square of 24 x 24 by name, in the letters of an SVG path.
    """

    both: dict[str, HexColour] = {}
    light: dict[str, HexColour] = {}
    dark: dict[str, HexColour] = {}
    always_dark: bool = False
    sprites: dict[str, str] = {}


@cache
def chosen_theme() -> ThemeFile:
    """The theme in force; an empty one if the variable is not set.

    It is read once: what has been drawn keeps its colours. Raises `UnknownName` if no plugin has
    the theme, and `InvalidOption` if its file cannot be read.
    """
    name = os.environ.get("PALESTRA_THEME", "")
    if not name:
        return ThemeFile()
    spec = registry().themes.get(name)
    if spec is None:
        raise UnknownName("theme in PALESTRA_THEME:", name, registry().themes)
    return read_theme(spec.file)


def read_theme(place: str) -> ThemeFile:
    """Read a theme from a package's file such as "package:night.json"."""
    package, _, path = place.partition(":")
    try:
        data = files(package).joinpath(path).read_bytes()
        return msgspec.json.decode(data, type=ThemeFile)
    except (OSError, ImportError, msgspec.MsgspecError) as error:
        raise InvalidOption(f"theme {place!r} cannot be read: {error}") from error
