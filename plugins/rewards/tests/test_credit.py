"""`palestra credit`: bars and heat-maps of recorded episodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import palestra
import pytest
from palestra.cli import main
from palestra_rewards import estimate
from palestra_rewards.credit import HALF, bar, heat_map


@pytest.fixture
def file(tmp_path: Path) -> Path:
    records = palestra.rollouts("games/Wordle-v0", agents=["random"], seed=1, n=3)
    return palestra.write_records(tmp_path / "episodes.jsonl", records)


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    with pytest.raises(SystemExit) as done:
        main(["credit", *arguments])
    assert not done.value.code, capsys.readouterr().err
    return capsys.readouterr().out.splitlines()


def test_every_turn_of_an_episode_has_a_bar(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = palestra.read_records(file)
    lines = shown(capsys, str(file), "--by", "reinforce", "--episode", "1")
    assert len(lines) == 1 + len(records[1].turns)
    values = estimate("reinforce", records).per_episode()[1]
    for line, value in zip(lines[1:], values, strict=True):
        assert f"{value:+.3f}" in line


def test_a_heat_map_has_a_line_an_episode_and_a_character_a_turn(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(capsys, str(file), "--by", "gigpo", "--heat")
    drawn = [line.split()[1] for line in lines if line.strip()]
    assert [len(row) for row in drawn] == [len(r.turns) for r in palestra.read_records(file)]


def test_bars_start_in_the_middle() -> None:
    assert bar(1.0).plain == " " * HALF + "█" * HALF
    assert bar(-0.5).plain == " " * (HALF // 2) + "█" * (HALF // 2)
    assert bar(0.0).plain.strip() == ""


def test_shades_follow_size() -> None:
    assert heat_map([np.array([0.0, 0.5, -1.0])]).plain.split() == ["0", "·▒█"]


def test_an_episode_that_is_not_there_is_named(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["credit", str(file), "--by", "grpo", "--episode", "9"])
    assert "has 3 episodes" in capsys.readouterr().err


def test_a_runs_folder_is_read_and_a_path_without_records_is_named(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    file.rename(folder / "episode.jsonl")
    by = ("--by", "step-judge:judge=echo:good")
    assert shown(capsys, str(folder), *by) == shown(capsys, str(folder / "episode.jsonl"), *by)
    with pytest.raises(SystemExit):
        main(["credit", str(tmp_path / "none.jsonl"), *by])
    assert "there are no records at" in capsys.readouterr().err
