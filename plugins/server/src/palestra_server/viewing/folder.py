"""The records under a folder: what an index shows of each, and where it lies in its file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from palestra import EpisodeRecord, RecordError
from palestra.records.record import FORMAT


class Ending(msgspec.Struct):
    """The part of an outcome that an index shows."""

    results: tuple[str, ...] = ()
    reason: str = ""


class Heading(msgspec.Struct):
    """A record without its steps, which are counted and not read."""

    env: str
    seed: int
    players: tuple[str, ...]
    agents: tuple[str, ...] = ()
    steps: list[msgspec.Raw] = []
    outcome: Ending | None = None
    returns: tuple[float, ...] = ()
    number: int = 0
    error: str = ""
    format: str = FORMAT


@dataclass(frozen=True, slots=True)
class Found:
    """A record of the folder: its file, the place of its line, and its heading."""

    file: Path
    start: int
    length: int
    heading: Heading

    def read(self) -> EpisodeRecord:
        """The whole record; raises `RecordError` if the file has changed since."""
        try:
            with self.file.open("rb") as opened:
                opened.seek(self.start)
                return msgspec.json.decode(opened.read(self.length), type=EpisodeRecord)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RecordError(self.file, 1, f"it has changed: {error}", 0) from error


@dataclass(frozen=True, slots=True)
class Folder:
    """The records found, and the files and lines that could not be read, each with its reason."""

    records: list[Found]
    problems: list[str]


_decoder = msgspec.json.Decoder(Heading)


def read_folder(folder: Path) -> Folder:
    """All records of the files `*.jsonl` under a folder, or of one file, in order of their names.

    A line that is no record is left out and reported; lines of other formats are not reported if
    a file has no record at all, since a folder of runs also holds other files of JSON lines.
    """
    records: list[Found] = []
    problems: list[str] = []
    files = [folder] if folder.is_file() else sorted(folder.rglob("*.jsonl"))
    for file in files:
        found, failed = _read_file(file)
        records += found
        problems += failed if found or folder.is_file() else []
    return Folder(records, problems)


def _read_file(file: Path) -> tuple[list[Found], list[str]]:
    found: list[Found] = []
    failed: list[str] = []
    try:
        for number, (start, line) in enumerate(_lines(file), 1):
            try:
                heading = _decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                failed.append(f"{file}, line {number}: {error}")
                continue
            if heading.format == FORMAT:
                found.append(Found(file, start, len(line), heading))
            else:
                failed.append(f"{file}, line {number}: format {heading.format!r}")
    except OSError as error:
        failed.append(f"{file}: {error.strerror or error}")
    return found, failed


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """Every line that is not empty, with where it begins."""
    with file.open("rb") as opened:
        start = 0
        for line in opened:
            if line.strip():
                yield start, line
            start += len(line)


def index_row(found: Found, home: Path) -> dict[str, Any]:
    """What the index shows of a record."""
    heading = found.heading
    base = home if home.is_dir() else home.parent
    return {
        "file": str(found.file.relative_to(base)),
        "env": heading.env,
        "number": heading.number,
        "seed": heading.seed,
        "agents": heading.agents or heading.players,
        "steps": len(heading.steps),
        "returns": heading.returns,
        "results": heading.outcome.results if heading.outcome else (),
        "reason": heading.outcome.reason if heading.outcome else "",
        "error": heading.error.strip().rpartition("\n")[2],
    }
