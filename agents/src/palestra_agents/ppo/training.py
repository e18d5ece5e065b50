"""A training run of `palestra train`: progress, evaluation, learning curve, checkpoints."""

from __future__ import annotations

import csv
import io
import math
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from palestra import ArrayGame, InvalidOption, game
from palestra.cli.arguments import read_options
from palestra.files import remove_drafts, write_text
from palestra.records.record import options_of
from palestra.runner.loggers import Logger, finite
from palestra.runner.run_folder import sole_writer
from palestra.runner.watching import LivePage
from palestra.task_filter import TaskFilter
from palestra.views.vector import VectorView
from rich.console import Console
from rich.progress import Progress

from palestra_agents.ppo.checkpoint import CHECKPOINT, COLUMNS
from palestra_agents.ppo.network import PolicyValue, one_step
from palestra_agents.ppo.policy import Settings
from palestra_agents.ppo.trainer import Trainer
from palestra_agents.settings import require_fields, require_same

CURVE = "curve.csv"


def read_settings(pairs: list[str]) -> Settings:
    """Parse PPO settings given as name=value."""
    return Settings(**_read_fields(pairs, Settings, "ppo has no setting"))


def read_tasks(pairs: list[str]) -> TaskFilter | None:
    """Parse a task filter given as name=value; None if nothing is given."""
    chosen = _read_fields(pairs, TaskFilter, "--filter has no")
    if chosen and "good" not in chosen:
        raise InvalidOption(
            "--filter needs good=RETURN, the return of a player who has mastered a task"
        )
    return TaskFilter(**chosen) if chosen else None


def _read_fields(pairs: list[str], kind: type, complaint: str) -> dict[str, Any]:
    """Parse options by name, each a field of the dataclass `kind`."""
    chosen = read_options(pairs)
    require_fields(kind, chosen, complaint)
    return chosen


def begin(
    folder: Path,
    env: str,
    options: list[str],
    settings: list[str],
    tasks: list[str],
    rewards: Sequence[str] = (),
) -> Trainer:
    """Start a run in a folder without a policy; a trained policy is never overwritten."""
    if (folder / CHECKPOINT).exists():
        raise InvalidOption(
            f"{folder} holds a trained policy already; continue it with --resume, or choose "
            "another --out"
        )
    return Trainer(env, read_options(options), read_settings(settings), read_tasks(tasks), rewards)


def resume(
    folder: Path,
    env: str,
    options: list[str],
    settings: list[str],
    tasks: list[str],
    rewards: Sequence[str] = (),
    *,
    other_versions: bool = False,
) -> Trainer:
    """Resume the run in a folder; options given again must equal those it was started with."""
    trainer = Trainer.load(folder, other_versions=other_versions)
    require_same(folder, {"environment": trainer.env}, {"environment": env})
    typed = trainer.options | read_options(options)
    require_same(folder, options_of(trainer.game), options_of(game(env, **typed)))
    changed = _read_fields(settings, Settings, "ppo has no setting")
    require_same(folder, asdict(trainer.settings), asdict(replace(trainer.settings, **changed)))
    chosen = _read_fields(tasks, TaskFilter, "--filter has no")
    require_same(folder, asdict(trainer.tasks) if trainer.tasks else {}, chosen)
    if rewards:
        require_same(folder, {"rewards": trainer.rewards}, {"rewards": tuple(rewards)})
    return trainer


def train(
    trainer: Trainer,
    steps: int,
    folder: Path,
    reports: int,
    console: Console,
    loggers: Sequence[Logger] = (),
    page: LivePage | None = None,
) -> bool:
    """Train to `steps`, saving and logging every report; returns False if Ctrl-C stopped it.

    page: a live page, which shows the first lanes between updates.

    The result does not depend on how often the run was stopped, killed and resumed.
    """
    every = max(1, steps // reports)
    seconds, since = trainer.curve[-1]["seconds"] if trainer.curve else 0.0, perf_counter()
    with (
        sole_writer(folder),
        Progress(console=console, transient=True) as bar,
        one_thread(),
        interrupt_event() as stop,
    ):
        for name in (CHECKPOINT, CURVE):
            remove_drafts(folder / name)
        write_curve(trainer, folder)
        task = bar.add_task(f"training {trainer.env}", total=steps, completed=trainer.steps)
        while trainer.steps < steps:
            before = trainer.steps
            try:
                losses = trainer.update(trainer.steps / steps)
            except InvalidOption:  # no task left to learn from
                if trainer.updates:
                    trainer.save(folder)
                    console.print(f"Saved after {trainer.steps:,} of {steps:,} steps.")
                raise
            bar.update(task, completed=trainer.steps)
            if page is not None:
                page.show_lanes(trainer.batch, trainer.env)
            if trainer.steps // every > before // every or trainer.steps >= steps:
                seconds += perf_counter() - since  # evaluations are not counted
                report(trainer, losses["entropy"], seconds, console)
                for logger in (*loggers, *([] if page is None else [page])):
                    logger.log(trainer.steps, finite(trainer.curve[-1]))
                trainer.save(folder)
                write_curve(trainer, folder)
                since = perf_counter()
            if stop.is_set() and trainer.steps < steps:
                trainer.save(folder)
                console.print(
                    f"Stopped and saved after {trainer.steps:,} of {steps:,} steps. Train on with "
                    f"--resume --out {folder}",
                    soft_wrap=True,
                )
                return False
    return True


@contextmanager
def interrupt_event() -> Iterator[threading.Event]:
    """An event set by Ctrl-C, so that the current update finishes before a run stops.

    A second Ctrl-C interrupts at once. Outside the main thread Ctrl-C is left alone.
    """
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = signal.getsignal(signal.SIGINT)

    def hear(number: int, frame: object) -> None:
        event.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, hear)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread: networks this small are slower on several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def report(trainer: Trainer, entropy: float, seconds: float, console: Console) -> None:
    """One line on the screen and one row of the curve."""
    mean = float(np.mean(trainer.returns)) if trainer.returns else math.nan
    won = math.nan
    told = "no episode has ended yet" if math.isnan(mean) else f"mean return {mean:.3f}"
    if trainer.game.payoffs == "zero-sum" and trainer.game.num_players == 2:
        won, mean = wins_against_random(trainer.network, trainer.env, trainer.options)
        told = f"wins against random {won:.1%}, mean return {mean:.3f}"
    row = dict(zip(COLUMNS, (trainer.steps, seconds, mean, won, entropy), strict=True))
    trainer.curve.append(row)
    rate = trainer.steps / max(seconds, 1e-9)
    console.print(f"{trainer.steps:>12,} steps  {rate:>9,.0f}/s  {told}  entropy {entropy:.2f}")


def write_curve(trainer: Trainer, folder: Path) -> None:
    """The rows of all reports so far, as a file of comma-separated values."""
    written = io.StringIO(newline="")
    writer = csv.DictWriter(written, COLUMNS)
    writer.writeheader()
    writer.writerows(trainer.curve)
    write_text(folder / CURVE, written.getvalue())


@torch.no_grad()
def wins_against_random(
    network: PolicyValue, env: str, options: dict[str, Any], episodes: int = 512
) -> tuple[float, float]:
    """The share of episodes won against random play and their mean return, half from either seat.

    It uses its own generator, so it does not affect the training run.
    """
    own = torch.Generator().manual_seed(12_345)
    rules = game(env, **options)
    assert isinstance(rules, ArrayGame)
    returns = []
    for seat in (0, 1):
        lanes = episodes // 2
        view = VectorView(
            env, lanes, seat=seat, opponents="random", autoreset="disabled", **options
        )
        seen, info = view.reset(seed=12_345 + seat)
        done, memory = np.zeros(lanes, bool), torch.zeros(lanes, *network.memory_shape)
        while not done.all():
            masks = torch.from_numpy(info["action_mask"])
            given = torch.from_numpy(seen.astype(np.float32))
            logprobs, _, memory = one_step(network, given, masks, memory)
            action = torch.multinomial(logprobs.exp(), 1, generator=own).squeeze(1).numpy()
            seen, _, terminated, truncated, info = view.step(action)
            done |= terminated | truncated
        returns.append(view.batch.returns[:, seat].copy())
        view.close()
    return float((np.array(returns) > 0).mean()), float(np.mean(returns))
