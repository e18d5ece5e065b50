"""`palestra train`, as it is typed; torch is imported when it runs."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from palestra import InvalidOption, MissingExtra
from palestra.cli.arguments import complete_id, read_options, split_agents
from palestra.cli.watching import Watch, WatchPort, watched
from palestra.files import fresh_folder
from palestra.quoting import open_console
from palestra.runner.loggers import open_logger
from palestra.runner.watching import LivePage


def train_command(
    env: Annotated[
        str, typer.Argument(help="An id such as games/KuhnPoker-v0.", autocompletion=complete_id)
    ],
    algo: Annotated[
        str,
        typer.Option(
            help="ppo, mappo, iql, vdn, qmix, maddpg, mansa, recurrent, hammer, clam or cfcql."
        ),
    ] = "ppo",
    steps: Annotated[int, typer.Option(min=1, help="Steps of all lanes together.")] = 1_000_000,
    out: Annotated[Path | None, typer.Option(help="Folder for the policy and its curve.")] = None,
    option: Annotated[list[str] | None, typer.Option("--option", "-o", help="name=value")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the algorithm.")
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option("--filter", help="Train on tasks of suitable difficulty, as in good=40."),
    ] = None,
    rewards: Annotated[str, typer.Option(help="Comma-separated, as in env,food-distance.")] = "",
    reports: Annotated[int, typer.Option(min=1, help="How often to evaluate.")] = 10,
    resume: Annotated[bool, typer.Option(help="Continue the run in --out.")] = False,
    other_versions: Annotated[
        bool, typer.Option("--other-versions", help="Resume a run of other versions of plugins.")
    ] = False,
    log: Annotated[
        list[str] | None,
        typer.Option(help="Where to log every report, as in tensorboard:runs/tb; repeatable."),
    ] = None,
    watch: Watch = False,
    watch_port: WatchPort = 0,
) -> None:
    """Train one policy for every seat, played as ppo:FOLDER, or a team, as marl:FOLDER."""
    if find_spec("torch") is None:
        raise MissingExtra("PyTorch, which training needs,", "palestra-agents[torch]")
    from palestra_agents.ppo import training

    if algo not in ("ppo", "mappo"):
        if tasks or rewards or log:
            raise InvalidOption(
                f"--filter, --rewards and --log are options of ppo and mappo, not {algo}"
            )
        pairs = read_options(option or []), read_options(setting or [])
        with watched(watch, watch_port, f"palestra train {env}, {algo}", open_console()) as page:
            train_a_team(algo, env, *pairs, steps, out, reports, resume, other_versions, page)
        return
    if algo == "mappo":
        setting = [*(setting or []), "central=true"]
    folder = out or fresh_folder(f"{algo}-{env.rpartition('/')[2]}")
    console = open_console()
    shapers = split_agents(rewards) if rewards else []
    start = training.begin
    if resume:
        start = partial(training.resume, other_versions=other_versions)
    trainer = start(folder, env, option or [], setting or [], tasks or [], shapers)
    loggers = [open_logger(text, folder.name) for text in log or []]
    try:
        with watched(watch, watch_port, f"palestra train {env}, {algo}", console) as page:
            finished = training.train(trainer, steps, folder, reports, console, loggers, page)
    finally:
        for logger in loggers:
            logger.close()
    if not finished:
        raise typer.Exit(130)
    console.print(f"policy  {folder}", soft_wrap=True, highlight=False)
    given = "".join(f" -o {name}={value}" for name, value in trainer.options.items())
    seats = f"ppo:{folder},random" if trainer.game.num_players == 2 else f"ppo:{folder}"
    console.print(f"play it: palestra play {env}{given} --agents {seats}", soft_wrap=True)


def train_a_team(
    algo: str,
    env: str,
    options: dict[str, Any],
    settings: dict[str, Any],
    steps: int,
    out: Path | None,
    reports: int,
    resume: bool,
    other_versions: bool,
    page: LivePage | None = None,
) -> None:
    """Train a learner of several seats, and say how to play it."""
    from palestra_agents.learners.training import begin_team, resume_team, train_team
    from palestra_agents.ppo.training import one_thread

    folder = out or fresh_folder(f"{algo}-{env.rpartition('/')[2]}")
    console = open_console()
    with one_thread():
        start = partial(resume_team, other_versions=other_versions) if resume else begin_team
        run = start(algo, env, options, settings, folder)
        done = train_team(
            run, steps=steps, folder=folder, reports=reports, console=console, page=page
        )
    if not done:
        raise typer.Exit(130)
    console.print(f"policy  {folder}", soft_wrap=True, highlight=False)
    given = "".join(f" -o {name}={value}" for name, value in run.options.items())
    console.print(f"play it: palestra play {env}{given} --agents marl:{folder}", soft_wrap=True)
