"""Days of a watched person: what follows by enumeration, how often days are imagined, shortcuts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import Any

import palestra
import pytest
from palestra import InvalidOption, Rng, Turn
from palestra.kernel.registry import registry
from palestra.testing.kit import CHECKS, Subject, run_check
from palestra_tasks.clinic.days import (
    BREAK,
    Day,
    Glimpse,
    Standing,
    Way,
    belief,
    draw_day,
    go_on,
    imagine_day,
    offer_help,
)
from palestra_tasks.clinic.proactive import Offer, Proactive
from palestra_tasks.clinic.watchers import (
    FilteringHelper,
    MatchingHelper,
    PairedHelper,
    SilentHelper,
    read_notes,
)
from scipy.stats import chisquare
from sklearn.metrics import f1_score

SIZES = ("small", "medium", "large")
SPLITS = registry().environment("tasks/Proactive-v0").splits


@lru_cache(maxsize=100_000)
def renamed(usual: tuple[int, ...], needs: tuple[tuple[int, ...], ...], ordered: bool) -> Any:
    """A way with its signs named so that all ways that differ by names alone are the same."""
    found = []
    for names in permutations(range(4)):
        ends = [tuple(names[sign] for sign in need) for need in needs]
        turned = [end[(at := end.index(min(end))) :] + end[:at] for end in ends]
        alike = sorted(turned if ordered else map(tuple, map(sorted, ends)))
        found.append((tuple(k if k < 0 else names[k] for k in usual), tuple(alike)))
    return min(found)


def structure(way: Way) -> Any:
    """A way without the names of works, steps, signs and needs."""
    at = {sign: number for number, sign in enumerate(way.signs)}
    usual = tuple(at.get(kind, kind - 3) for kind in way.usual)
    return renamed(usual, tuple(tuple(at[s] for s in need) for need in way.needs), way.ordered)


@pytest.mark.parametrize(("size", "least"), [("small", 1650), ("medium", 1990), ("large", 2000)])
@pytest.mark.parametrize("held", ["", "held-out-"])
def test_hardly_two_people_of_a_split_have_the_same_ways(size: str, least: int, held: str) -> None:
    game = Proactive(**SPLITS[held + size])
    days = [game.initial_state(seed).day for seed in range(2000)]
    found = {tuple(sorted(map(structure, day.ways))) for day in days if day}
    assert len(found) >= least


def test_held_out_needs_differ_by_the_order_of_their_signs_and_no_others_do() -> None:
    for size in SIZES:
        for held in ("", "held-out-"):
            game = Proactive(**SPLITS[held + size])
            days = [game.initial_state(seed).day for seed in range(200)]
            ways = [way for day in days if day for way in day.ways]
            assert {way.ordered for way in ways} == {bool(held)}
            alike = [len({frozenset(need) for need in way.needs}) < 3 for way in ways]
            assert any(alike) == bool(held)


def futures(way: Way, noise: int, start: Standing) -> Iterator[tuple[Fraction, int, Standing]]:
    """Every way in which one event can come about, as the rules that a player reads tell it."""
    place, need, passed = start.place, start.need, start.passed
    if need < 0:
        befores = [(Fraction(3, 4), start)]
        for one, signs in enumerate(way.needs):
            begins = range(len(signs)) if way.ordered else [0]
            befores += [
                (Fraction(1, 12 * len(begins)), Standing(place, one, at, passed)) for at in begins
            ]
    else:
        befores = [(Fraction(23, 25), start), (Fraction(2, 25), Standing(place, -1, 0, passed + 1))]
    chance_sign = Fraction(noise, 100)
    for chance, before in befores:
        place, need, phase, passed = before.place, before.need, before.phase, before.passed
        for sign in way.signs:
            yield chance * chance_sign / 4, sign, before
        rest = chance * (1 - chance_sign)
        if need < 0:
            following = Standing((place + 1) % len(way.usual), -1, 0, passed)
            yield rest, way.usual[place], following
        elif way.ordered:
            signs = way.needs[need]
            yield rest, signs[phase], Standing(place, need, (phase + 1) % len(signs), passed)
        else:
            for sign in way.needs[need]:
                yield rest / len(way.needs[need]), sign, Standing(place, need, 0, passed)


def enumerated(
    way: Way, noise: int, seen: list[Glimpse], start: Standing
) -> Iterator[tuple[Fraction, Standing]]:
    """Every course of a piece of work that shows what was seen, one by one, with its chance."""
    if not seen:
        yield Fraction(1), start
        return
    first, *rest = seen
    for chance, kind, after in futures(way, noise, start):
        fits = after.need == first.offer >= 0
        if kind != first.kind or fits != first.accepted:
            continue
        if first.accepted:
            after = Standing(after.place, -1, 0, after.passed)
        for later, end in enumerated(way, noise, rest, after):
            yield chance * later, end


def shown(day: Day, work: int) -> list[Glimpse]:
    """What was seen of a piece of work."""
    return [one for one in day.seen if one.work == work]


def watched(size: str, ways: str, seed: int, events: int) -> Day:
    """A day on which help, fitting in one of two cases, is offered after a third of events."""
    rng = Rng.seeded(seed)
    day = draw_day(size, ways, 20, rng)
    for _ in range(events):
        if rng.below(3) == 0:
            offers = (day.need or day.helps[0], rng.choice(day.helps))
            day, _ = offer_help(day, rng.choice(offers))
        day = go_on(day, rng)
    return day


@pytest.mark.parametrize("ways", ["sets", "orders"])
def test_what_follows_from_events_is_what_all_courses_say(ways: str) -> None:
    accepted = 0
    for seed in range(30):
        day = watched("medium", ways, seed, 12)
        for work, way in enumerate(day.ways):
            seen = shown(day, work)[:5]
            accepted += sum(one.accepted for one in seen)
            wanted: Counter[Standing] = Counter()
            for chance, end in enumerated(way, 20, seen, Standing()):
                wanted[end] += chance  # type: ignore[assignment]
            total = sum(wanted.values())
            found = belief(way, 20, seen)
            assert set(found) == set(wanted)
            for end, chance in found.items():
                assert chance == pytest.approx(float(wanted[end] / total))
    assert accepted > 3


@pytest.mark.parametrize("seed", [5, 11, 12])
def test_imagined_days_stand_as_often_as_all_courses_say(seed: int) -> None:
    true = watched("small", "sets", seed, 9)
    work = max(range(2), key=lambda one: len(belief(true.ways[one], 20, shown(true, one))))
    seen = shown(true, work)
    way, rng = true.ways[work], Rng.seeded(seed)
    chances: Counter[Standing] = Counter()
    for chance, end in enumerated(way, 20, seen, Standing()):
        chances[end] += chance  # type: ignore[assignment]
    total = sum(chances.values())
    imagined = Counter(imagine_day(true, rng).standings[work] for _ in range(2000))
    often = [end for end, chance in chances.items() if 2000 * chance / total >= 5]
    assert len(often) > 2
    wanted = [float(2000 * chances[end] / total) for end in often]
    counts = [imagined[end] for end in often]
    if len(often) < len(chances):
        wanted, counts = [*wanted, 2000 - sum(wanted)], [*counts, 2000 - sum(counts)]
    assert sum(imagined[end] for end in chances) == 2000
    assert chisquare(counts, wanted).pvalue > 0.001


@pytest.mark.parametrize("split", ["small", "large", "held-out-medium"])
def test_the_position_says_all_that_was_seen(split: str) -> None:
    for seed in range(10):
        episode = palestra.Episode(Proactive(**SPLITS[split]), seed)
        rng = Rng.seeded(seed)
        for _ in range(39):
            helps = episode.state.day.helps
            episode.act({0: Offer(rng.choice((*["nothing"] * 9, *helps)))})
        notes, day = read_notes(Turn(episode, 0).position), episode.state.day
        assert notes.ways == day.ways
        assert [one for one in notes.seen if one.work != BREAK] == [
            one for one in day.seen if one.work != BREAK
        ]
        assert len(notes.seen) == 40


def played(agent: Any, split: str, seeds: int) -> float:
    """The mean return of an agent over the first seeds."""
    paid = 0.0
    for seed in range(seeds):
        episode = palestra.Episode(Proactive(**SPLITS[split]), seed)
        while not episode.over:
            episode.act({0: agent.choose(Turn(episode, 0))})
        paid += episode.returns[0] / seeds
    return paid


class NoHabits(FilteringHelper):
    """Takes a sign for one of a need even where it is part of the usual order."""

    def choose_in_day(self, notes: Day) -> str:
        plain = tuple(
            Way(w.work, tuple(k for k in w.usual if k < 3), w.needs, w.ordered, w.signs)
            for w in notes.ways
        )
        try:
            return super().choose_in_day(replace(notes, ways=plain))
        except ZeroDivisionError:  # no course of such a person shows what was seen
            return "nothing"


@pytest.mark.parametrize("split", ["large", "held-out-large"])
@pytest.mark.parametrize("shortcut", [MatchingHelper, PairedHelper, SilentHelper, NoHabits])
def test_no_shortcut_earns_nine_tenths_of_the_reference(split: str, shortcut: Any) -> None:
    assert played(shortcut(), split, 30) < 0.9 * played(FilteringHelper(), split, 30)


@pytest.mark.parametrize("split", ["small", "held-out-large"])
def test_who_is_told_the_needs_is_paid_in_full(split: str) -> None:
    for seed in range(10):
        episode = palestra.Episode(Proactive(**SPLITS[split]), seed)
        while not episode.over:
            episode.act({0: Offer(episode.state.day.need or "nothing")})
        assert episode.returns == [1.0]


def test_pay_is_f1_of_scikit_learn_over_needs_and_offers() -> None:
    for seed in range(20):
        episode = palestra.Episode(Proactive(**SPLITS["medium"]), seed)
        truth, said, helps = [], [], episode.state.day.helps
        rng = Rng.seeded(seed)
        while not episode.over:
            need, offer = episode.state.day.need, rng.choice(("nothing", "nothing", *helps))
            if offer != "nothing":
                truth.append(int(offer == need))
                said.append(1)
            episode.act({0: Offer(offer)})
        ends = episode.state.day.standings
        lost = sum(one.passed + (one.need >= 0) for one in ends)
        wanted = f1_score(truth + [1] * lost, said + [0] * lost, zero_division=0)
        assert episode.returns[0] == pytest.approx(wanted)


def test_help_for_other_work_or_in_a_break_disturbs() -> None:
    rejected = 0
    for seed in range(40):
        day = watched("small", "sets", seed, 8)
        last = day.seen[-1].work
        for work, standing in enumerate(day.standings):
            if work != last and standing.need >= 0:
                after, accepted = offer_help(day, day.ways[work].helps[standing.need])
                assert not accepted
                assert after.standings == day.standings
                rejected += 1
    assert rejected > 5


@pytest.mark.parametrize("check", sorted(CHECKS))
def test_a_day_passes_the_conformance_tests(check: str) -> None:
    options = {"day": "medium", "ways": "orders", "turns": 12}
    verdict = run_check(Subject(registry().environment("tasks/Proactive-v0"), options), check)
    assert verdict.status != "failed", verdict.detail


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"day": "none", "ways": "orders"}, "set day to small"),
        ({"day": "small", "domain": "writing"}, "set day='none'"),
        ({"day": "small", "turns": 500}, "set turns to 200"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidOption, match=words):
        Proactive(**options)
