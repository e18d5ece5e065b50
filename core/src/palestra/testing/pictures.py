"""Rendering works without a screen and follows the game."""

from __future__ import annotations

import os

import numpy as np

from palestra.kernel.errors import MissingExtra, UnknownName
from palestra.kernel.registry import renderer
from palestra.kernel.rng import Rng
from palestra.testing.subject import Skipped, Subject, play_on, require


def renders_offscreen(subject: Subject) -> None:
    """First, middle and last frame in every offscreen mode a renderer is installed for."""
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    drawn = 0
    for mode in ("rgb_array", "ansi"):
        try:
            artist = renderer(subject.spec, mode)()
        except (MissingExtra, UnknownName) as error:
            reason = str(error)
            continue
        episode = subject.episode(0)
        frames = [artist.draw(episode, None)]
        for number, _ in play_on(episode, Rng(0), 60):
            if number == 3 or episode.over:
                frames.append(artist.draw(episode, None))
        for seat in range(min(subject.game.num_players, 2)):
            frames.append(artist.draw(episode, seat))
        artist.close()
        for frame in frames:
            _check_frame(mode, frame)
        drawn += 1
    if not drawn:
        raise Skipped(reason)


def _check_frame(mode: str, frame: object) -> None:
    if mode == "ansi":
        require(isinstance(frame, str) and bool(frame.strip()), "an ansi frame is empty")
        return
    ok = isinstance(frame, np.ndarray) and frame.dtype == np.uint8 and frame.ndim == 3
    require(ok, f"an rgb frame is not an HxWx3 uint8 array but {type(frame).__name__}")
    assert isinstance(frame, np.ndarray)
    require(int(frame.min()) != int(frame.max()), "an rgb frame is blank")
