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
from typing import Any, Literal

import numpy as np
from palestra import ArrayGame, Event, InvalidOption, Piece, Rng, Scene, environment, only
from palestra.rules import DRAW, LOSS, WIN, finish, mover, randint, turn_to

FOLD, CALL, RAISE = 0, 1, 2  # in no-limit play 1 + n bets, or raises to, n chips
RANKS, SUITS = "23456789TJQKA", "cdhs"
DECK, BOARD, HOLE = 52, 5, 2
ROUNDS = ("before the flop", "flop", "turn", "river")
SHOWN_CARDS = (0, 3, 4, 5)  # board cards by round
LAST_ROUND = 3
MAX_BETS = 4  # a round, in limit play; the big blind is the first
MAX_SEATS = 6
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


@environment(
    "games/Holdem-v0",
    family="card",
    tags=("hidden-information", "chance"),
    paper=(
        "Zhang et al. (2024), Agent-Pro: Learning to Evolve via Policy-Level Reflection and "
        "Optimization"
    ),
    players=(2, 6),
)
@dataclass(frozen=True)
class Holdem(ArrayGame):
    """You play one hand of Texas hold'em poker.

    Everybody has the same number of chips and two hole cards that only he sees. player_0 has posted
    the small blind and player_1 the big blind. There are four rounds of betting: before the flop,
    after the flop (three board cards), after the turn (a fourth) and after the river (a fifth).
    Cards are written as rank and suit, Ts is the ten of spades; board cards belong to everybody.
    - "fold": give up your cards and what you have put in. You can fold only to a bet.
    - "check": bet nothing, where nobody has bet more than you in this round.
    - "call": put in as much as the highest bet of this round.
    A round is over when everybody who has not folded has put in the same and has acted since the
    last bet or raise. If all others fold, the last player takes the pot. Otherwise cards are shown
    after the last round, and the best hand of five, out of two hole cards and five board cards,
    takes the pot; equal hands split it. You are paid what you win from others, or lose what you
    have put in.
    """

    num_players: int = 2
    betting: Literal["no-limit", "limit"] = "no-limit"
    stack: int = 100
    small_blind: int = 1
    big_blind: int = 2

    order = "sequential"
    payoffs = "zero-sum"
    deterministic = True
    perfect_information = False
    observation_dtype = np.int16

    def __post_init__(self) -> None:
        if not 2 <= self.num_players <= MAX_SEATS:
            raise InvalidOption(f"num_players must be 2 to {MAX_SEATS}, not {self.num_players}")
        if self.betting not in ("no-limit", "limit"):
            raise InvalidOption(f"betting must be 'no-limit' or 'limit', not {self.betting!r}")
        if not 1 <= self.small_blind <= self.big_blind:
            raise InvalidOption(
                "small_blind must be at least 1 and at most big_blind, "
                f"not {self.small_blind} and {self.big_blind}"
            )
        least = self.big_blind * (6 * MAX_BETS if self.betting == "limit" else 2)
        if not least <= self.stack <= 10_000:
            raise InvalidOption(
                f"stack must be from {least} to 10000 with a big blind of {self.big_blind} in "
                f"{self.betting} play, not {self.stack}"
            )

    # What follows from the options

    @property
    def num_actions(self) -> int:
        """Fold, call or check, and raise: one action in limit play, else one for every amount."""
        return 3 if self.betting == "limit" else 2 + self.stack

    @property
    def observation_shape(self) -> tuple[int]:
        return (2 * DECK + 4 + 7 * self.num_players,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (0, self.stack)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (-float(self.stack), float(self.stack * (self.num_players - 1)))

    def constants(self) -> Mapping[str, Any]:
        return {**super().constants(), "limit": self.betting == "limit"}

    def fields(self) -> list[tuple[Any, ...]]:
        """`deck`: two hole cards a seat, the board, then what stays hidden; card = 4 rank + suit.

        `bets[r, p]` are the chips of seat p in round r, and `stage` is the round. `acted` says who
        has acted since the last raise. `step` is the least raise and `raised` counts bets.
        """
        return [
            ("deck", np.int8, DECK),
            ("bets", np.int16, (4, self.num_players)),
            ("folded", np.uint8, self.num_players),
            ("acted", np.uint8, self.num_players),
            ("paid", np.float64, self.num_players),
            ("step", np.int16),
            ("raised", np.int8),
            ("stage", np.int8),
            ("shown", np.uint8),
        ]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
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
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        player = mover(state)
        action = actions[player]
        high = highest(config, state)
        state.acted[player] = 1
        if action == FOLD:
            state.folded[player] = 1
        elif action == CALL:
            state.bets[state.stage, player] = high
        else:
            to = high + bet_size(config, state) if config.limit else action - 1
            state.step = to - high
            state.raised += 1
            state.bets[state.stage, player] = to
            for seat in range(config.num_players):
                state.acted[seat] = seat == player
        go_on(config, state, player, out)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
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
    def write_observation(config: Any, state: Any, player: int, view: Any) -> None:
        """Own hole cards and the board (52 each), round (4), then for each seat: own seat, whose
        turn, folded (one value each) and chips put in by round (4)."""
        seats = config.num_players
        for place in range(HOLE):
            view[state.deck[HOLE * player + place]] = 1
        for place in range(SHOWN_CARDS[state.stage]):
            view[DECK + state.deck[HOLE * seats + place]] = 1
        view[2 * DECK + state.stage] = 1
        start = 2 * DECK + 4
        view[start + player] = 1
        for seat in range(seats):
            view[start + seats + seat] = state.acting[seat]
            view[start + 2 * seats + seat] = state.folded[seat]
            for stage in range(4):
                view[start + (3 + stage) * seats + seat] = state.bets[stage, seat]

    def scores(self, state: Any) -> tuple[float, ...]:
        return tuple(state.paid.tolist())

    # What a player reads

    def rules_for(self, seat: int) -> str:
        small, big = self.small_blind, self.big_blind
        lines = [super().rules_for(seat)]
        lines.append(f"Everybody starts with {self.stack} chips; the blinds are {small} and {big}.")
        if self.betting == "limit":
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

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> list[Event]:
        if before is None:
            return [self._dealt(after, seat) for seat in range(self.num_players)]
        events = []
        for seat, action in actions.items():
            text = f"{self.players[seat]}: {self.action_text(before, seat, action)}."
            events.append(Event("move", text, {"player": seat, "action": int(action)}))
        for stage in range(before.stage + 1, after.stage + 1):
            board = self.board(after)[: SHOWN_CARDS[stage]]
            text = f"The {ROUNDS[stage]}: the board is {written(board)}."
            events.append(Event("reveal", text, {"board": board}))
        if after.over:
            events += self._ending(after)
        return events

    def _dealt(self, state: Any, seat: int) -> Event:
        cards = sorted(self.hole(state, seat))
        return Event("deal", f"You are dealt {written(cards)}.", {"cards": cards}, only(seat))

    def _ending(self, state: Any) -> list[Event]:
        events = []
        if state.shown:
            for seat in self.in_hand(state):
                cards = self.hole(state, seat)
                best = HANDS[strength(self.config, state, seat) // BASE**5]
                text = f"{self.players[seat]} shows {written(cards)}: {best}."
                events.append(Event("reveal", text, {"player": seat, "cards": cards}))
        paid = state.paid.tolist()
        told = ", ".join(
            f"{name} {amount:+g}" for name, amount in zip(self.players, paid, strict=True)
        )
        return [*events, Event("payment", f"Paid: {told}.", {"paid": paid})]

    def describe(self, state: Any, player: int) -> str:
        board = written(self.board(state)[: SHOWN_CARDS[state.stage]]) or "none"
        lines = [
            f"You are {self.players[player]} and hold {written(sorted(self.hole(state, player)))}.",
            f"Round: {ROUNDS[state.stage]}. Board: {board}.",
            *self._chips(state),
        ]
        lines += [f"{self.players[seat]} is to act." for seat in self.to_act(state)]
        return "\n".join(lines)

    def _chips(self, state: Any) -> list[str]:
        """What each seat has put in, by round, and has left."""
        lines = []
        for seat, name in enumerate(self.players):
            put_in = state.bets[: state.stage + 1, seat].tolist()
            folded = ", has folded" if state.folded[seat] else ""
            by_round = " + ".join(map(str, put_in))
            lines.append(f"{name} has put in {by_round}, has {self.stack - sum(put_in)}{folded}.")
        return lines

    def action_text(self, state: Any, seat: int, action: int) -> str:
        if action == FOLD:
            return "fold"
        if action == CALL:
            facing = state.bets[state.stage, seat] < highest(self.config, state)
            return "call" if facing else "check"
        return "raise" if self.betting == "limit" else f"raise to {action - 1}"

    def legal_text(self, state: Any, seat: int, moves: Mapping[str, int]) -> str:
        raises = sorted(action - 1 for action in moves.values() if action >= RAISE)
        if self.betting == "limit" or len(raises) < 3:
            return ", ".join(moves)
        named = [name for name, action in moves.items() if action < RAISE]
        return ", ".join([*named, f"raise to {raises[0]} … raise to {raises[-1]}"])

    def scene(self, state: Any, player: int | None = None) -> Scene:
        """All hands and the board, face down where `player` may not see them."""
        hands = []
        for seat, name in enumerate(self.players):
            seen = player in (None, seat) or bool(state.shown and not state.folded[seat])
            cards = [card_piece(card, seen) for card in self.hole(state, seat)]
            hands.append((f"{name} (folded)" if state.folded[seat] else name, tuple(cards)))
        count = SHOWN_CARDS[state.stage]
        board = [card_piece(card, i < count) for i, card in enumerate(self.board(state))]
        hands.append(("board", tuple(board)))
        return Scene(
            f"Pot: {state.bets.sum()}", hands=tuple(hands), lines=tuple(self._chips(state))
        )

    # States

    def hole(self, state: Any, seat: int) -> list[int]:
        cards: list[int] = state.deck[HOLE * seat : HOLE * (seat + 1)].tolist()
        return cards

    def board(self, state: Any) -> list[int]:
        """All five board cards, also those not shown yet."""
        start = HOLE * self.num_players
        cards: list[int] = state.deck[start : start + BOARD].tolist()
        return cards

    def in_hand(self, state: Any) -> list[int]:
        """Seats that have not folded."""
        return [seat for seat in range(self.num_players) if not state.folded[seat]]

    def determinize(self, state: Any, player: int, rng: Rng) -> Any:
        """Shuffle the cards that this player has not seen."""
        start = HOLE * self.num_players
        seen = {HOLE * player, HOLE * player + 1}
        seen |= set(range(start, start + SHOWN_CARDS[state.stage]))
        if state.shown:
            seen |= {HOLE * seat + place for seat in self.in_hand(state) for place in range(HOLE)}
        hidden = [place for place in range(DECK) if place not in seen]
        cards = state.deck[hidden].tolist()
        rng.shuffle(cards)
        copy = self.clone(state)
        copy.deck[hidden] = cards
        return copy

    def deal(self, cards: str) -> Any:
        """The start with these cards, such as "AsKd 7c7h 2c3c4c5d6d": holes by seat, board."""
        dealt = [read_card(pair) for pair in zip(*[iter(cards.replace(" ", ""))] * 2, strict=True)]
        if len(dealt) != HOLE * self.num_players + BOARD or len(set(dealt)) != len(dealt):
            raise InvalidOption(
                f"a deal needs {HOLE} cards a seat and {BOARD} for the board, all different, "
                f"not {cards!r}"
            )
        state = self.initial_state(0)
        state.deck[:] = [*dealt, *(card for card in range(DECK) if card not in dealt)]
        return state


def highest(config: Any, state: Any) -> int:
    """The highest bet of the round."""
    high = 0
    for seat in range(config.num_players):
        high = max(high, int(state.bets[state.stage, seat]))
    return high


def bet_size(config: Any, state: Any) -> int:
    """What a bet or raise adds in limit play."""
    size: int = config.big_blind if state.stage < 2 else 2 * config.big_blind
    return size


def most_bet(config: Any, state: Any, seat: int) -> int:
    """What a seat can bet in this round with all its chips."""
    chips = config.stack
    for stage in range(state.stage):
        chips -= int(state.bets[stage, seat])
    most: int = chips
    return most


def go_on(config: Any, state: Any, player: int, out: Any) -> None:
    """After a move: ask the next seat, deal the next board cards, or end the hand."""
    seats = config.num_players
    remaining = 0
    for seat in range(seats):
        remaining += 1 - int(state.folded[seat])
    if remaining == 1:
        settle(config, state, out)
        return
    for offset in range(1, seats):
        other = (player + offset) % seats
        if not state.folded[other] and not state.acted[other]:
            turn_to(state, other)
            return
    if highest(config, state) == most_bet(config, state, player):
        state.stage = LAST_ROUND  # everybody is all in
    if state.stage == LAST_ROUND:
        state.shown = 1
        settle(config, state, out)
    else:
        start_round(config, state)


def start_round(config: Any, state: Any) -> None:
    """Show the next board cards; the first seat after the button that has not folded acts first."""
    state.stage += 1
    state.step, state.raised = config.big_blind, 0
    for seat in range(config.num_players):
        state.acted[seat] = 0
    first = 1 if config.num_players == 2 else 0
    while state.folded[first]:
        first += 1
    turn_to(state, first)


def settle(config: Any, state: Any, out: Any) -> None:
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


def put_in(state: Any, seat: int) -> int:
    """The chips of a seat in the pot."""
    chips = 0
    for stage in range(4):
        chips += int(state.bets[stage, seat])
    return chips


# Hands


def strength(config: Any, state: Any, seat: int) -> int:
    """The worth of a seat's best five of seven cards; see `worth`."""
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
    return RANKS[card // 4] + SUITS[card % 4]


def written(cards: list[int]) -> str:
    return " ".join(map(card_text, cards))


def read_card(text: tuple[str, ...]) -> int:
    rank, suit = text
    if rank not in RANKS or suit not in SUITS:
        raise InvalidOption(f"a card is a rank of {RANKS} and a suit of {SUITS}, not {rank + suit}")
    return 4 * RANKS.index(rank) + SUITS.index(suit)


def card_piece(card: int, seen: bool) -> Piece:
    """A card, red suits in another colour, face down unless it is seen."""
    if not seen:
        return Piece("?", -1, "card", "a card face down")
    return Piece(card_text(card), 1 if SUITS[card % 4] in "dh" else 0, "card", card_text(card))
