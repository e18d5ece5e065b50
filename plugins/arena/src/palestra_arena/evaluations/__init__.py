"""Published evaluations, one module each; a module's name is the evaluation's.

A module that asks questions defines `probes(**options)`, which makes the probe set, and
`report(answers, *, confidence)`, the tables of its published analysis. One whose answers are free
text also defines `judging(answers)`, the probe set that a judge is asked, and its report takes
`verdicts`, the answers of each judge by name. `palestra probe --list` shows all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, NamedTuple

from palestra import InvalidOption, UnknownName

from palestra_arena.probes.analysis import overview
from palestra_arena.probes.items import ProbeSet
from palestra_arena.probes.run import Answer
from palestra_arena.probes.tables import Table


class Evaluation(NamedTuple):
    """A set of probes and its analysis."""

    name: str
    summary: str
    probes: Callable[..., ProbeSet]
    report: Callable[..., Sequence[Table]]
    judging: Callable[[Sequence[Answer]], ProbeSet | None] | None


def names() -> list[str]:
    """The evaluations that `palestra probe` can ask."""
    found = (module.name for module in iter_modules(__path__))
    return [_public(name) for name in sorted(found) if hasattr(_module(name), "probes")]


def evaluation(name: str) -> Evaluation:
    """An evaluation by its name, as in `cash-or-comfort`; raises `UnknownName`."""
    known = {_public(module.name): module.name for module in iter_modules(__path__)}
    module: Any = _module(known[name]) if name in known else None
    if not hasattr(module, "probes"):
        raise UnknownName("evaluation", name, names())
    summary = (module.__doc__ or "").strip().splitlines()[0]
    return Evaluation(name, summary, module.probes, module.report, getattr(module, "judging", None))


def check_judges(probes: ProbeSet, judges: Collection[str]) -> None:
    """Raise `InvalidOption` for judges of a set whose answers need none."""
    if judges and (probes.name not in names() or evaluation(probes.name).judging is None):
        raise InvalidOption(f"{probes.name} needs no judge: its answers are read by rule")


def tables_of(
    probes: ProbeSet,
    answers: Sequence[Answer],
    *,
    confidence: float = 0.95,
    judges: Mapping[str, Callable[[ProbeSet], Sequence[Answer]]] | None = None,
) -> list[Table]:
    """Answers and the effect of order, then the analysis of the evaluation the set is named after.

    judges: functions that ask a judge a probe set, by name of the judge. Raises `InvalidOption` for
    judges of a set whose answers need none.
    """
    check_judges(probes, judges or ())
    first = overview(answers, confidence=confidence)
    found = evaluation(probes.name) if probes.name in names() else None
    if found is None:
        return [first]
    if found.judging is None:
        return [first, *found.report(answers, confidence=confidence)]
    asked = found.judging(answers) if judges else None
    verdicts = {name: ask(asked) for name, ask in (judges or {}).items()} if asked else {}
    return [first, *found.report(answers, confidence=confidence, verdicts=verdicts)]


def _module(name: str) -> Any:
    return import_module(f"{__name__}.{name}")


def _public(name: str) -> str:
    return name.replace("_", "-")
