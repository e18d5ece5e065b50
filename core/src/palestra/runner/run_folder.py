"""The folder of a run: its plan, and records of finished and unfinished episodes.

`run.json` identifies the run. `episode.jsonl` is append-only. `errors.jsonl` holds episodes that
ended in an error, which resuming plays again. `unfinished.jsonl` is rewritten during the run and
when it stops, so that a crash loses at most half a minute and Ctrl-C nothing. One process at a time
writes in a folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import msgspec

from palestra.agents.budget import Ledger
from palestra.files import UNREADABLE, CannotWrite, read_json, remove_drafts, writable, write_bytes
from palestra.kernel.errors import InvalidOption, RecordError, show
from palestra.records.record import EpisodeRecord, as_json, iter_records, write_records
from palestra.records.versions import check_versions, differing

PLAN = "run.json"
FINISHED = "episode.jsonl"
UNFINISHED = "unfinished.jsonl"
ERRORS = "errors.jsonl"
LOCK = ".lock"
BLOCK = 1 << 20
SAVE_EVERY = 30.0  # seconds between writes of unfinished episodes


@contextlib.contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Lock a folder for writing by one process; it is created if missing.

    Raises `InvalidOption` if another process holds it, `CannotWrite` if it is read-only.
    """
    with writable(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with hold_lock(folder / LOCK, f"in {folder}", "folder"):
        yield


@contextlib.contextmanager
def hold_lock(file: Path, where: str, kind: str) -> Iterator[None]:
    """Hold a lock file; it is released when this process ends, however it ends.

    `where` and `kind` ("folder") say in errors what it stands for. Raises as `sole_writer`.
    """
    from filelock import FileLock, Timeout  # late: it would take a tenth of importing palestra

    lock = FileLock(file)
    try:
        lock.acquire(timeout=0)
    except Timeout:  # an OSError, but not about the disk
        raise InvalidOption(
            f"another process is writing {where}; wait for it, or choose another {kind}"
        ) from None
    except (OSError, NotImplementedError) as error:
        if getattr(error, "errno", None) in (errno.EROFS, errno.EACCES, errno.ENOSPC):
            with writable(file.parent):
                raise
        raise CannotWrite(
            f"cannot lock {file}: {getattr(error, 'strerror', None) or error}; choose a {kind} on "
            "a disk of this machine"
        ) from error
    try:
        yield
    finally:
        lock.release()


class RunPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings that identify a run: a folder does not resume a run with another plan."""

    env: str
    options: dict[str, Any]
    seed: int
    agents: tuple[str, ...]
    invalid: str
    rewards: tuple[str, ...] = ()
    gamma: float = 1.0
    max_episode_steps: int | None = None
    move_seconds: float | None = None
    versions: dict[str, str] = {}  # of what decides the moves; empty in folders of older releases


NAMES = {"env": "environment", "rewards": "rewards", "invalid": "invalid-move policy"}


class RunFolder:
    """The folder of one run's records; a context manager that holds the folder's lock.

    Raises `InvalidOption` if another process holds the folder, if it contains another run, or if it
    contains a run and `resume` is False. A run of other versions is resumed with `other_versions`:
    its unfinished episodes are then played from their start, so that no record mixes two versions.
    """

    def __init__(
        self, path: str | Path, plan: RunPlan, *, resume: bool, other_versions: bool = False
    ) -> None:
        self.path, self.plan, self.resume = Path(path), plan, resume
        self._other_versions = other_versions
        self._saved = time.monotonic()
        self._held = contextlib.ExitStack()

    def __enter__(self) -> RunFolder:
        with contextlib.ExitStack() as held:
            held.enter_context(sole_writer(self.path))
            self._admit_plan()
            self._held = held.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._held.close()

    def _admit_plan(self) -> None:
        """Check that the folder is empty, or holds this run and is to be resumed."""
        files = [self.path / name for name in (FINISHED, UNFINISHED, ERRORS)]
        for file in files:
            if file.exists() and not file.is_file():  # a pipe would be waited for
                raise InvalidOption(f"{file} is not a plain file; choose another folder")
        if not self.resume and any(file.exists() and file.stat().st_size for file in files):
            raise InvalidOption(
                f"{self.path} holds a run already; continue it with resume=True (--resume), or "
                "choose another folder"
            )
        file = self.path / PLAN
        with writable(self.path):
            for written in (file, self.path / UNFINISHED):
                remove_drafts(written)
        if self.resume and file.exists():
            try:
                kept = read_json(file, RunPlan)
            except (OSError, *UNREADABLE) as error:
                raise InvalidOption(
                    f"{file} cannot be read: {error}; choose another folder"
                ) from error
            for name in RunPlan.__struct_fields__:
                if name != "versions":
                    self._same(NAMES.get(name, name), getattr(kept, name), getattr(self.plan, name))
            now, accept = self.plan.versions, self._other_versions
            check_versions(self.path, kept.versions, now, accept=accept)
            if kept == self.plan:
                return
        write_bytes(file, msgspec.json.format(msgspec.json.encode(self.plan)))

    def _same(self, what: str, was: Any, now: Any) -> None:
        if as_json(was) != as_json(now):
            raise InvalidOption(
                f"{self.path} holds a run with other {what}: {show(was)}, not {show(now)}; "
                "resume it with the same settings, or choose another folder"
            )

    def add(self, record: EpisodeRecord) -> None:
        """Keep a finished episode, or one that ended in an error."""
        with writable(self.path):
            write_records(self.path / (ERRORS if record.error else FINISHED), [record])

    def keep(self, unfinished: Callable[[], Sequence[EpisodeRecord]], *, now: bool = False) -> None:
        """Write unfinished episodes if it is time to; without any, remove the file."""
        if not now and time.monotonic() - self._saved < SAVE_EVERY:
            return
        records = unfinished()
        file = self.path / UNFINISHED
        if records:
            write_bytes(file, b"".join(msgspec.json.encode(r) + b"\n" for r in records))
        else:
            with writable(self.path):
                file.unlink(missing_ok=True)
        self._saved = time.monotonic()

    def read(self, ledger: Ledger) -> tuple[set[int], dict[int, EpisodeRecord]]:
        """Numbers of finished episodes and records of unfinished ones; charges their usage.

        Raises `InvalidOption` if the folder holds another run.
        """
        finished: set[int] = set()
        begun: dict[int, EpisodeRecord] = {}
        self._cut_broken_line()
        for record in self._records(FINISHED):
            if record.number not in finished:
                self._admit(record, ledger)
                finished.add(record.number)
        with contextlib.suppress(RecordError):  # written atomically, except on a full disk
            for record in self._records(UNFINISHED):
                if record.number not in finished:
                    self._admit(record, ledger)
                    if not differing(record.versions, self.plan.versions):
                        begun[record.number] = record
        return finished, begun

    def _records(self, name: str) -> list[EpisodeRecord]:
        file = self.path / name
        return list(iter_records(file)) if file.exists() else []

    def _cut_broken_line(self) -> None:
        """Drop the last line if a crash cut it off; that episode is played again."""
        for file in (self.path / FINISHED, self.path / ERRORS):
            if not file.exists():
                continue
            with writable(file), file.open("r+b") as opened:
                _truncate_after_last_line(opened)

    def _admit(self, record: EpisodeRecord, ledger: Ledger) -> None:
        """Check that a record belongs to this run, and charge its agents with its usage."""
        plan = self.plan
        self._same("environment", record.env, plan.env)
        self._same("agents", record.agents, plan.agents)
        self._same("seed", record.seed - record.number, plan.seed)
        self._same("options", record.options, plan.options)
        for seat, spent in record.usages:
            ledger.account(plan.agents[seat]).spend(spent)


def _truncate_after_last_line(file: BinaryIO) -> None:
    """Drop what follows the last line break, reading the file in blocks from its end."""
    size = end = file.seek(0, os.SEEK_END)
    while end:
        begin = max(0, end - BLOCK)
        file.seek(begin)
        found = file.read(end - begin).rfind(b"\n")
        if found >= 0:
            end = begin + found + 1
            break
        end = begin
    if end < size:
        file.truncate(end)
