"""Catan: settle an island, trade what it yields, and be the first to ten points.

The complete rules of the board game for two to four players (K. Teuber, "The Settlers of Catan",
1995): a map of 19 hexes laid at random with its number tokens in a spiral, two settlements and
roads each in a snake draft, production by two dice, the robber and discards on a 7, roads,
settlements and cities with limited pieces and a limited bank, harbours, trade with the bank and
among players, all five development cards, the longest road and the largest army. "Agents of Change:
Self-Evolving LLM Agents for Strategic Planning" (2025) plays it. Rules that are easily missed:

* If the bank cannot pay everybody who is due a resource, nobody gets any, unless only one player is
  due it.
* A development card cannot be played in the turn it was bought, and only one can be played in a
  turn; a knight may be played before the roll. Points on cards count at once.
* A rival's settlement cuts a road. If the holder of the longest road then falls behind several
  players who tie, nobody has it.
* A player can win only in their own turn.

The player whose turn it is, the mover, offers cards to all; the others simultaneously accept,
decline or make a counter-offer; and the mover trades with one of them or with nobody. The options
limit the offers in a turn and the cards on a side. In the board game players also talk; here they
only make offers. The winner is paid 1, and the others share a loss of 1; after `max_turns` turns
nobody is paid.

The observation and the text include the cards of a hand that everybody can know, because they came
and went openly; the other cards are hidden.

Board, legal moves, production, payments, points and bonuses are compared with another
implementation, `catanatron`, in whole games; dice, deck and bank with published numbers.

An observation is an int16 vector:

    own seat, phase, whose turn, turns that have ended, dice (2), the robber's hex
    terrain and number of each hex (19 each), kind of each harbour (9, 5 takes any resource)
    corners (54): 0, or 1 + 2 * seat, one more for a city; roads (72): 0, or 1 + seat
    bank (5), cards left to buy, own hand (5), own development cards (5), those of this turn (5)
    a development card was played, free roads, offers made, longest road and largest army: 1 + seat
    the offer: what is given (5) and wanted (5)
    for every seat: open points, cards in hand, known ones (5), development cards, knights, longest
        road, cards to discard; 0 before an answer, 1 declined, 2 open; what it gives (5), wants (5)

Checked: board, legal moves, production, payments, points and bonuses in whole games against
`catanatron`; dice, deck and bank against published numbers.

Left out: trades by free talk at the table: offers are typed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    Meta,
    OneOf,
    Option,
    Outcome,
    Result,
    Rng,
    Scene,
    Step,
    TextAction,
    TextGame,
    environment,
    only,
)

from palestra_games.board.catan.board import (
    CORNERS,
    HARBOUR_CORNERS,
    HEXES,
    KINDS,
    LETTERS,
    RESOURCES,
    ROAD_NAMES,
    ROADS,
)
from palestra_games.board.catan.offers import CardSet, OfferOption
from palestra_games.board.catan.rules import (
    ANSWER,
    CARD_COST,
    CHOOSE,
    CITY_COST,
    DEVELOPMENTS,
    DISCARD,
    FREE_ROADS,
    FULL_HAND,
    KNIGHT,
    MONOPOLY,
    NOBODY,
    OVER,
    PAVE,
    PLENTY,
    ROAD_BUILDING,
    ROAD_COST,
    ROB,
    ROLL,
    SETTLE,
    SETTLEMENT_COST,
    SUPPLY,
    TRADE,
    Accept,
    Answer,
    Bank,
    Buy,
    Cards,
    CatanState,
    City,
    Counter,
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
    award_largest_army,
    award_longest_road,
    buildings,
    card_sets,
    city_places,
    count_developments,
    first_yield,
    free_corners,
    gain,
    holds,
    new_state,
    open_points,
    pay,
    playable,
    points,
    produce,
    rates,
    road_places,
    settlement_places,
    show,
    spend_development,
    steal,
    victims,
    write_cards,
)
from palestra_games.board.catan.words import draw_board, state_lines

ROBBED_NOBODY = "nobody"
MAX_SIDE = 4  # cards on one side of an offer
FULL: Cards = (SUPPLY,) * KINDS


@environment(
    "games/Catan-v0",
    family="board",
    tags=("hidden-information", "chance", "bargaining", "planning"),
    paper=(
        "Teuber (1995), The Settlers of Catan; Agents of Change: Self-Evolving LLM Agents for "
        "Strategic Planning (2025)"
    ),
)
@dataclass(frozen=True)
class Catan(TextGame[CatanState]):
    """Catan: settle an island, trade what it yields, and be the first to ten points.

    Actions are typed, such as Settle(corner=12); `menu` numbers them, with offers of one or two
    cards of a kind for one or two of another. The module's docstring describes the observation. The
    winner is paid 1, and the others share a loss of 1.
    """

    num_players: Annotated[int, Meta(ge=2, le=4, description="number of players")] = 4
    goal: Annotated[int, Meta(ge=3, le=15, description="points needed to win")] = 10
    max_turns: Annotated[
        int, Meta(ge=1, le=10_000, description="turns of all players after which nobody wins")
    ] = 200
    offers: Annotated[
        int, Meta(ge=0, le=100, description="most offers to other players in a turn")
    ] = 2
    offer_cards: Annotated[
        int, Meta(ge=1, le=MAX_SIDE, description="most cards on each side of an offer")
    ] = 3

    early_cards: Annotated[
        Literal["knight", "any"],
        Meta(
            description="development cards that may be played before the roll: knight, as in "
            "Catanatron, on which the study plays; any, as in the rule book"
        ),
    ] = "knight"

    rules_text = """
        You play Catan. Settle the island, and be the first to reach the points that win.

        Hexes are called A to S and yield brick, lumber, wool, grain or ore; corners have numbers,
        and a road is called by its two corners. At the start everybody places a settlement and a
        road at it, in order of seats, and then another of each in reverse order; the second
        settlement yields a card of every hex it touches. After that, in your turn:
        - Roll() first. Every hex with that number, except the robber's, gives one card to each
        settlement and two to each city on its corners. On a 7 whoever has more than 7 cards
        discards half of them, Discard(card='ore') one by one, and you move the robber: Rob(hex='C',
        player='player_1') takes a card from one who has a building there.
        - Build: Road(road='7-8') costs brick and lumber; Settle(corner=12) costs brick, lumber,
        wool and grain, on a corner your roads reach, with no building on any neighbouring corner;
        City(corner=12) costs 2 grain and 3 ore and replaces a settlement; Buy() a development card
        for wool, grain and ore.
        - Trade: Bank(give='wool', get='ore') pays four of a kind for one card, three with a 3:1
        harbour, two with the harbour of that resource. Offer(give='2 wool', want='ore') asks all
        others, who Accept(), Decline(), or Counter(give='ore', want='3 wool'); you then
        Trade(player='player_2') with one of them, or Withdraw().
        - Play one development card a turn, not one you have just bought: Knight() moves the robber,
        also before the roll; RoadBuilding() builds two roads; Plenty(first='ore', second='wool')
        takes two cards from the bank; Monopoly(card='ore') takes all ore of the others. Victory
        point cards just count.
        - End() your turn.

        A settlement is worth 1 point, a city 2, a victory point card 1; the longest road of at
        least 5 roads 2, and the largest army of at least 3 knights played 2. You win in your own
        turn.
    """
    counters = ("turns",)
    order = "phased"
    payoffs = "zero-sum"
    perfect_information = False
    action_types = (
        *(Settle, City, Road, Roll, Discard, Rob, Buy, Knight, RoadBuilding, Plenty, Monopoly),
        *(Bank, Offer, Accept, Decline, Counter, Trade, Withdraw, End),
    )

    # Derived from the options

    @cached_property
    def sets(self) -> Mapping[str, Cards]:
        """Every set of cards that may be on one side of an offer, by its text."""
        return card_sets(self.offer_cards)

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Every action, with offers of one or two cards of a kind for one or two of another."""
        pairs = [(a, b) for a in RESOURCES for b in RESOURCES if a != b]
        sides = [
            (give, want)
            for a, b in pairs
            for give, want in ((a, b), (f"2 {a}", b), (a, f"2 {b}"))
            if give in self.sets and want in self.sets
        ]
        return (
            *map(Settle, range(CORNERS)),
            *map(City, range(CORNERS)),
            *map(Road, ROAD_NAMES),
            *map(Discard, RESOURCES),
            *(Rob(hex, name) for hex in LETTERS for name in (ROBBED_NOBODY, *self.players)),
            *(Plenty(a, b) for n, a in enumerate(RESOURCES) for b in RESOURCES[n:]),
            *map(Monopoly, RESOURCES),
            *(Bank(a, b) for a, b in pairs),
            *(Offer(*side) for side in sides),
            *(Counter(*side) for side in sides),
            *map(Trade, self.players),
            *(Roll(), Buy(), Knight(), RoadBuilding(), Accept(), Decline(), Withdraw(), End()),
        )

    # The rules

    def initial_state(self, seed: int | None = None) -> CatanState:
        return new_state(Rng.seeded(seed), self.num_players)

    def to_act(self, state: CatanState) -> tuple[int, ...]:
        if state.phase == OVER:
            return ()
        if state.phase == DISCARD:
            return tuple(seat for seat in state.seats if state.owed[seat])
        if state.phase == ANSWER:
            return tuple(seat for seat in state.seats if seat != state.turn)
        return (state.turn,)

    def legal(self, state: CatanState, seat: int) -> Grammar:
        hand = state.hands[seat]
        if state.phase == SETTLE:
            return one_of(Settle, corner=free_corners(state))
        if state.phase == PAVE:
            places = [road for road, ends in enumerate(ROADS) if state.placed in ends]
            return one_of(Road, road=names(r for r in places if state.roads[r] == NOBODY))
        if state.phase == FREE_ROADS:
            return one_of(Road, road=names(road_places(state, seat)))
        if state.phase == DISCARD:
            return one_of(Discard, card=held_kinds(hand))
        if state.phase == ROB:
            return Grammar(tuple(self._robbing(state)))
        if state.phase == ANSWER:
            return Grammar(tuple(self._answers(state, hand)))
        if state.phase == CHOOSE:
            partners = [other for other in state.seats if self._may_trade(state, other)]
            options = [Option(Trade, {"player": OneOf((self.players[p],))}) for p in partners]
            return Grammar((*options, Option(Withdraw)))
        return Grammar((*self._cards(state), *self._business(state)))

    def _robbing(self, state: CatanState) -> list[Option]:
        by_victim: dict[str, list[str]] = {}
        for place, letter in enumerate(LETTERS):
            if place != state.robber:
                for name in self._victims(state, place):
                    by_victim.setdefault(name, []).append(letter)
        return [
            Option(Rob, {"hex": OneOf(tuple(letters)), "player": OneOf((name,))})
            for name, letters in sorted(by_victim.items())
        ]

    def _victims(self, state: CatanState, place: int) -> list[str]:
        return [self.players[p] for p in victims(state, place)] or [ROBBED_NOBODY]

    def _answers(self, state: CatanState, hand: Sequence[int]) -> list[Option]:
        options = [Option(Accept)] if holds(hand, state.offer.wants) else []
        options.append(Option(Decline))
        if any(hand):
            options.append(self._trading(Counter, hand))
        return options

    def _trading(self, kind: type[TextAction], hand: Sequence[int]) -> OfferOption:
        most = self.offer_cards
        return OfferOption(kind, {"give": CardSet(tuple(hand), most), "want": CardSet(FULL, most)})

    def _may_trade(self, state: CatanState, seat: int) -> bool:
        answer = state.answers[seat]
        return answer is not None and answer.open and holds(state.hands[state.turn], answer.wants)

    def _cards(self, state: CatanState) -> list[Option]:
        """The development cards that may be played now."""
        ready, bank = playable(state), state.bank
        options = []
        if KNIGHT in ready:
            options.append(Option(Knight))
        if state.phase == ROLL:
            options.insert(0, Option(Roll))
            if self.early_cards == "knight":
                return options
        if ROAD_BUILDING in ready and road_places(state, state.turn):
            options.append(Option(RoadBuilding))
        if PLENTY in ready:
            for first, left in enumerate(bank):
                seconds = [k for k in range(first, KINDS) if bank[k] > (k == first)]
                if left and seconds:
                    second = OneOf(tuple(RESOURCES[k] for k in seconds))
                    fields = {"first": OneOf((RESOURCES[first],)), "second": second}
                    options.append(Option(Plenty, fields))
        if MONOPOLY in ready:
            options.append(Option(Monopoly, {"card": OneOf(RESOURCES)}))
        return options

    def _business(self, state: CatanState) -> list[Option]:
        """The mover's options after the roll: building, buying and trading."""
        if state.phase == ROLL:
            return []
        seat, hand, bank = state.turn, state.hands[state.turn], state.bank
        options: list[Option] = []
        if holds(hand, ROAD_COST):
            options += one_of(Road, road=names(road_places(state, seat))).options
        if holds(hand, SETTLEMENT_COST):
            options += one_of(Settle, corner=settlement_places(state, seat)).options
        if holds(hand, CITY_COST):
            options += one_of(City, corner=city_places(state, seat)).options
        if holds(hand, CARD_COST) and state.deck:
            options.append(Option(Buy))
        for kind, rate in enumerate(rates(state, seat)):
            gets = [RESOURCES[k] for k in range(KINDS) if k != kind and bank[k]]
            if hand[kind] >= rate and gets:
                fields = {"give": OneOf((RESOURCES[kind],)), "get": OneOf(tuple(gets))}
                options.append(Option(Bank, fields))
        rivals_hold = any(any(state.hands[other]) for other in state.seats if other != seat)
        if any(hand) and rivals_hold and state.offers < self.offers:
            options.append(self._trading(Offer, hand))
        return [*options, Option(End)]

    def step(self, state: CatanState, actions: Mapping[int, Any]) -> Step:
        if state.phase == DISCARD:
            events = self._discard(state, actions)
        elif state.phase == ANSWER:
            events = self._answer(state, actions)
        else:
            (action,) = actions.values()
            events = getattr(self, f"_{type(action).__name__.lower()}")(state, action)
        if state.phase > PAVE and points(state, state.turn) >= self.goal:
            state.winner, state.phase = state.turn, OVER
            return Step(self._payments(state), events=[*events, self._end_event(state)])
        if state.turns == self.max_turns:
            state.phase = OVER
            return Step(events=[*events, self._end_event(state)])
        return Step(events=events)

    def _payments(self, state: CatanState) -> dict[int, dict[str, float]]:
        lost = -1.0 / (self.num_players - 1)
        return {s: {"payoff": 1.0 if s == state.winner else lost} for s in state.seats}

    def _end_event(self, state: CatanState) -> Event:
        scores = [points(state, seat) for seat in state.seats]
        pairs = zip(self.players, scores, strict=True)
        listing = ", ".join(f"{name} {score}" for name, score in pairs)
        text = f"{self._reason(state)} Points: {listing}."
        return Event("reveal", text, {"points": scores})

    def _reason(self, state: CatanState) -> str:
        if state.winner == NOBODY:
            return f"Nobody has won in {self.max_turns} turns."
        return f"{self.players[state.winner]} has won."

    def _mover_event(self, state: CatanState, kind: str, what: str, **data: Any) -> Event:
        """An event of the mover."""
        text = f"{self.players[state.turn]} {what}."
        return Event(kind, text, {"player": state.turn, **data})

    # The rules: building

    def _settle(self, state: CatanState, action: Settle) -> list[Event]:
        seat, corner = state.turn, action.corner
        state.corners[corner] = 1 + 2 * seat
        events = [self._mover_event(state, "build", f"settles at {corner}", corner=corner)]
        if state.phase == SETTLE:
            state.phase, state.placed = PAVE, corner
            if len(buildings(state, seat, city=False)) == 2:
                cards = first_yield(state, corner)
                gain(state, seat, cards)
                got = write_cards(cards) or "nothing"
                events.append(self._mover_event(state, "yield", f"gets {got}", cards=cards))
            return events
        pay(state, seat, SETTLEMENT_COST)
        award_longest_road(state)
        return events

    def _city(self, state: CatanState, action: City) -> list[Event]:
        pay(state, state.turn, CITY_COST)
        state.corners[action.corner] += 1
        text = f"builds a city at {action.corner}"
        return [self._mover_event(state, "build", text, corner=action.corner)]

    def _road(self, state: CatanState, action: Road) -> list[Event]:
        seat = state.turn
        state.roads[ROAD_NAMES.index(action.road)] = seat
        events = [
            self._mover_event(state, "build", f"builds the road {action.road}", road=action.road)
        ]
        if state.phase == PAVE:
            self._next_placement(state)
            return events
        if state.phase == FREE_ROADS:
            state.free_roads -= 1
            if not state.free_roads or not road_places(state, seat):
                state.free_roads, state.phase = 0, self._after_card(state)
        else:
            pay(state, seat, ROAD_COST)
        award_longest_road(state)
        return events

    def _next_placement(self, state: CatanState) -> None:
        """A snake draft: everybody in order of seats, then everybody in reverse."""
        done = sum(what > 0 for what in state.corners)
        seats = self.num_players
        state.phase = SETTLE if done < 2 * seats else ROLL
        state.turn = done if done < seats else max(0, 2 * seats - 1 - done)

    def _buy(self, state: CatanState, action: Buy) -> list[Event]:
        seat, card = state.turn, state.deck.pop(state.rng.below(len(state.deck)))
        pay(state, seat, CARD_COST)
        state.developments[seat].append(card)
        state.fresh += 1
        drawn = f"The card is: {DEVELOPMENTS[card]}."
        return [
            self._mover_event(state, "buy", "buys a development card"),
            Event("reveal", drawn, {"card": DEVELOPMENTS[card]}, only(seat)),
        ]

    # The rules: dice, robber and cards

    def _roll(self, state: CatanState, action: Roll) -> list[Event]:
        state.dice = (state.rng.between(1, 6), state.rng.between(1, 6))
        roll = sum(state.dice)
        text = f"rolls {state.dice[0]} + {state.dice[1]} = {roll}"
        events = [self._mover_event(state, "roll", text, dice=state.dice)]
        if roll == 7:
            sizes = [sum(hand) for hand in state.hands]
            state.owed = [size // 2 if size > FULL_HAND else 0 for size in sizes]
            state.phase = DISCARD if any(state.owed) else ROB
            return events
        state.phase = TRADE
        for seat, cards in enumerate(produce(state, roll)):
            if any(cards):
                text = f"{self.players[seat]} gets {write_cards(cards)}."
                events.append(Event("yield", text, {"player": seat, "cards": cards}))
        return events

    def _discard(self, state: CatanState, actions: Mapping[int, Any]) -> list[Event]:
        events = []
        for seat, action in sorted(actions.items()):
            pay(state, seat, one_card(action.card))
            state.owed[seat] -= 1
            text = f"{self.players[seat]} discards {action.card}."
            events.append(Event("discard", text, {"player": seat, "card": action.card}))
        if not any(state.owed):
            state.phase = ROB
        return events

    def _rob(self, state: CatanState, action: Rob) -> list[Event]:
        state.robber = LETTERS.index(action.hex)
        state.phase = self._after_card(state)
        text = f"moves the robber to {action.hex}"
        if action.player == ROBBED_NOBODY:
            return [self._mover_event(state, "robber", text, hex=action.hex)]
        victim = self.players.index(action.player)
        card = RESOURCES[steal(state, state.turn, victim)]
        text += f" and robs {action.player}"
        event = self._mover_event(state, "robber", text, hex=action.hex, victim=victim)
        seen = Event("reveal", f"The card is: {card}.", {"card": card}, only(state.turn, victim))
        return [event, seen]

    def _after_card(self, state: CatanState) -> int:
        """The phase that goes on after a card or the robber: before the roll, or after it."""
        return TRADE if any(state.dice) else ROLL

    def _knight(self, state: CatanState, action: Knight) -> list[Event]:
        spend_development(state, KNIGHT)
        state.knights[state.turn] += 1
        award_largest_army(state, state.turn)
        state.phase = ROB
        return [self._mover_event(state, "card", "plays a knight")]

    def _roadbuilding(self, state: CatanState, action: RoadBuilding) -> list[Event]:
        spend_development(state, ROAD_BUILDING)
        state.free_roads, state.phase = 2, FREE_ROADS
        return [self._mover_event(state, "card", "plays road building")]

    def _plenty(self, state: CatanState, action: Plenty) -> list[Event]:
        spend_development(state, PLENTY)
        for card in (action.first, action.second):
            gain(state, state.turn, one_card(card))
        text = f"plays a year of plenty and takes {action.first} and {action.second}"
        return [self._mover_event(state, "card", text, cards=(action.first, action.second))]

    def _monopoly(self, state: CatanState, action: Monopoly) -> list[Event]:
        spend_development(state, MONOPOLY)
        kind, taken = RESOURCES.index(action.card), 0
        for seat in state.seats:
            if seat != state.turn:
                count = state.hands[seat][kind]
                pay(state, seat, one_card(action.card, count))
                taken += count
        gain(state, state.turn, one_card(action.card, taken))
        text = f"plays a monopoly and takes {taken} {action.card}"
        return [self._mover_event(state, "card", text, card=action.card, count=taken)]

    # The rules: trade

    def _bank(self, state: CatanState, action: Bank) -> list[Event]:
        rate = rates(state, state.turn)[RESOURCES.index(action.give)]
        pay(state, state.turn, one_card(action.give, rate))
        gain(state, state.turn, one_card(action.get))
        text = f"gives the bank {rate} {action.give} for {action.get}"
        return [self._mover_event(state, "bank", text, give=action.give, rate=rate, get=action.get)]

    def _offer(self, state: CatanState, action: Offer) -> list[Event]:
        state.offer = Answer(self.sets[action.give], self.sets[action.want])
        show(state, state.turn, state.offer.gives)
        state.answers = [None] * self.num_players
        state.offers, state.phase = state.offers + 1, ANSWER
        text = f"offers {action.give} for {action.want}"
        return [self._mover_event(state, "offer", text, give=action.give, want=action.want)]

    def _answer(self, state: CatanState, actions: Mapping[int, Any]) -> list[Event]:
        events = []
        for seat, action in sorted(actions.items()):
            answer, text = Answer(), "declines"
            if isinstance(action, Accept):
                answer, text = Answer(state.offer.wants, state.offer.gives), "accepts"
            elif isinstance(action, Counter):
                answer = Answer(self.sets[action.give], self.sets[action.want])
                text = f"would give {action.give} for {action.want}"
            state.answers[seat] = answer
            show(state, seat, answer.gives)
            data = {"player": seat, "gives": answer.gives, "wants": answer.wants}
            events.append(Event("answer", f"{self.players[seat]} {text}.", data))
        some = any(answer.open for answer in state.answers if answer is not None)
        state.phase = CHOOSE if some else TRADE
        if not some:
            self._clear_offer(state)
        return events

    def _trade(self, state: CatanState, action: Trade) -> list[Event]:
        partner = self.players.index(action.player)
        answer = state.answers[partner]
        assert answer is not None
        pay(state, state.turn, answer.wants)
        pay(state, partner, answer.gives)
        gain(state, state.turn, answer.gives)
        gain(state, partner, answer.wants)
        given, got = write_cards(answer.wants), write_cards(answer.gives)
        text = f"gives {action.player} {given} for {got}"
        event = self._mover_event(state, "trade", text, partner=partner, gave=given, got=got)
        self._clear_offer(state)
        return [event]

    def _withdraw(self, state: CatanState, action: Withdraw) -> list[Event]:
        self._clear_offer(state)
        return [self._mover_event(state, "withdraw", "trades with nobody")]

    def _clear_offer(self, state: CatanState) -> None:
        state.offer, state.answers = Answer(), [None] * self.num_players
        state.phase = TRADE

    def _end(self, state: CatanState, action: End) -> list[Event]:
        event = self._mover_event(state, "end", "ends the turn")
        state.turn = (state.turn + 1) % self.num_players
        state.turns += 1
        state.phase, state.dice = ROLL, (0, 0)
        state.fresh, state.played, state.offers = 0, False, 0
        return [event]

    def outcome(self, state: CatanState) -> Outcome | None:
        if state.phase != OVER:
            return None
        result: Result = "truncated"
        if state.winner == NOBODY:
            none = (result,) * self.num_players
            return Outcome(none, (0.0,) * self.num_players, self._reason(state))
        paid = self._payments(state)
        scores = tuple(paid[seat]["payoff"] for seat in state.seats)
        results: tuple[Result, ...] = tuple("win" if score > 0 else "loss" for score in scores)
        return Outcome(results, scores, self._reason(state))

    def truncated(self, state: CatanState) -> bool:
        return state.phase == OVER and state.winner == NOBODY

    def noop(self, state: CatanState, seat: int) -> TextAction | None:
        return {ANSWER: Decline(), CHOOSE: Withdraw(), TRADE: End()}.get(state.phase)

    def determinize(self, state: CatanState, seat: int, rng: Rng) -> CatanState:
        """Redraw the unknown cards in the others' hands, their development cards and the deck.

        The mover has not won yet, so their cards cannot hold enough points to win.
        """
        self.refuse_the_end(state)
        copy = self.clone(state)
        others = [other for other in state.seats if other != seat]
        deal_unknown_cards(copy, others, rng)
        held = (card for other in others for card in state.developments[other])
        unseen = sorted([*held, *state.deck])
        while True:
            cards = unseen.copy()
            rng.shuffle(cards)
            for other in others:
                copy.developments[other] = [cards.pop() for _ in state.developments[other]]
            copy.deck = sorted(cards)  # it is drawn from anywhere in it
            if points(copy, state.turn) < self.goal:
                return copy

    # What a player sees

    def rules_for(self, seat: int) -> str:
        corners = "; ".join(
            f"{letter} {' '.join(map(str, hexagon))}"
            for letter, hexagon in zip(LETTERS, HEXES, strict=True)
        )
        rules = super().rules_for(seat)
        if self.early_cards == "any":
            rules = rules.replace("- Roll() first.", "- Roll() first, or after one card.")
            rules = rules.replace(
                "Play one development card a turn, not one you have just bought:",
                "Play one development card a turn, before or after the roll, not one you have just "
                "bought:",
            )
            rules = rules.replace("moves the robber, also before the roll;", "moves the robber;")
        return "\n".join(
            [
                rules,
                f"{self.goal} points win. After {self.max_turns} turns nobody does.",
                f"There are {self.offers} offers a turn, of up to {self.offer_cards} cards a side.",
                "You have 15 roads, 5 settlements and 4 cities; the bank has 19 cards of each "
                "resource. Development cards: 14 knights, 5 victory points, 2 of each other kind.",
                f"The corners of each hex, clockwise from the upper left: {corners}.",
            ]
        )

    def describe(self, state: CatanState, seat: int) -> str:
        return "\n".join(state_lines(state, seat, self.players))

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        size = 7 + 2 * len(HEXES) + len(HARBOUR_CORNERS) + CORNERS + len(ROADS)
        size += 4 * KINDS + 1 + 5 + 2 * KINDS + self.num_players * (12 + 2 * KINDS)
        return spaces.Box(0, max(self.max_turns, 100), (size,), np.int16)

    def observe(self, state: CatanState, seat: int) -> NDArray[np.int16]:
        """The observation vector; the module's docstring gives the layout."""
        own = state.developments[seat]
        fresh = own[len(own) - state.fresh :] if seat == state.turn else []
        row = [seat, state.phase, state.turn, state.turns, *state.dice, state.robber]
        row += [*state.terrain, *state.number, *state.harbours, *state.corners]
        row += [who + 1 for who in state.roads]
        row += [*state.bank, len(state.deck), *state.hands[seat]]
        row += [*count_developments(own), *count_developments(fresh)]
        row += [state.played, state.free_roads, state.offers, state.longest + 1, state.largest + 1]
        row += [*state.offer.gives, *state.offer.wants]
        for other in state.seats:
            row += self._seat_numbers(state, other)
        return np.array(row, np.int16)

    @staticmethod
    def _seat_numbers(state: CatanState, seat: int) -> list[int]:
        """What everybody sees of a seat."""
        answer = state.answers[seat] or Answer()
        return [
            *(open_points(state, seat), sum(state.hands[seat]), *state.sure[seat]),
            *(len(state.developments[seat]), state.knights[seat], state.lengths[seat]),
            *(state.owed[seat], (state.answers[seat] is not None) + answer.open),
            *(*answer.gives, *answer.wants),
        ]

    def scene(self, state: CatanState, seat: int | None = None) -> Scene:
        return draw_board(state, seat, self.players)


def deal_unknown_cards(state: CatanState, seats: Sequence[int], rng: Rng) -> None:
    """Redeal the publicly unknown cards among the hands of these seats."""
    unknown = [
        kind
        for kind in range(KINDS)
        for seat in seats
        for _ in range(state.hands[seat][kind] - state.sure[seat][kind])
    ]
    rng.shuffle(unknown)
    for seat in seats:
        size = sum(state.hands[seat])
        state.hands[seat] = state.sure[seat].copy()
        for _ in range(size - sum(state.sure[seat])):
            state.hands[seat][unknown.pop()] += 1


def one_card(card: str, count: int = 1) -> Cards:
    """A hand of `count` cards of one resource."""
    return tuple(count * (name == card) for name in RESOURCES)


def held_kinds(hand: Sequence[int]) -> list[str]:
    """The resources present in a hand."""
    return [name for name, count in zip(RESOURCES, hand, strict=True) if count]


def names(roads: Iterable[int]) -> list[str]:
    """What some roads are called."""
    return [ROAD_NAMES[road] for road in roads]


def one_of(action: type[TextAction], **values: Sequence[Any]) -> Grammar:
    """One kind of action with one field; empty if there is nothing to choose."""
    ((name, allowed),) = values.items()
    return Grammar((Option(action, {name: OneOf(tuple(allowed))}),) if allowed else ())
