"""Checks of a game's options, for `__post_init__`: what came, and what is accepted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from palestra.errors import InvalidOption

Range = tuple[str, float, float | None]


def check_ranges(game: Any, ranges: Iterable[Range]) -> None:
    """Raise `InvalidOption` for the first option outside its (name, least, most or None).

    check_ranges(self, (("num_players", 2, 10), ("max_steps", 1, None)))
    """
    for name, low, high in ranges:
        value = getattr(game, name)
        fits = (
            isinstance(value, int | float | np.number)
            and low <= value
            and (high is None or value <= high)
        )
        if not fits:
            accepted = f"at least {low:.9g}" if high is None else f"from {low:.9g} to {high:.9g}"
            raise InvalidOption(f"{name} must be {accepted}, not {value!r}")


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise `InvalidOption` for a word that is not among the choices."""
    if value not in choices:
        raise InvalidOption(f"{name} must be {' or '.join(choices)}, not {value!r}")
