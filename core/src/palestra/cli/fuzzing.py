"""`palestra fuzz`: look for inputs that break an environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from palestra.cli.listing import EnvId
from palestra.quoting import open_console, printable

FOLDER = "fuzz-findings"


def fuzz_command(
    env: EnvId,
    minutes: Annotated[float, typer.Option(help="How long to look.")] = 5.0,
    seed: Annotated[int, typer.Option(help="The same seed draws the same cases.")] = 0,
    what: Annotated[
        str, typer.Option(help="Which kinds of cases.")
    ] = "options,actions,texts,faults",
    out: Annotated[Path, typer.Option(help="Folder for findings.jsonl.")] = Path(FOLDER),
    seconds: Annotated[float, typer.Option(help="Processor time that one case may take.")] = 20.0,
    megabytes: Annotated[int, typer.Option(help="Memory that one case may take.")] = 2_000,
) -> None:
    """Try random options, hostile actions and texts, and failing agents; exit 1 on any finding.

    Findings are shrunk and written to findings.jsonl as they are found; each is printed as a test.
    """
    from palestra.testing.fuzzing import Finding, fuzz, snippet

    console = open_console(stderr=True)

    def show(finding: Finding) -> None:
        console.print(f"case {finding.number}: {printable(finding.problem)[:500]}", markup=False)
        typer.echo(snippet(finding) + "\n")

    kinds = [kind.strip() for kind in what.split(",") if kind.strip()]
    with console.status(f"fuzzing {env}, seed {seed}") as status:

        def progress(tried: int, findings: int, kind: str) -> None:
            said = f"fuzzing {env}, seed {seed}: {tried} cases, {findings} findings ({kind})"
            if tried % 10 == 0:
                status.update(said)

        findings = fuzz(
            env,
            minutes=minutes,
            seed=seed,
            what=kinds,
            out=out,
            seconds=seconds,
            megabytes=megabytes,
            progress=progress,
            found=show,
        )
    if findings:
        console.print(f"{env}: {len(findings)} findings, in {out / 'findings.jsonl'}", style="red")
        raise typer.Exit(1)
    console.print(f"{env}: nothing found", style="green")
