"""The size and the theme of pictures, as views take them."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import palestra
import pytest
from palestra.kernel.registry import renderer
from palestra_renderers.marks import Circle, Layer, Line, Mark, Rect, Sprite, Words
from palestra_renderers.raster import at_night
from palestra_renderers.theme import DARK, LIGHT, PAINTS

ENV = "games/ConnectFour-v0"
VIEWS = ["gym", "aec", "parallel"]
PARALLEL = "grid/Foraging-v0"


def frame(view: str, options: dict[str, Any] | None) -> Any:
    env = palestra.make(
        PARALLEL if view == "parallel" else ENV,
        view,
        render_mode="rgb_array",
        render_options=options,
    )
    env.reset(seed=1)
    drawn = env.render().copy()
    env.close()
    return drawn


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("size", [(640, 480), (200, 300), [64, 64]])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_views_draw_in_the_size_and_theme_that_are_asked_for(
    view: str, size: Any, theme: str
) -> None:
    drawn = frame(view, {"size": size, "theme": theme})
    assert drawn.shape == (size[1], size[0], 3)
    paper = (DARK if theme == "dark" else LIGHT)["paper"]
    assert tuple(drawn[-1, -1]) == paper
    light = frame(view, {"size": size, "theme": "light"})
    assert np.array_equal(drawn, light) == (theme == "light")


@pytest.mark.parametrize("view", VIEWS)
def test_without_options_pictures_are_as_before(view: str) -> None:
    plain = frame(view, None)
    assert plain.shape == (480, 480, 3)
    assert np.array_equal(plain, frame(view, {"size": (480, 480), "theme": "light"}))


def test_gymnasium_hands_the_options_on() -> None:
    options = {"size": (320, 240), "theme": "dark"}
    env = gymnasium.make(ENV, render_mode="rgb_array", render_options=options)
    env.reset(seed=1)
    picture: Any = env.render()
    assert picture.shape == (240, 320, 3)
    env.close()
    batch = gymnasium.make_vec(ENV, 2, render_mode="rgb_array", render_options={"size": (96, 128)})
    batch.reset(seed=1)
    frames: Any = batch.render()
    assert [one.shape for one in frames] == [(128, 96, 3)] * 2
    batch.close()


def test_a_window_opens_in_its_size() -> None:
    env = palestra.make(ENV, render_mode="human", render_options={"size": (500, 400)})
    env.reset(seed=1)
    assert env._renderer._screen.size == (500, 400)
    env.close()


@pytest.mark.parametrize("view", [*VIEWS, "batch"])
@pytest.mark.parametrize(
    ("mode", "options", "said"),
    [
        ("rgb_array", {"size": (10, 480)}, "size must be .*64 to 8192.*10"),
        ("rgb_array", {"size": 480}, "size must be .*not 480"),
        ("rgb_array", {"size": (480.5, 480)}, "size must be"),
        ("rgb_array", {"theme": "blue"}, "theme must be 'light' or 'dark', not 'blue'"),
        ("rgb_array", {"teme": "dark"}, "theme"),
        ("rgb_array", "dark", "a dict such as .*not 'dark'"),
        (None, {"theme": "dark"}, "human and rgb_array"),
    ],
)
def test_what_is_not_accepted_is_named(view: str, mode: Any, options: Any, said: str) -> None:
    env = PARALLEL if view == "parallel" else ENV
    if view == "batch":
        with pytest.raises(palestra.PalestraError, match=said):
            gymnasium.make_vec(env, 2, render_mode=mode, render_options=options)
        return
    with pytest.raises(palestra.PalestraError, match=said):
        palestra.make(env, view, render_mode=mode, render_options=options)


def test_words_take_no_options() -> None:
    with pytest.raises(palestra.InvalidOption, match="render_mode='ansi'"):
        palestra.make(ENV, render_mode="ansi", render_options={"theme": "dark"})


MARKS: list[Mark] = [
    Rect(0, 0, 2, 2, "paper", "ink"),
    Circle(0, 0, 2, "seat0", "black"),
    Line(((0, 0), (1, 1)), "quiet"),
    Words(0, 0, "text", 12, "ink", ground="paper"),
    Sprite(0, 0, 9, "pot", "white", "black"),
]


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_at_night_differs_in_its_colours_alone(mark: Mark) -> None:
    dark: Any = at_night(mark)
    for name, before, after in zip(mark._fields, mark, dark, strict=True):
        if name in ("fill", "edge", "colour", "ground") and before:
            assert PAINTS[after] == DARK[before]
        else:
            assert after == before
    layer = at_night(Layer(0, 0, 5, 5, (mark,)))
    assert isinstance(layer, Layer)
    assert layer.marks[1:] == (dark,)
    assert at_night(Layer(0, 0, 5, 5, ())) is not None


def test_every_mode_that_draws_takes_both_options() -> None:
    for mode in ("human", "rgb_array"):
        renderer(None, mode)(size=(100, 100), theme="dark").close()
