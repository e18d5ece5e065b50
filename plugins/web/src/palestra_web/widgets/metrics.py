"""Measures of the widgets."""

from __future__ import annotations

from palestra import EpisodeRecord, metric, replay
from palestra.records.shared_measures import success

from palestra_web.widgets.site import Sitting


@metric("success-by-widget", measures=("web/Widgets-v0",), bounds=(0.0, 1.0), better="higher")
def success_by_widget(record: EpisodeRecord) -> dict[str, float]:
    """1 if the task was solved, else 0, by name of the task, as MiniWoB reports it."""
    sitting: Sitting = replay(record).state.data
    return {sitting.name: success(record) or 0.0}
