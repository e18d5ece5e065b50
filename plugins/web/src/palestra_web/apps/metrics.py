"""Metrics of an agent's behaviour in the apps: the counters of LOOP (section 5)."""

from __future__ import annotations

import re
from itertools import groupby

from palestra import EpisodeRecord, metric
from palestra.records.record import retrace


@metric(
    "documentation-lookups",
    measures=("web/AppWorld-v0",),
    unit="pages",
    bounds=(0.0, None),
)
def documentation_lookups(record: EpisodeRecord) -> float:
    """The number of documentation pages opened."""
    return float(sum(url.startswith("/docs") for url in _urls(record)))


@metric(
    "refusals",
    measures=("web/AppWorld-v0",),
    unit="forms",
    bounds=(0.0, None),
    better="lower",
)
def refusals(record: EpisodeRecord) -> float:
    """The number of forms that an app refused."""
    return float(sum(url.startswith("/refused/") for url in _urls(record)))


@metric(
    "gave-up",
    measures=("web/AppWorld-v0",),
    bounds=(0.0, 1.0),
    better="lower",
)
def gave_up(record: EpisodeRecord) -> float:
    """1 where the player stopped right after a refusal, else 0."""
    urls = _urls(record)
    stopped = bool(record.turns) and "Stop(" in record.turns[-1].text
    return float(stopped and urls[-1].startswith("/refused/"))


@metric(
    "assumed-values",
    measures=("web/AppWorld-v0",),
    unit="values",
    bounds=(0.0, None),
    better="lower",
)
def assumed_values(record: EpisodeRecord) -> float:
    """The number of typed addresses, amounts, days and times that no page had shown.

    A sum that the player had to calculate counts, too.
    """
    count, seen = 0, ""
    for number, episode in enumerate(retrace(record)):
        seen += episode.describe(0)
        if number < len(record.turns):
            action = record.turns[number].action
            typed = str(action.get("text", "")) if isinstance(action, dict) else ""
            count += sum(value not in seen for value in _VALUE.findall(typed))
    return float(count)


_VALUE = re.compile(r"(?<!\S)\S+@\S+|\d[\d.:-]*\d")


def _urls(record: EpisodeRecord) -> list[str]:
    """The addresses of the pages opened, in order; staying on a page does not repeat it."""
    urls = (str(event.data["url"]) for event in record.events if event.kind == "page")
    return [url for url, _ in groupby(urls)]
