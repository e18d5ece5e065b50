"""Films and strips of records, read back; and Gymnasium's own recorder."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import imageio_ffmpeg
import numpy as np
import palestra
import pytest
from palestra.kernel.registry import renderer
from palestra_renderers.animation import FILM_SIZE, STRIP_FRAMES, record_frames, save_film, spread
from PIL import Image


def record_of(env: str, steps: int | None = None) -> palestra.EpisodeRecord:
    (record,) = palestra.play(env, agents=["random", "random"], seed=4, max_episode_steps=steps)
    return record


def frames_of(path: Path, size: tuple[int, int]) -> Any:
    """Every frame of a film in H.264, as frames x height x width x 3 bytes."""
    program = imageio_ffmpeg.get_ffmpeg_exe()
    raw = ["-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    done = subprocess.run([program, "-i", str(path), *raw], capture_output=True, check=True)
    told = done.stderr.decode()
    assert "Video: h264" in told
    assert f"{size[0]}x{size[1]}" in told
    return np.frombuffer(done.stdout, np.uint8).reshape(-1, size[1], size[0], 3)


def test_a_film_holds_every_moment(tmp_path: Path) -> None:
    record, told = record_of("games/TicTacToe-v0"), []
    path = renderer(None, "mp4")(
        [record], tmp_path / "deep" / "film.mp4", None, lambda *p: told.append(p)
    )
    frames = frames_of(path, FILM_SIZE)
    gc.collect()  # a pipe that was left open would be told of here
    assert told == [(n, len(record.steps)) for n in range(len(record.steps) + 1)]
    moments = list(record_frames(record, None, FILM_SIZE))
    assert len(frames) == 5 * len(moments) + 20
    for number, moment in enumerate(moments):
        shown = frames[5 * number + 2].astype(int)
        assert np.abs(shown - moment).mean() < 3  # what H.264 loses
    assert [p.name for p in path.parent.iterdir()] == ["film.mp4"]


def test_a_film_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Any:
        yield np.zeros((64, 64, 3), np.uint8)
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        save_film(tmp_path / "film.mp4", broken())
    assert list(tmp_path.iterdir()) == []


def test_a_missing_encoder_names_the_line_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(palestra.MissingExtra, match=r"palestra-renderers\[video\]"):
        save_film(tmp_path / "film.mp4", [np.zeros((64, 64, 3), np.uint8)])


def test_a_strip_of_a_long_record_shows_moments_evenly_apart(tmp_path: Path) -> None:
    record = record_of("games/Chess-v0", 60)
    path = renderer(None, "strip")([record], tmp_path / "strip.png", None, None)
    with Image.open(path) as image:
        assert image.size == (4 * 320, STRIP_FRAMES // 4 * 320)


@pytest.mark.parametrize(("count", "most"), [(1, 24), (24, 24), (25, 24), (1001, 24)])
def test_spread_has_both_ends(count: int, most: int) -> None:
    places = spread(count, most)
    assert (places[0], places[-1]) == (0, count - 1)
    assert len(set(places)) == min(count, most)
    assert max(np.diff(places), default=0) - min(np.diff(places), default=0) <= 1


def test_the_command_line_exports_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from palestra.cli import main

    record = tmp_path / "episode.jsonl"
    palestra.write_records(record, [record_of("games/KuhnPoker-v0")])
    film, strip = tmp_path / "film.mp4", tmp_path / "strip.png"
    with pytest.raises(SystemExit) as stop:
        main(["replay", str(record), "--mp4", str(film), "--strip", str(strip), "--seat", "0"])
    assert not stop.value.code
    assert film.stat().st_size > 1_000
    assert strip.stat().st_size > 1_000


def test_gymnasium_records_a_video(tmp_path: Path) -> None:
    env = gym.make("palestra:games/ConnectFour-v0", render_mode="rgb_array")
    env = gym.wrappers.RecordVideo(env, str(tmp_path / "films"), episode_trigger=lambda n: True)
    _, info = env.reset(seed=0)
    steps, done = 0, False
    while not done:
        action = int(np.flatnonzero(info["action_mask"])[0])
        _, _, ended, cut, info = env.step(action)
        steps, done = steps + 1, ended or cut
    env.close()
    (film,) = tmp_path.glob("films/*.mp4")
    assert len(frames_of(film, (480, 480))) == steps + 1
