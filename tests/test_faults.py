"""Disks, files, clocks and ports that fail: one sentence, an exit code, and nothing lost."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import re
import shutil
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import palestra
import pytest
from mortal import Clock, untimed
from palestra import (
    Budget,
    Decision,
    EpisodeRecord,
    InvalidOption,
    ModelError,
    PalestraError,
    Turn,
    Usage,
    hookimpl,
    verify,
)
from palestra.agents.models import Model, PartialReplies, Reply, Request
from palestra.cli import main
from palestra.records.record import read_records, write_records
from palestra.runner.run_folder import sole_writer
from palestra.shaping import potential_based
from palestra_arena import Settings, Store, run_tournament
from palestra_arena.report import leaderboard_of
from palestra_rewards.judges import Judge
from palestra_rewards.judges.service import ask

KUHN = "games/KuhnPoker-v0"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the program; its exit code, output and errors."""

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main(list(map(str, arguments)))
        return int(stop.value.code or 0), *capsys.readouterr()

    return call


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A disk of its own with these mount options; told others, it is mounted again with them."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = []

    def mount(options: str) -> Path:
        settings = f"remount,{options}" if mounted else options
        command = ["mount", "-t", "tmpfs", "-o", settings, "tmpfs", str(folder)]
        if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("a small disk can be mounted by root on Linux only")
        mounted.append(folder)
        return folder

    yield mount
    if mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def finished(folder: Path) -> list[Any]:
    records = read_records(folder / "episode.jsonl")
    return [untimed(record) for record in sorted(records, key=lambda record: record.number)]


def one_sentence(said: str) -> bool:
    return said.startswith("palestra: ") and said.count("\n") == 1


# A full disk


class FullDisk(Clock):
    """Has no room at one boundary."""

    def tick(self, before: Callable[[], object] = lambda: None) -> None:
        self.count += 1
        if self.count == self.last:
            before()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_no_room_at_any_write_of_play_costs_nothing_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palestra.runner.run_folder.SAVE_EVERY", -1.0)

    def play(folder: Path, resume: bool = False) -> None:
        agents = ["random", "random"]
        palestra.play(KUHN, agents=agents, episodes=3, live=2, out=folder, resume=resume)

    play(tmp_path / "warm")  # imports
    with FullDisk(0, really=False) as clock:
        play(tmp_path / "whole")
    whole = finished(tmp_path / "whole")
    refused = list[str]()
    for last in range(1, clock.count + 1):
        folder = tmp_path / str(last)
        with FullDisk(last, really=False):
            try:
                play(folder)
            except PalestraError as error:
                refused.append(str(error))
            else:
                assert finished(folder) == whole, "a folder that is there already need not be made"
        play(folder, resume=True)
        assert finished(folder) == whole
    assert len(refused) > 20
    assert all("No space left on device; free some room" in said for said in refused)


def test_play_on_a_full_disk_says_so_and_resumes(
    disk: Callable[[str], Path], run: Run, tmp_path: Path
) -> None:
    folder = disk("size=64k")
    common = ["play", KUHN, "--episodes", 150, "--no-replays", "--out"]
    code, _, said = run(*common, folder)
    assert (code, one_sentence(said)) == (2, True), said
    assert "No space left on device; free some room" in said
    assert not run("play", KUHN, "--episodes", 150, "--no-replays", "--out", tmp_path / "whole")[0]
    disk("size=8m")
    assert run(*common, folder, "--resume")[0] == 0
    assert finished(folder) == finished(tmp_path / "whole")


def test_a_tournament_on_a_full_disk_says_so_and_resumes(
    disk: Callable[[str], Path], run: Run
) -> None:
    store = disk("size=512k") / "arena.db"
    command = ["tournament", KUHN, "--agents", "random,first", "--games", 400, "--store", store]
    code, _, said = run(*command)
    assert (code, one_sentence(said)) == (2, True), said
    disk("size=32m")
    with Store(store) as kept:
        before = len(kept)
    assert 0 < before < 400
    assert run(*command)[0] == 0
    with Store(store) as kept:
        assert len(kept) == 400


@pytest.mark.slow
def test_training_on_a_full_disk_keeps_the_last_checkpoint(
    disk: Callable[[str], Path], run: Run, tmp_path: Path
) -> None:
    from palestra_agents.ppo.checkpoint import read_checkpoint

    common = ["train", "games/PrisonersDilemma-v0", "--set=num_envs=4", "--set=horizon=4"]
    common += ["--steps", 96, "--reports", 3, "--set=minibatches=1", "--out"]
    assert run(*common, tmp_path / "whole")[0] == 0
    size = (tmp_path / "whole" / "policy.pt").stat().st_size
    folder = disk(f"size={3 * size // 2}")
    code, _, said = run(*common, folder)
    assert (code, one_sentence(said), "No space left" in said) == (2, True, True), said
    assert read_checkpoint(folder).steps == 32
    disk("size=32m")
    assert run(*common, folder, "--resume")[0] == 0
    whole, parts = (read_checkpoint(place).network for place in (tmp_path / "whole", folder))
    assert all((values == parts[name]).all() for name, values in whole.items())


def test_a_read_only_folder_is_one_sentence(
    disk: Callable[[str], Path], run: Run, tmp_path: Path
) -> None:
    folder = disk("size=1m")
    (record,) = palestra.play(KUHN, agents=["random", "random"], out=folder / "kept")
    run_tournament(Settings(environments=(KUHN,), agents=("random", "first")), folder / "a.db")
    disk("ro")
    file = write_records(tmp_path / "episode.jsonl", [record])
    for command in (
        ["play", KUHN, "--out", folder / "new"],
        ["play", KUHN, "--out", folder / "kept", "--resume", "--episodes", 9],
        ["replay", file, "--html", folder / "page.html"],
        ["replay", file, "--gif", folder / "page.gif"],
        ["tournament", KUHN, "--agents", "random,first", "--store", folder / "b.db"],
        ["tournament", KUHN, "--agents", "random,first", "--store", folder / "a.db"],
        ["pages", folder / "pages", "--namespace", "rewards"],
    ):
        code, _, said = run(*command)
        assert (code, one_sentence(said)) == (2, True), (command, said)


# Writers, databases, records


def test_two_trainings_cannot_write_in_one_folder(run: Run, tmp_path: Path) -> None:
    with sole_writer(tmp_path):
        code, _, said = run("train", KUHN, "--out", tmp_path, "--set=num_envs=4", "--steps", 8)
    assert code == 2
    assert "another process is writing in" in said


def test_a_locked_store_is_one_sentence(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "a.db"
    Store(store).close()
    held = sqlite3.connect(store, isolation_level=None)
    held.execute("BEGIN EXCLUSIVE")
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, **more: connect(path, **more | {"timeout": 0})
    )
    for command in (
        ["tournament", KUHN, "--agents", "random,first", "--store", store],
        ["results", store],
    ):
        code, _, said = run(*command)
        assert (code, one_sentence(said)) == (2, True), said
        assert "locked; another program holds it" in said
    held.close()


def test_a_damaged_store_is_one_sentence_wherever_the_damage_is(tmp_path: Path) -> None:
    settings = Settings(environments=(KUHN,), agents=("random", "first"), games=8)
    with Store(tmp_path / "whole.db") as store:
        run_tournament(settings, store)
        leaderboard_of(store.tally())
    whole = (tmp_path / "whole.db").read_bytes()
    told = 0
    for number, place in enumerate(range(0, len(whole), len(whole) // 150)):
        file = tmp_path / f"{number}.db"
        file.write_bytes(
            whole[:place] + bytes(b ^ 0x5A for b in whole[place : place + 16]) + whole[place + 16 :]
        )
        try:
            with Store(file) as store:
                list(store.results())
                list(store.records())
                leaderboard_of(store.tally())
                store.settings()
        except PalestraError as error:
            told += str(file) in str(error)
    assert told > 20


@pytest.fixture(scope="module")
def records() -> list[EpisodeRecord]:
    """One episode of six unlike environments, with refused answers and thoughts."""

    def stubborn(turn: Turn) -> Decision:
        text = "I refuse" if not turn.tries and turn.steps_played % 5 == 0 else None
        rng = turn.rng(3, 1)
        action = None if text else turn.sample(rng)
        return Decision(action=action, text=text, thought="hm", model="m")

    ids = {
        "games/ConnectFour-v0": 2,
        KUHN: 2,
        "games/LiarsDice-v0": 2,
        "text/Negotiation-v0": 2,
        "games/PrisonersDilemma-v0": 2,
        "games/TicTacToe-v0": 2,
    }
    return [palestra.play(env, agents=[stubborn] * seats, seed=5)[0] for env, seats in ids.items()]


def test_a_flipped_byte_anywhere_in_a_file_is_a_record_error_or_a_record(
    records: list[EpisodeRecord], tmp_path: Path
) -> None:
    """Every byte of a record between two others: the one before it is kept whatever happens."""
    first, flipped, last = (msgspec.json.encode(records[n]) + b"\n" for n in (1, 4, 1))
    file = tmp_path / "episode.jsonl"
    for place in range(0, len(flipped), 7):
        for bit in (0, 7):
            forged = bytearray(flipped)
            forged[place] ^= 1 << bit
            file.write_bytes(first + bytes(forged) + last)
            try:
                kept = read_records(file)[:1]
            except palestra.RecordError as error:
                kept = records[1:2] * error.kept
            assert kept[0] == records[1]


@pytest.mark.slow
def test_a_flipped_bit_is_found_or_stands_in_what_is_taken_on_trust(
    records: list[EpisodeRecord], tmp_path: Path
) -> None:
    """1,200 flips over six environments; the oracle is the field that the bit stands in."""
    rng = random.Random(7)
    lines = [msgspec.json.encode(record) for record in records]
    games = [palestra.game(record.env, **record.options) for record in records]
    file = tmp_path / "episode.jsonl"
    missed = []
    for number in range(1200):
        which = number % len(lines)
        forged = bytearray(lines[which])
        place = rng.randrange(len(forged))
        forged[place] ^= 1 << rng.randrange(8)
        file.write_bytes(bytes(forged) + b"\n")
        with suppress(PalestraError):
            (record,) = read_records(file)
            trusted = verify(record, games[which])
            if record != records[which] and not set(differing(record, records[which])) <= set(
                trusted
            ):
                missed.append(bytes(forged[max(0, place - 40) : place + 20]))
    assert not missed, missed[:5]


def differing(one: EpisodeRecord, other: EpisodeRecord) -> Iterator[str]:
    """Names of the fields in which two records differ, those of turns by their own names."""
    for name in EpisodeRecord.__struct_fields__:
        if name != "steps" and getattr(one, name) != getattr(other, name):
            yield name
    for turn, again in zip(one.turns, other.turns, strict=True):
        for name in type(turn).__struct_fields__:
            if getattr(turn, name) != getattr(again, name):
                yield name


# Faults in the middle of an episode


class OfItsOwn(BaseException):
    """What some libraries raise past `except Exception`."""


class Unwritable(Exception):
    def __str__(self) -> str:
        raise SystemExit("a bug")


RAISED = (ZeroDivisionError, SystemExit, OfItsOwn, Unwritable, asyncio.CancelledError)


class Faulty:
    """Counts calls, and raises at one of them."""

    def __init__(self, at: int) -> None:
        self.at, self.calls = at, 0

    def call(self) -> None:
        self.calls += 1
        if self.calls == self.at:
            raise RAISED[self.at % len(RAISED)]("a bug")


METHODS = (
    "initial",
    "to_act",
    "legal",
    "is_legal",
    "step",
    "outcome",
    "describe",
    "clone",
    "forfeit",
)


def faulty_game(fault: Faulty) -> Any:
    """A text game all of whose rules go through `fault`."""
    rules = palestra.game("text/Negotiation-v0", max_turns=4)

    def through(name: str) -> Any:
        def call(self: Any, *arguments: Any, **more: Any) -> Any:
            fault.call()
            return getattr(super(kind, self), name)(*arguments, **more)

        return call

    names = [name for name in METHODS if hasattr(rules, name)]
    kind: Any = type("Rules", (type(rules),), {name: through(name) for name in names})
    return kind(max_turns=4)


def listener(fault: Faulty) -> Any:
    class Listener:
        @hookimpl
        def palestra_episode_started(self, episode: Any) -> None:
            fault.call()

        @hookimpl
        def palestra_turn_ready(self, turn: Turn) -> None:
            fault.call()

        @hookimpl
        def palestra_action_chosen(self, turn: Turn, decision: Decision) -> None:
            fault.call()

        @hookimpl
        def palestra_stepped(self, episode: Any) -> None:
            fault.call()

        @hookimpl
        def palestra_episode_finished(self, episode: Any) -> None:
            fault.call()

    return Listener()


def faulty_agent(fault: Faulty) -> Any:
    def act(turn: Turn) -> Any:
        fault.call()
        return turn.sample(turn.rng(1, 1))

    return act


def refuser(turn: Turn) -> Decision:
    """Refuses to play from its second turn on, and so forfeits."""
    if turn.steps_played > 2:
        return Decision(text="I refuse")
    return Decision(action=turn.sample(turn.rng(1, 1)))


def spender(turn: Turn) -> Decision:
    return Decision(action=turn.sample(turn.rng(1, 1)), usage=Usage(calls=1))


SECONDS = {"plays": None, "forfeits": refuser, "spends its budget": spender}


def faulty_shaper(fault: Faulty) -> Any:
    @potential_based
    def shaper(step: Any) -> dict[str, float]:
        fault.call()
        return {"goodness": 1.0}

    return shaper


@pytest.mark.filterwarnings("ignore:.*ended in an error:RuntimeWarning")
@pytest.mark.parametrize("second", SECONDS)
@pytest.mark.parametrize("where", ["game", "agent", "listener", "shaper"])
def test_a_fault_at_any_call_costs_no_finished_episode(
    where: str, second: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(fault: Faulty, folder: Path) -> list[EpisodeRecord]:
        game = (
            faulty_game(fault)
            if where == "game"
            else palestra.game("text/Negotiation-v0", max_turns=4)
        )
        monkeypatch.setattr("palestra.shaping.load_shaper", lambda name: faulty_shaper(fault))
        agent = faulty_agent(fault) if where == "agent" else "random"
        return palestra.play(
            game,
            agents=[agent, SECONDS[second] or agent],
            episodes=3,
            live=2,
            hooks=[listener(fault)] if where == "listener" else [],
            rewards=["env", "goodness"] if where == "shaper" else None,
            gamma=0.5,
            budgets=Budget(calls=3),
            out=folder,
        )

    whole = Faulty(0)
    play(whole, tmp_path / "whole")
    assert whole.calls > 4
    for at in range(1, whole.calls + 1, max(1, whole.calls // 100)):
        folder = tmp_path / str(at)
        records = play(Faulty(at), folder)
        assert sorted(record.number for record in records) == [0, 1, 2], at
        failed = [record for record in records if record.error]
        assert len(failed) <= 1, at
        assert len(failed) == 1 or where not in ("listener", "shaper"), at
        kept = folder / "episode.jsonl"
        assert len(read_records(kept)) == 3 - len(failed), at
        for record in failed:
            kind = RAISED[at % len(RAISED)]
            assert kind.__name__ in record.error, (at, record.error)
            assert "forfeit" not in (record.outcome.results if record.outcome else ()), at
        if where == "shaper":
            assert not any(sum(record.mistakes) for record in failed), "it is nobody's mistake"


class Artist:
    """A renderer all of whose methods go through a fault."""

    names: tuple[str, ...] = ()
    fault: Faulty

    def draw(self, episode: Any, viewer: int | None) -> None:
        self.fault.call()

    def stay(self) -> None:
        self.fault.call()

    def close(self) -> None:
        self.fault.call()


@pytest.mark.parametrize("where", ["renderer", "scene"])
def test_a_renderer_that_raises_at_any_call_costs_a_picture(
    where: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type(palestra.game(KUHN))
    scene = kind.scene
    replays = ["--no-replays"] if where == "renderer" else []

    def play(fault: Faulty, folder: Path) -> str:
        def failing(self: Any, *arguments: Any) -> Any:
            fault.call()
            return scene(self, *arguments)

        artist = type("Drawer", (Artist,), {"fault": fault})
        if where == "renderer":
            monkeypatch.setattr("palestra.cli.playing.renderer", lambda *_: artist)
        else:
            monkeypatch.setattr(kind, "scene", failing)
        common = ["play", KUHN, "--episodes", 2, "--render", "terminal", "--pause", 0, *replays]
        code, out, said = run(*common, "--out", folder)
        assert code == 0, said
        return " ".join(f"{out} {said}".split())

    whole = Faulty(0)
    play(whole, tmp_path / "whole")
    assert whole.calls > 6
    for at in range(1, whole.calls + 1):
        folder = tmp_path / str(at)
        told = play(Faulty(at), folder)
        kind_of_fault = RAISED[at % len(RAISED)].__name__
        assert re.search(rf"\((not drawn|no \w+ replay): {kind_of_fault}\b", told), (at, told)
        assert finished(folder) == finished(tmp_path / "whole")


def test_a_judge_that_fails_at_any_call_costs_that_answer(tmp_path: Path) -> None:
    """What was answered is kept and paid once, in one process or over several."""

    class Costly(Model):
        name = "costly"

        def __init__(self, at: int) -> None:
            self.at, self.asked = at, list[str]()

        def chat(self, requests: Sequence[Request]) -> list[Reply]:
            replies = list[Reply | ModelError]()
            for request in requests:
                question = request.messages[-1].content
                self.asked.append(question)
                failed = len(self.asked) == self.at
                usage = Usage(calls=1, cost=0.25)
                replies.append(ModelError("busy") if failed else Reply(question.upper(), usage))
            if any(isinstance(reply, ModelError) for reply in replies):
                raise PartialReplies(replies)
            return [reply for reply in replies if isinstance(reply, Reply)]

    questions = [[ask("a"), ask("b"), ask("c")], [ask("b"), ask("d"), ask("e"), ask("a")]]
    expected = [["A", "B", "C"], ["B", "D", "E", "A"]]
    for at in range(1, 6):
        cache = tmp_path / f"{at}.jsonl"
        model = Costly(at)
        judge = Judge(model, cache=cache)
        with pytest.raises(PartialReplies, match=r"1 of \d requests failed; the first: busy"):
            list(map(judge.ask, questions))
        paid = len(model.asked) - 1
        assert judge.usage == Usage(calls=paid, cost=0.25 * paid)
        assert [judge.ask(batch) for batch in questions] == expected
        assert len(model.asked) == 6, "only what had failed is asked again"
        again = Judge(Costly(0), cache=cache)
        assert [again.ask(batch) for batch in questions] == expected
        assert again.asked == 0


def test_a_cache_of_judgements_that_a_crash_cut_off_loses_one_answer(tmp_path: Path) -> None:
    class Echo(Model):
        name = "echo"

        def chat(self, requests: Sequence[Request]) -> list[Reply]:
            return [Reply(request.messages[-1].content) for request in requests]

    cache, questions = tmp_path / "cache.jsonl", [ask("one"), ask("two"), ask("a\nthird")]
    Judge(Echo(), cache=cache).ask(questions)
    whole = cache.read_bytes()
    for length in range(len(whole)):
        cache.write_bytes(whole[:length])
        judge = Judge(Echo(), cache=cache)
        assert judge.ask(questions) == ["one", "two", "a\nthird"]
        assert judge.found == whole[:length].count(b"\n")
        assert cache.read_bytes() == whole


# Files that are not there, cut off or damaged


def test_a_damaged_file_is_one_clear_sentence_in_every_command(run: Run, tmp_path: Path) -> None:
    (record,) = palestra.play("markets/Bargaining-v0", agents=["random", "random"])
    line = msgspec.json.encode(record) + b"\n"
    with Store(tmp_path / "whole.db") as store:
        run_tournament(Settings(environments=(KUHN,), agents=("random", "first")), store)
    kept = (tmp_path / "whole.db").read_bytes()
    flipped = line.replace(b'"steps":[', b'"steps";[')
    assert flipped != line
    records = {
        "missing": (None, "o such file|there is no file"),
        "empty": (b"", "holds no records|no finished episode"),
        "cut off": (line[: len(line) // 2], "line 1: the line is cut off"),
        "flipped": (flipped, "line 1: not a record"),
        "of zeros": (bytes(4096), "line 1: "),
        "not text": (bytes(range(256)), "line 1: not a record"),
        "a folder": ("folder", "directory"),
    }
    stores = {
        "missing": (None, "there is no store"),
        "cut off": (kept[: len(kept) // 2], "malformed; restore a copy"),
        "flipped": (b"X" + kept[1:], "not a database; restore a copy"),
        "of zeros": (bytes(4096), "not a database; restore a copy"),
        "a folder": ("folder", "there is no store"),
    }
    cases = [
        *(("report", name, *case) for name, case in records.items()),
        *(("replay", name, *case) for name, case in records.items()),
        *(("results", name, *case) for name, case in stores.items()),
    ]
    for number, (command, name, content, says) in enumerate(cases):
        file = tmp_path / f"{number}"
        if content == "folder":
            file.mkdir()
        elif content is not None:
            file.write_bytes(content)
        code, _, said = run(command, file)
        assert (code, one_sentence(said)) == (2, True), (command, name, said)
        assert re.search(says, said), (command, name, said)
        assert str(file) in said or not content, (command, name, said)
    good = tmp_path / "good.jsonl"
    good.write_bytes(line + line[:-9])
    assert run("replay", good, "--verify")[0] == 2, "what is whole is verified, the rest named"


def test_the_command_counts_errors_apart_and_ends_with_1(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(game: Any, state: Any, seat: int) -> Any:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(type(palestra.game("text/Commons-v0")), "legal", fail)
    code, out, _ = run("play", "text/Commons-v0", "--episodes", 3, "--out", tmp_path / "a")
    assert code == 1
    assert "3 of 3 episodes ended in an error" in out.replace("\n", " ")
    assert "ZeroDivisionError" in out


# Time


def test_an_agent_that_never_answers_forfeits_after_its_time() -> None:
    def asleep(turn: Turn) -> int:
        if turn.steps_played >= 2 and turn.seat == 0:
            time.sleep(60)
        return int(turn.legal_actions[0])

    zero_sum, shared = (
        palestra.play(env, agents=[asleep, "first"], episodes=3, move_seconds=0.15)
        for env in ("games/TicTacToe-v0", "games/PrisonersDilemma-v0")
    )
    for record in zero_sum:
        assert record.outcome
        assert record.outcome.results == ("forfeit", "win")
        assert record.steps[-1].turns[0].text == "time of 0.15 s for a move is over"
        verify(record)
    for record in shared:
        assert record.outcome
        assert set(record.outcome.results) == {"truncated"}
        verify(record)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_limit_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(InvalidOption, match="move_seconds is a number of seconds above 0"):
        palestra.play(KUHN, agents=["first", "first"], move_seconds=seconds)


def test_clocks_that_jump_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(environments=(KUHN,), agents=("random", "first"), games=4)

    def play(folder: Path) -> tuple[Any, Any]:
        palestra.play(KUHN, agents=["random", "random"], episodes=3, out=folder)
        done = run_tournament(settings, folder / "a.db")
        return finished(folder), [(r.match, r.results) for r in done.results]

    steady = play(tmp_path / "steady")
    times = iter(range(10**9, 0, -(10**6)))  # backwards, eleven days at each look
    monkeypatch.setattr(time, "time", lambda: float(next(times)))
    assert play(tmp_path / "jumping") == steady


@pytest.mark.parametrize("command", [("web", "serve", "web/Shop-v0"), ("serve",)])
def test_a_port_in_use_is_one_sentence(
    run: Run, command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, said = run(*command, "--port", taken.getsockname()[1])
    assert (code, one_sentence(said)) == (2, True), said
    assert "in use" in said
