"""Numbers over a record that studies of grid worlds report."""

from __future__ import annotations

from palestra import EpisodeRecord


def throughput(record: EpisodeRecord) -> float:
    """Goals reached by all seats, a step, in a record of `grid/PathFinding-v0`."""
    return float(sum(record.returns)) / max(1, sum(bool(step.turns) for step in record.steps))
