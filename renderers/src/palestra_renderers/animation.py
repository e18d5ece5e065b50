"""Records as pictures: frames, an animated GIF, a film in MP4, a strip in PNG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from palestra import EpisodeRecord, MissingExtra, renderer, retrace
from palestra.files import whole_file
from PIL import Image

from palestra_renderers.picture import SIZE, Frame, Painter, paint_episode
from palestra_renderers.theme import LIGHT

Progress = Callable[[int, int], None]
FRAME_MS, LAST_MS = 500, 2_500
FILM_SIZE = (720, 720)
FILM_FPS = 10  # pictures are repeated to stay longer, so that any player can seek
STRIP_SIZE, STRIP_FRAMES = (320, 320), 24
LOOP_SIZE, LOOP_FRAMES = (320, 320), 14  # of an animation for a page, of some tens of kilobytes


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
    """Write frames as a looping GIF; the last one stays longer. The file is written atomically."""
    images = [Image.fromarray(frame).quantize(64, dither=Image.Dither.NONE) for frame in frames]
    times = [frame_ms] * (len(images) - 1) + [last_ms]
    with whole_file(path) as draft:
        images[0].save(
            draft,
            format="GIF",
            save_all=True,
            append_images=images[1:],
            duration=times,
            loop=0,
            optimize=False,
            disposal=1,
        )
    return path


def save_webp(
    path: Path, frames: Sequence[Frame], *, frame_ms: int = FRAME_MS, last_ms: int = LAST_MS
) -> Path:
    """Write frames as a looping, lossless WebP of 48 colours; the last one stays longer.

    The file is written atomically.
    """
    reduced = (Image.fromarray(frame).quantize(48, dither=Image.Dither.NONE) for frame in frames)
    images = [image.convert("RGB") for image in reduced]
    times = [frame_ms] * (len(images) - 1) + [last_ms]
    with whole_file(path) as draft:
        images[0].save(
            draft,
            format="WEBP",
            save_all=True,
            append_images=images[1:],
            duration=times,
            loop=0,
            lossless=True,
            quality=80,
            method=4,
        )
    return path


def save_strip(path: Path, frames: Sequence[Frame], *, columns: int = 4) -> Path:
    """Write frames side by side as one PNG."""
    height, width, _ = frames[0].shape
    rows = (len(frames) + columns - 1) // columns
    strip = Image.new("RGB", (width * min(columns, len(frames)), height * rows), LIGHT["paper"])
    for number, frame in enumerate(frames):
        place = (number % columns * width, number // columns * height)
        strip.paste(Image.fromarray(frame), place)
    with whole_file(path) as draft:
        strip.save(draft, format="PNG")
    return path


def save_film(
    path: Path, frames: Iterable[Frame], *, frame_ms: int = FRAME_MS, last_ms: int = LAST_MS
) -> Path:
    """Write frames as an MP4 (H.264); the last one stays longer. The file is written atomically."""
    with whole_file(path) as draft:
        _encode(draft, frames, frame_ms, last_ms)
    return path


def _encode(path: Path, frames: Iterable[Frame], frame_ms: int, last_ms: int) -> None:
    """Show every frame for `frame_ms` milliseconds, and the last one for `last_ms`."""
    writer: Any = None
    last: Frame | None = None
    try:
        for frame in frames:
            writer = writer or _film_writer(path, frame)
            for _ in range(max(1, frame_ms * FILM_FPS // 1_000)):
                writer.send(frame)
            last = frame
        for _ in range(max(0, last_ms - frame_ms) * FILM_FPS // 1_000):
            writer.send(last)
    finally:
        if writer is not None:
            writer.close()


def _film_writer(path: Path, frame: Frame) -> Any:
    """An encoder that takes frames of this size one by one."""
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise MissingExtra("imageio-ffmpeg", "palestra-renderers[video]") from error
    height, width, _ = frame.shape
    writer = imageio_ffmpeg.write_frames(
        path,
        (width, height),
        fps=FILM_FPS,
        codec="libx264",
        quality=None,
        bitrate=None,
        macro_block_size=2,
        output_params=["-crf", "20", "-movflags", "+faststart"],
    )
    writer.send(None)
    return writer


def _first(
    records: Sequence[EpisodeRecord],
    viewer: int | None,
    progress: Progress | None,
    size: tuple[int, int] = SIZE,
) -> Iterator[Frame]:
    """The frames of the first record, with progress output."""
    for number, frame in enumerate(record_frames(records[0], viewer, size)):
        if progress:
            progress(number, len(records[0].steps))
        yield frame


def spread(count: int, most: int) -> list[int]:
    """At most `most` evenly spaced indices below `count`, including the first and the last."""
    if count <= most:
        return list(range(count))
    return [round(place * (count - 1) / (most - 1)) for place in range(most)]


@renderer("gif", families=("*",))
def export(
    records: Sequence[EpisodeRecord],
    path: Path,
    viewer: int | None = None,
    progress: Progress | None = None,
) -> Path:
    """Mode "gif": the first record as an animation."""
    return save_gif(path, list(_first(records, viewer, progress)))


@renderer("mp4", families=("*",))
def export_film(
    records: Sequence[EpisodeRecord],
    path: Path,
    viewer: int | None = None,
    progress: Progress | None = None,
) -> Path:
    """Mode "mp4": the first record as a film."""
    return save_film(path, _first(records, viewer, progress, FILM_SIZE))


@renderer("strip", families=("*",))
def export_strip(
    records: Sequence[EpisodeRecord],
    path: Path,
    viewer: int | None = None,
    progress: Progress | None = None,
) -> Path:
    """Mode "strip": the first record as one picture of evenly spaced moments."""
    return save_strip(path, list(_moments(records[0], viewer, STRIP_SIZE, STRIP_FRAMES)))


@renderer("webp", families=("*",))
def export_webp(
    records: Sequence[EpisodeRecord],
    path: Path,
    viewer: int | None = None,
    progress: Progress | None = None,
) -> Path:
    """Mode "webp": evenly spaced moments of the first record, as a small animation for a page."""
    return save_webp(path, list(_moments(records[0], viewer, LOOP_SIZE, LOOP_FRAMES)))


def _moments(
    record: EpisodeRecord, viewer: int | None, size: tuple[int, int], most: int
) -> Iterator[Frame]:
    """At most `most` evenly spaced frames of a record; the others are not painted."""
    painter, wanted = Painter(size), set(spread(len(record.steps) + 1, most))
    for number, episode in enumerate(retrace(record)):
        if number in wanted:
            paint_episode(painter, episode, viewer, record.agents)
            yield painter.array().copy()
