"""An episode as the value of a notebook's cell, as IPython's formatter asks for it."""

from __future__ import annotations

from html import unescape
from typing import Any
from xml.etree import ElementTree

import palestra
import pytest
from palestra_renderers.layout.scenes import lay_out
from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.marks import Layer
from palestra_renderers.still import still
from palestra_renderers.svg import HEIGHT, LINE, WIDTH


def test_an_episode_is_one_line_of_text_and_a_picture_in_a_notebook() -> None:
    episode = palestra.Episode(palestra.game("games/TicTacToe-v0"), 1)
    for action in (4, 0, 8):
        episode.act({episode.to_act[0]: action})
    assert repr(episode) == "<Episode TicTacToe, seed 1, step 3>"
    shown = episode._repr_html_() or ""
    assert shown.startswith('<iframe sandbox="" title="&lt;Episode TicTacToe')
    assert shown.count("<") == 2  # everything else is inside the frame's attribute
    inside = unescape(shown.split('srcdoc="')[1].rpartition('"')[0])
    assert "<script" not in inside
    root = ElementTree.fromstring(inside[inside.index("<svg") : inside.index("</svg>") + 6])
    paints = [node.get("fill") for node in root.iter() if node.tag in ("circle", "path")]
    assert (paints.count("var(--c-seat0)"), paints.count("var(--c-seat1)")) == (2, 1)
    assert "player_0 plays 5" in inside
    for action in (1, 2):
        episode.act({episode.to_act[0]: action})
    loaded = palestra.Episode(episode.game, 7)
    loaded.load(episode.state)
    assert "<svg" in unescape(loaded._repr_html_() or "")
    assert "over" not in repr(loaded)


def test_what_a_player_says_is_escaped_in_a_notebook() -> None:
    episode = palestra.Episode(palestra.game("text/Negotiation-v0"), 0)
    seat = episode.to_act[0]
    said = "</svg><script>alert(1)</script>"
    episode.act({seat: episode.parse(seat, f"Say(text={said!r})")})
    inside = unescape((episode._repr_html_() or "").split('srcdoc="')[1])
    assert "<script>alert" not in inside
    assert "script&gt;alert(1)" in inside


@pytest.mark.parametrize("name", ["games/Chess-v0", "grid/Kitchen-v0", "games/Catan-v0"])
def test_a_still_picture_has_every_mark_of_the_page(name: str) -> None:
    episode = palestra.Episode(palestra.game(name), 2)
    scene = episode.scene()
    root = ElementTree.fromstring(str(still(scene)[0]))
    sheet = Sheet(WIDTH, LINE)
    lay_out(scene, sheet, 0, HEIGHT)

    def count(marks: Any) -> int:
        return sum(1 + (count(mark.marks) if isinstance(mark, Layer) else 0) for mark in marks)

    assert sum(1 for _ in root.iter()) == 1 + count(sheet.marks)
