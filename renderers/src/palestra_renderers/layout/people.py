"""People round a table, and what they say."""

from __future__ import annotations

from bisect import bisect
from functools import lru_cache
from itertools import accumulate, pairwise
from math import cos, dist, pi, sin

from palestra.scene import Person, RoundTable, Saying, Talk

from palestra_renderers.layout.cards import card_width, lay_row
from palestra_renderers.layout.sheet import Sheet, fit_text, opening
from palestra_renderers.lettering import cut, height_for, text_width, wrap
from palestra_renderers.marks import Circle, Layer, Line, Mark, Polygon, Rect, Sprite, Words
from palestra_renderers.plain import clean, clean_lines
from palestra_renderers.theme import ink_on, paint_of


def lay_table(table: RoundTable, top: float, room: float, sheet: Sheet) -> float:
    """A table seen from above; the first person sits at its lower end, the others clockwise."""
    line = sheet.line
    height = min(room, sheet.width * 0.8)
    middle = (sheet.width / 2, top + height / 2)
    spare = 3.2 if len(table.people) <= MANY else 1.2  # of names above and below
    wide, tall = sheet.width * 0.36, max(line, height / 2 - spare * line)
    reach = (wide * 0.74, max(line * 2, tall * 0.8))
    if table.ground == "felt":
        felt(middle, reach, sheet)
    else:
        fill_basin(table, middle, reach, sheet)
    spots = seats_around(len(table.people), middle, (wide, tall))
    if table.cards:
        big = min(2.6 * line, tall * 0.6)
        across = card_width(table.cards, big) * 1.08 * len(table.cards)
        box = (middle[0] - across / 2, middle[1] - big / 2 - line / 2, across, big)
        lay_row(table.cards, box, sheet)
    if table.words:
        lower = middle[1] + (1.3 * line if table.cards else 0)
        lines, size = fit_text(clean(table.words), wide * 1.2, 3 * line, line)
        felted = table.ground == "felt"
        if not felted:
            across = max(text_width(text, size) for text in lines) + size
            up = lower - size * (len(lines) / 2 + 0.1)
            high, left = size * (len(lines) + 0.2), middle[0] - across / 2
            sheet.marks.append(Rect(left, up, across, high, "panel", "", 1, size / 2))
        for number, text in enumerate(lines):
            y = lower + (number - (len(lines) - 1) / 2) * size
            ink = "white" if felted else "ink"
            sheet.marks.append(Words(middle[0], y, text, size, ink, "middle"))
    lay_gifts(table, spots, sheet)
    for number, person in enumerate(table.people):
        if person.vote is not None and 0 <= person.vote < len(spots) and person.vote != number:
            sheet.arrow(between(spots[number], spots[person.vote], 0.2),
                        between(spots[number], spots[person.vote], 0.8),
                        paint_of(person.colour))  # fmt: skip
    around = pi * (wide + tall)  # heads and names of a crowd become smaller
    crowd = len(spots) > MANY
    nearest = (
        min(map(dist, spots, spots[1:]), default=around) if crowd else around / max(1, len(spots))
    )
    space = (middle[0], top, height, nearest, crowd)
    for person, spot in zip(table.people, spots, strict=True):
        lay_person(person, spot, sheet, space)
    return height


def lay_gifts(table: RoundTable, spots: list[tuple[float, float]], sheet: Sheet) -> None:
    """Arrows from person to person with what they say, near their start."""
    size = sheet.line * 0.75
    for link in table.links:
        start, end = spots[link.start], spots[link.end]
        paint = paint_of(link.colour)
        sheet.arrow(
            between(start, end, 0.14), between(start, end, 0.86), paint, max(1.5, 2 * link.weight)
        )
    for link in table.links:
        if link.label:
            x, y = between(spots[link.start], spots[link.end], 0.3)
            text = clean(link.label, 16)
            across = text_width(text, size) + size / 2
            box = Rect(x - across / 2, y - size / 2, across, size, "panel", "", 1, size / 3)
            sheet.marks += [box, Words(x, y, text, size, "ink", "middle")]


def fill_basin(
    table: RoundTable, middle: tuple[float, float], reach: tuple[float, float], sheet: Sheet
) -> None:
    """A basin seen from above, full of its ground as far as its level says."""
    turns = [a * pi / 48 for a in range(96)]
    rim = tuple((middle[0] + reach[0] * cos(a), middle[1] + reach[1] * sin(a)) for a in turns)
    sheet.marks.append(Polygon(rim, "sand", "rail", 2))
    share = min(1.0, max(0.0, table.level)) ** 0.5  # areas, not lengths, are compared
    if share > 0:
        inner = tuple(
            (middle[0] + (x - middle[0]) * share * 0.98, middle[1] + (y - middle[1]) * share * 0.98)
            for x, y in rim
        )
        sheet.marks.append(Polygon(inner, paint_of(table.ground)))
    if table.ground == "water":
        for a, b in ((-0.5, -0.3), (0.25, -0.5), (-0.2, 0.45), (0.45, 0.3)):
            x, y = middle[0] + a * reach[0] * share, middle[1] + b * reach[1] * share
            w = sheet.line * share
            wave = ((x - w, y), (x - w / 3, y - 3), (x + w / 3, y), (x + w, y - 3))
            sheet.marks.append(Line(wave, "ripple", 2))


def felt(middle: tuple[float, float], reach: tuple[float, float], sheet: Sheet) -> None:
    """The table's top, an ellipse with a rail."""
    wide, tall = round(reach[0]), round(reach[1])
    x, y = round(middle[0]) - wide - RAIL, round(middle[1]) - tall - RAIL
    sheet.marks.append(Layer(x, y, 2 * (wide + RAIL), 2 * (tall + RAIL), table_top(wide, tall)))


RAIL = 7


@lru_cache(maxsize=64)
def table_top(wide: int, tall: int) -> tuple[Mark, ...]:
    marks: list[Mark] = []
    for grow, paint in ((RAIL - 1, "rail"), (0, "felt")):
        turns = [a * pi / 48 for a in range(96)]
        x, y = wide + RAIL, tall + RAIL
        points = tuple((x + (wide + grow) * cos(a), y + (tall + grow) * sin(a)) for a in turns)
        marks.append(Polygon(points, paint))
    return tuple(marks)


def seats_around(
    count: int, middle: tuple[float, float], reach: tuple[float, float]
) -> list[tuple[float, float]]:
    """Where people sit; a crowd is spaced evenly along the rim, or a flat one would overlap."""
    if count <= MANY:
        return [seat_at(number, count, middle, reach) for number in range(count)]
    rim = [seat_at(number, RIM, middle, reach) for number in range(RIM + 1)]
    steps = [dist(*pair) for pair in pairwise(rim)]
    along = list(accumulate(steps))  # from the first seat, clockwise
    return [rim[bisect(along, along[-1] * number / count)] for number in range(count)]


def seat_at(
    number: int, count: int, middle: tuple[float, float], reach: tuple[float, float]
) -> tuple[float, float]:
    angle = pi / 2 + 2 * pi * number / max(1, count)
    return middle[0] + reach[0] * cos(angle), middle[1] + reach[1] * sin(angle)


def between(
    start: tuple[float, float], end: tuple[float, float], share: float
) -> tuple[float, float]:
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share


CROWDED = 2.6  # lines of the table's rim for each person
MANY = 16  # people whose names have no space round a table
RIM = 720  # points by which the rim of a table is measured


def lay_person(
    person: Person,
    spot: tuple[float, float],
    sheet: Sheet,
    space: tuple[float, float, float, float, bool],
) -> None:
    """A person's head in their colour, with name, role, cards and last words."""
    line, (x, y), paint = sheet.line, spot, paint_of(person.colour)
    radius = max(4.0, min(line * 0.8, space[3] / 2.6))
    room = min(sheet.width / 4, max(2.2 * line, 1.5 * space[3]))
    if person.acting:
        sheet.marks.append(Circle(x, y, radius + 4, "", "mark", 3))
    sheet.marks.append(Circle(x, y, radius, "shade" if person.out else paint, "black"))
    if space[3] < CROWDED * line or space[4]:  # no space for names: the end of each on its head
        short = (clean(person.name).replace("_", " ").split() or [""])[-1][:3]
        size = height_for(short, radius * 1.7, radius)
        sheet.marks.append(Words(x, y, short, size, ink_on(paint), "middle"))
        return
    sheet.marks.append(Sprite(x, y, radius * 1.5, "person", ink_on(paint)))
    if person.out:
        reach = radius * 0.9
        for sign in (1, -1):
            ends = ((x - reach, y - sign * reach), (x + reach, y + sign * reach))
            sheet.marks.append(Line(ends, "mark", 3))
    size = line * 0.8
    notes = [clean(text) for text in (person.role, person.detail) if text]
    if text_width(", ".join(notes), size) <= room * 1.2:
        notes = [", ".join(notes)] if notes else []
    above = y < space[1] + space[2] / 2 - 1  # the far side: their name stands over their head
    name_at = y - radius - line * 0.5 - size * len(notes) if above else y + radius + line * 0.55
    sheet.write(person.name, x, name_at, room=room, height=line * 0.9, anchor="middle")
    for number, text in enumerate(notes, 1):
        shown = cut(text, room * 1.2, size)
        sheet.note(shown, x, name_at + number * size, size, anchor="middle")
    if person.cards:
        tall = line * 1.9
        across = card_width(person.cards, tall) * 1.08 * len(person.cards)
        inward = x <= space[0] + 1
        across = min(across, (sheet.width - x if inward else x) - radius - 8)
        beside = x + radius + 4 if inward else x - radius - 4 - across
        lay_row(person.cards, (beside, y - tall / 2, across, tall), sheet)
    if person.share is not None:
        lay_column(person, (x, y, radius), sheet, beyond=x > space[0] + 1)
    if person.said:
        bubble(person.said, (x, y - radius), sheet)


def lay_column(
    person: Person, head: tuple[float, float, float], sheet: Sheet, *, beyond: bool
) -> None:
    """A column beside somebody's head, on the far side of the table, filled from below."""
    x, y, radius = head
    wide, tall = radius * 0.7, radius * 2.4
    left = x + radius + 4 if beyond else x - radius - 4 - wide
    share = min(1.0, max(0.0, person.share or 0.0))
    bottom = y + tall / 2
    sheet.marks.append(Rect(left, bottom - tall, wide, tall, "cell", "quiet"))
    if share:
        high = max(1.0, tall * share)
        paint = paint_of(person.colour)
        sheet.marks.append(Rect(left, bottom - high, wide, high, paint, "black"))


def bubble(said: str, spot: tuple[float, float], sheet: Sheet) -> None:
    """Words over somebody's head, with a tail that points at them."""
    size, room = sheet.line * 0.75, sheet.width / 3.4
    lines = opening(wrap(clean(said, 160), room - size, size), 3)
    wide = min(room, max(text_width(text, size) for text in lines) + size)
    tall = size * len(lines) + size / 2
    x = min(max(spot[0] - wide / 2, 4), sheet.width - wide - 4)
    y = max(2.0, spot[1] - tall - size * 0.6)
    tail = ((spot[0] - 4, y + tall - 1), (spot[0] + 4, y + tall - 1), (spot[0], y + tall + 6))
    sheet.marks.append(Rect(x, y, wide, tall, "panel", "quiet", 1, size / 2))
    sheet.marks.append(Polygon(tail, "panel"))
    for number, text in enumerate(lines):
        sheet.marks.append(Words(x + size / 2, y + size * (number + 0.75), text, size))


def said_lines(saying: Saying, sheet: Sheet) -> list[str]:
    """What somebody said, in at most ten lines."""
    line = sheet.line
    wide = sheet.width - min(sheet.width / 4, line * 6) - 2 * line
    rows = clean_lines([saying.text], 600)
    return opening([part for row in rows for part in wrap(row, wide, line * 0.85)], 10)


def talk_height(talk: Talk, sheet: Sheet) -> float:
    """The height of a conversation in full."""
    size = sheet.line * 0.85
    return sum(size * (len(said_lines(saying, sheet)) + 1) for saying in talk.sayings[-40:])


def lay_talk(talk: Talk, top: float, room: float, sheet: Sheet) -> float:
    """The last sayings that fit, as bubbles beside their speakers' names."""
    line = sheet.line
    size, name = line * 0.85, min(sheet.width / 4, line * 6)
    shown: list[tuple[int, list[str]]] = []
    height = 0.0
    for number in range(len(talk.sayings) - 1, -1, -1):
        lines = said_lines(talk.sayings[number], sheet)
        height += size * len(lines) + size
        if height + size * (number > 0) > room and shown:
            break
        shown.insert(0, (number, lines))
    y = top
    if shown and shown[0][0]:
        sheet.note(f"… {shown[0][0]} earlier", line * 0.6, y + size / 2, size)
        y += size
    for number, lines in shown:
        saying = talk.sayings[number]
        tall = size * len(lines) + size / 2
        paint = paint_of(saying.colour)
        sheet.marks.append(Circle(line * 0.8, y + size * 0.75, size / 3, paint, "black"))
        sheet.write(saying.speaker, line * 1.4, y + size * 0.75, room=name - line, height=size)
        box = Rect(
            name + line / 2, y, sheet.width - name - line, tall, "panel", "faint", 1, size / 2
        )
        sheet.marks.append(box)
        for row, text in enumerate(lines):
            sheet.marks.append(Words(name + line, y + size * (row + 0.75), text, size))
        y += tall + size / 2
    return y - top
