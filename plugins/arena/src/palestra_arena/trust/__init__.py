"""Whether results can be trusted: evidence, inspection, faults, held-out seeds, audited judges."""

from palestra_arena.trust.evidence import Evidence
from palestra_arena.trust.faults import Faults, claw_score
from palestra_arena.trust.findings import Finding
from palestra_arena.trust.held_out import TrainedOn
from palestra_arena.trust.inspection import inspect

__all__ = ["Evidence", "Faults", "Finding", "TrainedOn", "claw_score", "inspect"]
