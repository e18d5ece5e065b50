"""Linear temporal logic over finite words, and automata for it by progression.

Formulas are written with atoms, `true`, `false`, `!`, `&`, `|`, `->`, `X` (there is a next letter,
and it satisfies), `N` (if there is a next letter, it satisfies), `F` (some time), `G` (always), `U`
(until) and `R` (release). A letter is the set of atoms that hold. An atom is a name, or any text in
double quotes. De Giacomo and Vardi, "Linear Temporal Logic and Linear Dynamic Logic on Finite
Traces", IJCAI 2013; progression after Bacchus and Kabanza, 1998.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, TypeAlias

from palestra import InvalidOption

Formula: TypeAlias = tuple[Any, ...]
Letter: TypeAlias = frozenset[str]
State: TypeAlias = frozenset[frozenset[Formula]]  # a disjunction of conjunctions

TRUE: Formula = ("true",)
FALSE: Formula = ("false",)
MORE: Formula = ("F", TRUE)  # another letter follows
ENDED: Formula = ("G", FALSE)  # no letter follows
YES: State = frozenset([frozenset()])
NO: State = frozenset()
MOST = 5_000  # states of an automaton
_TOKEN = re.compile(r'\s*(->|[!&|()]|"[^"]*"|[A-Za-z_][\w-]*(?<!-))')
_DUAL = {"and": "or", "or": "and", "X": "N", "N": "X", "F": "G", "G": "F", "U": "R", "R": "U"}
_UNARY = ("X", "N", "F", "G")


def parse(text: str) -> Formula:
    """A formula in negation normal form; raises `InvalidOption` that shows where it breaks."""
    tokens, place = [], 0
    while place < len(text.rstrip()):
        found = _TOKEN.match(text, place)
        if found is None:
            raise InvalidOption(f"not a formula: {text[:place]} >>> {text[place:]}")
        tokens.append(found.group(1))
        place = found.end()
    reader = _Reader(tokens, text)
    formula = reader.implication()
    if reader.tokens:
        raise InvalidOption(f"not a formula: {text!r} goes on with {reader.tokens[0]!r}")
    return _positive(formula)


@dataclass(slots=True)
class _Reader:
    tokens: list[str]
    text: str

    def implication(self) -> Formula:
        left = self._binary("|", "or", self._and)
        if self._took("->"):
            return ("or", ("not", left), self.implication())
        return left

    def _and(self) -> Formula:
        return self._binary("&", "and", self._until)

    def _binary(self, sign: str, name: str, operand: Any) -> Formula:
        left: Formula = operand()
        while self._took(sign):
            left = (name, left, operand())
        return left

    def _until(self) -> Formula:
        left = self._unary()
        for sign in ("U", "R"):
            if self._took(sign):
                return (sign, left, self._until())
        return left

    def _unary(self) -> Formula:
        if not self.tokens:
            raise InvalidOption(f"not a formula: {self.text!r} ends too soon")
        token = self.tokens.pop(0)
        if token == "!":
            return ("not", self._unary())
        if token in _UNARY:
            return (token, self._unary())
        if token == "(":
            inside = self.implication()
            if not self._took(")"):
                raise InvalidOption(f"not a formula: a bracket in {self.text!r} is not closed")
            return inside
        if token in ("true", "false"):
            return (token,)
        if token in ("&", "|", "->", ")", "U", "R"):
            raise InvalidOption(f"not a formula: {token!r} in {self.text!r} has nothing before it")
        return ("atom", token.strip('"'))

    def _took(self, token: str) -> bool:
        if self.tokens and self.tokens[0] == token:
            self.tokens.pop(0)
            return True
        return False


def _positive(formula: Formula, negated: bool = False) -> Formula:
    """Negations moved down to the atoms."""
    name, parts = formula[0], formula[1:]
    if name == "not":
        return _positive(parts[0], not negated)
    if name == "atom":
        return ("not", formula) if negated else formula
    if name in ("true", "false"):
        return FALSE if (name == "true") == negated else TRUE
    name = _DUAL[name] if negated else name
    return (name, *(_positive(part, negated) for part in parts))


def atoms(formula: Formula) -> list[str]:
    """The atoms of a formula, each once, in order of appearance."""
    if formula[0] == "atom":
        return [formula[1]]
    found = [atom for part in formula[1:] for atom in atoms(part)]
    return list(dict.fromkeys(found))


def state_of(formula: Formula) -> State:
    """The state before the first letter."""
    if formula[0] == "and":
        return _both(state_of(formula[1]), state_of(formula[2]))
    if formula[0] == "or":
        return _either(state_of(formula[1]), state_of(formula[2]))
    return YES if formula == TRUE else NO if formula == FALSE else frozenset([frozenset([formula])])


def progress(state: State, letter: Letter) -> State:
    """What the rest of the word must satisfy after a letter."""
    found = NO
    for clause in state:
        rest = YES
        for part in clause:
            rest = _both(rest, _after(part, letter))
        found = _either(found, rest)
    return found


def accepts_end(state: State) -> bool:
    """Whether the word may end here."""
    return any(
        all(part[0] in ("true", "not", "N", "G", "R") for part in clause) for clause in state
    )


def _after(formula: Formula, letter: Letter) -> State:
    match formula:
        case ("true",) | ("false",):
            return state_of(formula)
        case ("atom", name):
            return YES if name in letter else NO
        case ("not", ("atom", name)):
            return NO if name in letter else YES
        case ("and", a, b):
            return _both(_after(a, letter), _after(b, letter))
        case ("or", a, b):
            return _either(_after(a, letter), _after(b, letter))
        case ("X", a):
            return _both(state_of(a), state_of(MORE))
        case ("N", a):
            return _either(state_of(a), state_of(ENDED))
        case ("G", a):
            return _both(_after(a, letter), state_of(formula))
        case ("F", a):
            return _either(_after(a, letter), state_of(formula))
        case ("U", a, b):
            return _either(_after(b, letter), _both(_after(a, letter), state_of(formula)))
        case ("R", a, b):
            return _both(_after(b, letter), _either(_after(a, letter), state_of(formula)))
    raise InvalidOption(f"not a formula: {formula}")


def _both(a: State, b: State) -> State:
    return _least(x | y for x in a for y in b)


def _either(a: State, b: State) -> State:
    return _least([*a, *b])


def _least(clauses: Iterable[frozenset[Formula]]) -> State:
    """Without clauses that another one implies, so that there are finitely many states."""
    found = set(clauses)
    return frozenset(c for c in found if not any(other < c for other in found))


@dataclass(slots=True)
class Automaton:
    """A deterministic automaton over letters; `live` has the states from which a word can end."""

    start: State
    letters: Sequence[Letter]
    moves: dict[tuple[State, Letter], State] = field(default_factory=dict)
    live: set[State] = field(default_factory=set)

    @classmethod
    def of(cls, formula: Formula, letters: Sequence[Letter]) -> Automaton:
        """Raises `InvalidOption` for a formula that no word satisfies, and for a huge one."""
        made = cls(state_of(formula), list(dict.fromkeys(letters)))
        made.explore()
        made.find_live()
        if made.start not in made.live:
            raise InvalidOption("no word satisfies the formula; check it")
        return made

    def explore(self) -> None:
        """Find all states that words lead to; raises `InvalidOption` for too many."""
        front, seen = [self.start], {self.start}
        while front:
            state = front.pop()
            for letter in self.letters:
                after = progress(state, letter)
                self.moves[state, letter] = after
                if after not in seen:
                    seen.add(after)
                    front.append(after)
            if len(seen) > MOST:
                raise InvalidOption(f"the formula needs more than {MOST} states; make it smaller")

    def find_live(self) -> None:
        """Find the states from which some word ends well."""
        states = {self.start, *self.moves.values()}
        self.live = {state for state in states if accepts_end(state)}
        grown = True
        while grown:
            more = {s for (s, _), after in self.moves.items() if after in self.live} - self.live
            self.live |= more
            grown = bool(more)

    def allowed(self, state: State) -> list[Letter]:
        """Letters after which the word can still be completed."""
        return [letter for letter in self.letters if self.moves[state, letter] in self.live]

    def accepts(self, word: Iterable[Letter]) -> bool:
        """Whether a whole word satisfies the formula."""
        state = self.start
        for letter in word:
            state = self.moves[state, letter]
        return accepts_end(state)


def subsets(names: Sequence[str]) -> Iterator[Letter]:
    """All letters over some atoms."""
    for size in range(len(names) + 1):
        yield from map(frozenset, combinations(names, size))
