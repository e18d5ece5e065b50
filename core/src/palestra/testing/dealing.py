"""Checks that a player who looks ahead expects what the game deals, as often as it deals it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from palestra.kernel.rng import Rng
from palestra.testing.parts import parts_of
from palestra.testing.privacy import needs_secrets
from palestra.testing.subject import Failed, Subject, plain, random_actions

CHANCE = 1e-4  # that a right game fails by accident; divided among all features of it
DEALS, FEWEST = 200, 30  # beginnings that are dealt
PARTS = 60_000  # of states that are looked at; games of many parts are dealt less often
SEATS = 2
BINS = 8  # of a feature with more values than that
RARE = 10  # values seen less often are counted together
GAMES = 40  # of them that are played on
SHORT_GAMES = 80  # of them that are played a few steps, which show what is dealt next
FEW, STEPS = 4, 25  # of a random game from a dealt or an imagined beginning
SPECTATORS = 4  # whose sight of it is compared
CHANCE_SEEDS = 1 << 40  # far from the seeds that were dealt
WORDS = 150  # of a text, the most frequent

Features = dict[str, Any]
Found = tuple[str, Counter[Any], Counter[Any]]  # a feature, and how often it has each value


class Worlds(NamedTuple):
    """States at the beginning, and their parts."""

    states: list[Any]
    parts: list[Features]

    @classmethod
    def of(cls, states: list[Any]) -> Worlds:
        return cls(states, list(map(parts_of, states)))


def imagined_worlds_are_dealt_as_often(subject: Subject) -> None:
    """At the beginning, what a player imagines has the distribution of what the game deals.

    Over many beginnings, lists of both have the same sums and numbers of different items equally
    often. Single parts may differ where this changes nothing, such as the order of cards that will
    be drawn by chance: of games in which they do, it is compared how they look to the others, and
    how random games end.
    """
    needs_secrets(subject)
    deals = min(DEALS, max(FEWEST, PARTS // len(parts_of(subject.unplayed.state))))
    dealt = Worlds.of([subject.episode(seed).state for seed in range(deals)])
    for seat in range(min(SEATS, subject.game.num_players)):
        drawn = [
            subject.game.determinize(state, seat, Rng(7919 * seed + seat))
            for seed, state in enumerate(dealt.states)
        ]
        found = _unlike_worlds(subject, dealt, Worlds.of(drawn), seat)
        if found:
            raise Failed(
                f"at the beginning, what player {seat} imagines is not what the game deals, over "
                f"{deals} seeds: {found}. Draw in determinize() what is hidden as the game draws "
                "it at its beginning, given what the player sees",
                "determinize() draws other worlds than the game deals",
            )


def _unlike_worlds(subject: Subject, dealt: Worlds, drawn: Worlds, seat: int) -> str:
    """In which feature worlds that were dealt differ from those drawn; empty if by chance."""
    lists = unlike(*_shared(list(map(_lists, dealt.parts)), list(map(_lists, drawn.parts))))
    if lists:
        return _shown(lists)
    part = unlike(dealt.parts, drawn.parts)
    if part is None:
        return ""
    one, two = dealt.states, drawn.states
    seen = _seen(subject, one, two, seat, 0)
    seen = seen or _seen(subject, one[:SHORT_GAMES], two[:SHORT_GAMES], seat, FEW)
    seen = seen or _seen(subject, one[:GAMES], two[:GAMES], seat, STEPS)
    return f"{_shown(part)}; so in random games from there {_shown(seen)}" if seen else ""


def _seen(
    subject: Subject, dealt: Sequence[Any], drawn: Sequence[Any], seat: int, steps: int
) -> Found | None:
    """What is seen more often in random games from worlds that were dealt than from those drawn."""
    played = [
        _game(subject, state, seat, seed, steps) for seed, state in enumerate((*dealt, *drawn))
    ]
    _read_words(played)
    return unlike(played[: len(dealt)], played[len(dealt) :])


def unlike(dealt: Sequence[Features], drawn: Sequence[Features]) -> Found | None:
    """The feature whose values differ most between two samples, with counts; None if by chance."""
    names = dict.fromkeys(name for features in (*dealt, *drawn) for name in features)
    worst, found = NormalDist().inv_cdf(1 - CHANCE / (SEATS * max(1, len(names)))), None
    for name in names:
        one, two = ([features.get(name) for features in some] for some in (dealt, drawn))
        if one != two and (excess := _difference(one, two)) > worst:
            worst, found = excess, (name, Counter(map(repr, one)), Counter(map(repr, two)))
    return found


def _difference(one: Sequence[Any], two: Sequence[Any]) -> float:
    """Pearson's chi-square of two samples, as a normal deviate (Wilson and Hilferty 1931).

    Of two values far in the tail it is too small, which lets a difference pass and reports none.
    """
    first, second = _counts(one, two)
    both = first + second
    often = both >= RARE
    table = np.array([[*row[often], row[~often].sum()] for row in (first, second)], float)
    table = table[:, table.sum(axis=0) > 0]
    freedom = table.shape[1] - 1
    if freedom < 1:
        return 0.0
    expected = table.sum(axis=0) * table.sum(axis=1, keepdims=True) / table.sum()
    square = float(((table - expected) ** 2 / expected).sum())
    spread = 2 / (9 * freedom)
    return float(((square / freedom) ** (1 / 3) - (1 - spread)) / spread**0.5)


def _counts(one: Sequence[Any], two: Sequence[Any]) -> tuple[Any, Any]:
    """How often each value, or each bin of many numbers, came in both samples."""
    values = [*one, *two]
    if len({*map(repr, values)}) > BINS and all(isinstance(v, int | float) for v in values):
        edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1]))
        values = np.searchsorted(edges, values, "right").tolist()
    kinds = {kind: place for place, kind in enumerate(dict.fromkeys(map(repr, values)))}
    places = [kinds[repr(value)] for value in values]
    halves = places[: len(one)], places[len(one) :]
    return tuple(np.bincount(half, minlength=len(kinds)) for half in halves)  # type: ignore[return-value]


def _shared(*samples: list[Features]) -> list[list[Features]]:
    """The same features without those that are not in all."""
    common = set[str].intersection(*(set(f) for features in samples for f in features))
    return [[{name: f[name] for name in f if name in common} for f in fs] for fs in samples]


def _lists(parts: Features) -> Features:
    """Of each list of a state the sum and the number of different items, in whatever order."""
    lists: dict[str, list[Any]] = {}
    for path, value in parts.items():
        if path.endswith("]"):
            lists.setdefault(path.rpartition("[")[0], []).append(value)
    found: Features = {}
    for path, items in lists.items():
        found[f"the number of different items of state.{path}"] = len({*map(repr, items)})
        if all(isinstance(item, int | float) for item in items):
            found[f"the sum of state.{path}"] = round(float(sum(items)), 6)
    return found


def _read_words(games: Sequence[Features]) -> None:
    """Replace texts by whether each of their most frequent words is in them."""
    for name in {name for game in games for name, value in game.items() if isinstance(value, str)}:
        said = [set(re.findall(r"[\w.'-]+", game.pop(name, ""))) for game in games]
        frequent = Counter(word for words in said for word in sorted(words)).most_common(WORDS)
        for game, words in zip(games, said, strict=True):
            game |= {f"{name} has {word!r}": word in words for word, _ in frequent}


def _game(subject: Subject, state: Any, seat: int, seed: int, steps: int) -> Features:
    """A random game: how it looks to the others, then to all, its length and its returns."""
    episode = subject.unplayed.fork()
    subject.game.reseed(state, CHANCE_SEEDS + seed)
    episode.load(state)
    seats = range(min(SPECTATORS, subject.game.num_players))
    found: Features = {}
    for other in seats:
        if other != seat:
            found |= _look(subject, episode, other, f"what player {other} sees first")
    rng = Rng(CHANCE_SEEDS - 1 - seed)
    while not episode.over and episode.steps_played < steps:
        episode.act(random_actions(episode, rng))
    found["the number of steps"] = episode.steps_played
    for other in seats:
        found[f"the return of player {other}"] = round(float(episode.returns[other]), 6)
        events = " ".join(event.text for event in episode.transcript(other))
        found[f"the transcript of player {other}"] = events
        if steps:
            found |= _look(subject, episode, other, f"what player {other} sees at last")
    return found


def _look(subject: Subject, episode: Any, seat: int, name: str) -> Features:
    if not subject.has_array_view:
        return {name: episode.describe(seat)}
    seen: Mapping[str, Any] = parts_of(plain(episode.observation(seat)))
    return {f"{name} at {path}": value for path, value in seen.items()}


def _shown(found: Found) -> str:
    name, *counts = found
    dealt, drawn = (
        " ".join(f"{value} ({count}x)" for value, count in some.most_common(3)) for some in counts
    )
    return f"{name} is {dealt}, and in what is imagined {drawn}"[:300]
