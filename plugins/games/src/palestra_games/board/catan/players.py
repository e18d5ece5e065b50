"""A scripted player of Catan: good corners first, then whatever it can pay for soonest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from palestra import ScriptedAgent, TextAction, Turn, agent

from palestra_games.board.catan.board import (
    CORNERS,
    DESERT,
    HARBOUR_CORNERS,
    HEXES,
    HEXES_AT,
    KINDS,
    LETTERS,
    RESOURCES,
    ROAD_NAMES,
    ROADS,
    ROADS_AT,
    other_end,
)
from palestra_games.board.catan.game import ROBBED_NOBODY, Catan, one_card
from palestra_games.board.catan.rules import (
    ANSWER,
    CARD_COST,
    CHOOSE,
    CITY_COST,
    DISCARD,
    FREE_ROADS,
    NOBODY,
    PAVE,
    ROAD_COST,
    ROB,
    ROLL,
    SETTLE,
    SETTLEMENT_COST,
    Accept,
    Answer,
    Bank,
    Buy,
    Cards,
    CatanState,
    City,
    Decline,
    Discard,
    End,
    Knight,
    Monopoly,
    Offer,
    Plenty,
    Road,
    RoadBuilding,
    Rob,
    Roll,
    Settle,
    Trade,
    Withdraw,
    city_places,
    free_corners,
    holds,
    is_city,
    open_points,
    owner,
    rates,
    reaches,
    road_places,
    settlement_places,
    write_cards,
)

WORTH = (1.0, 1.0, 0.8, 1.1, 1.1)  # of a card of each resource, to begin with
VARIETY, HARBOUR = 1.5, 0.8  # what a new resource and a harbour add to a corner
RICH = 4  # cards of one resource that others should have for a monopoly
LATER = 0.7  # cards that a plan further down the list counts as more distant
Plan = tuple[Cards, TextAction]  # what it costs, and the move


def pips(state: CatanState, place: int) -> int:
    """The number of the 36 rolls of two dice on which a hex yields."""
    return 6 - abs(7 - state.number[place]) if state.terrain[place] != DESERT else 0


def missing(hand: Sequence[int], cost: Cards) -> Cards:
    """The cards that a hand lacks to pay a cost."""
    return tuple(max(0, need - have) for have, need in zip(hand, cost, strict=True))


@agent("catan-settler", needs=("array",))
class Settler(ScriptedAgent[Catan]):
    """Settles on the best corners, builds what it can afford, and trades for what it lacks.

    It prefers cities to settlements and settlements to development cards, builds roads only to new
    corners, robs whoever leads, and trades with others if that brings it nearer to its next plan
    and they are not about to win.
    """

    stream = 4

    def choose(self, turn: Turn[Catan]) -> TextAction:
        game = turn.game
        return TurnPlanner(game, turn.fork(self.rng).state, turn.seat, turn).choose()


class TurnPlanner:
    """A single decision, in a state as one seat sees it with hidden information redrawn."""

    def __init__(self, game: Catan, state: CatanState, seat: int, turn: Turn) -> None:
        self._game, self._state, self._seat, self._turn = game, state, seat, turn
        self._hand = state.hands[seat]

    def choose(self) -> TextAction:
        """The action to play."""
        moves: dict[int, Callable[[], TextAction]] = {
            SETTLE: lambda: Settle(max(free_corners(self._state), key=self._corner_worth)),
            PAVE: lambda: Road(ROAD_NAMES[self._first_road()]),
            FREE_ROADS: lambda: Road(ROAD_NAMES[self._next_road()]),
            ROLL: self._before_roll,
            DISCARD: self._discard,
            ROB: self._rob,
            ANSWER: self._answer,
            CHOOSE: self._pick_partner,
        }
        return moves.get(self._state.phase, self._business)()

    # Where to build

    def _corner_worth(self, corner: int) -> float:
        """The value of a building there; resources not yet produced count more."""
        state = self._state
        mine = {
            state.terrain[place]
            for own in range(CORNERS)
            if owner(state, own) == self._seat
            for place in HEXES_AT[own]
        }
        worth = HARBOUR * any(corner in pair for pair in HARBOUR_CORNERS)
        for place in HEXES_AT[corner]:
            if state.terrain[place] != DESERT:
                worth += pips(state, place) * WORTH[state.terrain[place]]
                worth += VARIETY * (state.terrain[place] not in mine)
        return worth

    def _first_road(self) -> int:
        """From the settlement just placed, towards the best free corner two roads away."""
        start = self._state.placed
        return max(ROADS_AT[start], key=lambda road: self._beyond(other_end(road, start)))

    def _beyond(self, corner: int) -> float:
        """The value of the best corner that can be settled one road further."""
        free = free_corners(self._state)
        ends = [other_end(r, corner) for r in ROADS_AT[corner] if self._state.roads[r] == NOBODY]
        return max([0.0, *(self._corner_worth(end) for end in ends if end in free)])

    def _next_road(self) -> int:
        """The road that leads to the best corner."""
        return max(road_places(self._state, self._seat), key=self._road_worth)

    def _road_worth(self, road: int) -> float:
        """The value of the corner it leads to, or half the value of one a road further."""
        state, free = self._state, free_corners(self._state)
        ends = [end for end in ROADS[road] if not reaches(state, self._seat, end)]
        ends = [end for end in ends if owner(state, end) == NOBODY]
        direct = [self._corner_worth(end) for end in ends if end in free]
        return max([0.0, *direct, *(self._beyond(end) / 2 for end in ends)])

    # What to spend on

    def _plans(self) -> list[Plan]:
        """What to build next, most wanted first."""
        state, seat = self._state, self._seat
        cities, corners = city_places(state, seat), settlement_places(state, seat)
        plans: list[Plan] = []
        if cities:
            plans.append((CITY_COST, City(max(cities, key=self._corner_worth))))
        if corners:
            plans.append((SETTLEMENT_COST, Settle(max(corners, key=self._corner_worth))))
        elif road_places(state, seat) and self._road_worth(self._next_road()):
            plans.append((ROAD_COST, Road(ROAD_NAMES[self._next_road()])))
        if state.deck:
            plans.append((CARD_COST, Buy()))
        return plans

    def _distance(self, hand: Sequence[int]) -> float:
        """The number of cards the nearest plan lacks; cards for later plans count a little."""
        plans = enumerate(self._plans())
        gaps = [sum(missing(hand, cost)) + LATER * rank for rank, (cost, _) in plans]
        return min([9.0, *gaps]) - 0.05 * sum(hand)

    def _business(self) -> TextAction:
        """Cards, buildings, trades: what to do after the roll."""
        plans = self._plans()
        card = self._development(plans)
        if card is not None:
            return card
        for cost, action in plans:
            if holds(self._hand, cost):
                return action
        for cost, _ in plans:
            deal = self._bank_deal(cost)
            if deal is not None:
                return deal
        return self._offer(plans) or End()

    def _bank_deal(self, cost: Cards) -> TextAction | None:
        """A trade with the bank, if bank trades alone suffice to pay the cost."""
        lacks, spare = missing(self._hand, cost), missing(cost, tuple(self._hand))
        paying = rates(self._state, self._seat)
        if sum(n // rate for n, rate in zip(spare, paying, strict=True)) < sum(lacks):
            return None
        for give in range(KINDS):
            for get in range(KINDS):
                deal = Bank(RESOURCES[give], RESOURCES[get])
                if lacks[get] and spare[give] >= paying[give] and deal in self._turn.legal:
                    return deal
        return None

    def _offer(self, plans: Sequence[Plan]) -> TextAction | None:
        """A spare card for the one card a plan lacks; two the second time."""
        for cost, _ in plans:
            lacks, spare = missing(self._hand, cost), missing(cost, tuple(self._hand))
            most = spare.index(max(spare))
            count = 1 + (self._state.offers > 0)
            if sum(lacks) <= 2 and spare[most] >= count and any(lacks):
                want = RESOURCES[lacks.index(max(lacks))]
                offer = Offer(write_cards(one_card(RESOURCES[most], count)), want)
                if offer in self._turn.legal:
                    return offer
        return None

    # Cards, dice and the robber

    def _before_roll(self) -> TextAction:
        return Knight() if self._wants_knight() else Roll()

    def _wants_knight(self) -> bool:
        state = self._state
        blocked = any(owner(state, corner) == self._seat for corner in HEXES[state.robber])
        army = state.largest != self._seat and state.knights[self._seat] >= 2
        return (blocked or army) and Knight() in self._turn.legal

    def _development(self, plans: Sequence[Plan]) -> TextAction | None:
        """A card worth playing after the roll."""
        state, legal = self._state, self._turn.legal
        if self._wants_knight():
            return Knight()
        if RoadBuilding() in legal and not settlement_places(state, self._seat):
            return RoadBuilding()
        rivals = [hand for seat, hand in enumerate(state.hands) if seat != self._seat]
        most = max(range(KINDS), key=lambda kind: sum(hand[kind] for hand in rivals))
        monopoly = Monopoly(RESOURCES[most])
        if sum(hand[most] for hand in rivals) >= RICH and monopoly in legal:
            return monopoly
        for cost, _ in plans:
            lacks = missing(self._hand, cost)
            if sum(lacks) == 2:
                first, second = (RESOURCES[k] for k in range(KINDS) for _ in range(lacks[k]))
                if Plenty(first, second) in legal:
                    return Plenty(first, second)
        return None

    def _discard(self) -> TextAction:
        """The card whose loss hurts least."""
        kinds = [kind for kind, count in enumerate(self._hand) if count]

        def without(kind: int) -> float:
            left = [n - (k == kind) for k, n in enumerate(self._hand)]
            return self._distance(left) - 0.01 * self._hand[kind]

        return Discard(RESOURCES[min(kinds, key=without)])

    def _rob(self) -> TextAction:
        """The hex where leading rivals lose most and this seat loses nothing."""
        state = self._state
        places = [place for place in range(len(HEXES)) if place != state.robber]
        place = max(places, key=self._harm)
        options = [
            seat
            for seat in state.seats
            if Rob(LETTERS[place], self._name(seat)) in self._turn.legal
        ]
        if not options:
            return Rob(LETTERS[place], ROBBED_NOBODY)
        victim = max(options, key=lambda seat: (open_points(state, seat), sum(state.hands[seat])))
        return Rob(LETTERS[place], self._name(victim))

    def _harm(self, place: int) -> float:
        """What the robber costs rivals on a hex, more for those that lead, less own losses."""
        harm = 0.0
        for corner in HEXES[place]:
            who = owner(self._state, corner)
            if who != NOBODY:
                loss = pips(self._state, place) * (1 + is_city(self._state, corner))
                harm += loss * (-4 if who == self._seat else 1 + open_points(self._state, who))
        return harm

    # Trade with others

    def _name(self, seat: int) -> str:
        return self._game.players[seat]

    def _answer(self) -> TextAction:
        """Accept an offer that helps, unless the mover is about to win."""
        offer = self._state.offer
        deal = Answer(offer.wants, offer.gives)
        near = open_points(self._state, self._state.turn) >= self._game.goal - 2
        if not near and Accept() in self._turn.legal and self._improves(deal.gives, deal.wants) > 0:
            return Accept()
        return Decline()

    def _improves(self, given: Cards, got: Cards) -> float:
        """How much nearer to a plan an exchange brings."""
        after = [n - a + b for n, a, b in zip(self._hand, given, got, strict=True)]
        return self._distance(self._hand) - self._distance(after)

    def _pick_partner(self) -> TextAction:
        """The partner whose terms help most, if any do."""
        best, partner = 0.0, NOBODY
        for seat, answer in enumerate(self._state.answers):
            if answer is not None and Trade(self._name(seat)) in self._turn.legal:
                gain = self._improves(answer.wants, answer.gives)
                if gain > best and open_points(self._state, seat) < self._game.goal - 2:
                    best, partner = gain, seat
        return Withdraw() if partner == NOBODY else Trade(self._name(partner))
