"""Whether results can be trusted: evidence, inspection, faults, held-out seeds, audited judges."""

from palestra_arena.trust.evidence import Evidence
from palestra_arena.trust.faults import Faults, claw_score
from palestra_arena.trust.findings import Finding
from palestra_arena.trust.held_out import Trained
from palestra_arena.trust.inspection import inspect
from palestra_arena.trust.judges import audit_judge, audit_order, corrected_share

__all__ = [
    "Evidence",
    "Faults",
    "Finding",
    "Trained",
    "audit_judge",
    "audit_order",
    "claw_score",
    "corrected_share",
    "inspect",
]
