"""Typed actions of text games: which are legal, how they are written and how they are parsed.

An action is a frozen `msgspec.Struct`, written as a call: `Propose(price=40)`, `Say(text='hi')`.
A `Grammar` states which are legal now, field by field.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Protocol

import msgspec

from palestra.answers import LONGEST_ANSWER, THOUGHT, said
from palestra.kernel.errors import InvalidAction, show
from palestra.kernel.rng import Rng
from palestra.single_keys import read_single
from palestra.stating import introduced_otherwise, plain_digits, undressed


class TextAction(msgspec.Struct, frozen=True, tag=True):
    """Base of every typed action; subclasses list their fields."""

    def __repr__(self) -> str:
        """The call that makes it, without fields that equal their defaults.

        msgspec's own form leaves out a default string only if it is the identical object, which it
        is not in a replay. Tags of thoughts are escaped: `read_action` would cut the call there.
        """
        names, defaults = self.__struct_fields__, self.__struct_defaults__
        kept = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        values = [(name, getattr(self, name)) for name in names]
        shown = [f"{n}={v!r}" for n, v in values if n not in kept or v != kept[n]]
        call = f"{type(self).__name__}({', '.join(shown)})"
        return THOUGHT.sub(lambda tag: f"\\x3c{tag[0][1:]}", call)


class Domain(Protocol):
    """The values that a field of an action may hold; its str() is shown in lists of actions."""

    __slots__ = ()

    def problem(self, value: object) -> str | None:
        """Why a `value` is not allowed; None if it is."""

    def sample(self, rng: Rng) -> Any:
        """A random value that is allowed, drawn from `rng`."""

    def pattern(self, chars: int) -> str:
        """A regular expression for its written values, with at most `chars` characters of text."""

    def longest(self, chars: int) -> int:
        """The largest number of bytes that a match of `pattern(chars)` takes."""


@dataclass(frozen=True, slots=True)
class Integer(Domain):
    """A whole number in [low, high]."""

    low: int
    high: int

    def problem(self, value: object) -> str | None:
        if type(value) is not int:  # refuses True and subclasses, which a record cannot hold
            return f"must be a whole number, not {show(value)}"
        if not self.low <= value <= self.high:
            return f"must be from {self.low} to {self.high}, not {show(value)}"
        return None

    def sample(self, rng: Rng) -> int:
        return rng.between(self.low, self.high)

    def pattern(self, chars: int) -> str:
        return number_pattern(self.low, self.high)

    def longest(self, chars: int) -> int:
        return max(len(str(self.low)), len(str(self.high)))

    def __str__(self) -> str:
        return f"{self.low}..{self.high}" if self.low < self.high else str(self.low)


@dataclass(frozen=True, slots=True)
class OneOf(Domain):
    """One of a few `values`."""

    values: tuple[Any, ...]

    def problem(self, value: object) -> str | None:
        # 1.0 and True equal 1, but differ from it in a record
        if any(type(value) is type(one) and value == one for one in self.values):
            return None
        return f"must be one of {', '.join(map(repr, self.values))}, not {show(value)}"

    def sample(self, rng: Rng) -> Any:
        return rng.choice(self.values)

    def pattern(self, chars: int) -> str:
        return f"({'|'.join(re.escape(repr(value)) for value in self.values)})"

    def longest(self, chars: int) -> int:
        return max(len(repr(value).encode()) for value in self.values)

    def __str__(self) -> str:
        return "|".join(map(repr, self.values))


@dataclass(frozen=True, slots=True)
class Text(Domain):
    """Free text of at most `limit` characters; `samples` are lines that programs say, cut to it."""

    limit: int = 300
    samples: tuple[str, ...] = ("...",)

    def problem(self, value: object) -> str | None:
        if type(value) is not str:
            return f"must be a string, not {show(value)}"
        if len(value) > self.limit:
            return f"has {len(value)} characters, more than {self.limit}"
        if not value.isascii() and _SURROGATE.search(value):
            return "has half of a surrogate pair, which is no character"
        return None

    def sample(self, rng: Rng) -> str:
        return rng.choice(self.samples)[: self.limit]

    def pattern(self, chars: int) -> str:
        """One line in single quotes, without characters that need escaping."""
        return rf"'[^'\\\x00-\x1f\x7f]{{0,{min(self.limit, chars)}}}'"

    def longest(self, chars: int) -> int:
        return 4 * min(self.limit, chars) + 2  # UTF-8 takes up to four bytes a character

    def __str__(self) -> str:
        return f"'text up to {self.limit} characters'"


def number_pattern(low: int, high: int) -> str:
    """A regular expression for the whole numbers from `low` to `high`, without leading zeros."""
    if low < 0:
        minus = number_pattern(max(1, -high), -low)
        return f"(-{minus})" if high < 0 else f"(-{minus}|{number_pattern(0, high)})"
    parts = []
    while low <= high:
        top = _same_shape(low, high)
        parts.append(_digits(str(low), str(top)))
        low = top + 1
    return f"({'|'.join(parts)})" if len(parts) > 1 else parts[0]


def _same_shape(low: int, high: int) -> int:
    """The last number that one digit range a place reaches from `low`: 10 -> 99, 12 -> 19."""
    size = 1
    while low % (size * 10) == 0 and low + size * 10 - 1 <= high and low:
        size *= 10
    first = low // size % 10
    return min(low + (10 - first) * size - 1, low + (high - low + 1) // size * size - 1)


def _digits(low: str, high: str) -> str:
    return "".join(a if a == b else f"[{a}-{b}]" for a, b in zip(low, high, strict=True))


@dataclass(frozen=True, slots=True)
class Option:
    """One kind of `action` that is legal now, and what its `fields`, read only, may hold."""

    action: type[TextAction]
    fields: Mapping[str, Domain] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", MappingProxyType(dict(self.fields)))

    def __reduce__(self) -> tuple[Any, ...]:
        own = (getattr(self, one.name) for one in fields(self))  # also those of a subclass
        return type(self), tuple(dict(v) if v is self.fields else v for v in own)

    @property
    def name(self) -> str:
        """The name of the action's class."""
        return self.action.__name__

    @property
    def domains(self) -> Mapping[str, Domain]:
        """What each field may hold; one that is not among `fields` keeps its default."""
        names, kept = self.action.__struct_fields__, self.action.__struct_defaults__
        if len(self.fields) == len(names):
            return self.fields
        defaults = zip(names[len(names) - len(kept) :], kept, strict=True)
        return {name: OneOf((value,)) for name, value in defaults} | dict(self.fields)

    def problem(self, action: TextAction) -> str | None:
        """Why a field of an `action` of this kind is not allowed; None if all are."""
        for name, domain in self.domains.items():
            if why := domain.problem(getattr(action, name)):
                return f"{name} {why}"
        return None

    def sample(self, rng: Rng) -> TextAction:
        """A random action of this kind, drawn from `rng`."""
        return self.action(**{name: domain.sample(rng) for name, domain in self.fields.items()})

    def pattern(self, chars: int) -> str:
        """A regular expression for its call form, with at most `chars` of text a field."""
        inner = ", ".join(f"{name}={d.pattern(chars)}" for name, d in self.fields.items())
        return rf"{self.name}\({inner}\)"

    def longest(self, chars: int) -> int:
        """The largest number of bytes that a match of `pattern(chars)` takes."""
        fields = sum(len(f", {name}=") + d.longest(chars) for name, d in self.fields.items())
        return len(f"{self.name}()") + fields

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{n}={d}' for n, d in self.fields.items())})"


@dataclass(frozen=True, slots=True)
class Grammar:
    """Everything one player may do now; one kind of action may have several `options`."""

    options: tuple[Option, ...]

    def __iter__(self) -> Iterator[Option]:
        return iter(self.options)

    def __contains__(self, action: object) -> bool:
        return self.problem(action) is None

    def problem(self, action: object) -> str | None:
        """Why an `action` is not legal now; None if it is."""
        why: str | None = None
        for option in self.options:
            if type(action) is option.action and (why := option.problem(action)) is None:
                return None
        name = type(action).__name__ if isinstance(action, TextAction) else show(action)
        return why or f"{name} is not possible now"

    def sample(self, rng: Rng) -> TextAction:
        """A random legal action, drawn from `rng`."""
        return rng.choice(self.options).sample(rng)

    def __str__(self) -> str:
        return " or ".join(map(str, self.options))

    def pattern(self, chars: int) -> str:
        """A regular expression for legal actions in call form, with at most `chars` of text."""
        return f"({'|'.join(option.pattern(chars) for option in self.options)})"

    def longest(self, chars: int) -> int:
        """The largest number of bytes, and so of tokens, that a match of `pattern(chars)` takes."""
        return max(option.longest(chars) for option in self.options)

    def example(self) -> str:
        """One legal action as it is written; empty if there is none."""
        return repr(self.sample(Rng(0))) if self.options else ""


_SURROGATE = re.compile("[\ud800-\udfff]")
_START = re.compile(
    r"^[ \t]*[*_`]*(?:(?:my |the )?(?:final )?(?:answer|move|action|choice)(?: is)?"
    r"[*_]*\s*:[*_`\s]*)?(?P<action>(?P<name>[A-Z]\w*)\s*\(|\{)",
    re.IGNORECASE | re.MULTILINE,
)
_MARKS = re.compile(r"""\\.|['"()\[\]{}]""", re.DOTALL)
_AFTER = re.compile(r"[\s*_`]*+[.;]?[\s*_`]*+\Z")
LONG_CALL = 5_000  # characters; longer ones are read if they are plain: Python's parser is slow
_PLAIN = re.compile(
    r"""\w+\s*+\((?:\s*+(?:\w+\s*+=\s*+)?+(?:'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'|"[^"\\\n]*+(?:"""
    r"""\\.[^"\\\n]*+)*+"|-?\w{1,99})\s*+(?:,|(?=\)))){0,99}\s*+\)""",
    re.DOTALL,
)
STARTS = 4  # places, from the end, where an action may begin
FORM = "write the action alone at the end, on a line of its own or after 'Action:'"


def read_action(text: str, grammar: Grammar, types: Sequence[type[TextAction]]) -> TextAction:
    """Read the action that ends an answer, in call form or as a JSON object with a `type`.

    It begins a line, alone or after a label ("Action: …"), and is followed only by what cannot
    change its meaning: spaces, a full stop, asterisks, back-ticks. A model may think aloud before
    it; prose, thoughts and the text inside another action are never searched. Raises
    `InvalidAction`.
    """
    known = {kind.__name__: kind for kind in types}
    why: str | None = f"no action is stated; {FORM}"
    if len(text) > LONGEST_ANSWER:
        why = f"the answer has {len(text)} characters, more than {LONGEST_ANSWER}"
    elif written := stated_action(text, known):
        action, problem = (_read_json if written[0] == "{" else _read_call)(written, known)
        why = problem or grammar.problem(action)
        if action is not None and why is None:
            return action
    raise InvalidAction(text, str(grammar), grammar.example(), why or "")


def stated_action(text: str, names: Container[str]) -> str:
    """The call or JSON object that ends an answer, as written; empty if there is none.

    Text inside a call of one of `names`, or inside an object, is part of it, even if it is cut off.
    An answer of more than `LONGEST_ANSWER` characters states nothing.
    """
    if len(text) > LONGEST_ANSWER:
        return ""
    text, inside = undressed(said(text)), 0
    starts = []
    for start in _START.finditer(text):
        if start.start("action") < inside:
            continue
        starts.append(start.start("action"))
        if start["action"] == "{" or start["name"] in names:
            inside = _closing(text, starts[-1]) or len(text)
    for begin in starts[: -STARTS - 1 : -1]:
        end = _closing(text, begin)
        if end is not None and _AFTER.match(text, end):
            before = text[:begin].rpartition("\n")[0].splitlines()
            if introduced_otherwise(before, explicit=True):
                return ""
            call, long = plain_digits(text[begin:end]), end - begin > LONG_CALL
            return "" if long and call[0] != "{" and not _PLAIN.fullmatch(call) else call
    return ""


def _closing(text: str, start: int) -> int | None:
    """Where the bracket that opens first after `start` is closed, outside any quotes."""
    depth, quote = 0, ""
    for _, found in zip(range(30_000), _MARKS.finditer(text, start), strict=False):  # takes 10 ms
        mark = found[0]
        if quote:
            quote = "" if mark == quote else quote
        elif mark in "'\"":
            quote = mark
        elif mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
            if depth <= 0:
                return found.end()
    return None


def _read_call(
    call: str, known: Mapping[str, type[TextAction]]
) -> tuple[TextAction | None, str | None]:
    name = call.split("(", 1)[0].strip()
    if name not in known:
        return None, f"there is no action {name!r}; there are: {', '.join(known)}"
    try:
        node = ast.parse(call, mode="eval").body
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            return None, f"{show(call)} is not an action"
        kind = known[name]
        values = dict(zip(kind.__struct_fields__, map(ast.literal_eval, node.args), strict=False))
        if len(node.args) > len(kind.__struct_fields__):
            return None, f"{name} takes {len(kind.__struct_fields__)} values"
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg in values:
                return None, f"{show(call)} gives {keyword.arg or '**'} twice"
            values[keyword.arg] = ast.literal_eval(keyword.value)
        return kind(**values), None
    except Exception as e:  # hostile text may raise anything in the parser
        return None, f"{show(call)} cannot be read: {show(str(e).partition(': <ast')[0])}"


def _read_json(
    text: str, known: Mapping[str, type[TextAction]]
) -> tuple[TextAction | None, str | None]:
    try:
        data = read_single(text, strict=False)
        kind = data.pop("type", None)
        if kind not in known:
            return None, f"type {show(kind)} is no action; there are: {', '.join(known)}"
        return known[kind](**data), None
    except Exception as e:
        return None, f"{show(text)} cannot be read: {show(str(e))}"
