"""The rules of Catan as functions of its state: building, production, cards and bonuses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
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
ARMY, LONG = 3, 5  # the fewest knights and roads that earn a bonus
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
    """Trade with a player who has accepted, or on the terms of their counter-offer."""

    player: str


class Withdraw(TextAction, frozen=True):
    """Trade with nobody after all."""


class End(TextAction, frozen=True):
    """End the turn."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a player said to an offer: what they would give, and what for; nothing if declined."""

    gives: Cards = NOTHING
    wants: Cards = NOTHING

    @property
    def open(self) -> bool:
        """Whether something is offered."""
        return self.gives != NOTHING


@dataclass(slots=True)
class CatanState:
    """A game of Catan; lists by seat unless said otherwise."""

    rng: Rng
    terrain: tuple[int, ...]  # by hex: the resource, or DESERT
    number: tuple[int, ...]  # by hex: its number token; 0 for the desert
    harbours: tuple[int, ...]  # by harbour: the resource, or ANY
    robber: int  # the hex
    deck: list[int]  # development cards left, in no order: they are drawn from anywhere in it
    hands: list[list[int]]  # cards of each resource
    sure: list[list[int]]  # of these, the cards that everybody knows to be in the hand
    developments: list[list[int]]  # development cards, in the order they were bought
    knights: list[int]  # knights played
    lengths: list[int]  # roads in the longest road
    owed: list[int]  # cards still to discard
    answers: list[Answer | None]  # to the offer; None before an answer
    # by corner: 0, or 1 + 2 * its owner's seat, and one more for a city
    corners: list[int] = field(default_factory=lambda: [0] * CORNERS)
    roads: list[int] = field(default_factory=lambda: [NOBODY] * len(ROADS))  # by road: its owner
    turn: int = 0  # the seat whose turn it is
    turns: int = 0  # turns that have ended
    phase: int = SETTLE
    placed: int = NOBODY  # the corner of the last settlement of the start
    dice: tuple[int, int] = (0, 0)  # zeros before the roll
    fresh: int = 0  # how many of the mover's last development cards were bought in this turn
    played: bool = False  # whether a development card was played in this turn
    free_roads: int = 0  # roads still to build for nothing
    offers: int = 0  # made in this turn
    offer: Answer = field(default_factory=Answer)  # the one that stands
    longest: int = NOBODY  # seat with the longest road
    largest: int = NOBODY  # seat with the largest army
    winner: int = NOBODY

    @property
    def seats(self) -> range:
        """All seats."""
        return range(len(self.hands))

    @property
    def bank(self) -> list[int]:
        """Cards of each resource that nobody has."""
        return [SUPPLY - sum(hand[kind] for hand in self.hands) for kind in range(KINDS)]


def new_state(rng: Rng, players: int) -> CatanState:
    """A map laid out, and nothing built."""
    terrain, number, harbours = lay_map(rng)
    return CatanState(
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
    """Cards as text; empty for none."""
    return _write_cards(tuple(cards))


@lru_cache(maxsize=4096)
def _write_cards(cards: tuple[int, ...]) -> str:
    parts = [
        f"{n} {name}" if n > 1 else name for n, name in zip(cards, RESOURCES, strict=True) if n
    ]
    return ", ".join(parts)


@cache
def card_sets(most: int) -> Mapping[str, Cards]:
    """Every set of 1 to `most` resource cards by how it is written."""
    sets = {}
    for size in range(1, most + 1):
        for drawn in combinations_with_replacement(range(KINDS), size):
            cards = tuple(drawn.count(kind) for kind in range(KINDS))
            sets[write_cards(cards)] = cards
    return sets


def holds(hand: Sequence[int], cards: Sequence[int]) -> bool:
    """Whether all these cards are in a hand."""
    return all(have >= need for have, need in zip(hand, cards, strict=True))


# Cards change hands, and with them what everybody knows of a hand


def gain(state: CatanState, seat: int, cards: Sequence[int]) -> None:
    """Put cards openly into a hand."""
    for kind, count in enumerate(cards):
        state.hands[seat][kind] += count
        state.sure[seat][kind] += count


def pay(state: CatanState, seat: int, cards: Sequence[int]) -> None:
    """Take cards openly out of a hand; those not known to be in it come from its unknown cards."""
    for kind, count in enumerate(cards):
        state.hands[seat][kind] -= count
        state.sure[seat][kind] = max(0, state.sure[seat][kind] - count)


def show(state: CatanState, seat: int, cards: Sequence[int]) -> None:
    """Note that a player has shown these cards."""
    known = state.sure[seat]
    state.sure[seat] = [max(pair) for pair in zip(known, cards, strict=True)]


def steal(state: CatanState, thief: int, victim: int) -> int:
    """Move a random card to the thief, seen by these two only; returns its kind."""
    hand, known = state.hands[victim], state.sure[victim]
    kind = state.rng.below(sum(hand))
    for resource, count in enumerate(hand):
        if kind < count:
            kind = resource
            break
        kind -= count
    open_card = sum(known) == sum(hand) == known[kind]
    hand[kind] -= 1
    state.hands[thief][kind] += 1
    state.sure[victim] = [max(0, count - 1) for count in known]
    state.sure[thief][kind] += open_card
    return kind


# What is built


def owner(state: CatanState, corner: int) -> int:
    """Whose building stands on a corner, or NOBODY."""
    return (state.corners[corner] - 1) // 2


def is_city(state: CatanState, corner: int) -> bool:
    """Whether a city stands on a corner."""
    return state.corners[corner] > 0 and state.corners[corner] % 2 == 0


def buildings(state: CatanState, seat: int, *, city: bool) -> list[int]:
    """The corners where a player has settlements, or cities."""
    mark = 1 + 2 * seat + city
    if mark not in state.corners:  # as usual for cities; ten times as fast as the list
        return []
    return [corner for corner, what in enumerate(state.corners) if what == mark]


def roads_of(state: CatanState, seat: int) -> list[int]:
    """The roads of a player."""
    return [road for road, who in enumerate(state.roads) if who == seat]


def free_corners(state: CatanState) -> list[int]:
    """Corners without a building there or on a neighbouring corner: the distance rule."""
    taken = state.corners
    return [
        corner
        for corner in range(CORNERS)
        if not taken[corner] and not any(taken[other] for other in NEIGHBOURS[corner])
    ]


def settlement_places(state: CatanState, seat: int) -> list[int]:
    """Free corners that an own road leads to; none if no settlement is left."""
    if state.corners.count(1 + 2 * seat) == MAX_SETTLEMENTS:
        return []
    return [
        corner
        for corner in free_corners(state)
        if any(state.roads[road] == seat for road in ROADS_AT[corner])
    ]


def city_places(state: CatanState, seat: int) -> list[int]:
    """Own settlements that can become cities; none if no city is left."""
    if state.corners.count(2 + 2 * seat) == MAX_CITIES:
        return []
    return buildings(state, seat, city=False)


def road_places(state: CatanState, seat: int) -> list[int]:
    """Free roads that touch an own building, or an own road on a corner no rival has built on."""
    if state.roads.count(seat) == MAX_ROADS:
        return []
    return [
        road
        for road, ends in enumerate(ROADS)
        if state.roads[road] == NOBODY and any(reaches(state, seat, end) for end in ends)
    ]


def reaches(state: CatanState, seat: int, corner: int) -> bool:
    """Whether a player may go on building roads from a corner."""
    if state.corners[corner]:
        return owner(state, corner) == seat
    return any(state.roads[road] == seat for road in ROADS_AT[corner])


def road_length(state: CatanState, seat: int) -> int:
    """The longest road of a player; a rival's building on it ends it."""
    closed = {corner for corner in range(CORNERS) if owner(state, corner) not in (NOBODY, seat)}
    return longest_road(set(roads_of(state, seat)), closed)


def award_longest_road(state: CatanState) -> None:
    """Give it to the single player with the longest road of at least five; on a tie it stays.

    If the holder falls behind and several others tie, nobody has it.
    """
    state.lengths = [road_length(state, seat) for seat in state.seats]
    most = max(state.lengths)
    leaders = [seat for seat in state.seats if state.lengths[seat] == most]
    if most < LONG:
        state.longest = NOBODY
    elif state.longest not in leaders:
        state.longest = leaders[0] if len(leaders) == 1 else NOBODY


def award_largest_army(state: CatanState, seat: int) -> None:
    """Give it to a player with at least three knights played, and more than its holder."""
    rival = state.knights[state.largest] if state.largest != NOBODY else ARMY - 1
    if state.knights[seat] > rival:
        state.largest = seat


def open_points(state: CatanState, seat: int) -> int:
    """Points that everybody sees."""
    built = state.corners.count(1 + 2 * seat) + 2 * state.corners.count(2 + 2 * seat)
    return built + BONUS * ((state.longest == seat) + (state.largest == seat))


def points(state: CatanState, seat: int) -> int:
    """All points, those on hidden cards included."""
    return open_points(state, seat) + state.developments[seat].count(POINT)


# What rolls, cards and harbours bring


def produce(state: CatanState, roll: int) -> list[Cards]:
    """Pay everybody what a roll brings, and return it by seat.

    Where the bank is short of a resource nobody gets any, unless one player alone is due it.
    """
    due = [[0] * KINDS for _ in state.seats]
    for place, number in enumerate(state.number):
        if number != roll or place == state.robber:
            continue
        for corner in HEXES[place]:
            if state.corners[corner]:
                due[owner(state, corner)][state.terrain[place]] += 1 + is_city(state, corner)
    for kind, left in enumerate(state.bank):
        claims = [seat for seat in state.seats if due[seat][kind]]
        if sum(due[seat][kind] for seat in claims) > left:
            for seat in claims:
                due[seat][kind] = left if len(claims) == 1 else 0
    for seat in state.seats:
        gain(state, seat, due[seat])
    return [tuple(cards) for cards in due]


def first_yield(state: CatanState, corner: int) -> Cards:
    """One card of every resource next to a corner: what the second settlement brings."""
    kinds = [state.terrain[place] for place in HEXES_AT[corner]]
    return tuple(kinds.count(kind) for kind in range(KINDS))


def victims(state: CatanState, place: int) -> list[int]:
    """Whom the mover may rob on a hex: rivals with a building there and a card in hand."""
    there = {owner(state, corner) for corner in HEXES[place]} - {NOBODY, state.turn}
    return sorted(seat for seat in there if any(state.hands[seat]))


def rates(state: CatanState, seat: int) -> list[int]:
    """How many cards of each resource a player pays the bank for another card."""
    kinds = {
        kind
        for kind, corners in zip(state.harbours, HARBOUR_CORNERS, strict=True)
        if any(owner(state, corner) == seat for corner in corners)
    }
    usual = 3 if ANY in kinds else 4
    return [2 if kind in kinds else usual for kind in range(KINDS)]


def playable(state: CatanState) -> set[int]:
    """The kinds of development cards the mover may play now, places and bank apart."""
    if state.played:
        return set()
    held = state.developments[state.turn]
    return set(held[: len(held) - state.fresh]) - {POINT}


def spend_development(state: CatanState, kind: int) -> None:
    """Take a card from the mover's hand, an old one."""
    state.developments[state.turn].remove(kind)
    state.played = True


def count_developments(cards: Iterable[int]) -> list[int]:
    """How many development cards of each kind there are."""
    held = list(cards)
    return [held.count(kind) for kind in range(len(DEVELOPMENTS))]
