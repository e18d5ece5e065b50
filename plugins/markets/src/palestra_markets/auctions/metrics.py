"""Metrics for sealed-bid auctions."""

from __future__ import annotations

from collections.abc import Sequence

from palestra import EpisodeRecord, metric

from palestra_markets.auctions.content_auction import ContentAuction
from palestra_markets.auctions.readers import worth
from palestra_markets.reading import event_data


def _worths(record: EpisodeRecord) -> list[list[int]]:
    """Values by seat, with one row for each time they were drawn."""
    worths: list[int] = [data["value"] for data in event_data(record.events, "value")]
    seats = len(record.players)
    return [worths[start : start + seats] for start in range(0, len(worths), seats)]


@metric(
    "auction-revenue",
    measures=(
        "markets/SealedAuction-v0",
        "markets/PositionAuction-v0",
        "markets/ContentAuction-v0",
    ),
    bounds=(0.0, None),
)
def auction_revenue(record: EpisodeRecord) -> float:
    """What the seller is paid per round, on average."""
    paid = [float(data["revenue"]) for data in event_data(record.events, "sale")]
    paid += [float(sum(data["payments"])) for data in event_data(record.events, "page")]
    return sum(paid) / max(1, len(paid))


@metric(
    "auction-efficiency",
    measures=("markets/SealedAuction-v0", "markets/PositionAuction-v0"),
    bounds=(0.0, 1.0),
    better="higher",
)
def auction_efficiency(record: EpisodeRecord) -> float | None:
    """The total value of the sold items to their winners, divided by the highest possible total.

    Undefined before something was sold that is worth anything.
    """
    if record.env == "markets/SealedAuction-v0":
        sales = event_data(record.events, "sale")
        rounds = list(zip(_worths(record), sales, strict=False))
        got = sum(worths[sale["winner"]] for worths, sale in rounds if sale["winner"] >= 0)
        most = float(sum(max(worths) for worths, _ in rounds))
    else:
        got, most = _worth_of_clicks(record)
    return got / most if most else None


def _worth_of_clicks(record: EpisodeRecord) -> tuple[float, float]:
    """The total value of all clicks, and the highest total that was possible."""
    (worths,), rates = _worths(record), record.options["click_rates"]
    pages = event_data(record.events, "page")
    got = sum(_worth_of_page(worths, page["positions"], rates) for page in pages)
    ranked = sorted(worths, reverse=True)
    return got, len(pages) * sum(w * rate for w, rate in zip(ranked, rates, strict=False))


def _worth_of_page(
    worths: Sequence[int], positions: Sequence[int], rates: Sequence[float]
) -> float:
    pairs = zip(worths, positions, strict=True)
    return sum(worth * rates[position - 1] for worth, position in pairs if position)


@metric(
    "page-efficiency",
    measures=("markets/ContentAuction-v0",),
    bounds=(0.0, 1.0),
    better="higher",
)
def page_efficiency(record: EpisodeRecord) -> float:
    """The value of all clicks, divided by that on the best pages for the true values."""
    (worths,) = _worths(record)
    game = ContentAuction(**record.options)
    state = game.initial_state(record.seed)
    best = worth(reader := game.reader_of(state), reader.best_page(worths), worths)
    pages = event_data(record.events, "page")
    got = sum(
        sum(value * clicks for value, clicks in zip(worths, page["clicks"], strict=True))
        for page in pages
    )
    most = len(pages) * game.readers * best
    return got / most if most else 1.0
