"""Tasks in which the page reacts to answers: a number to guess, a game against the page."""

from __future__ import annotations

from dataclasses import dataclass, replace

from palestra import Rng

from palestra_web.pages import Element, action, paragraph, table, textbox
from palestra_web.widgets.card import DONE, Answer, Body, Widget, answer, some, task

TRIES = 8  # one more than halving 100 numbers takes
CELLS = tuple("012345678")
ORDERS = {
    "the first free cell row by row": tuple(range(9)),
    "the last free cell row by row": tuple(reversed(range(9))),
    "the first free cell column by column": (0, 3, 6, 1, 4, 7, 2, 5, 8),
    "the last free cell column by column": (8, 5, 2, 7, 4, 1, 6, 3, 0),
}
LINES = (
    *((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8)),
    *((0, 4, 8), (2, 4, 6)),
)


@dataclass(frozen=True, repr=False)
class Guess(Widget):
    """Guess a number from 0 to 99; the page says after each guess whether it is higher or lower."""

    number: int
    low: int = -1  # the number is known to be higher
    high: int = 100  # the number is known to be lower
    tries: int = 0  # guesses made

    @property
    def phrases(self) -> tuple[str, ...]:
        return (str((self.low + self.high) // 2),)

    def page(self, address: str) -> Body | None:
        if address != "/":
            return None
        hints = []
        if self.low >= 0:
            hints.append(paragraph(f"The number is higher than {self.low}."))
        if self.high < 100:
            hints.append(paragraph(f"The number is lower than {self.high}."))
        left = paragraph(f"{TRIES - self.tries} guesses left.")
        return (*hints, left, answer(textbox("Guess", "guess")))

    def take(self, answer: Answer) -> Widget | float:
        text = answer.get("guess", "")
        if not (text.isdecimal() and text.isascii() and len(text) <= 3):
            return -1.0
        guess = int(text)
        if guess == self.number:
            return 1.0
        if self.tries + 1 == TRIES:
            return -1.0
        if guess < self.number:
            return replace(self, low=max(self.low, guess), tries=self.tries + 1)
        return replace(self, high=min(self.high, guess), tries=self.tries + 1)

    def reveals(self, address: str) -> bool:
        return self.tries > 0

    def redraw(self, seen: frozenset[str], rng: Rng) -> Widget:
        return replace(self, number=rng.between(self.low + 1, self.high - 1))


@task
def guess_number(rng: Rng) -> Widget:
    """Guess a number that is said to be higher or lower."""
    words = "Guess the number between 0-99 and press Submit. Use the feedback below to find it."
    return Guess(words, rng.below(100))


@dataclass(frozen=True, repr=False)
class TicTacToe(Widget):
    """The player is X; the page puts its O into the first free cell in an order that it states."""

    order: str  # one of ORDERS
    board: str  # nine cells row by row: "X", "O" or "."

    @property
    def phrases(self) -> tuple[str, ...]:
        return ()

    def page(self, address: str) -> Body | None:
        if address != "/":
            return None
        rows = [[self._cell(3 * row + column) for column in range(3)] for row in range(3)]
        return paragraph(f"I play {self.order}."), table(("", "", ""), rows)

    def _cell(self, place: int) -> str | Element:
        mark = self.board[place]
        return action("play", DONE, cell=str(place)) if mark == "." else mark

    def take(self, answer: Answer) -> Widget | float:
        cell = answer.get("cell", "")
        if cell not in CELLS or self.board[int(cell)] != ".":
            return self  # an old form, sent again
        played = play(self.board, int(cell), self.order)
        return played if isinstance(played, float) else replace(self, board=played)


def play(board: str, place: int, order: str) -> str | float:
    """The board after an X at `place` and the O that follows; 1 if X wins, -1 if X cannot win."""
    board = put(board, place, "X")
    if wins(board, "X"):
        return 1.0
    if "." in board:
        board = put(board, next(cell for cell in ORDERS[order] if board[cell] == "."), "O")
    return -1.0 if wins(board, "O") or "." not in board else board


def winning(board: str, order: str) -> int | None:
    """A cell with which X can still win; None if there is none."""
    for place in [cell for cell in range(9) if board[cell] == "."]:
        after = play(board, place, order)
        if after == 1.0 or (isinstance(after, str) and winning(after, order) is not None):
            return place
    return None


def put(board: str, place: int, mark: str) -> str:
    """The board with a mark in one cell."""
    return board[:place] + mark + board[place + 1 :]


def wins(board: str, mark: str) -> bool:
    """Whether a mark fills a row, a column or a diagonal."""
    return any(all(board[place] == mark for place in line) for line in LINES)


@task
def tic_tac_toe(rng: Rng) -> Widget:
    """Win against a page that says how it plays, from a position that can be won."""
    words = 'Playing as "X", win a game of tic-tac-toe.'
    order = rng.choice(tuple(ORDERS))
    first, second, third = some(rng, range(9), 3)
    board = put(put(put("." * 9, first, "O"), second, "X"), third, "O")
    if winning(board, order) is None:
        return tic_tac_toe(rng)
    return TicTacToe(words, order, board)
