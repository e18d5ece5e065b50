"""What a folder holds: episodes by environment and agent, policies, leaderboards."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from palestra import EpisodeRecord, InvalidOption, PalestraError
from palestra.records.intervals import Sample
from palestra.records.record import iter_records
from palestra.records.verify import Doubles

POLICIES = {"policy.pt": "ppo", "learner.pt": "marl"}


class Policy(NamedTuple):
    """A folder with a trained policy, and the agent that plays it."""

    folder: str
    agent: str


class Board(NamedTuple):
    """The leaderboard of a store, as a table in Markdown, and the number of its games."""

    store: str
    games: int
    table: str


@dataclass
class Contents:
    """What is in a folder that is shared."""

    returns: dict[tuple[str, str], Sample] = field(default_factory=dict)  # (environment, agent)
    episodes: dict[str, int] = field(default_factory=dict)  # by environment
    records: list[str] = field(default_factory=list)  # files
    policies: list[Policy] = field(default_factory=list)
    boards: list[Board] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)  # doubled episodes, unknown or doubled fields

    @property
    def environments(self) -> list[str]:
        return sorted(self.episodes)

    def add(self, record: EpisodeRecord) -> None:
        """Count one episode and the returns of its agents."""
        self.episodes[record.env] = self.episodes.get(record.env, 0) + 1
        for agent, value in zip(record.agents, record.returns, strict=False):
            self.returns.setdefault((record.env, agent), Sample()).add(value)


def read_contents(folder: Path) -> Contents:
    """Read every file of records and every store in a folder, and find its policies.

    Raises `InvalidOption` if the folder holds nothing of the kind.
    """
    found = Contents()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = file.relative_to(folder).as_posix()
        if file.suffix == ".jsonl":
            _read_records(file, name, found)
        elif file.suffix == ".db":
            found.boards += _read_store(file, name)
        elif file.name in POLICIES:
            found.policies.append(Policy(Path(name).parent.as_posix(), POLICIES[file.name]))
    if not (found.records or found.policies or found.boards):
        raise InvalidOption(
            f"{folder} holds no records, policies or stores; name a folder that palestra play, "
            "train or tournament wrote"
        )
    return found


def _read_records(file: Path, name: str, found: Contents) -> None:
    """Add the episodes of a file; other files of JSON lines, such as a log, are left alone."""
    doubles = Doubles()
    try:
        with file.open("rb") as lines:
            written = (line for line in lines if line.strip())
            for number, (record, line) in enumerate(zip(iter_records(file), written, strict=False)):
                if name not in found.records:
                    found.records.append(name)
                found.add(record)
                odd = doubles.remarks(number, line, record)
                found.odd += [f"{name}, episode {number}: {said}" for said in odd]
    except PalestraError:
        if name in found.records:  # records, and one of them is damaged
            raise


def _read_store(file: Path, name: str) -> list[Board]:
    """The leaderboard of a store; none for a database of another program."""
    from palestra_arena.report import leaderboard_of
    from palestra_arena.report.files import markdown_table
    from palestra_arena.store import Store

    try:
        with Store(file, must_exist=True) as store:
            board = leaderboard_of(store.tally(), "bradley-terry", None)
    except InvalidOption:
        return []
    return [Board(name, board.games, markdown_table(board))]
