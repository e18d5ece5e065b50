"""Draw the start, the middle and the end of an episode of every environment, family by family.

    python scripts/contact_sheets.py docs/pictures          # every environment
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


def main(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    families = defaultdict(list)
    for spec in palestra.specs():
        if not names or spec.id in names:
            families[spec.family].append(spec.id)
    for family, ids in sorted(families.items()):
        rows = [(env, frames(env)) for env in sorted(ids)]
        sheet(folder / f"{family}.png", rows)
        print(family, *ids)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
