"""`palestra rewards`: every installed shaper and estimator, and the table in the documentation."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from typing import Annotated

import typer
from palestra.cli.entries import (
    AsJson,
    Columns,
    Long,
    Search,
    check_value,
    no_match,
    print_entries,
)
from palestra.kernel.registry import registry
from palestra.kernel.specs import RewardShape

from palestra_rewards.entries import Entry, entries
from palestra_rewards.pages import replace_part

SHAPES: tuple[RewardShape, ...] = ("step", "episode", "group")
START, END = "<!-- table -->", "<!-- end of table -->"


def rewards_command(
    kind: Annotated[
        str | None, typer.Option("--kind", "--shape", help="step, episode or group.")
    ] = None,
    needs: Annotated[str | None, typer.Option(help="Only those with this need.")] = None,
    search: Search = None,
    long: Long = False,
    as_json: AsJson = False,
    write: Annotated[Path | None, typer.Option(help="Write the table into this page.")] = None,
) -> None:
    """List reward shapers and estimators with their kind."""
    if write is not None:
        write.write_text(with_table(write.read_text("utf-8")), "utf-8")
        typer.echo(f"wrote {len(entries())} rows to {write}")
        return
    installed = [spec for _, spec in sorted(registry().rewards.items())]
    check_value("kind", kind, SHAPES)
    check_value("need", needs, {need for spec in installed for need in spec.needs})
    found = [
        spec
        for spec in installed
        if kind in (None, spec.shape) and (needs is None or needs in spec.needs)
    ]
    filters = {"--kind": kind, "--needs": needs, "--search": search}
    print_entries(
        *(found, search, REWARD, MORE_OF_REWARD),
        as_json=as_json,
        long=long,
        nothing=no_match("reward", filters, "kinds", SHAPES),
    )


REWARD: Columns = {"reward": attrgetter("name"), "kind": attrgetter("shape")}
MORE_OF_REWARD: Columns = {
    "needs": lambda spec: ", ".join(spec.needs),
    "options": lambda spec: ", ".join(option.name for option in spec.options),
    "paper": attrgetter("paper"),
}


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
