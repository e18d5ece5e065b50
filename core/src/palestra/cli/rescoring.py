"""`palestra rescore`: old records under the current parsers, rules and metrics."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from palestra.cli.listing import table
from palestra.files import whole_folder
from palestra.kernel.errors import InvalidOption
from palestra.quoting import open_console
from palestra.records.record import iter_records, write_records
from palestra.records.rescore import Totals, rescore_all
from palestra.runner.run_folder import FINISHED, PLAN

CHANGES = "changes.jsonl"
SHOWN = 40  # changes that are printed


def rescore_command(
    run: Annotated[Path, typer.Argument(help="A folder that palestra play wrote, or its records.")],
    out: Annotated[
        Path | None, typer.Option(help="The new folder; by default RUN-rescored.")
    ] = None,
    forfeit: Annotated[
        bool, typer.Option(help="Answers refused now lose; by default the episode is cut there.")
    ] = False,
) -> None:
    """Parse old answers again, recompute what follows, and report what changed and why."""
    run = run.parent if run.name == FINISHED else run  # the path that palestra play prints
    source = run / FINISHED
    if not source.exists():
        raise InvalidOption(f"{run} holds no {FINISHED}; name a folder that palestra play wrote")
    target = out or run.with_name(f"{run.name}-rescored")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidOption(f"{target} exists already; choose another folder with --out")
    console, totals, shown = open_console(), Totals(), 0
    with whole_folder(target) as draft, (draft / CHANGES).open("wb") as changes:
        if (run / PLAN).exists():
            shutil.copyfile(run / PLAN, draft / PLAN)
        for found in rescore_all(iter_records(source), totals, forfeit=forfeit):
            write_records(draft / FINISHED, [found.record])
            for change in found.changes:
                changes.write(msgspec.json.encode(change) + b"\n")
                shown += 1
                if shown <= SHOWN:
                    console.print(str(change), markup=False, highlight=False, soft_wrap=True)
    if shown > SHOWN:
        console.print(f"… and {shown - SHOWN} more in {target / CHANGES}", soft_wrap=True)
    _report(console, totals)
    console.print(f"wrote   {target}", soft_wrap=True, highlight=False)


def _report(console: Console, totals: Totals) -> None:
    """Print counts, then every metric before and after."""
    kinds = ", ".join(f"{count} {what}" for what, count in sorted(totals.changes.items()))
    console.print(
        f"{totals.episodes} episodes, {totals.cut} of them end where an answer or a move is taken "
        f"otherwise now; changes: {kinds or 'none'}",
        highlight=False,
        soft_wrap=True,
    )
    rows = table("metric", "then", "now")
    for name, old, new in totals.metrics():
        rows.add_row(name, f"{old:.4g}", f"{new:.4g}")
    if rows.row_count:
        console.print(rows)
