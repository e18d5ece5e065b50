"""How an agent behaves in the apps: the counters of LOOP (section 5), over a record."""

from __future__ import annotations

import re
from itertools import groupby

from palestra import EpisodeRecord, metric
from palestra.records.record import retrace


@metric(
    "documentation-lookups",
    measures=("web/AppWorld-v0",),
    unit="pages",
    summary="Pages of documentation opened.",
)
def documentation_lookups(record: EpisodeRecord) -> float:
    """How often a page of the documentation was opened."""
    return float(sum(url.startswith("/docs") for url in _urls(record)))


@metric(
    "refusals",
    measures=("web/AppWorld-v0",),
    unit="forms",
    summary="Forms that an app refused.",
)
def refusals(record: EpisodeRecord) -> float:
    """How many forms were refused."""
    return float(sum(url.startswith("/refused/") for url in _urls(record)))


@metric(
    "gave-up",
    measures=("web/AppWorld-v0",),
    summary="1 where the play was stopped right after a refusal, else 0.",
)
def gave_up(record: EpisodeRecord) -> float:
    """1 where the play was stopped right after a refusal, else 0."""
    urls = _urls(record)
    stopped = bool(record.turns) and "Stop(" in record.turns[-1].text
    return float(stopped and urls[-1].startswith("/refused/"))


@metric(
    "assumed-values",
    measures=("web/AppWorld-v0",),
    unit="values",
    summary="Addresses, amounts, days and times typed that no page had shown.",
)
def assumed_values(record: EpisodeRecord) -> float:
    """How many addresses, amounts, days and times were typed that stood nowhere on a page before.

    A sum that had to be worked out is one as well.
    """
    count, seen = 0, ""
    for number, episode in enumerate(retrace(record)):
        seen += episode.describe(0)
        if number < len(record.turns):
            action = record.turns[number].action
            typed = str(action.get("text", "")) if isinstance(action, dict) else ""
            count += sum(value not in seen for value in _VALUE.findall(typed))
    return float(count)


_VALUE = re.compile(r"\S+@\S+|\d[\d.:-]*\d")


def _urls(record: EpisodeRecord) -> list[str]:
    """The addresses of the pages opened, in order; what is done on a page opens no other."""
    told = (str(event.data["url"]) for event in record.events if event.kind == "page")
    return [url for url, _ in groupby(told)]
