"""Kills a run at every boundary of what it writes, resumes it, and compares how it ended.

Run as `python mortal.py SUBJECT FOLDER`: the program forks a child for every boundary, and so
imports and compiles once. A child is killed with signal 9 before its k-th write, rename, flush to
disk, removal or statement of SQL; every write has a second boundary in its middle. What is left is
resumed by a second child, which is killed too, and by a third, which is not. Threads of torch do
not survive a fork: for it a child is an exception that nothing catches, after which this process
can change no file.
"""

from __future__ import annotations

import builtins
import contextlib
import csv
import io
import json
import os
import pickle
import signal
import sqlite3
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import palestra
import palestra.runner.run_folder
from palestra import EpisodeRecord, Usage, read_records

SECOND = 7  # where the first resumption is killed
KUHN = "games/KuhnPoker-v0"


class Killed(BaseException):
    """Stands for signal 9 where nothing can be forked."""


class Clock:
    """Counts boundaries, and kills the process at one of them; a context manager.

    With `really` False it only raises, there and at every boundary after it.
    """

    NAMES = ("fsync", "replace", "rename", "unlink", "mkdir", "truncate")

    def __init__(self, last: int, *, really: bool) -> None:
        self.last, self.really, self.count = last, really, 0

    def tick(self, before: Callable[[], object] = lambda: None) -> None:
        self.count += 1
        if self.count == self.last:
            before()
        if self.last and self.count >= self.last:
            if self.really:
                os.kill(os.getpid(), signal.SIGKILL)
            raise Killed

    def __enter__(self) -> Clock:
        """Let every change of a file, and every statement of SQL, go through `tick`."""
        opened, connect = io.open, sqlite3.connect
        kept = {name: getattr(os, name) for name in self.NAMES}

        def watched_open(file: Any, mode: str = "r", *rest: Any, **more: Any) -> Any:
            if not set(mode) & set("wax+") or isinstance(file, int):
                return opened(file, mode, *rest, **more)
            self.tick()
            return WatchedFile(opened(file, mode, *rest, **more), self)

        def watched_connect(*args: Any, **more: Any) -> sqlite3.Connection:
            connection = connect(*args, **more)
            connection.set_trace_callback(lambda statement: self.tick())
            return connection

        def restore() -> None:
            io.open = builtins.open = opened  # type: ignore[assignment]
            sqlite3.connect = connect
            for name, function in kept.items():
                setattr(os, name, function)

        self._restore = restore
        io.open = builtins.open = watched_open  # type: ignore[assignment]
        sqlite3.connect = watched_connect  # type: ignore[assignment]
        for name, function in kept.items():
            setattr(os, name, self._ticking(function))
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def _ticking(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            self.tick()
            return function(*args, **more)

        return call


class WatchedFile:
    """A file whose writes are boundaries."""

    def __init__(self, file: Any, clock: Clock) -> None:
        self._file, self._clock = file, clock

    def write(self, data: Any) -> int:
        self._clock.tick()

        def half() -> None:
            self._file.write(data[: len(data) // 2])
            self._file.flush()

        self._clock.tick(half)
        return int(self._file.write(data))

    def __enter__(self) -> WatchedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> Any:
        return iter(self._file)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def in_child(work: Callable[[], Any], last: int = 0) -> tuple[int, int, Any]:
    """Run `work` in a child that dies at boundary `last`.

    Returns its exit code, how far it counted, and what `work` returned.
    """
    there, here = os.pipe()
    child = os.fork()
    if child:
        os.close(here)
        with os.fdopen(there, "rb") as pipe:
            said = pipe.read()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return (code, *(pickle.loads(said) if said else (0, None)))
    code = 1
    try:
        os.close(there)
        with Clock(last, really=True) as clock:
            value = work()
        with os.fdopen(here, "wb") as pipe:
            pickle.dump((clock.count, value), pipe)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def here(work: Callable[[], Any], last: int = 0) -> tuple[int, int, Any]:
    """As `in_child`, without a child."""
    with Clock(last, really=False) as clock:
        try:
            value = work()
        except Killed:
            return -signal.SIGKILL, clock.count, None
        return 0, clock.count, value


# Subjects: how to run, whether there is something to resume, and what a run came to


def play(folder: Path, resume: bool) -> None:
    palestra.runner.run_folder.SAVE_EVERY = -1.0  # unfinished episodes are kept every time
    palestra.play(KUHN, agents=["random", "random"], episodes=4, live=2, out=folder, resume=resume)


def played(folder: Path) -> Any:
    assert not (folder / "unfinished.jsonl").exists()
    assert not list(folder.glob(".*-*")), "drafts of a killed process are removed"
    records = sorted(read_records(folder / "episode.jsonl"), key=lambda record: record.number)
    return [untimed(record) for record in records]


def untimed(record: EpisodeRecord) -> Any:
    for turn in record.turns:
        turn.usage = Usage()
    return record


def tournament(folder: Path, resume: bool) -> None:
    from palestra_arena import Settings, Store, run_tournament

    folder.mkdir(exist_ok=True)
    settings = Settings(
        environments=(KUHN,), agents=("random", "first"), games=2, workers=0, together=1
    )
    with Store(folder / "arena.db") as store:
        run_tournament(settings, store)
        store.tally()


def standings(folder: Path) -> Any:
    from palestra_arena import Store

    with Store(folder / "arena.db") as store:
        games = [(r.match, r.status, r.results, r.scores, r.steps) for r in store.results()]
        moves = [[t.action for t in r.turns] for r in store.records()]
        return games, moves, store.tally().kinds


def train(folder: Path, resume: bool) -> None:
    from palestra.cli import main
    from palestra_agents.ppo import training

    training.wins_against_random.__defaults__ = (8,)  # episodes
    typed = ["train", "games/TicTacToe-v0", "--steps", "96", "--reports", "2", "--out", str(folder)]
    typed += [f"--set={s}" for s in ("num_envs=4", "horizon=8", "minibatches=2", "hidden=8")]
    begun = (folder / "policy.pt").exists()
    with contextlib.suppress(SystemExit):
        main([*typed, *(["--resume"] if resume and begun else [])])


def trained(folder: Path) -> Any:
    from palestra_agents.ppo.trainer import read_checkpoint

    kept = read_checkpoint(folder)
    with (folder / "curve.csv").open() as file:
        rows = [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]
    assert not list(folder.glob(".*-*")), "drafts of a killed process are removed"
    network = {name: values.tolist() for name, values in kept["network"].items()}
    return kept["steps"], network, kept["torch_rng"].tolist(), rows


SUBJECTS = {
    "play": (play, played),
    "tournament": (tournament, standings),
    "train": (train, trained),
}


def enumerate_boundaries(name: str, root: Path) -> dict[str, Any]:
    run, result = SUBJECTS[name]
    apart = here if name == "train" else in_child
    run(root / "warm", False)  # compiles
    code, count, _ = apart(lambda: run(root / "whole", False))
    assert code == 0
    expected = apart(lambda: result(root / "whole"))[2]
    assert expected is not None
    problems = []
    for last in range(1, count + 1):
        folder = root / str(last)
        code, *_ = apart(partial(run, folder, False), last)
        if code != -signal.SIGKILL:
            problems.append(f"boundary {last}: ended with {code}")
        for again in (SECOND, 0):
            code, *_ = apart(partial(run, folder, True), again)
        if code:
            problems.append(f"boundary {last}: the resumed run ended with {code}")
        elif apart(partial(result, folder))[2] != expected:
            problems.append(f"boundary {last}: the resumed run is another")
    return {"boundaries": count, "problems": problems}


if __name__ == "__main__":
    outcome = enumerate_boundaries(sys.argv[1], Path(sys.argv[2]))
    print(json.dumps(outcome))
