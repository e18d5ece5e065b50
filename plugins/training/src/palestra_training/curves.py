"""A run's curve as a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SHARES = {"unlost": "share of episodes not lost", "rank": "share of other seats paid less"}


def draw_curve(lines: Sequence[Any], file: str | Path) -> bool:
    """Write a PNG of the evaluations, with their intervals; False without matplotlib or data."""
    opponents = sorted({line.opponent for line in lines if line.opponent})
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return False
    if not opponents:
        return False
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    share = "rank" if any(line.rank is not None for line in lines) else "unlost"
    for place, name in enumerate(opponents):
        own = [line for line in lines if line.opponent == name]
        rounds = [line.round for line in own]
        for axes, *names in (
            (left, share, *(("low", "high") if share == "unlost" else ("rank_low", "rank_high"))),
            (right, "mean", "mean_low", "mean_high"),
        ):
            middle, low, high = ([_number(getattr(line, n)) for line in own] for n in names)
            colour = f"C{place}"
            axes.plot(rounds, middle, color=colour, label=name)
            axes.fill_between(rounds, low, high, color=colour, alpha=0.2)
    left.set(xlabel="round", ylabel=SHARES[share], ylim=(0, 1))
    right.set(xlabel="round", ylabel="mean return")
    left.legend(title="against")
    figure.savefig(str(file), dpi=100, format="png")
    return True


def _number(value: float | None) -> float:
    return math.nan if value is None else value
