"""Days of a person who does several pieces of work by turns, and at times needs help with one.

Each piece of work has a `Way`, which everybody knows: the usual order of its events while nothing
is needed, and for each need the signs that come with it. Signs are shared: one sign comes with
several needs, some signs are part of the usual order, and some come by chance. So a need, or that
there is none, follows only from several events of the same piece of work, between which the person
does other things. In pools of ways "sets", a need has signs that come in any order; in "orders" it
has signs that come in one order, and needs may have the same signs in different orders.

Hidden is where each piece of work stands (`Standing`). `outcomes` lists what can happen next with
its chances: a day is drawn from it, and `belief` filters with it what was seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, permutations
from typing import TypeVar

from palestra import Rng

# By piece of work: its own steps in their order, and the kinds of help
WORKS: dict[str, tuple[tuple[str, str, str], tuple[str, str, str]]] = {
    "the program": (
        ("writes a function", "renames a variable", "commits a change"),
        ("fix the error", "look up the interface", "write the tests"),
    ),
    "the report": (
        ("types a paragraph", "moves a heading", "saves the text"),
        ("find a source", "shorten the text", "translate a passage"),
    ),
    "the journey": (
        ("marks a town on the map", "notes a train", "writes down a price"),
        ("compare the fares", "book a room", "check the visa"),
    ),
    "the budget": (
        ("enters a bill", "adds up a column", "colours a row"),
        ("find the missing bill", "correct the formula", "forecast the costs"),
    ),
    "the dinner": (
        ("chooses a dish", "writes down a guest", "copies a recipe"),
        ("order the groceries", "ask the guests", "convert the amounts"),
    ),
    "the meeting": (
        ("adds a point to the agenda", "names a speaker", "attaches a file"),
        ("find a date", "write the invitation", "reserve a room"),
    ),
}
SIGNS = (
    "reads it again from the top",
    "searches the web about it",
    "opens an old version of it",
    "types a word and deletes it",
    "scrolls up and down in it",
    "copies a part of it into a note",
    "writes a message about it and does not send it",
    "leaves it open and waits",
)
BREAKS = ("takes a telephone call", "makes tea", "talks to a visitor", "reads the news")
Item = TypeVar("Item")
OWN = 3  # steps of a piece of work that are no signs
KINDS = OWN + len(SIGNS)
NEEDS = 3  # of a piece of work
USED = 4  # signs that a way has
BREAK = -1  # in place of a piece of work
# By size: pieces of work, and signs in the usual order of each
SIZES = {"small": (2, 2), "medium": (3, 2), "large": (4, 3)}
POOLS = ("sets", "orders")
ARISES, PASSES, STAYS = 25, 8, 60  # percent


@dataclass(frozen=True, slots=True)
class Way:
    """How a person does a piece of work; events are numbered, own steps first, then signs."""

    work: str
    usual: tuple[int, ...]  # events while nothing is needed, over and over
    needs: tuple[tuple[int, ...], ...]  # the signs of each need
    ordered: bool  # whether the signs of a need come in their order
    signs: tuple[int, ...]  # those of all needs

    def event(self, kind: int) -> str:
        """An event in words."""
        return WORKS[self.work][0][kind] if kind < OWN else SIGNS[kind - OWN]

    @property
    def helps(self) -> tuple[str, ...]:
        """The kind of help that fits each need."""
        return WORKS[self.work][1]

    def __str__(self) -> str:
        usual = "; ".join(map(self.event, self.usual))
        lines = [f"{self.work}: usually {usual}; and again."]
        for help, signs in zip(self.helps, self.needs, strict=True):
            joined = "; then ".join(map(self.event, signs))
            if not self.ordered:
                joined = "; or ".join(map(self.event, signs))
            lines.append(f"  '{help}' is needed: {joined}{'; and again' * self.ordered}.")
        lines.append(f"  by chance: {'; or '.join(map(self.event, self.signs))}.")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, order=True)
class Standing:
    """Where a piece of work stands."""

    place: int = 0  # of the next event in the usual order
    need: int = -1  # -1 for none
    phase: int = 0  # of the next sign, where signs have an order
    passed: int = 0  # needs that passed without help


@dataclass(frozen=True, slots=True)
class Glimpse:
    """An event that was seen, and what was offered after it."""

    work: int  # BREAK for none
    kind: int
    offer: int = -1  # a need of this piece of work that an offer fits; -1 for none
    accepted: bool = False
    disturbed: bool = False  # whether anything was offered and rejected


@dataclass(frozen=True, slots=True)
class Day:
    """The ways of a person, where their work stands, and what was seen of it."""

    ways: tuple[Way, ...]
    noise: int  # percent of events at work that are a sign by chance
    standings: tuple[Standing, ...]
    seen: tuple[Glimpse, ...] = ()

    @property
    def helps(self) -> tuple[str, ...]:
        """Every kind of help, needs of the first piece of work first."""
        return tuple(help for way in self.ways for help in way.helps)

    @property
    def need(self) -> str:
        """What is needed in the work that the person does now; "" for nothing."""
        work = self.seen[-1].work
        need = -1 if work == BREAK else self.standings[work].need
        return self.ways[work].helps[need] if need >= 0 else ""

    @property
    def counts(self) -> tuple[int, int, int]:
        """Offers accepted, offers rejected, and needs that passed or are there without help."""
        accepted = sum(one.accepted for one in self.seen)
        rejected = sum(one.disturbed for one in self.seen)
        return accepted, rejected, sum(one.passed + (one.need >= 0) for one in self.standings)

    def event(self, glimpse: Glimpse) -> str:
        """An event in words."""
        if glimpse.work == BREAK:
            return BREAKS[glimpse.kind]
        way = self.ways[glimpse.work]
        return f"{way.work}: {way.event(glimpse.kind)}"


# What can happen


def _changes(way: Way, standing: Standing) -> list[tuple[float, Standing]]:
    """What can become of a need before an event, with chances."""
    stays = replace(standing, passed=0)
    if standing.need >= 0:
        gone = Standing(standing.place, passed=1)
        return [(1 - PASSES / 100, stays), (PASSES / 100, gone)]
    arisen = [
        (ARISES / 100 / NEEDS / phases, Standing(standing.place, need, phase))
        for need, signs in enumerate(way.needs)
        for phases in [len(signs) if way.ordered else 1]
        for phase in range(phases)
    ]
    return [(1 - ARISES / 100, stays), *arisen]


def _events(way: Way, standing: Standing, noise: int) -> list[tuple[float, int, Standing]]:
    """The events that can follow, with chances."""
    found = [(noise / 100 / USED, sign, standing) for sign in way.signs]
    rest = 1 - noise / 100
    if standing.need < 0:
        after = replace(standing, place=(standing.place + 1) % len(way.usual))
        return [*found, (rest, way.usual[standing.place], after)]
    signs = way.needs[standing.need]
    if way.ordered:
        after = replace(standing, phase=(standing.phase + 1) % len(signs))
        return [*found, (rest, signs[standing.phase], after)]
    return [*found, *((rest / len(signs), sign, standing) for sign in signs)]


@lru_cache(maxsize=8192)
def outcomes(way: Way, standing: Standing, noise: int) -> tuple[tuple[float, int, Standing], ...]:
    """Chance, event and where the work stands after it; `passed` counts from there on."""
    return tuple(
        (chance * likely, kind, after)
        for chance, changed in _changes(way, standing)
        for likely, kind, after in _events(way, changed, noise)
        if likely
    )


@lru_cache(maxsize=65536)
def _leading(
    way: Way, standing: Standing, noise: int, kind: int
) -> tuple[tuple[float, Standing], ...]:
    """The outcomes with an event of one kind."""
    return tuple((p, after) for p, seen, after in outcomes(way, standing, noise) if seen == kind)


# Drawing


def draw_way(work: str, harmless: int, ordered: bool, rng: Rng) -> Way:
    """A way to do a piece of work, with `harmless` signs in its usual order."""
    signs = list(range(OWN, KINDS))
    rng.shuffle(signs)
    used = sorted(signs[:USED])
    usual = list(range(OWN))
    for sign in some_of(used, harmless, rng):
        usual.insert(rng.below(len(usual) + 1), sign)
    if ordered:
        possible = [c for three in combinations(used, 3) for c in _cycles(three)]
    else:
        possible = [c for size in (2, 3) for c in combinations(used, size)]
    needs = tuple(some_of(possible, NEEDS, rng))
    return Way(work, tuple(usual), needs, ordered, tuple(used))


def _cycles(signs: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Every order of signs that come over and over."""
    return [(signs[0], *rest) for rest in permutations(signs[1:])]


def some_of(items: Iterable[Item], count: int, rng: Rng) -> list[Item]:
    """`count` different items in random order."""
    pool = list(items)
    rng.shuffle(pool)
    return pool[:count]


def draw_day(size: str, pool: str, noise: int, rng: Rng) -> Day:
    """A day of a size at its first event, with ways of a pool."""
    count, harmless = SIZES[size]
    works = some_of(WORKS, count, rng)
    ways = tuple(draw_way(work, harmless, pool == "orders", rng) for work in works)
    return go_on(Day(ways, noise, (Standing(),) * count), rng)


def go_on(day: Day, rng: Rng) -> Day:
    """A day after its next event."""
    last = day.seen[-1].work if day.seen else rng.below(len(day.ways))
    work = last if rng.below(100) < STAYS else rng.between(BREAK, len(day.ways) - 1)
    if work == BREAK:
        return replace(day, seen=(*day.seen, Glimpse(BREAK, rng.below(len(BREAKS)))))
    standing = day.standings[work]
    possible = outcomes(day.ways[work], replace(standing, passed=0), day.noise)
    _, kind, after = possible[rng.weighted([chance for chance, _, _ in possible])]
    after = replace(after, passed=standing.passed + after.passed)
    standings = (*day.standings[:work], after, *day.standings[work + 1 :])
    return replace(day, standings=standings, seen=(*day.seen, Glimpse(work, kind)))


def offer_help(day: Day, help: str) -> tuple[Day, bool]:
    """A day after an offer, and whether it is accepted."""
    last, accepted = day.seen[-1], help == day.need
    helps = () if last.work == BREAK else day.ways[last.work].helps
    offer = helps.index(help) if help in helps else -1
    last = replace(last, offer=offer, accepted=accepted, disturbed=not accepted)
    standings = list(day.standings)
    if accepted:
        standings[last.work] = replace(standings[last.work], need=-1, phase=0)
    return replace(day, standings=tuple(standings), seen=(*day.seen[:-1], last)), accepted


# What follows from what was seen


def belief(way: Way, noise: int, seen: Sequence[Glimpse]) -> dict[Standing, float]:
    """How likely each standing of a piece of work is, given its events and what was offered."""
    chances = {Standing(): 1.0}
    for glimpse in seen:
        following: dict[Standing, float] = {}
        for standing, chance in chances.items():
            before = replace(standing, passed=0)
            for likely, after in _leading(way, before, noise, glimpse.kind):
                counted = _answered(replace(after, passed=standing.passed + after.passed), glimpse)
                if counted is not None:
                    following[counted] = following.get(counted, 0.0) + chance * likely
        total = sum(following.values())
        chances = {one: chance / total for one, chance in following.items()}
    return chances


def _answered(standing: Standing, glimpse: Glimpse) -> Standing | None:
    """A standing after the offer that followed an event; None if the answer rules it out."""
    if glimpse.accepted:
        return replace(standing, need=-1, phase=0) if standing.need == glimpse.offer else None
    return None if standing.need == glimpse.offer >= 0 else standing


def imagine_day(day: Day, rng: Rng) -> Day:
    """A day drawn from its chances, given what was seen of it."""
    standings = []
    for work, way in enumerate(day.ways):
        chances = belief(way, day.noise, [one for one in day.seen if one.work == work])
        possible = sorted(chances)
        standings.append(possible[rng.weighted([chances[one] for one in possible])])
    return replace(day, standings=tuple(standings))
