"""People round a table, with what lies before them and in its middle."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import cos, dist, pi, sin

from palestra.scene import Link, Person, RoundTable

from palestra_renderers.layout.cards import card_width, lay_row
from palestra_renderers.layout.labels import (
    LEAST,
    SMALLEST,
    Box,
    Spot,
    around,
    freest,
    hidden_area,
    label_line,
    lies_in,
    short_name,
)
from palestra_renderers.layout.money import lay_button, lay_stack, stack_form
from palestra_renderers.layout.sheet import Sheet, fit_text, opening
from palestra_renderers.layout.tops import lay_top, strips
from palestra_renderers.lettering import cut, height_for, text_width, wrap
from palestra_renderers.marks import Circle, Line, Polygon, Rect, Sprite, Words
from palestra_renderers.plain import clean
from palestra_renderers.theme import ink_on, paint_of

FEW = 4  # people with much space before them
EVEN = 6  # people; more are spaced evenly along the rim of the table
RIM = 720  # points by which the rim of a table is measured
MANY = 12  # people; of more, only short names have space
PACKED = 0.55  # of the distance of two heads: the unit at which they do not touch
PAIRED = 0.42  # the same with a column beside every head
TALL = 3.6  # times their unit: a head with a name and a note
CARDS = (4.0, 3.2, 2.5, 2.0, 1.6)  # lines: heights at which somebody's cards are tried
OVERLAP = 1.4  # times the width of a hand: what its cards have side by side
CLEAR = 0.02  # of a box that may lie on something else
ASIDE = 0.12  # of the width: how far an arrow passes what lies between two people


@dataclass(slots=True)
class Seating:
    """Where people sit, how large they are drawn, and which boxes are taken.

    `unit` is the height of a line of theirs, `named` whether there is space for their names, `top`
    the boxes that the table's top consists of.
    """

    spots: list[Spot]
    middle: Spot
    frame: Box
    unit: float
    named: bool
    top: tuple[Box, ...]
    taken: list[Box] = field(default_factory=list)

    @property
    def radius(self) -> float:
        return max(4.0, self.unit * 0.8)

    def place(self, boxes: list[Box], sheet: Sheet, *, off: Sequence[Box] = ()) -> Box:
        """The box where the least is taken, moved into the frame; it is taken from now on.

        Parts that lie on the boxes `off` count as well.
        """
        within = [moved_inside(box, self.frame, sheet) for box in boxes]
        best = freest(within, [*self.taken, *off])
        self.taken.append(best)
        return best

    def is_free(self, box: Box) -> bool:
        least = CLEAR * (box[2] - box[0]) * (box[3] - box[1])
        return lies_in(box, self.frame) and hidden_area(box, self.taken) <= least


def moved_inside(box: Box, frame: Box, sheet: Sheet) -> Box:
    """A box moved sideways and then up or down, so that it lies in a frame if it can."""
    edge = sheet.line / 8
    across = max(0.0, frame[0] + edge - box[0]) - max(0.0, box[2] - frame[2] + edge)
    down = max(0.0, frame[1] - box[1]) - max(0.0, box[3] - frame[3])
    return box[0] + across, box[1] + down, box[2] + across, box[3] + down


def lay_table(table: RoundTable, top: float, room: float, sheet: Sheet) -> float:
    """A table seen from above; the first person sits at its lower end, the others clockwise."""
    line, count = sheet.line, len(table.people)
    height = min(room, sheet.width * 0.8)
    middle = (sheet.width / 2, top + height / 2)
    spare = min(3 * line, height * 0.26)  # of names above and below
    wide, tall = sheet.width * 0.36, max(line, height / 2 - spare)
    reach = (wide * 0.74, max(line * 2, tall * 0.8))
    lay_top(table, middle, reach, sheet)
    spots = seats_around(count, middle, (wide, tall))
    unit = min(line, nearest(spots) / TALL)
    named = unit >= SMALLEST and (count <= MANY or widest_name(table, unit) <= nearest(spots))
    if not named:  # heads alone take all the space
        spots = seats_around(count, middle, (sheet.width * 0.46, height / 2 - line * 0.8))
        packed = PACKED if all(one.share is None for one in table.people) else PAIRED
        unit = min(line, packed * nearest(spots))
    frame = (0, top, sheet.width, top + height)
    seating = Seating(spots, middle, frame, unit, named, strips(middle, reach))
    side = 2 * seating.radius + 8
    seating.taken += [around(spot, (side, side)) for spot in spots]
    lay_arrows(table, seating, sheet)
    lay_middle(table, (wide, tall), seating, sheet)
    for person, spot in zip(table.people, spots, strict=True):
        lay_head(person, spot, seating, sheet)
    if named:
        lay_hands(table, seating, sheet)
        for person, spot in zip(table.people, spots, strict=True):
            lay_name(person, spot, seating, sheet)
    for person, spot in zip(table.people, spots, strict=True):
        lay_money(person, spot, seating, sheet)
    for link in table.links:
        if link.label:
            label_line(
                clean(link.label, 16), link_ends(link, table, seating, sheet), seating.frame,
                seating.taken, sheet,
            )  # fmt: skip
    for person, spot in zip(table.people, spots, strict=True):
        if person.said:
            bubble(person.said, spot, seating, sheet)
    return height


def nearest(spots: list[Spot]) -> float:
    """The distance of the two neighbours that sit closest."""
    if len(spots) < 2:
        return 1e9
    return min(map(dist, spots, [*spots[1:], spots[0]]))


def widest_name(table: RoundTable, unit: float) -> float:
    """The width of the widest name, role or detail."""
    notes = [", ".join(text for text in (one.role, one.detail) if text) for one in table.people]
    texts = [*notes, *(one.name for one in table.people)]
    return max(text_width(clean(text), unit * 0.9) for text in texts)


def lay_middle(
    table: RoundTable, reach: tuple[float, float], seating: Seating, sheet: Sheet
) -> None:
    """The cards, the pot and the words in the middle, one below the other."""
    line, (x, y) = sheet.line, seating.middle
    wide, tall = reach
    lines, size = fit_text(clean(table.words), wide * 1.2, 3 * line, line)
    lines = lines if table.words else []
    pot = stack_form(table.pot, line) if table.pot else (0.0, 0.0)
    share = 0.75 if len(table.people) <= FEW else 0.45  # others have cards and bets before them
    big = min(3.4 * line, tall * share) if table.cards else 0.0
    y -= (big + pot[1] + size * len(lines)) / 2
    if table.cards:
        across = min(wide * 1.4, card_width(table.cards, big) * 1.08 * len(table.cards))
        lay_row(table.cards, (x - across / 2, y, across, big), sheet)
        seating.taken.append((x - across / 2, y, x + across / 2, y + big))
        y += big + line / 5
    if table.pot:
        box = around((x, y + pot[1] / 2), pot)
        lay_stack(table.pot, box, "gold", sheet)
        seating.taken.append(box)
        y += pot[1] + line / 5
    if lines:
        lay_words(lines, (x, y + size * len(lines) / 2, size), table, seating, sheet)


def lay_words(
    lines: list[str],
    place: tuple[float, float, float],
    table: RoundTable,
    seating: Seating,
    sheet: Sheet,
) -> None:
    """Words around (x, y) in lines of a height, on a plate over the arrows from seat to seat."""
    x, y, size = place
    felted = table.ground == "felt"
    across = max(text_width(text, size) for text in lines) + size
    box = around((x, y), (across, size * (len(lines) + 0.2)))
    seating.taken.append(box)
    ground = "felt" if felted else "panel"
    sheet.marks.append(Rect(box[0], box[1], across, box[3] - box[1], ground, "", 1, size / 2))
    for number, text in enumerate(lines):
        at = y + (number - (len(lines) - 1) / 2) * size
        sheet.marks.append(Words(x, at, text, size, "white" if felted else "ink", "middle"))


def lay_arrows(table: RoundTable, seating: Seating, sheet: Sheet) -> None:
    """Arrows from person to person: gifts, then votes."""
    spots = seating.spots
    for link in table.links:
        start, end = link_ends(link, table, seating, sheet)
        ends = between(start, end, 0.14), between(start, end, 0.86)
        sheet.arrow(*ends, paint_of(link.colour), max(1.5, 2 * link.weight))
    for number, person in enumerate(table.people):
        if person.vote is not None and 0 <= person.vote < len(spots) and person.vote != number:
            start, end = spots[number], spots[person.vote]
            ends = between(start, end, 0.2), between(start, end, 0.8)
            sheet.arrow(*ends, paint_of(person.colour))


def link_ends(link: Link, table: RoundTable, seating: Seating, sheet: Sheet) -> tuple[Spot, Spot]:
    """Where an arrow starts and ends; between two people it passes what lies in the middle."""
    start, end = seating.spots[link.start], seating.spots[link.end]
    if len(table.people) == 2 and (table.words or table.pot or table.cards):
        aside = ASIDE * sheet.width
        return (start[0] - aside, start[1]), (end[0] - aside, end[1])
    return start, end


def seats_around(
    count: int, middle: tuple[float, float], reach: tuple[float, float]
) -> list[tuple[float, float]]:
    """Where people sit; many are spaced evenly along the rim, or a flat one would overlap."""
    if count <= EVEN:
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


def between(start: Spot, end: Spot, share: float) -> Spot:
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share


def lay_head(person: Person, spot: Spot, seating: Seating, sheet: Sheet) -> None:
    """A person's head in their colour; where names have no space, the end of theirs is on it."""
    (x, y), radius, paint = spot, seating.radius, paint_of(person.colour)
    ground = "shade" if person.out else paint
    if person.acting:
        sheet.marks.append(Circle(x, y, radius + 3, "", "mark", 3))
    sheet.marks.append(Circle(x, y, radius, ground, "black"))
    if person.share is not None:
        lay_column(person, (x, y, radius), seating, sheet)
    if not seating.named:
        short = short_name(person.name)
        size = height_for(short, radius * 1.7, radius * 1.3)
        if size >= LEAST:
            ink = "ink" if person.out else ink_on(paint)
            sheet.marks.append(Words(x, y, short, size, ink, "middle"))
        return
    sheet.marks.append(Sprite(x, y, radius * 1.5, "person", ink_on(paint)))
    if person.out:
        reach = radius * 0.9
        for sign in (1, -1):
            ends = ((x - reach, y - sign * reach), (x + reach, y + sign * reach))
            sheet.marks.append(Line(ends, "mark", 3))


def lay_hands(table: RoundTable, seating: Seating, sheet: Sheet) -> None:
    """Everybody's cards beside their heads, as large as is free.

    Those of many people are equally high, so that the table between them stays clear.
    """
    held = [one for one in zip(table.people, seating.spots, strict=True) if one[0].cards]
    worded = any(len(card.rank) > 3 for person, _ in held for card in person.cards)
    if len(table.people) <= FEW:
        for one in held:
            lay_hand([one], CARDS[2:] if worded else CARDS, seating, sheet)
    else:
        lay_hand(held, CARDS[3:], seating, sheet)


def lay_hand(
    held: list[tuple[Person, Spot]], heights: Sequence[float], seating: Seating, sheet: Sheet
) -> None:
    """The cards of these people in the largest of some heights, in lines, at which all are free."""
    before_them = seating.taken
    for lines in heights:
        seating.taken = list(before_them)
        found = [hand_box(person, spot, lines, seating, sheet) for person, spot in held]
        if all(free for _, free in found):
            break
    for (person, _), (box, _) in zip(held, found, strict=True):
        lay_row(person.cards, (box[0], box[1], box[2] - box[0], box[3] - box[1]), sheet)


def hand_box(
    person: Person, spot: Spot, lines: float, seating: Seating, sheet: Sheet
) -> tuple[Box, bool]:
    """Where somebody's cards lie, which is taken from now on, and whether they are free.

    They are where nothing else lies there and they hide little of each other.
    """
    (x, y), radius = spot, seating.radius
    inward = 1 if x <= seating.middle[0] + 1 else -1
    near = y >= seating.middle[1] - 1
    tall = lines * seating.unit
    natural = card_width(person.cards, tall) * 1.08 * len(person.cards)
    across = min(natural, sheet.width * 0.3)
    upper = y + radius - tall if near else y - radius
    front = y - radius - 5 - tall if near else y + radius + 5
    first = inward if len(seating.spots) <= FEW else -inward  # many leave the middle to their bets
    corners = [
        (x + radius + 5 if side > 0 else x - radius - 5 - across, upper) for side in (first, -first)
    ]
    corners += [(x - across / 2, front), (x if inward > 0 else x - across, front)]
    boxes = [(left, up, left + across, up + tall) for left, up in corners]
    free = next((box for box in boxes if seating.is_free(box)), None)
    if free is None:
        return seating.place(boxes, sheet), False
    seating.taken.append(free)
    return free, natural <= OVERLAP * across


def lay_name(person: Person, spot: Spot, seating: Seating, sheet: Sheet) -> None:
    """Somebody's name with role and detail, outside of the table if nothing lies there."""
    for scale in (1.0, 0.85, 0.7):
        size = max(SMALLEST, seating.unit * 0.9 * scale)
        lines = name_lines(person, sheet.width / 4, size)
        wide = max(text_width(text, high) for text, high in lines)
        boxes = beside_head(spot, (wide, sum(high for _, high in lines)), seating)
        if any(seating.is_free(moved_inside(box, seating.frame, sheet)) for box in boxes):
            break
    box = seating.place(boxes, sheet, off=seating.top)
    at, down = (box[0] + box[2]) / 2, box[1]
    for text, high in lines:
        ink = "quiet" if down > box[1] else "ink"
        sheet.marks.append(Words(at, down + high / 2, text, high, ink, "middle"))
        down += high


def name_lines(person: Person, room: float, size: float) -> list[tuple[str, float]]:
    """Somebody's name, role and detail as lines with their heights."""
    small = max(LEAST + 2, size * 0.88)
    notes = [clean(text) for text in (person.role, person.detail) if text]
    if notes and text_width(", ".join(notes), small) <= room * 1.2:
        notes = [", ".join(notes)]
    notes = [part for note in notes for part in wrap(note, room * 1.2, small)[:2]]
    return [(cut(clean(person.name), room, size), size), *((note, small) for note in notes)]


def beside_head(spot: Spot, form: tuple[float, float], seating: Seating) -> list[Box]:
    """Boxes outside of a head, inside, and at its sides."""
    (x, y), (wide, high) = spot, form
    away, beside = seating.radius + 4.5 + high / 2, seating.radius + wide / 2 + 4.5
    sign = -1 if y < seating.middle[1] - 1 else 1
    out = -1 if x < seating.middle[0] else 1
    middles = [(x, y + sign * away), (x, y - sign * away)]
    middles += [(x + out * wide * share, y + sign * away) for share in (0.25, 0.45, -0.25, -0.45)]
    middles += [(x + side * beside, y + up * high / 2) for up in (0, sign) for side in (1, -1)]
    return [around(middle, form) for middle in middles]


def lay_money(person: Person, spot: Spot, seating: Seating, sheet: Sheet) -> None:
    """What somebody has put on the table, and the dealer's button, before them."""
    size = max(SMALLEST, seating.unit * 0.75)
    if person.chips:
        form = stack_form(person.chips, size)
        box = seating.place(before(spot, form, seating), sheet)
        lay_stack(person.chips, box, person.colour, sheet)
    if person.dealer:
        box = seating.place(before(spot, (1.2 * size, 1.2 * size), seating), sheet)
        lay_button((box[0] + box[2]) / 2, (box[1] + box[3]) / 2, size * 0.6, sheet)


def before(spot: Spot, form: tuple[float, float], seating: Seating) -> list[Box]:
    """Boxes between somebody's head and the middle, then at their sides."""
    far = max(1.0, dist(spot, seating.middle))
    reach = seating.radius + max(form) / 2 + 3
    steps = [min(0.8, reach * more / far) for more in (1.0, 1.3, 1.7, 2.2)]
    (x, y), beside = spot, seating.radius + form[0] / 2 + 4
    middles = [between(spot, seating.middle, step) for step in steps]
    over = seating.radius + form[1] / 2 + 4
    middles += [(x + beside, y), (x - beside, y), (x, y + over), (x, y - over)]
    middles += [(a + side * form[0] * 0.8, b) for a, b in middles[:3] for side in (1, -1)]
    return [around(middle, form) for middle in middles]


def lay_column(
    person: Person, head: tuple[float, float, float], seating: Seating, sheet: Sheet
) -> None:
    """A column beside somebody's head, on the far side of the table, filled from below."""
    x, y, radius = head
    wide, tall = radius * 0.7, radius * 2.4
    beyond = (x > seating.middle[0] + 1) == seating.named  # a crowd sits close to the frame
    left = x + radius + 4 if beyond else x - radius - 4 - wide
    seating.taken.append((left, y - tall / 2, left + wide, y + tall / 2))
    share = min(1.0, max(0.0, person.share or 0.0))
    bottom = y + tall / 2
    sheet.marks.append(Rect(left, bottom - tall, wide, tall, "cell", "quiet"))
    if share:
        high = max(1.0, tall * share)
        paint = paint_of(person.colour)
        sheet.marks.append(Rect(left, bottom - high, wide, high, paint, "black"))


def bubble(said: str, spot: Spot, seating: Seating, sheet: Sheet) -> None:
    """Words near somebody's head where they hide the least, with a tail that points at it."""
    size, room = sheet.line * 0.75, sheet.width / 3.4
    lines = opening(wrap(clean(said, 160), room - size, size), 3)
    wide = min(room, max(text_width(text, size) for text in lines) + size)
    tall = size * len(lines) + size / 2
    (x, y), away = spot, seating.radius + size * 0.6 + tall / 2
    middles = [(x, y - away), (x, y + away)]
    middles += [
        (x + side * (seating.radius + wide / 2 + size), y + up * away)
        for up in (-0.7, 0, 0.7)
        for side in (1, -1)
    ]
    box = seating.place([around(middle, (wide, tall)) for middle in middles], sheet)
    middle = ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
    sheet.marks.append(tail(spot, middle, box, seating.radius))
    sheet.marks.append(Rect(box[0], box[1], wide, tall, "panel", "quiet", 1, size / 2))
    for number, text in enumerate(lines):
        at = box[1] + size * (number + 0.75)
        sheet.marks.append(Words(box[0] + size / 2, at, text, size))


def tail(spot: Spot, middle: Spot, box: Box, radius: float) -> Polygon:
    """The point of a bubble: from its side to the rim of a head."""
    far = max(1.0, dist(spot, middle))
    a, b = (middle[0] - spot[0]) / far, (middle[1] - spot[1]) / far
    tip = spot[0] + a * radius, spot[1] + b * radius
    x = min(max(spot[0] + a * (radius + 8), box[0] + 6), box[2] - 6)
    y = min(max(spot[1] + b * (radius + 8), box[1] + 6), box[3] - 6)
    return Polygon(((x - b * 5, y + a * 5), tip, (x + b * 5, y - a * 5)), "panel", "quiet")
