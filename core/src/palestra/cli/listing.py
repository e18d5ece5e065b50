"""`palestra list`, `agents`, `metrics` and `plugins`: show what is installed."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from operator import attrgetter
from typing import Annotated, Any, get_args

import typer
from rich.table import Table

from palestra.agents.fitting import unmet_needs
from palestra.catalogue.find import specs
from palestra.cli.arguments import complete_id
from palestra.cli.entries import (
    AsJson,
    Columns,
    Long,
    Search,
    check_value,
    no_match,
    print_entries,
)
from palestra.kernel.registry import load_game, registry, where_from
from palestra.kernel.specs import AgentKind, AgentSpec, EnvSpec, OptionSpec
from palestra.quoting import open_console
from palestra.records.metrics import metrics_for

EnvId = Annotated[
    str, typer.Argument(help="An id such as games/TicTacToe-v0.", autocompletion=complete_id)
]
ADVICE = 'No environments are installed; run: pip install "palestra[all]".'
LONGEST_VALUE = 40  # characters of a split's option that `palestra info` shows
KINDS: tuple[str, ...] = get_args(AgentKind)
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
    search: Search = None,
    long: Long = False,
    as_json: AsJson = False,
) -> None:
    """List the installed environments."""
    installed = registry().environments.values()
    hint = where_from("namespaces", namespace) if namespace else ""
    if installed:
        for name, given in (("family", family), ("moves", moves), ("payoffs", pays)):
            check_value(name, given, {getattr(spec, name) for spec in installed})
        check_value("namespace", namespace, {spec.namespace for spec in installed}, hint)
        for one in tag or ():
            check_value("tag", one, {known for spec in installed for known in spec.tags})
    found = specs(
        family=family,
        namespace=namespace,
        players=players,
        moves=moves,
        payoffs=pays,
        tags=tag or (),
    )
    filters = {
        "--family": family,
        "--namespace": namespace,
        "--players": players,
        "--moves": moves,
        "--pays": pays,
        "--tag": " --tag ".join(tag) if tag else None,
        "--search": search,
    }
    nothing = no_match("environment", filters, "families", {spec.family for spec in installed})
    print_entries(
        *(found, search, ENVIRONMENT, MORE_OF_ENVIRONMENT),
        as_json=as_json,
        long=long,
        nothing=nothing if installed else hint or ADVICE,
    )


def seats_text(spec: EnvSpec) -> str:
    low, high = spec.players
    return str(low) if low == high else f"{low}-{high}"


ENVIRONMENT: Columns = {"id": attrgetter("id"), "players": seats_text}
MORE_OF_ENVIRONMENT: Columns = {
    "family": attrgetter("family"),
    "moves": attrgetter("moves"),
    "payoffs": attrgetter("payoffs"),
    "paper": attrgetter("paper"),
}


def list_agents(
    kind: Annotated[str | None, typer.Option(help=f"Only one of {', '.join(KINDS)}.")] = None,
    plays: Annotated[
        str | None,
        typer.Option(help="Only those that can play this id.", autocompletion=complete_id),
    ] = None,
    search: Search = None,
    long: Long = False,
    as_json: AsJson = False,
) -> None:
    """List the installed agents."""
    check_value("kind", kind, KINDS)
    installed = [spec for _, spec in sorted(registry().agents.items())]
    able = installed if plays is None else players_of(registry().environment(plays))
    found = [spec for spec in able if kind in (None, spec.kind)]
    filters = {"--kind": kind, "--plays": plays, "--search": search}
    print_entries(
        *(found, search, AGENT, MORE_OF_AGENT),
        as_json=as_json,
        long=long,
        nothing=no_match("agent", filters, "kinds", {spec.kind for spec in installed}),
    )


def players_of(env: EnvSpec, game: Any = None) -> list[AgentSpec]:
    """The agents that can play an environment, by name; `game` is one that was made of it."""
    game = game or load_game(env, {})
    known = sorted(registry().agents.items())
    return [a for _, a in known if a.can_play(env.id) and not unmet_needs(a, game)]


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


AGENT: Columns = {"agent": attrgetter("name"), "kind": attrgetter("kind")}
MORE_OF_AGENT: Columns = {
    "plays": lambda spec: ", ".join(spec.plays),
    "options": options_of,
    "paper": attrgetter("paper"),
}


def list_metrics(
    measures: Annotated[
        str | None,
        typer.Option(help="Only those that measure this id.", autocompletion=complete_id),
    ] = None,
    search: Search = None,
    long: Long = False,
    as_json: AsJson = False,
) -> None:
    """List the installed metrics, the measures of a recorded episode."""
    installed = [spec for _, spec in sorted(registry().metrics.items())]
    found = installed if measures is None else metrics_for(registry().environment(measures).id)
    filters = {"--measures": measures, "--search": search}
    print_entries(
        *(found, search, METRIC, MORE_OF_METRIC),
        as_json=as_json,
        long=long,
        nothing=no_match("metric", filters, "metrics", (spec.name for spec in installed)),
    )


METRIC: Columns = {"metric": attrgetter("name"), "better": attrgetter("better")}
MORE_OF_METRIC: Columns = {
    "unit": attrgetter("unit"),
    "measures": lambda spec: ", ".join(spec.measures),
}


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
    agents = players_of(spec, game)
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
        gives = [f"{len(items)} {hook[9:]}" for hook, items in plugin.gives.items() if items]
        gives += [hook[9:] for hook in plugin.hooks if hook not in plugin.gives]
        status = f"{plugin.status}, contested" if plugin.contested else plugin.status
        rows.add_row(name.strip(), plugin.distribution, status, ", ".join(gives))
    console = open_console()
    console.print(rows if plugins else "No plugins are loaded.")
    if not registry().environments:
        console.print(ADVICE, markup=False, soft_wrap=True)
    contested = [said for plugin in plugins.values() for said in plugin.contested]
    for problem in [*map(str, registry().plugins.failures), *contested]:
        console.print(f"\n{problem}", style="red", markup=False, soft_wrap=True)
