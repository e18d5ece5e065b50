"""A limit order book in one numpy record: price-time priority, partial fills, cancels.

Prices are whole ticks from 1 to `ticks`, quantities whole units. The best price trades first; at
one price the order that came first. An incoming order trades at the prices of the resting orders
it meets, and what is left of it rests. The caller chooses order numbers, from 0 to `capacity` - 1;
a number is free when nothing of its order rests.

The functions below take any record with the fields of `BookState` and use only the subset of Python
that numba compiles, so the rules of an `ArrayGame`, `OrderBook` and the compiled message stream can
share them. A level is a doubly linked list of orders; links hold an order's number + 1, and 0 means
none, so that zeroed memory is an empty ladder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from palestra import ArrayState, InvalidOption, MissingExtra, Shape, UnknownName
from palestra.kernel.array_game import record_dtype
from palestra.kernel.state import HEADER, fields_of

BID, ASK = 0, 1
SIDES = ("bid", "ask")
PLACE, CANCEL = 0, 1  # kinds of message


class BookState(ArrayState):
    """A state with a book; its game has `capacity`, the number of orders, and `levels`."""

    # resting orders, by number
    order_price: Annotated[NDArray[np.int32], Shape("capacity")]
    order_quantity: Annotated[NDArray[np.int64], Shape("capacity")]  # 0: nothing rests
    order_side: Annotated[NDArray[np.uint8], Shape("capacity")]
    order_before: Annotated[NDArray[np.int32], Shape("capacity")]  # the earlier order in the queue
    order_after: Annotated[NDArray[np.int32], Shape("capacity")]  # the later one
    # levels, by price
    level_first: Annotated[NDArray[np.int32], Shape("levels")]  # the first order in the queue
    level_last: Annotated[NDArray[np.int32], Shape("levels")]
    level_quantity: Annotated[NDArray[np.int64], Shape("levels")]
    side_quantity: Annotated[NDArray[np.int64], Shape(2)]  # resting on each side
    best_bid: Annotated[int, np.int32]  # 0: none
    best_ask: Annotated[int, np.int32]  # the highest price + 1: none
    # trades of the last incoming order with resting ones, in order
    fill_count: Annotated[int, np.int32]
    fill_order: Annotated[NDArray[np.int32], Shape("capacity")]
    fill_price: Annotated[NDArray[np.int32], Shape("capacity")]
    fill_quantity: Annotated[NDArray[np.int64], Shape("capacity")]


@dataclass(frozen=True)
class BookSize:
    """The sizes of a standalone book (outside a game)."""

    capacity: int
    levels: int
    num_players: int = 0


def levels_of(ticks: int) -> int:
    """The number of price levels: 1 to `ticks`, one below and one above."""
    return ticks + 2


def book_fields(ticks: int, capacity: int) -> list[tuple[Any, ...]]:
    """The fields of a standalone book, for a record's dtype."""
    fields = fields_of(BookState, BookSize(capacity, levels_of(ticks)))
    return [field for field in fields if field[0] not in HEADER]


# The rules


def open_book(book: BookState) -> None:
    """Make a zeroed record an empty book."""
    book.best_bid = 0
    book.best_ask = len(book.level_first) - 1


def clear_book(book: BookState) -> None:
    """Take every order off the book."""
    for order in range(len(book.order_price)):
        cancel(book, order)


def place(book: BookState, order: int, side: int, price: int, quantity: int) -> int:
    """Trade an incoming order and let what is left rest; return the quantity that rests."""
    left = match(book, side, price, quantity)
    if left > 0:
        rest(book, order, side, price, left)
    return left


def match(book: BookState, side: int, price: int, quantity: int) -> int:
    """Trade against the other side as far as `price` allows; return the quantity left."""
    for fill in range(book.fill_count):
        book.fill_order[fill], book.fill_price[fill], book.fill_quantity[fill] = 0, 0, 0
    book.fill_count = 0
    left = quantity
    while left > 0 and crosses(book, side, price):
        level = book.best_ask if side == BID else book.best_bid
        order = book.level_first[level] - 1
        traded = min(left, book.order_quantity[order])
        fill = book.fill_count
        book.fill_order[fill], book.fill_price[fill] = order, level
        book.fill_quantity[fill] = traded
        book.fill_count = fill + 1
        left -= traded
        reduce(book, order, traded)
    return left


def crosses(book: BookState, side: int, price: int) -> bool:
    """Whether an order at `price` meets a resting order of the other side."""
    if side == BID:
        return bool(book.best_ask <= price)
    return bool(book.best_bid >= price and book.best_bid > 0)


def reduce(book: BookState, order: int, quantity: int) -> None:
    """Take `quantity` off a resting order, which leaves the book when nothing is left."""
    book.order_quantity[order] -= quantity
    book.level_quantity[book.order_price[order]] -= quantity
    book.side_quantity[book.order_side[order]] -= quantity
    if book.order_quantity[order] == 0:
        unlink(book, order)


def cancel(book: BookState, order: int) -> int:
    """Take an order off the book; return the quantity that rested, 0 if nothing did."""
    quantity = book.order_quantity[order]
    if quantity > 0:
        reduce(book, order, quantity)
    return int(quantity)


def rest(book: BookState, order: int, side: int, price: int, quantity: int) -> None:
    """Put an order last in its price's queue."""
    last = book.level_last[price]
    book.order_price[order], book.order_side[order] = price, side
    book.order_quantity[order] = quantity
    book.order_before[order], book.order_after[order] = last, 0
    if last > 0:
        book.order_after[last - 1] = order + 1
    else:
        book.level_first[price] = order + 1
    book.level_last[price] = order + 1
    book.level_quantity[price] += quantity
    book.side_quantity[side] += quantity
    if side == BID:
        book.best_bid = max(book.best_bid, price)
    else:
        book.best_ask = min(book.best_ask, price)


def unlink(book: BookState, order: int) -> None:
    """Remove an order from its queue's linked list."""
    before, after = book.order_before[order], book.order_after[order]
    price, side = book.order_price[order], book.order_side[order]
    if before > 0:
        book.order_after[before - 1] = after
    else:
        book.level_first[price] = after
    if after > 0:
        book.order_before[after - 1] = before
    else:
        book.level_last[price] = before
    book.order_price[order], book.order_side[order] = 0, 0
    book.order_before[order], book.order_after[order] = 0, 0
    if book.level_quantity[price] == 0:
        leave_level(book, side, price)


def leave_level(book: BookState, side: int, price: int) -> None:
    """Move the best price of a side on if it is the price that has become empty."""
    left = book.side_quantity[side] > 0
    if side == BID and price == book.best_bid:
        book.best_bid = next_level(book, price) if left else 0
    elif side == ASK and price == book.best_ask:
        book.best_ask = next_level(book, price) if left else len(book.level_first) - 1


def next_level(book: BookState, price: int) -> int:
    """The next worse price of the same side with orders; there must be one."""
    step = 1 if price >= book.best_ask else -1
    level = price + step
    while book.level_quantity[level] == 0:
        level += step
    return level


# Streams of messages, compiled

MESSAGE = record_dtype(
    [
        ("kind", np.int32),
        ("order", np.int32),
        ("side", np.int32),
        ("price", np.int32),
        ("quantity", np.int64),
    ]
)
FILL = record_dtype(
    [("message", np.int32), ("order", np.int32), ("price", np.int32), ("quantity", np.int64)]
)


def run(books: Any, messages: Any, fills: Any) -> int:
    """Play messages on books[0] and write trades into `fills`; return the number of trades.

    Returns -1 if `fills` is too short. books: records with the fields of `BookState`. messages,
    fills: records of the dtypes MESSAGE and FILL.
    """
    book = books[0]
    count = 0
    for number in range(len(messages)):
        message = messages[number]
        if message.kind == CANCEL:
            cancel(book, message.order)
            continue
        place(book, message.order, message.side, message.price, message.quantity)
        if count + book.fill_count > len(fills):
            return -1
        for fill in range(book.fill_count):
            fills[count].message = number
            fills[count].order = book.fill_order[fill]
            fills[count].price = book.fill_price[fill]
            fills[count].quantity = book.fill_quantity[fill]
            count += 1
    return count


@lru_cache(maxsize=1)
def compiled_run() -> Callable[[Any, Any, Any], int]:
    """`run`, compiled; raises `MissingExtra` without numba."""
    try:
        from numba import njit
    except ImportError as error:
        raise MissingExtra("numba, which compiles the order book,", "palestra[numba]") from error
    from palestra.engine.rule_functions import device_functions

    functions: Any = {"run": run}
    return device_functions(functions, njit)["run"]


# The book as an object


class Fill(NamedTuple):
    """A trade of an incoming order with the resting order `order`."""

    order: int
    price: int
    quantity: int


class OrderBook:
    """A standalone order book: it numbers orders and checks arguments.

    ticks: the highest price. capacity: the most orders that can rest at once.
    """

    def __init__(self, *, ticks: int = 10_000, capacity: int = 10_000) -> None:
        if ticks < 1 or capacity < 1:
            raise InvalidOption(
                f"ticks and capacity must be at least 1, not {ticks} and {capacity}"
            )
        self.ticks, self.capacity = ticks, capacity
        self._book = np.zeros(1, record_dtype(book_fields(ticks, capacity)))[0]
        open_book(self._book)
        self._free = list(range(capacity))[::-1]
        self._slots: dict[int, int] = {}  # order number -> place in the record
        self._numbers = [-1] * capacity  # and back
        self._next = 0

    def place(self, side: str, price: int, quantity: int) -> tuple[int, list[Fill]]:
        """Trade an order and let what is left rest; return its number and its trades, in order.

        side: "bid" or "ask". Raises `InvalidOption` for a price or quantity out of range, and where
        the book is full.
        """
        if side not in SIDES:
            raise UnknownName("side", side, SIDES)
        check_whole("price", price, 1, self.ticks)
        check_whole("quantity", quantity, 1, 2**62)
        if not self._free:
            raise InvalidOption(
                f"{self.capacity} orders rest, as many as this book can hold; cancel some or make "
                "a book with a higher capacity"
            )
        number, self._next = self._next, self._next + 1
        slot = self._free.pop()
        left = place(self._book, slot, SIDES.index(side), price, quantity)
        fills = self._fills()
        if left:
            self._slots[number], self._numbers[slot] = slot, number
        else:
            self._free.append(slot)
        return number, fills

    def cancel(self, order: int) -> int:
        """Take an order off the book; return the quantity that rested."""
        if order not in self._slots:
            raise InvalidOption(f"order {order} does not rest on the book and cannot be cancelled")
        quantity = cancel(self._book, self._slots[order])
        self._release(order)
        return quantity

    def quantity(self, order: int) -> int:
        """The quantity of an order that rests; 0 once it is filled or cancelled."""
        return int(self._book.order_quantity[self._slots[order]]) if order in self._slots else 0

    @property
    def best_bid(self) -> int | None:
        """The highest bid; None if there is none."""
        return int(self._book.best_bid) or None

    @property
    def best_ask(self) -> int | None:
        """The lowest ask; None if there is none."""
        return int(self._book.best_ask) if self._book.best_ask <= self.ticks else None

    def depth(self, side: str, levels: int = 5) -> list[tuple[int, int]]:
        """The best prices of a side with the quantity at each, best first."""
        if side not in SIDES:
            raise UnknownName("side", side, SIDES)
        return depth(self._book, SIDES.index(side), levels)

    def queue(self, price: int) -> list[tuple[int, int]]:
        """The orders at a price with the quantity of each, first to trade first."""
        check_whole("price", price, 1, self.ticks)
        waiting = queue(self._book, price)
        return [(self._numbers[slot], quantity) for slot, quantity in waiting]

    def _fills(self) -> list[Fill]:
        book, fills = self._book, []
        for fill in range(book.fill_count):
            slot = int(book.fill_order[fill])
            number = self._numbers[slot]
            fills.append(Fill(number, int(book.fill_price[fill]), int(book.fill_quantity[fill])))
            if not book.order_quantity[slot]:
                self._release(number)
        return fills

    def _release(self, order: int) -> None:
        slot = self._slots.pop(order)
        self._numbers[slot] = -1
        self._free.append(slot)


def depth(book: BookState, side: int, levels: int) -> list[tuple[int, int]]:
    """The best `levels` prices of a side with the quantity at each, best first."""
    best, worse = (book.best_bid, -1) if side == BID else (book.best_ask, 1)
    level, left = int(best), int(book.side_quantity[side])
    quantities: list[int] = book.level_quantity.tolist()
    found: list[tuple[int, int]] = []
    while left > 0 and len(found) < levels:
        if quantities[level]:
            found.append((level, quantities[level]))
        left -= quantities[level]
        level += worse
    return found


def queue(book: BookState, price: int) -> list[tuple[int, int]]:
    """The orders at a price with the quantity of each, first to trade first."""
    found, order = [], int(book.level_first[price]) - 1
    while order >= 0:
        found.append((order, int(book.order_quantity[order])))
        order = int(book.order_after[order]) - 1
    return found


def check_whole(what: str, value: object, low: int, high: int) -> None:
    """Raise `InvalidOption` unless a value is a whole number in [low, high]."""
    number = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not number or not low <= value <= high:  # type: ignore[operator]
        raise InvalidOption(f"{what} must be a whole number from {low} to {high}, not {value!r}")


def messages_of(rows: NDArray[np.int64]) -> NDArray[Any]:
    """Convert rows of kind, order, side, price and quantity to messages for `run`."""
    messages = np.zeros(len(rows), MESSAGE)
    for column, name in enumerate(("kind", "order", "side", "price", "quantity")):
        messages[name] = rows[:, column]
    return messages
