"""Files from elsewhere, damaged in every way: each reader says so in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import palestra
import pytest
from palestra import EpisodeRecord, PalestraError, RecordError
from palestra.cli import main
from palestra.llm.prices import price_table
from palestra.records.record import iter_records, read_records, replay
from palestra.records.verify import verify
from palestra.runner.run_folder import PLAN, RunFolder, RunPlan
from palestra.testing.fuzzing.case import read_findings
from palestra_adapters.tasked import read_tasks
from palestra_arena.ablate_command import read_wordings
from palestra_arena.evaluations import daily_dilemmas, human_agency
from palestra_arena.evaluations.pipa import read_traces
from palestra_arena.evaluations.topology_regression import read_configurations
from palestra_arena.probes import read_set
from palestra_arena.settings import read_settings
from palestra_rewards.judges import Judge
from palestra_rewards.steps.tabled import TableReward
from palestra_rewards.tabular.acting import Advisors
from palestra_training.plan import read_plan

DEEP = 100_000
DAMAGED = {
    "empty": b"",
    "cut off": b'{"a": [1,',
    "no text": b"\xff\xfe\x00",
    "half a character": b'{"a": "\\ud800"}',
    "a number": b"5",
    "a list": b"[1, {}, null]",
    "other fields": b'{"a": 1, "values": 3, "terms": [], "games/Kuhn-v0": 4}',
    "other types": b'{"env": {}, "agents": 5, "terms": {}, "memories": 3, "text": null}',
    "nested": b'{"a": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "nested open": b"[" * DEEP,
    "a long number": b'{"a": ' + b"9" * 10_000 + b"}",
}


def resume(file: Path) -> Any:
    file.rename(file.parent / PLAN)
    plan = RunPlan("games/KuhnPoker-v0", {}, 0, ("random",), "raise")
    with RunFolder(file.parent, plan, resume=True) as folder:
        return folder


READERS: dict[str, Callable[[Path], Any]] = {
    "records": read_records,
    "run folder": resume,
    "tasks": lambda file: read_tasks(str(file)),
    "wordings": lambda file: read_wordings(file, "games/Kuhn-v0"),
    "probe set": read_set,
    "dilemmas": daily_dilemmas.read_original,
    "requests": human_agency.read_original,
    "traces": read_traces,
    "configurations": read_configurations,
    "settings as JSON": read_settings,
    "settings as TOML": lambda file: read_settings(file.rename(file.with_suffix(".toml"))),
    "judgements": lambda file: Judge("echo:", cache=file),
    "table": lambda file: TableReward(table=str(file)),
    "advisors": Advisors.read,
    "training plan": read_plan,
    "training plan as TOML": lambda file: read_plan(file.rename(file.with_suffix(".toml"))),
    "prices": price_table,
    "memory": lambda file: palestra.make_agent(f"reflexion:echo:,memory={file}"),
    "findings": lambda file: list(read_findings(file)),
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED.keys())
@pytest.mark.parametrize("read", READERS.values(), ids=READERS.keys())
def test_a_damaged_file_is_read_or_refused(
    read: Callable[[Path], Any], damage: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "damaged.json"
    file.write_bytes(damage)
    with suppress(PalestraError):
        read(file)


@pytest.mark.parametrize(
    "name", ["records", "settings as JSON", "advisors", "table", "tasks", "memory"]
)
def test_nesting_is_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / "nested.json"
    file.write_bytes(DAMAGED["nested"])
    with pytest.raises(PalestraError):
        READERS[name](file)


@pytest.mark.parametrize("price", ["nan", "inf", "-1", '"2"'])
def test_a_price_that_no_budget_could_count_is_refused(price: str, tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(f'["echo:*"]\nin = {price}\n')
    with pytest.raises(palestra.InvalidOption, match="prices are numbers of 0 or more"):
        price_table(file)


def record() -> EpisodeRecord:
    (one,) = palestra.play("text/Negotiation-v0", agents="random", seed=3, max_episode_steps=8)
    return one


def test_a_nested_record_keeps_those_before_it(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    whole = msgspec.json.encode(record())
    file.write_bytes(whole + b"\n" + whole[:-1] + b',"tags":' + b"[" * DEEP + b"\n")
    found = iter_records(file)
    assert next(found).seed == 3
    with pytest.raises(RecordError, match="line 2: not a record"):
        next(found)


@pytest.mark.parametrize("change", ["type", "extra", "mistakes", "facts"])
def test_a_forged_record_diverges_and_raises_nothing_else(change: str) -> None:
    forged = record()
    turn = forged.steps[0].turns[0]
    if change == "type":
        turn.action = {**turn.action, "type": "Nothing"}
    elif change == "extra":
        turn.action = [turn.action]
    elif change == "mistakes":
        forged.mistakes = forged.mistakes[:1]
    else:
        forged.steps[0].facts = {"forged": 1}
    with pytest.raises(palestra.Divergence):
        verify(forged)
    if change in ("type", "extra"):
        with pytest.raises(palestra.Divergence):
            replay(forged)


def test_a_name_in_a_record_moves_no_cursor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forged = record()
    forged.env = "\x1b[2Jgames/\u202eown-v0"
    file = tmp_path / "episode.jsonl"
    file.write_bytes(msgspec.json.encode(forged) + b"\n")
    with pytest.raises(SystemExit):
        main(["measure", str(file)])
    said = capsys.readouterr().out
    assert "\x1b[2J" not in said
    assert "\u202e" not in said
    assert "\\u{202e}own-v0" in said
