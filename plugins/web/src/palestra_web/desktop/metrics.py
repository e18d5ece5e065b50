"""Measures of the desktop."""

from __future__ import annotations

from palestra import EpisodeRecord, metric
from palestra.records.shared_measures import data_of, success


@metric("desktop-level", measures=("web/Desktop-v0",), bounds=(1.0, 5.0))
def level_of(record: EpisodeRecord) -> float:
    """The level of automation of an episode's job, 1 to 5."""
    return float(data_of(record, "job")[0]["level"])


@metric("success-by-level", measures=("web/Desktop-v0",), bounds=(0.0, 1.0), better="higher")
def success_by_level(record: EpisodeRecord) -> dict[str, float]:
    """1 if the job was done, else 0, by OS-MAP's level of automation from 1 to 5."""
    return {str(data_of(record, "job")[0]["level"]): success(record) or 0.0}


@metric("desktop-report-card", measures=("web/Desktop-v0",), bounds=(0.0, 1.0), better="higher")
def report_card(record: EpisodeRecord) -> dict[str, float]:
    """1 if the job was done, else 0, by its scope and OS-MAP's level, as in "planning 2"."""
    about = data_of(record, "job")[0]
    return {f"{about['scope']} {about['level']}": success(record) or 0.0}
