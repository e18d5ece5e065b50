"""Charts, bars and tables."""

from __future__ import annotations

from math import floor, log10

from palestra.endings import number_text
from palestra.scene import Bar, Bars, Candle, Chart, Series, Table

from palestra_renderers.layout.labels import LEAST, short_name
from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.lettering import Face, height_for, text_width
from palestra_renderers.marks import Circle, Line, Mark, Polygon, Rect, Words
from palestra_renderers.plain import clean
from palestra_renderers.theme import paint_of

Span = tuple[float, float]
Box = tuple[float, float, float, float]
BAR = 1.5  # lines: the width in which each bar has its number
BESIDE_NUMBERS = 0.3  # of an axis: the most that its name takes beside its numbers


def lay_chart(chart: Chart, top: float, room: float, sheet: Sheet) -> float:
    """Axes with round numbers, the series, and over them a title and a key of their names."""
    line = sheet.line
    small = line * 0.75
    height = min(room, sheet.width * 0.7)
    y = lay_heading(chart, top, sheet)
    points = [point for series in chart.series for point in series.points]
    points += [(candle.x, price) for candle in chart.candles for price in (candle.low, candle.high)]
    if not points:
        sheet.note("nothing yet", sheet.width / 2, y + line, line, anchor="middle")
        return y + 2 * line - top
    based = any(series.kind in ("bars", "step") for series in chart.series)
    across = span([x for x, _ in points], based=False)
    if has_bars(chart) or chart.candles:  # the first and last one are whole
        count = len({x for x, _ in points})
        half = (across[1] - across[0]) / max(1, count - 1) / 2
        across = (across[0] - half, across[1] + half)
    up = span([v for _, v in points], based=based)
    left, wide = line * 3, sheet.width - 4 * line
    above = small / 2  # of the highest number on the axis
    below = small * (2.4 if chart.x_label and not is_short(chart, wide, sheet) else 1.4)
    box = (left, y + above, wide, max(line, top + height - y - below - above))
    lay_axes(chart, box, across, up, sheet)
    for series in chart.series:
        sheet.marks += curve(series, box, across, up, len(chart.series))
    for candle in chart.candles:
        sheet.marks += lay_candle(candle, box, across, up, len(chart.candles))
    return height


def lay_candle(candle: Candle, box: Box, across: Span, up: Span, count: int) -> list[Mark]:
    """A thin line from low to high, a body from open to close: green if it rose, else red."""
    left, top, wide, tall = box
    x = left + wide * (candle.x - across[0]) / (across[1] - across[0])
    heights = (candle.low, candle.high, candle.opened, candle.closed)
    low, high, opened, closed = (top + tall * (1 - (p - up[0]) / (up[1] - up[0])) for p in heights)
    half = max(1.0, wide / (3 * max(1, count)))
    paint = "green" if candle.closed >= candle.opened else "red"
    body = max(1.0, abs(closed - opened))
    return [
        Line(((x, high), (x, low)), "quiet"),
        Rect(x - half, min(opened, closed), 2 * half, body, paint),
    ]


def lay_heading(chart: Chart, top: float, sheet: Sheet) -> float:
    """The title, what is measured upwards and the names of the series, side by side if they fit.

    Returns where the chart itself begins.
    """
    line, small = sheet.line, sheet.line * 0.75
    texts: list[tuple[str, float, str, Face, str]] = []  # with height, colour, face and a disc's
    if chart.title:
        texts.append((clean(chart.title, 80), line, "ink", "bold", ""))
    if chart.y_label:
        texts.append((clean(chart.y_label, 80), small, "quiet", "", ""))
    for series in chart.series:
        if series.name:
            texts.append((clean(series.name, 40), small, "ink", "", paint_of(series.colour)))
    start = line / 2
    high = line if chart.title else small
    x, y = start, top
    for text, size, colour, face, disc in texts:
        indent = size * 0.9 * bool(disc)
        wide = indent + text_width(text, size, face)
        if x > start and x + wide > sheet.width - start:
            x, y, high = start, y + high, small
        if disc:
            sheet.marks.append(Circle(x + size / 3, y + high / 2, size / 3, disc, "black"))
        room = sheet.width - start - x - indent
        sheet.write(
            text, x + indent, y + high / 2, room=room, height=size, colour=colour, face=face
        )
        x += wide + line
    return y + (high if texts else 0)


def has_bars(chart: Chart) -> bool:
    return any(series.kind == "bars" for series in chart.series)


def counted(chart: Chart) -> bool:
    """Whether everything lies at whole numbers to the right."""
    places = [x for one in chart.series for x, _ in one.points]
    return all(x == int(x) for x in (*places, *(candle.x for candle in chart.candles)))


def is_short(chart: Chart, wide: float, sheet: Sheet) -> bool:
    """Whether the name of the axis to the right has space beside the numbers on it.

    It takes the place of the last ones, so the axis of bars, which are named by theirs, has none.
    """
    if has_bars(chart):
        return False
    return text_width(clean(chart.x_label), sheet.line * 0.7) < BESIDE_NUMBERS * wide


def span(values: list[float], *, based: bool) -> Span:
    """The least and the greatest value, a little apart; bars begin at zero."""
    low, high = min(values), max(values)
    if based:
        low, high = min(0.0, low), max(0.0, high)
    if high - low < 1e-12:
        more = max(0.5, abs(low) / 20)  # so that numbers on the axis differ in the digits shown
        return low - more, high + more
    return low, high


def ticks(reach: Span, most: int) -> list[float]:
    """Round numbers inside a span: at most `most` of them, but two at least."""
    wide = (reach[1] - reach[0]) / max(1, most)
    power = 10.0 ** floor(log10(wide))
    steps = [power * times for times in (0.1, 0.2, 0.5, 1, 2, 5, 10)]
    largest = next(n for n, step in enumerate(steps) if step >= wide - 1e-12)
    return next(
        found for step in reversed(steps[: largest + 1]) if len(found := multiples(step, reach)) > 1
    )


def multiples(step: float, reach: Span) -> list[float]:
    first, last = -floor(-reach[0] / step + 1e-9), floor(reach[1] / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def lay_axes(chart: Chart, box: Box, across: Span, up: Span, sheet: Sheet) -> None:
    left, top, wide, tall = box
    small = sheet.line * 0.7
    short = is_short(chart, wide, sheet)
    taken = text_width(clean(chart.x_label), small) + small if chart.x_label and short else 0.0
    for value in ticks(up, max(2, int(tall / (0.85 * sheet.line)))):
        y = top + tall * (1 - (value - up[0]) / (up[1] - up[0]))
        sheet.marks.append(Line(((left, y), (left + wide, y)), "faint"))
        sheet.marks.append(Words(left - 4, y, brief(value), small, "quiet", "end"))
    numbers = sorted({x for one in chart.series if one.kind == "bars" for x, _ in one.points})
    if not 0 < len(numbers) * BAR * sheet.line <= wide:
        numbers = ticks(across, max(2, int(wide / (4 * sheet.line))))
        if counted(chart):  # days, rounds and trades have no halves
            numbers = [value for value in numbers if value == int(value)] or numbers
    for value in numbers:
        x = left + wide * (value - across[0]) / (across[1] - across[0])
        sheet.marks.append(Line(((x, top + tall), (x, top + tall + 4)), "quiet"))
        text = brief(value)
        if not taken or x + text_width(text, small) / 2 <= left + wide - taken:
            at = top + tall + small
            sheet.marks.append(Words(x, at, text, small, "quiet", "middle"))
    sheet.marks.append(Line(((left, top), (left, top + tall), (left + wide, top + tall)), "quiet"))
    if chart.x_label:
        at = top + tall + (1 if short else 2) * small
        sheet.note(chart.x_label, left + wide, at, small, anchor="end")


def curve(series: Series, box: Box, across: Span, up: Span, count: int) -> list[Mark]:
    """One series as marks inside the axes."""
    left, top, wide, tall = box
    paint = paint_of(series.colour)

    def at(x: float, y: float) -> tuple[float, float]:
        right = left + wide * (x - across[0]) / (across[1] - across[0])
        return right, top + tall * (1 - (y - up[0]) / (up[1] - up[0]))

    spots = [at(x, y) for x, y in series.points]
    if not spots:
        return []
    if series.kind == "points":
        return [Circle(x, y, 3.5, paint, "black") for x, y in spots]
    if series.kind == "bars":
        zero = at(across[0], max(up[0], 0.0))[1]
        half = max(1.0, wide / (2.6 * max(1, len(spots)) * max(1, count)))
        return [
            Rect(x - half, min(y, zero), 2 * half, max(1.0, abs(zero - y)), paint) for x, y in spots
        ]
    if series.kind == "step":
        spots = [
            corner
            for k, (x, y) in enumerate(spots)
            for corner in ([(x, spots[k - 1][1]), (x, y)] if k else [(x, y)])
        ]
        base = top + tall
        under = (*spots, (spots[-1][0], base), (spots[0][0], base))
        return [Polygon(under, paint, "black")] if len(spots) > 2 else [Line((*spots,), paint, 2)]
    if len(spots) == 1:
        return [Circle(*spots[0], 3.5, paint, "black")]
    return [Line((*spots,), "quiet", 4), Line((*spots,), paint, 2)]  # yellow needs its rim


def brief(value: float) -> str:
    """A number in at most five signs."""
    size = abs(value)
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= unit:
            scaled = value / (1e3 if name == "k" else unit)
            return f"{scaled:.3g}{name}"
    return number_text(value)


ROWED = 12  # bars; more are columns side by side
COUNTED = 10  # things that are drawn one by one
COLUMN = 9.0  # the least width of a column


def bars_height(part: Bars, line: float, width: float) -> float:
    """The height in which bars are at ease."""
    if len(part.bars) <= ROWED:
        return line * bar_rows(part) * (0.75 if bar_rows(part) < len(part.bars) else 1)
    return 3 * line * column_rows(part, width)


def bar_rows(part: Bars) -> int:
    """The number of lines that bars take: more than eight are laid in two columns."""
    return -(-len(part.bars) // _bar_columns(part))


def column_rows(part: Bars, width: float) -> int:
    """The number of rows that columns take side by side."""
    return -(-len(part.bars) // max(1, int(width * 0.95 / COLUMN)))


def _bar_columns(part: Bars) -> int:
    return 1 + (len(part.bars) > 8)


def lay_columns(part: Bars, top: float, room: float, sheet: Sheet) -> float:
    """Many quantities as columns that fill from below, the end of each label under its column."""
    rows = column_rows(part, sheet.width)
    across = -(-len(part.bars) // rows)
    margin, tall = sheet.line / 2, min(3 * sheet.line, room / rows)
    wide = (sheet.width - 2 * margin) / across
    size = min(sheet.line * 0.7, wide)
    for number, bar in enumerate(part.bars):
        x, y = margin + number % across * wide, top + number // across * tall
        high = max(1.0, tall - size - 4)
        share = min(1.0, max(0.0, bar.value / bar.full)) if bar.full > 0 else 0.0
        body = min(wide - 2, 1.4 * sheet.line)
        left = x + (wide - body) / 2
        sheet.marks.append(Rect(left, y, body, high, "faint"))
        if share:
            filled = max(1.0, high * share)
            fill = Rect(left, y + high - filled, body, filled, paint_of(bar.colour), "black")
            sheet.marks.append(fill)
        short = short_name(bar.label)
        height = height_for(short, wide - 1, size)
        if height >= LEAST:
            at = y + high + size / 2 + 1
            sheet.marks.append(Words(x + wide / 2, at, short, height, "ink", "middle", "paper"))
    return tall * rows


def lay_bars(part: Bars, top: float, room: float, sheet: Sheet) -> float:
    """Labelled quantities, one per line, or as columns side by side if they are many."""
    if len(part.bars) > ROWED:
        return lay_columns(part, top, room, sheet)
    rows, width = max(1, bar_rows(part)), sheet.width / _bar_columns(part)
    line, margin = min(sheet.line, room / rows), sheet.line / 2
    values = [f"{number_text(bar.value)} / {number_text(bar.full)}" for bar in part.bars]
    if width < sheet.width:
        line = min(line, sheet.line * 0.75)
    right = max(text_width(value, line) for value in values) + margin
    if width == sheet.width:
        right = max(sheet.line * 5, right)
    widest = max(text_width(clean(bar.label), line) for bar in part.bars)
    label = min(width / (3 if width == sheet.width else 2.2), widest + line)
    long = width - label - margin - right
    counted = all(is_counted(bar, long / (1.3 * (line - 6))) for bar in part.bars)
    for number, bar in enumerate(part.bars):
        x, y = number // rows * width + margin, top + number % rows * line
        start, at = x + label, x + label + long + margin
        sheet.write(bar.label, x, y + line / 2, room=label, height=line, ground="paper")
        lay_bar(bar, (start, y + 3, long, line - 6), sheet, counted=counted)
        sheet.write(values[number], at, y + line / 2, room=right, height=line, ground="paper")
    return line * rows


def is_counted(bar: Bar, fits: float) -> bool:
    """Whether a bar says how many of a few whole things there are, of which so many fit a line."""
    whole = bar.value == int(bar.value) and bar.full == int(bar.full)
    return whole and 0 <= bar.value <= bar.full <= min(COUNTED, fits)


def lay_bar(bar: Bar, box: Box, sheet: Sheet, *, counted: bool) -> None:
    """How much of something there is: things that are counted as dots, anything else as a bar."""
    x, y, long, high = box
    paint = paint_of(bar.colour)
    if counted:
        for number in range(int(bar.full)):
            fill = paint if number < bar.value else "faint"
            at = x + (1.3 * number + 0.5) * high
            sheet.marks.append(Circle(at, y + high / 2, high / 2, fill, "quiet"))
        return
    share = min(1.0, max(0.0, bar.value / bar.full)) if bar.full > 0 else 0.0
    sheet.marks.append(Rect(x, y, long, high, "faint"))
    sheet.marks.append(Rect(x, y, int(long * share), high, paint))


def lay_cells(table: Table, top: float, room: float, sheet: Sheet) -> float:
    """A table, numbers to the right; if it is too long, its first and last rows."""
    line, margin = sheet.line * 0.9, sheet.line / 2
    y = top
    if table.title:
        sheet.write(table.title, margin, y + line / 2, room=sheet.width, face="bold")
        y += line
    fits = max(1, int((top + room - y) / line + 0.01) - 1)
    wanted, first = list(range(len(table.rows))), fits // 2
    if len(wanted) > fits:  # one row says how many are left out
        wanted = [*wanted[:first], -1, *wanted[len(wanted) - (fits - first - 1) :]]
    left_out = (f"… {len(table.rows) - fits + 1} more",)
    rows = [table.rows[one] if one >= 0 else left_out for one in wanted]
    columns = len(table.header)
    size = line * 0.95
    widest = [
        max(text_width(row[c], size) for row in (table.header, *table.rows) if c < len(row)) + line
        for c in range(columns)
    ]
    scale = min(1.5, (sheet.width - 2 * margin - line) / sum(widest))
    edges = [margin + (line * 0.5 if table.colours else 0)]
    for wide in widest:
        edges.append(edges[-1] + scale * wide)
    numeric = [all(is_number(row[c]) for row in table.rows if c < len(row)) for c in range(columns)]
    sheet.marks.append(Line(((margin, y + line), (edges[-1], y + line)), "quiet"))
    for number, row in enumerate((table.header, *rows)):
        at = y + (number + 0.5) * line
        if row is left_out:
            sheet.note(row[0], edges[0], at, size)
            continue
        for column, text in enumerate(row[:columns]):
            right = numeric[column] and bool(table.rows)
            x = edges[column + 1] - line / 2 if right else edges[column]
            sheet.write(
                text, x, at, room=edges[column + 1] - edges[column] - line / 4, height=size,
                colour="ink" if number else "quiet", anchor="end" if right else "start",
            )  # fmt: skip
        if number and 0 <= wanted[number - 1] < len(table.colours):
            paint = paint_of(table.colours[wanted[number - 1]])
            sheet.marks.append(Circle(margin, at, line / 5, paint, "black"))
    return y + line * (1 + len(rows)) - top


def is_number(text: str) -> bool:
    """Whether a cell holds a number, perhaps with a unit sign or a thousands separator."""
    bare = text.strip().strip("$€£%+−-×x").replace(",", "").replace(".", "", 1)
    return bare.isdigit() or not text.strip() or text.strip() in ("–", "-")
