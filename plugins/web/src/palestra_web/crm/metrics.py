"""Measures of the service desk, by page and by function calls."""

from __future__ import annotations

from palestra import EpisodeRecord, metric, replay
from palestra.records.shared_measures import success

from palestra_web.crm.desk import Ticket

DESKS = ("web/CRMCalls-v0", "web/CRMDesk-v0")


def ticket_of(record: EpisodeRecord) -> Ticket:
    """The question, its right answer and what was answered."""
    state = replay(record).state
    return state.ticket if record.env == "web/CRMCalls-v0" else state.data


@metric("success-by-kind", measures=DESKS, bounds=(0.0, 1.0), better="higher")
def success_by_kind(record: EpisodeRecord) -> dict[str, float]:
    """1 if the question was answered right, else 0, by kind of question."""
    return {ticket_of(record).task.kind: success(record) or 0.0}


@metric("answered", measures=DESKS, bounds=(0.0, 1.0))
def answered(record: EpisodeRecord) -> float:
    """1 if an answer was given at all, else 0."""
    return float(ticket_of(record).score >= 0)
