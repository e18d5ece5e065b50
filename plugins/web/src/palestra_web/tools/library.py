"""A library of functions over a generated database, drawn from a seed.

A domain is a chain of three tables; each row of a table belongs to a row of the next one. A row has
two keys, its parent's number, two attributes, a status and a note. For every key there are
functions that read each other column, write each attribute (if the row is open), and unlock the
row. The value that a function returns has the name of the parameter that takes it, so the functions
form a dependency graph. From either key of a row, every key, attribute and write of that row and of
the rows it belongs to can be reached in at least two ways that share no function.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import blake2b

from palestra import OneOf, Rng, Text

from palestra_web.tools.declare import Parameter, Tool

DOMAINS = {
    "hospital": ("visit", "patient", "clinic"),
    "shop": ("parcel", "order", "customer"),
    "library": ("loan", "book", "branch"),
    "airline": ("ticket", "flight", "hub"),
    "school": ("essay", "pupil", "class"),
    "bank": ("payment", "account", "household"),
    "hotel": ("stay", "room", "house"),
    "factory": ("part", "machine", "plant"),
    "theatre": ("seat", "show", "venue"),
    "garage": ("repair", "car", "fleet"),
    "farm": ("crate", "field", "estate"),
    "museum": ("scan", "painting", "gallery"),
    "gym": ("session", "member", "club"),
    "newspaper": ("letter", "article", "editor"),
    "harbour": ("container", "ship", "pier"),
    "laboratory": ("sample", "study", "sponsor"),
    "court": ("exhibit", "case", "chamber"),
    "kitchen": ("dish", "menu", "restaurant"),
    "energy": ("reading", "meter", "contract"),
    "charity": ("gift", "donor", "campaign"),
}
HELD_OUT = ("court", "kitchen", "energy", "charity")  # domains of the pool "held-out"
BRANCHES = ("city", "coast", "valley", "hill")  # each has every domain once more, as its own
MOST_DOMAINS = len(DOMAINS) * (1 + len(BRANCHES))
ALIASES = ("barcode", "alias", "badge", "locator", "serial", "token")
ATTRIBUTES = {
    "tier": ("gold", "silver", "bronze", "basic"),
    "region": ("north", "south", "east", "west"),
    "priority": ("low", "normal", "high", "urgent"),
    "language": ("english", "french", "german", "spanish"),
    "channel": ("phone", "post", "mail", "counter"),
    "colour": ("red", "green", "blue", "yellow"),
}
NOTES = ("", "Checked last week.", "Moved here from the old system.", "See the paper file.")
NUMBER, STATUS, NOTE = "number", "status", "note"
OPEN, LOCKED = "open", "locked"
KEY_LENGTH = 40


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The columns of a table, and the table that its rows belong to."""

    name: str  # the noun for a row
    domain: str
    alias: str  # the name of the second key
    attributes: tuple[str, str]
    parent: str = ""  # the table that its rows belong to; empty for none

    @property
    def keys(self) -> tuple[str, str]:
        return (NUMBER, self.alias)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that can be read; one with the name of a table holds that table's number."""
        parent = (self.parent,) if self.parent else ()
        return (*self.keys, *parent, *self.attributes, STATUS)

    def type_of(self, column: str) -> str:
        """The type of a column: the name of its values in parameters and answers."""
        return f"{column}_{NUMBER}" if column == self.parent else f"{self.name}_{column}"


@dataclass(slots=True)
class Shown:
    """What is known of a table of a library that is not known as a whole."""

    alias: str = ""  # empty for unknown
    attributes: set[str] = field(default_factory=set)
    in_order: tuple[str, str] | None = None  # both attributes


UNSEEN = Shown()


@dataclass(frozen=True, slots=True)
class Function:
    """A tool and what it does: read a column, write one, or unlock a row."""

    tool: Tool
    kind: str  # "read", "write" or "unlock"
    table: str
    key: str
    column: str
    takes: str  # the type of the key
    gives: str  # the type of the value read or written


class Library:
    """Tables and functions by name; nobody changes them, so that copies of a state share one."""

    def __init__(
        self,
        tables: Mapping[str, TableSchema],
        functions: Mapping[str, Function],
        tools: tuple[Tool, ...],
    ) -> None:
        self.tables, self.functions, self.tools = tables, functions, tools

    @cached_property
    def _digest(self) -> str:
        names = [tool.name for tool in self.tools]
        return blake2b(repr((self.tables, names)).encode(), digest_size=16).hexdigest()

    def __repr__(self) -> str:
        return f"Library({self._digest})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Library) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(self._digest)

    def __deepcopy__(self, memo: object) -> Library:
        return self

    def lineage(self, table: str) -> tuple[str, ...]:
        """A table, and the tables that its rows belong to, nearest first."""
        found = [table]
        while self.tables[found[-1]].parent:
            found.append(self.tables[found[-1]].parent)
        return tuple(found)

    def path(
        self, start: str, goal: str, *, write: bool, without: Collection[str] = ()
    ) -> tuple[str, ...] | None:
        """The fewest functions from a value of type `start` to a read or write of type `goal`.

        They are in call order; None if no path exists.
        """
        return self._search({start: ()}, goal, write, without)

    def path_through(
        self, start: str, goal: str, *, write: bool, first: str
    ) -> tuple[str, ...] | None:
        """The shortest such path that begins with the function `first`; None if there is none."""
        function = self.functions[first]
        ends = function.gives == goal and (function.kind == "write") == write
        if not ends and function.kind != "read":
            return None
        to = () if function.takes == start else self.path(start, function.takes, write=False)
        if to is None:
            return None
        if ends:
            return (*to, first)
        on = self._search({function.gives: ()}, goal, write, {first, *to})
        return None if on is None else (*to, first, *on)

    def _search(
        self,
        known: dict[str, tuple[str, ...]],
        goal: str,
        write: bool,
        without: Collection[str],
    ) -> tuple[str, ...] | None:
        queue = deque(known)
        while queue:
            here = queue.popleft()
            for function in self._taking(here):
                if function.tool.name in without:
                    continue
                on = (*known[here], function.tool.name)
                if function.gives == goal and function.kind == ("write" if write else "read"):
                    return on
                if function.kind == "read" and function.gives not in known:
                    known[function.gives] = on
                    queue.append(function.gives)
        return None

    def _taking(self, kind: str) -> list[Function]:
        table, _, key = kind.rpartition("_")
        if table not in self.tables or key not in self.tables[table].keys:
            return []
        return [f for f in self.functions.values() if f.takes == kind]


def pool_of(pool: str) -> tuple[str, ...]:
    """The domains of a pool: all, general, held-out, or one by its name."""
    if pool == "all":
        return tuple(DOMAINS)
    if pool == "held-out":
        return HELD_OUT
    if pool == "general":
        return tuple(name for name in DOMAINS if name not in HELD_OUT)
    return (pool,)


@lru_cache(maxsize=64)
def draw_library(domains: int, seed: int, pool: str = "all") -> Library:
    """Random domains of a pool, with their functions in a random order: 46 functions per domain.

    Beyond the 20 of `DOMAINS` the pool "all" has those of branches, such as city_hospital with
    city_visit, up to `MOST_DOMAINS`, which have 4,600 functions.
    """
    rng = Rng.seeded(seed, stream=3)
    return _fill(_draw_domains(domains, pool, rng)[:domains], {}, rng)


def _draw_domains(domains: int, pool: str, rng: Rng) -> list[str]:
    """All domains of a pool in random order, those of branches after the others."""
    names = list(pool_of(pool))
    rng.shuffle(names)
    if domains > len(DOMAINS):
        more = [f"{branch}_{name}" for branch in BRANCHES for name in DOMAINS]
        rng.shuffle(more)
        names += more
    return names


def redraw_library(
    domains: int, pool: str, shown: Mapping[str, Shown], found: Sequence[str], rng: Rng
) -> Library:
    """A library as `draw_library` draws it, given what is known of some of its tables.

    Tools that were found come first, so that of equally good ones a search finds them again.
    """
    names = _draw_domains(domains, pool, rng)
    known = [name for name in names if any(table in shown for table in chain_of(name))]
    others = [name for name in names if name not in known]
    chosen = {*known, *others[: domains - len(known)]}
    drawn = _fill([name for name in names if name in chosen], shown, rng)
    first = [drawn.functions[name].tool for name in found]
    rest = [tool for tool in drawn.tools if tool.name not in found]
    return Library(drawn.tables, drawn.functions, (*first, *rest))


def _fill(domains: Sequence[str], shown: Mapping[str, Shown], rng: Rng) -> Library:
    tables = {}
    for domain in domains:
        chain = chain_of(domain)
        for name, parent in zip(chain, (*chain[1:], ""), strict=True):
            tables[name] = _draw_table(name, domain, parent, shown.get(name, UNSEEN), rng)
    functions = {f.tool.name: f for table in tables.values() for f in _functions(table)}
    tools = [function.tool for function in functions.values()]
    rng.shuffle(tools)
    return Library(tables, functions, tuple(tools))


def chain_of(domain: str) -> tuple[str, ...]:
    """The tables of a domain, each of whose rows belong to rows of the next."""
    if domain in DOMAINS:
        return DOMAINS[domain]
    branch, _, name = domain.partition("_")
    return tuple(f"{branch}_{table}" for table in DOMAINS[name])


def _draw_table(name: str, domain: str, parent: str, shown: Shown, rng: Rng) -> TableSchema:
    attributes = list(ATTRIBUTES)
    rng.shuffle(attributes)
    alias = rng.choice(ALIASES)
    if shown.attributes:
        others = [one for one in attributes if one not in shown.attributes]
        attributes = [*sorted(shown.attributes), *others][:2]
        rng.shuffle(attributes)
    first, second = shown.in_order or attributes[:2]
    return TableSchema(name, domain, shown.alias or alias, (first, second), parent)


def _functions(table: TableSchema) -> list[Function]:
    return [
        function
        for key in table.keys
        for function in (
            *(_reader(table, key, column) for column in table.columns if column != key),
            *(_writer(table, key, attribute) for attribute in table.attributes),
            _unlocker(table, key),
        )
    ]


def _key(table: TableSchema, key: str) -> Parameter:
    return Parameter(table.type_of(key), Text(KEY_LENGTH), f"the {key} of the {table.name}")


def _reader(table: TableSchema, key: str, column: str) -> Function:
    takes, gives = table.type_of(key), table.type_of(column)
    tool = Tool(
        f"get_{table.name}_{column}_by_{key}",
        f"Get the {column} of the {table.name} with this {key}. Returns {gives}.",
        (_key(table, key),),
        returns=(gives,),
    )
    return Function(tool, "read", table.name, key, column, takes, gives)


def _writer(table: TableSchema, key: str, attribute: str) -> Function:
    takes, gives = table.type_of(key), table.type_of(attribute)
    to = Parameter(gives, OneOf(ATTRIBUTES[attribute]), f"the new {attribute}")
    tool = Tool(
        f"set_{table.name}_{attribute}_by_{key}",
        f"Set the {attribute} of the {table.name} with this {key}. The {table.name} must be open.",
        (_key(table, key), to),
        writes=True,
        requires=f"{table.name}_{STATUS}={OPEN}",
    )
    return Function(tool, "write", table.name, key, attribute, takes, gives)


def _unlocker(table: TableSchema, key: str) -> Function:
    tool = Tool(
        f"unlock_{table.name}_by_{key}",
        f"Open a locked {table.name} by its {key}.",
        (_key(table, key),),
        writes=True,
        requires=f"{table.name}_{STATUS}={LOCKED}",
        ensures=f"{table.name}_{STATUS}={OPEN}",
    )
    return Function(
        tool, "unlock", table.name, key, STATUS, table.type_of(key), table.type_of(STATUS)
    )
