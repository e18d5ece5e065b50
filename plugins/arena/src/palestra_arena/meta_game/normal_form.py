"""Games in normal form: every player's payoff for every profile of strategies.

Payoffs are one array per player, all of one shape with one axis per player; a mix is a distribution
over one player's strategies.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from palestra import InvalidOption

Floats = NDArray[np.float64]
Payoffs = tuple[Floats, ...]
Mixes = tuple[Floats, ...]


def read_payoffs(payoffs: Sequence[ArrayLike]) -> Payoffs:
    """Checked payoffs: n arrays of n axes, all of one shape and finite."""
    tables = tuple(np.array(table, dtype=float) for table in payoffs)
    shapes = {table.shape for table in tables}
    if len(shapes) != 1 or tables[0].ndim != len(tables) or not tables[0].size:
        raise InvalidOption(
            "payoffs must be one array a player, all of one shape with one axis a player, not "
            f"shapes {[table.shape for table in tables]}; for a symmetric game of two with one "
            "table a, give (a, a.T)"
        )
    if not all(np.isfinite(table).all() for table in tables):
        raise InvalidOption("payoffs must be finite numbers")
    return tables


def uniform_mixes(payoffs: Payoffs) -> Mixes:
    return tuple(np.full(size, 1 / size) for size in payoffs[0].shape)


def rivals_profiles(payoffs: Payoffs, mixes: Mixes, seat: int) -> tuple[Floats, Floats]:
    """A player's payoffs as (own strategies, profiles of the rivals), and these profiles' chances.

    Rivals mix independently of each other.
    """
    table = np.moveaxis(payoffs[seat], seat, 0)
    chances = np.ones(1)
    for other, mix in enumerate(mixes):
        if other != seat:
            chances = np.multiply.outer(chances, mix).ravel()
    return table.reshape(len(table), -1), chances


def strategy_values(payoffs: Payoffs, mixes: Mixes, seat: int) -> Floats:
    """The expected payoff of each of a player's strategies against the others' mixes."""
    table, chances = rivals_profiles(payoffs, mixes, seat)
    return table @ chances


def normal_nash_conv(payoffs: Payoffs, mixes: Mixes) -> float:
    """The sum of what each player would gain by a best response; 0 in equilibrium."""
    gains = 0.0
    for seat, mix in enumerate(mixes):
        values = strategy_values(payoffs, mixes, seat)
        gains += float(values.max() - values @ mix)
    return gains
