"""The folder of a run: records of finished episodes, and of those it was stopped in.

`episode.jsonl` only ever grows. `unfinished.jsonl` is written anew while the run goes on and when
it stops, so that a crash costs half a minute and Ctrl-C nothing.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from palestra.kernel.errors import InvalidOption, RecordError
from palestra.records.record import EpisodeRecord, iter_records, options_of, write_records

if TYPE_CHECKING:
    from palestra.runner.runner import Runner

FINISHED = "episode.jsonl"
UNFINISHED = "unfinished.jsonl"
SAVE_EVERY = 30.0  # seconds between two looks at what is unfinished


class RunFolder:
    """Where one run keeps its records."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._saved = time.monotonic()

    def add(self, record: EpisodeRecord) -> None:
        """Keep a finished episode."""
        write_records(self.path / FINISHED, [record])

    def keep(self, runner: Runner, *, now: bool = False) -> None:
        """Write down what is unfinished, if it is time to; nothing unfinished leaves no file."""
        if not now and time.monotonic() - self._saved < SAVE_EVERY:
            return
        records = runner.unfinished()
        file, fresh = self.path / UNFINISHED, self.path / f"{UNFINISHED}.new"
        if records:
            fresh.unlink(missing_ok=True)
            write_records(fresh, records)
            os.replace(fresh, file)
        else:
            file.unlink(missing_ok=True)
        self._saved = time.monotonic()

    def read(self, runner: Runner) -> tuple[set[int], dict[int, EpisodeRecord]]:
        """Numbers of finished episodes and records of unfinished ones; what both spent is counted.

        Raises `InvalidOption` where the folder holds another run.
        """
        finished: set[int] = set()
        begun: dict[int, EpisodeRecord] = {}
        self._cut_broken_line()
        for record in self._records(FINISHED):
            self._admit(record, runner)
            finished.add(record.number)
        with contextlib.suppress(RecordError):  # written whole or not at all, save by a full disk
            for record in self._records(UNFINISHED):
                if record.number not in finished:
                    self._admit(record, runner)
                    begun[record.number] = record
        return finished, begun

    def _records(self, name: str) -> list[EpisodeRecord]:
        file = self.path / name
        return list(iter_records(file)) if file.exists() else []

    def _cut_broken_line(self) -> None:
        """Drop the last line if a crash cut it off: that episode is played again."""
        file = self.path / FINISHED
        if not file.exists():
            return
        content = file.read_bytes()
        end = content.rfind(b"\n") + 1
        if end < len(content):
            with file.open("r+b") as opened:
                opened.truncate(end)

    def _admit(self, record: EpisodeRecord, runner: Runner) -> None:
        """Check that a record is of this run, and charge its agents with what it took."""
        names = tuple(agent.name for agent in runner.agents)
        env = runner.spec.id if runner.spec else type(runner.game).__name__
        for what, was, now in (
            ("environment", record.env, env),
            ("agents", record.agents, names),
            ("seed", record.seed - record.number, runner.seed),
            ("options", record.options, options_of(runner.game)),
        ):
            if was != now:
                raise InvalidOption(
                    f"{self.path} holds a run with other {what}: {was!r}, not {now!r}; "
                    "resume it with the same settings, or choose another folder"
                )
        spent = Counter[int]()
        for turn in record.turns:
            runner.ledger.account(names[turn.seat]).spend(turn.usage)
            spent[turn.seat] += 1
