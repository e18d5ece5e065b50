"""The order book: streams of random orders and cancels, compiled, against bourse (Rust)."""

from __future__ import annotations

from typing import Any

import numpy as np
from palestra.kernel.array_game import record_dtype
from palestra_markets.trading.order_book import (
    CANCEL,
    FILL,
    PLACE,
    book_fields,
    compiled_run,
    messages_of,
    open_book,
)
from timing import Row, compare, limit, rate

ORDERS = 100_000
TICKS = 1_000


def stream(length: int = ORDERS, seed: int = 0) -> Any:
    """Orders around a common price, a quarter of the messages cancels of earlier orders."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((length, 5), np.int64)
    number = np.arange(length)
    cancels = rng.random(length) < 0.25
    cancels[0] = False
    side = rng.integers(0, 2, length)
    price = TICKS // 2 + rng.integers(-30, 31, length) - (2 * (side == 0) - 1) * 5
    rows[:, 0] = np.where(cancels, CANCEL, PLACE)
    rows[:, 1] = np.where(cancels, np.maximum(0, number - rng.integers(1, 200, length)), number)
    rows[:, 2], rows[:, 3], rows[:, 4] = side, price, rng.integers(1, 20, length)
    return rows


def ours(rows: Any) -> Any:
    """A work that plays the stream on an empty book."""
    messages, play = messages_of(rows).view(np.recarray), compiled_run()
    fills = np.zeros(4 * len(rows), FILL).view(np.recarray)
    dtype = record_dtype(book_fields(TICKS, len(rows)))

    def work() -> int:
        book = np.zeros(1, dtype)
        open_book(book[0])
        assert play(book.view(np.recarray), messages, fills) > 0
        return len(rows)

    return work


def theirs(rows: Any) -> Any:
    """The same stream through bourse's Python interface, one call a message."""
    from bourse.core import OrderBook

    messages = rows.tolist()

    def work() -> int:
        book, number = OrderBook(0, 1), {}
        for time, (kind, order, side, price, quantity) in enumerate(messages):
            book.set_time(time)
            if kind == CANCEL:
                if order in number:
                    book.cancel_order(number[order])
            else:
                number[order] = book.place_order(side == 0, quantity, 0, price=price)
        return len(messages)

    return work


def against_bourse() -> Row:
    rows = stream()
    return compare(
        "order book, orders and cancels",
        ours(rows),
        theirs(rows),
        target=1,
        unit="messages/s",
        against="bourse (Rust), called from Python",
    )


def messages_a_second() -> Row:
    """At least half a million messages a second on one core."""
    work = ours(stream())
    work()
    return limit("order book, a million messages", 1e6 / rate(work), at_most=2.0, unit="s")


MEASURES = (against_bourse, messages_a_second)
