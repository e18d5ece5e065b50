"""`palestra rewards`: every installed shaper and estimator, and the table in the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from palestra import InvalidOption
from palestra.kernel.registry import registry
from palestra.kernel.specs import RewardShape
from rich.console import Console
from rich.table import Table

from palestra_rewards.entries import Entry, entries
from palestra_rewards.pages import replace_part

SHAPES: tuple[RewardShape, ...] = ("step", "episode", "group")
START, END = "<!-- table -->", "<!-- end of table -->"


def rewards_command(
    shape: Annotated[str | None, typer.Option(help="step, episode or group.")] = None,
    needs: Annotated[str | None, typer.Option(help="Only those with this need.")] = None,
    write: Annotated[Path | None, typer.Option(help="Write the table into this page.")] = None,
) -> None:
    """List reward shapers and estimators with their shape, needs and paper."""
    if shape is not None and shape not in SHAPES:
        raise InvalidOption(f"shape must be one of {', '.join(SHAPES)}, not {shape!r}")
    if write is not None:
        write.write_text(with_table(write.read_text("utf-8")), "utf-8")
        typer.echo(f"wrote {len(entries())} rows to {write}")
        return
    rows = Table(box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(("reward", "shape", "needs", "summary", "paper")):
        rows.add_column(column, no_wrap=number == 0, overflow="fold")
    for name, spec in registry().rewards.items():
        if shape in (None, spec.shape) and (needs is None or needs in spec.needs):
            rows.add_row(name, spec.shape, ", ".join(spec.needs), spec.summary, spec.paper)
    Console().print(rows)


def with_table(page: str) -> str:
    """A page with the table between its marks regenerated."""
    return replace_part(page, (START, END), markdown())


def markdown() -> str:
    """The entries of this package as Markdown tables, one for each shape."""
    return "".join(_section(shape) for shape in SHAPES if entries(shape))


def _section(shape: RewardShape) -> str:
    title = {"step": "Step shapers", "episode": "Episode shapers", "group": "Group estimators"}
    lines = [
        f"### {title[shape]}\n",
        "| name | what it does | needs | paper | check | cost |",
        "|---|---|---|---|---|---|",
        *(_row(entry) for entry in entries(shape)),
    ]
    return "\n".join(lines) + "\n\n"


def _row(entry: Entry) -> str:
    onto = f" Re-weights another; `{entry.onto}` by default." if entry.onto else ""
    needs = ", ".join(entry.needs) or "—"
    check = entry.check.removeprefix("test_").replace("_", " ")
    return (
        f"| `{entry.name}` | {entry.summary}{onto} | {needs} | {entry.paper} | {check} "
        f"| {entry.cost} |"
    )
