"""Texas hold'em: two hole cards, five board cards, four rounds of betting.

The first two seats post blinds and everybody gets two hole cards. Betting rounds follow the deal
and the flop (three board cards), the turn and the river (one each). In limit play a bet or raise
is one big blind in the first two rounds and two in the last two, with at most four bets a round;
in no-limit play it is at least as large as the last one, up to all chips. At a showdown the best
five of a player's seven cards win. All stacks are equal, so that there are no side pots, and a
hand is an episode, as in the deals of Agent-Pro (Zhang et al., 2024). Chips are split exactly.

The ranking of hands is checked with the published counts of all 2,598,960 hands of five cards, and
betting and payment, move by move, with OpenSpiel's `universal_poker`, whose limit game is the one
solved by Bowling, Burch, Johanson and Tammelin, "Heads-up limit hold'em poker is solved", 2015.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    ArrayState,
    Event,
    InvalidOption,
    Meta,
    Piece,
    Rng,
    Scene,
    Shape,
    Vocabulary,
    constant,
    environment,
    only,
)
from palestra.rules import DRAW, LOSS, WIN, finish, mover, randint, turn_to

from palestra_games.card.display import FACE_DOWN

FOLD, CALL, RAISE = 0, 1, 2  # in no-limit play 1 + n bets, or raises to, n chips
RANKS, SUITS = "23456789TJQKA", "cdhs"
DECK, BOARD, HOLE = 52, 5, 2
ROUNDS = ("before the flop", "flop", "turn", "river")
SHOWN_CARDS = (0, 3, 4, 5)  # board cards by round
LAST_ROUND = 3
MAX_BETS = 4  # a round, in limit play; the big blind is the first
MAX_SEATS = 6
MAX_STACK = 10_000
HIGH_CARD, PAIR, TWO_PAIR, TRIPS, STRAIGHT, FLUSH, FULL_HOUSE, QUADS, STRAIGHT_FLUSH = range(9)
HANDS = (
    "high card",
    "a pair",
    "two pair",
    "three of a kind",
    "a straight",
    "a flush",
    "a full house",
    "four of a kind",
    "a straight flush",
)
BASE = 13  # ranks; a hand's strength has six digits, its kind and five ranks
WHEEL = 0b1000000001111  # ace to five


class HoldemState(ArrayState):
    """A hand of hold'em; a card is 4 * rank + suit."""

    deck: Annotated[NDArray[np.int8], Shape(DECK)]  # two cards a seat, the board, the rest
    bets: Annotated[NDArray[np.int16], Shape(4, "num_players")]  # chips by round and seat
    folded: Annotated[NDArray[np.uint8], Shape("num_players")]  # 1 for seats that have folded
    acted: Annotated[NDArray[np.uint8], Shape("num_players")]  # 1 if since the last raise
    paid: Annotated[NDArray[np.float64], Shape("num_players")]  # chips won or lost at the end
    step: Annotated[int, np.int16]  # the least raise, in chips
    raised: Annotated[int, np.int8]  # bets and raises in this round
    stage: Annotated[int, np.int8]  # the round, from 0
    shown: Annotated[int, np.uint8]  # 1 once the cards have been shown


@environment(
    "games/Holdem-v0",
    family="card",
    tags=("hidden-information", "chance"),
    paper=(
        "Zhang et al. (2024), Agent-Pro: Learning to Evolve via Policy-Level Reflection and "
        "Optimization"
    ),
)
@dataclass(frozen=True)
class Holdem(ArrayGame[HoldemState]):
    """A hand of Texas hold'em: two hole cards, five board cards, four rounds of betting.

    Actions are 0 (fold) and 1 (call or check); in limit play 2 raises, in no-limit play action 1 +
    n raises one's bet in the round to n chips. An observation is an int16 vector: flags of one's
    own hole cards (52), the board (52) and the round (4); then, with one entry per seat, flags of
    one's own seat, of the seat to move and of seats that have folded, and the chips put in by round
    (4). Payoffs are the chips won or lost.
    """

    num_players: Annotated[int, Meta(ge=2, le=MAX_SEATS, description="number of players")] = 2
    betting: Annotated[
        Literal["no-limit", "limit"],
        Meta(
            description="whether a raise may be of any size, or is one big blind in the first two "
            "rounds and two in the last two, with at most four bets a round"
        ),
    ] = "no-limit"
    stack: Annotated[
        int,
        Meta(
            ge=2,
            le=MAX_STACK,
            description="chips of each player at the start; at least 2 big blinds, 24 in limit "
            "play",
        ),
    ] = 100
    small_blind: Annotated[
        int, Meta(ge=1, le=MAX_STACK // 2, description="chips that player_0 posts")
    ] = 1
    big_blind: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_STACK // 2,
            description="chips that player_1 posts; at least small_blind",
        ),
    ] = 2

    vocabulary = Vocabulary(
        words=(
            "texas hold'em",
            "hold'em",
            "poker",
            "blind",
            "flop",
            "river",
            "pot",
            "chip",
            "bet",
            "hole card",
            "board",
            "turn",
            "all in",
            "suit",
        ),
        signs="TJQKAcdhs",
        written="[2-9TJQKA][cdhs]",
        instead={
            "Ts is the ten of spades;": (
                "Ts has rank T and suit s; ranks go up from 2 to 9, then T, J, Q, K and A;"
            ),
            "takes the pot; equal hands split it.": (
                "takes the pot; equal hands split it. From the best on, a hand of five is one suit "
                "with its ranks in sequence; four of one rank; three of one rank and two of "
                "another; one suit; a sequence; three of one rank; two pairs; one pair; none of "
                "these. In a sequence A may also stand below 2. Between hands of the same kind the "
                "higher ranks decide."
            ),
        },
    )
    rules_text = """
        You play one hand of Texas hold'em poker.

        Everybody has the same number of chips and two hole cards that only they see. player_0 has
        posted the small blind and player_1 the big blind. There are four rounds of betting: before
        the flop, after the flop (three board cards), after the turn (a fourth) and after the river
        (a fifth). Cards are written as rank and suit, Ts is the ten of spades; board cards belong
        to everybody.
        - "fold": give up your cards and what you have put in. You can fold only to a bet.
        - "check": bet nothing, where nobody has bet more than you in this round.
        - "call": put in as much as the highest bet of this round.

        A round is over when everybody who has not folded has put in the same and has acted since
        the last bet or raise. If all others fold, the last player takes the pot. Otherwise cards
        are shown after the last round, and the best hand of five, out of two hole cards and five
        board cards, takes the pot; equal hands split it. You are paid what you win from others, or
        lose what you have put in.
    """
    order = "sequential"
    payoffs = "zero-sum"
    deterministic = True
    perfect_information = False
    observation_dtype = np.int16

    def validate(self) -> None:
        if self.small_blind > self.big_blind:
            raise InvalidOption(
                f"small_blind must be at most big_blind, not {self.small_blind} with a big_blind "
                f"of {self.big_blind}"
            )
        least = self.big_blind * (6 * MAX_BETS if self.limit else 2)
        if self.stack < least:
            raise InvalidOption(
                f"stack must be from {least} to {MAX_STACK} with a big blind of {self.big_blind} "
                f"in {self.betting} play, not {self.stack}"
            )

    # Derived from the options

    @constant
    def limit(self) -> bool:
        """Whether the sizes of bets are fixed."""
        return self.betting == "limit"

    @property
    def num_actions(self) -> int:
        """Fold, call or check, and raise: one action in limit play, else one for every amount."""
        return 3 if self.limit else 2 + self.stack

    @property
    def observation_shape(self) -> tuple[int]:
        return (2 * DECK + 4 + 7 * self.num_players,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (0, self.stack)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (-float(self.stack), float(self.stack * (self.num_players - 1)))

    # The rules

    @staticmethod
    def init_state(config: Holdem, state: HoldemState) -> None:
        for card in range(DECK):
            state.deck[card] = card
        for place in range(HOLE * config.num_players + BOARD):
            other = place + randint(state, DECK - place)
            card = state.deck[other]
            state.deck[other] = state.deck[place]
            state.deck[place] = card
        state.bets[0, 0] = config.small_blind
        state.bets[0, 1] = config.big_blind
        state.step, state.raised = config.big_blind, 1
        turn_to(state, 2 % config.num_players)

    @staticmethod
    def apply_actions(config: Holdem, state: HoldemState, actions: Any, out: Any) -> None:
        seat = mover(state)
        action = actions[seat]
        high = highest(config, state)
        state.acted[seat] = 1
        if action == FOLD:
            state.folded[seat] = 1
        elif action == CALL:
            state.bets[state.stage, seat] = high
        else:
            to = high + bet_size(config, state) if config.limit else action - 1
            state.step = to - high
            state.raised += 1
            state.bets[state.stage, seat] = to
            for other in range(config.num_players):
                state.acted[other] = other == seat
        go_on(config, state, seat, out)

    @staticmethod
    def write_legal_mask(config: Holdem, state: HoldemState, seat: int, mask: Any) -> None:
        high = highest(config, state)
        mask[FOLD] = state.bets[state.stage, seat] < high
        mask[CALL] = 1
        if config.limit:
            mask[RAISE] = state.raised < MAX_BETS
            return
        most = most_bet(config, state, seat)
        if most > high:
            for to in range(min(most, high + state.step), most + 1):
                mask[1 + to] = 1

    @staticmethod
    def write_observation(config: Holdem, state: HoldemState, seat: int, obs: Any) -> None:
        """Own hole cards, board, round, then by seat: own seat, to move, folded, chips by round."""
        seats = config.num_players
        for place in range(HOLE):
            obs[state.deck[HOLE * seat + place]] = 1
        for place in range(SHOWN_CARDS[state.stage]):
            obs[DECK + state.deck[HOLE * seats + place]] = 1
        obs[2 * DECK + state.stage] = 1
        start = 2 * DECK + 4
        obs[start + seat] = 1
        for other in range(seats):
            obs[start + seats + other] = state.acting[other]
            obs[start + 2 * seats + other] = state.folded[other]
            for stage in range(4):
                obs[start + (3 + stage) * seats + other] = state.bets[stage, other]

    def scores(self, state: HoldemState) -> tuple[float, ...]:
        return tuple(state.paid.tolist())

    # What a player reads

    def rules_for(self, seat: int) -> str:
        small, big = self.small_blind, self.big_blind
        lines = [super().rules_for(seat)]
        lines.append(f"Everybody starts with {self.stack} chips; the blinds are {small} and {big}.")
        if self.limit:
            lines.append(
                f'- "raise": bet {big} more than the highest bet, {2 * big} more from the turn '
                f"on. There are at most {MAX_BETS} bets in a round; the big blind is one."
            )
        else:
            lines.append(
                '- "raise to 12": bring your bet in this round to 12 chips. You must raise by as '
                f"much as the last bet or raise of the round and at least by {big}, or go all in."
            )
        if self.num_players == 2:
            lines.append("player_0 acts first before the flop, player_1 in the later rounds.")
        else:
            lines.append("player_2 acts first before the flop, player_0 in the later rounds.")
        return "\n".join(lines)

    def narrate(
        self, before: HoldemState | None, actions: Mapping[int, int], after: HoldemState
    ) -> list[Event]:
        if before is None:
            return [self._deal_event(after, seat) for seat in range(self.num_players)]
        events = []
        for seat, action in actions.items():
            text = f"{self.players[seat]}: {self.action_text(before, seat, action)}."
            events.append(Event("move", text, {"player": seat, "action": int(action)}))
        for stage in range(before.stage + 1, after.stage + 1):
            board = self.board(after)[: SHOWN_CARDS[stage]]
            text = f"The {ROUNDS[stage]}: the board is {cards_text(board)}."
            events.append(Event("reveal", text, {"board": board}))
        if after.over:
            events += self._end_events(after)
        return events

    def _deal_event(self, state: HoldemState, seat: int) -> Event:
        cards = sorted(self.hole(state, seat))
        return Event("deal", f"You are dealt {cards_text(cards)}.", {"cards": cards}, only(seat))

    def _end_events(self, state: HoldemState) -> list[Event]:
        events = []
        if state.shown:
            for seat in self.in_hand(state):
                cards = self.hole(state, seat)
                best = HANDS[strength(self.config, state, seat) // BASE**5]
                text = f"{self.players[seat]} shows {cards_text(cards)}: {best}."
                events.append(Event("reveal", text, {"player": seat, "cards": cards}))
        paid = state.paid.tolist()
        amounts = ", ".join(
            f"{name} {amount:+g}" for name, amount in zip(self.players, paid, strict=True)
        )
        return [*events, Event("payment", f"Paid: {amounts}.", {"paid": paid})]

    def describe(self, state: HoldemState, seat: int) -> str:
        board = cards_text(self.board(state)[: SHOWN_CARDS[state.stage]]) or "none"
        lines = [
            f"You are {self.players[seat]} and hold {cards_text(sorted(self.hole(state, seat)))}.",
            f"Round: {ROUNDS[state.stage]}. Board: {board}.",
            *self._chips(state),
        ]
        lines += [f"{self.players[other]} is to act." for other in self.to_act(state)]
        return "\n".join(lines)

    def _chips(self, state: HoldemState) -> list[str]:
        """The chips each seat has put in, by round, and has left."""
        lines = []
        for seat, name in enumerate(self.players):
            put_in = state.bets[: state.stage + 1, seat].tolist()
            folded = ", has folded" if state.folded[seat] else ""
            by_round = " + ".join(map(str, put_in))
            lines.append(f"{name} has put in {by_round}, has {self.stack - sum(put_in)}{folded}.")
        return lines

    def action_text(self, state: HoldemState, seat: int, action: int) -> str:
        if action == FOLD:
            return "fold"
        if action == CALL:
            facing = state.bets[state.stage, seat] < highest(self.config, state)
            return "call" if facing else "check"
        return "raise" if self.limit else f"raise to {action - 1}"

    def legal_text(self, state: HoldemState, seat: int, moves: Mapping[str, int]) -> str:
        raises = sorted(action - 1 for action in moves.values() if action >= RAISE)
        if self.limit or len(raises) < 3:
            return ", ".join(moves)
        others = [name for name, action in moves.items() if action < RAISE]
        return ", ".join([*others, f"raise to {raises[0]} … raise to {raises[-1]}"])

    def scene(self, state: HoldemState, seat: int | None = None) -> Scene:
        """All hands and the board, face down where `seat` may not see them."""
        hands = []
        for owner, name in enumerate(self.players):
            seen = seat in (None, owner) or bool(state.shown and not state.folded[owner])
            cards = [card_piece(card, seen) for card in self.hole(state, owner)]
            hands.append((f"{name} (folded)" if state.folded[owner] else name, tuple(cards)))
        count = SHOWN_CARDS[state.stage]
        board = [card_piece(card, i < count) for i, card in enumerate(self.board(state))]
        hands.append(("board", tuple(board)))
        return Scene(
            f"Pot: {state.bets.sum()}", hands=tuple(hands), lines=tuple(self._chips(state))
        )

    # States

    def hole(self, state: HoldemState, seat: int) -> list[int]:
        """The two cards of a seat."""
        cards: list[int] = state.deck[HOLE * seat : HOLE * (seat + 1)].tolist()
        return cards

    def board(self, state: HoldemState) -> list[int]:
        """All five board cards, also those not shown yet."""
        start = HOLE * self.num_players
        cards: list[int] = state.deck[start : start + BOARD].tolist()
        return cards

    def in_hand(self, state: HoldemState) -> list[int]:
        """Seats that have not folded."""
        return [seat for seat in range(self.num_players) if not state.folded[seat]]

    def determinize(self, state: HoldemState, seat: int, rng: Rng) -> HoldemState:
        """Shuffle the cards that this player has not seen."""
        start = HOLE * self.num_players
        seen = {HOLE * seat, HOLE * seat + 1}
        seen |= set(range(start, start + SHOWN_CARDS[state.stage]))
        if state.shown:
            seen |= {HOLE * owner + n for owner in self.in_hand(state) for n in range(HOLE)}
        hidden = [place for place in range(DECK) if place not in seen]
        cards = state.deck[hidden].tolist()
        rng.shuffle(cards)
        copy: HoldemState = self.clone(state)
        copy.deck[hidden] = cards
        return copy

    def deal(self, cards: str) -> HoldemState:
        """The start with these cards, such as "AsKd 7c7h 2c3c4c5d6d": holes by seat, board."""
        dealt = [read_card(pair) for pair in zip(*[iter(cards.replace(" ", ""))] * 2, strict=True)]
        if len(dealt) != HOLE * self.num_players + BOARD or len(set(dealt)) != len(dealt):
            raise InvalidOption(
                f"a deal needs {HOLE} cards a seat and {BOARD} for the board, all different, "
                f"not {cards!r}"
            )
        state: HoldemState = self.initial_state(0)
        state.deck[:] = [*dealt, *(card for card in range(DECK) if card not in dealt)]
        return state


def highest(config: Holdem, state: HoldemState) -> int:
    """The highest bet of the round."""
    high = 0
    for seat in range(config.num_players):
        high = max(high, int(state.bets[state.stage, seat]))
    return high


def bet_size(config: Holdem, state: HoldemState) -> int:
    """What a bet or raise adds in limit play."""
    return config.big_blind if state.stage < 2 else 2 * config.big_blind


def most_bet(config: Holdem, state: HoldemState, seat: int) -> int:
    """What a seat can bet in this round with all its chips."""
    chips = config.stack
    for stage in range(state.stage):
        chips -= int(state.bets[stage, seat])
    return chips


def go_on(config: Holdem, state: HoldemState, seat: int, out: Any) -> None:
    """Continue after a move: ask the next seat, deal the next board cards, or end the hand."""
    seats = config.num_players
    remaining = 0
    for other in range(seats):
        remaining += 1 - int(state.folded[other])
    if remaining == 1:
        settle(config, state, out)
        return
    for offset in range(1, seats):
        other = (seat + offset) % seats
        if not state.folded[other] and not state.acted[other]:
            turn_to(state, other)
            return
    if highest(config, state) == most_bet(config, state, seat):
        state.stage = LAST_ROUND  # everybody is all in
    if state.stage == LAST_ROUND:
        state.shown = 1
        settle(config, state, out)
    else:
        start_round(config, state)


def start_round(config: Holdem, state: HoldemState) -> None:
    """Show the next board cards; the first seat after the button that has not folded acts first."""
    state.stage += 1
    state.step, state.raised = config.big_blind, 0
    for seat in range(config.num_players):
        state.acted[seat] = 0
    first = 1 if config.num_players == 2 else 0
    while state.folded[first]:
        first += 1
    turn_to(state, first)


def settle(config: Holdem, state: HoldemState, out: Any) -> None:
    """Split the pot among the best hands that have not folded, and end the hand."""
    best, winners, pot = -1, 0, 0
    for seat in range(config.num_players):
        pot += put_in(state, seat)
        if state.folded[seat]:
            continue
        value = strength(config, state, seat)
        if value > best:
            best, winners = value, 1
        elif value == best:
            winners += 1
    for seat in range(config.num_players):
        won = not state.folded[seat] and strength(config, state, seat) == best
        paid = (pot / winners if won else 0.0) - put_in(state, seat)
        state.paid[seat] = paid
        out.rewards[seat, 0] = paid
        state.result[seat] = WIN if paid > 0 else LOSS if paid < 0 else DRAW
    finish(state)


def put_in(state: HoldemState, seat: int) -> int:
    """The chips of a seat in the pot."""
    chips = 0
    for stage in range(4):
        chips += int(state.bets[stage, seat])
    return chips


# Hands


def strength(config: Holdem, state: HoldemState, seat: int) -> int:
    """The strength of a seat's best five of seven cards; see `worth`."""
    counts, suits = 0, 0
    for place in range(HOLE + BOARD):
        at = HOLE * seat + place if place < HOLE else HOLE * config.num_players + place - HOLE
        card = int(state.deck[at])
        counts += 1 << 4 * (card // 4)
        suits |= 1 << (BASE * (card % 4) + card // 4)
    return worth(counts, suits)


def worth(counts: int, suits: int) -> int:
    """A number that is higher for a better hand: the kind of hand, then ranks, in base 13.

    `counts` holds the number of cards of each rank in four bits, `suits` a bit for every card.
    """
    flush = 0
    for suit in range(4):
        cards = suits >> BASE * suit & 0x1FFF
        if bits(cards) >= 5:
            flush = cards
    ranks = of_count(counts, 1)
    pairs, trips, quads = of_count(counts, 2), of_count(counts, 3), of_count(counts, 4)
    if top_of_run(flush) >= 0:
        return digits(STRAIGHT_FLUSH, top_of_run(flush), 0, 0)
    if quads:
        return digits(QUADS, top(quads), ranks & ~quads, 1)
    if trips and bits(pairs) > 1:
        return digits(FULL_HOUSE, top(trips), pairs & ~(1 << top(trips)), 1)
    if flush:
        return digits(FLUSH, 0, flush, 5)
    if top_of_run(ranks) >= 0:
        return digits(STRAIGHT, top_of_run(ranks), 0, 0)
    if trips:
        return digits(TRIPS, top(trips), ranks & ~trips, 2)
    if bits(pairs) > 1:
        high = top(pairs)
        low = top(pairs & ~(1 << high))
        kickers = ranks & ~(1 << high) & ~(1 << low)
        return digits(TWO_PAIR, high * BASE + low, kickers, 1)
    if pairs:
        return digits(PAIR, top(pairs), ranks & ~pairs, 3)
    return digits(HIGH_CARD, 0, ranks, 5)


def digits(kind: int, first: int, ranks: int, kickers: int) -> int:
    """Kind, what distinguishes it first, and the highest `kickers` of `ranks`."""
    value = first
    for _ in range(kickers):
        value = value * BASE + top(ranks)
        ranks &= ~(1 << top(ranks))
    return kind * BASE**5 + value


def of_count(counts: int, least: int) -> int:
    """Ranks of which there are at least so many cards, as bits."""
    ranks = 0
    for rank in range(BASE):
        if counts >> 4 * rank & 15 >= least:
            ranks |= 1 << rank
    return ranks


def top_of_run(ranks: int) -> int:
    """The highest rank of five in a row, the ace being also below the two; -1 if there is none."""
    best = 3 if ranks & WHEEL == WHEEL else -1
    for low in range(BASE - 4):
        if ranks >> low & 31 == 31:
            best = low + 4
    return best


def top(ranks: int) -> int:
    """The highest rank of a set that is not empty."""
    best = 0
    for rank in range(BASE):
        if ranks >> rank & 1:
            best = rank
    return best


def bits(ranks: int) -> int:
    """How many ranks a set has."""
    count = 0
    for rank in range(BASE):
        count += ranks >> rank & 1
    return count


# Cards in writing


def card_text(card: int) -> str:
    """A card as rank and suit: 'Ts'."""
    return RANKS[card // 4] + SUITS[card % 4]


def cards_text(cards: list[int]) -> str:
    return " ".join(map(card_text, cards))


def read_card(text: tuple[str, ...]) -> int:
    """A card from its rank and suit; raises `InvalidOption` for others."""
    rank, suit = text
    if rank not in RANKS or suit not in SUITS:
        raise InvalidOption(f"a card is a rank of {RANKS} and a suit of {SUITS}, not {rank + suit}")
    return 4 * RANKS.index(rank) + SUITS.index(suit)


def card_piece(card: int, seen: bool) -> Piece:
    """A card, with red suits in another colour, face down unless it is seen."""
    if not seen:
        return FACE_DOWN
    return Piece(card_text(card), 1 if SUITS[card % 4] in "dh" else 0, "card", card_text(card))
