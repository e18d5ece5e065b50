"""`palestra check`: the conformance kit's verdict on an environment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from palestra.cli.arguments import read_options
from palestra.cli.listing import EnvId, table
from palestra.kernel.registry import registry
from palestra.quoting import open_console, printable

if TYPE_CHECKING:
    from palestra.testing import Subject, Verdict

COLOURS = {"passed": "green", "failed": "red", "skipped": "yellow"}
GOLDEN = "matches_golden_transcript"


def check_command(
    env: EnvId,
    option: Annotated[list[str] | None, typer.Option("--option", "-o", help="name=value")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Run only this check.")] = None,
    golden: Annotated[Path | None, typer.Option(help="Folder of golden transcripts.")] = None,
    rewrite: Annotated[bool, typer.Option(help="Write the golden transcript again.")] = False,
) -> None:
    """Run the conformance kit; exit code 1 if anything fails.

    With --golden, a game that passes all other checks gets its golden transcript if it has none.
    """
    from palestra.testing import CHECKS, Subject, run_check

    subject = Subject(registry().environment(env), read_options(option or []), golden)
    console = open_console()
    verdicts: list[Verdict] = []
    with console.status(f"checking {subject.spec.id}") as status:
        for name in only or CHECKS:
            status.update(f"checking {subject.spec.id}: {name}")
            if name == GOLDEN and golden is not None:
                _write_golden(console, subject, rewrite, verdicts)
            verdicts.append(run_check(subject, name))
    _print_verdicts(console, verdicts)
    failed = sum(verdict.status == "failed" for verdict in verdicts)
    if failed:
        named = f"{failed} check{'s' if failed > 1 else ''} failed"
        console.print(f"{subject.spec.id}: {named}", style="red")
        raise typer.Exit(1)
    console.print(f"{subject.spec.id} conforms", style="green")


def _write_golden(
    console: Console, subject: Subject, rewrite: bool, verdicts: Sequence[Verdict]
) -> None:
    """Write the transcript of a game that has passed so far, if it is missing or to be renewed."""
    from palestra.testing.golden import golden_path, write_golden

    if any(verdict.status == "failed" for verdict in verdicts):
        if rewrite or not golden_path(subject).exists():
            said = "no golden transcript is written until the other checks pass"
            console.print(said, style="yellow")
        return
    path, wrote = write_golden(subject, rewrite=rewrite)
    if wrote:
        console.print(f"wrote {path}; read it before you commit it", soft_wrap=True)


def _print_verdicts(console: Console, verdicts: Sequence[Verdict]) -> None:
    """A table of all checks, then each cause of failure once and in full."""
    rows = table("check", "verdict", "seconds", "detail")
    for verdict in verdicts:
        detail = verdict.detail if verdict.status == "skipped" else "see below"
        if verdict.same_as:
            detail = f"as {verdict.same_as}"
        if verdict.status == "passed":
            detail = ""
        cell = f"[{COLOURS[verdict.status]}]{verdict.status}[/]"
        rows.add_row(verdict.check, cell, f"{verdict.seconds:.2f}", _plain(detail))
    console.print(rows)
    for verdict in verdicts:
        if verdict.status == "failed" and not verdict.same_as:
            said = f"\n[red]{verdict.check}[/]\n{_plain(verdict.detail)}"
            console.print(said, soft_wrap=True, highlight=False)


def _plain(text: str) -> str:
    """Text in which rich reads no markup."""
    return printable(text).replace("[", r"\[")
