"""Published evaluations, one module each; a module's name is the evaluation's.

A module that asks questions defines `probes(**options)`, which makes the probe set, and
`report(answers, *, confidence)`, the tables of its published analysis. `palestra probe --list`
shows all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, NamedTuple

from palestra import UnknownName

from palestra_arena.probes.items import ProbeSet
from palestra_arena.probes.run import Answer
from palestra_arena.probes.tables import Table


class Evaluation(NamedTuple):
    """A set of probes and its analysis."""

    name: str
    summary: str
    probes: Callable[..., ProbeSet]
    report: Callable[..., Sequence[Table]]


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
    return Evaluation(name, summary, module.probes, module.report)


def named_after(probes: ProbeSet) -> Callable[[Sequence[Answer]], Sequence[Table]] | None:
    """The analysis of the evaluation that a set names itself after; None if there is none."""
    return evaluation(probes.name).report if probes.name in names() else None


def _module(name: str) -> Any:
    return import_module(f"{__name__}.{name}")


def _public(name: str) -> str:
    return name.replace("_", "-")
