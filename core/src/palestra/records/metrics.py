"""Measures of records, by name; plugins declare them through `palestra_metrics`.

A metric is a function of one `EpisodeRecord`. It returns a number, None if the episode has nothing
to measure, or numbers by key, which are reported as `name:key`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from palestra.code_names import code_name, load_code
from palestra.kernel.errors import InvalidOption, PluginError, UnknownName, cause, show
from palestra.kernel.registry import registry
from palestra.kernel.specs import EnvSpec, MetricSpec, load_entry_point
from palestra.quoting import printable
from palestra.records.intervals import Interval, Sample
from palestra.records.record import EpisodeRecord

Metric = Callable[[EpisodeRecord], Any]

# What a metric may require of an environment, by the terms of `MetricSpec.needs`
NEEDS: Mapping[str, Callable[[EnvSpec], bool]] = {
    "several seats": lambda spec: spec.players[1] > 1,
    "one seat": lambda spec: spec.players[1] == 1,
    "zero-sum": lambda spec: spec.payoffs == "zero-sum",
    "general": lambda spec: spec.payoffs == "general",
}

TELLING = ("success", "win")  # metrics of the core that tell about the game itself


def metrics_for(env: str) -> list[MetricSpec]:
    """The installed metrics that apply to an environment id.

    Nothing is known of an id that is not installed, so metrics with needs do not apply to it.
    """
    known = registry()
    spec = known.environments.get(env)
    return [
        metric
        for _, metric in sorted(known.metrics.items())
        if metric.applies_to(env) and (not metric.needs or (spec and meets_needs(metric, spec)))
    ]


def meets_needs(metric: MetricSpec, spec: EnvSpec) -> bool:
    """Whether an environment is what a metric needs; raises `PluginError` for unknown needs."""
    unknown = [need for need in metric.needs if need not in NEEDS]
    if unknown:
        raise PluginError(
            f"metric {metric.name!r} needs {unknown[0]!r}, which is none of {', '.join(NEEDS)}"
        )
    return all(NEEDS[need](spec) for need in metric.needs)


def own_metrics(env: str) -> list[MetricSpec]:
    """The metrics that say how well a game went, apart from the payoffs.

    Those that name the environment, and the core's `success` or `win` where they apply.
    """
    return [m for m in metrics_for(env) if env in m.measures or m.name in TELLING]


def measure(record: EpisodeRecord, names: Iterable[str | Metric] | None = None) -> dict[str, float]:
    """Every metric that applies to a record, or those named.

    record: of one episode.
    names: of installed metrics, of code as in `mine.py:length`, or functions of a record.

    Returns the values by name; a metric by key appears as `name:key`. A metric that is undefined in
    this episode is left out, and one that fails is left out with a warning. With `names`, an error
    of a metric is raised, and `UnknownName` for a name that is not installed.
    """
    if names is not None:
        own = [numbers(name, function(record)) for name, function in map(_named, names)]
        return {name: value for found in own for name, value in found.items()}
    found: dict[str, float] = {}
    for spec in metrics_for(record.env):
        try:
            found |= numbers(spec.name, load_entry_point(spec.entry_point)(record))
        except (Exception, SystemExit) as error:  # one metric must not cost a run the others
            _warn_of(spec, error)
    return found


def _named(name: str | Metric) -> tuple[str, Metric]:
    """A metric with the name that is reported."""
    known = registry().metrics
    if callable(name):
        return getattr(name, "__name__", type(name).__name__), name
    if not isinstance(name, str):
        raise InvalidOption(f"a metric is a name or a function of a record, not {show(name)}")
    if code := code_name(name, known):
        return code.name, load_code(code, "metric")
    if name not in known:
        raise UnknownName("metric", name, known)
    return name, load_entry_point(known[name].entry_point)


def _warn_of(metric: MetricSpec, error: BaseException) -> None:
    """Warn that a metric is left out; Python shows the same warning once."""
    warnings.warn(
        f"metric {metric.name!r} ({metric.entry_point}) failed and is left out: {cause(error)}",
        RuntimeWarning,
        stacklevel=3,
    )


def numbers(name: str, value: Any) -> dict[str, float]:
    """What a metric returned, by the names that are reported."""
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return {f"{name}:{key}": float(number) for key, number in value.items()}
    try:
        return {name: float(value)}
    except (TypeError, ValueError):
        raise InvalidOption(
            f"metric {name!r} returned {show(value)}; return a number, numbers by key, or None"
        ) from None


def metric_of(name: str) -> MetricSpec | None:
    """The installed metric behind a name that `measure` reports; None if there is none."""
    return registry().metrics.get(name.partition(":")[0])


@dataclass(slots=True)
class Measures:
    """Means of metrics over episodes, without keeping their records.

    `samples` are the values by name; an episode in which a metric has nothing to measure does not
    count for it. `differences` says that the values are differences of two episodes' measures, so
    that the bounds of the metrics do not hold.
    """

    samples: dict[str, Sample] = field(default_factory=dict)
    differences: bool = False

    def add(self, values: Mapping[str, float]) -> None:
        """Add what `measure` found in one more episode."""
        for name, value in values.items():
            self.samples.setdefault(name, Sample()).add(value)

    def interval(self, name: str, confidence: float = 0.95) -> Interval:
        """The mean of a metric with its interval, inside the metric's bounds."""
        spec = None if self.differences else metric_of(name)
        return self.samples[name].interval(confidence, spec.bounds if spec else (None, None))

    def rows(self, confidence: float = 0.95) -> list[tuple[str, str, str, str, str]]:
        """Name, mean, interval, unit and number of episodes of every metric, as text."""
        rows = []
        for name in sorted(self.samples, key=_natural_key):
            sample = self.samples[name]
            mean, low, high = self.interval(name, confidence)
            between = f"{low:.4g} to {high:.4g}" if low == low else ""  # not a number: all alike
            spec = metric_of(name)
            unit = spec.unit if spec else ""
            shown = f"{round(mean, 12):.4g}"  # a sum of differences may miss 0 by a rounding error
            rows.append((printable(name), shown, between, unit, str(sample.count)))
        return rows


def _natural_key(name: str) -> list[tuple[int, str]]:
    """A key that sorts "share:10" after "share:9"."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
