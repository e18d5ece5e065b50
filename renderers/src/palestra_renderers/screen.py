"""The single pygame window: opened on use, resized and closed, with its input events."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from palestra.files import whole_file

from palestra_renderers.drawing import pygame

OPENED = (860, 560)
SMALLEST = (360, 240)


class Screen:
    """A window that can be resized; on Linux without a display it is drawn in memory."""

    def __init__(self, size: tuple[int, int] = OPENED) -> None:
        self.size = size
        self.is_open = False

    def open(self, title: str) -> Any:
        """The surface to draw on, as large as the window is now."""
        module = pygame()
        if not self.is_open:
            if not module.display.get_init():
                module.display.init()
            if module.display.get_surface() is None:
                module.display.set_mode(self.size, module.RESIZABLE)
                module.key.set_repeat(400, 40)
            self.is_open = True
        module.display.set_caption(title)
        surface = module.display.get_surface()
        self.size = surface.get_size()
        return surface

    @property
    def seen(self) -> bool:
        """Whether the window is visible: not with SDL's dummy and offscreen drivers."""
        return pygame().display.get_driver() not in ("dummy", "offscreen")

    def events(self) -> Iterator[Any]:
        """The events since the last call; the last one says if the window was closed."""
        module = pygame()
        if not module.display.get_init():
            self.is_open = False
        while self.is_open:
            event = module.event.poll()
            if event.type == module.NOEVENT:
                return
            if event.type == module.QUIT:
                self.close()
            elif event.type == module.VIDEORESIZE:
                self._resize((max(SMALLEST[0], event.w), max(SMALLEST[1], event.h)))
            yield event

    def _resize(self, size: tuple[int, int]) -> None:
        module = pygame()
        if module.display.get_surface().get_size() != size:
            module.display.set_mode(size, module.RESIZABLE)
        self.size = size

    def flip(self) -> None:
        pygame().display.flip()

    def rest(self, seconds: float = 0.02) -> None:
        """Sleep for a moment."""
        pygame().time.wait(max(1, int(seconds * 1000)))

    def save(self, path: Path) -> Path:
        """Write what the window shows as a PNG."""
        with whole_file(path) as draft:
            pygame().image.save(pygame().display.get_surface(), os.fspath(draft))
        return path

    def close(self) -> None:
        if self.is_open and pygame().display.get_init():
            pygame().display.quit()
        self.is_open = False
