"""`palestra measure`: the measures of recorded episodes, with intervals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from palestra.cli.listing import table
from palestra.kernel.errors import InvalidOption
from palestra.quoting import open_console, printable
from palestra.records.metrics import Measures, measure, metric_of
from palestra.records.record import EpisodeRecord, iter_records
from palestra.runner.run_folder import FINISHED


def measure_command(
    records: Annotated[
        list[Path], typer.Argument(help="Files of records, or folders that palestra play wrote.")
    ],
    confidence: Annotated[float, typer.Option(help="Of the intervals, between 0 and 1.")] = 0.95,
    explain: Annotated[bool, typer.Option("--explain", help="Say what each measure is.")] = False,
    against: Annotated[
        Path | None, typer.Option(help="Another run: show the differences on the same seeds.")
    ] = None,
) -> None:
    """Print the mean of every measure over recorded episodes, with its interval.

    With --against RUN, print the mean difference from that run, paired by seed: what outages cost
    an agent (its recovery gap), or how much another agent gains.
    """
    if not 0 < confidence < 1:
        raise InvalidOption(f"--confidence must be above 0 and below 1, not {confidence}")
    console = open_console()
    found = _by_environment(records) if against is None else _differences(records, against)
    for env, (measures, episodes) in sorted(found.items()):
        what = "episodes" if against is None else "pairs of episodes of one seed"
        console.print(f"{printable(env)}, {episodes} {what}", style="bold", markup=False)
        console.print(measures_table(measures, confidence))
        if explain:
            console.print(explanations(measures))


def _by_environment(paths: list[Path]) -> dict[str, tuple[Measures, int]]:
    """Measures and number of finished episodes by environment."""
    found: dict[str, tuple[Measures, int]] = {}
    for record in _finished_episodes(paths):
        measures, episodes = found.get(record.env, (Measures(), 0))
        measures.add(measure(record))
        found[record.env] = measures, episodes + 1
    return found


def _differences(paths: list[Path], other: Path) -> dict[str, tuple[Measures, int]]:
    """Measures less those of the other run's episode of the same seed, by environment."""
    theirs: dict[tuple[str, int], list[dict[str, float]]] = {}
    for record in _finished_episodes([other]):
        theirs.setdefault((record.env, record.seed), []).append(measure(record))
    found: dict[str, tuple[Measures, int]] = {}
    for record in _finished_episodes(paths):
        waiting = theirs.get((record.env, record.seed))
        if not waiting:
            raise InvalidOption(
                f"{other} has no episode of {record.env} with seed {record.seed} to compare with; "
                "play both runs with the same seeds"
            )
        before, now = waiting.pop(0), measure(record)
        measures, pairs = found.get(record.env, (Measures(differences=True), 0))
        measures.add({name: now[name] - before[name] for name in now if name in before})
        found[record.env] = measures, pairs + 1
    return found


def _finished_episodes(paths: list[Path]) -> Iterator[EpisodeRecord]:
    """The finished episodes of files of records, or of folders that a run wrote."""
    some = False
    for path in paths:
        file = path / FINISHED if path.is_dir() else path
        if not file.exists():
            raise InvalidOption(
                f"{file} does not exist; name a file of records, or a folder that palestra play "
                "wrote"
            )
        for record in iter_records(file):
            if not record.error:
                some = True
                yield record
    if not some:
        raise InvalidOption(f"no finished episode in {', '.join(map(str, paths))}")


def measures_table(measures: Measures, confidence: float = 0.95) -> Table:
    """Every measure with its mean, its interval, and in how many episodes it was measured."""
    made = table("measure", "mean", f"{confidence:.4g} interval", "unit", "episodes")
    for row in measures.rows(confidence):
        made.add_row(*row)
    return made


def explanations(measures: Measures) -> Table:
    """What every measure means, where it lies, and whether more or less of it is better."""
    made = table("measure", "range", "better", "meaning")
    for name in dict.fromkeys(name.partition(":")[0] for name in sorted(measures.samples)):
        if spec := metric_of(name):
            made.add_row(name, range_text(spec.bounds), spec.better or "-", spec.summary)
    return made


def range_text(bounds: tuple[float | None, float | None]) -> str:
    """The bounds of a metric in words: "0 to 1", "from 0", "any number"."""
    low, high = bounds
    if low is None:
        return "any number" if high is None else f"up to {high:g}"
    return f"from {low:g}" if high is None else f"{low:g} to {high:g}"
