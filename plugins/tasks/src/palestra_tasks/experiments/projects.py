"""Projects that a grammar composes: columns with troubles, a law told in words, and its rows.

A `Plan` is what the description says, so a seat knows all of it. A seed sets the rest: the weights
of the law and the rows. The law adds effects of what the description names, each divided by its
standard deviation over the training rows. Where a value is missing, its typical value counts in the
law. So the law is a function of what a careful reader can see, and its error is the noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, TypeAlias

from palestra import Rng

from palestra_tasks.draws import normal, poisson
from palestra_tasks.experiments.data import Sample
from palestra_tasks.experiments.themes import THEMES, Quantity, Theme

TRAINING, VALIDATION, TEST = 240, 80, 200  # rows
FIRST_DAY = date(2021, 1, 4)
DAYS, LATER = 330, 210  # that dates span, and those of later test rows after them
LEVELS = 3  # classes of a target of several classes: 0, 1 and 2

Row: TypeAlias = tuple[Any, ...]  # a number, a text or None for each column


@dataclass(frozen=True, slots=True)
class Size:
    """How much a project has of everything."""

    effects: int
    troubles: int  # columns whose cells have to be read as the description says
    idle: int  # columns that say nothing of the target


SIZES: Mapping[str, Size] = {
    "small": Size(3, 2, 1),
    "medium": Size(4, 3, 2),
    "large": Size(6, 4, 3),
}

# Kinds of target with their measures
MEASURES: Mapping[str, tuple[str, ...]] = {
    "number": ("rmse", "mae"),
    "factor": ("rmse", "mae"),  # a number whose effects multiply
    "count": ("rmse", "mae"),
    "two": ("error", "balanced", "log"),
    "several": ("error", "balanced"),
}
MEASURE_WORDS: Mapping[str, str] = {
    "rmse": "the root of the mean squared error",
    "mae": "the mean absolute error",
    "error": "the share of wrong classes",
    "balanced": "the share of wrong answers in each class, averaged over the classes",
    "log": "the log loss (natural logarithm) of the predicted probability of class 1",
}
TARGET_WORDS: Mapping[str, str] = {
    "number": "a number; effects add up",
    "factor": "a positive number; effects multiply, so its logarithm is a sum of effects",
    "count": "a count 0, 1, 2, …; effects multiply, so the logarithm of its mean is a sum",
    "two": "a class, 0 or 1; effects add up in the logarithm of the odds of class 1",
    "several": "a class, 0, 1 or 2, in order; effects add up in the log odds of a higher class",
}

# Effects: what each is called in descriptions. Fields: y target, a and b numbers, d and e dates,
# c and k categories, l and m levels of them, t a number.
COMMON: Mapping[str, tuple[str, ...]] = {
    "straight": ("each unit more of {a} has the same effect", "{a} has an even effect"),
    "level": ("{c} has an effect of its own at each level", "levels of {c} differ"),
    "log": ("each doubling of {a} has the same effect", "the logarithm of {a} has an even effect"),
    "above": ("{a} has an effect once it is above {t}", "there is a jump where {a} exceeds {t}"),
    "ratio": ("{a} for each unit of {b} has an even effect", "{a} divided by {b} has an effect"),
    "weekend": ("Saturdays and Sundays of {d} differ", "{d} on a weekend has an effect"),
    "within": ("{a} has an effect where {c} is {l} alone", "where {c} is {l}, {a} has an effect"),
    "drift": ("there is a steady drift with each day of {d}", "each day of {d} has an even effect"),
}
RARE: Mapping[str, tuple[str, ...]] = {
    "straight": COMMON["straight"],
    "level": COMMON["level"],
    "ideal": ("the distance of {a} from {t} has an effect", "{t} is ideal for {a}, to both sides"),
    "product": ("{a} times {b} has an even effect", "the product of {a} and {b} has an effect"),
    "summer": ("June, July and August of {d} differ", "{d} in June to August has an effect"),
    "capped": ("{a} has an even effect up to {t}, and none beyond", "above {t}, more {a} is idle"),
    "span": ("each day from {d} to {e} has an effect", "the days between {d} and {e} count"),
    "pair": ("{c} {l} together with {k} {m} has an effect", "{l} in {c} and {m} in {k} is special"),
    "inverse": ("one divided by {a} has an even effect", "the reciprocal of {a} has an effect"),
}
EFFECTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {"common": COMMON, "rare": RARE}

# Troubles of a column of numbers, and of the whole project. n is another column, t a number.
TROUBLES: Mapping[str, Mapping[str, str]] = {
    "common": {
        "sentinel": "{a}: {t} stands for a missing value",
        "units": "{a}: the unit is in {n}",
        "slips": "{a}: values above {t} were typed a thousand times too large",
        "empty": "{a}: empty where it is missing",
        "leak": "{n}: entered after the outcome; empty in new rows",
    },
    "rare": {
        "comma": "{a}: a text with a decimal comma",
        "sign": "{a}: rows in which {c} is {l} have the wrong sign",
        "clock": "{a}: a text of whole units and sixtieths with a colon between",
        "offset": "{a}: until the end of June 2021, by {d}, readings are {t} too high",
        "stale": "{n}: entered after the outcome; new rows show that of some other row",
    },
}
LEAKS = ("leak", "stale")  # columns that tell the target, though not in test rows
SHIFTS: Mapping[str, str] = {
    "none": "Test rows come about as the others do.",
    "later": "Test rows have later dates than the others.",
    "shares": "In test rows {l} is by far the most frequent in {c}.",
    "larger": "In test rows {a} is larger by half than in the others.",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the description tells it."""

    name: str
    kind: str  # number, group, date, unit, identifier, copy or leak
    text: str
    scale: str = ""  # of a number: even, bell or skewed
    low: float = 0.0  # the usual range of a number
    high: float = 0.0
    levels: tuple[str, ...] = ()  # of a group, the units of a unit, or the column that is copied


@dataclass(frozen=True, slots=True)
class Saying:
    """An effect or a trouble: its kind, the fields of its sentence, and the sentence."""

    kind: str
    fields: tuple[tuple[str, str], ...]
    text: str

    def __getitem__(self, field: str) -> str:
        return dict(self.fields)[field]


@dataclass(frozen=True, slots=True)
class Plan:
    """A project as its description tells it."""

    row: str
    columns: tuple[Column, ...]
    target: str
    kind: str  # of the target
    measure: str
    effects: tuple[Saying, ...]
    troubles: tuple[Saying, ...]
    shift: Saying

    @property
    def scored(self) -> tuple[str, str]:
        """The kind of target and the measure."""
        return self.kind, self.measure

    @property
    def structure(self) -> tuple[Any, ...]:
        """The project without names and numbers."""
        of = {one.name: one for one in self.columns}

        def shape(saying: Saying) -> tuple[Any, ...]:
            named = [(f, of[v].kind + of[v].scale) for f, v in saying.fields if v in of]
            return (saying.kind, *named)

        said = [tuple(sorted(map(shape, group))) for group in (self.effects, self.troubles)]
        kinds = sorted(one.kind + one.scale for one in self.columns)
        return (self.kind, self.measure, *said, shape(self.shift), tuple(kinds))

    def __str__(self) -> str:
        columns = "\n".join(f"{n} {one.name}: {one.text}" for n, one in enumerate(self.columns))
        effects = "\n".join(f"- {one.text}" for one in self.effects)
        troubles = "\n".join(f"- {one.text}" for one in self.troubles)
        return (
            f"Each row is {self.row}. Predict {self.target}: {TARGET_WORDS[self.kind]}. Scored by "
            f"{MEASURE_WORDS[self.measure]}.\nColumns, by their place in a row:\n{columns}\n"
            f"What has an effect on {self.target}, and nothing else has:\n{effects}\n"
            f"How to read cells, where this is not plain (a missing value has the effect of a "
            f"typical one):\n{troubles}\nRows to train with: {TRAINING}. Validation rows: "
            f"{VALIDATION}, of the same time and kind. Test rows: {TEST}. {self.shift.text}"
        )


# Plans


def draw_plan(rng: Rng, size: str, traits: str) -> Plan:
    """Draw what a project's description says."""
    return _Drafting(rng, SIZES[size], traits).plan()


class _Drafting:
    """One drawing of a plan."""

    def __init__(self, rng: Rng, size: Size, traits: str) -> None:
        self.rng, self.size, self.traits = rng, size, traits
        self.theme: Theme = rng.choice(THEMES)
        self.quantities = list(self.theme.quantities)
        rng.shuffle(self.quantities)
        self.groups, self.dates = list(self.theme.groups), list(self.theme.dates)
        rng.shuffle(self.groups)
        self.columns: dict[str, Column] = {}
        self.midpoints: dict[str, float] = {}

    def plan(self) -> Plan:
        rng, kind = self.rng, self.rng.choice(tuple(MEASURES))
        target = self.theme.targets["number" if kind == "factor" else kind]
        measure = rng.choice(MEASURES[kind])
        effects = self.effects()
        troubles = self.troubles(effects, target)
        for _ in range(self.size.idle):
            self.idle()
        shift = self.shift(effects)
        columns = list(self.columns.values())
        rng.shuffle(columns)
        return Plan(self.theme.row, tuple(columns), target, kind, measure, effects, troubles, shift)

    def effects(self) -> tuple[Saying, ...]:
        """Effects of different kinds, the first of a column of numbers as it stands."""
        phrases = EFFECTS[self.traits]
        kinds = list(phrases)
        self.rng.shuffle(kinds)
        return tuple(self.effect(k, phrases[k]) for k in kinds[: self.size.effects])

    def effect(self, kind: str, phrases: Sequence[str]) -> Saying:
        names = {field for field in "abcdeklmt" if any(f"{{{field}}}" in p for p in phrases)}
        fields: dict[str, str] = {}
        for field in sorted(names & set("abcdek")):
            fields[field] = self.column(field, tuple(fields.values()))
        for level, group in (("l", "c"), ("m", "k")):
            if level in names:
                fields[level] = self.rng.choice(self.columns[fields[group]].levels)
        if "t" in names:
            fields["t"] = f"{self.midpoints[fields['a']] * (0.85 + 0.3 * self.rng.random()):.3g}"
        if kind == "span":
            fields["d"], fields["e"] = self.theme.dates
        return saying(kind, self.rng.choice(phrases), fields)

    def column(self, field: str, taken: Sequence[str]) -> str:
        """A column for a field: mostly a new one."""
        if field in "ab":
            return self.number(taken)
        if field in "ck":
            free = [g for g in self.groups if g not in taken]
            return self.group(self.rng.choice(free))
        free = [d for d in self.dates if d not in taken]
        return self.date(self.rng.choice(free))

    def number(self, taken: Sequence[str]) -> str:
        known = [n for n, c in self.columns.items() if c.kind == "number" and n not in taken]
        if known and (self.rng.below(4) == 0 or not self.quantities):
            return self.rng.choice(known)
        one: Quantity = self.quantities.pop()
        scale = self.rng.choice(("even", "bell", "skewed"))
        middle = math.sqrt(one.low * one.high) if scale == "skewed" else (one.low + one.high) / 2
        self.midpoints[one.name] = middle
        typical = f"typically {middle:.3g}"
        text = f"number, {one.unit}, {typical}"
        self.columns[one.name] = Column(one.name, "number", text, scale, one.low, one.high)
        return one.name

    def group(self, name: str) -> str:
        levels = self.theme.groups[name]
        text = f"text, one of {', '.join(levels)}"
        return self.columns.setdefault(name, Column(name, "group", text, levels=levels)).name

    def date(self, name: str) -> str:
        text = "date, as 2021-01-31"
        return self.columns.setdefault(name, Column(name, "date", text)).name

    def troubles(self, effects: Sequence[Saying], target: str) -> tuple[Saying, ...]:
        """Troubles of columns that have an effect, each of another column."""
        kinds = list(TROUBLES[self.traits])
        self.rng.shuffle(kinds)
        used = [v for e in effects for f, v in e.fields if f in "ab"]
        numbers = list(dict.fromkeys(used))
        numbers += [n for n, c in self.columns.items() if c.kind == "number" and n not in numbers]
        self.rng.shuffle(numbers)
        found: list[Saying] = []
        for kind in kinds[: self.size.troubles]:
            if kind in LEAKS:
                found.append(self.leak(kind, target))
                continue
            name = numbers.pop() if numbers else self.number(tuple(self.columns))
            found.append(self.trouble(kind, name))
        return tuple(found)

    def leak(self, kind: str, target: str) -> Saying:
        name = f"{target}_{self.rng.choice(('report', 'record', 'review'))}"
        self.columns[name] = Column(name, "leak", "number")
        return saying(kind, TROUBLES[self.traits][kind], {"n": name})

    def trouble(self, kind: str, name: str) -> Saying:
        fields, column = {"a": name}, self.columns[name]
        small = {q.name: (q.unit, q.small) for q in self.theme.quantities}[name]
        if kind == "units" and not small[1]:
            kind = "empty"
        if kind == "sentinel":
            fields["t"] = self.rng.choice(("-999", "-1", "9999999"))
        elif kind == "units":
            fields["n"] = f"{name}_unit"
            text = f"text, {small[0]} or {small[1]} (a thousandth)"
            self.columns[fields["n"]] = Column(fields["n"], "unit", text, levels=small)
        elif kind == "slips":
            fields["t"] = f"{_most(column):.0f}"
        elif kind == "sign":
            fields["c"] = self.column("c", ())
            fields["l"] = self.rng.choice(self.columns[fields["c"]].levels)
        elif kind == "offset":
            fields["d"] = self.column("d", ())
            fields["t"] = f"{2 * self.midpoints[name]:.3g}"
        return saying(kind, TROUBLES[self.traits][kind], fields)

    def idle(self) -> None:
        """A column without an effect."""
        kind = self.rng.choice(("identifier", "copy", "number", "group", "date"))
        numbers = [n for n, c in self.columns.items() if c.kind == "number"]
        free_groups = [g for g in self.groups if g not in self.columns]
        free_dates = [d for d in self.dates if d not in self.columns]
        if kind == "number" and self.quantities:
            self.number(tuple(numbers))
        elif kind == "group" and free_groups:
            self.group(free_groups[0])
        elif kind == "date" and free_dates:
            self.date(free_dates[0])
        elif kind == "copy" and numbers and f"{numbers[0]}_copy" not in self.columns:
            name = f"{numbers[0]}_copy"
            text = f"number, {numbers[0]} as it was meant, rounded to tenths"
            self.columns[name] = Column(name, "copy", text, levels=(numbers[0],))
        else:
            name = f"id_{len(self.columns)}"
            self.columns[name] = Column(name, "identifier", "number that names the row")

    def shift(self, effects: Sequence[Saying]) -> Saying:
        """How test rows differ: only where an effect is of a column that differs."""
        used = {f: v for e in effects for f, v in e.fields if v in self.columns}
        kinds = ["none"]
        kinds += ["later"] if "d" in used else []
        kinds += ["shares"] if "c" in used else []
        kinds += ["larger"] if "a" in used else []
        kind = self.rng.choice(kinds)
        fields: dict[str, str] = {}
        if kind == "shares":
            fields = {"c": used["c"], "l": self.rng.choice(self.columns[used["c"]].levels)}
        elif kind == "larger":
            fields = {"a": used["a"]}
        return saying(kind, SHIFTS[kind], fields)


def saying(kind: str, phrase: str, fields: Mapping[str, str]) -> Saying:
    """A sentence of a description and what is in it."""
    return Saying(kind, tuple(sorted(fields.items())), phrase.format(**fields))


def _most(column: Column) -> float:
    """A number that no value of a column reaches, but a thousandfold of each exceeds."""
    return 2 * column.high


# Rows


@dataclass(frozen=True, slots=True)
class Project:
    """The rows of a project: training, validation and test, and what its law says of the last."""

    samples: tuple[Sample, Sample, Sample]
    known_best: tuple[float, ...]  # the law's predictions of the test rows, best for the measure
    clean: tuple[Mapping[str, Any], ...]  # all rows as a careful reader reads them
    signals: tuple[float, ...]  # the law's sum for each row
    weights: tuple[float, ...]  # of the effects


@lru_cache(maxsize=64)
def draw_project(plan: Plan, seed: int) -> Project:
    """The rows of a plan with the weights and noise of a seed."""
    rng = Rng.seeded(seed, 64)
    count = TRAINING + VALIDATION + TEST
    clean = [_clean_row(plan, rng, n >= count - TEST) for n in range(count)]
    signals, weights = _signals(plan, clean, rng)
    law = _Law(plan, rng)
    targets = [law.draw(signal, rng) for signal in signals]
    best = law.best_of(signals[-TEST:])
    rows = _written(plan, clean, targets, rng)
    first, second = TRAINING, TRAINING + VALIDATION
    samples = tuple(
        Sample(tuple(rows[a:b]), tuple(targets[a:b]))
        for a, b in ((0, first), (first, second), (second, count))
    )
    return Project(samples, best, tuple(clean), tuple(signals), weights)  # type: ignore[arg-type]


def _clean_row(plan: Plan, rng: Rng, test: bool) -> dict[str, Any]:
    """A row as a careful reader reads it: numbers, texts, dates, and None for what is missing."""
    missing = {t["a"] for t in plan.troubles if t.kind in ("sentinel", "empty")}
    row: dict[str, Any] = {}
    later = test and plan.shift.kind == "later"
    for column in plan.columns:
        if column.kind == "number":
            value = _number(column, rng)
            if test and plan.shift.kind == "larger" and plan.shift["a"] == column.name:
                value = 1.5 * value
            lost = column.name in missing and rng.below(6) == 0
            row[column.name] = None if lost else float(f"{value:.3g}")
        elif column.kind == "group":
            often = test and plan.shift.kind == "shares" and plan.shift["c"] == column.name
            kept = often and rng.below(3) > 0
            row[column.name] = plan.shift["l"] if kept else rng.choice(column.levels)
        elif column.kind == "date":
            row[column.name] = FIRST_DAY + timedelta(
                DAYS + rng.below(LATER) if later else rng.below(DAYS)
            )
        elif column.kind == "identifier":
            row[column.name] = 100_000 + rng.below(900_000)
    return row


def _number(column: Column, rng: Rng) -> float:
    low, high = column.low, column.high
    if column.scale == "even":
        return low + (high - low) * rng.random()
    if column.scale == "bell":
        return min(max(normal(rng, (low + high) / 2, (high - low) / 6), low), high)
    middle, width = math.sqrt(low * high), math.log(high / low) / 6
    return min(max(middle * math.exp(normal(rng, 0.0, width)), low), high)


def effect_value(effect: Saying, row: Mapping[str, Any], typical: Mapping[str, float]) -> float:
    """What an effect, other than of levels, takes from a row that was read carefully."""
    fields = dict(effect.fields)

    def number(field: str) -> float:
        value = row[fields[field]]
        return typical[fields[field]] if value is None else float(value)

    match effect.kind:
        case "straight":
            return number("a")
        case "log":
            return math.log(number("a"))
        case "above":
            return float(number("a") > float(fields["t"]))
        case "ratio":
            return number("a") / number("b")
        case "weekend":
            return float(row[fields["d"]].weekday() >= 5)
        case "within":
            return number("a") if row[fields["c"]] == fields["l"] else 0.0
        case "drift":
            return float((row[fields["d"]] - FIRST_DAY).days)
        case "ideal":
            return abs(number("a") - float(fields["t"]))
        case "product":
            return number("a") * number("b")
        case "summer":
            return float(row[fields["d"]].month in (6, 7, 8))
        case "capped":
            return min(number("a"), float(fields["t"]))
        case "span":
            return float((row[fields["e"]] - row[fields["d"]]).days)
        case "pair":
            return float(row[fields["c"]] == fields["l"] and row[fields["k"]] == fields["m"])
        case _:
            return 1 / number("a")


def typical_values(columns: Sequence[Column]) -> dict[str, float]:
    """The typical value of each column of numbers, as the description states it."""
    return {c.name: float(c.text.split()[-1]) for c in columns if c.kind == "number"}


def _signals(
    plan: Plan, clean: Sequence[Mapping[str, Any]], rng: Rng
) -> tuple[list[float], tuple[float, ...]]:
    """The sum of effects for each row, with a deviation of about one, and their weights."""
    typical = typical_values(plan.columns)
    drawn = [(0.6 + 0.8 * rng.random()) * rng.choice((-1, 1)) for _ in plan.effects]
    length = math.sqrt(math.fsum(w * w for w in drawn))
    weights = tuple(w / length for w in drawn)
    signals = [0.0] * len(clean)
    for weight, effect in zip(weights, plan.effects, strict=True):
        if effect.kind == "level":
            levels = sorted({row[effect["c"]] for row in clean})
            worth = {level: normal(rng) for level in levels}
            values = [worth[row[effect["c"]]] for row in clean]
        else:
            values = [effect_value(effect, row, typical) for row in clean]
        mean = math.fsum(values[:TRAINING]) / TRAINING
        spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values[:TRAINING]) / TRAINING) or 1.0
        for n, value in enumerate(values):
            signals[n] += weight * (value - mean) / spread
    return signals, weights


class _Law:
    """How targets follow from sums of effects."""

    def __init__(self, plan: Plan, rng: Rng) -> None:
        self.kind, self.measure = plan.kind, plan.measure
        self.noise = 0.25 + 0.2 * rng.random()
        self.centre, self.spread = 20 + 60 * rng.random(), 3 + 9 * rng.random()
        self.level = 1.2 + rng.random()  # logarithm of a usual value or count
        self.bias = 1.5 * rng.random() - 0.75

    def draw(self, signal: float, rng: Rng) -> float:
        """A target."""
        if self.kind == "number":
            value = self.centre + self.spread * (signal + normal(rng, 0.0, self.noise))
            return round(value, 3)
        if self.kind == "factor":
            return round(math.exp(2 + 0.5 * (_held(signal) + normal(rng, 0.0, self.noise))), 4)
        if self.kind == "count":
            return float(poisson(rng, self._rate(signal)))
        if self.kind == "two":
            return float(rng.random() < self._chances(signal)[1])
        draw, chances = rng.random(), self._chances(signal)
        return float((draw > chances[0]) + (draw > chances[0] + chances[1]))

    def _rate(self, signal: float) -> float:
        return math.exp(self.level + 0.5 * _held(signal))

    def _chances(self, signal: float) -> list[float]:
        """The probability of each class."""
        at = 5 * signal + self.bias
        if self.kind == "two":
            return [1 - _logistic(at), _logistic(at)]
        upper, top = _logistic(at + 2.5), _logistic(at - 2.5)
        return [1 - upper, upper - top, top]

    def best_of(self, signals: Sequence[float]) -> tuple[float, ...]:
        """The predictions with the smallest expected error."""
        expected: Sequence[float] = (1.0,) * LEVELS
        if self.measure == "balanced":
            expected = [math.fsum(c) for c in zip(*map(self._chances, signals), strict=True)]
        return tuple(self._best(signal, expected) for signal in signals)

    def _best(self, signal: float, expected: Sequence[float]) -> float:
        if self.kind == "number":
            return self.centre + self.spread * signal
        if self.kind == "factor":
            extra = 0.5 * (0.5 * self.noise) ** 2 if self.measure == "rmse" else 0.0
            return math.exp(2 + 0.5 * _held(signal) + extra)
        if self.kind == "count":
            rate = self._rate(signal)
            return rate if self.measure == "rmse" else float(poisson_median(rate))
        chances = self._chances(signal)
        if self.measure == "log":
            return chances[1]
        chances = [c / number for c, number in zip(chances, expected, strict=False)]
        return float(max(range(len(chances)), key=chances.__getitem__))


def _held(signal: float) -> float:
    """A sum of effects as the law takes an exponential of it; the rules tell this limit."""
    return max(-9.0, min(9.0, signal))


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, value))))


def poisson_median(rate: float) -> int:
    """The smallest number that a Poisson variable exceeds in at most half of cases."""
    number, chance = 0, math.exp(-rate)
    total = chance
    while total < 0.5:
        number += 1
        chance *= rate / number
        total += chance
    return number


# How rows are written


def _written(
    plan: Plan, clean: Sequence[Mapping[str, Any]], targets: Sequence[float], rng: Rng
) -> list[Row]:
    """The rows as they are in the data, with all troubles."""
    troubles = {t["a"]: t for t in plan.troubles if t.kind not in LEAKS}
    stale = any(t.kind == "stale" for t in plan.troubles)
    units = {t["n"]: t["a"] for t in plan.troubles if t.kind == "units"}
    unit_of = {number: unit for unit, number in units.items()}
    hidden = len(clean) - TEST
    rows = []
    for n, row in enumerate(clean):
        cells: list[Any] = []
        in_small = {name: rng.below(3) == 0 for name in units}
        for column in plan.columns:
            if column.kind == "number":
                small = in_small.get(unit_of.get(column.name, ""), False)
                cells.append(_cell(row, column, troubles, rng, small))
            elif column.kind == "unit":
                cells.append(column.levels[in_small[column.name]])
            elif column.kind == "copy":
                value = row[column.levels[0]]
                cells.append(None if value is None else round(value, 1))
            elif column.kind == "leak":
                other = targets[hidden + rng.below(TEST)]
                cells.append(targets[n] if n < hidden else other if stale else None)
            elif column.kind == "date":
                cells.append(row[column.name].isoformat())
            else:
                cells.append(row[column.name])
        rows.append(tuple(cells))
    return rows


def _cell(
    row: Mapping[str, Any],
    column: Column,
    troubles: Mapping[str, Saying],
    rng: Rng,
    small: bool,
) -> Any:
    """A number as its cell has it."""
    value, trouble = row[column.name], troubles.get(column.name)
    if trouble is None:
        return value
    match trouble.kind:
        case "sentinel":
            return float(trouble["t"]) if value is None else value
        case "units":
            return float(f"{value * 1000:.6g}") if small else value
        case "slips":
            return float(f"{value * 1000:.6g}") if rng.below(12) == 0 else value
        case "comma":
            return f"{value:g}".replace(".", ",")
        case "sign":
            return -value if row[trouble["c"]] == trouble["l"] else value
        case "clock":
            return f"{int(value)}:{60 * (value % 1):07.4f}"
        case "offset":
            early = row[trouble["d"]] < date(2021, 7, 1)
            return round(value + float(trouble["t"]), 6) if early else value
        case _:
            return value
