"""`palestra check`: the conformance kit's verdict on an environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from palestra.cli.arguments import read_options
from palestra.cli.listing import EnvId, table
from palestra.kernel.registry import registry
from palestra.quoting import printable

COLOURS = {"passed": "green", "failed": "red", "skipped": "yellow"}


def check_command(
    env: EnvId,
    option: Annotated[list[str] | None, typer.Option("--option", "-o", help="name=value")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Run only this check.")] = None,
    golden: Annotated[Path | None, typer.Option(help="Folder of golden transcripts.")] = None,
    rewrite: Annotated[bool, typer.Option(help="Write the golden transcript again.")] = False,
) -> None:
    """Run the conformance kit; exit code 1 if anything fails."""
    from palestra.testing import CHECKS, Subject, run_check
    from palestra.testing.golden import write_golden

    spec = registry().environment(env)
    subject = Subject(spec, read_options(option or []), golden)
    console = Console()
    if golden is not None:
        path, wrote = write_golden(subject, rewrite=rewrite)
        if wrote:
            console.print(f"wrote {path}; read it before you commit it", soft_wrap=True)
    rows = table("check", "verdict", "seconds", "detail")
    failed = 0
    with console.status(f"checking {spec.id}") as status:
        for name in only or CHECKS:
            status.update(f"checking {spec.id}: {name}")
            verdict = run_check(subject, name)
            failed += verdict.status == "failed"
            cell = f"[{COLOURS[verdict.status]}]{verdict.status}[/]"
            rows.add_row(name, cell, f"{verdict.seconds:.2f}", _plain(verdict.detail))
    console.print(rows)
    if failed:
        console.print(f"{spec.id}: {failed} check{'s' if failed > 1 else ''} failed", style="red")
        raise typer.Exit(1)
    console.print(f"{spec.id} conforms", style="green")


def _plain(text: str) -> str:
    """Text in which rich reads no markup."""
    return printable(text).replace("[", r"\[")
