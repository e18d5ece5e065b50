"""Draw the start, the middle and the end of an episode of every environment, family by family.

    python scripts/contact_sheets.py docs/pictures          # all, and docs/contact-sheet.png
    python scripts/contact_sheets.py /tmp/p games/Chess-v0  # some

Random play with seed 3; a scripted agent where an environment has one of its own.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from pathlib import Path

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import palestra
from palestra import Rng
from palestra_renderers.animation import spread
from palestra_renderers.picture import Frame, Painter, paint_episode
from PIL import Image

SIZE = (480, 480)
COLUMNS, SMALL = 8, 260  # of the page with all of them
MOST = 150  # turns of an episode


def frames(env: str, seed: int = 3) -> list[Frame]:
    """Three moments of one episode of random play, as a spectator sees them."""
    episode = palestra.Episode(palestra.game(env), seed, compiled=False)
    rng, painter, found = Rng.seeded(seed), Painter(SIZE), []
    moments = [episode.fork()]
    while not episode.over and episode.steps_played < MOST:
        acting = episode.to_act
        episode.act({seat: episode.sample(seat, rng) for seat in acting})
        moments.append(episode.fork())
    for number in spread(len(moments), 3):
        paint_episode(painter, moments[number], None)
        found.append(painter.array().copy())
    return found


def sheet(path: Path, rows: list[tuple[str, list[Frame]]]) -> None:
    """One PNG with a row for each environment."""
    wide, high = SIZE
    page = Image.new("RGB", (3 * wide, len(rows) * high), "white")
    for r, (_, row) in enumerate(rows):
        for c, frame in enumerate(row):
            page.paste(Image.fromarray(frame), (c * wide, r * high))
    page.quantize(96, dither=Image.Dither.NONE).save(path, optimize=True)


def overview(path: Path, middles: list[Frame]) -> None:
    """The middles of all episodes on one page, small."""
    rows = -(-len(middles) // COLUMNS)
    page = Image.new("RGB", (COLUMNS * SMALL, rows * SMALL), "white")
    for number, frame in enumerate(middles):
        small = Image.fromarray(frame).resize((SMALL, SMALL), Image.Resampling.LANCZOS)
        page.paste(small, (number % COLUMNS * SMALL, number // COLUMNS * SMALL))
    page.quantize(192, dither=Image.Dither.NONE).save(path, optimize=True)


def main(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    families = defaultdict(list)
    for spec in palestra.specs():
        if not names or spec.id in names:
            families[spec.family].append(spec.id)
    middles: list[Frame] = []
    for family, ids in sorted(families.items()):
        rows = [(env, frames(env)) for env in sorted(ids)]
        sheet(folder / f"{family}.png", rows)
        middles += [row[1] for _, row in rows]
        print(family, *ids)
    if not names:
        overview(folder.parent / "contact-sheet.png", middles)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
