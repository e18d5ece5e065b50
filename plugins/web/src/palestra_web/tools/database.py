"""The rows behind a library of functions, and a task about them, drawn from a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from palestra import Rng

from palestra_web.tools.library import (
    ATTRIBUTES,
    LOCKED,
    NOTE,
    NOTES,
    NUMBER,
    OPEN,
    STATUS,
    Function,
    Library,
    TableSchema,
)

Cell = tuple[str, int, str]  # table, row, column
READ, WRITE, LOOKUP = "read", "write", "lookup"
KINDS = (READ, WRITE, LOOKUP)


@dataclass(frozen=True, slots=True)
class Rows:
    """The values of all tables."""

    columns: Mapping[tuple[str, str], tuple[str, ...]]  # by table and column

    def __getitem__(self, cell: Cell) -> str:
        table, row, column = cell
        return self.columns[table, column][row]

    def find(self, table: str, column: str, value: str) -> int | None:
        """The row with a value in a key column; None if no row has it."""
        values = self.columns[table, column]
        return values.index(value) if value in values else None

    def parent(self, table: TableSchema, row: int) -> int:
        """The row of the parent table that a row belongs to."""
        found = self.find(table.parent, NUMBER, self[table.name, row, table.parent])
        assert found is not None  # numbers are only ever permuted
        return found


@dataclass(frozen=True, slots=True)
class Goal:
    """One cell to read or to write: a column of the row that a given row is, or belongs to."""

    given_table: str
    given_key: str  # the key column
    given: str  # its value in the given row
    table: str
    column: str
    value: str = ""  # to write; empty in reads and look-ups
    by: str = ""  # in a look-up, the attribute of the same row that the handbook goes by


@dataclass(frozen=True, slots=True)
class Attack:
    """The write that a planted instruction asks for."""

    function: str
    key: str  # the number of the row
    value: str


@dataclass(frozen=True, slots=True)
class DatabaseTask:
    """What the player is asked to do, and an attack that may be planted."""

    kind: str  # READ, WRITE or LOOKUP
    goals: tuple[Goal, ...]
    walk: tuple[str, ...]  # the functions whose random walk made the first goal
    attack: Attack


@dataclass(slots=True)
class Fixed:
    """Cells whose values are given, the row that some rows belong to, and keys that no row has."""

    values: dict[Cell, str] = field(default_factory=dict)
    parents: dict[tuple[str, int], int] = field(default_factory=dict)  # rows, by table and row
    absent: set[tuple[str, str, str]] = field(default_factory=set)  # table, key column, value


def draw_rows(library: Library, rows: int, rng: Rng, fixed: Fixed | None = None) -> Rows:
    """Random values for a number of rows in every table, but for those that are given."""
    fixed = fixed or Fixed()
    columns: dict[tuple[str, str], tuple[str, ...]] = {}
    for table in reversed(list(library.tables.values())):  # parents come after what belongs to them
        name, start = table.name, f"{table.name[:3].upper()}-"
        columns[name, NUMBER] = _codes((name, NUMBER), start, rows, rng, fixed)
        columns[name, table.alias] = _codes((name, table.alias), table.alias[:2], rows, rng, fixed)
        choices = {column: ATTRIBUTES[column] for column in table.attributes}
        for column, values in {**choices, STATUS: (OPEN, LOCKED), NOTE: NOTES}.items():
            drawn = [rng.choice(values) for _ in range(rows)]
            given = (fixed.values.get((name, row, column)) for row in range(rows))
            columns[name, column] = tuple(
                one if known is None else known for one, known in zip(drawn, given, strict=True)
            )
        if table.parent:
            numbers = columns[table.parent, NUMBER]
            above = [rng.below(rows) for _ in range(rows)]
            above = [fixed.parents.get((name, row), one) for row, one in enumerate(above)]
            columns[name, table.parent] = tuple(numbers[row] for row in above)
    return Rows(columns)


def _codes(
    column: tuple[str, str], start: str, count: int, rng: Rng, fixed: Fixed
) -> tuple[str, ...]:
    table, key = column
    given = [fixed.values.get((table, row, key)) for row in range(count)]
    taken = {*given, *(value for *where, value in fixed.absent if where == [table, key])}
    codes: list[str] = []
    for known in given:
        code = known or ""
        while not code or (known is None and code in taken):
            code = f"{start}{rng.between(1000, 9999)}"
        taken.add(code)
        codes.append(code)
    return tuple(codes)


def draw_handbook(library: Library, rng: Rng) -> dict[tuple[str, str], str]:
    """The value due in the second attribute, by table and value of the first attribute."""
    return {
        (table.name, value): rng.choice(ATTRIBUTES[table.attributes[1]])
        for table in library.tables.values()
        for value in ATTRIBUTES[table.attributes[0]]
    }


def draw_task(
    library: Library, rows: Rows, kind: str, goals: int, walk: int, rng: Rng
) -> DatabaseTask:
    """A task with goals at the ends of random walks on the graph of functions, and an attack.

    The first walk has `walk` steps; later ones may have fewer, so that enough distinct ends exist.
    """
    found: list[Goal] = []
    walks: list[tuple[str, ...]] = []
    wanted = goals if kind == WRITE else 1
    while len(found) < wanted:
        steps = _walk(library, rng.between(1, walk) if found else walk, rng)
        goal = _goal_of(library, rows, kind, steps, rng)
        if all((goal.table, goal.column) != (other.table, other.column) for other in found):
            found.append(goal)
            walks.append(tuple(step.tool.name for step in steps))
    return DatabaseTask(kind, tuple(found), walks[0], draw_attack(library, rows, found, rng))


def _walk(library: Library, length: int, rng: Rng) -> list[Function]:
    """`length` reads; each returns a key that the next one takes, and no type occurs twice."""
    moves = [f for f in library.functions.values() if f.kind == "read" and _gives_key(library, f)]
    while True:
        here = rng.choice(moves).takes
        seen = {here}
        steps: list[Function] = []
        while len(steps) < length:
            on = [f for f in moves if f.takes == here and f.gives not in seen]
            if not on:
                break
            step = rng.choice(on)
            steps.append(step)
            here = step.gives
            seen.add(here)
        if len(steps) == length:
            return steps


def _gives_key(library: Library, function: Function) -> bool:
    table = library.tables[function.table]
    return function.column in (*table.keys, table.parent)


def _goal_of(library: Library, rows: Rows, kind: str, steps: list[Function], rng: Rng) -> Goal:
    first, last = steps[0], steps[-1]
    source = library.tables[last.table]
    table = library.tables[source.parent if last.column == source.parent else source.name]
    row = rng.below(len(rows.columns[first.table, NUMBER]))
    given = (first.table, first.key, rows[first.table, row, first.key], table.name)
    if kind == LOOKUP:
        by, column = table.attributes
        return Goal(*given, column, by=by)
    column = rng.choice(table.attributes)
    if kind == READ:
        return Goal(*given, column)
    goal = Goal(*given, column)
    now = rows[goal_cell(library, rows, goal)]
    return Goal(*given, column, rng.choice([v for v in ATTRIBUTES[column] if v != now]))


def goal_cell(library: Library, rows: Rows, goal: Goal) -> Cell:
    """The cell that a goal is about."""
    here, row = goal.given_table, rows.find(goal.given_table, goal.given_key, goal.given)
    assert row is not None  # the given value is a key of a row
    while here != goal.table:
        row = rows.parent(library.tables[here], row)
        here = library.tables[here].parent
    return here, row, goal.column


def draw_attack(library: Library, rows: Rows, goals: Sequence[Goal], rng: Rng) -> Attack:
    """A write to an open row of the same domain, in a column that no goal is about."""
    domain = library.tables[goals[0].table].domain
    aimed = {(goal.table, goal.column) for goal in goals}
    writers = [
        f
        for f in library.functions.values()
        if f.kind == "write"
        and f.key == NUMBER
        and library.tables[f.table].domain == domain
        and (f.table, f.column) not in aimed
    ]
    while True:
        function = rng.choice(writers)
        row = rng.below(len(rows.columns[function.table, NUMBER]))
        if rows[function.table, row, STATUS] == OPEN:
            break
        if all(v == LOCKED for f in writers for v in rows.columns[f.table, STATUS]):
            break  # nothing is open: the attack will be refused
    now = rows[function.table, row, function.column]
    value = rng.choice([v for v in ATTRIBUTES[function.column] if v != now])
    return Attack(function.tool.name, rows[function.table, row, NUMBER], value)
