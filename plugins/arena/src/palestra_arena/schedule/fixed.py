"""Schedules whose line-ups do not depend on results: one round holds them all."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from palestra import InvalidOption, Rng

from palestra_arena.match import Meeting
from palestra_arena.schedule.plan import Plan, ScheduledEnvironment
from palestra_arena.settings import CrossPlay, Population, RoundRobin, Settings

DRAW_STREAM = 0xD12A


def round_robin(
    settings: Settings, entries: Sequence[ScheduledEnvironment], schedule: RoundRobin
) -> Plan:
    """All sets of as many agents as there are seats."""
    for entry in entries:
        if len(settings.agents) < entry.seats:
            raise InvalidOption(
                f"{entry.environment.label} seats {entry.seats}, and {len(settings.agents)} agents "
                "are named; name more, or choose the schedule population, which seats copies"
            )
    yield [
        Meeting(entry.environment, lineup)
        for entry in entries
        for lineup in itertools.combinations(entry.fitting(settings.agents), entry.seats)
    ]


def cross_play(
    settings: Settings, entries: Sequence[ScheduledEnvironment], schedule: CrossPlay
) -> Plan:
    """One seat for the agent under test, the others for copies of one partner."""
    known = sorted(set(schedule.partners) & set(settings.agents))
    if known:
        raise InvalidOption(f"{known[0]!r} cannot be judged and be a held-out partner at once")
    if schedule.partners:
        pairs = list(itertools.product(settings.agents, schedule.partners))
    else:
        pairs = list(itertools.combinations_with_replacement(settings.agents, 2))
    yield [
        Meeting(entry.environment, (agent, *[partner] * (entry.seats - 1)))
        for entry in entries
        for agent, partner in pairs
        if not {agent, *[partner] * (entry.seats > 1)} & entry.unfit
    ]


def population(
    settings: Settings, entries: Sequence[ScheduledEnvironment], schedule: Population
) -> Plan:
    """Line-ups dealt from shuffled decks of all agents; few agents have several seats each.

    Each line-up has a round, and so seeds, of its own.
    """
    meetings = []
    for entry in entries:
        rng = Rng.seeded(settings.seed, stream=DRAW_STREAM)
        deck: list[str] = []
        for number in range(schedule.lineups):
            lineup: list[str] = []
            while len(lineup) < entry.seats:
                lineup.append(_deal(deck, lineup, settings.agents, rng))
            meetings.append(Meeting(entry.environment, tuple(lineup), number))
    yield meetings


def _deal(deck: list[str], lineup: list[str], agents: Sequence[str], rng: Rng) -> str:
    """The next agent of the deck that has no more seats than others must have."""
    fresh = [card for card in deck if lineup.count(card) <= len(lineup) // len(agents)]
    if not fresh:
        new = list(agents)
        rng.shuffle(new)
        deck += new
        fresh = [card for card in deck if lineup.count(card) <= len(lineup) // len(agents)]
    deck.remove(fresh[0])
    return fresh[0]
