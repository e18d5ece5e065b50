"""A game of Catan in words and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial

from palestra import Piece, Scene
from palestra.scene import Hex, HexCorner, HexEdge, Hexes

from palestra_games.board.catan.board import (
    ANY,
    CORNER_PLACES,
    HARBOUR_CORNERS,
    HEX_PLACES,
    HEXES,
    HEXES_AT,
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
    is_city,
    open_points,
    owner,
    write_cards,
)

# What the terrains look like, by what they yield
GROUNDS = ("hills", "forest", "pasture", "fields", "mountains", "desert")


def count_text(count: int, what: str) -> str:
    """A number of things: '1 card', '2 cards'."""
    return f"{count} {what}{'s' * (count != 1)}"


def state_lines(state: CatanState, seat: int, names: Sequence[str]) -> list[str]:
    """All that a player sees."""
    rolled = f" Dice: {state.dice[0]} + {state.dice[1]}." if any(state.dice) else ""
    return [
        f"You are {names[seat]}. Turns ended: {state.turns}. Turn of {names[state.turn]}: "
        f"{PHASES[state.phase]}.{rolled}",
        *island_lines(state.terrain, state.number, state.harbours, state.robber),
        *map(partial(seat_line, state, names, board_words(state)), state.seats),
        f"The bank has {write_cards(state.bank) or 'nothing'} and "
        f"{count_text(len(state.deck), 'development card')}.",
        f"Your hand: {write_cards(state.hands[seat]) or 'nothing'}.",
        f"Your development cards: {developments_text(state, seat)}.",
        *offer_lines(state, names),
    ]


@lru_cache(maxsize=256)
def island_lines(
    terrain: tuple[int, ...], number: tuple[int, ...], harbours: tuple[int, ...], robber: int
) -> list[str]:
    """Hexes and harbours, which only the robber changes."""
    places = range(len(LETTERS))
    hexes = [hex_text(place, terrain[place], number[place], place == robber) for place in places]
    pairs = zip(harbours, HARBOUR_CORNERS, strict=True)
    ports = [f"{harbour_name(kind)} at {a} and {b}" for kind, (a, b) in pairs]
    return [f"Hexes: {', '.join(hexes)}.", f"Harbours: {', '.join(ports)}."]


def hex_text(place: int, kind: int, number: int, robbed: bool) -> str:
    """A hex with its number and perhaps the robber: 'C ore 8 (robber)'."""
    token, robber = f" {number}" if number else "", " (robber)" if robbed else ""
    return f"{LETTERS[place]} {TERRAINS[kind]}{token}{robber}"


def harbour_name(kind: int) -> str:
    """What a harbour trades, and its rate."""
    return "any 3:1" if kind == ANY else f"{RESOURCES[kind]} 2:1"


def board_words(state: CatanState) -> tuple[tuple[str, ...], ...]:
    """What each seat has built, such as 'roads A-B B-C'."""
    return _board_words(tuple(state.corners), tuple(state.roads), len(state.seats))


@lru_cache(maxsize=256)
def _board_words(
    corners: tuple[int, ...], roads: tuple[int, ...], seats: int
) -> tuple[tuple[str, ...], ...]:
    built = []
    for seat in range(seats):
        places = (
            ("settlements", [str(n) for n, what in enumerate(corners) if what == 1 + 2 * seat]),
            ("cities", [str(n) for n, what in enumerate(corners) if what == 2 + 2 * seat]),
            ("roads", [ROAD_NAMES[n] for n, who in enumerate(roads) if who == seat]),
        )
        built.append(tuple(f"{what} {' '.join(where)}" for what, where in places if where))
    return tuple(built)


def seat_line(
    state: CatanState, names: Sequence[str], built: Sequence[Sequence[str]], seat: int
) -> str:
    """What everybody knows of a player, in one line; `built` are the `board_words`."""
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
    return "; ".join([*parts, *built[seat]]) + "."


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
    """The island: terrains with their numbers and the robber, roads, buildings and harbours."""
    tiles = tuple(hex_tile(state, place) for place in range(len(LETTERS)))
    caption = f"{names[state.turn]}: {PHASES[state.phase]}"
    if any(state.dice):
        caption += f", dice {state.dice[0]} + {state.dice[1]}"
    lines = tuple(seat_caption(state, other, seat, names) for other in state.seats)
    island = Hexes(tiles, edges=tuple(edge_pieces(state)), corners=corner_pieces(state, names))
    return Scene(caption, lines=lines, parts=(island,))


def axial(place: int) -> tuple[int, int]:
    """A hex's axial coordinates."""
    row, column = HEX_PLACES[place]
    return (column - row) // 2, row


def spot_of(corner: int) -> tuple[int, int, int]:
    """A corner as one of a hex: the hex's coordinates, and its number clockwise from the top."""
    place = HEXES_AT[corner][0]
    return (*axial(place), (HEXES[place].index(corner) + 5) % 6)


def side_of(ends: tuple[int, int]) -> tuple[int, int, int]:
    """A road as a side of a hex: its coordinates, and the side clockwise from the upper right."""
    place = next(place for place in HEXES_AT[ends[0]] if ends[1] in HEXES[place])
    at = [HEXES[place].index(end) for end in ends]
    first = at[0] if (at[0] + 1) % 6 == at[1] else at[1]
    return (*axial(place), (first + 5) % 6)


def hex_tile(state: CatanState, place: int) -> Hex:
    """A hex: what it yields, on which number, and perhaps the robber."""
    kind, number = state.terrain[place], state.number[place]
    label, name = hex_text(place, kind, number, place == state.robber), LETTERS[place]
    if state.robber == place:
        piece = Piece("R", "black", "disc", label, "robber", badge=str(number or ""))
    elif number:
        often = number in (6, 8)
        piece = Piece(str(number), "red" if often else "black", "mark", label)
    else:
        piece = Piece("", "desert", "none", label)
    return Hex(*axial(place), GROUNDS[kind], piece, name)


def edge_pieces(state: CatanState) -> Iterator[HexEdge]:
    """Roads in their owners' colours; where none is, a place to click; harbours at the coast."""
    harbours = dict(zip(HARBOUR_CORNERS, state.harbours, strict=True))
    for road, ends in enumerate(ROADS):
        built = state.roads[road] != NOBODY
        harbour = harbours.get((min(ends), max(ends)))
        if built or harbour is None:
            colour = state.roads[road] if built else ""
            yield HexEdge(*side_of(ends), colour, "", ROAD_NAMES[road])
        else:
            rate = "3:1" if harbour == ANY else f"2:1 {RESOURCES[harbour]}"
            yield HexEdge(*side_of(ends), "", rate, ROAD_NAMES[road])


def corner_pieces(state: CatanState, names: Sequence[str]) -> tuple[HexCorner, ...]:
    """Buildings in their owners' colours, and the numbers of free corners."""
    harbours = {
        corner: harbour_name(kind)
        for kind, pair in zip(state.harbours, HARBOUR_CORNERS, strict=True)
        for corner in pair
    }
    return tuple(
        HexCorner(*spot_of(n), corner_piece(state, n, names, harbours.get(n, "")), str(n))
        for n in range(len(CORNER_PLACES))
    )


def corner_piece(state: CatanState, corner: int, names: Sequence[str], harbour: str) -> Piece:
    """A building, or the corner's number; its label names a harbour."""
    if not state.corners[corner]:
        return Piece(str(corner), "grey", "small", harbour)
    seat, city = owner(state, corner), is_city(state, corner)
    label = f"{'city' if city else 'settlement'} of {names[seat]} at {corner}"
    label += f", {harbour}" if harbour else ""
    return Piece("C" if city else "S", seat, "tile", label, "city" if city else "settlement")


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
