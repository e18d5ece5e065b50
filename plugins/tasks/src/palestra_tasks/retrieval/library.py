"""A library of pages about invented people, firms, towns, rivers and books.

Each page states what kind of thing its subject is and a sentence for each of its relations; a page
of an old register states other relations, which held in 1950. A question follows a chain of
relations: "the river of the birthplace of the founder of Drelm & Vay".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from palestra import Rng

REGISTER = " in the register of 1950"
_STARTS = ("Bra", "Cal", "Dre", "Fen", "Gor", "Hal", "Jor", "Kel", "Lum", "Mar", "Nor", "Pel")
_MIDDLES = ("va", "lo", "ni", "re", "sti", "mo", "du", "ga")
_ENDS = {
    "person": ("n", "ck", "ss", "lt"),
    "firm": ("x & Co", "r Works", "n & Sons", "l Brothers"),
    "town": ("burg", "ham", "ford", "stead"),
    "river": (" Water", " Brook", " Stream", " Beck"),
    "book": (" Rising", " at Dusk", " Forgotten", " Returns"),
}
_TRADES = ("clockmaker", "surveyor", "botanist", "printer", "engraver", "pilot", "chemist")
_GOODS = ("clocks", "lenses", "pianos", "bicycles", "paper", "kettles", "ropes")
_PRIDES = ("its cheese", "its bells", "its glass", "its gardens", "its bridges", "its plums")
_WATERS = ("otters", "mills", "reeds", "trout", "locks")
_SUBJECTS = ("bees", "a shipwreck", "chess", "a strike", "a comet", "winter")


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation to an entity of kind `target`: how pages state it and how questions ask for it."""

    name: str
    target: str
    told: str  # what a page says, of {0} and {1}
    was: str  # what the old register says
    asked: str  # the phrase of a question

    def read(self, title: str, text: str) -> str:
        """Whom a text relates `title` to, at whatever time; empty if it does not say."""
        for template in (self.told, self.was):
            head, tail = template.format(title, "\0").split("\0")
            found = re.search(re.escape(head) + r"([^.]+?)" + re.escape(tail), text)
            if found:
                return found[1]
        return ""


RELATIONS = {
    "person": (
        Relation("birthplace", "town", "{0} was born in {1}.", "In 1950 the birthplace of {0} was "
                 "given as {1}.", "the birthplace of"),
        Relation("employer", "firm", "{0} works for {1}.", "In 1950 {0} worked for {1}.",
                 "the employer of"),
        Relation("teacher", "person", "{0} is a pupil of {1}.", "In 1950 {0} was a pupil of {1}.",
                 "the teacher of"),
    ),
    "firm": (
        Relation("seat", "town", "{0} has its seat in {1}.", "In 1950 {0} had its seat in {1}.",
                 "the seat of"),
        Relation("founder", "person", "{0} was founded by {1}.", "In 1950 the founder of {0} was "
                 "given as {1}.", "the founder of"),
        Relation("rival", "firm", "The main rival of {0} is {1}.",
                 "In 1950 the main rival of {0} was {1}.", "the main rival of"),
    ),
    "town": (
        Relation("river", "river", "{0} lies on {1}.", "In 1950 {0} lay on {1}.",
                 "the river of"),
        Relation("mayor", "person", "The mayor of {0} is {1}.", "In 1950 the mayor of {0} was {1}.",
                 "the mayor of"),
        Relation("twin", "town", "{0} is the twin town of {1}.",
                 "In 1950 {0} was the twin town of {1}.", "the twin town of"),
    ),
    "river": (
        Relation("mouth", "town", "{0} meets the sea at {1}.", "In 1950 {0} met the sea at {1}.",
                 "the town at the mouth of"),
        Relation("keeper", "person", "The keeper of {0} is {1}.",
                 "In 1950 the keeper of {0} was {1}.", "the keeper of"),
    ),
    "book": (
        Relation("author", "person", "{0} was written by {1}.",
                 "In 1950 the author of {0} was given as {1}.", "the author of"),
        Relation("setting", "town", "{0} is set in {1}.", "In 1950 the setting of {0} was given as "
                 "{1}.", "the setting of"),
    ),
}  # fmt: skip
KINDS = tuple(RELATIONS)
WORDS = 8  # of the generator that the facts of an entity have; no kind has as many relations
T = TypeVar("T")
BY_PHRASE = {relation.asked: relation for found in RELATIONS.values() for relation in found}


@dataclass(frozen=True, slots=True)
class Entity:
    """A subject of a page. No two of a library have the same description."""

    name: str
    kind: str
    description: str  # what a question calls it that does not name it

    @property
    def opening(self) -> str:
        """The first sentence of its page."""
        return f"{self.name} is a {self.description.removeprefix('the ')}."


@dataclass(frozen=True, slots=True)
class Known:
    """What somebody knows of a library: things and facts have their numbers in it."""

    names: tuple[tuple[int, str], ...] = ()
    descriptions: tuple[tuple[int, str], ...] = ()
    facts: tuple[tuple[int, int, str], ...] = ()  # page, relation and the name that it leads to


NOTHING = Known()


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the library."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A chain of relations from an entity, as it is asked."""

    start: int  # number of the entity
    hops: tuple[Relation, ...]
    text: str

    @property
    def phrases(self) -> tuple[str, ...]:
        return tuple(hop.asked for hop in self.hops)


@lru_cache(maxsize=256)
def draw_entities(seed: int, size: int, known: Known = NOTHING) -> tuple[Entity, ...]:
    """The entities of a library, of all kinds in turn; nobody changes them."""
    rng = Rng.seeded(seed, 61)
    names, descriptions = dict(known.names), dict(known.descriptions)
    stems = {}
    for place, kind in enumerate(KINDS):
        taken = [names[number] for number in range(place, size, len(KINDS)) if number in names]
        free = [
            stem
            for stem in (first + middle for first in _STARTS for middle in _MIDDLES)
            if not any(name.startswith(stem) for name in taken)
        ]
        stems[kind] = iter(_some(rng, free, -(-size // len(KINDS)) - len(taken)))
    used = {int(found[0]) for text in descriptions.values() if (found := re.findall(r"\d+", text))}
    years = iter(_some(rng, [y for y in range(1500, 1950) if y not in used], size - len(used)))
    made = []
    for number in range(size):
        kind = KINDS[number % len(KINDS)]
        name = names.get(number) or next(stems[kind]) + rng.choice(_ENDS[kind])
        text = descriptions.get(number) or _description(kind, next(years), rng)
        made.append(Entity(name, kind, text))
    return tuple(made)


def _some(rng: Rng, items: list[T], count: int) -> list[T]:
    """So many of some items, without repetition: the beginning of a shuffle."""
    for place in range(count):
        other = place + rng.below(len(items) - place)
        items[place], items[other] = items[other], items[place]
    return items[:count]


def _description(kind: str, year: int, rng: Rng) -> str:
    if kind == "person":
        return f"the {rng.choice(_TRADES)} who was baptised in {year}"
    if kind == "firm":
        return f"the firm that has made {rng.choice(_GOODS)} since {year}"
    if kind == "town":
        return f"the town that is known for {rng.choice(_PRIDES)} and had a market in {year}"
    if kind == "river":
        return f"the river that is known for {rng.choice(_WATERS)} and was mapped in {year}"
    return f"the book about {rng.choice(_SUBJECTS)} that was printed in {year}"


@lru_cache(maxsize=256)
def _key(seed: int) -> int:
    """The key of the words from which facts are drawn: `WORDS` for each entity and register."""
    return Rng.seeded(seed, 62).key


def draw_facts(entities: tuple[Entity, ...], seed: int, number: int, old: bool) -> tuple[str, ...]:
    """Whom an entity is related to, now or in the old register."""
    rng = Rng(_key(seed), WORDS * (2 * number + old))
    found = []
    for relation in RELATIONS[entities[number].kind]:
        first = KINDS.index(relation.target)
        others = range(first, len(entities), len(KINDS))
        itself = number in others
        drawn = rng.below(len(others) - itself)
        # nobody is related to themselves
        drawn += itself and others[drawn] >= number
        found.append(entities[others[drawn]].name)
    return tuple(found)


class Library:
    """Entities, and what is true of them now and was in the old register.

    Facts that are not known are drawn from the seed `facts` when they are asked for.
    """

    def __init__(self, entities: tuple[Entity, ...], facts: int, known: Known = NOTHING) -> None:
        self.entities = entities
        self._seed = facts
        self._known = {(page, relation): name for page, relation, name in known.facts}
        self._numbers = {entity.name: number for number, entity in enumerate(entities)}
        self._drawn: dict[tuple[int, bool], tuple[str, ...]] = {}

    def facts(self, number: int, *, old: bool) -> tuple[str, ...]:
        """By relation of its kind, the name of the entity that an entity is related to."""
        found = self._drawn.get((number, old))
        if found is None:
            drawn = draw_facts(self.entities, self._seed, number, old)
            known, page = self._known, 2 * number + old
            found = tuple(known.get((page, place), name) for place, name in enumerate(drawn))
            self._drawn[number, old] = found
        return found

    def number(self, name: str) -> int:
        return self._numbers[name]

    def sentences(self, number: int, *, old: bool) -> Iterator[str]:
        entity = self.entities[number]
        for relation, target in zip(
            RELATIONS[entity.kind], self.facts(number, old=old), strict=True
        ):
            yield (relation.was if old else relation.told).format(entity.name, target)

    def pages(self) -> tuple[Page, ...]:
        """Two pages for each entity: today's and the old register's."""
        return tuple(self.page(number) for number in range(2 * len(self.entities)))

    def page(self, number: int) -> Page:
        """A page by its number: twice that of its entity, and one more for the old register."""
        entity, old = self.entities[number // 2], number % 2 == 1
        if old:
            return Page(entity.name + REGISTER, self._all(number // 2, True))
        return Page(entity.name, f"{entity.opening} {self._all(number // 2, False)}")

    def find(self, title: str) -> Page | None:
        """The page of a title, if there is one."""
        number = self._numbers.get(title.removesuffix(REGISTER))
        return None if number is None else self.page(2 * number + title.endswith(REGISTER))

    def _all(self, number: int, old: bool) -> str:
        return " ".join(self.sentences(number, old=old))

    def chain(self, question: Question) -> tuple[str, ...]:
        """The entities that a question passes, from its start to its answer."""
        names = [self.entities[question.start].name]
        for hop in question.hops:
            number = self.number(names[-1])
            place = RELATIONS[self.entities[number].kind].index(hop)
            names.append(self.facts(number, old=False)[place])
        return tuple(names)


@lru_cache(maxsize=256)
def draw_library(seed: int, size: int, facts: int, known: Known = NOTHING) -> Library:
    """A library whose facts are drawn from the seed `facts`, around what is known."""
    return Library(draw_entities(seed, size, known), facts, known)


def draw_question(library: Library, rng: Rng, hops: int, *, described: bool) -> Question:
    """A question of so many hops that does not come back to an entity; the start may be described.

    A chain that comes back is kept after twenty tries.
    """
    for _ in range(20):
        start = rng.below(len(library.entities))
        kind, relations = library.entities[start].kind, []
        for _ in range(hops):
            relation = rng.choice(RELATIONS[kind])
            relations.append(relation)
            kind = relation.target
        entity = library.entities[start]
        words = [entity.description if described else entity.name]
        words += [relation.asked for relation in relations]
        question = Question(start, tuple(relations), f"Who or what is {' '.join(words[::-1])}?")
        names = library.chain(question)
        if len(set(names)) == len(names):
            break
    return question


def read_question(text: str) -> tuple[str, tuple[Relation, ...]]:
    """The start of a question, by name or description, and its relations in order."""
    rest = text.removeprefix("Who or what is ").removesuffix("?")
    found: list[Relation] = []
    while True:
        phrase = next((p for p in BY_PHRASE if rest.startswith(p + " ")), None)
        if phrase is None:
            return rest, tuple(found[::-1])
        found.append(BY_PHRASE[phrase])
        rest = rest[len(phrase) + 1 :]
