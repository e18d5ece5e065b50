"""Text that does not fit: its beginning stays, and what is left out is said."""

from __future__ import annotations

import pytest
from palestra import Scene, Widget
from palestra.scene import Lines, Page, Part, Person, RoundTable, Saying, Table, Talk
from palestra_renderers.layout.scenes import lay_out
from palestra_renderers.layout.sheet import Sheet, fold, opening
from palestra_renderers.marks import Rect, Words
from palestra_renderers.picture import Painter
from palestra_renderers.theme import ink_on, paint_of

FIRST, LAST = "Beginning", "ending."
LONG = f"{FIRST} of {'a sentence that goes on and on and ' * 60} {LAST}"
MANY = tuple(f"Line{number}" for number in range(200))


def written(part: Part, tall: float = 240) -> list[str]:
    sheet = Sheet(480, 20)
    lay_out(Scene(parts=(part,)), sheet, 0, tall)
    return [mark.text for mark in sheet.marks if isinstance(mark, Words)]


PARTS: dict[str, Part] = {
    "a long line": Lines((LONG,)),
    "many lines": Lines((FIRST, *MANY)),
    "a long saying": Talk((Saying("player_0", LONG),)),
    "a long bubble": RoundTable((Person("player_0", said=LONG), Person("player_1"))),
    "a long text on a page": Page((Widget("link", LONG),)),
    "a long table": Table(("name",), ((FIRST,), *((one,) for one in MANY))),
    "a long cell": Table(("name", "text"), (("x", LONG),)),
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("tall", [60, 120, 240, 480])
def test_the_beginning_stays_and_the_cut_is_marked(name: str, tall: float) -> None:
    shown = written(PARTS[name], tall)
    assert any(text.startswith(FIRST) for text in shown), shown
    assert any("…" in text for text in shown), shown


@pytest.mark.parametrize("tall", [30, 60, 240])
def test_a_talk_says_how_many_sayings_came_before(tall: float) -> None:
    texts = written(Talk(tuple(Saying("player_0", one) for one in MANY)), tall)
    kept = [text for text in texts if text in MANY]
    assert kept[-1] == MANY[-1]
    assert f"… {len(MANY) - len(kept)} earlier" in texts


@pytest.mark.parametrize("tall", [60, 80, 120])
@pytest.mark.parametrize("before", [0, 3])
def test_the_last_saying_stays_inside_its_space(tall: float, before: int) -> None:
    talk = Talk((*(Saying("player_1", FIRST),) * before, Saying("player_0", LONG)))
    sheet = Sheet(480, 20)
    assert lay_out(Scene(parts=(talk,)), sheet, 0, tall) <= tall
    (bubble,) = [mark for mark in sheet.marks if isinstance(mark, Rect)]
    assert bubble.y + bubble.height <= tall


def test_a_whole_text_has_no_ellipsis() -> None:
    for part in (Lines((FIRST,)), Talk((Saying("a", FIRST),)), Table(("x",), ((FIRST,),))):
        assert not any("…" in text for text in written(part))


@pytest.mark.parametrize("room", range(1, 30))
def test_folded_lines_count_what_is_left_out(room: int) -> None:
    lines = [str(number) for number in range(20)]
    shown = fold(lines, room)
    assert len(shown) <= max(room, 1)
    assert shown[0].startswith("0")
    if room >= 20:
        assert shown == lines == opening(lines, room)
    elif room >= 3:
        assert shown[-1] == "19"
        (note,) = [text for text in shown if "left out" in text]
        assert int(note.split()[1]) == 20 - (room - 1)
    else:
        assert shown[-1].endswith("…")


def test_older_events_are_shown_whole_or_not_at_all() -> None:
    painter, texts = Painter((480, 480)), []
    events = [f"{FIRST} {number} {'word ' * 40}{LAST}" for number in range(9)]
    sheet = Sheet(480, 20)
    painter._older(events, 0, 200, sheet)
    texts = [mark.text for mark in sheet.marks if isinstance(mark, Words)]
    assert texts[0].startswith(FIRST)
    assert texts[-1].endswith(LAST)


@pytest.mark.parametrize("colour", ["red", "green", "blue", "yellow", "black", "purple", "", 1])
def test_a_button_has_the_colour_of_its_widget(colour: str | int) -> None:
    sheet = Sheet(480, 20)
    page = Page((Widget("button", "press", 1, colour=colour),))
    lay_out(Scene(parts=(page,)), sheet, 0, 200)
    fill = "link" if colour == "" else paint_of(colour)
    assert any(isinstance(mark, Rect) and mark.fill == fill for mark in sheet.marks)
    (text,) = [mark for mark in sheet.marks if isinstance(mark, Words) and mark.text == "press"]
    assert text.colour == ("panel" if colour == "" else ink_on(fill))
