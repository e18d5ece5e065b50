"""Runs and training in dashboards, each with the real library, without a network."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import palestra
import pytest
from palestra import InvalidOption, MissingExtra, UnknownName
from palestra.cli import main
from palestra.runner.loggers import EpisodeLog, episode_row, finite, metric_name, open_logger

ROWS = ((1, {"loss": 0.5, "return/player_0": -1.0}), (4, {"loss": 0.25, "return/player_0": 2.0}))


class Kept:
    """A logger that keeps what it is given."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, dict[str, float]]] = []

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self.rows.append((step, dict(values)))

    def close(self) -> None:
        self.rows.append((0, {}))


def test_every_finished_episode_is_a_row() -> None:
    kept = Kept()
    records = palestra.play(
        "games/ConnectFour-v0",
        agents=["random", "mcts:simulations=4"],
        episodes=3,
        seed=5,
        hooks=[EpisodeLog(kept)],
    )
    assert [step for step, _ in kept.rows] == [1, 2, 3]
    assert sorted(row["steps"] for _, row in kept.rows) == sorted(len(r.steps) for r in records)
    for _, row in kept.rows:
        assert row["return/player_0"] == -row["return/player_1"]
        assert row["measure/win:player_0"] == (row["return/player_0"] == 1)


def test_a_row_says_what_a_seat_used_and_refused() -> None:
    (record,) = palestra.play(
        "text/Negotiation-v0", agents=["llm:echo:Walk()", "llm:echo:nonsense"], seed=1
    )
    row = finite(episode_row(record))
    assert row["mistakes/player_1"] == record.mistakes[1]
    spent = sum(turn.spent.tokens for turn in record.turns if turn.seat == 0)
    assert row.get("tokens/player_0", 0) == spent
    assert all(math.isfinite(value) for value in row.values())


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("tensorbord:x", UnknownName, "did you mean 'tensorboard'"),
        ("wandb", InvalidOption, "needs a place, as in wandb:project,mode=offline"),
        ("wandb:chess,offline", InvalidOption, "'offline' is not of the form option=value"),
        ("tensorboard:x,colour=red", InvalidOption, "colour"),
    ],
)
def test_a_logger_that_cannot_be_opened_says_why(
    text: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        open_logger(text, "run")


def test_a_missing_library_names_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(MissingExtra, match=r"palestra\[wandb\]"):
        open_logger("wandb:project", "run")


def test_names_that_mlflow_refuses_are_changed() -> None:
    assert metric_name("measure/win:player_0 (+)") == "measure/win:player_0 ___"


@pytest.mark.slow
def test_tensorboard_reads_what_was_logged(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    written = open_logger(f"tensorboard:{tmp_path}", "a-run")
    for step, row in ROWS:
        written.log(step, row)
    written.close()
    events = EventAccumulator(str(tmp_path / "a-run"))
    events.Reload()
    found = [
        (event.step, float(event.tensor_proto.float_val[0])) for event in events.Tensors("loss")
    ]
    assert found == [(1, 0.5), (4, 0.25)]


@pytest.mark.slow
def test_mlflow_reads_what_was_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # the small distribution has no database; a server would keep the same rows
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    from mlflow import MlflowClient

    place = (tmp_path / "store").as_uri()
    written = open_logger(f"mlflow:{place},experiment=tests", "a-run")
    for step, row in ROWS:
        written.log(step, row)
    written.close()
    client = MlflowClient(tracking_uri=place)
    experiment = client.get_experiment_by_name("tests")
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    history = client.get_metric_history(run.info.run_id, "return/player_0")
    assert [(value.step, value.value) for value in history] == [(1, -1.0), (4, 2.0)]


@pytest.mark.slow
def test_wandb_keeps_a_run_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_SILENT", "true")
    written = open_logger(f"wandb:tests,mode=offline,folder={tmp_path}", "a-run")
    for step, row in ROWS:
        written.log(step, row)
    written.close()
    held, deadline = b"", time.monotonic() + 20  # its own process may still be writing
    while b"0.25" not in held and time.monotonic() < deadline:
        held = b"".join(path.read_bytes() for path in tmp_path.glob("wandb/offline-run-*/*.wandb"))
        time.sleep(0.1)
    assert b"return/player_0" in held
    assert b"0.25" in held


@pytest.mark.slow
def test_trackio_keeps_a_run_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path))
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    written = open_logger("trackio:tests", "a-run")
    for step, row in ROWS:
        written.log(step, row)
    written.close()
    (store,) = tmp_path.rglob("tests.db")
    with closing(sqlite3.connect(store)) as database:
        rows = database.execute("select step, metrics from metrics order by step").fetchall()
    assert [step for step, _ in rows] == [1, 4]
    assert "0.25" in str(rows[1][1])


@pytest.mark.slow
def test_play_and_train_log_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    monkeypatch.chdir(tmp_path)
    where = ("--log", "tensorboard:tb", "--out")
    for command in (
        ("play", "games/TicTacToe-v0", "--agents", "random", "--episodes", "3", *where, "played"),
        ("train", "games/TicTacToe-v0", "--steps", "20000", "--reports", "2", *where, "learnt"),
    ):
        with pytest.raises(SystemExit) as stop:
            main(list(command))
        assert not stop.value.code, capsys.readouterr()
    capsys.readouterr()
    read = {}
    for run in ("played", "learnt"):
        events = EventAccumulator(str(tmp_path / "tb" / run))
        events.Reload()
        read[run] = {name: len(events.Tensors(name)) for name in events.Tags()["tensors"]}
    assert read["played"]["return/player_1"] == 3
    assert read["learnt"]["entropy"] >= 2
