"""A run's curve: a line a round, as a table and as a picture."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import astuple
from palestra.files import whole_file, write_text

SHARES = {"unlost": "share of episodes not lost", "rank": "share of other seats paid less"}


class Round(msgspec.Struct, frozen=True):
    """A line of the curve; shares come from the evaluation and are empty in rounds without one.

    loss, entropy: means over the gradient steps. ratio: the largest ratio, in either direction,
    between a token's probability and the one it was sampled with. unlost: the share of evaluated
    episodes that were won or drawn, with its 95 % interval; worst: the same share from the seat
    where it is lowest; won: the share that was won; mean: the mean return, with its interval. rank:
    in games of many seats or of general sum, which have no shares, the mean share of the other
    seats that were paid less. exploitability: where the game is small enough; see `solving`.
    truncated: under `tis_cap`, the share of sampled tokens whose importance weight was cut to it.
    padding: the share of the tokens read in gradient steps that was padding. alike: under
    `dynamic_sampling`, the number of groups left out since all of their rollouts were paid alike.
    """

    round: int
    seconds: float
    episodes: int
    tokens: int
    loss: float
    entropy: float
    ratio: float
    returns: float
    mistakes: float
    opponent: str = ""
    unlost: float | None = None
    low: float | None = None
    high: float | None = None
    worst: float | None = None
    won: float | None = None
    mean: float | None = None
    mean_low: float | None = None
    mean_high: float | None = None
    rank: float | None = None
    rank_low: float | None = None
    rank_high: float | None = None
    exploitability: float | None = None
    truncated: float | None = None
    padding: float | None = None
    alike: int | None = None


def write_curve(lines: Sequence[Round], file: str | Path) -> None:
    """Write the lines as CSV."""
    rows = [",".join(Round.__struct_fields__)]
    rows += [",".join("" if v is None else str(v) for v in astuple(line)) for line in lines]
    write_text(Path(file), "\n".join(rows) + "\n")


def read_curve(file: str | Path) -> list[dict[str, str]]:
    """The lines of a curve as text, by column."""
    with Path(file).open(newline="") as opened:
        return list(csv.DictReader(opened))


def draw_curve(lines: Sequence[Round], file: str | Path) -> bool:
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
    with whole_file(file) as draft:
        figure.savefig(draft, dpi=100, format="png")
    return True


def _number(value: float | None) -> float:
    return math.nan if value is None else value
