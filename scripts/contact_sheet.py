"""A picture of every installed environment, as one PNG: `python scripts/contact_sheet.py OUT`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import palestra
from palestra import EnvSpec, Episode, Rng
from palestra.testing.subject import play_on
from palestra_renderers import palette
from palestra_renderers.drawing import words
from palestra_renderers.picture import Painter, paint_episode
from PIL import Image

SIDE, GAP, COLUMNS, CAPTION = 270, 12, 7, 26
MOST_STEPS = 24
GROUNDS = (palette.BACKGROUND, palette.HOLE, palette.WHITE)
OTHERS = (
    *(palette.NEUTRAL, palette.BACKGROUND, palette.INK, palette.FAINT, palette.BOARD),
    *(palette.HOLE, palette.SHADE, palette.WHITE, palette.MARKED),
)


def moment(spec: EnvSpec) -> Episode:
    """The middle of a random episode, or its 24th step; told, so that messages are there."""
    episode, rng = Episode(palestra.game(spec.id), 3, spec=spec), Rng(8)
    _ = episode.log
    past = [episode.fork()]
    past += [episode.fork() for _ in play_on(episode, rng, 2 * MOST_STEPS)]
    return past[len(past) // 2]


def picture(spec: EnvSpec, painter: Painter) -> Image.Image:
    paint_episode(painter, moment(spec), None)
    large = Image.fromarray(painter.array())
    return large.resize((SIDE, SIDE), Image.Resampling.LANCZOS)


def caption(text: str) -> Image.Image:
    import pygame

    face: Any = words(text, 22, (30, 33, 40))
    raw = pygame.image.tobytes(face, "RGBA")
    return Image.frombytes("RGBA", face.get_size(), raw)


def sheet(specs: list[EnvSpec]) -> Image.Image:
    """Pictures in rows, by family, each under its id."""
    across, down = SIDE + GAP, SIDE + CAPTION + GAP
    rows = -(-len(specs) // COLUMNS)
    whole = Image.new("RGB", (COLUMNS * across + GAP, rows * down + GAP), "white")
    painter = Painter()
    for number, spec in enumerate(specs):
        x, y = GAP + number % COLUMNS * across, GAP + number // COLUMNS * down
        title = caption(spec.id)
        whole.paste(title, (x, y + 4), title)
        whole.paste(picture(spec, painter), (x, y + CAPTION))
    return whole.quantize(palette=palette_image(), dither=Image.Dither.NONE)


def palette_image() -> Image.Image:
    """The renderers' colours and their mixtures with grounds: a smaller file, truly coloured."""
    plain = [*palette.SEATS, *(darker(colour) for colour in palette.SEATS), *OTHERS]
    mixed = [mix(a, b, part) for part in (0.5, 0.25, 0.75) for a in plain for b in GROUNDS]
    colours = list(dict.fromkeys([*plain, *mixed]))[:256]
    image = Image.new("P", (1, 1))
    image.putpalette([channel for colour in colours for channel in colour])
    return image


def darker(colour: palette.Rgb) -> palette.Rgb:
    return mix(colour, (0, 0, 0), 0.25)


def mix(one: palette.Rgb, other: palette.Rgb, part: float) -> palette.Rgb:
    """`part` of the other colour in the one."""
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(one, other, strict=True))
    return red, green, blue


def main(path: Path) -> None:
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    specs = sorted(palestra.specs(), key=lambda spec: (spec.family, spec.id))
    sheet(specs).save(path, optimize=True)
    print(f"{path}: {len(specs)} environments, {path.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/contact-sheet.png"))
