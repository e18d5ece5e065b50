"""Agents for the proactive assistant: shortcuts, and one that filters all that was seen."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import ClassVar

from palestra import ScriptedAgent, Turn, agent

from palestra_tasks.clinic.days import (
    BREAK,
    NEEDS,
    OWN,
    SIGNS,
    WORKS,
    Day,
    Glimpse,
    Way,
    belief,
)
from palestra_tasks.clinic.proactive import SCENES, SILENT, Offer, Proactive


def read_notes(position: str) -> Day:
    """What a position in words says of a day: all but where its work stands."""
    found = re.findall(r"^([^\n:]+): usually (.*); and again\.\n((?:  .*\n)+)", position, re.M)
    ways = tuple(_read_way(work, usual.split("; "), needs) for work, usual, needs in found)
    (noise,) = re.findall(r"(\d+) % come by chance", position)
    events = re.findall(r"^Event \d+\. (.*?)\.?(?: \(offered '(.*)': (\w+)\))?$", position, re.M)
    seen = tuple(_read_event(ways, *event) for event in events)
    return Day(ways, int(noise), standings=(), seen=seen)


def _read_way(work: str, usual: list[str], needs: str) -> Way:
    """A way from its lines."""
    steps = (*WORKS[work][0], *SIGNS)
    lines = re.findall(r"needed: (.*)\.\n", needs)
    ordered = "; then " in needs
    signs = tuple(
        tuple(map(steps.index, re.split(r"; (?:then|or) ", line.removesuffix("; and again"))))
        for line in lines
    )
    (used,) = re.findall(r"by chance: (.*)\.\n", needs)
    usual_steps, used_signs = map(steps.index, usual), map(steps.index, used.split("; or "))
    return Way(work, tuple(usual_steps), signs, ordered, tuple(used_signs))


def _read_event(ways: tuple[Way, ...], text: str, offer: str, answer: str) -> Glimpse:
    """An event from its line, and what was offered after it."""
    for number, way in enumerate(ways):
        if text.startswith(f"{way.work}: "):
            kind = (*WORKS[way.work][0], *SIGNS).index(text.split(": ")[1])
            need = way.helps.index(offer) if offer in way.helps else -1
            return Glimpse(number, kind, need, answer == "accepted", answer == "rejected")
    return Glimpse(BREAK, 0, -1, accepted=False, disturbed=answer == "rejected")


@agent("proactive-matching", kind="scripted")
class MatchingHelper(ScriptedAgent[Proactive]):
    """Offers what fits the last event, which now and then misleads."""

    def choose(self, turn: Turn[Proactive]) -> Offer:
        if turn.game.day != "none":
            return Offer(self.choose_in_day(read_notes(turn.position)))
        event = turn.game.events[int(turn.observation[:-2].argmax())]
        for need, events in SCENES[turn.game.domain].items():
            if event in events:
                return Offer(need or SILENT)
        return Offer(SILENT)

    def choose_in_day(self, notes: Day) -> str:
        """The help of the first need with the last sign, unless the usual order has it too."""
        last = notes.seen[-1]
        if last.work == BREAK:
            return SILENT
        way = notes.ways[last.work]
        fitting = [need for need, signs in enumerate(way.needs) if last.kind in signs]
        return way.helps[fitting[0]] if fitting and last.kind not in way.usual else SILENT


@agent("proactive-paired", kind="scripted")
class PairedHelper(MatchingHelper):
    """As `proactive-matching`; in a day offers what fits the last two events of the work."""

    def choose_in_day(self, notes: Day) -> str:
        last = notes.seen[-1]
        recent = [one.kind for one in notes.seen if one.work == last.work][-2:]
        if last.work == BREAK or len(recent) < 2 or min(recent) < OWN:
            return SILENT
        way = notes.ways[last.work]
        fitting = [need for need, signs in enumerate(way.needs) if _follow(way, signs, recent)]
        return way.helps[fitting[0]] if fitting else SILENT


def _follow(way: Way, signs: tuple[int, ...], recent: list[int]) -> bool:
    """Whether two events can follow each other while there is a need with these signs."""
    if not way.ordered:
        return set(recent) <= set(signs)
    return (recent[0], recent[1]) in pairwise((*signs, signs[0]))


@agent("proactive-filtering", kind="solver")
class FilteringHelper(MatchingHelper):
    """As `proactive-matching`; in a day offers what is likely enough by all that was seen."""

    enough: ClassVar[float] = 0.55  # best of 0.35 to 0.75 on days of other seeds than are reported

    def choose_in_day(self, notes: Day) -> str:
        last = notes.seen[-1]
        if last.work == BREAK:
            return SILENT
        way = notes.ways[last.work]
        seen = [one for one in notes.seen if one.work == last.work]
        chances = dict.fromkeys(range(NEEDS), 0.0)
        for standing, chance in belief(way, notes.noise, seen).items():
            if standing.need >= 0:
                chances[standing.need] += chance
        likely = max(chances, key=chances.__getitem__)
        return way.helps[likely] if chances[likely] >= self.enough else SILENT


@agent("proactive-silent", kind="scripted")
class SilentHelper(ScriptedAgent[Proactive]):
    """Never offers anything."""

    def choose(self, turn: Turn[Proactive]) -> Offer:
        return Offer(SILENT)


@agent("proactive-eager", kind="scripted")
class EagerHelper(ScriptedAgent[Proactive]):
    """Always offers something, whatever happens."""

    def choose(self, turn: Turn[Proactive]) -> Offer:
        helps = turn.game.kinds if turn.game.day == "none" else read_notes(turn.position).helps
        return Offer(self.rng.choice(helps))
