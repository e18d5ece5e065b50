"""`palestra compile`: compile the rules of array games ahead of their first use."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.progress import Progress

from palestra.cli.arguments import complete_id, read_options
from palestra.engine.compiled import cache_folder, compile_ahead
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.errors import PalestraError
from palestra.kernel.registry import load_game, registry
from palestra.quoting import open_console, printable

ENTRIES = "functions"  # what a driver's entry points are called on the screen


@dataclass(frozen=True, slots=True)
class CompileResult:
    """What became of one game: functions compiled and found, seconds, or what went wrong."""

    env_id: str
    made: int = 0
    found: int = 0
    seconds: float = 0.0
    error: str = ""

    def __str__(self) -> str:
        if self.error:
            return f"{self.env_id}: {self.error}"
        if not self.made:
            return f"{self.env_id}: compiled already ({self.found} {ENTRIES})"
        kept = f", {self.found} were there" if self.found else ""
        return f"{self.env_id}: {self.made} {ENTRIES} compiled in {self.seconds:.1f} s{kept}"


def compile_command(
    ids: Annotated[
        list[str] | None,
        typer.Argument(help="Environments; all array games if none.", autocompletion=complete_id),
    ] = None,
    option: Annotated[list[str] | None, typer.Option("--option", "-o", help="name=value")] = None,
    jobs: Annotated[
        int, typer.Option(min=0, help="Processes at once; 0 means one for each core.")
    ] = 0,
) -> None:
    """Compile rules into the cache, so that no later process waits; exit code 1 if any fail.

    Every set of options is compiled for itself. The cache is PALESTRA_CACHE, or the user's cache
    folder; it can be part of a container image, for machines with the same processor.
    """
    options = read_options(option or [])
    chosen = [registry().environment(name).id for name in ids or []] or array_games(options)
    console = open_console()
    started, failed = perf_counter(), 0
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("compiling", total=len(chosen))
        for result in compiled_games(chosen, options, jobs or os.cpu_count() or 1):
            failed += bool(result.error)
            style = "red" if result.error else None
            progress.console.print(printable(str(result)), style=style, markup=False)
            progress.advance(bar)
    spent = perf_counter() - started
    ready = len(chosen) - failed
    said = f"{ready} game{'s' if ready != 1 else ''} ready after {spent:.1f} s, in {cache_folder()}"
    console.print(said, soft_wrap=True, highlight=False, markup=False)
    if failed:
        raise typer.Exit(1)


def array_games(options: dict[str, Any]) -> list[str]:
    """The ids of all installed array games that take these options."""
    found = []
    for env_id, spec in registry().environments.items():
        try:
            if isinstance(load_game(spec, options), ArrayGame):
                found.append(env_id)
        except PalestraError:  # has no such option, or lacks an extra: not asked for by name
            continue
    return sorted(found)


def compiled_games(ids: list[str], options: dict[str, Any], jobs: int) -> Iterator[CompileResult]:
    """Compile games, several at once in processes of their own; results as they come."""
    jobs = min(jobs, len(ids))
    if jobs <= 1:
        yield from (compile_one(env_id, options) for env_id in ids)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        started: list[Future[CompileResult]] = [pool.submit(compile_one, i, options) for i in ids]
        yield from (future.result() for future in as_completed(started))


def compile_one(env_id: str, options: dict[str, Any]) -> CompileResult:
    """Compile one game with these options in this process."""
    started = perf_counter()
    try:
        game = load_game(registry().environment(env_id), options)
        if not isinstance(game, ArrayGame):
            return CompileResult(env_id, error="is no array game: it has nothing to compile")
        made, found = compile_ahead(game)
    except PalestraError as error:
        return CompileResult(env_id, error=str(error))
    return CompileResult(env_id, made, found, perf_counter() - started)
