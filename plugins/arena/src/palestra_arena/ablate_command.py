"""`palestra ablate`: how much a score depends on the wording of the prompt."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from palestra import InvalidOption
from palestra.cli.arguments import read_options, split_agents
from palestra.cli.listing import EnvId
from palestra.files import UNREADABLE, read_file, write_text
from palestra.quoting import open_console
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

RESULT = "ablation.json"


def ablate_command(
    env: EnvId,
    agents: Annotated[str, typer.Option(help="The agent that is tested, then its opponents.")],
    n: Annotated[
        int, typer.Option("--n", min=2, help="Seeds; each is played from every seat.")
    ] = 50,
    seed: Annotated[int, typer.Option(help="The first seed.")] = 0,
    variants: Annotated[
        str, typer.Option(help="Comma-separated, as in headings,tags; default: all.")
    ] = "",
    wordings: Annotated[
        Path | None,
        typer.Option(help='JSON: {"ID": {"name": {"rules": …, "question": …}}}, own wordings.'),
    ] = None,
    option: Annotated[list[str] | None, typer.Option("--option", "-o", help="name=value")] = None,
    invalid: Annotated[str, typer.Option(help="Invalid-move policy.")] = "retry:2",
    max_episode_steps: Annotated[int | None, typer.Option(help="Truncate longer episodes.")] = None,
    confidence: Annotated[float, typer.Option(help="Of intervals.")] = 0.95,
    out: Annotated[Path | None, typer.Option(help="Folder for records and the result.")] = None,
    resume: Annotated[bool, typer.Option(help="Play only what is missing in --out.")] = False,
) -> None:
    """Play the same games in other wordings and test how the wording affects the score."""
    from palestra_arena.ablation.effects import ablation_of
    from palestra_arena.ablation.run import AblationPlan, complete_plan, run_ablation

    plan = complete_plan(
        AblationPlan(
            env=env,
            agents=tuple(split_agents(agents)),
            n=n,
            seed=seed,
            variants=tuple(filter(None, variants.split(","))),
            texts=read_wordings(wordings, env) if wordings else {},
            options=read_options(option or []),
            invalid=invalid,
            max_episode_steps=max_episode_steps,
        )
    )
    console = open_console()
    try:
        with Progress(console=console, transient=True) as bar:
            task = bar.add_task(plan.env, total=None)
            records = run_ablation(
                plan,
                out,
                resume=resume,
                progress=lambda over, total: bar.update(task, completed=over, total=total),
            )
    except KeyboardInterrupt:
        again = (
            f"Play the rest with --resume --out {out}" if out else "Nothing was kept: give --out"
        )
        console.print(f"Stopped. {again}.", soft_wrap=True, highlight=False)
        raise typer.Exit(130) from None
    found = ablation_of(records, confidence=confidence)
    print_ablation(console, found, plan.agents[0])
    if out is not None:
        body = json.dumps({"env": plan.env, "agents": plan.agents, **asdict(found)}, indent=2)
        console.print(f"wrote   {write_text(out / RESULT, body)}", soft_wrap=True, highlight=False)


def read_wordings(file: Path, env: str) -> dict[str, dict[str, str]]:
    """The wordings a JSON file gives for an environment; raises `InvalidOption`."""
    try:
        data: Any = json.loads(read_file(file).decode("utf-8"))
        found: dict[str, dict[str, str]] = data[env]
        if not all(isinstance(texts, dict) for texts in found.values()):
            raise TypeError("a wording is an object with rules, question or both")
    except (OSError, *UNREADABLE) as error:
        raise InvalidOption(
            f"{file} gives no wordings of {env} ({type(error).__name__}: {error}); write "
            f'{{"{env}": {{"short": {{"rules": "…", "question": "{{player}}: {{legal}}"}}}}}}'
        ) from error
    return found


def print_ablation(console: Console, found: Any, agent: str) -> None:
    """Print one row per variant, the plain wording first."""
    from palestra_arena.report.table import percent, spread

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("variant", no_wrap=True)
    for name in ("score", "effect", "p", "Holm", "refused", "forfeits"):
        table.add_column(name, justify="right")
    for effect in (found.plain, *found.effects):
        plain = effect is found.plain
        cells = (
            ("", "", "")
            if plain
            else (spread(effect.difference, 2), f"{effect.p_value:.3f}", f"{effect.adjusted:.3f}")
        )
        table.add_row(
            Text(effect.variant),
            spread(effect.score, 2),
            *cells,
            percent(effect.refused),
            percent(effect.forfeited),
        )
    console.print(table)
    console.print(
        f"{agent}: {spread(found.over_prompts, 3)} over plain and paraphrases, which spread by "
        f"{found.prompt_deviation:.3f} (standard deviation); {found.plain.pairs} seeds; the effect "
        "of null is noise",
        highlight=False,
        markup=False,
    )
    if found.failed:
        console.print(f"{found.failed} games ended in an error and are left out", style="red")
