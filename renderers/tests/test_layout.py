"""Where parts of a scene lie, what can be clicked, and that all of it is drawn inside."""

from __future__ import annotations

from itertools import pairwise
from math import dist, isclose, sqrt

import numpy as np
import palestra
import pytest
from palestra import Bar, Episode, Grid, Piece, Scene, Widget
from palestra.scene import (
    Bars,
    Candle,
    Card,
    Cards,
    Chart,
    Dice,
    Graph,
    Hex,
    HexCorner,
    HexEdge,
    Hexes,
    Lines,
    Link,
    Node,
    Page,
    Part,
    Person,
    Plane,
    RoundTable,
    Saying,
    Series,
    Spot,
    Table,
    Talk,
    mark_cells,
)
from palestra_renderers.changes import Follower
from palestra_renderers.flaws import box_of, find_flaws, shared
from palestra_renderers.layout.charts import is_number, ticks
from palestra_renderers.layout.graphs import apart
from palestra_renderers.layout.grid import shared_boxes
from palestra_renderers.layout.hexes import centre, spot
from palestra_renderers.layout.labels import free_box
from palestra_renderers.layout.planes import BEYOND
from palestra_renderers.layout.scenes import lay_out
from palestra_renderers.layout.sheet import Sheet, fit_text
from palestra_renderers.lettering import cut, text_width, wrap
from palestra_renderers.marks import Circle, Layer, Line, Rect, Sprite, Words
from palestra_renderers.picture import Painter
from palestra_renderers.sprites import outlines
from palestra_renderers.svg import MarkTable
from palestra_renderers.theme import DARK, LIGHT, SEATS, ink_on, luminance, paint_of
from palestra_renderers.words import part_lines, scene_lines

PARTS: dict[str, Part] = {
    "plane": Plane(
        (
            Spot(0.5, 0.5, 0.1, "0", 0, "agent", heading=(0.1, 0.0)),
            Spot(0.99, 1.0, 0.05, label="landmark", landmark=True),
        )
    ),
    "lake": RoundTable(
        (
            Person("Ann", 0, share=0.4),
            Person("Ben", 1, share=1.5, cards=(Card("a", sprite="hat"),)),
        ),
        words="20 / 50",
        links=(Link(0, 1, "30%", 0),),
        ground="water",
        level=0.4,
    ),
    "grid": Grid(
        (
            (Piece("a", 0), None),
            (Piece("", 1, "word", "a longer label"), Piece("R", 2, facing="east")),
        ),
        row_labels=("2", "1"),
        column_labels=("a", "b"),
        marks=mark_cells("target", [(0, 1), (1, 0)]),
        ground=(("wall", "water"), ("floor", "ice")),
        boxes=(1, 2),
    ),
    "hexes": Hexes(
        (
            Hex(0, 0, "forest", Piece("5", "black", "mark"), "A"),
            Hex(1, 0, "", None, "B"),
            Hex(0, 1),
        ),
        (HexEdge(0, 0, 1, 3, "3:1", "1-2"), HexEdge(1, 0, 0, "", "", "4-5")),
        (HexCorner(0, 0, 2, Piece("S", 1, sprite="settlement"), "7"),),
    ),
    "graph": Graph(
        (Node("1"), Node("2", 1, "two", (0.2, 0.9)), Node("3")),
        (Link(0, 1), Link(1, 2, "x", 2, 2, True)),
    ),
    "cards": Cards(
        "player_0",
        (Card("K", "spades"), Card("10", "hearts"), Card(hidden=True), Card("R3", colour="red")),
    ),
    "dice": Dice("player_1", (1, 6, 0, 9), 1),
    "table": RoundTable(
        (
            Person(
                "Ann",
                0,
                "seer",
                "3 points",
                (Card("2", "clubs"),),
                "I saw it.",
                vote=2,
                acting=True,
            ),
            Person("Bob", 1, out=True),
            Person("Cy", 2),
        ),
        (Card("A", "diamonds"), Card(hidden=True)),
        "Pot: 9",
    ),
    "chart": Chart(
        (
            Series("line", ((0, 1), (1, 3), (5, -2)), "line", 0),
            Series("bars", ((0, 2), (3, 4)), "bars", 1),
            Series("steps", ((0, 0), (2, 2), (4, 3)), "step", 2),
            Series("points", ((1, 1),), "points", 3),
            Series("nothing", (), "step", 4),
        ),
        "A chart",
        "days",
        "dollars",
        (Candle(2, 1, 3, 0, 2), Candle(3, 2, 2.5, 1, 1.2)),
    ),
    "cells": Table(("name", "sum"), (("first", "1,200"), ("second", "−3.5")), "Sums", (0, 1)),
    "talk": Talk((Saying("Ann", "Hello there.", 0), Saying("Bob", "word " * 60, 1))),
    "bars": Bars((Bar("stock", 3, 0), Bar("a quite long label of a bar", 2, 4, 1))),
    "lines": Lines(("one line", "two\nlines")),
    "page": Page(
        (Widget("heading", "H"), Widget("button", "Send", 1), Widget("field", "Name", 2, "x")),
        "shop.example",
    ),
}


def laid(part: Part, width: int = 480, height: int = 400) -> Sheet:
    sheet = Sheet(width, 20)
    end = lay_out(Scene(parts=(part,)), sheet, 0, height)
    assert 0 < end <= height + 1
    return sheet


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_drawn_inside_its_space(name: str) -> None:
    for width, height in ((480, 400), (300, 240), (900, 500)):
        for mark in laid(PARTS[name], width, height).marks:
            if isinstance(mark, Rect | Layer):
                assert -1 <= mark.x <= mark.x + mark.width <= width + 10
                assert -2 <= mark.y <= mark.y + mark.height <= height + 25
            elif isinstance(mark, Circle | Sprite | Words):
                assert -1 <= mark.x <= width + 1
                assert -2 <= mark.y <= height + 25


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_told_in_words_and_painted(name: str) -> None:
    part = PARTS[name]
    assert all(line.isprintable() for line in part_lines(part))
    painter = Painter((360, 360))
    painter.paint(Scene(), (), ())
    empty = painter.array().copy()
    painter.paint(Scene(parts=(part,)), (), ())
    assert (painter.array() != empty).mean() > 0.002
    table = MarkTable()
    picture = table.picture(Scene(parts=(part,)))
    assert max(picture["marks"]) < len(table.marks)
    assert set(table.sprites) <= set(outlines())


def test_every_part_of_a_scene_is_told() -> None:
    text = "\n".join(scene_lines(Scene("All", parts=tuple(PARTS.values()))))
    for word in (
        "K♠",
        "Ann (seer, 3 points)",
        "votes for Cy",
        "A chart",
        "a longer label",
        "2: two",
    ):
        assert word in text
    assert "out" in next(line for line in text.splitlines() if "Bob" in line)


def test_neighbouring_hexagons_share_a_side() -> None:
    frame = (0.0, 0.0, 10.0)
    for side, (q, r) in enumerate(((1, -1), (1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1))):
        own, other = centre(0, 0, frame), centre(q, r, frame)
        assert isclose(dist(own, other), 10 * sqrt(3))
        ends = {tuple(np.round(spot(own, 10, c % 6), 6)) for c in (side, side + 1)}
        facing = (side + 3) % 6
        assert ends == {tuple(np.round(spot(other, 10, c % 6), 6)) for c in (facing, facing + 1)}


def test_cells_tiles_sides_and_corners_are_found_where_they_were_painted() -> None:
    painter = Painter((500, 500))
    painter.paint(Scene(parts=(PARTS["grid"],)), (), ())
    names = {painter.name_at(*painter.middle_of(name)) for name in ("a1", "a2", "b1", "b2")}
    assert names == {"a1", "a2", "b1", "b2"}
    assert painter.name_at(1, 1) == ""
    painter.paint(Scene(parts=(PARTS["hexes"],)), (), ())
    for name in ("A", "B", "1-2", "4-5", "7"):
        assert painter.name_at(*painter.middle_of(name)) == name
    with pytest.raises(KeyError):
        painter.middle_of("Z")


def test_ticks_are_round_numbers_inside_the_span() -> None:
    assert ticks((0, 10), 5) == [0, 2, 4, 6, 8, 10]
    assert ticks((-0.3, 0.45), 4) == pytest.approx([-0.2, 0, 0.2, 0.4])
    for low, high in ((3, 977), (-1e-6, 2e-6), (1e7, 1.5e9)):
        found = ticks((low, high), 6)
        assert 2 <= len(found) <= 7
        assert low - 1e-9 <= found[0]
        assert found[-1] <= high * (1 + 1e-9)
        steps = [b - a for a, b in pairwise(found)]
        assert max(steps) == pytest.approx(min(steps))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,200", True),
        ("−3.5", True),
        ("$4", True),
        ("12%", True),
        ("", True),
        ("3 of 4", False),
        ("x", False),
    ],
)
def test_numbers_are_told_from_words(text: str, number: bool) -> None:
    assert is_number(text) == number


def test_words_are_broken_between_words_and_fit_their_box() -> None:
    room = text_width("a handful", 20)
    assert wrap("a handful of words", room, 20) == ["a handful", "of words"]
    assert cut("a handful of words", room, 20) == "a hand…"
    lines, height = fit_text("incomprehensibilities", 80, 80, 30)
    assert lines == ["incomprehensibilities"]
    assert height < 12


def test_sprites_and_colours_of_the_theme_are_complete() -> None:
    assert LIGHT.keys() == DARK.keys()
    assert {paint_of(seat) for seat in range(8)} == {f"seat{n}" for n in range(8)}
    assert (paint_of(-1), paint_of("felt"), paint_of("no such")) == ("nobody", "felt", "nobody")


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_contrasts_with_what_is_below_it(theme: dict[str, tuple[int, int, int]]) -> None:
    """WCAG 2.2, AA: 4.5 to 1 for text."""

    def contrast(one: str, other: str) -> float:
        lights = sorted(luminance(theme[name]) for name in (one, other))
        return (lights[1] + 0.05) / (lights[0] + 0.05)

    for ground in ("paper", "panel", "cell"):
        assert contrast("ink", ground) >= 4.5
        assert contrast("quiet", ground) >= 4.5
    for part in ("keyword", "string", "number"):
        assert contrast(part, "panel") >= 4.5
    assert contrast("mark", "paper") >= 3
    for seat in range(len(SEATS)):
        assert contrast(ink_on(f"seat{seat}"), f"seat{seat}") >= 4.5


def test_the_last_move_is_marked_on_boards_where_seats_move_in_turn() -> None:
    chess, follower = Episode(palestra.game("games/Chess-v0"), 0), Follower()
    assert follower.scene(chess, None) == chess.scene()
    for move in ("e2e4", "e7e5", "g1f3", "b8c6", "f1c4", "g8f6"):
        chess.act({chess.to_act[0]: chess.parse(chess.to_act[0], move)})
        (board,) = follower.scene(chess, None).parts
        assert isinstance(board, Grid)
        assert {board.name(*cell) for _, cell in board.marks} == {move[:2], move[2:]}
    chess.act({0: chess.parse(0, "e1g1")})
    (board,) = follower.scene(chess, None).parts
    assert isinstance(board, Grid)
    assert {board.name(*cell) for _, cell in board.marks} == {"e1", "f1", "g1", "h1"}
    (again,) = follower.scene(chess, None).parts
    assert again == board  # the same step drawn again
    hidden = Episode(palestra.game("games/KuhnPoker-v0"), 0)
    before = follower.scene(hidden, None)
    hidden.act({0: 1})
    assert follower.scene(hidden, None) == hidden.scene() != before


def test_nodes_that_touch_are_pushed_apart_and_labels_keep_off_nodes() -> None:
    places = ((0.5, 0.5), (0.51, 0.5), (0.5, 0.52), (0.5, 0.52), (0.0, 0.0))
    spots = apart(places, 400, 300, 40)
    for number, place in enumerate(spots):
        assert all(dist(place, other) > 39 for other in spots[:number])
        assert 0 <= place[0] <= 400
        assert 0 <= place[1] <= 300
    assert spots[4] == (0.0, 0.0)  # nobody is near
    below = (90.0, 110.0, 110.0, 130.0)
    box = free_box((100, 100), (20, 10), 10, (0, 0, 300, 300), [below])
    assert box[3] <= 90  # above, since below is taken


def test_a_table_on_a_page_has_its_cells_in_rows() -> None:
    page = Page(
        (
            Widget("heading", "Records"),
            Widget("row", "", depth=1),
            Widget("cell", "kind", chosen=True, depth=2),
            Widget("cell", "count", chosen=True, depth=2),
            Widget("row", "", depth=1),
            Widget("cell", "", depth=2),
            Widget("link", "users", 4, depth=3),
            Widget("cell", "20", depth=2),
            Widget("text", "the end"),
        )
    )
    assert [line.strip() for line in part_lines(page)] == [
        "# Records",
        "kind | count",
        "4       users | 20",
        "the end",
    ]


@pytest.mark.parametrize("size", [(480, 400), (960, 700), (240, 200)])
def test_an_arrow_between_two_people_passes_the_words_in_the_middle(size: tuple[int, int]) -> None:
    people = (Person("player_0", 0), Person("player_1", 1))
    gift = Link(0, 1, "gives 5", 0)
    sheet = laid(RoundTable(people, words="7 units are left", pot=7, links=(gift,)), *size)
    arrows = [box_of(one) for one in sheet.marks if isinstance(one, Line)]
    texts = [one for one in sheet.marks if isinstance(one, Words)]
    left = [box_of(one) for one in texts if "left" in one.text or one.text == "7"]
    assert arrows
    assert len(left) == 2
    assert not any(shared(arrow, words)[0] > 0 for arrow in arrows for words in left)


@pytest.mark.parametrize("count", [2, 3, 4, 5, 9, 10])
def test_those_who_share_a_cell_stay_in_it_and_can_be_told_apart(count: int) -> None:
    boxes = [(x, y, x + wide, y + high) for x, y, wide, high in shared_boxes(count, (7, 3, 40, 40))]
    assert len(boxes) == count
    assert all(min(box) >= 3 and box[0] >= 7 for box in boxes)
    assert all(box[2] <= 47.001 and box[3] <= 43.001 for box in boxes)
    for number, box in enumerate(boxes):
        area = (box[2] - box[0]) * (box[3] - box[1])
        for other in boxes[:number]:
            across, down = (max(0.0, side) for side in shared(box, other))
            assert across * down < area / 5
    if count == 2:  # larger than a quarter of the cell, which is what rows would give them
        assert all((box[2] - box[0]) * (box[3] - box[1]) > 40 * 40 * 0.4 for box in boxes)


def axes(sheet: Sheet) -> tuple[float, float, float, float]:
    """The box of a chart's axes: the only line with two straight parts that is painted quietly."""
    (found,) = [one for one in sheet.marks if isinstance(one, Line) and len(one.points) == 3]
    return box_of(found)


WAVE = Series("price", tuple((float(day), 100.0 + day % 7) for day in range(30)))


@pytest.mark.parametrize("labels", [("", "", ""), ("ALDR", "day", "dollars"), ("", "day", "")])
@pytest.mark.parametrize("height", [110, 150, 300])
def test_most_of_a_low_chart_is_its_curve(labels: tuple[str, str, str], height: int) -> None:
    sheet = Sheet(480, 20)
    lay_out(Scene("", parts=(Chart((WAVE,), *labels),)), sheet, 0, height)
    left, top, right, bottom = axes(sheet)
    assert bottom - top >= 0.48 * height
    assert right - left > 0.8 * 480
    assert bottom <= height
    texts = {one.text for one in sheet.marks if isinstance(one, Words)}
    assert {"price", *labels} - {""} <= texts  # nothing of it is left out
    upwards = {one.text for one in sheet.marks if isinstance(one, Words) and one.anchor == "end"}
    assert len(upwards - set(labels)) >= 3  # numbers beside the axis
    assert find_flaws(sheet.marks, (480, height)) == []


@pytest.mark.parametrize("count", [2, 5, 12])
def test_every_bar_keeps_its_number(count: int) -> None:
    bars = Series("", tuple((float(n), 10.0 * n) for n in range(1, count + 1)), "bars", 2)
    sheet = Sheet(480, 20)
    lay_out(Scene("", parts=(Chart((bars,), "", "worker", "income"),)), sheet, 0, 150)
    numbers = [one.text for one in sheet.marks if isinstance(one, Words) and one.anchor == "middle"]
    assert numbers == [str(number) for number in range(1, count + 1)]
    assert find_flaws(sheet.marks, (480, 150)) == []


@pytest.mark.parametrize("count", [1, 3, 9, 20])
def test_words_on_many_cards_can_be_read(count: int) -> None:
    cities = [f"Edinburgh {number}" for number in range(count)]
    shut = Card(hidden=True, badge="balance")
    for cards in (tuple(map(Card, cities)), (shut,) * count):
        sheet = laid(Cards("guessed", cards), 480, 80)
        words = [one for one in sheet.marks if isinstance(one, Words) and one.anchor == "middle"]
        assert len(words) >= len(cards)
        assert all(one.height >= 10 and "…" not in one.text for one in words)
        assert find_flaws(sheet.marks, (480, 80)) == []


@pytest.mark.parametrize("count", [5, 6, 8])
def test_many_hands_are_equally_high_and_leave_the_middle_to_the_board(count: int) -> None:
    hand = (Card("4", "hearts"), Card("6", "diamonds"))
    people = tuple(
        Person(f"player_{n}", n, detail="98 chips", cards=hand, chips=2 * n) for n in range(count)
    )
    board = tuple(Card(hidden=True) for _ in range(5))
    sheet = laid(RoundTable(people, cards=board, pot=195, words="Pot"), 480, 360)
    cards = [
        box_of(one) for one in sheet.marks if isinstance(one, Rect) and one.edge and one.width > 15
    ]
    held = [card for card in cards if card[3] - card[1] < 40]
    assert len(held) >= 2 * count
    assert find_flaws(sheet.marks, (480, 360)) == []


@pytest.mark.parametrize("shift", [0.0, 0.001, 0.03, 0.08])
@pytest.mark.parametrize("count", [2, 3, 5])
def test_those_who_meet_on_a_plane_are_told_apart(shift: float, count: int) -> None:
    spots = tuple(
        Spot(0.5 + shift * n, 0.5, 0.06, str(n), n, heading=(0.1, 0.1 * n)) for n in range(count)
    )
    sheet = laid(Plane((*spots, Spot(0.1, 0.1, 0.06, "9", 9, heading=(0.5, 0.5)))), 480, 480)
    flaws = find_flaws(sheet.marks, (480, 480))
    assert {flaw.kind for flaw in flaws} <= {"outside"}  # a square with a margin is asked for
    discs = [one for one in sheet.marks if isinstance(one, Circle) and one.fill]
    assert len(discs) == count + 1
    assert all(disc.radius < discs[-1].radius for disc in discs[:count])
    rings = [one for one in sheet.marks if isinstance(one, Circle) and not one.fill]
    for ring, disc in zip(rings, discs[:count], strict=True):
        assert dist((ring.x, ring.y), (disc.x, disc.y)) <= 1.6 * ring.radius


@pytest.mark.parametrize("heading", [(0.0, -0.9), (0.7, 0.7), (-0.2, 0.01), (0.0, 0.03)])
def test_an_arrow_of_what_leaves_a_plane_ends_near_its_sides(heading: tuple[float, float]) -> None:
    spots = tuple(
        Spot(x, y, 0.05, str(number), number, heading=heading)
        for number, (x, y) in enumerate([(0.0, 0.0), (1.0, 0.3), (0.4, 1.0), (0.5, 0.5)])
    )
    sheet = laid(Plane((*spots, Spot(0.5, 0.6, 0.02, label="landmark 3", landmark=True))), 480, 300)
    square = next(box_of(one) for one in sheet.marks if isinstance(one, Rect))
    arrows = [one.points[-1] for one in sheet.marks if isinstance(one, Line)][::2]
    assert len(arrows) == len(spots)
    for x, y in arrows:
        assert square[0] - BEYOND - 0.01 <= x <= square[2] + BEYOND + 0.01
        assert square[1] - BEYOND - 0.01 <= y <= square[3] + BEYOND + 0.01
    assert not [flaw for flaw in find_flaws(sheet.marks, (480, 300)) if flaw.kind == "crossed"]
    assert any(isinstance(one, Words) and one.text.endswith("3") for one in sheet.marks)
