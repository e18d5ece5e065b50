"""What somebody knows of a library who was asked a question and has read some of its pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from palestra import Rng

from palestra_tasks.retrieval.library import KINDS, Known, Library, Question

Seen = Mapping[int, int]  # how many characters of pages were seen, by their number


@dataclass(frozen=True, slots=True)
class Reading:
    """A question and what was read, by the numbers of a library."""

    question: Question
    seen: Seen
    known: Known


def facts_in(library: Library, page: int, length: int) -> dict[int, str]:
    """By relation, the names that the first characters of a page give, whole or cut off."""
    number, old = page // 2, page % 2 == 1
    text, found = library.page(page).text, {}
    pairs = zip(library.facts(number, old=old), library.sentences(number, old=old), strict=True)
    for relation, (name, sentence) in enumerate(pairs):
        if text.index(sentence) + sentence.rindex(name) < length:
            found[relation] = name
    return found


def renumbered(
    library: Library, question: Question, seen: Seen, rng: Rng, *, described: bool
) -> Reading:
    """The same question and pages in another library, which may be any that has them.

    Things take random numbers of their kind in the order of their names, so that the numbers say
    nothing of those that they have. described: whether the question does not name its first thing.
    """
    things = library.entities
    facts = {page: facts_in(library, page, length) for page, length in seen.items()}
    names = {things[page // 2].name for page in seen}
    names |= {name for found in facts.values() for name in found.values()}
    if not described:
        names.add(things[question.start].name)
    free = {kind: list(range(n, len(things), len(KINDS))) for n, kind in enumerate(KINDS)}
    for kind in KINDS:
        rng.shuffle(free[kind])
    moved = {name: free[things[library.number(name)].kind].pop() for name in sorted(names)}
    page_of = {page: 2 * moved[things[page // 2].name] + page % 2 for page in seen}
    described_as = {page_of[p] // 2: things[p // 2].description for p in seen if p % 2 == 0}
    first = things[question.start]
    if described and first.description not in described_as.values():
        numbers = range(KINDS.index(first.kind), len(things), len(KINDS))
        start = rng.choice([number for number in numbers if number not in described_as])
        described_as[start] = first.description
    else:
        start = moved[first.name]
    told = [(page_of[p], n, name) for p, found in facts.items() for n, name in found.items()]
    by_number = sorted((number, name) for name, number in moved.items())
    known = Known(tuple(by_number), tuple(sorted(described_as.items())), tuple(sorted(told)))
    read = dict(sorted((page_of[page], length) for page, length in seen.items()))
    return Reading(replace(question, start=start), read, known)
