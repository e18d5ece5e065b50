"""A run of `palestra train --algo qmix` and the like: progress, a curve and a checkpoint."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from palestra import InvalidOption, game
from palestra.files import write_bytes, write_text
from palestra.kernel.errors import cause
from palestra.records.versions import versions_for
from palestra.runner.loggers import finite
from palestra.runner.watching import LivePage
from rich.console import Console
from torch import Tensor

from palestra_agents.learners.maddpg import MADDPG
from palestra_agents.learners.recurrent import Recurrent
from palestra_agents.learners.switching import Switching
from palestra_agents.learners.values import ValueLearner

FORMAT = "palestra.learner/1"
FILE = "learner.pt"
ALGOS = ("iql", "vdn", "qmix", "maddpg", "mansa", "recurrent")


class Learner(Protocol):
    """What a run needs of a learner."""

    steps: int
    settings: Any
    field: Any  # the lanes it plays in

    def update(self, progress: float = 0.0) -> list[np.ndarray[Any, Any]]: ...
    def act(self, seen: Tensor, masks: Tensor) -> Tensor: ...
    def weights(self) -> dict[str, Any]: ...
    def load_weights(self, kept: Mapping[str, Any]) -> None: ...


def make_learner(
    algo: str,
    env: Any,
    options: Mapping[str, Any],
    settings: Mapping[str, Any],
    compiled: bool | None = None,
) -> Learner:
    """The learner of a name."""
    if algo == "maddpg":
        return MADDPG(env, options, compiled=compiled, **settings)
    if algo == "mansa":
        return Switching(env, options, compiled=compiled, **settings)
    if algo == "recurrent":
        return Recurrent(env, options, compiled=compiled, **settings)
    if algo in ALGOS:
        return ValueLearner(env, options, algo=algo, compiled=compiled, **settings)  # type: ignore[arg-type]
    raise InvalidOption(f"--algo {algo!r}; choose from: {', '.join(('ppo', 'mappo', *ALGOS))}")


def train_team(
    algo: str,
    env: str,
    options: Mapping[str, Any],
    settings: Mapping[str, Any],
    *,
    steps: int,
    folder: Path,
    reports: int,
    console: Console,
    page: LivePage | None = None,
) -> Learner:
    """Train from the start to `steps` and write the learner and its curve into the folder.

    page: a live page, which shows the first lanes between updates.
    """
    if (folder / FILE).exists():
        raise InvalidOption(f"{folder} holds a trained learner already; choose another --out")
    learner = make_learner(algo, env, options, settings)
    every, curve, returns = max(1, steps // reports), [], list[float]()
    while learner.steps < steps:
        before = learner.steps
        returns += [float(np.mean(row)) for row in learner.update(learner.steps / steps)]
        if page is not None:
            page.show_lanes(learner.field.batch, env)
        if learner.steps // every > before // every or learner.steps >= steps:
            mean = float(np.mean(returns)) if returns else float("nan")
            curve.append((learner.steps, mean))
            console.print(f"{learner.steps:>12,} steps  mean return {mean:.3f}")
            if page is not None:
                page.log(learner.steps, finite({"mean_return": mean}))
            returns = []
    save_learner(learner, algo, env, options, folder)
    written = io.StringIO(newline="")
    csv.writer(written).writerows([("steps", "mean_return"), *curve])
    write_text(folder / "curve.csv", written.getvalue())
    return learner


def save_learner(
    learner: Learner, algo: str, env: str, options: Mapping[str, Any], folder: Path
) -> Path:
    """Write what `read_learner` needs."""
    written = io.BytesIO()
    kept = {
        "format": FORMAT,
        "algo": algo,
        "env": env,
        "options": dict(options),
        "settings": asdict(learner.settings),
        "steps": learner.steps,
        "versions": versions_for(game(env, **options)),
        "weights": learner.weights(),
    }
    torch.save(kept, written)
    folder.mkdir(parents=True, exist_ok=True)
    return write_bytes(folder / FILE, written.getvalue())


def read_learner(folder: Path) -> tuple[Learner, dict[str, Any]]:
    """A learner as it was saved, and the file's other facts."""
    path = folder / FILE if folder.is_dir() else folder
    if not path.exists():
        raise InvalidOption(
            f"there is no trained learner at {path}; palestra train --algo qmix makes one"
        )
    try:
        kept: dict[str, Any] = torch.load(path, weights_only=True)
    except Exception as error:
        raise InvalidOption(f"{path} is not a learner of palestra train: {cause(error)}") from error
    if not isinstance(kept, dict) or kept.get("format") != FORMAT:
        found = kept.get("format") if isinstance(kept, dict) else type(kept).__name__
        raise InvalidOption(f"{path}: format {found!r}; this version reads {FORMAT!r}")
    settings = kept["settings"] | {"num_envs": 1}
    learner = make_learner(kept["algo"], kept["env"], kept["options"], settings, compiled=False)
    learner.load_weights(kept["weights"])
    return learner, kept
