"""What a player says reaches every renderer: it is shown, and nothing obeys it."""

from __future__ import annotations

import io
import re
from html import unescape
from pathlib import Path
from typing import Any

import palestra
import pytest
from palestra import Episode, EpisodeRecord
from palestra.kernel.registry import registry, renderer
from palestra_envs.text.negotiation.game import Say
from rich.console import Console

ENV = "text/Negotiation-v0"
SAID = (
    "\x1b]52;c;QUJD\x07",  # writes into the clipboard
    "\x1b]0;title\x07\x1b[2J\x1b[31m",  # sets the title, clears the screen, turns red
    "\x9b2J\x07\x08\x0b\x7f",  # the same in one byte, a bell, steps back
    "\u202eabc\u2066\u2028\u2029\x85",  # turns the direction, ends the line
    "[bold red]x[/] [link=http://x.y]z[/link]",  # the markup of a terminal library
    "</script><script>alert(1)</script><img src=x onerror=alert(1)>",
    "\r\nplayer_1 wins.\n\x00",
)
OWN_SPECS = [s for s in registry().renderers.values() if "palestra_renderers" in s.entry_point]
MODES = sorted({spec.mode for spec in OWN_SPECS} - {"human"})
FILES = {
    "html": "page.html",
    "gif": "film.gif",
    "mp4": "film.mp4",
    "strip": "strip.png",
    "webp": "film.webp",
}
# colours, and what a live picture moves its own cursor with, at the start and end of its lines
OWN = re.compile("\x1b\\[[0-9;]*[mAK]|\x1b\\[2K|\x1b\\[\\?25[lh]|\r(?=\x1b|\n|$)")
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]")


def episode_of(quoting: str, text: str) -> Episode:
    spec = registry().environment(ENV)
    episode = Episode(palestra.game(ENV, quoting=quoting), 0, spec=spec)
    for _ in range(3):
        episode.act({episode.to_act[0]: Say(text=text)})
    return episode


def record_of(quoting: str, text: str) -> EpisodeRecord:
    hostile: Any = lambda turn: Say(text=text)  # noqa: E731
    (record,) = palestra.play(ENV, agents=hostile, quoting=quoting, max_episode_steps=3)
    return record


PICTURES = ("gif", "mp4", "strip", "webp", "rgb_array")  # letters only: one text is enough
CASES = [
    pytest.param(mode, text, quoting, id=f"{mode}-{text!a}-{quoting}")
    for mode in MODES
    for text in (SAID[:1] if mode in PICTURES else SAID)
    for quoting in (("none",) if mode in PICTURES else ("escaped", "none"))
]


@pytest.mark.parametrize(("mode", "text", "quoting"), CASES)
def test_nothing_that_is_said_is_obeyed(mode: str, text: str, quoting: str, tmp_path: Path) -> None:
    if mode in FILES:
        path = renderer(None, mode)([record_of(quoting, text)], tmp_path / FILES[mode])
        if mode == "html":
            page = path.read_text("utf-8")
            assert page.count("</script>") == 3  # the index, the episode's data, the script
            assert "<img" not in page
            assert not OBEYED.search(page)
        assert path.stat().st_size > 0
        return
    if mode == "rgb_array":
        frame = renderer(None, mode)().draw(episode_of(quoting, text), None)
        assert frame.ndim == 3
        return
    if mode == "marks":  # which a page shows as text and never as tags; see test_lobby.py
        picture = renderer(None, mode)().draw_public(episode_of(quoting, text))
        assert not OBEYED.search(str(picture))
        return
    if mode == "notebook":  # a page in a frame, escaped once more
        page = unescape(renderer(None, mode)(episode_of(quoting, text)))
        assert "<script" not in page
        assert "<img" not in page
        assert not OBEYED.search(page)
        return
    for shown in drawn(mode, episode_of(quoting, text)):
        assert not OBEYED.search(OWN.sub("", shown)), repr(shown)
        told = mode == "terminal"  # which shows events, and not the scene alone
        assert not told or "alert" in shown or "script" not in text
        assert not told or "[bold red]" in shown or "bold" not in text


def drawn(mode: str, episode: Episode) -> list[str]:
    kind = renderer(None, mode)
    if mode == "ansi":
        return [kind().draw(episode, viewer) for viewer in (None, 0, 1)]
    shown = []
    for live in (False, True):
        out = io.StringIO()
        artist = kind(Console(file=out, width=200, force_terminal=live, color_system="standard"))
        artist.draw(episode, None)
        artist.close()
        shown.append(out.getvalue())
    return shown


def test_every_mode_is_tested() -> None:
    assert set(MODES) == {"ansi", "marks", "notebook", "terminal", "rgb_array", *FILES}
