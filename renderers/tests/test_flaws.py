"""The finder of flaws finds those that are planted, and nothing in a picture without any."""

from __future__ import annotations

import numpy as np
import pytest
from palestra_renderers.flaws import FlawKind, box_of, contrast, find_flaws, unfold, within
from palestra_renderers.marks import Circle, Layer, Line, Mark, Polygon, Rect, Words
from palestra_renderers.theme import LIGHT

SIZE = (200, 100)
HEAD = Circle(50, 50, 15, "seat2", "black")
PLANTED: dict[str, tuple[FlawKind, list[Mark]]] = {
    "a text over the right edge": ("outside", [Words(180, 50, "too long", 20)]),
    "a text over the left edge": ("outside", [Words(5, 50, "too long", 20, anchor="middle")]),
    "a disc below the lower edge": ("outside", [Circle(50, 95, 10, "seat0", "black")]),
    "a rectangle in a layer": (
        "outside",
        [Layer(150, 0, 60, 20, (Rect(10, 0, 50, 20, "panel"),))],
    ),
    "two texts": ("overlap", [Words(10, 50, "one", 20), Words(25, 54, "other", 20)]),
    "texts in two layers": (
        "overlap",
        [
            Layer(0, 40, 80, 20, (Words(10, 10, "one", 20),)),
            Layer(20, 40, 80, 20, (Words(0, 10, "other", 20),)),
        ],
    ),
    "a plate over a text": ("covered", [Words(10, 50, "hidden", 20), Rect(0, 40, 60, 20, "panel")]),
    "a name on a head": (
        "on a figure",
        [HEAD, Words(55, 62, "player_3", 16, "black")],
    ),
    "a head on a head": (
        "hidden figure",
        [HEAD, Circle(60, 50, 15, "seat3", "black")],
    ),
    "black on what is dark at night": ("pale", [Words(10, 50, "black", 20, "black")]),
    "quiet on felt": (
        "pale",
        [Rect(0, 0, 200, 100, "felt"), Words(10, 50, "words", 20, "quiet")],
    ),
    "a line over a text": (
        "crossed",
        [Words(50, 50, "crossed", 20), Line(((0, 30), (200, 70)), "ink")],
    ),
    "a line under a text": (
        "crossed",
        [Line(((70, 0), (70, 100)), "faint"), Words(50, 50, "crossed", 20)],
    ),
    "the last of three lines": (
        "crossed",
        [Line(((0, 0), (0, 90), (190, 90), (60, 40)), "ink"), Words(50, 50, "crossed", 20)],
    ),
    "a line that leaves the plate of a text": (
        "crossed",
        [
            Line(((0, 50), (200, 50)), "ink"),
            Rect(40, 40, 30, 20, "panel"),
            Words(45, 50, "crossed", 20),
        ],
    ),
    "a word cut beside empty space": ("cut", [Words(10, 50, "play…", 20)]),
}
CLEAN: dict[str, list[Mark]] = {
    "a number on a head": [HEAD, Words(50, 50, "3", 20, "black", "middle")],
    "texts side by side": [Words(10, 50, "one", 20), Words(60, 50, "other", 20)],
    "texts one below the other": [Words(10, 40, "one", 20), Words(10, 60, "other", 20)],
    "white on felt": [Rect(0, 0, 200, 100, "felt"), Words(10, 50, "words", 20, "white")],
    "a text whose rest is elsewhere": [Words(10, 50, "and then …", 20)],
    "a word cut where something follows": [
        Words(10, 50, "pla…", 20),
        Rect(60, 40, 20, 20, "panel"),
    ],
    "a line under the plate of a text": [
        Line(((0, 50), (200, 50)), "ink"),
        Rect(40, 38, 120, 24, "panel"),
        Words(50, 50, "number", 20),
    ],
    "a line to a node with a number": [
        Line(((0, 50), (50, 50)), "ink"),
        HEAD,
        Words(50, 50, "3", 20, "black", "middle"),
    ],
    "a line beside a text whose box it does not meet": [
        Line(((10, 60), (30, 90), (130, 62)), "ink"),
        Words(50, 50, "number", 20),
    ],
    "a line under a figure with a text": [
        Line(((0, 50), (200, 50)), "ink"),
        Polygon(((20, 20), (180, 20), (180, 80), (20, 80)), "panel"),
        Words(50, 50, "number", 20),
    ],
    "a ring round a head": [HEAD, Circle(50, 50, 18, "", "mark", 3)],
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_flaw_is_found(name: str) -> None:
    kind, marks = PLANTED[name]
    assert [flaw.kind for flaw in find_flaws(marks, SIZE)] == [kind]


@pytest.mark.parametrize("name", CLEAN)
def test_a_picture_without_flaws_has_none(name: str) -> None:
    assert find_flaws(CLEAN[name], SIZE) == []


def test_black_on_white_has_the_contrast_of_the_standard() -> None:
    theme = {"black": (0, 0, 0), "white": (255, 255, 255), "grey": (118, 118, 118)}
    assert contrast(theme, "black", "white") == pytest.approx(21)
    assert contrast(theme, "grey", "white") == pytest.approx(4.54, abs=0.01)  # of WCAG's own pages
    assert contrast(LIGHT, "ink", "ink") == 1


def test_layers_are_unfolded_to_their_places() -> None:
    inner = Layer(5, 6, 10, 10, (Rect(1, 2, 3, 4, "panel"),))
    (mark,) = unfold([Layer(100, 50, 20, 20, (inner,))])
    assert box_of(mark) == (106, 58, 109, 62)


def test_a_line_is_clipped_to_a_box_as_by_many_small_steps() -> None:
    rng = np.random.default_rng(5)
    box, seen = (30.0, 40.0, 90.0, 55.0), 0
    shares = np.linspace(0, 1, 2001)[:, None]
    for start, end in rng.uniform(0, 120, (300, 2, 2)):
        points = start + shares * (end - start)
        inside = points[((points >= box[:2]) & (points <= box[2:])).all(1)]
        found = within(tuple(start), tuple(end), box)
        if len(inside) > 1:
            seen += 1
            assert found is not None
            assert np.allclose(found, (inside[0], inside[-1]), atol=0.2)
        elif found is not None:
            assert np.hypot(*np.subtract(*found)) < 0.2
    assert seen > 30
