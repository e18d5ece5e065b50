"""Playing cards and dice."""

from __future__ import annotations

from collections.abc import Sequence

from palestra.scene import Card, Cards, Dice

from palestra_renderers.layout.sheet import Sheet, fit_text
from palestra_renderers.lettering import height_for
from palestra_renderers.marks import Circle, Rect, Sprite, Words
from palestra_renderers.plain import clean
from palestra_renderers.sprites import has_sprite
from palestra_renderers.theme import ink_on, paint_of

# what burns, by the colour of its card: bright enough for the night
LIT = {"red": "ember", "green": "leaf", "blue": "sky", "yellow": "yellow"}
SUITS = {"spades": "black", "hearts": "red", "diamonds": "red", "clubs": "black"}
PIPS = {
    1: ((0, 0),),
    2: ((-1, -1), (1, 1)),
    3: ((-1, -1), (0, 0), (1, 1)),
    4: ((-1, -1), (1, -1), (-1, 1), (1, 1)),
    5: ((-1, -1), (1, -1), (0, 0), (-1, 1), (1, 1)),
    6: ((-1, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (1, 1)),
}


LEGIBLE = 11.0  # height of a line of words that can still be read
LARGEST = 6.0  # lines: the height of cards in a row, if nothing else needs the space


def lay_cards(held: Cards, top: float, room: float, sheet: Sheet) -> float:
    """Cards beside their owner's name: a row, or flat rows where words would be too small.

    Other cards overlap if there are many.
    """
    line, margin = sheet.line, sheet.line / 2
    beside = min(sheet.width / 4, line * 6)
    wide = sheet.width - beside - margin
    height = min(room - line / 4, row_height(held.cards, wide, line) if held.cards else line)
    sheet.write(held.owner, margin, top + height / 2, room=beside - margin)
    abreast = words_abreast(held.cards, wide, height)
    if abreast >= len(held.cards):
        lay_row(held.cards, (beside, top, wide, height), sheet)
        return height + line / 4
    across, tall = wide / abreast, height / -(-len(held.cards) // abreast)
    for number, card in enumerate(held.cards):
        down, place = divmod(number, abreast)
        spot = (beside + place * across, top + down * tall, across * 0.95, tall * 0.92)
        lay_card(card, spot, sheet)
    return height + line / 4


def words_abreast(cards: Sequence[Card], width: float, height: float) -> int:
    """How many cards stand in one row: all, or of those with words as many as can be read."""
    words = [clean(word(card)) for card in cards if len(word(card)) > 3 and not card.sprite]
    rows = 1
    while words and (rows + 1) * LEGIBLE * 1.3 <= height:
        room = 0.72 * width / -(-len(cards) // rows)
        if min(height_for(text, room, height) for text in words) >= LEGIBLE:
            break
        rows += 1
    return -(-len(cards) // rows)


def row_height(cards: Sequence[Card], width: float, line: float) -> float:
    """The most height of a row: large, but so that cards lie side by side if they can."""
    apart = width / (1.08 * len(cards) * card_width(cards, 1.0))
    return min(LARGEST * line, max(3 * line, apart))


def lay_row(cards: Sequence[Card], box: tuple[float, float, float, float], sheet: Sheet) -> None:
    """Cards from the left of a box, as high as it."""
    left, top, width, height = box
    wide = card_width(cards, height)
    if any(len(word(card)) > 3 or card.sprite for card in cards):  # the next must not cover them
        wide = min(wide, max(height * 0.4, width / len(cards) / 1.08))
    step = min(wide * 1.08, (width - wide) / max(1, len(cards) - 1))
    for number, card in enumerate(cards):
        seen = wide if number == len(cards) - 1 else min(wide, step)
        lay_card(card, (left + number * step, top, wide, height), sheet, seen)


def word(card: Card) -> str:
    """What is written across a card, or on its back."""
    return card.badge if card.hidden else card.rank


def card_width(cards: Sequence[Card], height: float) -> float:
    """Cards have the shape of playing cards, wider ones where a word stands on them."""
    longest = max((len(word(card)) for card in cards), default=1)
    return height * (0.72 if longest <= 3 else 1.0 if longest <= 5 else 1.25)


def lay_card(
    card: Card, box: tuple[float, float, float, float], sheet: Sheet, seen: float = 0.0
) -> None:
    """A card; if the next one covers a part, what is on it stands in the width that is `seen`."""
    x, y, wide, tall = box
    seen = seen or wide
    radius = max(2, tall / 12)
    if card.hidden:
        sheet.marks.append(Rect(x, y, wide, tall, "white", "quiet", 1, radius))
        inset = tall / 12
        back = Rect(x + inset, y + inset, wide - 2 * inset, tall - 2 * inset, "back", "", 1, radius)
        sheet.marks.append(back)
        spot, high = (x + seen / 2, y + tall / 2), tall * (0.6 if len(card.badge) > 3 else 0.33)
        lay_rank(card.badge or "?", spot, (seen * 0.8, high), "white", sheet)
        return
    if card.suit == "firework":
        lay_firework(card, box, sheet, seen)
        return
    suited = card.suit in SUITS
    paint = SUITS[card.suit] if suited else paint_of(card.colour)
    face = "white" if suited or paint in ("black", "nobody") else paint
    ink = paint if suited else ink_on(face)
    sheet.marks.append(Rect(x, y, wide, tall, face, "black", 1, radius))
    if card.sprite and has_sprite(card.sprite):
        lay_picture(card, (x, y, wide, tall), sheet)
        return
    most = tall * (0.5 if suited or card.badge else 0.62)
    middle = y + tall * (0.3 if suited else 0.36 if card.badge else 0.5)
    lay_rank(card.rank, (x + seen / 2, middle), (seen * 0.9, most), ink, sheet)
    if suited:
        size = min(seen, tall * 0.45)
        sheet.marks.append(Sprite(x + seen / 2, y + tall * 0.7, size, card.suit, ink))
    lay_badge(card, box, sheet, seen)


def lay_rank(
    rank: str, middle: tuple[float, float], room: tuple[float, float], ink: str, sheet: Sheet
) -> None:
    """A rank as large as fits; words that would be too small to read are broken into lines."""
    (x, y), (wide, most) = middle, room
    text = clean(rank)
    lines, height = [text], height_for(text, wide, most)
    if height < LEGIBLE:
        lines, height = fit_text(text, wide, max(LEGIBLE, most), LEGIBLE)
    start = y - height * (len(lines) - 1) / 2
    for number, shown in enumerate(lines):
        at = start + number * height
        sheet.write(shown, x, at, room=1.1 * wide, height=height, colour=ink, anchor="middle")


def lay_badge(
    card: Card, box: tuple[float, float, float, float], sheet: Sheet, seen: float
) -> None:
    """What is known about a card, on a plate at its lower edge."""
    x, y, _, tall = box
    if card.badge:
        size = height_for(card.badge, seen * 0.8, tall * 0.32)
        across, at = seen * 0.92, y + tall - size * 0.62
        plate = Rect(x + (seen - across) / 2, at - size / 2, across, size, "panel", "", 1, size / 3)
        sheet.marks += [plate, Words(x + seen / 2, at, card.badge, size, "ink", "middle")]


def lay_firework(
    card: Card, box: tuple[float, float, float, float], sheet: Sheet, seen: float
) -> None:
    """A night with as many bursts as the rank says; only its name where nothing burns yet."""
    x, y, wide, tall = box
    ink, edge = LIT.get(str(card.colour), "white"), max(1, tall / 40)
    sheet.marks.append(Rect(x, y, wide, tall, "night", ink, edge, max(2, tall / 12)))
    bursts = int("".join(filter(str.isdigit, card.rank)) or 0)
    height = height_for(card.rank, seen * 0.8, tall * (0.26 if bursts else 0.5))
    middle = y + tall * (0.17 if bursts else 0.5)
    sheet.write(
        card.rank, x + seen / 2, middle, room=seen, height=height, colour=ink, anchor="middle"
    )
    top, end = y + tall * 0.31, y + tall * (0.64 if card.badge else 0.96)
    places = PIPS.get(bursts, PIPS[6])
    apart = 0.5 if bursts > 1 else 0.0
    size = min(seen * (0.9 - 0.9 * apart), (end - top) * (1 - apart))
    for across, down in places if bursts else ():
        at = x + seen * (0.5 + 0.24 * across), (top + end) / 2 + (end - top) * 0.26 * down
        sheet.marks.append(Sprite(*at, size, "firework", ink))
    lay_badge(card, box, sheet, seen)


def lay_picture(card: Card, box: tuple[float, float, float, float], sheet: Sheet) -> None:
    """A card with a picture, its rank below in as many letters as fit, its badge in the corner."""
    x, y, wide, tall = box
    sheet.marks.append(Rect(x, y, wide, tall, "white", "black", 1, max(2, tall / 12)))
    size = min(wide, tall) * (0.62 if card.rank else 0.8)
    middle = y + tall * (0.38 if card.rank else 0.5)
    edge = "" if card.colour == "black" else "black"
    sheet.marks.append(Sprite(x + wide / 2, middle, size, card.sprite, paint_of(card.colour), edge))
    if card.rank:
        height = max(8, height_for(card.rank, wide * 0.95, tall * 0.24))
        sheet.write(
            card.rank, x + wide / 2, y + tall * 0.84, room=wide, height=height, colour="black",
            anchor="middle",
        )  # fmt: skip
    if card.badge:
        radius = max(7, tall / 7)
        bx, by = x + wide - radius * 0.7, y + radius * 0.7
        sheet.marks.append(Circle(bx, by, radius, "panel", "ink"))
        sheet.write(card.badge, bx, by, room=3 * radius, height=radius * 1.4, anchor="middle")


def lay_dice(dice: Dice, top: float, room: float, sheet: Sheet) -> float:
    """A row of dice beside their owner's name."""
    line, margin = sheet.line, sheet.line / 2
    side = min(room - line / 4, line * LARGEST * 0.6)
    beside = min(sheet.width / 4, line * 6)
    sheet.write(dice.owner, margin, top + side / 2, room=beside - margin)
    step = min(side * 1.15, (sheet.width - beside - margin) / max(1, len(dice.values)))
    for number, value in enumerate(dice.values):
        lay_die(value, (beside + number * step, top, min(side, step * 0.95)), dice, sheet)
    return side + line / 4


def lay_die(value: int, box: tuple[float, float, float], dice: Dice, sheet: Sheet) -> None:
    x, y, side = box
    paint = "back" if value == 0 else paint_of(dice.colour)
    sheet.marks.append(Rect(x, y, side, side, paint, "black", 1, side / 6))
    cx, cy, ink = x + side / 2, y + side / 2, ink_on(paint)
    if value in PIPS:
        for a, b in PIPS[value]:
            at = (cx + a * side / 4, cy + b * side / 4)
            sheet.marks.append(Circle(*at, side / 11, ink))
    else:
        shown = "?" if value == 0 else clean(str(value), 3)
        sheet.write(
            shown, cx, cy, room=side, height=side * 0.6, colour=ink, anchor="middle"
        )  # fmt: skip
