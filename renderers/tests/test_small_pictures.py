"""Large boards, long tables and many cards in a small picture: no text over another, none cut."""

from __future__ import annotations

from itertools import product

import pytest
from palestra import Grid, Piece, Scene, Widget
from palestra.scene import Card, Cards, Lines, Page, Saying, Talk
from palestra_renderers.flaws import box_of, find_flaws, shared, unfold
from palestra_renderers.layout.cards import LEGIBLE
from palestra_renderers.layout.scenes import lay_out
from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.marks import Circle, Mark, Words
from palestra_renderers.picture import Painter

SMALL = (480, 480)
PANEL = tuple(f"player_{seat}: 0" for seat in range(4))


def marks(scene: Scene) -> list[Mark]:
    return Painter(SMALL).lay_out(scene, PANEL, ())


def words(scene: Scene) -> list[Words]:
    return [mark for mark in unfold(marks(scene)) if isinstance(mark, Words)]


def labels(count: int, kind: str) -> tuple[str, ...]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    pairs = [one + other for one, other in product(letters, letters)]
    return tuple(pairs[:count] if kind == "letters" else (str(n + 1) for n in range(count)))


@pytest.mark.parametrize("form", [(30, 6), (40, 40), (12, 50), (5, 61), (17, 26), (60, 60), (3, 3)])
@pytest.mark.parametrize("kind", ["letters", "numbers"])
def test_labels_of_a_large_board_are_whole_and_apart(form: tuple[int, int], kind: str) -> None:
    rows, columns = form
    grid = Grid(((None,) * columns,) * rows, labels(rows, "numbers"), labels(columns, kind))
    scene = Scene(grid=grid, lines=("Something to read.",) * 3)
    assert find_flaws(marks(scene), SMALL) == []
    shown = {mark.text for mark in words(scene)}
    assert shown >= {grid.row_labels[0], grid.column_labels[0]}
    assert not [text for text in shown if "…" in text and not text.endswith(" …")]


@pytest.mark.parametrize("side", [12, 20, 30])
def test_pieces_that_share_a_small_cell_hide_no_number(side: int) -> None:
    def person(seat: int, *under: Piece) -> Piece:
        return Piece(str(seat), seat, sprite="person", under=under)

    pair, level = person(23, person(19)), Piece("2", 3, sprite="person", badge="5")
    cells = tuple(
        tuple((pair, level, None)[(row + column) % 3] for column in range(side))
        for row in range(side)
    )
    found = find_flaws(marks(Scene(grid=Grid(cells))), SMALL)
    assert [flaw for flaw in found if flaw.kind in ("covered", "overlap", "hidden figure")] == []
    discs = [one for one in unfold(marks(Scene(grid=Grid(cells)))) if isinstance(one, Circle)]
    people = sum(len(piece.stack()) for row in cells for piece in row if piece)
    assert len({(one.x, one.y) for one in discs}) >= people  # nobody is left out for want of space


@pytest.mark.parametrize("count", [1, 3, 10, 14])
def test_words_on_cards_are_legible_and_on_their_own_card(count: int) -> None:
    names = ("Rio de Janeiro", "Edinburgh", "Antananarivo", "Oslo", "St. John's")
    held = Cards("guessed", tuple(Card(names[n % len(names)]) for n in range(count)))
    assert find_flaws(marks(Scene(parts=(held,))), SMALL) == []
    written = [one for one in words(Scene(parts=(held,))) if any(one.text in n for n in names)]
    assert min(mark.height for mark in written) >= min(9, LEGIBLE)


@pytest.mark.parametrize("count", [2, 5, 12, 16])
def test_pictures_on_cards_are_not_covered_by_the_next_card(count: int) -> None:
    cards = tuple(Card(str(n), sprite="gift", badge="!" * (n == 3)) for n in range(count))
    assert find_flaws(marks(Scene(parts=(Cards("shelf", cards),))), SMALL) == []


def page(rows: int, after: int) -> Page:
    table = [
        widget
        for row in range(rows)
        for widget in (
            Widget("row", ""),
            Widget("link", f"U{1000 * row + 7:06}", row + 1, depth=1),
            Widget("cell", "Sami Fofana", depth=1),
            Widget("cell", "sami@desk.example", depth=1),
        )
    ]
    return Page((Widget("heading", "users"), *table, *(Widget("text", "end"),) * after), "/users")


@pytest.mark.parametrize("rows", [1, 7, 9, 10, 11, 12, 13, 14, 15, 39])
@pytest.mark.parametrize("after", [0, 7])
def test_the_note_under_a_long_table_lies_on_none_of_its_rows(rows: int, after: int) -> None:
    scene = Scene(parts=(page(rows, after),))
    assert find_flaws(marks(scene), SMALL) == []
    texts = words(scene)
    notes = [one for one in texts if one.text.startswith("… and ")]
    for note, other in product(notes, texts):
        assert other is note or min(shared(box_of(note), box_of(other))) <= 0


def test_a_link_in_a_table_with_space_beside_it_is_not_cut() -> None:
    shown = [one.text for one in words(Scene(parts=(page(3, 0),)))]
    assert {"U000007", "U001007", "U002007"} <= set(shown)


@pytest.mark.parametrize("count", [1, 4, 9])
@pytest.mark.parametrize("long", [6, 14, 40])
def test_no_line_of_a_text_is_left_out_beside_empty_space(count: int, long: int) -> None:
    sayings = tuple(
        Saying("player_0", f"Saying {number}. {'word ' * 9}") for number in range(count)
    )
    text = Lines(tuple(f"Line {number} of the task." for number in range(long)))
    sheet = Sheet(480, 18)
    end = lay_out(Scene(parts=(Talk(sayings), text)), sheet, 0, 380)
    left_out = [m for m in sheet.marks if isinstance(m, Words) and "left out" in m.text]
    assert end <= 380
    if left_out:
        assert end > 380 - 18  # not one more line would fit
    else:
        assert sum(m.text in text.lines for m in sheet.marks if isinstance(m, Words)) == long
