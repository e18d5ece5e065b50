"""Runs that are interrupted: what is finished stays, what is begun goes on."""

from __future__ import annotations

import errno
import gc
import os
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import palestra
import palestra.records.verify
import pytest
from palestra import Agent, Budget, Decision, InvalidOption, Turn, Usage
from palestra.records.record import EpisodeRecord, read_records, write_records
from palestra.runner.run_folder import BLOCK, FINISHED, PLAN, UNFINISHED

C4 = "games/ConnectFour-v0"


class Tiring(Agent):
    """Plays by what it sees, writes its moves, and is interrupted after so many of them."""

    name = "tiring"

    def __init__(self, moves: int) -> None:
        self.left = moves
        self.answered = 0

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        self.left -= len(turns)
        if self.left < 0:
            raise KeyboardInterrupt
        self.answered += len(turns)
        return [self._move(turn) for turn in turns]

    def _move(self, turn: Turn) -> Decision:
        moves = turn.legal_texts
        pick = moves[turn._episode.seed % len(moves)]
        return Decision(text=pick, usage=Usage(calls=1, tokens_in=3, seconds=0.5), thought="hm")


def run(folder: Path, moves: int, **settings: Any) -> tuple[Tiring, list[EpisodeRecord]]:
    agent = Tiring(moves)
    made = palestra.play(C4, agents=[agent, agent], episodes=6, out=folder, live=3, **settings)
    return agent, made


def comparable(records: list[EpisodeRecord]) -> list[EpisodeRecord]:
    return sorted(records, key=lambda record: record.number)


def test_a_resumed_run_ends_as_if_it_had_never_stopped(tmp_path: Path) -> None:
    whole, _ = run(tmp_path / "whole", 10_000)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "parts", 30)
    begun = read_records(tmp_path / "parts" / "unfinished.jsonl")
    assert begun
    assert all(record.outcome is None and record.steps for record in begun)
    rest, made = run(tmp_path / "parts", 10_000, resume=True)
    assert 30 + rest.answered == whole.answered, "no decision was asked for twice"
    assert {record.number for record in begun} <= {record.number for record in made}
    assert comparable(read_records(tmp_path / "parts" / "episode.jsonl")) == comparable(
        read_records(tmp_path / "whole" / "episode.jsonl")
    )
    assert not (tmp_path / "parts" / "unfinished.jsonl").exists()


def test_a_finished_run_plays_nothing_again(tmp_path: Path) -> None:
    run(tmp_path, 10_000)
    agent, made = run(tmp_path, 10_000, resume=True)
    assert (agent.answered, made) == (0, [])


def test_a_line_that_a_crash_cut_off_is_played_again(tmp_path: Path) -> None:
    run(tmp_path, 10_000)
    file = tmp_path / "episode.jsonl"
    whole = read_records(file)
    file.write_bytes(file.read_bytes()[:-20])
    _, made = run(tmp_path, 10_000, resume=True)
    assert len(made) == 1
    assert comparable(read_records(file)) == comparable(whole)


def test_what_was_spent_before_counts_against_the_budget(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, 30)
    agent, _ = run(tmp_path, 10_000, resume=True, budgets=Budget(calls=40))
    assert agent.answered <= 10 + 3  # a round of three episodes may be on its way


def test_another_run_is_not_continued(tmp_path: Path) -> None:
    run(tmp_path, 10_000)
    with pytest.raises(InvalidOption, match="holds a run with other seed: 0, not 5"):
        run(tmp_path, 10_000, resume=True, seed=5)
    with pytest.raises(InvalidOption, match="other agents"):
        palestra.play(C4, agents=["first", "first"], out=tmp_path, resume=True)
    with pytest.raises(InvalidOption, match="say which: out="):
        palestra.play(C4, agents=["first", "first"], resume=True)


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("env", "games/Hex-v0", "environment"),
        ("agents", ("first", "first"), "agents"),
        ("seed", 40, "seed"),
        ("options", {"rows": 7}, "options"),
    ],
)
def test_a_record_of_another_run_is_not_taken_for_ones_own(
    field: str, value: object, says: str, tmp_path: Path
) -> None:
    _, made = run(tmp_path, 10_000)
    records = [msgspec.structs.replace(made[0], **{field: value}), *made[1:]]
    (tmp_path / FINISHED).unlink()
    write_records(tmp_path / FINISHED, records)
    with pytest.raises(InvalidOption, match=f"holds a run with other {says}: "):
        run(tmp_path, 10_000, resume=True)


def test_a_seat_whose_answer_is_there_is_not_asked_again() -> None:
    asked: list[int] = []

    def stubborn(turn: Turn) -> Decision:
        asked.append(turn.seat)
        bad = turn.seat == 1 and not turn.error and turn.steps_played == 0
        return Decision(text="nonsense" if bad else turn.legal_texts[0])

    palestra.play("games/PrisonersDilemma-v0", agents=[stubborn, stubborn], max_episode_steps=1)
    assert asked == [0, 1, 1]


def test_a_stream_keeps_no_records() -> None:
    records = palestra.stream("games/TicTacToe-v0", agents=["random", "random"], episodes=5)
    assert sorted(record.number for record in records) == list(range(5))


@pytest.mark.exhaustive
@pytest.mark.slow
def test_memory_does_not_grow_with_finished_episodes() -> None:
    def held_after(episodes: int) -> int:
        gc.collect()
        tracemalloc.start()
        records = palestra.stream(C4, agents=["random", "random"], episodes=episodes + 50, live=8)
        for _ in range(episodes):
            next(records)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return held

    held_after(20)
    assert held_after(400) < 1.5 * held_after(40)


def test_a_disk_that_keeps_no_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As network file systems may."""

    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(palestra.PalestraError, match=r"cannot lock .*choose a folder on a disk of"):
        palestra.play(C4, agents=["first", "first"], out=tmp_path)


def of_another_release(folder: Path) -> None:
    """Make a run folder what an older release of palestra-games would have left."""
    plan = msgspec.json.decode((folder / "run.json").read_bytes())
    assert plan["versions"].keys() >= {"palestra", "palestra_games"}
    plan["versions"]["palestra_games"] = "0.0.1"
    (folder / "run.json").write_bytes(msgspec.json.encode(plan))
    for name in ("episode.jsonl", "unfinished.jsonl"):
        records = read_records(folder / name) if (folder / name).exists() else []
        (folder / name).unlink(missing_ok=True)
        for record in records:
            record.versions["palestra_games"] = "0.0.1"
            write_records(folder / name, [record])


def test_a_run_of_other_versions_is_named_and_resumed_only_if_that_is_wanted(
    tmp_path: Path,
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, 100)
    of_another_release(tmp_path)
    before = (tmp_path / "run.json").read_bytes()
    with pytest.raises(InvalidOption, match=r"palestra_games 0\.0\.1 \(installed: .*other_vers"):
        run(tmp_path, 10_000, resume=True)
    assert (tmp_path / "run.json").read_bytes() == before
    assert read_records(tmp_path / "unfinished.jsonl")
    done = [record.number for record in read_records(tmp_path / "episode.jsonl")]
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, 10, resume=True, other_versions=True)
    _, made = run(tmp_path, 10_000, resume=True)  # those installed are the run's own from now
    records = read_records(tmp_path / "episode.jsonl")
    assert sorted(record.number for record in records) == list(range(6))
    assert done
    olds = [r.number for r in records if r.versions["palestra_games"] == "0.0.1"]
    assert olds == done
    assert all(palestra.records.verify.verify(record) for record in made), "none mixes versions"


def test_versions_are_those_of_rules_agents_and_rewards(tmp_path: Path) -> None:
    palestra.play(
        "games/KuhnPoker-v0",
        agents=["mcts", "random"],
        rewards=["env", "novelty"],
        out=tmp_path,
        wording="tags",
    )
    plan = msgspec.json.decode((tmp_path / "run.json").read_bytes())
    parts = ("", "_games", "_agents", "_rewards")
    assert plan["versions"].keys() == {f"palestra{part}" for part in parts}


class Stopper(Tiring):
    """Presses Ctrl-C at one call of any of its methods."""

    def __init__(self, at: int) -> None:
        super().__init__(10_000)
        self.at, self.calls = at, 0

    def _call(self) -> None:
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        self._call()
        return super().act(turns)

    def forget(self, episode_key: int) -> None:
        self._call()


def test_ctrl_c_at_any_call_costs_no_answer(tmp_path: Path) -> None:
    """Also between two episodes that end in the same step."""

    def play(agent: Stopper, folder: Path) -> list[EpisodeRecord]:
        settings: dict[str, Any] = {"episodes": 5, "live": 3, "max_episode_steps": 5}
        palestra.play(C4, agents=[agent, agent], out=folder, resume=True, **settings)
        return comparable(read_records(folder / "episode.jsonl"))

    whole = Stopper(0)
    expected = play(whole, tmp_path / "whole")
    assert whole.calls > 10
    for at in range(1, whole.calls + 1):
        first, second, folder = Stopper(at), Stopper(0), tmp_path / str(at)
        with pytest.raises(KeyboardInterrupt):
            play(first, folder)
        assert play(second, folder) == expected, at
        assert first.answered + second.answered == whole.answered, at


def test_an_agent_that_cannot_be_closed_costs_nothing(tmp_path: Path) -> None:
    class Stuck(Tiring):
        def close(self) -> None:
            raise SystemExit("stuck")

    with pytest.warns(RuntimeWarning, match="agent 'tiring' could not be closed: SystemExit"):
        records = palestra.play(C4, agents=[Stuck(99), "random"], max_episode_steps=3, out=tmp_path)
    assert not records[0].error


ODD = (
    None,
    True,
    -1,
    2**70,
    1e308,
    "",
    "\x1b[2J" * 99,
    "x" * 10**6,
    [],
    [[]],
    {},
    {"zzz": 1},
    [{}],
)


def test_a_folder_whose_plan_is_another_one_is_never_resumed(tmp_path: Path) -> None:
    """Every field of another value, and every field under a name that is unknown."""
    run(tmp_path, 1000)
    file = tmp_path / PLAN
    plan = msgspec.json.decode(file.read_bytes())
    tried = 0
    for name, value in plan.items():
        for odd in ODD:
            if odd == value or (name == "versions" and odd == {}):
                continue
            for changed in (plan | {name: odd}, plan | {f"{name}s": odd}):
                file.write_bytes(msgspec.json.encode(changed))
                with pytest.raises(InvalidOption) as refused:
                    run(tmp_path, 0, resume=True)
                assert len(str(refused.value)) < 1000
                assert str(refused.value).isprintable()
                tried += 1
    assert tried > 200
    file.write_bytes(msgspec.json.encode(plan))
    assert len(run(tmp_path, 0, resume=True)[1]) == 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[" * 200_000, "cannot be read"),
        (b'{"seed": 1, "seed": 0, ', "the key 'seed' is given twice"),
        (b"\xff\xfe", "cannot be read"),
        (b"", "cannot be read"),
    ],
)
def test_a_plan_that_is_damaged_is_named(tmp_path: Path, content: bytes, says: str) -> None:
    run(tmp_path, 1000)
    file = tmp_path / PLAN
    rest = file.read_bytes().lstrip()[1:] if content.endswith(b", ") else b""
    file.write_bytes(content + rest)
    with pytest.raises(InvalidOption, match=says):
        run(tmp_path, 0, resume=True)


@pytest.mark.parametrize("name", [PLAN, FINISHED, UNFINISHED])
@pytest.mark.parametrize("place", ["a pipe", "a folder", "a device without end"])
def test_what_is_no_file_of_a_run_is_refused_at_once(tmp_path: Path, name: str, place: str) -> None:
    run(tmp_path, 1000)
    file = tmp_path / name
    file.unlink(missing_ok=True)
    if place == "a pipe":
        os.mkfifo(file)
    elif place == "a folder":
        file.mkdir()
    else:
        file.symlink_to("/dev/zero")
    with pytest.raises(InvalidOption, match=name):
        run(tmp_path, 0, resume=True)


@pytest.mark.parametrize("cut", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK])
def test_a_long_line_that_a_crash_cut_off_is_dropped(tmp_path: Path, cut: int) -> None:
    run(tmp_path, 1000)
    whole = (tmp_path / FINISHED).read_bytes()
    (tmp_path / FINISHED).write_bytes(whole + b"x" * cut)
    run(tmp_path, 0, resume=True)
    assert (tmp_path / FINISHED).read_bytes() == whole
