"""Rescoring: what old records are under today's readers and rules, with old ones left alone."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import msgspec
import palestra
import pytest
from palestra import Decision, EpisodeRecord, read_records, write_records
from palestra.cli import main, rescoring
from palestra.records.record import as_json
from palestra.records.rescore import Totals, rescore, rescore_all


def talking(text: str) -> list[EpisodeRecord]:
    """Games of tic-tac-toe in which seat 0 writes its moves, with `text` around them."""

    def act(turn: palestra.Turn) -> Decision:
        return Decision(text=text.format(turn.legal_texts[0]))

    return palestra.play("games/TicTacToe-v0", agents=[act, "random"], episodes=3, seed=5)


def test_a_record_of_today_does_not_change() -> None:
    for record in talking("Move: {}"):
        found = rescore(record)
        assert found.changes == []
        assert found.record.tags == {"rescored": []}
        found.record.tags = {}
        assert as_json(found.record) == as_json(record)


def test_an_answer_that_an_older_reader_found_in_prose_ends_the_episode_there() -> None:
    """The older rule took the last number of an answer: the record says 7 was played for it."""
    record = talking("{}")[0]
    turn = record.steps[2].turns[0]
    turn.raw = f"I will not play {turn.text}"
    before = as_json(record)
    found = rescore(record)
    [change] = found.changes
    assert (change.turn, change.seat, change.what) == (2, 0, "answer")
    assert (change.old, change.new) == (repr(turn.text), "refused")
    assert "no legal move is stated" in change.why
    assert found.record.outcome is not None
    assert found.record.outcome.results == ("truncated", "truncated")
    assert [t.text for t in found.record.turns] == [t.text for t in record.turns[:2]]
    assert as_json(record) == before, "the old record stays as it was"
    lost = rescore(record, forfeit=True).record
    assert lost.outcome is not None
    assert lost.outcome.results == ("forfeit", "win")
    assert lost.returns == (-1.0, 1.0)
    assert palestra.verify(lost)


def test_an_answer_that_was_read_as_another_move_is_found() -> None:
    record = talking("{}")[0]
    record.steps[0].turns[0].raw = "9"
    [change] = rescore(record).changes
    assert (change.old, change.new) == ("'1'", "'9'")


def test_an_answer_that_was_refused_and_is_read_today_is_found() -> None:
    record = palestra.play(
        "games/KuhnPoker-v0", agents=[Muttering(), "first"], episodes=1, invalid="retry:1"
    )[0]
    assert record.mistakes == (1, 0)
    assert rescore(record).changes == []
    record.turns[0].refused[0].raw = "**bet**."
    [change] = rescore(record).changes
    assert (change.old, change.new) == ("refused", "'bet'")


class Muttering(palestra.ScriptedAgent):
    """Says something unreadable first, then passes."""

    def choose(self, turn: palestra.Turn) -> Decision:
        return Decision(text="pass" if turn.error else "hm, bet or pass")


def test_returns_that_moves_do_not_earn_are_computed_again() -> None:
    record = talking("{}")[1]
    truth, record.returns = record.returns, (5.0, -5.0)
    found = rescore(record)
    [change] = found.changes
    assert (change.what, change.turn) == ("returns", -1)
    assert found.record.returns == truth


def test_a_move_that_is_not_legal_today_cuts_the_episode() -> None:
    record = talking("{}")[0]
    record.steps[1].turns[0].action = record.steps[0].turns[0].action
    found = rescore(record)
    assert [change.what for change in found.changes] == ["rules"]
    assert "do not allow it" in found.changes[0].why


def test_typed_actions_are_read_again_too() -> None:
    record = palestra.play(
        "text/Negotiation-v0",
        agents=["llm:echo:Propose(books=0, hats=0, balls=0)", "random"],
        max_episode_steps=3,
    )[0]
    assert rescore(record).changes == []
    record.turns[0].raw = "They said: Propose(books=0, hats=0, balls=0)"
    assert [c.new for c in rescore(record).changes] == ["refused"]


def test_metrics_then_and_now_are_added_up() -> None:
    records, totals = talking("{}"), Totals()
    records[0].steps[0].turns[0].raw = "no move"
    assert len(list(rescore_all(records, totals, forfeit=True))) == 3
    assert (totals.episodes, totals.cut, totals.changes) == (3, 1, {"answer": 1})
    assert ("forfeited", 0.0, pytest.approx(1 / 3)) in list(totals.metrics())


def test_the_command_writes_a_new_folder_and_never_the_old(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = talking("{}")
    records[1].steps[0].turns[0].raw = "I refuse to move 1"
    run = tmp_path / "run"
    write_records(run / "episode.jsonl", records)
    before = (run / "episode.jsonl").read_bytes()
    with pytest.raises(SystemExit) as done:
        main(["rescore", str(run)])
    assert not done.value.code
    out = capsys.readouterr().out
    assert "episode 1, turn 0, seat 0: answer '1' -> refused" in out
    assert "3 episodes, 1 of them end" in " ".join(out.split())
    new = tmp_path / "run-rescored"
    assert [len(r.turns) for r in read_records(new / "episode.jsonl")][1] == 0
    changes = [
        msgspec.json.decode(line) for line in (new / "changes.jsonl").read_bytes().splitlines()
    ]
    assert [change["episode"] for change in changes] == [1]
    assert (run / "episode.jsonl").read_bytes() == before
    with pytest.raises(SystemExit) as done:  # the path that `palestra play` prints
        main(["rescore", str(run / "episode.jsonl"), "--out", str(tmp_path / "again")])
    assert not done.value.code
    assert (tmp_path / "again" / "changes.jsonl").read_bytes()
    for folder in (run, tmp_path / "nowhere"):
        with pytest.raises(SystemExit) as refused:
            main(["rescore", str(folder)])
        assert refused.value.code == 2


@pytest.mark.parametrize("at", range(1, 6))
def test_a_folder_is_written_wholly_or_not_at_all(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records, run, written = talking("{}"), tmp_path / "run", [0]
    write_records(run / "episode.jsonl", records)
    monkeypatch.setattr(rescoring, "write_records", full_disk(at, written, rescoring.write_records))
    with pytest.raises(SystemExit) as ended:
        main(["rescore", str(run)])
    assert ended.value.code == (2 if at <= len(records) else 0)
    made = [path.name for path in tmp_path.iterdir() if path != run]
    assert made == ([] if at <= len(records) else ["run-rescored"])
    monkeypatch.undo()
    if not made:
        with pytest.raises(SystemExit) as ended:
            main(["rescore", str(run)])
        assert not ended.value.code, "the same command does it"


def full_disk(at: int, written: list[int], write: Any) -> Any:
    def call(*arguments: Any) -> Any:
        written[0] += 1
        if written[0] == at:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(*arguments)

    return call
