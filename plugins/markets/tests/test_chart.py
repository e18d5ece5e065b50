"""Charts of what changes with time."""

from __future__ import annotations

from itertools import pairwise

import palestra
from palestra.scene import Chart
from palestra_markets.chart import MOST, chart, thin


def test_points_are_numbered_from_one() -> None:
    (line,) = chart({"price": [1, 2, 3, 2]}, "trade", "price").series
    assert line.points == ((1, 1), (2, 2), (3, 3), (4, 2))


def test_every_line_has_a_colour_of_its_own() -> None:
    lines = chart({"a": [0, 10], "b": [], "c": [5]}, "day", "").series
    assert [(line.name, line.colour, len(line.points)) for line in lines] == [
        ("a", 0, 2),
        ("b", 1, 0),
        ("c", 2, 1),
    ]


def test_long_lines_are_thinned_and_keep_both_ends() -> None:
    points = thin(range(1000), 40)
    assert (len(points), points[0], points[-1]) == (40, (1, 0), (1000, 999))
    assert len(chart({"long": range(5_000)}, "", "").series[0].points) == MOST


def test_the_double_auction_draws_the_prices_of_its_trades() -> None:
    (record,) = palestra.play("markets/DoubleAuction-v0", agents=["zip"] * 6, episodes=1, seed=0)
    prices = [event.data["price"] for event in record.events if event.kind == "trade"]
    history, _ = palestra.replay(record).scene().parts
    assert isinstance(history, Chart)
    drawn = [price for _, price in history.series[0].points]
    assert len(drawn) > 2
    assert drawn == prices[-len(drawn) :]


def test_the_book_of_the_double_auction_adds_up_from_the_best_price() -> None:
    episode = palestra.Episode(palestra.game("markets/DoubleAuction-v0"), 1)
    rng = palestra.Rng(4)
    while not episode.over:
        episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})
        _, book = episode.scene().parts
        assert isinstance(book, Chart)
        bids, asks = (series.points for series in book.series)
        assert all(a[1] >= b[1] for a, b in pairwise(bids))
        assert all(a[1] <= b[1] for a, b in pairwise(asks))
        if bids and asks:
            assert bids[-1][0] < asks[0][0]
