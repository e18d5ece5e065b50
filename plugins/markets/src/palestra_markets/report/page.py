"""A standalone HTML page of a run: agents, measures, and plots as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from io import StringIO
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from markupsafe import Markup
from palestra import EpisodeRecord, InvalidOption, MissingExtra, PalestraError, printable
from palestra.files import UNREADABLE, write_text
from palestra.html import render_page
from palestra.kernel.errors import cause, show
from palestra.kernel.game import total
from palestra.records.metrics import Measures, measure

from palestra_markets.report.declared import PLOTS
from palestra_markets.report.plot import Plot, Series, over_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_SEATS = 12  # up to this many have their own line in the plot of returns


def write_page(records: Sequence[EpisodeRecord], path: str | Path, episode: int = 0) -> Path:
    """Write the page of a run: measures over all its records, plots of one episode.

    Returns the path. The file is replaced atomically. Raises `InvalidOption` if there are no
    records, they are of several environments or none has the number `episode`.
    """
    if not records:
        raise InvalidOption("there is no finished episode to report on; play at least one")
    if not 0 <= episode < len(records):
        raise InvalidOption(
            f"episode must be from 0 to {len(records) - 1}, one of this run, not {episode}"
        )
    played = sorted({f"{one.env} of {len(one.players)} players" for one in records})
    if len(played) > 1:
        raise InvalidOption(
            f"a page is about one environment; these records are of {', '.join(map(show, played))}:"
            " put those of each into a file of its own"
        )
    return write_text(path, page(records, episode))


def page(records: Sequence[EpisodeRecord], episode: int = 0) -> str:
    """The page as text."""
    record = records[episode]
    options = ", ".join(f"{name}={value}" for name, value in record.options.items() if value)
    return render_page(
        "palestra_markets",
        "report.html",
        env=record.env,
        episodes=len(records),
        first_seed=records[0].seed,
        options=cut(options),
        measures=measure_rows(records),
        seats=seat_rows(records),
        episode=episode,
        seed=record.seed,
        figures=figures_of(record, episode),
    )


def figures_of(record: EpisodeRecord, episode: int) -> list[Markup]:
    """The plots of a record as SVG.

    Raises `InvalidOption` if its rewards or facts are none that its game writes, and `MissingExtra`
    where matplotlib is not installed.
    """
    try:
        return [Markup(svg(plot)) for plot in plots_of(record)]
    except PalestraError:
        raise
    except (*UNREADABLE, ArithmeticError) as error:
        raise InvalidOption(
            f"episode {episode} cannot be drawn, since a value in it is none that its game writes "
            f"({cause(error)}); look for it with palestra replay FILE --verify"
        ) from error


def cut(text: str, most: int = 400) -> str:
    """A text of at most `most` characters, with an ellipsis where it is cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def plots_of(record: EpisodeRecord) -> list[Plot]:
    """The market's own plots, then the returns of every seat so far."""
    own: list[Plot] = []
    if record.env in PLOTS:
        module, _, name = PLOTS[record.env].partition(":")
        own = getattr(import_module(module), name)(record)
    shown = [plot for plot in own if any(len(line.x) for line in plot.lines)]
    return [*shown, returns_plot(record)]


def returns_plot(record: EpisodeRecord) -> Plot:
    """Cumulative rewards by step; with many seats, their minimum, mean and maximum."""
    paid = [
        [total(step.rewards.get(seat)) for step in record.steps]
        for seat in range(len(record.players))
    ]
    sums = [[0.0, *accumulate(row)] for row in paid]
    if len(sums) <= MOST_SEATS:
        names = [_seat_name(record, seat) for seat in range(len(sums))]
        lines = [over_time(name, row, "step") for name, row in zip(names, sums, strict=True)]
    else:
        columns = list(zip(*sums, strict=True))
        kinds = (("most", max), ("mean", fmean), ("least", min))
        lines = [over_time(name, [kind(c) for c in columns], "step") for name, kind in kinds]
    return Plot("Returns so far", lines, "step", "reward")


def _seat_name(record: EpisodeRecord, seat: int) -> str:
    agent = record.agents[seat] if seat < len(record.agents) else ""
    return printable(f"{record.players[seat]} {agent}".strip())


def measure_rows(records: Sequence[EpisodeRecord]) -> Sequence[tuple[str, ...]]:
    """Name, mean, interval, unit and number of episodes of every metric."""
    measures = Measures()
    for record in records:
        measures.add(measure(record))
    return measures.rows()


def seat_rows(records: Sequence[EpisodeRecord]) -> list[tuple[str, ...]]:
    """Player, agent and mean return of every seat."""
    first = records[0]
    rows: list[tuple[str, ...]] = []
    for seat, name in enumerate(first.players):
        agent = printable(first.agents[seat]) if seat < len(first.agents) else ""
        paid = [record.returns[seat] for record in records if seat < len(record.returns)]
        rows.append((name, agent, f"{fmean(paid):.4g}" if paid else ""))
    return rows


def svg(plot: Plot) -> str:
    """A plot as an SVG element, with its text as text.

    Raises `MissingExtra` where matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        raise MissingExtra("matplotlib", "palestra-markets[report]") from None

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": plot.title}):
        figure = Figure(figsize=(6, 3.6), layout="constrained")
        axes = figure.add_subplot()
        for line in plot.lines:
            draw(axes, line)
        axes.set(title=plot.title, xlabel=plot.x, ylabel=plot.y)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
        if all(isinstance(x, int) for line in plot.lines for x in line.x):
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if any(len(line.x) for line in plot.lines):
            axes.legend(frameon=False, fontsize="small")
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def draw(axes: Axes, line: Series) -> None:
    """Draw one line on matplotlib's axes."""
    if not len(line.x):
        return
    x, y, name = list(line.x), list(line.y), line.name.replace("_", " ")
    if line.style == "bars":
        axes.bar(x, y, width=0.8 * _gap(x), alpha=0.7, label=name)
    elif line.style == "step":
        axes.step(x, y, where="post", label=name)
    elif line.style == "dashed":
        axes.plot(x, y, "--", color="0.4", label=name)
    else:
        axes.plot(x, y, "o" if line.style == "points" else "-", markersize=4, label=name)


def _gap(x: Sequence[float]) -> float:
    """The least distance between neighbours, which keeps bars apart."""
    places = sorted(set(x))
    return min((b - a for a, b in pairwise(places)), default=1.0)
