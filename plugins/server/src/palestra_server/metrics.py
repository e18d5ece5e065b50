"""Counts of a server, in Prometheus' text format."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

import msgspec

HELP = {
    "matches": "Matches that were opened.",
    "joins": "Seats that were taken.",
    "moves": "Answers that were taken.",
    "late": "Answers that did not come in time.",
    "refused": "Requests that were refused.",
    "throttled": "Requests that were refused because a limit was reached.",
    "evicted": "Idle matches that left memory; the journal has them.",
    "pruned": "Old matches that were deleted.",
    "sockets": "Sockets that are open.",
    "live": "Matches in memory.",
    "seats": "Open seats of matches in memory that are taken.",
}
GAUGES = {"sockets", "live", "seats"}
BOUNDS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 1.0)
SECONDS = "journal_seconds"  # a histogram: how long the journal took for a group of answers


@dataclass(slots=True)
class Metrics:
    """What has happened since the process started."""

    matches: int = 0
    joins: int = 0
    moves: int = 0
    late: int = 0
    refused: int = 0
    throttled: int = 0
    evicted: int = 0
    pruned: int = 0
    sockets: int = 0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    waited: float = 0.0

    def wrote(self, seconds: float) -> None:
        """Count one writing of the journal."""
        self.buckets[bisect_left(BOUNDS, seconds)] += 1
        self.waited += seconds


class Counts(msgspec.Struct):
    """All counts of one server."""

    values: dict[str, int]
    buckets: list[int]
    waited: float


def as_text(servers: dict[str, Counts]) -> str:
    """The counts of servers by name, as Prometheus reads them; a lone server has no name."""
    lines = []
    for name, told in HELP.items():
        full = f"palestra_{name}" if name in GAUGES else f"palestra_{name}_total"
        kind = "gauge" if name in GAUGES else "counter"
        lines += [f"# HELP {full} {told}", f"# TYPE {full} {kind}"]
        lines += [f"{full}{_label(s)} {c.values.get(name, 0)}" for s, c in servers.items()]
    full = f"palestra_{SECONDS}"
    lines += [f"# HELP {full} Seconds to write a group of answers.", f"# TYPE {full} histogram"]
    for server, counts in servers.items():
        lines += _histogram(full, server, counts)
    return "\n".join(lines) + "\n"


def _histogram(full: str, server: str, counts: Counts) -> list[str]:
    lines, total = [], 0
    for bound, count in zip([*BOUNDS, "+Inf"], counts.buckets, strict=True):
        total += count
        lines.append(f"{full}_bucket{_label(server, le=str(bound))} {total}")
    return [
        *lines,
        f"{full}_sum{_label(server)} {counts.waited:.6f}",
        f"{full}_count{_label(server)} {total}",
    ]


def _label(server: str, **more: str) -> str:
    labels = ({"server": server} if server else {}) | more
    inner = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return f"{{{inner}}}" if inner else ""
