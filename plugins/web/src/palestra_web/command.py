"""`palestra web`: check the browser, and play a site in your own browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from palestra import Episode, InvalidOption, PalestraError, record_episode, write_records
from palestra.agents.making import make_agent
from palestra.cli.arguments import read_options, split_agents
from palestra.kernel.registry import load_game, registry
from palestra.quoting import open_console
from rich.table import Table

if TYPE_CHECKING:
    from palestra_web.person import PersonSession

app = typer.Typer(help="Sites in a real browser.", no_args_is_help=True)


@app.command()
def doctor() -> None:
    """Check what the browser needs, and print how to install each missing component."""
    from palestra_web.chromium import INSTALL, PLACE, browser_path

    path = browser_path()
    remedy = "" if path else f"{INSTALL}, or set {PLACE}"
    rows = [_check("playwright", _find_playwright), ("chromium", path or "no", remedy)]
    if all(found != "no" for _, found, _ in rows):
        rows.append(_check("it starts", _start_browser))
    table = Table("part", "found", "what to do", box=None)
    for row in rows:
        table.add_row(*row)
    open_console().print(table)
    raise typer.Exit(int(any(found == "no" for _, found, _ in rows)))


def _check(part: str, attempt: Callable[[], str]) -> tuple[str, str, str]:
    """A row of the table: a component, what was found, and what to do if it is missing."""
    try:
        return part, attempt(), ""
    except PalestraError as error:
        message = str(error)
        return part, "no", message.partition("run: ")[2] or message


def _find_playwright() -> str:
    from palestra_web.chromium import playwright

    playwright()
    return "yes"


def _start_browser() -> str:
    """Start and stop the browser; returns its version and the seconds it took to start."""
    from palestra_web.chromium import Chromium

    started = time.monotonic()
    with Chromium() as browser:
        return f"{browser.version} in {time.monotonic() - started:.1f} s"


@app.command()
def serve(
    env: Annotated[str, typer.Argument(help="A site, as in web/Shop-v0.")],
    seat: Annotated[int, typer.Option(help="The number of the seat you take.")] = 0,
    opponents: Annotated[str, typer.Option(help="Agents of the other seats.")] = "random",
    seed: Annotated[int, typer.Option(help="The seed of the episode.")] = 0,
    port: Annotated[int, typer.Option(help="The port to serve at; 0 takes a free one.")] = 0,
    out: Annotated[Path, typer.Option(help="The file to write the record to.")] = Path(
        "episode.jsonl"
    ),
    option: Annotated[list[str] | None, typer.Option("--option", "-o", help="name=value")] = None,
) -> None:
    """Play a site in your own browser; the record is written at the end."""
    from palestra_web.person import PersonSession

    spec = registry().environment(env)
    game = load_game(spec, read_options(option or []))
    if not 0 <= seat < game.num_players:
        raise InvalidOption(f"seat must be from 0 to {game.num_players - 1}, not {seat}")
    names = split_agents(opponents) or ["random"]
    others = [n for n in range(game.num_players) if n != seat]
    agents = {n: make_agent(names[i % len(names)]) for i, n in enumerate(others)}
    episode = Episode(game, seed, spec=spec)
    _serve_until_over(PersonSession(episode, seat, agents), port)
    write_records(out, [record_episode(episode)])
    _print_line(f"record  {out}")


def _serve_until_over(session: PersonSession, port: int) -> None:
    """Serve a session until its episode ends or Ctrl-C truncates it."""
    from palestra_web.server import Server

    with Server(port) as server:
        _print_line(f"play at {server.enter(session)}")
        try:
            while not session.episode.over:
                time.sleep(0.2)
            time.sleep(1.0)  # for the last page to reach the browser
        except KeyboardInterrupt:
            session.episode.truncate("stopped")


def _print_line(text: str) -> None:
    open_console().print(text, soft_wrap=True, highlight=False)
