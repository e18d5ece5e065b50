"""`palestra solve`: the equilibrium of a small game, and the distance from it."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Annotated, Any

import typer
from palestra import Game, InvalidOption, game
from palestra.cli.arguments import complete_id, read_options
from palestra.quoting import open_console
from rich.progress import Progress
from rich.table import Table

from palestra_agents.cfr import Solver
from palestra_agents.exploitability import expected_values, exploitability
from palestra_agents.game_tree import play

MOST_SETS = 40


def solve_command(
    env: Annotated[
        str, typer.Argument(help="An id such as games/KuhnPoker-v0.", autocompletion=complete_id)
    ],
    iterations: Annotated[int, typer.Option(min=1, help="Rounds of CFR+.")] = 1_000,
    rows: Annotated[int, typer.Option(min=1, help="How often to report.")] = 5,
    option: Annotated[list[str] | None, typer.Option("--option", "-o", help="name=value")] = None,
) -> None:
    """Solve a small two-player game exactly: its value, a strategy, how exploitable that is."""
    rules = game(env, **read_options(option or []))
    if rules.payoffs != "zero-sum" or rules.num_players != 2:
        raise InvalidOption(f"{env} cannot be solved: CFR+ is for two-player zero-sum games")
    solver, console = Solver(rules), open_console()
    report = Table("iterations", "value to player_0", "exploitability", "seconds")
    started, policy = perf_counter(), solver.average()
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(f"solving {env}", total=iterations)
        try:
            for part in range(rows := min(rows, iterations)):
                goal = iterations * (part + 1) // rows
                while solver.iterations < goal:
                    solver.iterate(min(10, goal - solver.iterations))
                    bar.update(task, completed=solver.iterations)
                policy = solver.average()
                value = expected_values(rules, policy)[0]
                apart = exploitability(rules, policy)
                seconds = perf_counter() - started
                report.add_row(
                    str(solver.iterations), f"{value:.6f}", f"{apart:.2e}", f"{seconds:.1f}"
                )
        except KeyboardInterrupt:
            console.print(f"Stopped after {solver.iterations} iterations.")
    console.print(report)
    console.print(_strategy(rules, solver, policy))


def _strategy(
    rules: Game[Any, Any], solver: Solver, policy: Mapping[bytes, Mapping[Any, float]]
) -> Table:
    """The strategy at the first information sets, in words."""
    table = Table("seat", "sees", "plays")
    shown: set[bytes] = set()

    def walk(state: Any) -> None:
        if not rules.to_act(state) or len(shown) >= MOST_SETS:
            return
        seat = rules.to_act(state)[0]
        key = rules.state_key(state, seat)
        chances = policy.get(key, {})
        if key not in shown and chances:
            shown.add(key)
            plays = ", ".join(
                f"{rules.action_text(state, seat, action)} {chance:.1%}"
                for action, chance in chances.items()
            )
            table.add_row(rules.players[seat], rules.describe(state, seat), plays)
        for action in rules.legal_actions(state, seat):
            walk(play(rules, state, action)[0])

    for _, state in solver.deals:
        walk(state)
    return table
