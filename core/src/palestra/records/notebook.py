"""A record in a notebook: its replay page, in a frame that can load nothing from outside."""

from __future__ import annotations

import tempfile
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from palestra.kernel.errors import PalestraError
from palestra.kernel.registry import registry, renderer

if TYPE_CHECKING:
    from palestra.records.record import EpisodeRecord

HEIGHT = 900  # of the frame, in pixels
MOST_STEPS = 500  # a longer record would make the notebook too large a file


def record_html(record: EpisodeRecord) -> str | None:
    """The replay page of a record as a frame of a notebook.

    None, so that the notebook shows the record as text, if no renderer is installed, the record
    cannot be replayed here, or it has more than 500 steps: `palestra replay --html` writes those.
    """
    if len(record.steps) > MOST_STEPS:
        return None
    try:
        page = _page(record)
    except PalestraError:
        return None
    return (
        f'<iframe sandbox="allow-scripts" title="{escape(record.env)}" '
        f'style="width:100%;height:{HEIGHT}px;border:0" srcdoc="{escape(page)}"></iframe>'
    )


def _page(record: EpisodeRecord) -> str:
    write = renderer(registry().environments.get(record.env), "html")
    with tempfile.TemporaryDirectory() as folder:
        written: Path = write([record], Path(folder) / "page.html")
        return written.read_text("utf-8")


def record_line(record: EpisodeRecord) -> str:
    """A record in one line: environment, seed, length and results."""
    count, outcome = len(record.steps), record.outcome
    pairs = zip(record.players, outcome.results, strict=False) if outcome else ()
    ended = ", ".join(f"{player} {result}" for player, result in pairs)
    if record.error:
        ended = f"failed: {record.error.strip().splitlines()[-1]}"
    steps = f"{count} step{'' if count == 1 else 's'}"
    return f"<EpisodeRecord {record.env}, seed {record.seed}, {steps}: {ended or 'unfinished'}>"
