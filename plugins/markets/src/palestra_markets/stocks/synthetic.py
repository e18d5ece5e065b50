"""A stock market drawn from a seed: regimes, earnings, and headlines that agree with the prices.

Every morning the market is calm, in a boom or in a slump, and stays in that regime with chance 0.98
(a regime switching model after J. Hamilton, Econometrica 57, 1989). A share's log return of a day
is its sensitivity times the market's, plus its own. Every 63 days a company reports earnings before
the market opens: the surprise moves the opening price, and the price drifts on in the same
direction over the next ten days (the post-earnings drift of Ball and Brown, 1968), so that reading
the news pays. Days are drawn in order, so that no day depends on a later one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from palestra.kernel.rng import Rng

from palestra_markets.draws import normals, uniforms
from palestra_markets.stocks.market import COLUMNS, Headline, Market, cents

COMPANIES = (
    ("ALDR", "Alder Foods"), ("BRYN", "Bryn Steel"), ("CORA", "Cora Health"),
    ("DUNE", "Dune Energy"), ("ELMO", "Elmo Toys"), ("FJRD", "Fjord Shipping"),
    ("GLEN", "Glen Insurance"), ("HALO", "Halo Optics"), ("IVRY", "Ivory Paper"),
    ("JUNO", "Juno Rail"), ("KILN", "Kiln Ceramics"), ("LARK", "Lark Media"),
    ("MESA", "Mesa Mining"), ("NOVA", "Nova Chips"), ("OPAL", "Opal Retail"),
    ("PINE", "Pine Homes"), ("QUAY", "Quay Ports"), ("RUNE", "Rune Software"),
    ("SAGE", "Sage Biotech"), ("TERN", "Tern Airlines"),
)  # fmt: skip
REGIMES = ("calm", "boom", "slump")
DRIFT = np.array([0.0003, 0.0012, -0.0016])  # of the market's log return of a day
VOLATILITY = np.array([0.006, 0.009, 0.016])
STAY = 0.98
QUARTER, AFTER = 63, 10  # days between reports, and days for which prices drift after one
JUMP, DRIFTS_ON = 0.03, 0.0025  # log return of a surprise of 1: at the opening, and a day after
MOST_MOVE = 0.2  # of a log return between two openings
OVERNIGHT = 0.4  # the part of a move that comes before the opening
FIRST_DATE = "2030-01-01"
BIG_MOVE, BIG_MARKET_MOVE = 4.0, 1.5  # percent that make a headline
PLACES = ("Lisbon", "Oslo", "Nairobi", "Lima", "Hanoi", "Tartu", "Quebec", "Perth")


Series = NDArray[np.float64]
Bars = dict[str, NDArray[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class Companies:
    """Fixed facts about the companies, by company."""

    beta: Series  # sensitivity to the market
    own: Series  # standard deviation of the own part of a day's log return
    volume: Series  # shares traded on a quiet day
    shares: Series  # outstanding
    first: NDArray[np.int64]  # the day of the first report


@lru_cache(maxsize=64)
def draw_market(shares: int, days: int, seed: int) -> Market:
    """A market of 1 to 20 companies; the same for the same seed."""
    rng = Rng.seeded(seed, stream=4)
    prices = 2_000 * np.exp(2.3 * uniforms(rng, shares))  # 20 to 200 dollars
    earnings = prices / (10 + 20 * uniforms(rng, shares))  # a year, in cents a share
    companies = Companies(
        beta=0.6 + 0.8 * uniforms(rng, shares),
        own=0.006 + 0.010 * uniforms(rng, shares),
        volume=np.rint(1e5 * np.exp(3 * uniforms(rng, shares))),
        shares=np.rint(1e7 * np.exp(4 * uniforms(rng, shares))),
        first=(uniforms(rng, shares) * QUARTER).astype(int),
    )
    bars = {name: np.zeros((days, shares), np.int64) for name in COLUMNS}
    names = ("earnings_per_share", "days_to_report", "shares_outstanding")
    facts = {name: np.zeros((days, shares)) for name in names}
    news: list[list[Headline]] = []
    surprise, since, regime = np.zeros(shares), np.full(shares, QUARTER), 0
    for day in range(days):
        regime = next_regime(regime, rng)
        reports = (day - companies.first) % QUARTER == 0
        z = normals(rng, 5, shares + 1)
        luck = uniforms(rng, 3, shares)
        expected = earnings / 4
        surprise = np.where(reports, z[4, :shares], surprise)
        since = np.where(reports, 0, since + 1)
        earned = expected * (1 + 0.1 * np.maximum(-5, z[4, :shares]))
        earnings = np.where(reports, 0.75 * earnings + earned, earnings)
        overnight, daily = moves(companies, regime, surprise, since, z)
        bars["open"][day] = cents(prices * np.exp(overnight))
        prices = bars["open"][day] * np.exp(daily)
        bars["close"][day] = cents(prices)
        write_day(companies, bars, day, z)
        facts["earnings_per_share"][day] = np.rint(earnings) / 100
        facts["days_to_report"][day] = (companies.first - day - 1) % QUARTER + 1
        facts["shares_outstanding"][day] = companies.shares
        published = [report(n, expected[n], earned[n]) for n in np.flatnonzero(reports).tolist()]
        news.append(published + (echoes(bars, day) if day > 1 else []) + gossip(luck))
        prices = bars["close"][day].astype(float)
    dates = np.busday_offset(FIRST_DATE, np.arange(days), roll="forward")
    symbols = tuple(symbol for symbol, _ in COMPANIES[:shares])
    return Market(symbols, tuple(map(str, dates)), bars, facts, tuple(map(tuple, news)))


def next_regime(regime: int, rng: Rng) -> int:
    """The regime of the next day."""
    if rng.random() < STAY:
        return regime
    return (regime + rng.between(1, len(REGIMES) - 1)) % len(REGIMES)


def moves(
    companies: Companies, regime: int, surprise: Series, since: NDArray[np.int64], z: Series
) -> tuple[Series, Series]:
    """Log returns of every share before the opening, and during the day.

    surprise: of the last reports. since: days since then. z: standard normal numbers, the last
    column the market's. OVERNIGHT of the variance comes before the opening.
    """
    market, own = VOLATILITY[regime], companies.own
    parts = np.sqrt(OVERNIGHT), np.sqrt(1 - OVERNIGHT)
    jump = np.where(since == 0, JUMP * surprise, 0)
    drift = np.where((since > 0) & (since <= AFTER), DRIFTS_ON * surprise, 0)
    overnight = parts[0] * (companies.beta * market * z[0, -1] + own * z[0, :-1]) + jump
    mean = companies.beta * DRIFT[regime] + drift
    daily = parts[1] * (companies.beta * market * z[1, -1] + own * z[1, :-1]) + mean
    half = MOST_MOVE / 2
    return np.clip(overnight, -half, half), np.clip(daily, -half, half)


def write_day(companies: Companies, bars: Bars, day: int, z: Series) -> None:
    """Write high, low and volume of a day whose opening and closing prices are written."""
    opened, closed = bars["open"][day], bars["close"][day]
    reach = 0.4 * companies.own
    bars["high"][day] = cents(np.maximum(opened, closed) * np.exp(reach * np.abs(z[2, :-1])))
    bars["low"][day] = cents(np.minimum(opened, closed) * np.exp(-reach * np.abs(z[3, :-1])))
    busy = np.exp(0.3 * z[2, :-1]) * (1 + 10 * np.abs(np.log(closed / opened)))
    bars["volume"][day] = np.rint(companies.volume * busy)


def report(share: int, expected: float, earned: float) -> Headline:
    """The headline of a company's quarterly earnings, in cents a share."""
    symbol, name = COMPANIES[share]
    actual, hoped = round(earned), round(expected)
    text = f"{name} earns {actual} cents a share this quarter"
    if actual == hoped:
        return Headline(symbol, f"{text}, as expected.")
    word = "more" if actual > hoped else "less"
    return Headline(symbol, f"{text}, {abs(actual - hoped)} {word} than the {hoped} expected.")


def echoes(bars: Bars, day: int) -> list[Headline]:
    """This morning's headlines about large moves of the day before, from close to close."""
    moved = 100 * (bars["close"][day - 1] / bars["close"][day - 2] - 1)
    found = []
    mean = float(moved.mean())
    if abs(mean) >= BIG_MARKET_MOVE:
        word = "rally" if mean > 0 else "slide"
        text = f"Stocks {word}: the average share moved {mean:+.1f} percent yesterday."
        found.append(Headline("", text))
    for share in np.flatnonzero(np.abs(moved) >= BIG_MOVE):
        symbol, name = COMPANIES[share]
        word = "jumped" if moved[share] > 0 else "fell"
        found.append(Headline(symbol, f"{name} {word} {abs(moved[share]):.1f} percent yesterday."))
    return found


def gossip(luck: Series) -> list[Headline]:
    """Headlines without information."""
    found = []
    for share in np.flatnonzero(luck[0] < 0.06):
        symbol, name = COMPANIES[share]
        place = PLACES[int(luck[1, share] * len(PLACES))]
        kind = ("opens an office in", "sends a delegation to", "sponsors a museum in")
        text = f"{name} {kind[int(luck[2, share] * len(kind))]} {place}."
        found.append(Headline(symbol, text))
    return found
