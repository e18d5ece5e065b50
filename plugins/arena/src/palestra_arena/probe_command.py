"""`palestra probe`: ask a model the questions of an evaluation, with the order of options swapped."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any

import typer
from palestra import InvalidOption
from palestra.cli.arguments import read_options, split_agents
from palestra.files import write_text
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

RESULT, PAGE = "probe.json", "probe.html"


def probe_command(
    probes: Annotated[
        str, typer.Argument(help="An evaluation, or a JSON file with a probe set.")
    ] = "",
    model: Annotated[
        str, typer.Option(help="Agents, as in llm:vllm:NAME,temperature=1,random.")
    ] = "",
    out: Annotated[Path | None, typer.Option(help="Folder for answers and the result.")] = None,
    samples: Annotated[
        int, typer.Option(min=1, help="Answers to each question, in each order of its options.")
    ] = 1,
    arms: Annotated[str, typer.Option(help="Comma-separated; default: all of the set.")] = "",
    option: Annotated[
        list[str] | None, typer.Option("--option", "-o", help="name=value, of the evaluation.")
    ] = None,
    invalid: Annotated[str, typer.Option(help="Policy for answers that cannot be read.")] = "forfeit",
    confidence: Annotated[float, typer.Option(help="Of intervals.")] = 0.95,
    resume: Annotated[bool, typer.Option(help="Ask only what is missing in --out.")] = False,
    show: Annotated[bool, typer.Option(help="Print the questions and ask nobody.")] = False,
    write: Annotated[Path | None, typer.Option(help="Write the set as JSON, to edit it.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the evaluations.")] = False,
) -> None:
    """Ask agents the questions of an evaluation and print its tables, one after another."""
    console = Console()
    if listed or not probes:
        console.print(evaluations_table())
        return
    asked = open_set(probes, read_options(option or []))
    if write is not None:
        from palestra_arena.probes import write_set

        console.print(f"wrote   {write_set(asked, write)}", soft_wrap=True, highlight=False)
        return
    if show:
        print_questions(console, asked)
        return
    if not model:
        raise InvalidOption("say who is asked: --model llm:vllm:NAME (or --show the questions)")
    results = []
    for agent in split_agents(model):
        tables = _probe(console, asked, agent, out, samples, arms, invalid, resume, confidence)
        if tables is None:
            return
        results.append((agent, tables))
        console.print(Text(f"\n{asked.name}, {agent}", style="bold"))
        for table in tables:
            print_table(console, table)
    if out is not None:
        write_results(console, out, asked, results)


def open_set(name: str, options: dict[str, Any]) -> Any:
    """The set of an evaluation by name, or of a file that ends in .json."""
    from palestra_arena.evaluations import evaluation
    from palestra_arena.probes import read_set

    if name.endswith(".json"):
        if options:
            raise InvalidOption(f"{name} is a file, which takes no options {sorted(options)}")
        return read_set(name)
    found = evaluation(name)
    try:
        return found.probes(**options)
    except TypeError as error:
        raise InvalidOption(f"{name} does not take these options: {error}") from error


def _probe(
    console: Console,
    asked: Any,
    agent: str,
    out: Path | None,
    samples: int,
    arms: str,
    invalid: str,
    resume: bool,
    confidence: float,
) -> list[Any] | None:
    """The tables of one agent; None if the run was stopped."""
    from palestra_arena.evaluations import named_after
    from palestra_arena.probes import ask, overview

    folder = None if out is None else out / folder_name(agent)
    try:
        with Progress(console=console, transient=True) as bar:
            task = bar.add_task(agent, total=None)
            answers = ask(
                asked,
                agent,
                folder,
                samples=samples,
                arms=tuple(filter(None, arms.split(","))),
                invalid=invalid,
                resume=resume and folder is not None and folder.exists(),
                progress=lambda over, total: bar.update(task, completed=over, total=total),
            )
    except KeyboardInterrupt:
        again = f"ask the rest with --resume --out {out}" if out else "nothing was kept: give --out"
        console.print(f"Stopped; {again}.", soft_wrap=True, highlight=False)
        return None
    analyse = named_after(asked)
    found = list(analyse(answers, confidence=confidence)) if analyse else []
    return [overview(answers, confidence=confidence), *found]


def folder_name(agent: str) -> str:
    """A folder for an agent's answers; different agents have different ones."""
    digest = blake2b(agent.encode(), digest_size=3).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', agent).strip('-')[:60]}-{digest}"


def evaluations_table() -> Table:
    """Every evaluation and what it is."""
    from palestra_arena.evaluations import evaluation, names

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("evaluation", no_wrap=True)
    table.add_column("what it asks")
    for name in names():
        table.add_row(name, evaluation(name).summary.partition(": ")[2])
    return table


def print_questions(console: Console, asked: Any) -> None:
    """Every item once as a respondent reads it, after the system prompts of the arms."""
    from palestra_arena.probes import questions_of
    from palestra_arena.probes.items import orders_of

    for arm, system in asked.arms.items():
        if system:
            console.print(f"[system prompt of arm {arm}]\n{system}\n", markup=False)
    for question in questions_of(asked.items):
        if question.order == orders_of(question.item)[0]:
            console.rule(question.item.id)
            console.print(question.text, markup=False, highlight=False, soft_wrap=True)


def print_table(console: Console, table: Any) -> None:
    """One table and how to read it."""
    from palestra_arena.probes.tables import written_rows

    shown = Table(box=None, pad_edge=False, header_style="bold", title=table.title)
    shown.title_justify = "left"
    for number, name in enumerate(table.columns):
        shown.add_column(name, justify="right" if number else "left")
    for row in written_rows(table):
        shown.add_row(*map(Text, row))
    console.print(shown)
    if table.note:
        console.print(table.note, style="dim", markup=False, highlight=False)


def write_results(
    console: Console, out: Path, asked: Any, results: Sequence[tuple[str, Sequence[Any]]]
) -> None:
    """Write the tables of all agents as JSON and as one page."""
    from palestra import __version__
    from palestra.html import render_page

    from palestra_arena.probes.tables import written_rows

    body = {
        "set": asked.name,
        "digest": asked.digest,
        "agents": {agent: [table.as_data() for table in tables] for agent, tables in results},
    }
    shown = [
        (agent, [(table, written_rows(table)) for table in tables]) for agent, tables in results
    ]
    page = render_page("palestra_arena", PAGE, asked=asked, results=shown, version=__version__)
    for name, text in ((RESULT, json.dumps(body, indent=2)), (PAGE, page)):
        console.print(f"wrote   {write_text(out / name, text)}", soft_wrap=True, highlight=False)
