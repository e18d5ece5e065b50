"""`palestra probe`: ask agents the questions of an evaluation, options in every order."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any

import typer
from palestra import InvalidOption
from palestra.cli.arguments import read_options, split_agents
from palestra.files import write_text
from palestra.quoting import open_console
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
    judge: Annotated[
        str, typer.Option(help="Agents that judge free replies, where the evaluation needs it.")
    ] = "",
    out: Annotated[Path | None, typer.Option(help="Folder for answers and the result.")] = None,
    samples: Annotated[
        int, typer.Option(min=1, help="Answers to each question, in each order of its options.")
    ] = 1,
    arms: Annotated[str, typer.Option(help="Comma-separated; default: all of the set.")] = "",
    option: Annotated[
        list[str] | None, typer.Option("--option", "-o", help="name=value, of the evaluation.")
    ] = None,
    invalid: Annotated[
        str, typer.Option(help="Policy for answers that cannot be read.")
    ] = "forfeit",
    live: Annotated[
        int, typer.Option(min=1, help="Questions asked side by side; a kill loses these at most.")
    ] = 64,
    confidence: Annotated[float, typer.Option(help="Of intervals.")] = 0.95,
    resume: Annotated[bool, typer.Option(help="Ask only what is missing in --out.")] = False,
    show: Annotated[bool, typer.Option(help="Print the questions and ask nobody.")] = False,
    write: Annotated[Path | None, typer.Option(help="Write the set as JSON, to edit it.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the evaluations.")] = False,
) -> None:
    """Ask agents the questions of an evaluation and print its tables, one after another."""
    console = open_console()
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
        folder = None if out is None else out / folder_name(agent)
        run = Run(console, agent, folder, invalid, live, resume)
        try:
            tables = run.tables(asked, samples, arms, judge, confidence)
        except KeyboardInterrupt:
            again = (
                f"Ask the rest with --resume --out {out}" if out else "Nothing was kept: give --out"
            )
            console.print(f"Stopped. {again}.", soft_wrap=True, highlight=False)
            raise typer.Exit(130) from None
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


@dataclass(frozen=True, slots=True)
class Run:
    """One agent being asked, with a bar that shows how far it is."""

    console: Console
    agent: str
    out: Path | None
    invalid: str
    live: int
    resume: bool

    def tables(
        self, asked: Any, samples: int, arms: str, judge: str, confidence: float
    ) -> list[Any]:
        """All tables of this agent; its judges are asked too."""
        from palestra_arena.evaluations import check_judges, tables_of

        check_judges(asked, judge)
        wanted = tuple(filter(None, arms.split(",")))
        answers = self.ask(asked, self.agent, self.out, samples=samples, arms=wanted)
        judges = {
            name: partial(
                self.ask, agent=name, out=self.out and self.out / f"judge-{folder_name(name)}"
            )
            for name in (split_agents(judge) if judge else ())
        }
        return tables_of(asked, answers, confidence=confidence, judges=judges)

    def ask(self, asked: Any, agent: str, out: Path | None, **settings: Any) -> Sequence[Any]:
        """The answers of one agent to one set."""
        from palestra_arena.probes import ask

        resume = self.resume and out is not None and out.exists()
        with Progress(console=self.console, transient=True) as bar:
            task = bar.add_task(agent, total=None)
            return ask(
                asked,
                agent,
                out,
                invalid=self.invalid,
                live=self.live,
                resume=resume,
                progress=lambda over, total: bar.update(task, completed=over, total=total),
                **settings,
            )


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
