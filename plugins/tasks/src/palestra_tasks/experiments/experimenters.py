"""Agents of the workspace: one that reads the description, and two that do not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from palestra import ScriptedAgent, Turn, agent

from palestra_tasks.desk import Finish, Program
from palestra_tasks.experiments.programs import LINEAR, NEIGHBOURS, QUADRATIC, SEASONAL
from palestra_tasks.experiments.projects import (
    COMMON,
    MEASURE_WORDS,
    RARE,
    TARGET_WORDS,
    TROUBLES,
)
from palestra_tasks.experiments.scripts import fixed_pipelines, numeric_script
from palestra_tasks.experiments.workspace import Execute, MLWorkspace

FEATURES: Mapping[str, str] = {
    "straight": "{a}",
    "log": "math.log(max({a}, 1e-6))",
    "above": "float({a} > {t})",
    "ratio": "{a} / {b}",
    "weekend": "float(day({d}) % 7 in (6, 0))",
    "within": "{a} * ({c} == {l!r})",
    "drift": "day({d})",
    "ideal": "abs({a} - {t})",
    "product": "{a} * {b}",
    "summer": "float({d}[5:7] in ('06', '07', '08'))",
    "capped": "min({a}, {t})",
    "span": "day({e}) - day({d})",
    "pair": "float({c} == {l!r} and {k} == {m!r})",
    "inverse": "1 / {a}",
}
READINGS: Mapping[str, str] = {
    "sentinel": "None if number({cell}) == {t} else number({cell})",
    "units": "number({cell}) / (1 if {n} == {unit!r} else 1000)",
    "slips": "number({cell}) / (1000 if number({cell}) > {t} else 1)",
    "empty": "number({cell})",
    "comma": "number({cell}.replace(',', '.'))",
    "sign": "-number({cell}) if {c} == {l!r} else number({cell})",
    "clock": "number({cell}.split(':')[0]) + number({cell}.split(':')[1]) / 60",
    "offset": "number({cell}) - ({t} if {d} < '2021-07-01' else 0)",
}


@dataclass(frozen=True, slots=True)
class Description:
    """What a position says of a project."""

    kind: str
    measure: str
    columns: Mapping[str, tuple[int, str]]  # place and text by name
    effects: tuple[tuple[str, Mapping[str, str]], ...]
    troubles: tuple[tuple[str, Mapping[str, str]], ...]


def read_description(position: str) -> Description | None:
    """The description of a project in a position, or None if there is none."""
    kind = next((k for k, words in TARGET_WORDS.items() if f": {words}. Scored" in position), None)
    if kind is None:
        return None
    measure = next(m for m, words in MEASURE_WORDS.items() if f"by {words}.\n" in position)
    columns = re.findall(r"^(\d+) (\w+): (.*)$", position, re.MULTILINE)
    said = re.findall(r"^- (.*)$", position, re.MULTILINE)
    effects = [one for line in said if (one := _match(line, _EFFECTS))]
    troubles = [one for line in said if (one := _match(line, _TROUBLES))]
    by_name = {name: (int(n), text) for n, name, text in columns}
    return Description(kind, measure, by_name, tuple(effects), tuple(troubles))


def _pattern(phrase: str) -> re.Pattern[str]:
    """What a sentence of a description looks like."""
    parts = re.split(r"\{(\w)\}", phrase)
    name, number = r"[a-z_]\w*", r"[-+.e0-9]+"
    forms = [
        f"(?P<{part}>{number if part == 't' else name})" if n % 2 else re.escape(part)
        for n, part in enumerate(parts)
    ]
    return re.compile("".join(forms))


_EFFECTS = [(k, _pattern(p)) for g in (COMMON, RARE) for k, ps in g.items() for p in ps]
_TROUBLES = [(k, _pattern(p)) for group in TROUBLES.values() for k, p in group.items()]


def _match(
    line: str, patterns: Sequence[tuple[str, re.Pattern[str]]]
) -> tuple[str, dict[str, str]] | None:
    for kind, pattern in patterns:
        if found := pattern.fullmatch(line):
            return kind, found.groupdict()
    return None


@lru_cache(maxsize=256)
def reading_script(position: str) -> str:
    """A script with the features that the description in a position tells of."""
    told = read_description(position)
    if told is None:
        return LINEAR
    lines = [f"    c_{name} = row[{place}]" for name, (place, _) in told.columns.items()]
    troubles = {fields["a"]: (kind, fields) for kind, fields in told.troubles if "a" in fields}
    for name, (_, text) in told.columns.items():
        if text.startswith("number, ") and "typically" in text:
            kind, fields = troubles.get(name, ("empty", {}))
            cells = {f: f"c_{v}" if f in "cdn" else v for f, v in fields.items()}
            unit = text.split(", ")[1]
            reading = READINGS[kind].format(**cells, cell=f"c_{name}", unit=unit)
            lines += [
                f"    v_{name} = {reading}",
                f"    v_{name} = {text.split()[-1]} if v_{name} is None else v_{name}",
            ]
    return "\n".join(
        [
            "def features(row):",
            *lines,
            f"    return [{', '.join(_features(told))}]",
            "",
            "",
            "def predict(rows, targets, queries):",
            "    table, asked = [features(r) for r in rows], [features(r) for r in queries]",
            f"    return forecast(table, targets, asked, {told.kind!r}, {told.measure!r})",
        ]
    )


def _features(told: Description) -> list[str]:
    """Expressions of the features that a description tells of."""
    found = []
    for kind, fields in told.effects:
        if kind == "level":
            levels = told.columns[fields["c"]][1].removeprefix("text, one of ").split(", ")
            found += [f"float(c_{fields['c']} == {level!r})" for level in levels[1:]]
            continue
        names = {
            f: f"v_{v}" if f in "ab" else f"c_{v}" if f in "cdek" else v for f, v in fields.items()
        }
        found.append(FEATURES[kind].format(**names))
    return found


def actions_made(turn: Turn[MLWorkspace]) -> int:
    """How many actions were made, by what the position says is left."""
    left, total = re.findall(r"Actions left: (\d+) of (\d+)\.", turn.position)[-1]
    return int(total) - int(left)


def best_script(turn: Turn[MLWorkspace]) -> int:
    """The script with the smallest validation error; one that failed has none."""
    found: dict[int, float] = {}
    script = -1
    for event in turn.transcript:
        script += event.kind == "edit"
        if "validation" in event.data:
            found[script] = event.data["validation"]
    return min(found, key=found.__getitem__, default=0)


@agent("experimenter", kind="solver")
class Experimenter(ScriptedAgent[MLWorkspace]):
    """Tries a few fixed scripts, measures each, and hands in the one with the smallest error."""

    def choose(self, turn: Turn[MLWorkspace]) -> Any:
        scripts = self.scripts(turn.position)
        made = actions_made(turn)
        tried, executing = divmod(made, 2)
        if tried < len(scripts):
            return Execute() if executing else Program(scripts[tried])
        if made > 2 * len(scripts):
            return Finish()
        return Program(scripts[best_script(turn)])

    def scripts(self, position: str) -> tuple[str, ...]:
        """What is tried: in a project, pipelines that read no effects or troubles."""
        told = read_description(position)
        if told is None:
            return (LINEAR, QUADRATIC, SEASONAL, NEIGHBOURS)
        return fixed_pipelines(told.kind, told.measure)


@agent("experimenter-linear", kind="scripted")
class FirstIdea(ScriptedAgent[MLWorkspace]):
    """Hands in a regression on the columns of numbers without an experiment."""

    def choose(self, turn: Turn[MLWorkspace]) -> Any:
        if "version 1." not in turn.position:
            return Finish()
        told = read_description(turn.position)
        return Program(numeric_script(told.kind, told.measure) if told else LINEAR)


@agent("experimenter-reader", kind="solver")
class Reader(Experimenter):
    """Builds the features that a project's description tells of; plain data as `experimenter`."""

    def choose(self, turn: Turn[MLWorkspace]) -> Any:
        if read_description(turn.position) is None:
            return super().choose(turn)
        first = "version 1." in turn.position
        return Program(reading_script(turn.position)) if first else Finish()
