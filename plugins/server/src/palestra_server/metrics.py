"""Counts of one process, in Prometheus' text format."""

from __future__ import annotations

from dataclasses import asdict, dataclass

HELP = {
    "matches": "Matches that were opened.",
    "moves": "Answers that were taken.",
    "late": "Answers that did not come in time.",
    "refused": "Requests that were refused.",
    "sockets": "Sockets that are open.",
}
GAUGES = {"sockets"}


@dataclass(slots=True)
class Metrics:
    """What has happened since the process started."""

    matches: int = 0
    moves: int = 0
    late: int = 0
    refused: int = 0
    sockets: int = 0

    def text(self) -> str:
        """All counts, as Prometheus reads them."""
        lines = []
        for name, value in asdict(self).items():
            full = f"palestra_{name}" if name in GAUGES else f"palestra_{name}_total"
            kind = "gauge" if name in GAUGES else "counter"
            lines += [f"# HELP {full} {HELP[name]}", f"# TYPE {full} {kind}", f"{full} {value}"]
        return "\n".join(lines) + "\n"
