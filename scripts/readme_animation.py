"""Write docs/six.gif, the animation at the top of the README, from the animations of pages.

python scripts/readme_animation.py
"""

from __future__ import annotations

from pathlib import Path

from palestra.files import whole_file
from PIL import Image, ImageSequence

DOCS = Path(__file__).parents[1] / "docs"
SHOWN = (
    "games-Chess-v0",
    "grid-Kitchen-v0",
    "games-Werewolf-v0",
    "markets-DoubleAuction-v0",
    "web-Shop-v0",
    "games-Catan-v0",
)
COLUMNS, TILE, GAP = 3, 256, 8
FRAMES, FRAME_MS, LAST_MS = 14, 600, 1_800


def frames_of(name: str) -> list[Image.Image]:
    """`FRAMES` pictures of an animation; a shorter one stays at its end."""
    with Image.open(DOCS / "measured" / f"{name}.webp") as file:
        found = [frame.convert("RGB") for frame in ImageSequence.Iterator(file)]
    small = [frame.resize((TILE, TILE), Image.Resampling.LANCZOS) for frame in found[:FRAMES]]
    return small + [small[-1]] * (FRAMES - len(small))


def page(tiles: list[Image.Image]) -> Image.Image:
    rows = -(-len(tiles) // COLUMNS)
    side = TILE + GAP
    made = Image.new("RGB", (COLUMNS * side - GAP, rows * side - GAP), "white")
    for number, tile in enumerate(tiles):
        made.paste(tile, (number % COLUMNS * side, number // COLUMNS * side))
    return made.quantize(96, dither=Image.Dither.NONE)


def main() -> None:
    animations = [frames_of(name) for name in SHOWN]
    pages = [page([animation[n] for animation in animations]) for n in range(FRAMES)]
    with whole_file(DOCS / "six.gif") as draft:
        pages[0].save(
            draft,
            format="GIF",
            save_all=True,
            append_images=pages[1:],
            duration=[FRAME_MS] * (FRAMES - 1) + [LAST_MS],
            loop=0,
            disposal=1,
        )


if __name__ == "__main__":
    main()
