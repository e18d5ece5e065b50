"""A run of `palestra train --algo qmix` and the like: progress, a curve and a checkpoint."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np
import torch
from palestra import InvalidOption, game
from palestra.files import remove_drafts, write_bytes, write_text
from palestra.records.record import options_of
from palestra.records.versions import check_versions, versions_for
from palestra.runner.loggers import finite
from palestra.runner.run_folder import sole_writer
from palestra.runner.watching import LivePage
from rich.console import Console
from torch import Tensor

from palestra_agents.checkpoints import (
    Count,
    blaming,
    converted,
    load_generator,
    read_checkpoint_file,
    require_all_finite,
    require_room,
)
from palestra_agents.learners.clam import Clam
from palestra_agents.learners.hammer import Hammer
from palestra_agents.learners.keeping import restore, state_of
from palestra_agents.learners.maddpg import MADDPG
from palestra_agents.learners.offline import Offline
from palestra_agents.learners.recurrent import Recurrent
from palestra_agents.learners.switching import Switching
from palestra_agents.learners.values import ValueLearner
from palestra_agents.ppo.training import interrupt_event
from palestra_agents.settings import require_same

FORMAT = "palestra.learner/1"
STATE_FORMAT = "palestra.team-run/2"
FILE, STATE, CURVE = "learner.pt", "state.pt", "curve.csv"


class Learner(Protocol):
    """What a run needs of a learner."""

    steps: int
    settings: Any
    field: Any  # the lanes it plays in

    @property
    def sees_all(self) -> bool:
        """Whether a part of it reads in play what all seats see, so that one agent holds them."""

    def update(self, progress: float = 0.0) -> list[np.ndarray[Any, Any]]: ...
    def act(self, seen: Tensor, masks: Tensor) -> Tensor: ...
    def weights(self) -> dict[str, Any]: ...
    def load_weights(self, kept: Mapping[str, Any]) -> None: ...


@runtime_checkable
class Remembering(Protocol):
    """A learner that remembers the episode of `act`: in `going`, None where one begins."""

    going: Any


LEARNERS: dict[str, Any] = {
    "maddpg": MADDPG,
    "mansa": Switching,
    "recurrent": Recurrent,
    "hammer": Hammer,
    "clam": Clam,
    "cfcql": Offline,
}
ALGOS = ("iql", "vdn", "qmix", *LEARNERS)


def make_learner(
    algo: str,
    env: Any,
    options: Mapping[str, Any],
    settings: Mapping[str, Any],
    compiled: bool | None = None,
) -> Learner:
    """The learner of a name."""
    if algo in LEARNERS:
        made: Learner = LEARNERS[algo](env, options, compiled=compiled, **settings)
        return made
    if algo in ALGOS:
        return ValueLearner(env, options, algo=algo, compiled=compiled, **settings)  # type: ignore[arg-type]
    raise InvalidOption(f"--algo {algo!r}; choose from: {', '.join(('ppo', 'mappo', *ALGOS))}")


class SavedRun(msgspec.Struct):
    """What `TeamRun.save` writes."""

    algo: str
    env: str
    options: dict[str, Any]
    settings: dict[str, Any]
    versions: dict[str, str]
    curve: list[tuple[Count, float]]
    returns: list[float]
    learner: Any
    torch_rng: Any


class SavedLearner(msgspec.Struct):
    """What `save_learner` writes."""

    algo: str
    env: str
    options: dict[str, Any]
    settings: dict[str, Any]
    steps: Count
    versions: dict[str, str]
    weights: Any


@dataclass
class TeamRun:
    """A training run: the learner, its curve, and returns since the last report."""

    algo: str
    env: str
    options: dict[str, Any]
    learner: Learner
    curve: list[list[float]] = field(default_factory=list)  # steps and mean return
    returns: list[float] = field(default_factory=list)

    @property
    def versions(self) -> dict[str, str]:
        return versions_for(game(self.env, **self.options), self.learner, "torch")

    def save(self, folder: Path) -> None:
        """Write what `resume_team` needs, then the learner as it plays and its curve."""
        state = {
            "format": STATE_FORMAT,
            "algo": self.algo,
            "env": self.env,
            "options": self.options,
            "settings": asdict(self.learner.settings),
            "versions": self.versions,
            "curve": self.curve,
            "returns": self.returns,
            "learner": state_of(self.learner),
            "torch_rng": torch.get_rng_state(),
        }
        require_all_finite(state["learner"])
        written = io.BytesIO()
        torch.save(state, written)
        write_bytes(folder / STATE, written.getvalue())
        self.show(folder)

    def show(self, folder: Path) -> None:
        """Write the learner as it plays, and its curve."""
        save_learner(self.learner, self.algo, self.env, self.options, folder)
        rows = io.StringIO(newline="")
        csv.writer(rows).writerows([("steps", "mean_return"), *self.curve])
        write_text(folder / CURVE, rows.getvalue())


def begin_team(
    algo: str, env: str, options: Mapping[str, Any], settings: Mapping[str, Any], folder: Path
) -> TeamRun:
    """Start a run in a folder without one; a trained learner is never overwritten."""
    if (folder / FILE).exists() or (folder / STATE).exists():
        raise InvalidOption(
            f"{folder} holds a trained learner already; continue it with --resume, or choose "
            "another --out"
        )
    learner = make_learner(algo, env, options, settings)
    return TeamRun(algo, env, dict(options), learner)


def resume_team(
    algo: str,
    env: str,
    options: Mapping[str, Any],
    settings: Mapping[str, Any],
    folder: Path,
    *,
    other_versions: bool = False,
) -> TeamRun:
    """Resume the run in a folder; what is given again must equal what it was started with."""
    path = folder / STATE
    kept = _read(path, STATE_FORMAT)
    with blaming(path):
        state = converted(kept, SavedRun)
        require_room(state.settings, path)
        rules = game(state.env, **state.options)
    typed = {"algo": algo, "env": env, **settings}
    known = {"algo": state.algo, "env": state.env, **state.settings}
    if env == state.env:
        typed |= options_of(game(env, **{**state.options, **options}))
        known |= options_of(rules)
    require_same(folder, known, typed)
    with blaming(path):
        learner = make_learner(state.algo, state.env, state.options, state.settings)
        if not all(map(math.isfinite, state.returns)):
            raise InvalidOption("returns are not finite")
        curve = [list(row) for row in state.curve]
        run = TeamRun(algo, env, state.options, learner, curve, state.returns)
    check_versions(folder, state.versions, run.versions, accept=other_versions)
    with blaming(path):
        restore(learner, state.learner)
        load_generator(torch.default_generator, state.torch_rng, "torch_rng")
    return run


def train_team(
    run: TeamRun,
    *,
    steps: int,
    folder: Path,
    reports: int,
    console: Console,
    page: LivePage | None = None,
) -> bool:
    """Train to `steps`, saving at every report; returns False if Ctrl-C stopped it.

    The result does not depend on how often the run was stopped, killed and resumed. page: a live
    page, which shows the first lanes between updates.
    """
    learner, every = run.learner, max(1, steps // reports)
    with sole_writer(folder), interrupt_event() as stop:
        for name in (STATE, FILE, CURVE):
            remove_drafts(folder / name)
        if (folder / STATE).exists():
            run.show(folder)  # which a killed process may have left behind
        while learner.steps < steps:
            before = learner.steps
            run.returns += [float(np.mean(row)) for row in learner.update(learner.steps / steps)]
            if page is not None and learner.field.batch is not None:
                page.show_lanes(learner.field.batch, run.env)
            if learner.steps // every > before // every or learner.steps >= steps:
                mean = float(np.mean(run.returns)) if run.returns else float("nan")
                run.curve.append([learner.steps, mean])
                told = f"mean return {mean:.3f}" if run.returns else "no episode has ended since"
                run.returns = []
                console.print(f"{learner.steps:>12,} steps  {told}")
                if page is not None:
                    page.log(learner.steps, finite({"mean_return": mean}))
                run.save(folder)
            elif stop.is_set():
                run.save(folder)
            if stop.is_set() and learner.steps < steps:
                console.print(
                    f"Stopped and saved after {learner.steps:,} of {steps:,} steps. Train on with "
                    f"--resume --out {folder}",
                    soft_wrap=True,
                )
                return False
    return True


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
    kept = _read(path, FORMAT)
    with blaming(path):
        saved = converted(kept, SavedLearner)
        settings = saved.settings | {"num_envs": 1}
        require_room(settings, path)
        learner = make_learner(saved.algo, saved.env, saved.options, settings, compiled=False)
        learner.load_weights(saved.weights)
    return learner, kept


def _read(path: Path, expected: str) -> dict[str, Any]:
    """A file of a run, if it has the expected format."""
    if not path.exists():
        raise InvalidOption(
            f"there is no trained learner at {path}; palestra train --algo qmix makes one"
        )
    return read_checkpoint_file(path, "a learner of palestra train", expected)
