"""The user's own prices and headlines, from CSV or Parquet; errors name the file and the line.

Prices: one row a day and share with the columns date, symbol, open, high, low, close and volume, in
order of dates; prices in units of money, as in `101.25`. Every other column is a fact about the
company as known on that morning; its cells may be empty. Headlines: the columns date, symbol (empty
for news about the whole market) and headline; they are known on the morning of the date.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from palestra import InvalidOption, MissingExtra

from palestra_markets.stocks.market import COLUMNS, Headline, Market

KEYS = ("date", "symbol")
LONGEST_GAP = 10  # calendar days between two rows of a share
MOST_SHARES = 100
MOST_PRICE = 10_000_000.0

Row = Mapping[str, Any]


def read_market(prices: str, news: str = "") -> Market:
    """Read a market from a file of prices and, if given, a file of headlines.

    Raises `InvalidOption` that names the file, the line and what to correct. Lines count from 1 at
    the header; rows of Parquet count from 1 at the first row.
    """
    stamps = tuple(_stamp(path) for path in (prices, news) if path)
    return _read_market(prices, news, stamps)


def _stamp(path: str) -> tuple[int, int]:
    try:
        found = Path(path).stat()
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        why = getattr(error, "strerror", None) or error
        raise InvalidOption(f"cannot read {path}: {why}") from error
    if not Path(path).is_file():
        raise InvalidOption(f"cannot read {path}: it is no file")
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=8)
def _read_market(prices: str, news: str, stamps: tuple[tuple[int, int], ...]) -> Market:
    rows = list(read_rows(prices, (*KEYS, *COLUMNS)))
    if not rows:
        raise InvalidOption(f"{prices} has no rows")
    symbols = tuple(dict.fromkeys(checked_symbol(prices, line, row) for line, row in rows))
    if len(symbols) > MOST_SHARES:
        raise InvalidOption(f"{prices} has {len(symbols)} symbols; at most {MOST_SHARES} are read")
    days = group_rows(prices, rows, symbols)
    shape = len(days), len(symbols)
    extra = [name for name in rows[0][1] if name not in (*KEYS, *COLUMNS)]
    bars = {name: np.zeros(shape, np.int64) for name in COLUMNS}
    facts = {name: np.full(shape, np.nan) for name in extra}
    for day, found in enumerate(days.values()):
        for share, symbol in enumerate(symbols):
            line, row = found[symbol]
            for name, value in checked_bar(prices, line, row).items():
                bars[name][day, share] = value
            for name in extra:
                facts[name][day, share] = checked_fact(prices, line, name, row[name])
    dates = tuple(days)
    return Market(symbols, dates, bars, facts, read_news(news, dates, symbols) if news else ())


def refusal(path: str, line: int, why: str) -> InvalidOption:
    """An error that names the file and the line."""
    return InvalidOption(f"{path}, line {line}: {why}")


def read_rows(path: str, wanted: Sequence[str]) -> Iterator[tuple[int, Row]]:
    """Every row with the number of its line; raises `InvalidOption` for missing columns."""
    columns, rows = _parquet(path) if path.endswith(".parquet") else _csv(path)
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise InvalidOption(
            f"{path} has no column {', '.join(missing)}; it has {', '.join(columns)}"
        )
    twice = {name for name in columns if columns.count(name) > 1}
    if twice:
        raise InvalidOption(f"{path} has more than one column {', '.join(sorted(twice))}")
    yield from rows


def _csv(path: str) -> tuple[list[str], Iterator[tuple[int, Row]]]:
    text = Path(path).read_text("utf-8-sig").splitlines()
    reader = csv.reader(text)
    columns = [name.strip().lower() for name in next(reader, [])]

    def rows() -> Iterator[tuple[int, Row]]:
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(columns):
                why = f"{len(cells)} cells under {len(columns)} columns"
                raise refusal(path, reader.line_num, why)
            yield reader.line_num, dict(zip(columns, map(str.strip, cells), strict=True))

    return columns, rows()


def _parquet(path: str) -> tuple[list[str], Iterator[tuple[int, Row]]]:
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra("pyarrow", "palestra-markets[parquet]") from error
    table = pq.read_table(path)
    columns = [name.lower() for name in table.column_names]
    cells = zip(*(column.to_pylist() for column in table.columns), strict=True)
    rows = (dict(zip(columns, row, strict=True)) for row in cells)
    return columns, iter(enumerate(rows, 1))


def group_rows(
    path: str, rows: Sequence[tuple[int, Row]], symbols: Sequence[str]
) -> dict[str, dict[str, tuple[int, Row]]]:
    """Rows by date and symbol, one for every symbol on every day, in order."""
    days: dict[str, dict[str, tuple[int, Row]]] = {}
    last, line = None, 0
    for line, row in rows:
        day, symbol = checked_date(path, line, row["date"]), str(row["symbol"])
        if last is not None and day < last:
            raise refusal(path, line, f"{day} comes after {last}; sort the rows by date")
        if last is not None and day > last:
            _check_whole_day(path, line, last, days[last.isoformat()], symbols)
            if (day - last).days > LONGEST_GAP:
                why = f"no row between {last} and {day}, a gap of more than {LONGEST_GAP} days"
                raise refusal(path, line, why)
        found = days.setdefault(day.isoformat(), {})
        if symbol in found:
            why = f"{symbol} on {day} is in line {found[symbol][0]} already; remove one of the rows"
            raise refusal(path, line, why)
        found[symbol], last = (line, row), day
    assert last is not None
    _check_whole_day(path, line, last, days[last.isoformat()], symbols)
    return days


def _check_whole_day(
    path: str, line: int, day: date, found: Mapping[str, Any], symbols: Sequence[str]
) -> None:
    missing = [symbol for symbol in symbols if symbol not in found]
    if missing:
        why = f"{day} has no row for {', '.join(missing)}; every symbol needs one on every day"
        raise refusal(path, line, why)


def checked_symbol(path: str, line: int, row: Row) -> str:
    """The symbol of a row."""
    symbol = str(row["symbol"] or "")
    if not symbol or not symbol.isprintable() or len(symbol) > 20 or {"'", "\\"} & set(symbol):
        raise refusal(path, line, f"symbol must be up to 20 printable characters, not {symbol!r}")
    return symbol


def checked_date(path: str, line: int, value: Any) -> date:
    """The date of a row."""
    if hasattr(value, "date"):  # a time stamp of Parquet
        value = value.date()
    try:
        return value if isinstance(value, date) else date.fromisoformat(str(value))
    except ValueError as error:
        raise refusal(path, line, f"date must be like 2024-03-28, not {value!r}") from error


def checked_bar(path: str, line: int, row: Row) -> dict[str, int]:
    """A row's prices in cents and its volume."""
    bar = {}
    for name in COLUMNS:
        value = checked_number(path, line, name, row[name])
        if name == "volume" and value < 0:
            raise refusal(path, line, f"volume must not be negative, but is {row[name]}")
        if name != "volume" and not 0.01 <= value <= MOST_PRICE:
            why = f"{name} must be a price from 0.01 to {MOST_PRICE:,.0f}, not {row[name]}"
            raise refusal(path, line, why)
        bar[name] = round(value if name == "volume" else 100 * value)
    if not bar["low"] <= min(bar["open"], bar["close"]):
        raise refusal(path, line, f"low {row['low']} is above the open or the close")
    if not bar["high"] >= max(bar["open"], bar["close"]):
        raise refusal(path, line, f"high {row['high']} is below the open or the close")
    return bar


def checked_number(path: str, line: int, name: str, value: Any) -> float:
    """A finite number from a cell."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise refusal(path, line, f"{name} must be a number, not {value!r}") from error
    if not math.isfinite(number):
        raise refusal(path, line, f"{name} must be finite, not {value!r}")
    return number


def checked_fact(path: str, line: int, name: str, value: Any) -> float:
    """A fact from a cell; nan where it is empty."""
    return math.nan if value in (None, "") else checked_number(path, line, name, value)


def read_news(
    path: str, dates: Sequence[str], symbols: Sequence[str]
) -> tuple[tuple[Headline, ...], ...]:
    """Headlines by trading day; those between two trading days belong to the later one."""
    news: list[list[Headline]] = [[] for _ in dates]
    for line, row in read_rows(path, (*KEYS, "headline")):
        symbol, text = str(row["symbol"] or ""), str(row["headline"] or "")
        if symbol and symbol not in symbols:
            why = f"{symbol!r} has no prices; symbols are {', '.join(symbols)}"
            raise refusal(path, line, why)
        if not text or not text.isprintable():
            raise refusal(path, line, f"headline must be one printable line, not {text!r}")
        published = checked_date(path, line, row["date"]).isoformat()
        day = int(np.searchsorted(np.array(dates), published))
        if day < len(dates):
            news[day].append(Headline(symbol, text))
    return tuple(map(tuple, news))
