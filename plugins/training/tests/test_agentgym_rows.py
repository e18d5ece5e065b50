"""Trajectories in AgentGym's form: the form as its own page shows it, there and back."""

from __future__ import annotations

import json
from pathlib import Path

import palestra
import pytest
from datasets import load_dataset
from palestra import EpisodeRecord, InvalidOption
from palestra.cli import main
from palestra_training.agentgym_rows import agentgym_rows, messages_of, read_agentgym_rows
from palestra_training.text_rows import imitation_rows, trajectories

# What AgentGym's page says of a part: whose it is, and whether it is trained on
RULES = [("human", None), ("gpt", False)]
TURN = [("human", None), ("gpt", True)]


@pytest.fixture(scope="module")
def records() -> list[EpisodeRecord]:
    """Three starts of one player, one of whom is random, and a start of two players."""
    solver = palestra.play("web/ToolWorld-v0", agents=["tool-solver"], episodes=3, seed=7)
    others = palestra.play("web/ToolWorld-v0", agents=["random"], episodes=3, seed=7)
    board = palestra.play("games/TicTacToe-v0", agents=["minimax", "first"], seed=2)
    return [*solver, *others, *board]


def test_rows_have_the_form_of_the_authors_page(records: list[EpisodeRecord]) -> None:
    rows = list(agentgym_rows(trajectories(records)))
    assert len(rows) == 3 + 2, "the best of each start, and both seats of the board"
    for row in rows:
        assert list(row) == ["item_id", "conversations"]
        parts = [(one["from"], one["loss"]) for one in row["conversations"]]
        answers = sum(loss is True for _, loss in parts)
        assert parts == RULES + TURN * answers
        assert row["conversations"][1]["value"] == "Ok."
    for row in rows[:3]:
        env, index = row["item_id"].rsplit("_", 1)  # as the authors' trainer takes it apart
        assert (env, int(index) in {r.seed for r in records}) == ("web/ToolWorld-v0", True)


def test_messages_come_back(records: list[EpisodeRecord]) -> None:
    played = trajectories(records)
    wanted = [row["messages"] for row in imitation_rows(played)]
    rows = json.loads(json.dumps(list(agentgym_rows(played))))
    assert [row["messages"] for row in read_agentgym_rows(rows)] == wanted


def test_a_conversation_of_theirs_is_read() -> None:
    parts = [
        {"from": "human", "loss": None, "value": "You are shopping."},
        {"from": "gpt", "loss": False, "value": "Ok."},
        {"from": "human", "loss": None, "value": "Find shorts."},
        {"from": "gpt", "loss": True, "value": "Action:\nsearch[shorts]"},
    ]
    roles = [one["role"] for one in messages_of(parts)]
    assert roles == ["system", "user", "assistant"]
    (row,) = read_agentgym_rows(
        [
            {"item_id": "webshop_6", "conversations": parts},
            {"item_id": "x_1", "conversations": None},
        ]
    )
    assert row["item_id"] == "webshop_6"


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"conversations": []}, "'item_id'"),
        ({"item_id": 3, "conversations": []}, "'item_id'"),
        ({"item_id": "a_1"}, "'conversations'"),
        ({"item_id": "a_1", "conversations": [{"from": "system", "value": "x"}]}, "part 0"),
        ({"item_id": "a_1", "conversations": [{"from": "gpt", "value": None}]}, "part 0"),
    ],
)
def test_other_rows_are_refused(row: dict[str, object], why: str) -> None:
    with pytest.raises(InvalidOption, match=why):
        list(read_agentgym_rows([row]))


def test_positions_without_a_conversation_are_refused(records: list[EpisodeRecord]) -> None:
    with pytest.raises(InvalidOption, match="--history"):
        list(agentgym_rows(trajectories(records, history="bare")))


def test_the_command_writes_a_file_that_datasets_reads(tmp_path: Path) -> None:
    palestra.play(
        "web/ToolWorld-v0", agents=["tool-solver"], episodes=2, seed=1, out=tmp_path / "run"
    )
    out = tmp_path / "traj.jsonl"
    with pytest.raises(SystemExit) as ended:
        main(["export-llm", str(tmp_path / "run"), "--rows", "agentgym", "--out", str(out)])
    assert ended.value.code == 0
    rows = load_dataset("json", data_files=str(out), split="train", cache_dir=str(tmp_path))
    assert len(rows) == 2
    assert {part["from"] for part in rows[0]["conversations"]} == {"human", "gpt"}
