"""Composed studies: a graph of causes told in words, and data that came about by it.

A graph is composed of pieces (confounders, mediators, colliders and others), one or two designs
that say what is not recorded and what helps, and further steps between variables. It is drawn again
until some design identifies the effect, and neither no control nor all of them do.

Influences are linear and add up, and noise is nearly normal: a sum of four uniform numbers. Rows
that are selected are kept with a chance that falls with the distance from the mean like a normal
density, so that influences stay linear among them.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra import Rng
from palestra.kernel.rng import threefry

from palestra_tasks.science.causes import Causes, Design
from palestra_tasks.science.econometrics import Estimate, centred, regress

Array = NDArray[np.float64]
WORDS: dict[str, Any] = tomllib.loads(
    files(__package__).joinpath("studies.toml").read_text(encoding="utf-8")
)
POOLS = {pool: tuple(map(tuple, WORDS["splits"][pool])) for pool in ("common", "rare")}
POOLS["all"] = POOLS["common"] + POOLS["rare"]
PERIODS = 12  # of a panel
NO_DIRECT = 6  # one study in so many has no step from x to y
CURVE = 1.0  # times the third power of the score, in y
SPREAD = 0.5  # of what is selected, in its standard deviations
DRAWN = 2.5  # times as many rows are drawn as are kept of a selection
UNKNOWN = "nobody recorded it"
ROOT = "it depends on nothing else here"
SELECTED = "only rows in which it came out near its mean are in the data"
BY_CUTOFF = "by a rule it is 1 from 0 on and 0 below, of"
BY_LAW = "it is 1 only where both are 1, of"
HALF = "it is 1 in the second half of the time and 0 before"
SIDE = "it is 1 or 0, and"  # of the units that a law is for
CURVED = "in a curve, of"


@dataclass(frozen=True, slots=True)
class Study:
    """Causes under the names that players read, with the words for them."""

    causes: Causes
    group: str  # the units that a law is for, and the time from which it is in force
    after: str
    nouns: tuple[str, str, str, str]  # a unit, units, a period, periods
    ways: tuple[str, ...]  # by variable, who decided it
    order: tuple[str, ...]  # in which they are told


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """The rows of a study, and the effect of x on y that made them."""

    columns: Mapping[str, Array]
    unit: NDArray[np.int64]
    period: NDArray[np.int64]
    effect: float

    @property
    def rows(self) -> NDArray[np.int64]:
        """The numbers of all rows."""
        return np.arange(len(self.unit))


# Drawing a study


def draw_study(rng: Rng, size: str, pool: str) -> Study:
    """A study whose effect some design identifies, and neither no control nor all of them."""
    while True:
        composed = _compose(rng, size, pool)
        if composed is None:
            continue
        study = _told(rng, composed)
        causes = study.causes
        everything = frozenset(causes.columns) - {causes.x, causes.y}
        easy = any(map(causes.identifies, (Design(), Design(everything))))
        if causes.design and not easy:
            return study


@lru_cache(maxsize=2048)
def study_of(size: str, pool: str, word: int) -> Study:
    """The study that is drawn from a word."""
    return draw_study(Rng.seeded(word, 92), size, pool)


def _compose(rng: Rng, size: str, pool: str) -> Causes | None:
    """A graph of pieces and designs; None if its steps make a circle."""
    pieces, further, most = WORDS["sizes"][size]
    fitting = [chosen for chosen in POOLS[pool] if len(chosen) <= most]
    designs = rng.choice([one for one in fitting if len(one) == most] if most > 1 else fitting)
    parts = [WORDS["designs"][design] for design in designs]
    parts += [WORDS["pieces"][rng.choice(sorted(WORDS["pieces"]))] for _ in range(pieces)]
    steps = [step for number, part in enumerate(parts) for step in _steps(part, number)]
    steps += [("x", "y")] * (rng.below(NO_DIRECT) > 0)
    entry = "s" if "cutoff" in designs else "G" if "law" in designs else "x"
    steps = [(a, entry if b == "x" and a not in ("s", "G", "t") else b) for a, b in steps]
    parents: dict[str, tuple[str, ...]] = {one: () for step in steps for one in step}
    for a, b in sorted(set(steps)):
        parents[b] = (*parents[b], a)
    levels = _levels(rng, parents, panel=any(one[0] in "UP" for one in parents))
    ordered = _further(rng, parents, levels, further)
    if ordered is None:
        return None
    hidden = frozenset(one for one in ordered if one[0].isupper())
    roles = {"score": "s" * ("s" in parents), "selected": "k" * ("k" in parents)}
    return Causes(ordered, levels, hidden, "x", "y", **roles)


def _steps(part: str, number: int) -> list[tuple[str, str]]:
    """The steps of a piece; a and b of different pieces are different variables."""
    named = re.sub(r"\b([abABUPz])\b", rf"\g<1>{number}", part)
    return [(step.split(">")[0], step.split(">")[1]) for step in named.split()]


def _levels(rng: Rng, parents: Mapping[str, tuple[str, ...]], *, panel: bool) -> dict[str, str]:
    """Who is constant in a unit or a period; in a panel some of those that have no causes are.

    The causes of the units that a law is for are constant in a unit.
    """
    levels = dict.fromkeys(parents, "row")
    for one in sorted(parents):
        if panel and not parents[one] and one[0] in "abAB" and rng.below(4) == 0:
            levels[one] = rng.choice(("unit", "period"))
        levels[one] = {"U": "unit", "G": "unit", "P": "period", "t": "period"}.get(
            one[0], levels[one]
        )
    above = ["G"] if "G" in parents else []
    for one in above:
        levels[one] = "unit"
        above += parents[one]
    return levels


def _further(
    rng: Rng, parents: dict[str, tuple[str, ...]], levels: Mapping[str, str], count: int
) -> dict[str, tuple[str, ...]] | None:
    """The graph with further steps, causes first; None if steps make a circle."""
    try:
        order = list(TopologicalSorter(parents).static_order())
    except CycleError:
        return None
    ruled = {"x"} if {"s", "G"} & set(parents) else set()
    if any(not _may_cause(levels, p, one) for one in order for p in parents[one]):
        return None
    for _ in range(count):
        late = rng.between(1, len(order) - 1)
        b, a = order[late], order[rng.below(late)]
        if b not in {"t", "z0", *ruled} and a not in parents[b] and _may_cause(levels, a, b):
            parents[b] = (*parents[b], a)
    return {one: parents[one] for one in order}


def _may_cause(levels: Mapping[str, str], a: str, b: str) -> bool:
    """Whether a is constant wherever b is; what is selected causes nothing."""
    return levels[b] in ("row", levels[a]) and a != "k"


def _told(rng: Rng, causes: Causes) -> Study:
    """A study under drawn names, told in a drawn order."""
    names = list(WORDS["names"])
    rng.shuffle(names)
    named = dict(zip(causes.parents, names, strict=False)) | {"": ""}
    nouns = tuple(rng.choice(WORDS["units"]))
    order = [named[one] for one in causes.parents]
    rng.shuffle(order)
    renamed = Causes(
        {named[one]: tuple(sorted(named[p] for p in ps)) for one, ps in causes.parents.items()},
        {named[one]: level for one, level in causes.levels.items()},
        frozenset(named[one] for one in causes.hidden),
        *(named[one] for one in (causes.x, causes.y, causes.score, causes.selected)),
    )
    return Study(
        renamed, named.get("G", ""), named.get("t", ""), nouns,
        tuple(rng.choice(WORDS["ways"]) for _ in order), tuple(order),
    )  # fmt: skip


# Words


@lru_cache(maxsize=1024)
def told(study: Study, rows: int) -> str:
    """What the player reads."""
    causes = study.causes
    units = rows // PERIODS
    kind = f"{units} {study.nouns[1]}, each in {PERIODS} {study.nouns[3]}"
    lines = [
        f"What is the effect of {causes.x} on {causes.y}, by all the ways in which it acts?",
        f"Data: {units * PERIODS} rows, {kind}." if causes.panel else f"Data: {rows} rows.",
        "How each variable came about:",
        *(_line(study, one, way) for one, way in zip(study.order, study.ways, strict=True)),
        f"Columns: {', '.join(causes.columns)}.",
    ]
    return "\n".join(lines)


def _line(study: Study, one: str, way: str) -> str:
    """How a variable came about."""
    causes = study.causes
    parents = [p for p in causes.parents[one] if one != causes.y or p != causes.score]
    said = f"{way} {_listed(parents)}" if parents else ROOT
    if one == causes.x and causes.score:
        said = f"{BY_CUTOFF} {causes.score}"
    elif one == causes.x and study.group:
        said = f"{BY_LAW} {_listed(parents)}"
    elif one == study.after:
        said = HALF
    elif one == study.group:
        said = f"{SIDE} {said}"
    parts = [said]
    if one == causes.y and causes.score:
        parts.append(f"{CURVED} {causes.score}")
    level = causes.levels[one]
    if level != "row":
        noun = study.nouns[0] if level == "unit" else study.nouns[2]
        parts.append(f"it is one value for each {noun}")
    parts += [UNKNOWN] * (one in causes.hidden) + [SELECTED] * (one == causes.selected)
    return f"- {one}: {'; '.join(parts)}"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else "".join(names)


def read_causes(text: str) -> Causes:
    """The graph that a text tells."""
    parents, levels, hidden, roles = {}, {}, set(), {"score": "", "selected": ""}
    x, y = re.findall(r"effect of (\w+) on (\w+),", text)[0]
    plural = (re.findall(r"rows, \d+ (\w+),", text) or [""])[0]
    unit = next((nouns[0] for nouns in WORDS["units"] if nouns[1] == plural), "")
    for one, said in re.findall(r"^- (\w+): (.*)$", text, re.MULTILINE):
        listed = re.findall(r"(?:from|, of) ((?:\w+, )*(?:\w+ and )?\w+)(?:;|$)", said)
        parents[one] = tuple(re.findall(r"\b(?!and\b)\w+", " ".join(listed)))
        level = re.findall(r"one value for each (\w+)", said)
        levels[one] = "row" if not level else "unit" if level[0] == unit else "period"
        hidden |= {one} if UNKNOWN in said else set()
        if SELECTED in said:
            roles["selected"] = one
        if BY_CUTOFF in said:
            (roles["score"],) = parents[one]
    order = TopologicalSorter(parents).static_order()
    return Causes({one: parents[one] for one in order}, levels, frozenset(hidden), x, y, **roles)


# Data


def _words(seed: int, stream: int, count: int) -> NDArray[np.uint32]:
    """Uniform words, by the generator of all states, many at once."""
    places = np.arange(count // 2 + 1, dtype=np.uint32)
    pairs = threefry(seed, stream, places, 0)  # type: ignore[arg-type]
    return np.concatenate(pairs)[:count]


def _noise(seed: int, count: int) -> Array:
    """Sums of the four bytes of words, with mean 0 and variance 1: nearly normal."""
    words = _words(seed, 94, count)
    halves = (words & 0x00FF00FF) + (words >> 8 & 0x00FF00FF)
    sums = (halves & 0xFFFF) + (halves >> 16)
    return np.asarray((sums - 510.0) / math.sqrt((2**16 - 1) / 3))


@lru_cache(maxsize=256)
def draw_data(study: Study, rows: int, seed: int) -> Data:
    """The data of a study; nobody changes them."""
    causes = study.causes
    count = rows // PERIODS * PERIODS if causes.panel else rows
    count = int(DRAWN * rows) if causes.selected else count
    unit, period = np.divmod(np.arange(count), PERIODS)
    weights = _weights(causes, Rng.seeded(seed, 93))
    # in one call, which is faster; one that is constant has use for the first numbers of its row
    noise = _noise(seed, len(causes.parents) * count).reshape(-1, count)
    places: dict[str, Any] = {"row": slice(None), "unit": unit, "period": period}
    columns: dict[str, Array] = {}
    for one, own in zip(causes.parents, noise, strict=True):
        if one == study.after:
            columns[one] = np.asarray(period >= PERIODS // 2, np.float64)
        else:
            shaken = own[places[causes.levels[one]]]
            columns[one] = _values(study, one, columns, weights, shaken)
    chosen = np.arange(count)
    if causes.selected:
        chosen = _near_mean(columns[causes.selected], seed)[:rows]
    seen = {one: columns[one][chosen] for one in causes.columns}
    for column in seen.values():
        column.setflags(write=False)
    return Data(seen, unit[chosen], period[chosen], _effect(causes, weights))


def _weights(causes: Causes, rng: Rng) -> dict[tuple[str, str], float]:
    """How strongly each cause acts: from 0.5 to 1.2, up or down."""
    return {
        (parent, one): (0.5 + 0.7 * rng.random()) * rng.choice((-1, 1))
        for one, parents in causes.parents.items()
        for parent in parents
    }


def _values(
    study: Study,
    one: str,
    columns: Mapping[str, Array],
    weights: Mapping[tuple[str, str], float],
    noise: Array,
) -> Array:
    """A variable, from those that it follows from."""
    causes = study.causes
    if one == causes.x and causes.score:
        return np.asarray(columns[causes.score] >= 0, np.float64)
    if one == causes.x and study.group:
        return columns[study.group] * columns[study.after]
    total = noise
    for parent in causes.parents[one]:
        total = total + weights[parent, one] * columns[parent]
    if one == causes.y and causes.score:
        total = total + CURVE * columns[causes.score] ** 3
    if one == causes.score:
        return np.asarray((total - total.mean()) / total.std())
    return np.asarray(total > np.median(total), np.float64) if one == study.group else total


def _near_mean(index: Array, seed: int) -> NDArray[np.int64]:
    """Rows in which an index is near its mean."""
    far = (index - index.mean()) / index.std() / SPREAD
    chance = _words(seed, 95, len(index)) / 2**32
    return np.flatnonzero(chance < np.exp(-far * far / 2))


def _effect(causes: Causes, weights: Mapping[tuple[str, str], float]) -> float:
    """The change of y if x rises by 1: the sum over ways of the products of their weights."""
    change = dict.fromkeys(causes.parents, 0.0)
    for one, parents in causes.parents.items():
        moved = sum(weights[parent, one] * change[parent] for parent in parents)
        change[one] = 1.0 if one == causes.x else moved
    return change[causes.y]


@lru_cache(maxsize=2048)
def fit(study: Study, data: Data, design: Design, of: str, outcome: str) -> Estimate:
    """The coefficient of a column in the regression of an outcome, by a design.

    In a window around the cutoff there is a line of the score on each side. Raises ValueError where
    it cannot be computed.
    """
    controls = sorted(design.controls - {of, outcome, design.instrument})
    used = [outcome, of, *([design.instrument] if design.instrument else []), *controls]
    score, near, extra = study.causes.score, data.rows, []
    if design.window != "none":
        line = data.columns[score]
        near = np.flatnonzero(np.abs(line) <= float(design.window))
        used = used[:3] + [one for one in used[3:] if one != score]
        extra = [line[near], (line * (line >= 0))[near]]
    table = np.column_stack([*(data.columns[one][near] for one in used), *extra])
    table, absorbed = _less_constants(table, data, design.within)
    y, columns = table[:, 0], table[:, 1:]
    if not design.instrument:
        return regress(y, columns, absorbed=absorbed)
    return regress(y, np.delete(columns, 1, 1), columns[:, 1], absorbed=absorbed)


def _less_constants(table: Array, data: Data, within: str) -> tuple[Array, int]:
    """Columns less their means, and how many means were taken out; panels have no gaps."""
    units, periods = int(data.unit[-1]) + 1, PERIODS
    if within == "none":
        return centred(table), 1
    cells = table.reshape(units, periods, -1)  # no groups to look up, at a third of the time
    if within in ("unit", "both"):
        cells = cells - cells.mean(1, keepdims=True)
    if within in ("period", "both"):
        cells = cells - cells.mean(0)
    absorbed = {"unit": units, "period": periods, "both": units + periods - 1}[within]
    return cells.reshape(table.shape), absorbed
