"""Inspect AI 0.3.285: `inspect eval` with a model role a seat, and its log read back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from inspect_ai.event import ModelEvent
from inspect_ai.log import read_eval_log
from model_service import serving
from page import PAGE, block
from palestra import EpisodeRecord
from palestra.records.record import replay
from palestra_arena.inspect_task import RECORD, palestra
from tiny_player import player

LAKE = {"num_players": 3, "rounds": 3, "talk": False}
ARENA = PAGE.parent / "evaluations.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return player(tmp_path_factory.mktemp("player") / "model", "text/Commons-v0", LAKE)


def evaluate(where: Path, url: str, *more: str) -> Any:
    """The log of `inspect eval` of this task, run as a user does."""
    inspect = Path(sys.executable).with_name("inspect")
    command = [str(inspect), "eval", "palestra_arena/palestra", "-T", "env=text/Commons-v0"]
    command += ["-T", "options={num_players: 3, rounds: 3, talk: false}", "--display", "none"]
    done = subprocess.run(
        [*command, *more, "--log-dir", str(where)],
        env={**os.environ, "TINY_BASE_URL": url, "TINY_API_KEY": "none"},
        cwd=where,
        capture_output=True,
        text=True,
        check=False,
    )
    logs = sorted(where.glob("*.eval"))
    assert logs, done.stdout + done.stderr
    return read_eval_log(str(logs[-1]))


def test_roles_take_seats_and_each_seat_has_its_score(folder: Path, tmp_path: Path) -> None:
    main, other = "openai-api/tiny/main", "openai-api/tiny/other"
    with serving(folder) as served:
        log = evaluate(
            tmp_path,
            served.url,
            *("--model", main, "--model-role", f"player_2={other}"),
            *("-T", "episodes=4", "-T", "seed=5", "-T", "agents={player_1: first}"),
        )
    assert log.status == "success", log.error
    asked = [exchange.body["model"] for exchange in served.exchanges]
    assert set(asked) == {"main", "other"}
    seeds = []
    for sample in log.samples:
        record = msgspec.json.decode(sample.store[RECORD], type=EpisodeRecord)
        seeds.append(record.seed)
        assert record.agents == ("player_0", "first", "player_2")
        assert tuple(replay(record).returns) == record.returns
        for seat in range(3):
            score = sample.scores[f"player_{seat}"]
            assert score.value == record.returns[seat]
            assert score.answer == record.outcome.results[seat]
            assert score.metadata["mistakes"] == record.mistakes[seat]
            assert sum(score.metadata["rewards"].values()) == pytest.approx(score.value)
        calls = [event for event in sample.events if isinstance(event, ModelEvent)]
        assert {call.role for call in calls} <= {None, "player_0", "player_2"}
        assert len(calls) >= 2
        assert sample.model_usage
    assert sorted(seeds) == [5, 6, 7, 8]
    calls = sum(isinstance(event, ModelEvent) for sample in log.samples for event in sample.events)
    assert calls == len(served.exchanges)
    scored = {score.name: score.metrics["mean"].value for score in log.results.scores}
    for seat in range(3):
        paid = [sample.scores[f"player_{seat}"].value for sample in log.samples]
        assert scored[f"player_{seat}"] == pytest.approx(sum(paid) / 4)


def test_an_engine_that_is_away_is_the_logs_error(tmp_path: Path) -> None:
    log = evaluate(
        tmp_path,
        "http://127.0.0.1:9/v1",
        *("--model", "openai-api/tiny/main", "-T", "episodes=1", "--max-retries", "0"),
    )
    assert log.status == "error"
    assert "onnect" in log.error.message


def test_a_seat_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="no seat 'player_7'"):
        palestra(agents={"player_7": "first"})


def test_the_page(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TINY_API_KEY", "none")
    with serving(folder) as served:
        monkeypatch.setenv("TINY_BASE_URL", served.url)
        code = block(
            "Inspect AI",
            ARENA,
            {
                "openai/gpt-4.1-mini": "openai-api/tiny/a",
                "openai/gpt-4.1-nano": "openai-api/tiny/b",
            },
        )
        names: dict[str, Any] = {}
        exec(compile(code, "evaluations.md", "exec"), names)
    (log,) = names["logs"]
    assert log.status == "success", log.error
    assert {exchange.body["model"] for exchange in served.exchanges} == {"a", "b"}
