"""Token prices: a table that the user maintains, in money per million tokens.

The file is TOML, one table per model; a name may end in `*`:

    ["openai:small-*"]
    in = 0.15
    cached = 0.075
    out = 0.60

It is `prices.toml` in the user's configuration folder, or the file that PALESTRA_PRICES names. A
model that is not in it costs nothing, like one that runs on this machine.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import NamedTuple

from platformdirs import user_config_path

from palestra import InvalidOption
from palestra.agents.budget import Usage
from palestra.files import UNREADABLE, read_toml

MILLION = 1_000_000


class Price(NamedTuple):
    """Money for a million tokens read, found cached, and written."""

    read: float = 0.0
    cached: float = 0.0
    written: float = 0.0

    @property
    def costs(self) -> bool:
        return any(self)

    def of(self, usage: Usage) -> float:
        fresh = usage.tokens_in - usage.tokens_cached
        total = fresh * self.read + usage.tokens_cached * self.cached
        return (total + usage.tokens_out * self.written) / MILLION


def price_file() -> Path:
    named = os.environ.get("PALESTRA_PRICES")
    return Path(named) if named else user_config_path("palestra") / "prices.toml"


def price_of(model: str) -> Price:
    """The first entry of the user's table that matches a model's name."""
    for pattern, price in price_table(price_file()).items():
        if fnmatchcase(model, pattern):
            return price
    return Price()


@lru_cache(maxsize=8)
def price_table(path: Path) -> dict[str, Price]:
    """Prices by name of model, as a file states them."""
    if not path.exists():
        return {}
    try:
        entries = read_toml(path)
        return {name: _price(entry) for name, entry in entries.items()}
    except (OSError, *UNREADABLE) as error:
        raise InvalidOption(
            f"the price table {path} cannot be read: {error}; write, say, "
            '["openai:small-*"] and below it in = 0.15, cached = 0.075, out = 0.6'
        ) from error


def _price(entry: dict[str, float]) -> Price:
    unknown = set(entry) - {"in", "cached", "out"}
    if unknown:
        raise TypeError(f"{sorted(unknown)[0]!r} is not one of in, cached, out")
    if any(not (isinstance(v, int | float) and 0 <= v < inf) for v in entry.values()):
        raise TypeError("prices are numbers of 0 or more")
    read = entry.get("in", 0.0)
    return Price(read, entry.get("cached", read), entry.get("out", 0.0))
