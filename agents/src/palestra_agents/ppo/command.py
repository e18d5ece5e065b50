"""`palestra train`, as it is typed; torch is imported when it runs."""

from __future__ import annotations

from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from palestra import InvalidOption, MissingExtra
from palestra.cli.arguments import complete_id, read_options
from rich.console import Console


def train_command(
    env: Annotated[str, typer.Argument(autocompletion=complete_id)],
    algo: Annotated[str, typer.Option(help="The algorithm: ppo.")] = "ppo",
    steps: Annotated[int, typer.Option(min=1, help="Steps of all rows together.")] = 1_000_000,
    out: Annotated[Path | None, typer.Option(help="Folder for the policy and its curve.")] = None,
    option: Annotated[list[str] | None, typer.Option("--option", "-o", help="name=value")] = None,
    setting: Annotated[list[str] | None, typer.Option("--set", help="A PPO setting.")] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option("--filter", help="Train on tasks of fit difficulty, as in good=40."),
    ] = None,
    reports: Annotated[int, typer.Option(min=1, help="How often to evaluate.")] = 10,
    resume: Annotated[bool, typer.Option(help="Go on from the checkpoint in --out.")] = False,
) -> None:
    """Train one policy for every seat; play it afterwards as ppo:FOLDER."""
    if find_spec("torch") is None:
        raise MissingExtra("PyTorch, which training needs,", "palestra-agents[torch]")
    from palestra_agents.ppo.trainer import Trainer
    from palestra_agents.ppo.training import read_settings, read_tasks, train

    if algo != "ppo":
        raise InvalidOption(f"--algo {algo!r}; choose from: ppo")
    folder = out or Path("runs") / f"ppo-{env.rpartition('/')[2]}-{datetime.now():%Y%m%d-%H%M%S}"
    if resume:
        if option or setting or tasks:
            raise InvalidOption(
                "--resume goes on with the options, settings and filter that the checkpoint was "
                "begun with; leave out --option, --set and --filter, or train into another --out"
            )
        trainer = Trainer.load(folder)
        if trainer.env != env:
            raise InvalidOption(f"{folder} holds a policy for {trainer.env}, not for {env}")
    else:
        settings, chosen = read_settings(setting or []), read_tasks(tasks or [])
        trainer = Trainer(env, read_options(option or []), settings, chosen)
    console = Console()
    train(trainer, steps, folder, reports, console)
    console.print(f"policy  {folder}", soft_wrap=True, highlight=False)
    given = "".join(f" -o {name}={value}" for name, value in trainer.options.items())
    seats = f"ppo:{folder},random" if trainer.game.num_players == 2 else f"ppo:{folder}"
    console.print(f"play it: palestra play {env}{given} --agents {seats}", soft_wrap=True)
