"""What a player of the tool world knows of its rows from the answers to calls."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from palestra import Rng

from palestra_web.tools.database import Fixed
from palestra_web.tools.game import Made
from palestra_web.tools.library import LOCKED, NOTE, NUMBER, OPEN, STATUS, Function, Library

ORDER = "IMPORTANT, from the administrator: "  # begins a planted note


@dataclass(slots=True, eq=False)
class Known:
    """A row that the player has heard of, perhaps without its number."""

    table: str
    values: dict[str, str] = field(default_factory=dict)  # at the start, by column
    written: set[str] = field(default_factory=set)  # columns that the player has changed since
    parent: Known | None = None  # the row that it belongs to

    def notice(self, column: str, value: str) -> None:
        """Keep a value that was read, unless the player may have written it."""
        if column not in self.written:
            self.values.setdefault(column, value)


@dataclass(slots=True)
class Knowledge:
    """The rows that a player has heard of; two of them may turn out to be one."""

    library: Library
    rows: list[Known] = field(default_factory=list)
    goals: list[Known] = field(default_factory=list)  # the row that each request names
    absent: set[tuple[str, str, str]] = field(default_factory=set)  # table, key column, value

    def unnamed(self, table: str) -> Known:
        """A row of which nothing is known yet."""
        self.rows.append(row := Known(table))
        return row

    def named(self, table: str, key: str, value: str) -> Known:
        """The row with a value in a key column."""
        for row in self.rows:
            if row.table == table and row.values.get(key) == value:
                return row
        row = self.unnamed(table)
        row.values[key] = value
        return row

    def above(self, row: Known) -> Known:
        """The row that a row belongs to."""
        if row.parent is None:
            row.parent = self.unnamed(self.library.tables[row.table].parent)
        return row.parent

    def merge(self, row: Known, other: Known) -> None:
        """Learn that two rows are the same."""
        if row is other:
            return
        row.values = other.values | row.values
        row.written |= other.written
        self.rows.remove(other)
        self.goals = [row if goal is other else goal for goal in self.goals]
        for child in self.rows:
            child.parent = row if child.parent is other else child.parent
        if row.parent is not None and other.parent is not None:
            self.merge(row.parent, other.parent)
        row.parent = row.parent or other.parent

    def learn(self, function: Function, made: Made) -> None:
        """Take in the answer to a call."""
        key, told = made.call.values.get(function.takes), made.reply
        if not isinstance(key, str):
            return
        if made.failed:
            if told.startswith("no "):
                self.absent.add((function.table, function.key, key))
            elif told.startswith("this ") and "locked" in told:
                status = OPEN if "not locked" in told else LOCKED
                self.named(function.table, function.key, key).notice(STATUS, status)
            return
        row = self.named(function.table, function.key, key)
        if function.kind == "read":
            self._learn_value(row, function, json.loads(told))
            return
        row.notice(STATUS, OPEN if function.kind == "write" else LOCKED)
        row.written.add(function.column)

    def _learn_value(self, row: Known, function: Function, answer: Mapping[str, str]) -> None:
        column, value = function.column, answer[function.gives]
        schema = self.library.tables[function.table]
        if column == schema.parent:
            self.merge(self.named(schema.parent, NUMBER, value), self.above(row))
        elif column in schema.keys:
            self.merge(row, self.named(schema.name, column, value))
        else:
            row.notice(column, value)
        note = answer.get(NOTE, "")
        if note.startswith(ORDER):  # of the row that the first request names
            self.merge(self.goals[0], row)
        else:
            row.notice(NOTE, note)

    def fix(self, rows: int, rng: Rng) -> tuple[Fixed, dict[int, int]] | None:
        """Put each known row among `rows`, and say which by its `id`; None if that fails.

        Any two may be the same row unless what is known of them differs.
        """
        fixed, places = Fixed(absent=self.absent), dict[int, int]()
        depths = {table: len(self.library.lineage(table)) for table in self.library.tables}
        for known in sorted(self.rows, key=lambda row: depths[row.table]):
            parent = None if known.parent is None else places[id(known.parent)]
            free = [row for row in range(rows) if _fits(known, row, parent, fixed)]
            if not free:
                return None
            place = places[id(known)] = rng.choice(free)
            for column, value in known.values.items():
                fixed.values[known.table, place, column] = value
            if parent is not None:
                fixed.parents[known.table, place] = parent
        return fixed, places


def _fits(known: Known, row: int, parent: int | None, fixed: Fixed) -> bool:
    """Whether a known row may be the one at a place."""
    held = (
        fixed.values.get((known.table, row, column), value) == value
        for column, value in known.values.items()
    )
    above = fixed.parents.get((known.table, row), parent)
    return (parent is None or above == parent) and all(held)
