"""Pictures of many seats: returns stay whole, people stay apart, boards keep their size."""

from __future__ import annotations

from itertools import combinations
from math import dist

import palestra
import pytest
from palestra import Bar, Episode, Grid, Rng, Scene
from palestra.endings import number_text
from palestra.scene import Bars, Person, RoundTable
from palestra_renderers.drawing import words
from palestra_renderers.layout.charts import ROWED
from palestra_renderers.layout.money import lay_stack, stack_form
from palestra_renderers.layout.scenes import lay_out
from palestra_renderers.layout.seats import FULL, lay_seats, shorten
from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.lettering import text_width
from palestra_renderers.marks import Circle, Rect, Words
from palestra_renderers.picture import Painter, paint_episode
from palestra_renderers.plain import status_lines
from palestra_renderers.words import part_lines

WIDE, HIGH, LINE = 480, 480, 20
CROWDS = [
    ("games/DonorGame-v0", 24),
    ("games/Norms-v0", 33),
    ("games/NetworkDilemma-v0", 40),
    ("markets/TaxEconomy-v0", 25),
]


def crowd(env: str, seats: int) -> Episode:
    """An episode of so many seats after some rounds of random play."""
    episode = Episode(palestra.game(env, num_players=seats), 3, compiled=False)
    rng = Rng.seeded(3)
    for _ in range(20):
        if not episode.over:
            episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})
    return episode


@pytest.mark.parametrize(("env", "seats"), CROWDS)
def test_the_panel_shows_every_return_whole(env: str, seats: int) -> None:
    episode, sheet = crowd(env, seats), Sheet(WIDE, LINE)
    top = lay_seats(status_lines(episode), "", HIGH, sheet)
    shown = [mark.text for mark in sheet.marks if isinstance(mark, Words)]
    assert top > HIGH * 0.4
    for seat, paid in enumerate(episode.returns):
        assert shown[seat].endswith(f": {number_text(paid)}"), shown[seat]
        assert f"player_{seat}" in shown[seat]


@pytest.mark.parametrize("seats", [2, 5, 11, 24, 25, 39, 40, 41, 300])
def test_columns_of_the_panel_do_not_overlap(seats: int) -> None:
    sheet = Sheet(WIDE, LINE)
    status = [f"> player_{seat} llm:some-model: {-1234.5 * seat:.4g}" for seat in range(seats)]
    lay_seats(status, "", HIGH, sheet)
    rows = [mark for mark in sheet.marks if isinstance(mark, Words)][:-1]
    assert len(rows) == min(seats, FULL)
    columns = sorted({mark.x for mark in rows})
    for mark in rows:
        end = mark.x + words(mark.text, int(mark.height), (0, 0, 0)).get_width()
        assert end <= min((x for x in columns if x > mark.x), default=WIDE), mark.text
    if seats > FULL:
        assert rows[-1].text == f"  and {seats - FULL + 1} more"


@pytest.mark.parametrize(
    ("text", "room", "shown"),
    [
        ("> player_10: 14", 1.0, "> player_10: 14"),
        ("> player_10: 1400", 0.9, "> pl…_10: 1400"),
        ("  a very long name indeed: -0.25", 0.5, "  a …eed: -0.25"),
        ("no return at all", 0.6, "no ret…"),
    ],
)
def test_a_name_gives_way_to_its_return(text: str, room: float, shown: str) -> None:
    assert shorten(text, room * text_width(text, 20), 20) == shown


@pytest.mark.parametrize("people", [17, 20, 24, 33, 50])
@pytest.mark.parametrize("room", [100, 150, 320])
def test_a_crowd_round_a_flat_table_stays_apart(people: int, room: int) -> None:
    sheet = Sheet(WIDE, LINE)
    table = RoundTable(tuple(Person(f"player_{n}", n) for n in range(people)))
    lay_out(Scene(parts=(table,)), sheet, 0, room)
    heads = [mark for mark in sheet.marks if isinstance(mark, Circle)]
    assert len(heads) == people
    for one, other in combinations(heads, 2):
        apart = dist((one.x, one.y), (other.x, other.y))
        assert apart >= min(one.radius + other.radius, 9.0) - 1.0


@pytest.mark.parametrize("bars", [9, 16, 20, 48])
def test_many_bars_leave_the_board_its_space(bars: int) -> None:
    sheet = Sheet(WIDE, LINE)
    rows = tuple(Bar(f"player_{n}", n % 3, 2, n) for n in range(bars))
    names = tuple(tuple(f"{r}{c}" for c in range(8)) for r in range(8))
    board = Grid(((None,) * 8,) * 8, names=names)
    lay_out(Scene(parts=(board, Bars(rows))), sheet, 0, 280)
    texts = [mark.text for mark in sheet.marks if isinstance(mark, Words)]
    if bars <= ROWED:
        assert {f"player_{n}" for n in range(bars)} <= set(texts)
    else:
        assert [str(n) for n in range(bars)] == texts
    forms = [mark for mark in sheet.marks if isinstance(mark, Rect | Circle)]
    filled = [form for form in forms if form.fill.startswith("seat")]
    whole = bars <= ROWED  # these are dots, two of them for 2 of 2
    assert len(filled) == sum(n % 3 if whole else n % 3 > 0 for n in range(bars))
    assert sheet.places[0][0][3] * 8 >= 150  # of 280


def test_a_picture_of_a_crowd_has_a_board_and_a_panel() -> None:
    painter = Painter((WIDE, HIGH))
    paint_episode(painter, crowd("grid/Foraging-v0", 20), None)
    assert painter.array().std() > 10


@pytest.mark.parametrize(("amount", "chips"), [(0, 0), (1, 1), (2, 2), (4, 3), (64, 7), (1e6, 8)])
def test_a_stack_has_one_chip_more_each_time_its_amount_doubles(amount: float, chips: int) -> None:
    sheet = Sheet(WIDE, LINE)
    lay_stack(amount, (0, 0, *stack_form(amount, 20)), "gold", sheet)
    assert sum(isinstance(mark, Rect) and mark.edge == "black" for mark in sheet.marks) == chips
    (text,) = [mark.text for mark in sheet.marks if isinstance(mark, Words)]
    assert text == number_text(amount)


def test_money_on_a_table_is_told_in_words() -> None:
    people = (Person("Ann", 0, chips=2.5, dealer=True), Person("Ben", 1))
    assert part_lines(RoundTable(people, words="Pot", pot=12)) == [
        "Pot  12",
        "  Ann (2.5 on the table, dealer)",
        "  Ben",
    ]
