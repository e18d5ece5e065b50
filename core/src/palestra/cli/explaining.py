"""`palestra info`: one environment, agent, reward or metric, and what its options mean."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
from rich.table import Table

from palestra.catalogue.describe import describe_options, described_parameters
from palestra.cli.arguments import complete_name
from palestra.cli.listing import facts_of, options_table, table
from palestra.kernel.errors import UnknownName
from palestra.kernel.registry import load_game, registry, where_from
from palestra.kernel.specs import (
    AgentSpec,
    EnvSpec,
    MetricSpec,
    OptionSpec,
    RewardSpec,
    load_entry_point,
)
from palestra.quoting import open_console
from palestra.views.channels import entries, layouts

Explained = Annotated[
    str,
    typer.Argument(
        help="An environment, agent, reward or metric, such as games/TicTacToe-v0 or mcts.",
        autocompletion=complete_name,
    ),
]
NO_OPTION = ("target", "model", "inner")  # given by an agent's name, or by Python code alone


def info(name: Explained) -> None:
    """Explain an environment, agent, reward or metric: its facts, rules and options."""
    installed = registry()
    if "/" in name:
        _environment(installed.environment(name))
        return
    kinds: tuple[tuple[Any, Callable[[Any], None]], ...] = (
        (installed.agents, _agent),
        (installed.rewards, _reward),
        (installed.metrics, _metric),
    )
    named = [(explain, specs[name]) for specs, explain in kinds if name in specs]
    if not named:
        known = [*installed.environments, *(known for specs, _ in kinds for known in specs)]
        hint = where_from("agents", name) or where_from("rewards", name)
        raise UnknownName("environment, agent, reward or metric", name, known, hint)
    for explain, spec in named:
        explain(spec)


def _environment(spec: EnvSpec) -> None:
    game = load_game(spec, {})
    _explain(spec.id, game.rules_for(0), facts_of(spec, game), describe_options(type(game)))
    for owners, channels in layouts(game).items():
        rows = table("entries", "channel", "meaning")
        for where, channel in entries(channels):
            rows.add_row(where, channel.name, channel.meaning)
        console = open_console()
        console.print(f"\nobservation of {owners}", style="bold", markup=False)
        console.print(rows)


def _agent(spec: AgentSpec) -> None:
    facts = [
        ("kind", f"agent, {spec.kind}"),
        ("plays", ", ".join(spec.plays)),
        ("needs", ", ".join(spec.needs)),
        ("from", spec.entry_point.partition(":")[0]),
    ]
    _explain(spec.name, spec.summary, facts, all_options(spec))


def _reward(spec: RewardSpec) -> None:
    facts = [
        ("kind", f"reward, shape {spec.shape}"),
        ("needs", ", ".join(spec.needs)),
        ("paper", spec.paper),
        ("from", spec.entry_point.partition(":")[0]),
    ]
    _explain(spec.name, spec.summary, facts, spec.options)


def _metric(spec: MetricSpec) -> None:
    low, high = spec.bounds
    bounds = "" if low is None and high is None else f"{_bound(low)} to {_bound(high)}"
    facts = [
        ("kind", "metric of a record"),
        ("measures", ", ".join(spec.measures)),
        ("needs", ", ".join(spec.needs)),
        ("unit", spec.unit),
        ("values", bounds),
        ("better", spec.better),
    ]
    _explain(spec.name, spec.summary, facts, ())


def _bound(value: float | None) -> str:
    return "any" if value is None else f"{value:g}"


def all_options(spec: AgentSpec) -> list[OptionSpec]:
    """An agent's own options, and those that it hands to the classes it builds on."""
    make = load_entry_point(spec.entry_point)
    found = {option.name: option for option in spec.options or described_parameters(make)}
    for kind in make.__mro__[1:-1] if inspect.isclass(make) else ():
        if "__init__" in vars(kind):
            given = [option for option in described_parameters(kind) if option.default]
            found = {option.name: option for option in given} | found
    return [option for option in found.values() if option.name not in NO_OPTION]


def _explain(
    name: str, text: str, facts: Iterable[tuple[str, str]], options: Iterable[OptionSpec]
) -> None:
    rows = Table(box=None, show_header=False, pad_edge=False)
    rows.add_column(style="bold")
    rows.add_column(overflow="fold")
    for fact, value in facts:
        if value:
            rows.add_row(fact, value)
    console = open_console()
    console.print(f"{name}\n", style="bold", markup=False)
    console.print(text, markup=False)
    console.print()
    console.print(rows)
    if known := list(options):
        console.print()
        console.print(options_table(known))
