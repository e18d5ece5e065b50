"""The README card of a shared folder, in the form that the Hugging Face hub shows."""

from __future__ import annotations

from palestra import InvalidOption
from palestra.html import render_page
from palestra.records.intervals import Sample
from palestra.version import __version__

from palestra_arena.sharing.contents import Contents

WRITTEN = "<!-- palestra push writes this card -->"  # a card without this line is the user's own


def card_of(name: str, contents: Contents) -> str:
    """A card in Markdown: what was played, by whom, how it went, and how to use the folder."""
    rows = [
        (env, agent, sample.count, _mean(sample))
        for (env, agent), sample in sorted(contents.returns.items())
    ]
    first = contents.records[0] if contents.records else ""
    return render_page(
        "palestra_arena",
        "card.md",
        name=name,
        mark=WRITTEN,
        contents=contents,
        rows=rows,
        first=first,
        version=__version__,
    )


def _mean(sample: Sample) -> str:
    """A mean with its interval; without one where a single episode allows none."""
    try:
        value, low, high = sample.interval()
    except InvalidOption:
        return f"{sample.mean:.3g}"
    return f"{value:.3g} [{low:.3g}, {high:.3g}]"
