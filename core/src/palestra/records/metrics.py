"""Metrics over records, by name; plugins declare them through `palestra_metrics`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from palestra.kernel.errors import UnknownName
from palestra.kernel.registry import registry
from palestra.kernel.specs import MetricSpec, load_entry_point
from palestra.records.record import EpisodeRecord


def metrics_for(env: str) -> list[MetricSpec]:
    """The installed metrics that apply to an environment id."""
    return [spec for _, spec in sorted(registry().metrics.items()) if spec.applies_to(env)]


def measure(record: EpisodeRecord, names: Iterable[str] | None = None) -> dict[str, float]:
    """Every metric that applies to a record, or those named."""
    known = registry().metrics
    if names is None:
        chosen = metrics_for(record.env)
    else:
        chosen = []
        for name in names:
            if name not in known:
                raise UnknownName("metric", name, known)
            chosen.append(known[name])
    found: dict[str, Any] = {spec.name: load_entry_point(spec.entry_point) for spec in chosen}
    return {name: float(metric(record)) for name, metric in found.items()}
