"""Themes: what a plugin's file changes, what it leaves, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from palestra import InvalidOption
from palestra_renderers.theme import DARK, LIGHT, colours
from palestra_renderers.theme_file import ThemeFile, read_theme

DRAW = """
import palestra
from palestra import hookimpl, ThemeSpec
from palestra.kernel.plugins import Plugin
from palestra.kernel.registry import registry

class Night:
    @staticmethod
    @hookimpl
    def palestra_themes():
        return [ThemeSpec("night", "night_theme:night.json")]

plugins = registry().plugins
plugins.register(Night, Plugin("night", "night 1.0"))
registry().themes |= {spec.name: spec for spec in plugins.plugins["night"].gives["palestra_themes"]}

env = palestra.make("games/ConnectFour-v0", render_mode="rgb_array")
env.reset(seed=1)
env.step(3)
frame = env.render()
found = {tuple(int(part) for part in colour) for row in frame[::4] for colour in row[::4]}
print((1, 2, 3) in found, (24, 26, 31) in found, (248, 248, 246) in found)
from palestra_renderers.sprites import outlines
print(outlines().get("dragon"), "chess-king" in outlines())
"""


def drawn(theme: str, folder: Path) -> str:
    """What a new process prints that draws a board with a theme."""
    environment = {
        **os.environ,
        "PALESTRA_THEME": theme,
        "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, "-c", DRAW], env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def write_theme(folder: Path, text: str) -> None:
    (folder / "night_theme").mkdir()
    (folder / "night_theme" / "__init__.py").touch()
    (folder / "night_theme" / "night.json").write_text(text)


def test_the_theme_of_a_plugin_colours_the_frame_and_adds_a_sprite(tmp_path: Path) -> None:
    write_theme(tmp_path, '{"light": {"paper": "#010203"}, "sprites": {"dragon": "M2,2Z"}}')
    assert drawn("night", tmp_path) == "True False False\nM2,2Z True\n"


def test_the_dark_theme_draws_frames_on_dark_paper(tmp_path: Path) -> None:
    assert drawn("dark", tmp_path) == "False True False\nNone True\n"


def test_a_theme_nobody_has_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    assert "unknown theme in PALESTRA_THEME: 'drak'; did you mean 'dark'?" in drawn(
        "drak", tmp_path
    )


def test_what_a_theme_leaves_out_stays() -> None:
    light, dark = colours(ThemeFile(both={"grass": "#00ff00"}, dark={"ink": "#ffffff"}))
    assert light["grass"] == dark["grass"] == (0, 255, 0)
    assert dark["ink"] == (255, 255, 255)
    assert light["ink"] == LIGHT["ink"]
    assert {name for name in dark if dark[name] != DARK[name]} == {"grass", "ink"}


def test_a_colour_that_no_scene_can_ask_for_is_refused() -> None:
    with pytest.raises(InvalidOption, match=r"unknown colours: gras; a theme may set .*grass"):
        colours(ThemeFile(both={"gras": "#00ff00"}))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"both": {"grass": "green"}}', "pattern"),
        ('{"colours": {}}', "unknown field"),
        ("{", "truncated"),
    ],
)
def test_a_file_that_is_no_theme_is_refused(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = f"theme_{said.replace(' ', '_')}"
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").touch()
    (tmp_path / package / "a.json").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InvalidOption, match=said):
        read_theme(f"{package}:a.json")
    with pytest.raises(InvalidOption, match="cannot be read"):
        read_theme("no_such_package:a.json")
