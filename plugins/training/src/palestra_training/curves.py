"""A run's curve as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any


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
    for place, name in enumerate(opponents):
        own = [line for line in lines if line.opponent == name]
        rounds = [line.round for line in own]
        for axes, middle, low, high in (
            (left, "unlost", "low", "high"),
            (right, "mean", "mean_low", "mean_high"),
        ):
            colour = f"C{place}"
            axes.plot(rounds, [getattr(line, middle) for line in own], color=colour, label=name)
            axes.fill_between(
                rounds,
                [getattr(line, low) for line in own],
                [getattr(line, high) for line in own],
                color=colour,
                alpha=0.2,
            )
    left.set(xlabel="round", ylabel="share of episodes not lost", ylim=(0, 1))
    right.set(xlabel="round", ylabel="mean return")
    left.legend(title="against")
    figure.savefig(str(file), dpi=100, format="png")
    return True
