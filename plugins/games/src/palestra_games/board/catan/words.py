"""A game of Catan in words and as a picture."""

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
    CatanState,
    buildings,
    is_city,
    open_points,
    owner,
    roads_of,
    write_cards,
)

SHADES = (-1, 6, 4, 5, 7, -1)  # of the terrains, in colours that no seat has
ROWS, COLUMNS = 11, 21  # of the picture: corners, and what is between them


def count_text(count: int, what: str) -> str:
    """A number of things: '1 card', '2 cards'."""
    return f"{count} {what}{'s' * (count != 1)}"


def state_lines(state: CatanState, seat: int, names: Sequence[str]) -> list[str]:
    """All that a player sees."""
    rolled = f" Dice: {state.dice[0]} + {state.dice[1]}." if any(state.dice) else ""
    return [
        f"You are {names[seat]}. Turns ended: {state.turns}. Turn of {names[state.turn]}: "
        f"{PHASES[state.phase]}.{rolled}",
        f"Hexes: {', '.join(hex_text(state, place) for place in range(len(LETTERS)))}.",
        f"Harbours: {', '.join(harbour_texts(state))}.",
        *(seat_line(state, other, names) for other in state.seats),
        f"The bank has {write_cards(state.bank) or 'nothing'} and "
        f"{count_text(len(state.deck), 'development card')}.",
        f"Your hand: {write_cards(state.hands[seat]) or 'nothing'}.",
        f"Your development cards: {developments_text(state, seat)}.",
        *offer_lines(state, names),
    ]


def hex_text(state: CatanState, place: int) -> str:
    """A hex with its number and perhaps the robber: 'C ore 8 (robber)'."""
    number = f" {state.number[place]}" if state.number[place] else ""
    robber = " (robber)" if place == state.robber else ""
    return f"{LETTERS[place]} {TERRAINS[state.terrain[place]]}{number}{robber}"


def harbour_name(kind: int) -> str:
    """What a harbour trades, and its rate."""
    return "any 3:1" if kind == ANY else f"{RESOURCES[kind]} 2:1"


def harbour_texts(state: CatanState) -> list[str]:
    """Every harbour with its two corners."""
    pairs = zip(state.harbours, HARBOUR_CORNERS, strict=True)
    return [f"{harbour_name(kind)} at {a} and {b}" for kind, (a, b) in pairs]


def seat_line(state: CatanState, seat: int, names: Sequence[str]) -> str:
    """What everybody knows of a player, in one line."""
    sure = state.sure[seat]
    known = f" (known: {write_cards(sure)})" if any(sure) else ""
    parts = [
        f"{names[seat]}: {count_text(open_points(state, seat), 'point')}, "
        f"{count_text(sum(state.hands[seat]), 'card')}{known}, "
        f"{count_text(len(state.developments[seat]), 'development card')}, "
        f"{count_text(state.knights[seat], 'knight')}",
        f"longest road {state.lengths[seat]}",
    ]
    parts += ["has the bonus for the longest road"] * (state.longest == seat)
    parts += ["has the bonus for the largest army"] * (state.largest == seat)
    parts += [f"{state.owed[seat]} to discard"] * (state.owed[seat] > 0)
    built = (
        ("settlements", map(str, buildings(state, seat, city=False))),
        ("cities", map(str, buildings(state, seat, city=True))),
        ("roads", (ROAD_NAMES[road] for road in roads_of(state, seat))),
    )
    parts += [f"{what} {text}" for what, where in built if (text := " ".join(where))]
    return "; ".join(parts) + "."


def developments_text(state: CatanState, seat: int) -> str:
    """A player's development cards, the new ones marked."""
    held, mine = state.developments[seat], seat == state.turn
    old = len(held) - state.fresh if mine else len(held)
    texts = [DEVELOPMENTS[card] + " (new)" * (n >= old) for n, card in enumerate(held)]
    played = ". One was played in this turn" if state.played and mine else ""
    return (", ".join(texts) or "none") + played


def offer_lines(state: CatanState, names: Sequence[str]) -> list[str]:
    """Free roads, the offer that stands and the answers to it, or how many were made."""
    if state.free_roads:
        return [f"Free roads left: {state.free_roads}."]
    if not state.offer.open:
        return [f"Offers made in this turn: {state.offers}."]
    give, want = write_cards(state.offer.gives), write_cards(state.offer.wants)
    lines = [f"{names[state.turn]} offers {give} for {want}."]
    for name, answer in zip(names, state.answers, strict=True):
        if answer is not None:
            terms = f"would give {write_cards(answer.gives)} for {write_cards(answer.wants)}"
            lines.append(f"{name} {terms if answer.open else 'declines'}.")
    return lines


def draw_board(state: CatanState, seat: int | None, names: Sequence[str]) -> Scene:
    """The island as a wall of bricks: a hex is its terrain, its number and perhaps a robber."""
    cells: list[list[Piece | None]] = [[None] * COLUMNS for _ in range(ROWS)]
    named = [[""] * COLUMNS for _ in range(ROWS)]
    harbours = {
        corner: harbour_name(kind)
        for kind, pair in zip(state.harbours, HARBOUR_CORNERS, strict=True)
        for corner in pair
    }
    for corner, (row, column) in enumerate(CORNER_PLACES):
        named[2 * row][2 * column] = str(corner)
        cells[2 * row][2 * column] = corner_piece(state, corner, names, harbours.get(corner, ""))
    for road, ends in enumerate(ROADS):
        (top, left), (bottom, right) = (CORNER_PLACES[end] for end in ends)
        named[top + bottom][left + right] = ROAD_NAMES[road]
        if state.roads[road] != NOBODY:
            glyph = "—" if top == bottom else "|"
            piece = Piece(glyph, state.roads[road], "tile", f"road {ROAD_NAMES[road]}")
            cells[top + bottom][left + right] = piece
    for place, (row, column) in enumerate(HEX_PLACES):
        for at, part in enumerate(hex_pieces(state, place), 2 * column + 1):
            cells[2 * row + 1][at], named[2 * row + 1][at] = part, LETTERS[place]
    caption = f"{names[state.turn]}: {PHASES[state.phase]}"
    if any(state.dice):
        caption += f", dice {state.dice[0]} + {state.dice[1]}"
    lines = [seat_caption(state, other, seat, names) for other in state.seats]
    grid = Grid(tuple(map(tuple, cells)), names=tuple(map(tuple, named)))
    return Scene(caption, grid, lines=tuple(lines))


def corner_piece(state: CatanState, corner: int, names: Sequence[str], harbour: str) -> Piece:
    """A building, or the corner's number; its label names a harbour."""
    if not state.corners[corner]:
        return Piece(str(corner), -1, "mark", harbour)
    seat, city = owner(state, corner), is_city(state, corner)
    label = f"{'city' if city else 'settlement'} of {names[seat]} at {corner}"
    label += f", {harbour}" if harbour else ""
    return Piece("C" if city else "S", seat, "disc" if city else "tile", label)


def hex_pieces(state: CatanState, place: int) -> tuple[Piece | None, ...]:
    """The three cells of a hex: what it yields, on which number, and the robber."""
    kind, number = state.terrain[place], state.number[place]
    label = hex_text(state, place)
    return (
        Piece(TERRAINS[kind][0].upper(), SHADES[kind], "tile", label),
        Piece(str(number), -1, "mark", label) if number else None,
        Piece("R", -1, "disc", "robber") if state.robber == place else None,
    )


def seat_caption(state: CatanState, seat: int, viewer: int | None, names: Sequence[str]) -> str:
    """A seat's points and cards in short; the cards themselves where the viewer may see them."""
    held = state.developments[seat]
    parts = [f"{names[seat]}: {count_text(open_points(state, seat), 'point')}"]
    if viewer in (None, seat):
        parts.append(write_cards(state.hands[seat]) or "no cards")
    else:
        parts.append(count_text(sum(state.hands[seat]), "card"))
    if viewer == seat:
        parts += [DEVELOPMENTS[card] for card in held]
    elif held:
        parts.append(f"{len(held)} more")
    return "; ".join(parts)
