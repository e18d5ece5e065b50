"""`palestra web`: what a browser needs, and a site to play in one's own browser."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from palestra import record_episode, write_records
from palestra.agents.making import make_agent
from palestra.cli.arguments import read_options, split_agents
from palestra.kernel.registry import load_game, registry
from rich.console import Console
from rich.table import Table

app = typer.Typer(help="Sites in a real browser.", no_args_is_help=True)


@app.command()
def doctor() -> None:
    """Say what the browser needs and what is missing, with the line that installs it."""
    from palestra import PalestraError

    from palestra_web.chromium import INSTALL, PLACE, Chromium, browser_path, playwright

    table = Table("part", "found", "what to do", box=None)
    missing = False
    try:
        playwright()
        table.add_row("playwright", "yes", "")
    except PalestraError as error:
        missing = True
        table.add_row("playwright", "no", str(error).partition("run: ")[2])
    path = browser_path()
    table.add_row("chromium", path or "no", "" if path else f"{INSTALL}, or set {PLACE}")
    missing |= path is None
    if not missing:
        started = time.monotonic()
        try:
            with Chromium() as browser:
                took = f"{browser.version} in {time.monotonic() - started:.1f} s"
            table.add_row("it starts", took, "")
        except PalestraError as error:
            missing = True
            table.add_row("it starts", "no", str(error))
    Console().print(table)
    raise typer.Exit(int(missing))


@app.command()
def serve(
    env: Annotated[str, typer.Argument(help="A site, as in web/Shop-v0.")],
    seat: Annotated[int, typer.Option(help="The seat you take.")] = 0,
    opponents: Annotated[str, typer.Option(help="Agents of the other seats.")] = "random",
    seed: Annotated[int, typer.Option(help="Which episode.")] = 0,
    port: Annotated[int, typer.Option(help="0 takes a free one.")] = 0,
    out: Annotated[Path, typer.Option(help="File for the record.")] = Path("episode.jsonl"),
    option: Annotated[list[str] | None, typer.Option("--option", "-o", help="name=value")] = None,
) -> None:
    """Take a seat on a site in your own browser; the record is written when you are done."""
    from palestra import Episode, InvalidOption

    from palestra_web.person import PersonSession
    from palestra_web.server import Server

    spec = registry().environment(env)
    game = load_game(spec, read_options(option or []))
    if not 0 <= seat < game.num_players:
        raise InvalidOption(f"seat must be from 0 to {game.num_players - 1}, not {seat}")
    names = split_agents(opponents) or ["random"]
    others = [n for n in range(game.num_players) if n != seat]
    agents = {n: make_agent(names[i % len(names)]) for i, n in enumerate(others)}
    episode = Episode(game, seed, spec=spec)
    session = PersonSession(episode, seat, agents)
    console = Console()
    with Server(port) as server:
        console.print(f"play at {server.enter(session)}", soft_wrap=True, highlight=False)
        try:
            while not episode.over:
                time.sleep(0.2)
            time.sleep(1.0)  # for the last page to reach the browser
        except KeyboardInterrupt:
            episode.truncate("stopped")
    write_records(out, [record_episode(episode)])
    console.print(f"record  {out}", soft_wrap=True, highlight=False)
