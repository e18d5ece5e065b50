"""Runs and training in other people's dashboards: TensorBoard, Weights & Biases, MLflow, trackio.

    palestra play games/Chess-v0 --agents mcts,minimax --episodes 100 --log tensorboard:runs/chess

A logger is named as `KIND:PLACE`, with options after commas as agents have them. `EpisodeLog`
listens to a run and logs a row for every finished episode; training logs a row for every report.
Each library is an extra of its own and imported when it is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from palestra.agents.budget import Usage
from palestra.agents.naming import split_options
from palestra.kernel.errors import InvalidOption, MissingExtra, UnknownName
from palestra.kernel.hooks import hookimpl
from palestra.records.metrics import measure
from palestra.records.record import EpisodeRecord


class Logger(Protocol):
    """Where rows of numbers go."""

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Keep the values of one step; steps grow."""

    def close(self) -> None:
        """Write what is left; nothing is logged afterwards."""


def open_logger(text: str, run: str) -> Logger:
    """Open the logger that a text such as `wandb:project,mode=offline` names.

    `run` is the name of the run within the project or experiment. Raises `UnknownName`,
    `InvalidOption` and, with the line that installs it, `MissingExtra`.
    """
    kind, _, rest = text.partition(":")
    if kind not in KINDS:
        raise UnknownName("logger", kind, KINDS)
    place, _, given = rest.partition(",")
    if not place:
        raise InvalidOption(f"logger {kind!r} needs a place, as in {EXAMPLES[kind]}; got {text!r}")
    options, unread = split_options(given)
    if unread:
        raise InvalidOption(f"logger {text!r}: {unread!r} is not of the form option=value")
    try:
        return KINDS[kind](place, run, **options)
    except ImportError as error:
        raise MissingExtra(kind, f"palestra[{kind}]") from error
    except TypeError as error:
        raise InvalidOption(f"logger {text!r}: {error}") from error


class TensorBoard:
    """Scalars in an event file in the folder `place`/`run`."""

    def __init__(self, place: str, run: str) -> None:
        from pathlib import Path

        from tensorboard.summary import Writer

        self._writer = Writer(str(Path(place) / run))

    def log(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        self._writer.close()


class WeightsAndBiases:
    """A run of the project `place`; `mode="offline"` keeps it in the folder `folder`."""

    def __init__(
        self,
        place: str,
        run: str,
        *,
        mode: Literal["online", "offline", "disabled"] = "online",
        folder: str = "",
    ) -> None:
        import wandb

        self._run = wandb.init(project=place, name=run, mode=mode, dir=folder or None)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def close(self) -> None:
        self._run.finish()


class MLflow:
    """A run of an experiment on the tracking server or in the store `place`, a URI or a folder."""

    def __init__(self, place: str, run: str, *, experiment: str = "palestra") -> None:
        from mlflow import MlflowClient

        self._client = MlflowClient(tracking_uri=place)
        found = self._client.get_experiment_by_name(experiment)
        number = found.experiment_id if found else self._client.create_experiment(experiment)
        self._run = self._client.create_run(number, run_name=run).info.run_id

    def log(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._client.log_metric(self._run, metric_name(name), value, step=step)

    def close(self) -> None:
        self._client.set_terminated(self._run)


class Trackio:
    """A run of the local project `place`."""

    def __init__(self, place: str, run: str) -> None:
        import trackio

        self._run: Any = trackio.init(project=place, name=run, embed=False)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def close(self) -> None:
        self._run.finish()


KINDS: dict[str, Callable[..., Logger]] = {
    "tensorboard": TensorBoard,
    "wandb": WeightsAndBiases,
    "mlflow": MLflow,
    "trackio": Trackio,
}
EXAMPLES = {
    "tensorboard": "tensorboard:runs/chess",
    "wandb": "wandb:project,mode=offline",
    "mlflow": "mlflow:http://127.0.0.1:5000,experiment=chess",
    "trackio": "trackio:project",
}


def metric_name(name: str) -> str:
    """A name that MLflow takes: it refuses brackets and plus signs."""
    return "".join(sign if sign.isalnum() or sign in "_-./ :" else "_" for sign in name)


class EpisodeLog:
    """Listens to a run: a row for every finished episode, numbered from 1 as they finish.

    A row has each seat's return, refused answers and, where a model was asked, tokens and cost; the
    number of steps; and the episode's measures. What is no finite number is left out.
    """

    def __init__(self, logger: Logger) -> None:
        self._logger, self._finished = logger, 0

    @hookimpl
    def palestra_episode_finished(self, record: EpisodeRecord) -> None:
        self._finished += 1
        self._logger.log(self._finished, finite(episode_row(record)))

    def close(self) -> None:
        self._logger.close()


def finite(row: Mapping[str, float | None]) -> dict[str, float]:
    """The values that are finite numbers."""
    known = {name: float(value) for name, value in row.items() if value is not None}
    return {name: value for name, value in known.items() if math.isfinite(value)}


def episode_row(record: EpisodeRecord) -> dict[str, float | None]:
    """What one episode adds to the curves."""
    row: dict[str, float | None] = {"steps": len(record.steps)}
    for seat, (player, paid) in enumerate(zip(record.players, record.returns, strict=True)):
        row[f"return/{player}"] = paid
        row[f"mistakes/{player}"] = record.mistakes[seat]
        used = sum((turn.spent for turn in record.turns if turn.seat == seat), Usage())
        if used.tokens:
            row[f"tokens/{player}"], row[f"cost/{player}"] = used.tokens, used.cost
    return row | {f"measure/{name}": value for name, value in measure(record).items()}
