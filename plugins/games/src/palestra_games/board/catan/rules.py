"""The rules of Catan as functions of a table: who may build what, what a roll and a card bring."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement

from palestra import Rng, TextAction

from palestra_games.board.catan.board import (
    ANY,
    CORNERS,
    DESERT,
    HARBOUR_CORNERS,
    HEXES,
    HEXES_AT,
    KINDS,
    NEIGHBOURS,
    RESOURCES,
    ROADS,
    ROADS_AT,
    lay_map,
    longest_road,
)

Cards = tuple[int, ...]  # how many of each resource

SETTLE, PAVE, ROLL, DISCARD, ROB, TRADE, FREE_ROADS, ANSWER, CHOOSE, OVER = range(10)
PHASES = (
    "place a settlement",
    "place a road at it",
    "roll the dice",
    "discard half",
    "move the robber",
    "trade and build",
    "build free roads",
    "answer an offer",
    "choose whom to trade with",
    "over",
)
ROAD_COST: Cards = (1, 1, 0, 0, 0)
SETTLEMENT_COST: Cards = (1, 1, 1, 1, 0)
CITY_COST: Cards = (0, 0, 0, 2, 3)
CARD_COST: Cards = (0, 0, 1, 1, 1)
NOTHING: Cards = (0,) * KINDS
SUPPLY = 19  # cards of each resource
MAX_ROADS, MAX_SETTLEMENTS, MAX_CITIES = 15, 5, 4

KNIGHT, POINT, ROAD_BUILDING, PLENTY, MONOPOLY = range(5)
DEVELOPMENTS = ("knight", "victory point", "road building", "year of plenty", "monopoly")
DECK = (14, 5, 2, 2, 2)
NOBODY = -1
ARMY, LONG = 3, 5  # the least knights and roads that earn a bonus
BONUS = 2
FULL_HAND = 7


class Settle(TextAction, frozen=True):
    """Build a settlement on a corner."""

    corner: int


class City(TextAction, frozen=True):
    """Make a city of an own settlement."""

    corner: int


class Road(TextAction, frozen=True):
    """Build a road, named by its two corners."""

    road: str


class Roll(TextAction, frozen=True):
    """Roll the dice."""


class Discard(TextAction, frozen=True):
    """Give a card back to the bank after a 7."""

    card: str


class Rob(TextAction, frozen=True):
    """Move the robber, and take a card from a player who has a building there, or 'nobody'."""

    hex: str
    player: str


class Buy(TextAction, frozen=True):
    """Buy a development card."""


class Knight(TextAction, frozen=True):
    """Play a knight: move the robber."""


class RoadBuilding(TextAction, frozen=True):
    """Play the card that builds two roads."""


class Plenty(TextAction, frozen=True):
    """Play a year of plenty: take two cards from the bank."""

    first: str
    second: str


class Monopoly(TextAction, frozen=True):
    """Play a monopoly: take all that the others have of a resource."""

    card: str


class Bank(TextAction, frozen=True):
    """Trade with the bank: four of a kind for one card, with harbours three or two."""

    give: str
    get: str


class Offer(TextAction, frozen=True):
    """Offer cards to all other players for other cards, as in give='2 brick, ore'."""

    give: str
    want: str


class Accept(TextAction, frozen=True):
    """Agree to the offer."""


class Decline(TextAction, frozen=True):
    """Want nothing to do with the offer."""


class Counter(TextAction, frozen=True):
    """Answer an offer with another one: what you would give for what you want."""

    give: str
    want: str


class Trade(TextAction, frozen=True):
    """Trade with a player who has accepted, or on the terms of his counter-offer."""

    player: str


class Withdraw(TextAction, frozen=True):
    """Trade with nobody after all."""


class End(TextAction, frozen=True):
    """End the turn."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a player said to an offer: what he would give, and what for; nothing if he declined."""

    gives: Cards = NOTHING
    wants: Cards = NOTHING

    @property
    def open(self) -> bool:
        return self.gives != NOTHING


@dataclass(slots=True)
class Table:
    """The state. A corner is 0, or 1 + 2 * its owner's seat, and one more for a city.

    `sure` holds of each hand the cards that everybody knows to be in it. The last `fresh` cards of
    the mover's `developments` were bought in this turn. The `deck` has no order: cards are drawn
    from anywhere in it. `dice` are zeros before the roll.
    """

    rng: Rng
    terrain: tuple[int, ...]
    number: tuple[int, ...]
    harbours: tuple[int, ...]
    robber: int
    deck: list[int]
    hands: list[list[int]]
    sure: list[list[int]]
    developments: list[list[int]]
    knights: list[int]
    lengths: list[int]  # of the longest roads
    owed: list[int]  # cards still to discard
    answers: list[Answer | None]
    corners: list[int] = field(default_factory=lambda: [0] * CORNERS)
    roads: list[int] = field(default_factory=lambda: [NOBODY] * len(ROADS))
    turn: int = 0
    turns: int = 0  # that have ended
    phase: int = SETTLE
    placed: int = NOBODY  # the corner of the last settlement of the start
    dice: tuple[int, int] = (0, 0)
    fresh: int = 0
    played: bool = False  # a development card in this turn
    free_roads: int = 0
    offers: int = 0
    offer: Answer = field(default_factory=Answer)
    longest: int = NOBODY
    largest: int = NOBODY
    winner: int = NOBODY

    @property
    def players(self) -> range:
        return range(len(self.hands))

    @property
    def bank(self) -> list[int]:
        return [SUPPLY - sum(hand[kind] for hand in self.hands) for kind in range(KINDS)]


def new_table(rng: Rng, players: int) -> Table:
    """A map laid out, and nothing built."""
    terrain, number, harbours = lay_map(rng)
    return Table(
        rng,
        terrain,
        number,
        harbours,
        robber=terrain.index(DESERT),
        deck=[kind for kind, count in enumerate(DECK) for _ in range(count)],
        hands=[[0] * KINDS for _ in range(players)],
        sure=[[0] * KINDS for _ in range(players)],
        developments=[[] for _ in range(players)],
        knights=[0] * players,
        lengths=[0] * players,
        owed=[0] * players,
        answers=[None] * players,
    )


# Cards as text: '2 brick, ore'


def write_cards(cards: Sequence[int]) -> str:
    parts = [
        f"{n} {name}" if n > 1 else name for n, name in zip(cards, RESOURCES, strict=True) if n
    ]
    return ", ".join(parts)


def card_sets(most: int) -> dict[str, Cards]:
    """Every set of 1 to `most` resource cards by how it is written."""
    sets = {}
    for size in range(1, most + 1):
        for drawn in combinations_with_replacement(range(KINDS), size):
            cards = tuple(drawn.count(kind) for kind in range(KINDS))
            sets[write_cards(cards)] = cards
    return sets


def holds(hand: Sequence[int], cards: Sequence[int]) -> bool:
    return all(have >= need for have, need in zip(hand, cards, strict=True))


# Cards change hands, and with them what everybody knows of a hand


def gain(table: Table, seat: int, cards: Sequence[int]) -> None:
    """Cards are put openly into a hand."""
    for kind, count in enumerate(cards):
        table.hands[seat][kind] += count
        table.sure[seat][kind] += count


def pay(table: Table, seat: int, cards: Sequence[int]) -> None:
    """Cards openly leave a hand; those not known to be in it before were unknown ones."""
    for kind, count in enumerate(cards):
        table.hands[seat][kind] -= count
        table.sure[seat][kind] = max(0, table.sure[seat][kind] - count)


def show(table: Table, seat: int, cards: Sequence[int]) -> None:
    """A player has shown that he holds these cards."""
    known = table.sure[seat]
    table.sure[seat] = [max(pair) for pair in zip(known, cards, strict=True)]


def steal(table: Table, thief: int, victim: int) -> int:
    """A card drawn from a hand, seen by these two only; returns its kind."""
    hand, known = table.hands[victim], table.sure[victim]
    kind = table.rng.below(sum(hand))
    for resource, count in enumerate(hand):
        if kind < count:
            kind = resource
            break
        kind -= count
    open_card = sum(known) == sum(hand) == known[kind]
    hand[kind] -= 1
    table.hands[thief][kind] += 1
    table.sure[victim] = [max(0, count - 1) for count in known]
    table.sure[thief][kind] += open_card
    return kind


# What is built


def owner(table: Table, corner: int) -> int:
    """Whose building stands on a corner, or NOBODY."""
    return (table.corners[corner] - 1) // 2


def is_city(table: Table, corner: int) -> bool:
    return table.corners[corner] > 0 and table.corners[corner] % 2 == 0


def buildings(table: Table, seat: int, *, city: bool) -> list[int]:
    """The corners where a player has settlements, or cities."""
    mark = 1 + 2 * seat + city
    return [corner for corner, what in enumerate(table.corners) if what == mark]


def roads_of(table: Table, seat: int) -> list[int]:
    return [road for road, who in enumerate(table.roads) if who == seat]


def free_corners(table: Table) -> list[int]:
    """Corners without a building there or on a neighbouring corner: the distance rule."""
    taken = table.corners
    return [
        corner
        for corner in range(CORNERS)
        if not taken[corner] and not any(taken[other] for other in NEIGHBOURS[corner])
    ]


def settlement_places(table: Table, seat: int) -> list[int]:
    """Free corners that an own road leads to; none if no settlement is left."""
    if len(buildings(table, seat, city=False)) == MAX_SETTLEMENTS:
        return []
    return [
        corner
        for corner in free_corners(table)
        if any(table.roads[road] == seat for road in ROADS_AT[corner])
    ]


def city_places(table: Table, seat: int) -> list[int]:
    if len(buildings(table, seat, city=True)) == MAX_CITIES:
        return []
    return buildings(table, seat, city=False)


def road_places(table: Table, seat: int) -> list[int]:
    """Free roads that touch an own building, or an own road on a corner no rival has built on."""
    if len(roads_of(table, seat)) == MAX_ROADS:
        return []
    return [
        road
        for road, ends in enumerate(ROADS)
        if table.roads[road] == NOBODY and any(reaches(table, seat, end) for end in ends)
    ]


def reaches(table: Table, seat: int, corner: int) -> bool:
    """Whether a player may go on building roads from a corner."""
    if table.corners[corner]:
        return owner(table, corner) == seat
    return any(table.roads[road] == seat for road in ROADS_AT[corner])


def road_length(table: Table, seat: int) -> int:
    """The longest road of a player; a rival's building on it ends it."""
    closed = {corner for corner in range(CORNERS) if owner(table, corner) not in (NOBODY, seat)}
    return longest_road(set(roads_of(table, seat)), closed)


def award_longest_road(table: Table) -> None:
    """It goes to the only player with the most roads in line, at least five; a tie keeps it.

    If the holder falls behind and several others tie, nobody has it.
    """
    table.lengths = [road_length(table, seat) for seat in table.players]
    most = max(table.lengths)
    leaders = [seat for seat in table.players if table.lengths[seat] == most]
    if most < LONG:
        table.longest = NOBODY
    elif table.longest not in leaders:
        table.longest = leaders[0] if len(leaders) == 1 else NOBODY


def award_largest_army(table: Table, seat: int) -> None:
    """It goes to whoever has played at least three knights, and more than its holder."""
    rival = table.knights[table.largest] if table.largest != NOBODY else ARMY - 1
    if table.knights[seat] > rival:
        table.largest = seat


def open_points(table: Table, seat: int) -> int:
    """Points that everybody sees."""
    built = len(buildings(table, seat, city=False)) + 2 * len(buildings(table, seat, city=True))
    return built + BONUS * ((table.longest == seat) + (table.largest == seat))


def points(table: Table, seat: int) -> int:
    """All points, those on hidden cards included."""
    return open_points(table, seat) + table.developments[seat].count(POINT)


# What rolls, cards and harbours bring


def produce(table: Table, roll: int) -> list[Cards]:
    """Pay everybody what a roll brings, and return it by seat.

    Where the bank is short of a resource nobody gets any, unless one player alone is due it.
    """
    due = [[0] * KINDS for _ in table.players]
    for place, number in enumerate(table.number):
        if number != roll or place == table.robber:
            continue
        for corner in HEXES[place]:
            if table.corners[corner]:
                due[owner(table, corner)][table.terrain[place]] += 1 + is_city(table, corner)
    for kind, left in enumerate(table.bank):
        claims = [seat for seat in table.players if due[seat][kind]]
        if sum(due[seat][kind] for seat in claims) > left:
            for seat in claims:
                due[seat][kind] = left if len(claims) == 1 else 0
    for seat in table.players:
        gain(table, seat, due[seat])
    return [tuple(cards) for cards in due]


def first_yield(table: Table, corner: int) -> Cards:
    """One card of every resource next to a corner: what the second settlement brings."""
    kinds = [table.terrain[place] for place in HEXES_AT[corner]]
    return tuple(kinds.count(kind) for kind in range(KINDS))


def victims(table: Table, place: int) -> list[int]:
    """Whom the mover may rob on a hex: rivals with a building there and a card in hand."""
    there = {owner(table, corner) for corner in HEXES[place]} - {NOBODY, table.turn}
    return sorted(seat for seat in there if any(table.hands[seat]))


def rates(table: Table, seat: int) -> list[int]:
    """How many cards of each resource a player pays the bank for another card."""
    kinds = {
        kind
        for kind, corners in zip(table.harbours, HARBOUR_CORNERS, strict=True)
        if any(owner(table, corner) == seat for corner in corners)
    }
    usual = 3 if ANY in kinds else 4
    return [2 if kind in kinds else usual for kind in range(KINDS)]


def playable(table: Table) -> set[int]:
    """The kinds of development cards the mover may play now, places and bank apart."""
    if table.played:
        return set()
    held = table.developments[table.turn]
    return set(held[: len(held) - table.fresh]) - {POINT}


def spend_development(table: Table, kind: int) -> None:
    """Take a card from the mover's hand, an old one."""
    table.developments[table.turn].remove(kind)
    table.played = True


def count_developments(cards: Iterable[int]) -> list[int]:
    held = list(cards)
    return [held.count(kind) for kind in range(len(DEVELOPMENTS))]
