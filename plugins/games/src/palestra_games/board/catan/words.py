"""A table of Catan in words and as a picture."""

from __future__ import annotations

from collections.abc import Sequence

from palestra import Grid, Piece, Scene

from palestra_games.board.catan.board import (
    ANY,
    CORNER_PLACES,
    HARBOUR_CORNERS,
    HEX_PLACES,
    LETTERS,
    RESOURCES,
    ROAD_NAMES,
    ROADS,
    TERRAINS,
)
from palestra_games.board.catan.rules import (
    DEVELOPMENTS,
    NOBODY,
    PHASES,
    Table,
    buildings,
    is_city,
    open_points,
    owner,
    roads_of,
    write_cards,
)

SHADES = (-1, 6, 4, 5, 7, -1)  # of the terrains, in colours that no seat has
ROWS, COLUMNS = 11, 21  # of the picture: corners, and what is between them


def counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def tell_table(table: Table, player: int, names: Sequence[str]) -> list[str]:
    """All that a player sees."""
    rolled = f" Dice: {table.dice[0]} + {table.dice[1]}." if any(table.dice) else ""
    return [
        f"You are {names[player]}. Turns ended: {table.turns}. Turn of {names[table.turn]}: "
        f"{PHASES[table.phase]}.{rolled}",
        f"Hexes: {', '.join(tell_hex(table, place) for place in range(len(LETTERS)))}.",
        f"Harbours: {', '.join(tell_harbours(table))}.",
        *(tell_seat(table, seat, names) for seat in table.players),
        f"The bank has {write_cards(table.bank) or 'nothing'} and "
        f"{counted(len(table.deck), 'development card')}.",
        f"Your hand: {write_cards(table.hands[player]) or 'nothing'}.",
        f"Your development cards: {tell_developments(table, player)}.",
        *tell_offer(table, names),
    ]


def tell_hex(table: Table, place: int) -> str:
    number = f" {table.number[place]}" if table.number[place] else ""
    robber = " (robber)" if place == table.robber else ""
    return f"{LETTERS[place]} {TERRAINS[table.terrain[place]]}{number}{robber}"


def name_harbour(kind: int) -> str:
    return "any 3:1" if kind == ANY else f"{RESOURCES[kind]} 2:1"


def tell_harbours(table: Table) -> list[str]:
    pairs = zip(table.harbours, HARBOUR_CORNERS, strict=True)
    return [f"{name_harbour(kind)} at {a} and {b}" for kind, (a, b) in pairs]


def tell_seat(table: Table, seat: int, names: Sequence[str]) -> str:
    """What everybody knows of a player, in one line."""
    sure = table.sure[seat]
    known = f" (known: {write_cards(sure)})" if any(sure) else ""
    parts = [
        f"{names[seat]}: {counted(open_points(table, seat), 'point')}, "
        f"{counted(sum(table.hands[seat]), 'card')}{known}, "
        f"{counted(len(table.developments[seat]), 'development card')}, "
        f"{counted(table.knights[seat], 'knight')}",
        f"longest road {table.lengths[seat]}",
    ]
    parts += ["has the bonus for the longest road"] * (table.longest == seat)
    parts += ["has the bonus for the largest army"] * (table.largest == seat)
    parts += [f"{table.owed[seat]} to discard"] * (table.owed[seat] > 0)
    built = (
        ("settlements", map(str, buildings(table, seat, city=False))),
        ("cities", map(str, buildings(table, seat, city=True))),
        ("roads", (ROAD_NAMES[road] for road in roads_of(table, seat))),
    )
    parts += [f"{what} {text}" for what, where in built if (text := " ".join(where))]
    return "; ".join(parts) + "."


def tell_developments(table: Table, seat: int) -> str:
    held, mine = table.developments[seat], seat == table.turn
    old = len(held) - table.fresh if mine else len(held)
    told = [DEVELOPMENTS[card] + " (new)" * (n >= old) for n, card in enumerate(held)]
    played = ". One was played in this turn" if table.played and mine else ""
    return (", ".join(told) or "none") + played


def tell_offer(table: Table, names: Sequence[str]) -> list[str]:
    """Free roads, the offer that stands and the answers to it, or how many were made."""
    if table.free_roads:
        return [f"Free roads left: {table.free_roads}."]
    if not table.offer.open:
        return [f"Offers made in this turn: {table.offers}."]
    give, want = write_cards(table.offer.gives), write_cards(table.offer.wants)
    lines = [f"{names[table.turn]} offers {give} for {want}."]
    for name, answer in zip(names, table.answers, strict=True):
        if answer is not None:
            terms = f"would give {write_cards(answer.gives)} for {write_cards(answer.wants)}"
            lines.append(f"{name} {terms if answer.open else 'declines'}.")
    return lines


def draw_table(table: Table, player: int | None, names: Sequence[str]) -> Scene:
    """The island as a wall of bricks: a hex is its terrain, its number and perhaps a robber."""
    cells: list[list[Piece | None]] = [[None] * COLUMNS for _ in range(ROWS)]
    named = [[""] * COLUMNS for _ in range(ROWS)]
    harbours = {
        corner: name_harbour(kind)
        for kind, pair in zip(table.harbours, HARBOUR_CORNERS, strict=True)
        for corner in pair
    }
    for corner, (row, column) in enumerate(CORNER_PLACES):
        named[2 * row][2 * column] = str(corner)
        cells[2 * row][2 * column] = corner_piece(table, corner, names, harbours.get(corner, ""))
    for road, ends in enumerate(ROADS):
        (top, left), (bottom, right) = (CORNER_PLACES[end] for end in ends)
        named[top + bottom][left + right] = ROAD_NAMES[road]
        if table.roads[road] != NOBODY:
            glyph = "—" if top == bottom else "|"
            piece = Piece(glyph, table.roads[road], "tile", f"road {ROAD_NAMES[road]}")
            cells[top + bottom][left + right] = piece
    for place, (row, column) in enumerate(HEX_PLACES):
        for at, part in enumerate(hex_pieces(table, place), 2 * column + 1):
            cells[2 * row + 1][at], named[2 * row + 1][at] = part, LETTERS[place]
    caption = f"{names[table.turn]}: {PHASES[table.phase]}"
    if any(table.dice):
        caption += f", dice {table.dice[0]} + {table.dice[1]}"
    lines = [draw_seat(table, seat, player, names) for seat in table.players]
    grid = Grid(tuple(map(tuple, cells)), names=tuple(map(tuple, named)))
    return Scene(caption, grid, lines=tuple(lines))


def corner_piece(table: Table, corner: int, names: Sequence[str], harbour: str) -> Piece:
    """A building, or the corner's number; its label names a harbour."""
    if not table.corners[corner]:
        return Piece(str(corner), -1, "mark", harbour)
    seat, city = owner(table, corner), is_city(table, corner)
    label = f"{'city' if city else 'settlement'} of {names[seat]} at {corner}"
    label += f", {harbour}" if harbour else ""
    return Piece("C" if city else "S", seat, "disc" if city else "tile", label)


def hex_pieces(table: Table, place: int) -> tuple[Piece | None, ...]:
    """The three cells of a hex: what it yields, on which number, and the robber."""
    kind, number = table.terrain[place], table.number[place]
    label = tell_hex(table, place)
    return (
        Piece(TERRAINS[kind][0].upper(), SHADES[kind], "tile", label),
        Piece(str(number), -1, "mark", label) if number else None,
        Piece("R", -1, "disc", "robber") if table.robber == place else None,
    )


def draw_seat(table: Table, seat: int, player: int | None, names: Sequence[str]) -> str:
    """A seat's points and cards in short; the cards themselves where `player` may see them."""
    held = table.developments[seat]
    parts = [f"{names[seat]}: {counted(open_points(table, seat), 'point')}"]
    if player in (None, seat):
        parts.append(write_cards(table.hands[seat]) or "no cards")
    else:
        parts.append(counted(sum(table.hands[seat]), "card"))
    if player == seat:
        parts += [DEVELOPMENTS[card] for card in held]
    elif held:
        parts.append(f"{len(held)} more")
    return "; ".join(parts)
