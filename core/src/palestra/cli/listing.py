"""`palestra list`, `agents` and `plugins`: show what is installed."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from palestra.agents.fitting import unmet_needs
from palestra.catalogue.find import specs
from palestra.cli.arguments import complete_id
from palestra.kernel.errors import UnknownName
from palestra.kernel.registry import registry, where_from
from palestra.kernel.specs import AgentSpec, EnvSpec, OptionSpec
from palestra.records.metrics import metrics_for

EnvId = Annotated[
    str, typer.Argument(help="An id such as games/TicTacToe-v0.", autocompletion=complete_id)
]
ADVICE = 'No environments are installed; run: pip install "palestra[all]".'
LONGEST_VALUE = 40  # characters of a split's option that `palestra info` shows
FIRST_NAMES = 8  # of the agents that play any game


def table(*columns: str) -> Table:
    """A table whose first column is never wrapped."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        made.add_column(column, no_wrap=number == 0, overflow="fold")
    return made


def list_environments(
    family: Annotated[str | None, typer.Option(help="Only this family.")] = None,
    namespace: Annotated[str | None, typer.Option(help="Only this namespace.")] = None,
    players: Annotated[
        int | None, typer.Option(help="Only those with this number of players.")
    ] = None,
    moves: Annotated[str | None, typer.Option(help="sequential, simultaneous or phased.")] = None,
    pays: Annotated[str | None, typer.Option(help="zero-sum, common or general.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only those with this tag.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the installed environments."""
    found = specs(
        family=family,
        namespace=namespace,
        players=players,
        moves=moves,
        payoffs=pays,
        tags=tag or (),
    )
    if as_json:
        typer.echo(json.dumps([asdict(spec) for spec in found], indent=2))
        return
    if found:
        typer.echo("\n".join(spec_lines(found, Console().width)))
        return
    install = where_from("namespaces", namespace) if namespace else ""
    if not registry().environments:
        install = install or ADVICE
    else:
        for name, given in (("family", family), ("moves", moves), ("payoffs", pays)):
            check_filter(name, [given] if given else [])
        check_filter("tags", tag or [])
    typer.echo(f"Nothing installed matches. {install}".strip())


def spec_lines(found: Sequence[EnvSpec], width: int) -> list[str]:
    """A line for each environment; what does not fit the width is cut, never broken."""
    rows = [("id", "players", "moves", "payoffs", "what it is")] + [
        (s.id, seats_text(s), SHORT_MOVES.get(s.moves, s.moves), s.payoffs, s.summary)
        for s in found
    ]
    wide = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = []
    for row in rows:
        head = "  ".join(cell.ljust(w) for cell, w in zip(row, wide, strict=False))
        line = f"{head}  {row[-1]}"
        lines.append(line if len(line) <= width else f"{line[: width - 1]}…")
    return lines


SHORT_MOVES = {"sequential": "in turn", "simultaneous": "at once"}


def check_filter(name: str, given: Sequence[str]) -> None:
    """Raise `UnknownName` for a filter's value that no installed environment has."""
    known: set[str] = set()
    for spec in registry().environments.values():
        value = getattr(spec, name)
        known |= set(value) if name == "tags" else {value}
    for one in given:
        if one not in known:
            raise UnknownName(
                name.removesuffix("s") if name == "tags" else name, one, sorted(known)
            )


def seats_text(spec: EnvSpec) -> str:
    low, high = spec.players
    return str(low) if low == high else f"{low}-{high}"


def list_agents() -> None:
    """List the installed agents."""
    rows = table("agent", "kind", "plays", "summary", "options")
    for _, spec in sorted(registry().agents.items()):
        rows.add_row(spec.name, spec.kind, ", ".join(spec.plays), spec.summary, options_of(spec))
    Console().print(rows)


def options_of(spec: AgentSpec) -> str:
    """An agent's options and their defaults."""
    if spec.options:
        return ", ".join(f"{o.name}={o.default}" if o.default else o.name for o in spec.options)
    from palestra.kernel.specs import load_entry_point

    try:
        parameters = inspect.signature(load_entry_point(spec.entry_point)).parameters
    except Exception as error:  # of one plugin: the others are listed all the same
        return f"({error})"
    named = [p for p in parameters.values() if p.kind is not p.VAR_KEYWORD and p.name != "seed"]
    return ", ".join(f"{p.name}={p.default!r}" for p in named)


def options_table(options: Sequence[OptionSpec]) -> Table:
    """Every option with its default, what it accepts and what it means."""
    made = table("option", "default", "accepts", "meaning")
    for option in options:
        meaning = option.description or "-"
        unit = f" [{option.unit}]" if option.unit else ""
        made.add_row(option.name, _clip(option.default), _clip(option.accepts), meaning + unit)
    return made


def facts_of(spec: EnvSpec, game: Any) -> list[tuple[str, str]]:
    """What is declared about an environment, as (name, value)."""
    agents = [
        a for a in registry().agents.values() if a.can_play(spec.id) and not unmet_needs(a, game)
    ]
    facts = [
        ("players", players_text(spec, game)),
        ("moves", spec.moves),
        ("payoffs", f"{spec.payoffs}, terms {', '.join(game.reward_terms)}"),
        ("information", "perfect" if game.perfect_information else "hidden"),
        ("family", spec.family),
        ("tags", ", ".join(spec.tags)),
        ("paper", spec.paper),
        ("splits", splits_text(spec)),
        ("agents", ", ".join(sorted(a.name for a in agents if "*" not in a.plays))),
        ("any game's", several(sorted(agents, key=lambda a: (a.kind == "llm", a.name)))),
        ("metrics", ", ".join(metric.name for metric in metrics_for(spec.id))),
        ("views", "gym, aec, parallel, batch, episode"),
        ("also takes", also_takes(spec)),
    ]
    if "array" in spec.observations:
        facts.insert(6, ("observation", str(game.observation_space(0))))
        facts.insert(7, ("actions", str(game.action_space(0))))
    return [(name, value) for name, value in facts if value]


def players_text(spec: EnvSpec, game: Any) -> str:
    """The numbers of players, and the default where there is a choice."""
    low, high = spec.players
    return str(low) if low == high else f"{low}-{high} ({game.num_players} by default)"


def several(agents: Sequence[AgentSpec]) -> str:
    """The first of the agents that play any game, and how many there are."""
    names = [agent.name for agent in agents if "*" in agent.plays]
    first = ", ".join(names[:FIRST_NAMES])
    rest = len(names) - FIRST_NAMES
    return f"{first} and {rest} more; see palestra agents" if rest > 0 else first


def also_takes(spec: EnvSpec) -> str:
    """The options that any game takes, with what they do."""
    wording = "wording=NAME (the same text in other words)"
    if spec.array_game is False:
        return wording
    return f"disguise=SEED (the same game in invented words), {wording}"


def splits_text(spec: EnvSpec) -> str:
    """Every split with the options it stands for."""
    return "; ".join(
        f"{name} ({', '.join(f'{key}={_short(value)}' for key, value in options.items())})"
        for name, options in spec.splits.items()
    )


def _short(value: object) -> str:
    """A value as Python writes it, cut if it is long."""
    return _clip(repr(value))


def _clip(written: str) -> str:
    return written if len(written) <= LONGEST_VALUE else f"{written[:LONGEST_VALUE]}…"


def list_plugins() -> None:
    """List the installed plugins, what they provide, and what is broken."""
    rows = table("plugin", "distribution", "status", "gives")
    plugins = registry().plugins.plugins
    for name, plugin in sorted(plugins.items()):
        gives = [f"{len(items)} {hook[9:]}" for hook, items in plugin.gives.items()]
        gives += [hook[9:] for hook in plugin.hooks if hook not in plugin.gives]
        status = f"{plugin.status}, contested" if plugin.contested else plugin.status
        rows.add_row(name.strip(), plugin.distribution, status, ", ".join(gives))
    console = Console()
    console.print(rows if plugins else "No plugins are loaded.")
    if not registry().environments:
        console.print(ADVICE, markup=False, soft_wrap=True)
    contested = [said for plugin in plugins.values() for said in plugin.contested]
    for problem in [*map(str, registry().plugins.failures), *contested]:
        console.print(f"\n{problem}", style="red", markup=False, soft_wrap=True)
