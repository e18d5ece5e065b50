"""Drawing tools for all pictures: pygame, imported on use, and lines of text as surfaces."""

from __future__ import annotations

import os
import warnings
from functools import cache, lru_cache
from typing import Any

from palestra import MissingExtra

from palestra_renderers.lettering import Face, font_file, font_size
from palestra_renderers.theme import Rgb

MASKS = (0xFF, 0xFF00, 0xFF0000, 0)  # red, green and blue in the order of an array's bytes


@cache
def pygame() -> Any:
    """The module pygame; raises `MissingExtra`, with the command that installs it."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    os.environ["SDL_AUDIODRIVER"] = "dummy"  # sound is never used
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about how pygame finds its own files
            import pygame as module
    except ImportError as error:
        raise MissingExtra("pygame", "palestra-renderers[pygame]") from error
    return module


def font(height: float, face: Face = "") -> Any:
    """A font, opened again if something in the process has closed pygame since.

    Gymnasium's own environments and its `HumanRendering` call `pygame.quit` when they are closed.
    """
    module = pygame()
    if not module.font.get_init():
        module.font.init()
        _open_font.cache_clear()
    if not _open_font.cache_info().currsize:
        module.register_quit(_open_font.cache_clear)
    return _open_font(height, face)


@lru_cache(maxsize=64)
def _open_font(height: float, face: Face) -> Any:
    return pygame().font.Font(str(font_file(face)), font_size(height))


@lru_cache(maxsize=512)
def words(text: str, height: float, colour: Rgb, face: Face = "") -> Any:
    """A line of text as a surface."""
    return font(height, face).render(text, True, colour)


@lru_cache(maxsize=512)
def words_on(text: str, height: float, colour: Rgb, background: Rgb, face: Face = "") -> Any:
    """The same on an opaque background, which is ten times faster to draw."""
    line = font(height, face).render(text, True, colour, background)
    opaque = pygame().Surface(line.get_size(), depth=24, masks=MASKS)
    opaque.blit(line, (0, 0))
    return opaque
