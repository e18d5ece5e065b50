"""The order book: its invariants, and every trade of a public matching engine written in Rust."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from palestra import InvalidOption, Rng, UnknownName
from palestra.kernel.array_game import record_dtype
from palestra_markets.trading.order_book import (
    CANCEL,
    FILL,
    PLACE,
    SIDES,
    Fill,
    OrderBook,
    book_fields,
    compiled_run,
    messages_of,
    open_book,
    run,
)

TICKS = 12
ORDERS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(SIDES), st.integers(1, TICKS), st.integers(1, 9)),
        st.integers(0, 59),  # cancel the order of this number, if it rests
    ),
    max_size=60,
)


def numbers(book: OrderBook, sent: int) -> list[int]:
    """The orders that rest."""
    return [number for number in range(sent) if book.quantity(number)]


@given(ORDERS)
@settings(max_examples=200)
def test_no_order_is_lost_and_the_book_never_crosses(steps: list[object]) -> None:
    book, sent = OrderBook(ticks=TICKS, capacity=60), 0
    flow: Counter[str] = Counter()
    for step in steps:
        if isinstance(step, int):
            if step < sent and book.quantity(step):
                flow["cancelled"] += book.cancel(step)
            continue
        number, fills = book.place(*step)  # type: ignore[misc]
        sent = number + 1
        flow["placed"] += step[2]  # type: ignore[index]
        flow["traded"] += 2 * sum(fill.quantity for fill in fills)
        assert book.best_bid is None or book.best_ask is None or book.best_bid < book.best_ask
        resting = sum(book.quantity(n) for n in numbers(book, sent))
        assert flow["placed"] == flow["traded"] + flow["cancelled"] + resting
        shown = sum(q for side in SIDES for _, q in book.depth(side, TICKS))
        assert shown == resting
        queued = [entry for price in range(1, TICKS + 1) for entry in book.queue(price)]
        assert sorted(queued) == [(n, book.quantity(n)) for n in numbers(book, sent)]


@given(ORDERS)
@settings(max_examples=200)
def test_best_price_trades_first_and_at_one_price_the_earliest(steps: list[object]) -> None:
    book = OrderBook(ticks=TICKS, capacity=60)
    for step in steps:
        if isinstance(step, int):
            continue
        side, price, _ = step  # type: ignore[misc]
        other = SIDES[1 - SIDES.index(side)]
        waiting = [entry for level, _ in book.depth(other, TICKS) for entry in book.queue(level)]
        _, fills = book.place(*step)  # type: ignore[misc]
        met = [fill.order for fill in fills]
        assert met == [number for number, _ in waiting[: len(met)]]
        assert [fill.quantity for fill in fills[:-1]] == [q for _, q in waiting[: len(met)]][:-1]
        assert all(f.price <= price if side == "bid" else f.price >= price for f in fills)
        queues = [[n for n, _ in book.queue(level)] for level in range(1, TICKS + 1)]
        assert all(queue == sorted(queue) for queue in queues)


@pytest.mark.parametrize("seed", range(20))
def test_trades_are_those_of_bourse(seed: int) -> None:
    bourse = pytest.importorskip("bourse.core")
    rng = Rng(seed)
    ours, theirs = OrderBook(ticks=40, capacity=400), bourse.OrderBook(0, 1)
    trades: list[tuple[int, int, int, int]] = []
    for time in range(1, 401):
        theirs.set_time(time)
        sent = time - 1
        side, price, quantity = rng.below(2), 1 + rng.below(40), 1 + rng.below(20)
        number, fills = ours.place(SIDES[side], price, quantity)
        assert theirs.place_order(side == 0, quantity, 0, price=price) == number == sent
        trades += [(f.price, f.quantity, number, f.order) for f in fills]
        if rng.below(3) == 0:
            gone = rng.below(time)
            theirs.cancel_order(gone)
            if ours.quantity(gone):
                ours.cancel(gone)
        bid, ask = theirs.bid_ask()
        assert ours.best_bid == (bid or None)
        assert ours.best_ask == (ask if ask <= 40 else None)
    assert [trade[2:] for trade in theirs.get_trades()] == trades
    assert len(trades) > 100
    left = {order[-1]: order[4] for order in theirs.get_orders() if order[1] == 1}
    assert left == {n: ours.quantity(n) for n in numbers(ours, 400)}


def stream(seed: int, length: int) -> NDArray[np.int64]:
    """Random orders, and cancels of what may rest."""
    rng = Rng(seed)
    rows = []
    for number in range(length):
        if number and rng.below(4) == 0:
            rows.append((CANCEL, rng.below(number), 0, 0, 0))
        else:
            rows.append((PLACE, number, rng.below(2), 1 + rng.below(50), 1 + rng.below(9)))
    return np.array(rows, np.int64)


def test_compiled_stream_trades_as_the_interpreted_one() -> None:
    messages = messages_of(stream(3, 600))
    played = []
    for play in (run, compiled_run()):
        book = np.zeros(1, record_dtype(book_fields(50, 600)))
        open_book(book[0])
        fills = np.zeros(2000, FILL)
        count = play(book.view(np.recarray), messages.view(np.recarray), fills.view(np.recarray))
        played.append((count, fills.tobytes(), book.tobytes()))
    assert played[0] == played[1]
    assert played[0][0] > 100


def test_a_large_order_takes_several_prices_and_rests_with_what_is_left() -> None:
    book = OrderBook(ticks=100)
    low, _ = book.place("ask", 50, 3)
    high, _ = book.place("ask", 52, 3)
    number, fills = book.place("bid", 52, 8)
    assert fills == [Fill(low, 50, 3), Fill(high, 52, 3)]
    assert book.best_bid == 52
    assert book.best_ask is None
    assert book.quantity(number) == 2
    assert book.cancel(number) == 2
    assert book.best_bid is None


@pytest.mark.parametrize(
    ("price", "quantity"),
    [(-1, 1), (0, 1), (101, 1), (float("nan"), 1), (float("inf"), 1), (2.5, 1), (5, 0), (5, -3)],
)
def test_bad_numbers_are_named_and_change_nothing(price: float, quantity: int) -> None:
    book = OrderBook(ticks=100)
    book.place("bid", 40, 2)
    with pytest.raises(InvalidOption, match="must be a whole number from 1"):
        book.place("ask", price, quantity)  # type: ignore[arg-type]
    assert book.depth("bid") == [(40, 2)]
    assert book.depth("ask") == []


def test_a_cancelled_or_filled_order_cannot_be_cancelled_again() -> None:
    book = OrderBook(ticks=100)
    first, _ = book.place("bid", 40, 2)
    book.place("ask", 40, 2)
    with pytest.raises(InvalidOption, match="order 0 does not rest"):
        book.cancel(first)


def test_a_full_book_and_an_unknown_side_say_what_to_do() -> None:
    book = OrderBook(ticks=100, capacity=1)
    book.place("bid", 40, 2)
    with pytest.raises(InvalidOption, match="higher capacity"):
        book.place("bid", 41, 2)
    with pytest.raises(UnknownName, match="bid"):
        book.place("bidd", 41, 2)
