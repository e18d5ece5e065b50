"""Widget tasks: each is solved by reading its page, and each fails by a play written for it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import palestra
import pytest
from palestra import Decision, FunctionAgent, InvalidOption, Rng, TextAction, Turn
from palestra.scene import Page
from palestra_renderers.theme import paint_of
from palestra_web.actions import Click, Fill, Select, Stop
from palestra_web.chromium import Chromium
from palestra_web.mirror import Mirror
from palestra_web.reading import ScreenElement
from palestra_web.widgets.oracle import SOLVERS, WidgetPage, read_widget, solve
from palestra_web.widgets.playing import LINES, ORDERS, TRIES, Guess, TicTacToe, play, winning
from palestra_web.widgets.site import HELD_OUT, SPLITS, TASKS, Widgets

WIDGETS = "web/Widgets-v0"
PUBLISHED = """
ascending-numbers bisect-angle book-flight book-flight-nodelay buy-ticket choose-date
choose-date-easy choose-date-medium choose-date-nodelay choose-list circle-center click-button
click-button-sequence click-checkboxes click-checkboxes-large click-checkboxes-soft
click-checkboxes-transfer click-collapsible click-collapsible-2 click-collapsible-2-nodelay
click-collapsible-nodelay click-color click-dialog click-dialog-2 click-link click-menu click-menu-2
click-option click-pie click-pie-nodelay click-scroll-list click-shades click-shape click-tab
click-tab-2 click-tab-2-easy click-tab-2-hard click-tab-2-medium click-test click-test-2
click-test-transfer click-widget copy-paste copy-paste-2 count-shape count-sides daily-calendar
drag-box drag-circle drag-cube drag-items drag-items-grid drag-shapes drag-shapes-2
drag-single-shape drag-sort-numbers draw-circle draw-line email-inbox email-inbox-all
email-inbox-delete email-inbox-forward email-inbox-forward-nl email-inbox-forward-nl-turk
email-inbox-important email-inbox-nl-turk email-inbox-noscroll email-inbox-reply
email-inbox-star-reply enter-date enter-password enter-text enter-text-2 enter-text-dynamic
enter-time find-greatest find-midpoint find-word focus-text focus-text-2 form-sequence
form-sequence-2 form-sequence-3 generate-number grid-coordinate guess-number highlight-text
highlight-text-2 hot-cold identify-shape login-user login-user-popup moving-items multi-layouts
multi-orderings navigate-tree number-checkboxes odd-or-even order-food phone-book read-table
read-table-2 resize-textarea right-angle scroll-text scroll-text-2 search-engine sign-agreement
simon-says simple-algebra simple-arithmetic social-media social-media-all social-media-some
stock-market terminal text-editor text-transform tic-tac-toe unicode-test use-autocomplete
use-autocomplete-nodelay use-colorwheel use-colorwheel-2 use-slider use-slider-2 use-spinner
visual-addition
"""

# What the solver would do becomes something wrong

Wrong = Callable[[WidgetPage, TextAction], TextAction]


def stop(page: WidgetPage, right: TextAction) -> TextAction:
    return Stop()


def press(name: str) -> Wrong:
    """Press this at once."""
    return lambda page, right: page.click(name)


def another(role: str, *but: str) -> Wrong:
    """Click on something else of the same role, unless its name begins in one of some ways."""

    def play(page: WidgetPage, right: TextAction) -> TextAction:
        meant = [line for line in page.elements(role) if Click(line.number) == right]
        if not meant or meant[0].name.startswith(but):
            return right
        others = [
            line
            for line in page.elements(role)
            if line != meant[0] and not line.name.startswith(but)
        ]
        return Click(others[-1].number)

    return play


def slip(page: WidgetPage, right: TextAction) -> TextAction:
    """Type one letter too many into the last field, and send that."""
    *_, field = page.elements("textbox") or [ScreenElement(0, "textbox")]
    if field.value.endswith("!"):
        return page.click(page.names("button")[-1])
    if isinstance(right, Fill) and right.element == field.number:
        return Fill(right.element, f"{right.text}!")
    return right


def one_off(page: WidgetPage, right: TextAction) -> TextAction:
    """Type the number after the right one."""
    if isinstance(right, Fill):
        return Fill(right.element, str(int(right.text) + 1))
    return right


def one_off_and_send(page: WidgetPage, right: TextAction) -> TextAction:
    (field,) = page.elements("textbox")
    return page.click("Submit") if field.value else one_off(page, right)


def one_box_too_many(page: WidgetPage, right: TextAction) -> TextAction:
    """Tick all that is right and one box more."""
    boxes = page.elements("checkbox")
    if any(Click(box.number) == right and box.chosen for box in boxes):
        return page.click("Submit")  # the solver would take it back
    if right == page.click("Submit"):
        return Click(next(box.number for box in boxes if not box.chosen))
    return right


def as_it_stands(page: WidgetPage, right: TextAction) -> TextAction:
    """Type the word as the task has it, in neither case asked for."""
    (field,) = page.elements("textbox")
    return page.click("Submit") if field.value else Fill(field.number, page.quotations[0])


def other_text(page: WidgetPage, right: TextAction) -> TextAction:
    """Copy another text than the one asked for."""
    field = page.elements("textbox")[-1]
    if field.value:
        return page.click("Submit")
    assert isinstance(right, Fill)
    texts = [line.value for line in page.elements("textbox")[:-1] if line.value != right.text]
    return Fill(field.number, texts[0])


def one_dish_more(page: WidgetPage, right: TextAction) -> TextAction:
    """Order one dish that was not asked for."""
    extra = next(box for box in page.elements("combobox") if box.name not in page.task)
    return page.click("Order") if extra.value == "1" else Select(extra.number, "1")


def lose(page: WidgetPage, right: TextAction) -> TextAction:
    """Play where the game can no longer be won, if there is such a cell."""
    cells = [cell for row in page.rows for cell in row]
    board = "".join([cell.name if cell.name in ("X", "O") else "." for cell in cells])
    order = page.names("paragraph")[0].removeprefix("I play ").removesuffix(".")
    for place, cell in enumerate(cells):
        after = play(board, place, order) if cell.number else 1.0
        if after == -1.0 or (isinstance(after, str) and winning(after, order) is None):
            return Click(cell.number)
    return right


def other_item(page: WidgetPage, right: TextAction) -> TextAction:
    """Take an item that does not end as asked."""
    if page.address.startswith("/suggest"):
        end = page.quotations[1]
        return Click(next(e.number for e in page.elements("link") if not e.name.endswith(end)))
    return page.put({"Tags": "M"}, "Suggest")


WRONG: dict[str, Wrong] = {
    "ascending-numbers": another("button"),
    "book-flight": another("button", "Search"),
    "buy-ticket": another("button"),
    "choose-date": another("link", "Prev", "Next"),
    "choose-list": press("Submit"),
    "click-button": another("button"),
    "click-button-sequence": press("TWO"),
    "click-checkboxes": one_box_too_many,
    "click-checkboxes-large": one_box_too_many,
    "click-checkboxes-soft": one_box_too_many,
    "click-collapsible": press("Submit"),
    "click-collapsible-2": another("link", "Section"),
    "click-color": another("button"),
    "click-dialog": another("button"),
    "click-dialog-2": another("button"),
    "click-link": another("link"),
    "click-menu": another("link"),
    "click-option": press("Submit"),
    "click-tab": another("link"),
    "click-tab-2": another("link", "Tab"),
    "click-test": stop,
    "click-test-2": press("TWO"),
    "click-widget": lambda page, right: press(
        "Submit" if page.quotations != ["button"] else "link"
    )(page, right),
    "copy-paste": slip,
    "copy-paste-2": other_text,
    "count-shape": another("button"),
    "count-sides": another("button"),
    "email-inbox": another("link", "Reply", "Forward", "Delete", "Important"),
    "email-inbox-delete": another("link", "Inbox", "Delete"),
    "email-inbox-forward": slip,
    "email-inbox-important": lambda page, right: (
        press("Delete")(page, right) if page.has("link", "Delete") else right
    ),
    "email-inbox-reply": slip,
    "enter-date": slip,
    "enter-password": slip,
    "enter-text": slip,
    "enter-text-2": as_it_stands,
    "enter-time": slip,
    "find-greatest": another("button"),
    "find-word": slip,
    "form-sequence": press("Submit"),
    "grid-coordinate": another("button"),
    "guess-number": slip,
    "identify-shape": another("button"),
    "login-user": slip,
    "login-user-popup": press("OK"),
    "multi-layouts": slip,
    "multi-orderings": slip,
    "navigate-tree": another("link", "Open"),
    "odd-or-even": press("Submit"),
    "order-food": one_dish_more,
    "phone-book": another("link"),
    "read-table": slip,
    "read-table-2": slip,
    "search-engine": another("link", "1", "2", "3"),
    "sign-agreement": another("button"),
    "simple-algebra": one_off_and_send,
    "simple-arithmetic": one_off_and_send,
    "social-media": another("button"),
    "social-media-all": one_box_too_many,
    "social-media-some": one_box_too_many,
    "text-transform": slip,
    "tic-tac-toe": lose,
    "unicode-test": another("button"),
    "use-autocomplete": other_item,
    "use-spinner": press("Submit"),
    "visual-addition": one_off_and_send,
}


def wrongly(turn: Turn) -> Decision:
    page = read_widget(turn)
    return Decision(WRONG[page.title](page, solve(page)))


def test_every_task_is_one_of_the_published() -> None:
    assert set(TASKS) <= set(PUBLISHED.split())
    assert len(TASKS) >= 60


def test_every_task_has_a_solver_and_a_wrong_play() -> None:
    assert set(TASKS) == set(SOLVERS) == set(WRONG)


@pytest.mark.parametrize("name", sorted(TASKS))
def test_a_reader_of_the_page_solves_it(name: str) -> None:
    records = palestra.play(WIDGETS, agents=["widget-oracle"], episodes=12, seed=7, widget=name)
    assert [record.returns for record in records] == [(1.0,)] * 12
    assert all(record.outcome.results == ("win",) for record in records)


@pytest.mark.parametrize("name", sorted(TASKS))
def test_a_wrong_play_is_paid_minus_one(name: str) -> None:
    agent = FunctionAgent(wrongly)
    records = palestra.play(WIDGETS, agents=[agent], episodes=6, seed=1, widget=name)
    lost = [record.returns == (-1.0,) for record in records]
    if name == "tic-tac-toe":  # some positions cannot be spoilt
        assert any(lost)
    else:
        assert all(lost), [turn.text for turn in records[lost.index(False)].turns]


def test_splits_part_the_tasks() -> None:
    assert set(SPLITS["train"]) | set(HELD_OUT) == set(TASKS)
    assert not set(SPLITS["train"]) & set(HELD_OUT)
    titles = {Widgets(widget="held-out").initial_state(seed).data.name for seed in range(80)}
    assert titles == set(HELD_OUT)


def test_a_task_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidOption, match="widget must be one of all, train, held-out, asc"):
        Widgets(widget="click-nothing")


def test_time_out_pays_nothing_and_nothing_can_be_answered_twice() -> None:
    game = Widgets(widget="click-test", limit=1)
    episode = palestra.Episode(game, 0)
    episode.act({0: episode.parse(0, "goto('/')")})
    assert episode.outcome.results == ("truncated",)
    assert episode.returns[0] == 0
    state = Widgets(widget="click-test-2").initial_state(0)
    assert game.take(state.data, 0, "/done", {"choice": "TWO"}).rewards == {"answer": -1.0}
    assert not game.take(state.data, 0, "/done", {"choice": "ONE"}).rewards
    assert state.data.paid == -1.0


def test_halving_finds_every_number() -> None:
    """100 numbers need at most seven guesses: 2**6 < 100 < 2**7."""
    for number in range(100):
        left: object = Guess("", number)
        guesses = 0
        while isinstance(left, Guess):
            left = left.take({"guess": left.phrases[0]})
            guesses += 1
        assert left == 1.0
        assert guesses <= 7


def test_guesses_run_out_and_what_is_no_number_is_wrong() -> None:
    left: object = Guess("", 99)
    for _ in range(TRIES):
        assert isinstance(left, Guess)
        left = left.take({"guess": "0"})
    assert left == -1.0
    for text in ("", "abc", "-1", "²", "1" * 50):
        assert Guess("", 5).take({"guess": text}) == -1.0


def test_a_redrawn_number_fits_what_was_said() -> None:
    known = Guess("", 42, low=40, high=45)
    drawn = {known.redraw(frozenset(), Rng(seed)).number for seed in range(60)}  # type: ignore[attr-defined]
    assert drawn == {41, 42, 43, 44}


def test_who_can_win_at_tic_tac_toe_is_found_by_trying_every_order_of_moves() -> None:
    """A second way to the same answer: all sequences of X's choices, played out by hand."""

    def can_win(board: str, order: str) -> bool:
        for moves in product(range(9), repeat=board.count(".") // 2 + 1):
            cells = list(board)
            for place in moves:
                if cells[place] != ".":
                    break
                cells[place] = "X"
                if any({cells[i] for i in line} == {"X"} for line in LINES):
                    return True
                reply = next((i for i in ORDERS[order] if cells[i] == "."), None)
                if reply is None:
                    break
                cells[reply] = "O"
                if any({cells[i] for i in line} == {"O"} for line in LINES):
                    break
        return False

    for order in ORDERS:
        for board in ("OX.....O.", "O.O...X..", "OXO......", "..O.X.O..", "....OX..O"):
            assert (winning(board, order) is not None) == can_win(board, order), (board, order)
    assert all(
        can_win(widget.board, widget.order)
        for widget in (TASKS["tic-tac-toe"](Rng(seed)) for seed in range(5))
        if isinstance(widget, TicTacToe)
    )


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.usefixtures("chromium_path")
def test_the_held_out_tasks_are_solved_alike_in_chromium() -> None:
    with Chromium() as browser, Mirror(browser) as mirror:
        for name in HELD_OUT:
            (record,) = palestra.play(
                WIDGETS, agents=["widget-oracle"], seed=5, hooks=[mirror], widget=name
            )
            assert record.returns == (1.0,)


@pytest.mark.parametrize("seed", range(6))
def test_boxes_are_drawn_in_the_colours_that_are_asked_for(seed: int) -> None:
    episode = palestra.Episode(palestra.game("web/Widgets-v0", widget="click-color"), seed)
    pages = [part for part in episode.scene().all_parts() if isinstance(part, Page)]
    boxes = [one for page in pages for one in page.widgets if one.kind == "button"]
    assert len(boxes) == 4
    assert all(box.colour == box.text for box in boxes)
    assert len({paint_of(box.colour) for box in boxes} - {"nobody"}) == 4
