"""Lines drawn as cells."""

from __future__ import annotations

import palestra
from palestra import Grid
from palestra_markets.chart import chart, short_number, thin


def heights(grid: Grid, name: str) -> list[int]:
    """The row of a line in every column, counted from the bottom."""
    columns = zip(*grid.cells, strict=True)
    rows = [[p is not None and p.label == name for p in column][::-1] for column in columns]
    return [row.index(True) for row in rows if True in row]


def test_a_line_goes_from_the_lowest_row_to_the_highest() -> None:
    grid = chart({"price": [1, 2, 3, 2]}, rows=5)
    assert grid is not None
    assert heights(grid, "price") == [0, 2, 4, 2]
    assert (grid.row_labels[0], grid.row_labels[-1]) == ("3", "1")


def test_lines_share_their_scale_and_the_first_is_in_front() -> None:
    grid = chart({"a": [0, 10], "b": [5, 10]}, rows=11)
    assert grid is not None
    assert heights(grid, "a") == [0, 10]
    assert heights(grid, "b") == [5]


def test_long_lines_are_thinned_and_keep_both_ends() -> None:
    points = thin(range(1000), 40)
    assert (len(points), points[0], points[-1]) == (40, 0, 999)
    assert chart({"none": []}) is None


def test_numbers_are_short() -> None:
    values = (0, 0.5, 7.63, 97.6, 950, 1200, 123_456, -3.4e6, 1e15)
    assert [short_number(v) for v in values] == [
        "0", "0.5", "7.6", "98", "950", "1k", ".1M", "-3M", "1e+15"
    ]  # fmt: skip


def test_the_double_auction_draws_the_prices_of_its_trades() -> None:
    (record,) = palestra.play("markets/DoubleAuction-v0", agents=["zip"] * 6, episodes=1, seed=0)
    prices = [event.data["price"] for event in record.events if event.kind == "trade"]
    grid = palestra.replay(record).scene().grid
    drawn = heights(grid, "price")
    assert len(drawn) == min(40, len(prices)) > 2
    assert sorted(range(len(prices)), key=lambda at: prices[at])[-1] in {
        at for at, height in enumerate(drawn) if height == max(drawn)
    }
