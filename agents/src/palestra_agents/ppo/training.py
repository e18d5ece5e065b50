"""A training run as `palestra train` shows it: progress, evaluation, a curve, checkpoints."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from palestra import ArrayGame, InvalidOption, game
from palestra.cli.arguments import read_options
from palestra.views.vector import VectorView
from rich.console import Console
from rich.progress import Progress

from palestra_agents.ppo.network import PolicyValue
from palestra_agents.ppo.trainer import Settings, Trainer
from palestra_agents.task_filter import TaskFilter

CURVE = "curve.csv"
COLUMNS = ("steps", "seconds", "mean_return", "wins_against_random", "entropy")


def read_settings(pairs: list[str]) -> Settings:
    """PPO settings as name=value."""
    return Settings(**_read_fields(pairs, Settings, "ppo has no setting"))


def read_tasks(pairs: list[str]) -> TaskFilter | None:
    """A task filter as name=value; None if nothing is given."""
    chosen = _read_fields(pairs, TaskFilter, "--filter has no")
    if chosen and "good" not in chosen:
        raise InvalidOption("--filter needs good=RETURN: what a task pays who has mastered it")
    return TaskFilter(**chosen) if chosen else None


def _read_fields(pairs: list[str], kind: type, complaint: str) -> dict[str, Any]:
    """Options by name, every one a field of the dataclass `kind`."""
    chosen = read_options(pairs)
    known = [field.name for field in fields(kind)]
    for name in chosen:
        if name not in known:
            raise InvalidOption(f"{complaint} {name!r}; choose from: {', '.join(known)}")
    return chosen


def train(trainer: Trainer, steps: int, folder: Path, reports: int, console: Console) -> None:
    """Train to `steps`; saved at every report and when interrupted."""
    every = max(1, (steps - trainer.steps) // reports)
    mark = trainer.steps + every
    seconds, since = 0.0, perf_counter()  # evaluations are not counted
    with Progress(console=console, transient=True) as bar, one_thread():
        task = bar.add_task(f"training {trainer.env}", total=steps, completed=trainer.steps)
        try:
            while trainer.steps < steps:
                losses = trainer.update(trainer.steps / steps)
                bar.update(task, completed=trainer.steps)
                if trainer.steps >= mark or trainer.steps >= steps:
                    mark += every
                    seconds += perf_counter() - since
                    trainer.save(folder)
                    report(trainer, losses["entropy"], seconds, folder, console)
                    since = perf_counter()
        except KeyboardInterrupt:
            trainer.save(folder)
            console.print(f"Stopped and saved after {trainer.steps:,} of {steps:,} steps.")
        except InvalidOption:  # no task is left to learn from
            if trainer.updates:
                trainer.save(folder)
                console.print(f"Saved after {trainer.steps:,} of {steps:,} steps.")
            raise


@contextmanager
def one_thread() -> Iterator[None]:
    """Networks this small run slower on more threads than one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def report(
    trainer: Trainer, entropy: float, seconds: float, folder: Path, console: Console
) -> None:
    """One line on the screen and one in the curve."""
    mean = float(np.mean(trainer.returns)) if trainer.returns else math.nan
    won = math.nan
    if trainer.game.payoffs == "zero-sum" and trainer.game.num_players == 2:
        won = wins_against_random(trainer.network, trainer.env, trainer.options)
    row = dict(zip(COLUMNS, (trainer.steps, seconds, mean, won, entropy), strict=True))
    path = folder / CURVE
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if fresh:
            writer.writeheader()
        writer.writerow(row)
    told = f"wins against random {won:.1%}" if not math.isnan(won) else f"mean return {mean:.3f}"
    rate = trainer.steps / max(seconds, 1e-9)
    console.print(f"{trainer.steps:>12,} steps  {rate:>9,.0f}/s  {told}  entropy {entropy:.2f}")


@torch.no_grad()
def wins_against_random(
    network: PolicyValue, env: str, options: dict[str, Any], episodes: int = 512
) -> float:
    """The share of episodes won against random play, half of them from either seat."""
    rules = game(env, **options)
    assert isinstance(rules, ArrayGame)
    won = played = 0
    for seat in (0, 1):
        rows = episodes // 2
        view = VectorView(env, rows, seat=seat, opponents="random", autoreset="disabled", **options)
        seen, info = view.reset(seed=12_345 + seat)
        done = np.zeros(rows, bool)
        while not done.all():
            masks = torch.from_numpy(info["action_mask"])
            logprobs = network(torch.from_numpy(seen.astype(np.float32)), masks)[0]
            action = torch.multinomial(logprobs.exp(), 1).squeeze(1).numpy()
            seen, _, terminated, truncated, info = view.step(action)
            done |= terminated | truncated
        won += int((view.batch.returns[:, seat] > 0).sum())
        played += rows
        view.close()
    return won / played
