"""`palestra optimise-agent`: search for a workflow that plays an environment better."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
from pathlib import Path
from typing import Annotated, Any

import typer
from palestra import InvalidOption, UnknownName, open_model
from palestra.cli.arguments import read_options, split_agents
from palestra.kernel.game import Game
from palestra.kernel.naming import construct
from palestra.kernel.registry import open_game
from palestra.quoting import open_console
from palestra.records.intervals import Interval
from palestra.records.record import options_of
from rich.console import Console

from palestra_adapters import optimisers
from palestra_adapters.optimisers.run import BEST, Comparison, Optimiser, SearchPlan, Stage
from palestra_adapters.optimisers.search import Search
from palestra_adapters.workflows.steps import answered_once, read_workflow


def searches() -> dict[str, type[Search]]:
    """All searches by name: the subclasses of `Search` in this folder."""
    found = {}
    for module in pkgutil.iter_modules(optimisers.__path__, f"{optimisers.__name__}."):
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(kind, Search) and kind is not Search:
                found[kind.name] = kind
    return dict(sorted(found.items()))


def make_search(text: str) -> tuple[str, dict[str, Any], Search]:
    """A search from `name` or `name:option=value,…`; the name, its options and the search."""
    name, _, rest = text.partition(":")
    known = searches()
    if name not in known:
        raise UnknownName("search", name, list(known))
    settings = read_options(rest.split(",") if rest else [])
    made: Search = construct(known[name], f"search {name!r}", settings)
    return name, settings, made


def read_budget(text: str) -> dict[str, float]:
    """`calls=500,episodes=100` as numbers by unit."""
    try:
        pairs = [part.split("=") for part in text.split(",") if part]
        return {unit.strip(): float(limit) for unit, limit in pairs}
    except ValueError as error:
        raise InvalidOption(f"--budget {text}: write it as calls=500,episodes=100") from error


def optimise_command(
    env: Annotated[str, typer.Argument(help="The environment's id.")],
    out: Annotated[Path, typer.Option(help="Folder for the log, the archive and the workflow.")],
    model: Annotated[str, typer.Option(help="The model that plays, as in local: or vllm:NAME.")],
    search: Annotated[
        str, typer.Option(help="A search, as in adas or adas:generations=5.")
    ] = "adas",
    proposer: Annotated[
        str, typer.Option(help="The model that proposes; by default --model.")
    ] = "",
    budget: Annotated[
        str, typer.Option(help="Limits of the search: calls, tokens, money, episodes.")
    ] = "episodes=500",
    start: Annotated[Path | None, typer.Option(help="A workflow to begin with.")] = None,
    opponents: Annotated[
        str, typer.Option(help="The other seats; by default random, or the workflow in a team.")
    ] = "",
    seat: Annotated[int, typer.Option(min=0, help="The seat that is optimised.")] = 0,
    train: Annotated[int, typer.Option(min=1, help="Training seeds of a workflow.")] = 20,
    held_out: Annotated[int, typer.Option(min=2, help="Seeds of the final comparison.")] = 50,
    seed: Annotated[int, typer.Option(help="For the search's random numbers.")] = 0,
    option: Annotated[list[str] | None, typer.Option("--option", "-o", help="name=value")] = None,
    agent: Annotated[
        list[str] | None, typer.Option("--agent-option", help="name=value for the player")
    ] = None,
    resume: Annotated[bool, typer.Option(help="Continue the search in --out.")] = False,
    other_versions: Annotated[
        bool, typer.Option("--other-versions", help="Resume a search of other versions.")
    ] = False,
) -> None:
    """Search for a workflow that plays better; compare it with the first one on held-out seeds."""
    name, settings, made = make_search(search)
    spec, game = open_game(env, read_options(option or []))
    seats = seat_opponents(game, opponents, seat)
    player, writer = open_model(model), open_model(proposer or model)
    stage = Stage(game, spec, player, seats, seat, seed, read_options(agent or []))
    plan = SearchPlan(
        env=env,
        options=options_of(game),
        search=name,
        settings=settings,
        model=model,
        proposer=proposer or model,
        opponents=tuple(seats),
        seat=seat,
        seed=seed,
        train=train,
        held_out=held_out,
        start=read_workflow(start) if start else answered_once(),
        agent=dict(stage.agent_settings),
    )
    console = open_console()
    run = Optimiser(
        made,
        stage,
        proposer=writer,
        plan=plan,
        folder=out,
        budget=read_budget(budget),
        resume=resume,
        other_versions=other_versions,
    )
    try:
        result = run.run(lambda line: console.print(line, markup=False, highlight=False))
    except KeyboardInterrupt:
        console.print(f"stopped; continue with --resume --out {out}", soft_wrap=True)
        raise typer.Exit(130) from None
    finally:
        for opened in {id(player): player, id(writer): writer}.values():
            opened.close()
    report(console, result, out)


def seat_opponents(game: Game[Any, Any], opponents: str, seat: int) -> list[str]:
    """One agent for each other seat; none where the workflow plays all seats."""
    others = game.num_players - 1
    if not 0 <= seat < game.num_players:
        raise InvalidOption(f"seat must be from 0 to {game.num_players - 1}, not {seat}")
    if not others or (not opponents and game.payoffs == "common"):
        return []
    names = split_agents(opponents or "random")
    if len(names) not in (1, others):
        raise InvalidOption(f"{others} seats need {others} opponents, or one for all; got {names}")
    return names * others if len(names) == 1 else names


def report(console: Console, result: Comparison, out: Path) -> None:
    """Print what was found, and what it cost."""

    def line(what: str, found: Interval) -> None:
        between = f"{found.low:.3f} to {found.high:.3f}"
        if math.isnan(found.low):
            between = "–: all are alike, which bounds nothing"
        text = f"{what:<8}{found.value:.3f} ({between})"
        console.print(text, highlight=False)

    console.print("On held-out seeds, with 95 % intervals:")
    line("start", result.start)
    line("found", result.best)
    line("gain", result.gain)
    spent = result.spent
    console.print(
        f"{result.variants} variants, {result.episodes} episodes, {spent.calls} calls, "
        f"{spent.tokens} tokens; the comparison took {result.tested.calls} calls",
        highlight=False,
        soft_wrap=True,
    )
    console.print(f"workflow {out / BEST}", soft_wrap=True, highlight=False)
    console.print(f"play it with --agents workflow:{out / BEST}", soft_wrap=True, highlight=False)
