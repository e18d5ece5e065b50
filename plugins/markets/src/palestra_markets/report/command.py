"""`palestra report`, and `palestra play --render report`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from palestra import Episode, EpisodeRecord, read_records, record_episode, renderer
from palestra.quoting import open_console


def report_command(
    record: Annotated[Path, typer.Argument(help="Records of a run: runs/…/episode.jsonl.")],
    html: Annotated[
        Path | None, typer.Option(help="Page to write; by default report.html beside the records.")
    ] = None,
    episode: Annotated[int, typer.Option(min=0, help="Number of the episode to plot, from 0.")] = 0,
) -> None:
    """Write an HTML page with measures of a run and plots of one of its episodes."""
    from palestra_markets.report.page import write_page

    target = write_page(read_records(record), html or record.with_name("report.html"), episode)
    open_console().print(f"report  {target}", soft_wrap=True, highlight=False)


@renderer("report", families=("*",))
class ReportRenderer:
    """Keeps the records of all episodes and writes the page at the end, beside the records."""

    def __init__(self) -> None:
        self.folder = Path("report")
        self.names: Sequence[str] = ()
        self.pause = 0.0  # nobody watches live, so the run never has to wait
        self._records: list[EpisodeRecord] = []

    def draw(self, episode: Episode, viewer: int | None = None) -> None:
        if episode.over:
            self._records.append(record_episode(episode, self.names))

    def close(self) -> None:
        from palestra_markets.report.page import write_page

        if self._records:
            target = write_page(self._records, self.folder.with_suffix(".html"))
            open_console().print(f"report  {target}", soft_wrap=True, highlight=False)
