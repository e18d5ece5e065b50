"""What may be true of a drawn world, given what a player has seen: a particle filter over laws.

A particle guesses how dials are shown, what words mean and where the dials stand; given these, the
laws that each button may have are counted exactly. Where all dials are shown and right, a draw from
the particles is a draw from the posterior but for the resampling of particles by what was paid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from palestra import Rng

from palestra_tasks.worlds.attempts import Attempt, Known, Pressed, Reading
from palestra_tasks.worlds.panels import (
    ENDING,
    PAYS,
    WRONG,
    Effect,
    Grammar,
    World,
    draw_world,
    fits,
    good_targets,
    grammar,
    opposite,
    optimum,
    paid,
)

PARTICLES = 96
LOOKED = 6  # particles of which laws are drawn at once
ROUNDS = 8  # of drawing laws, if no particle explains what was paid


@dataclass(frozen=True, slots=True)
class Particle:
    """A guess: the laws that are left for each button, and the states of every attempt."""

    sight: str
    words: str
    start: int
    laws: tuple[Any, ...]
    open: Any  # [pays, target], whether it explains what was paid
    paths: tuple[tuple[int, ...], ...] = ()


def imagine(known: Known, rng: Rng) -> tuple[World, str]:
    """A world that explains what was seen and paid, and how its dials are shown."""
    guesses = particles(known)
    for _ in range(ROUNDS):
        looked = [rng.choice(guesses) for _ in range(LOOKED)]
        found = [one for particle in looked if (one := _world(known, particle, rng))]
        if found:
            return found[rng.weighted([weight for weight, _, _ in found])][1:]
    last = rng.choice(guesses)  # what was paid is explained by none
    return draw_world(known.level, known.rare, last.start, rng), last.sight


@lru_cache(maxsize=2048)  # of many episodes by turns; what particles share is kept once
def particles(known: Known) -> tuple[Particle, ...]:
    """Particles after all that was seen; a press that none explains is passed over."""
    rng = Rng.seeded(int.from_bytes(blake2b(repr(known).encode(), digest_size=8).digest()))
    *before, last = known.attempts
    if last.presses:
        earlier = Attempt(last.reading, last.presses[:-1])
        return _pressed(known, particles(replace(known, attempts=(*before, earlier))), rng)
    if not before:
        return _placed(known, last.reading, rng)
    guesses = particles(replace(known, attempts=tuple(before)))
    likely = [float(_seen(known, one, last.reading)[one.start]) for one in guesses]
    left = [one.open & _closed(known.grammar, one.paths[-1]) for one in guesses]
    begun = [
        replace(one, paths=(*one.paths, (one.start,)), open=some)
        for one, some in zip(guesses, left, strict=True)
    ]
    kept = [
        float(some.sum() / max(1, one.open.sum())) for some, one in zip(left, guesses, strict=True)
    ]
    return _chosen(begun, [a * b for a, b in zip(likely, kept, strict=True)], rng)


def _placed(known: Known, reading: Reading, rng: Rng) -> tuple[Particle, ...]:
    """Particles at the first start."""
    guesses = [_first(known, number) for number in range(PARTICLES)]
    likely = [float(_seen(known, one, reading).sum()) for one in guesses]
    starts = [
        (one, rng.weighted(_seen(known, one, reading).tolist()))
        for one in _chosen(guesses, likely, rng)
    ]
    return tuple(replace(one, start=start, paths=((start,),)) for one, start in starts)


def _seen(known: Known, one: Particle, reading: Reading) -> Any:
    return likelihood(known.level, one.sight, reading)


def _first(known: Known, number: int) -> Particle:
    """A particle before anything was seen; every guess has as many of them as every other."""
    rules = known.grammar
    partly = known.shown < rules.size.dials
    sight = "part" if partly else ("all", "noisy")[number % 2]
    words = ("plain", "inverted")[number // 2 % 2] if known.labels[0] else "made-up"
    laws = tuple(_laws(known.level, known.rare, label, words) for label in known.labels)
    return Particle(sight, words, 0, laws, np.ones((len(PAYS), len(rules.targets)), bool))


@lru_cache(maxsize=1024)
def _laws(level: str, rare: bool, label: Effect | None, words: str) -> Any:
    """The laws of a button with a label."""
    rules = grammar(level, rare)
    return rules.laws_of(opposite(label) if label and words == "inverted" else label)


@lru_cache(maxsize=4096)
def likelihood(level: str, sight: str, reading: Reading) -> Any:
    """[state], how likely the dials show this."""
    rules = grammar(level, False)
    right = rules.digits[:, : len(reading)] == np.array(reading)
    if sight != "noisy":
        return right.all(axis=1).astype(float)
    return np.where(right, 1 - WRONG, WRONG / (rules.size.values - 1)).prod(axis=1)


def _pressed(known: Known, guesses: tuple[Particle, ...], rng: Rng) -> tuple[Particle, ...]:
    """Particles after the last press; those that agree share what is left."""
    press = known.attempts[-1].presses[-1]
    shared: dict[tuple[int, int, str], Moves] = {}
    explained: dict[tuple[int, tuple[int, ...]], Any] = {}
    moved, likely = [], []
    for one in guesses:
        key = id(one.laws[press.button]), one.paths[-1][-1], one.sight
        if key not in shared:
            shared[key] = _moves(known, one, press)
        state = rng.weighted(shared[key].chances)
        laws = list(one.laws)
        laws[press.button] = shared[key].left(state)
        path = (*one.paths[-1], state)
        same = id(one.open), path
        if same not in explained:
            explained[same] = one.open & _explained(known.grammar, path, press.pay)
        left = explained[same]
        paths = (*one.paths[:-1], path)
        moved.append(replace(one, laws=tuple(laws), paths=paths, open=left))
        likely.append(shared[key].likely * float(left.sum() / max(1, one.open.sum())))
    return _chosen(moved, likely, rng)


@dataclass(slots=True)
class Moves:
    """Where a press may lead, how likely what the dials showed is, and laws by state."""

    laws: Any
    after: Any
    chances: list[float]
    likely: float
    found: dict[int, Any] = field(default_factory=dict)

    def left(self, state: int) -> Any:
        if state not in self.found:
            self.found[state] = self.laws[self.after == state]
        return self.found[state]


def _moves(known: Known, one: Particle, press: Pressed) -> Moves:
    rules, laws = known.grammar, one.laws[press.button]
    after, weights = rules.outcomes[laws, one.paths[-1][-1]], rules.weights[laws]
    seen = np.bincount(after, weights * _seen(known, one, press.reading)[after])
    total = float(seen.sum())
    chances = seen if total else np.bincount(after, weights)
    return Moves(laws, after, chances.tolist(), total / float(weights.sum()))


def _chosen(guesses: Sequence[Particle], weights: list[float], rng: Rng) -> tuple[Particle, ...]:
    """Particles drawn by their weights; the same ones where weights do not differ."""
    if min(weights) == max(weights):
        return tuple(guesses)
    sums = np.cumsum(weights)
    marks = (np.arange(len(guesses)) + rng.random()) * sums[-1] / len(guesses)
    return tuple(guesses[n] for n in np.searchsorted(sums, marks, side="right").tolist())


def _world(known: Known, one: Particle, rng: Rng) -> tuple[float, World, str] | None:
    """A world of a particle with the share of what pays that explains what was paid."""
    rules = known.grammar
    laws = tuple(rules.pick(left, rng) for left in one.laws)
    targets = good_targets(rules, laws, one.start) if fits(rules, laws, known.rare) else ()
    if not len(targets):
        return None
    open_ = (one.open & ~_closed(rules, one.paths[-1]))[:, targets]
    counts = open_.sum(axis=1).astype(float)
    if not counts.any():
        return None
    kind = rng.weighted(counts.tolist())
    target = int(rng.choice(targets[open_[kind]]))
    world = World(known.level, known.rare, one.start, laws, target, PAYS[kind], one.words)
    if optimum(world) <= 0:
        return None
    return float(counts.sum() / len(targets) / one.open.mean()), world, one.sight


def _explained(rules: Grammar, path: tuple[int, ...], pay: float) -> Any:
    """[pays, target], whether the last press of an attempt is paid so, and was not too late."""
    every, late = np.arange(len(rules.targets)), _met(rules, path[:-1])
    due = [paid(rules, every, pays, list(path))[:, -1] for pays in PAYS]
    return (np.abs(np.array(due) - pay) < 1e-3) & ~(_ENDS & late)


def _met(rules: Grammar, states: tuple[int, ...]) -> Any:
    """[target], whether it is met in one of some states after the start."""
    return (rules.shares[:, states[1:]] > 0.999).any(axis=1)


def _closed(rules: Grammar, path: tuple[int, ...]) -> Any:
    """[pays, target], whether an attempt is over after its last press."""
    return (_ENDS & _met(rules, path)) | (len(path) > rules.size.length)


_ENDS = np.array([[pays in ENDING] for pays in PAYS])
