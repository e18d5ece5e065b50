"""`palestra report`, and `palestra play --render report`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from palestra import Episode, EpisodeRecord, read_records, record_episode, renderer
from rich.console import Console


def report_command(
    record: Annotated[Path, typer.Argument(help="Records of a run, as in runs/…/episode.jsonl.")],
    html: Annotated[
        Path | None, typer.Option(help="The page; report.html beside the records else.")
    ] = None,
    episode: Annotated[int, typer.Option(min=0, help="Which episode is plotted.")] = 0,
) -> None:
    """Write a page with a market's own plots."""
    from palestra_markets.report.page import write_page

    target = write_page(read_records(record), html or record.with_name("report.html"), episode)
    Console().print(f"report  {target}", soft_wrap=True, highlight=False)


@renderer("report", families=("*",))
class ReportRenderer:
    """Keeps what is played and writes the page at the end, into the folder of the run."""

    def __init__(self) -> None:
        self.folder = Path("report")
        self.names: Sequence[str] = ()
        self.pause = 0.0  # nothing is looked at meanwhile, so nothing waits
        self._records: list[EpisodeRecord] = []

    def draw(self, episode: Episode, viewer: int | None = None) -> None:
        if episode.over:
            self._records.append(record_episode(episode, self.names))

    def close(self) -> None:
        from palestra_markets.report.page import write_page

        if self._records:
            target = write_page(self._records, self.folder.with_suffix(".html"))
            Console().print(f"report  {target}", soft_wrap=True, highlight=False)
