"""Records as pictures: frames, an animated GIF, a strip."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from palestra import EpisodeRecord, retrace
from PIL import Image

from palestra_renderers.picture import SIZE, Frame, Painter, paint_episode

Progress = Callable[[int, int], None]
FRAME_MS, LAST_MS = 500, 2_500


def record_frames(
    record: EpisodeRecord, viewer: int | None = None, size: tuple[int, int] = SIZE
) -> Iterator[Frame]:
    """A frame for the start and one after every step, as seat `viewer` or a spectator sees it."""
    painter = Painter(size)
    for episode in retrace(record):
        paint_episode(painter, episode, viewer, record.agents)
        yield painter.array()


def save_gif(
    path: Path, frames: Sequence[Frame], *, frame_ms: int = FRAME_MS, last_ms: int = LAST_MS
) -> Path:
    """Write frames as a looping GIF; the last one stays longer. Nothing half written remains."""
    images = [Image.fromarray(frame).quantize(64, dither=Image.Dither.NONE) for frame in frames]
    times = [frame_ms] * (len(images) - 1) + [last_ms]
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    images[0].save(
        temporary,
        format="GIF",
        save_all=True,
        append_images=images[1:],
        duration=times,
        loop=0,
        optimize=False,
        disposal=1,
    )
    temporary.replace(path)
    return path


def save_strip(path: Path, frames: Sequence[Frame], *, columns: int = 4) -> Path:
    """Write frames side by side as one PNG."""
    height, width, _ = frames[0].shape
    rows = (len(frames) + columns - 1) // columns
    strip = Image.new("RGB", (width * min(columns, len(frames)), height * rows), "white")
    for number, frame in enumerate(frames):
        place = (number % columns * width, number // columns * height)
        strip.paste(Image.fromarray(frame), place)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.part")
    strip.save(temporary, format="PNG")
    temporary.replace(path)
    return path


def export(
    records: Sequence[EpisodeRecord],
    path: Path,
    viewer: int | None = None,
    progress: Progress | None = None,
) -> Path:
    """Mode "gif": the first record as an animation."""
    record = records[0]
    frames = []
    for number, frame in enumerate(record_frames(record, viewer)):
        frames.append(frame)
        if progress:
            progress(number, len(record.steps))
    return save_gif(path, frames)
