"""`palestra credit`: the worth of each turn of recorded episodes, as bars."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from palestra import EpisodeRecord, InvalidOption, printable, read_records
from palestra.files import is_file
from palestra.quoting import open_console
from palestra.runner.run_folder import FINISHED
from rich.table import Table
from rich.text import Text

from palestra_rewards.arrays import Floats
from palestra_rewards.chain import estimate, shape
from palestra_rewards.entries import entry

HALF = 12  # characters on either side of a bar's middle
SHADES = "·░▒▓█"


def credit_command(
    file: Annotated[Path, typer.Argument(help="Records, or a folder from palestra play --out.")],
    by: Annotated[str, typer.Option(help="A group estimator or chain, or an episode shaper.")],
    episode: Annotated[int, typer.Option(min=0, help="Which episode to show turn by turn.")] = 0,
    heat: Annotated[bool, typer.Option(help="Show all episodes, one character per turn.")] = False,
) -> None:
    """Show what each turn of recorded episodes is worth."""
    records = read_records(records_at(file))
    values = worth(by, records)
    if heat:
        open_console().print(heat_map(values), highlight=False)
        return
    if episode >= len(records):
        raise InvalidOption(f"{file} has {len(records)} episodes; they are numbered from 0")
    open_console().print(turn_bars(records[episode], values[episode], largest(values)))


def records_at(path: Path) -> Path:
    """The file of records at a path: the path itself, or the file in a run's folder."""
    file = path / FINISHED if path.is_dir() else path
    if not is_file(file):
        raise InvalidOption(
            f"there are no records at {path}; palestra play --out writes {FINISHED}"
        )
    return file


def worth(by: str, records: list[EpisodeRecord]) -> list[Floats]:
    """Values of the turns of every record, by an estimator, a chain or an episode shaper."""
    name = by.split("+")[0].split(":")[0]
    if entry(name).shape == "episode":
        return [shape(by, record) for record in records]
    return estimate(by, records).per_episode()


def largest(values: list[Floats]) -> float:
    """The scale of the bars: the greatest absolute value, or 1 if all are 0."""
    return max((float(np.abs(v).max(initial=0.0)) for v in values), default=0.0) or 1.0


def turn_bars(record: EpisodeRecord, values: Floats, scale: float) -> Table:
    """A table of one episode's turns with a bar each, negative to the left."""
    rows = Table("turn", "seat", "action", "worth", "", box=None, header_style="bold")
    for place, (turn, value) in enumerate(zip(record.turns, values, strict=True)):
        seat = record.players[turn.seat]
        rows.add_row(
            str(place), seat, Text(printable(turn.text)), f"{value:+.3f}", bar(value / scale)
        )
    return rows


def bar(share: float) -> Text:
    """A share from -1 to 1 as a bar that starts in the middle."""
    full = round(min(abs(share), 1.0) * HALF)
    if share < 0:
        return Text(" " * (HALF - full) + "█" * full, "red")
    return Text(" " * HALF + "█" * full, "green")


def heat_map(values: list[Floats]) -> Text:
    """One line per episode, one character per turn: green above 0, red below, shaded by size."""
    scale, drawn = largest(values), Text()
    for number, row in enumerate(values):
        drawn.append(f"{number:4} ")
        for value in row:
            shade = SHADES[min(int(abs(value) / scale * len(SHADES)), len(SHADES) - 1)]
            drawn.append(shade, "green" if value > 0 else "red" if value < 0 else "dim")
        drawn.append("\n")
    return drawn
