"""Draw the start, the middle and the end of an episode of every environment, family by family.

    python scripts/contact_sheets.py docs/pictures          # all, and docs/contact-sheet.png
    python scripts/contact_sheets.py /tmp/p games/Chess-v0  # some
    python scripts/contact_sheets.py --seats /tmp/p         # as seats see the middle

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


def moments(env: str, seed: int) -> list[palestra.Episode]:
    """The start, the middle and the end of one episode of random play."""
    episode = palestra.Episode(palestra.game(env), seed, compiled=False)
    rng = Rng.seeded(seed)
    played = [episode.fork()]
    while not episode.over and episode.steps_played < MOST:
        acting = episode.to_act
        episode.act({seat: episode.sample(seat, rng) for seat in acting})
        played.append(episode.fork())
    return [played[number] for number in spread(len(played), 3)]


def frames(env: str, *, seats: bool, seed: int = 3) -> list[Frame]:
    """Three pictures: of three moments, or of the middle for a spectator and two seats."""
    episodes = moments(env, seed)
    viewers: list[int | None] = [None] * len(episodes)
    if seats:
        episodes = [episodes[1]] * 3
        viewers = [None, 0, episodes[0].game.num_players - 1]
    painter, found = Painter(SIZE), []
    for episode, viewer in zip(episodes, viewers, strict=True):
        paint_episode(painter, episode, viewer)
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


def main(folder: Path, names: list[str], *, seats: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    families = defaultdict(list)
    for spec in palestra.specs():
        if not names or spec.id in names:
            families[spec.family].append(spec.id)
    middles: list[Frame] = []
    for family, ids in sorted(families.items()):
        rows = [(env, frames(env, seats=seats)) for env in sorted(ids)]
        sheet(folder / f"{family}.png", rows)
        middles += [row[1] for _, row in rows]
        print(family, *ids)
    if not names and not seats:
        overview(folder.parent / "contact-sheet.png", middles)


if __name__ == "__main__":
    given = [one for one in sys.argv[1:] if one != "--seats"]
    main(Path(given[0]), given[1:], seats="--seats" in sys.argv)
