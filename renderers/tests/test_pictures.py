"""Pictures as they should look: a golden image a family, and every environment in every mode.

A golden image that is missing is written, and the test fails once: look at it, then commit it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import palestra
import pytest
from palestra import Episode, EpisodeRecord, Rng, Scene, Widget
from palestra.kernel.registry import renderer
from palestra.scene import Page
from palestra_renderers.animation import record_frames
from palestra_renderers.picture import Frame, Painter, RgbRenderer, paint_episode
from palestra_renderers.words import scene_lines
from PIL import Image

GOLDEN = Path(__file__).parent / "golden"
COMPARED = (96, 96)
TOLERANCE = 1.0  # mean absolute difference of a channel; a disc more or less makes over 1
FAMILIES = {
    "board": "games/ConnectFour-v0",
    "card": "games/Hanabi-v0",
    "dice": "games/LiarsDice-v0",
    "grid": "grid/Kitchen-v0",
    "market": "markets/DoubleAuction-v0",
    "matrix": "games/PrisonersDilemma-v0",
    "social": "games/NetworkDilemma-v0",
    "text": "text/Negotiation-v0",
    "tools": "web/TravelDesk-v0",
    "web": "web/Shop-v0",
}
ENVIRONMENTS = [spec.id for spec in palestra.specs()]


def moments(env: str, most: int = 12) -> list[Episode]:
    """Random play from seed 3, at most so many steps, with its story told."""
    spec = next(spec for spec in palestra.specs() if spec.id == env)
    episode, rng = Episode(palestra.game(env), 3, spec=spec, compiled=False), Rng(8)
    _ = episode.log
    found = [episode.fork()]
    while not episode.over and len(found) <= most:
        episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})
        found.append(episode.fork())
    return found


def difference(one: Frame, other: Frame) -> float:
    """Mean absolute difference of two pictures, small enough for letters to count little."""
    small = [
        np.asarray(Image.fromarray(frame).resize(COMPARED, Image.Resampling.BOX), float)
        for frame in (one, other)
    ]
    return float(np.abs(small[0] - small[1]).mean())


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_looks_as_it_should(family: str) -> None:
    played = moments(FAMILIES[family])
    frame = RgbRenderer().draw(played[len(played) // 2], None)
    path = GOLDEN / f"{family}.png"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(frame).quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
        pytest.fail(f"wrote {path}; look at it, and commit it if it is right")
    with Image.open(path) as image:
        assert difference(np.asarray(image.convert("RGB")), frame) < TOLERANCE


def test_every_family_has_a_picture() -> None:
    assert set(FAMILIES) == {spec.family for spec in palestra.specs()}


PAGE = (
    Widget("heading", "Colours"),
    Widget("link", "Home", 1),
    Widget("field", "Name", 2, "Ann"),
    Widget("tick", "red", 3, chosen=True, depth=1),
    Widget("tick", "blue", 4, depth=1),
    Widget("button", "Send", 5),
    Widget("text", "That is all."),
)


def test_a_page_is_told_in_plain_lines() -> None:
    assert scene_lines(Scene("A page", parts=(Page(PAGE),))) == [
        "A page",
        "    # Colours",
        "  1 Home",
        "  2 Name: [Ann]",
        "  3   (x) red",
        "  4   ( ) blue",
        "  5 < Send >",
        "    That is all.",
    ]


def test_a_page_shows_what_is_picked_and_says_what_does_not_fit() -> None:
    def painted(*widgets: Widget) -> Frame:
        painter = Painter((320, 240))
        painter.paint(Scene(parts=(Page(widgets),)), ("x",), ())
        return painter.array().copy()

    picked = [replace(w, chosen=not w.chosen) if w.kind == "tick" else w for w in PAGE]
    assert (painted(*PAGE) != painted(*picked)).any()
    long = painted(*PAGE * 50)
    assert (long != painted(*PAGE * 50, PAGE[0])).any()  # one more is counted
    assert (long[-20:] == painted(*PAGE)[-20:]).all()  # the panel is not painted over


def test_one_disc_more_is_a_different_picture() -> None:
    episode = Episode(palestra.game("games/ConnectFour-v0"), 0)
    before = RgbRenderer().draw(episode, None)
    episode.act({0: 3})
    assert difference(before, RgbRenderer().draw(episode, None)) > TOLERANCE


@pytest.mark.parametrize("env", FAMILIES.values())
def test_frames_are_the_same_live_and_from_the_record(env: str) -> None:
    played = moments(env)
    last = played[-1].fork()
    if not last.over:
        last.truncate()
        played.append(last.fork())
    live = []
    painter = Painter()
    for moment in played:
        paint_episode(painter, moment, None)
        live.append(painter.array())
    record = palestra.record_episode(last)
    recorded = list(record_frames(record))
    assert len(recorded) == len(record.steps) + 1
    for one, other in zip(live, recorded, strict=True):
        assert np.array_equal(one, other)


@cache
def recorded(env: str) -> EpisodeRecord:
    seats = palestra.game(env).num_players
    (record,) = palestra.play(env, agents=["random"] * seats, max_episode_steps=4, seed=1)
    return record


@pytest.mark.exhaustive(sample=129)
@pytest.mark.parametrize(
    ("env", "mode"),
    [
        *((env, mode) for env in ENVIRONMENTS for mode in ("html", "gif", "strip")),
        *((env, "mp4") for env in FAMILIES.values()),
    ],
)
def test_every_environment_is_exported(env: str, mode: str, tmp_path: Path) -> None:
    record = recorded(env)
    spec = next(spec for spec in palestra.specs() if spec.id == env)
    path = renderer(spec, mode)([record], tmp_path / f"replay.{mode}", None, None)
    assert path.stat().st_size > 1_000
    if mode == "gif":
        with Image.open(path) as image:
            # a frame that is like the one before it only lasts longer
            assert 1 <= getattr(image, "n_frames", 1) <= len(record.steps) + 1
