"""Texas hold'em: two hole cards, five board cards, four rounds of betting.

The first two seats post blinds and everybody gets two hole cards. Betting rounds follow the deal
and the flop (three board cards), the turn and the river (one each). In limit play a bet or raise
is one big blind in the first two rounds and two in the last two, with at most four bets per round;
in no-limit play it is at least as large as the last one, up to all chips. At a showdown the best
five of a player's seven cards win. By default all stacks are equal and a hand is an episode, as in
the deals of Agent-Pro (Zhang et al., 2024). With `stacks` of their own, players who are all in
compete for what they could match, and the others for side pots; with `hands` a match goes on with
the chips that are left, the blinds moving on. Chips are split exactly; in a match odd chips go to
the first winners from the small blind on.

The ranking of hands is checked with the published counts of all 2,598,960 hands of five cards, and
betting and payment, move by move, with OpenSpiel's `universal_poker`, whose limit game is the one
solved by Bowling, Burch, Johanson and Tammelin, "Heads-up limit hold'em poker is solved", 2015.

Checked: the ranking against the published counts of all 2,598,960 hands; betting and payment
against OpenSpiel's `universal_poker`; unequal stacks and side pots against `pokerkit`.

Left out: antes, and blinds that rise during a match.
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
    Channel,
    Event,
    InvalidOption,
    Meta,
    Rng,
    Scene,
    Shape,
    Vocabulary,
    constant,
    environment,
    only,
)
from palestra.rules import DRAW, LOSS, WIN, finish, mover, randint, turn_to
from palestra.scene import Card, Person, RoundTable

FOLD, CALL, RAISE = 0, 1, 2  # in no-limit play 1 + n bets, or raises to, n chips
RANKS, SUITS = "23456789TJQKA", "cdhs"
SUIT_NAMES = {"c": "clubs", "d": "diamonds", "h": "hearts", "s": "spades"}
DECK, BOARD, HOLE = 52, 5, 2
ROUNDS = ("before the flop", "flop", "turn", "river")
SHOWN_CARDS = (0, 3, 4, 5)  # board cards by round
LAST_ROUND = 3
MAX_BETS = 4  # a round, in limit play; the big blind is the first
MAX_SEATS = 6
MAX_STACK = 10_000
MAX_CHIPS = 30_000  # of all players together, in a match
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
    chips: Annotated[NDArray[np.int16], Shape("num_players")]  # of each seat before this hand
    faced: Annotated[NDArray[np.int16], Shape("num_players")]  # the highest bet when it last acted
    small: Annotated[int, np.int8]  # the seat that posted the small blind
    hand: Annotated[int, np.int16]  # hands that are over
    # the last hand that was over before this one, for those who look back
    past_deck: Annotated[NDArray[np.int8], Shape(DECK)]
    past_folded: Annotated[NDArray[np.uint8], Shape("num_players")]
    past_paid: Annotated[NDArray[np.float64], Shape("num_players")]
    past_stage: Annotated[int, np.int8]
    past_shown: Annotated[int, np.uint8]


SIDE_POTS = (
    "Whoever has fewer chips than a call takes goes all in with them, and can win from each other "
    "player only as much as they put in themselves; the others play for the rest, in side pots. A "
    "raise of less than the least, all in, does not let those raise again who have acted since the "
    "last full raise."
)


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
    """A hand of Texas hold'em poker: two hole cards, five board cards, four rounds of betting.

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

    stacks: Annotated[
        tuple[int, ...],
        Meta(
            description="chips of each player at the start, one number a seat, each at least two "
            "big blinds; empty for `stack` each (the paper's)"
        ),
    ] = ()
    hands: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="most hands of an episode, each played with the chips that are left; it "
            "ends before if one player has them all",
        ),
    ] = 1

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

        Everybody has two hole cards that only they see. player_0 has posted the small blind and
        player_1 the big blind. There are four rounds of betting: before
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
    perfect_information = False
    observation_dtype = np.int16

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        return self.hands == 1

    def _check_stacks(self) -> None:
        """Refuse stacks that do not fit the seats, and more chips than can be counted."""
        if self.stacks and len(self.stacks) != self.num_players:
            raise InvalidOption(
                f"stacks must have one number for each of the {self.num_players} players, not "
                f"{len(self.stacks)}: {self.stacks}"
            )
        if max(self.start_chips) > MAX_STACK or self.most_chips > MAX_CHIPS:
            raise InvalidOption(
                f"stacks must be at most {MAX_STACK} each, and {MAX_CHIPS} together where there "
                f"are several hands, not {self.start_chips}"
            )

    def validate(self) -> None:
        self._check_stacks()
        if self.small_blind > self.big_blind:
            raise InvalidOption(
                f"small_blind must be at most big_blind, not {self.small_blind} with a big_blind "
                f"of {self.big_blind}"
            )
        least = self.big_blind * (6 * MAX_BETS if self.limit else 2)
        if self.stacks:
            least = 2 * self.big_blind  # who runs out of chips is all in
        if min(self.start_chips) < least:
            name = "stacks" if self.stacks else "stack"
            raise InvalidOption(
                f"{name} must be from {least} to {MAX_STACK} with a big blind of {self.big_blind} "
                f"in {self.betting} play, not {min(self.start_chips)}"
            )

    # Derived from the options

    @constant
    def limit(self) -> bool:
        """Whether the sizes of bets are fixed."""
        return self.betting == "limit"

    @constant
    def start_chips(self) -> tuple[int, ...]:
        """The chips of each seat at the start."""
        return self.stacks or (self.stack,) * self.num_players

    @constant
    def is_match(self) -> bool:
        """Whether stacks can differ, and observations have them."""
        return bool(self.stacks) or self.hands > 1

    @constant
    def most_chips(self) -> int:
        """The most chips that a player can have."""
        return sum(self.start_chips) if self.hands > 1 else max(self.start_chips)

    @property
    def num_actions(self) -> int:
        """Fold, call or check, and raise: one action in limit play, else one for every amount."""
        return 3 if self.limit else 2 + int(self.most_chips)

    @property
    def observation_shape(self) -> tuple[int]:
        more = 2 * self.num_players + 1 if self.is_match else 0
        return (2 * DECK + 4 + 7 * self.num_players + more,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (0, max(int(self.most_chips), self.hands))

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        chips = self.start_chips
        return (-float(max(chips)), float(sum(chips) - min(chips)))

    # The rules

    @staticmethod
    def init_state(config: Holdem, state: HoldemState) -> None:
        for seat in range(config.num_players):
            state.chips[seat] = config.start_chips[seat]
        turn_to(state, begin_hand(config, state))

    @staticmethod
    def apply_actions(config: Holdem, state: HoldemState, actions: Any, out: Any) -> None:
        seat = mover(state)
        action = actions[seat]
        high = highest(config, state)
        most = most_bet(config, state, seat)
        state.acted[seat] = 1
        if action == FOLD:
            state.folded[seat] = 1
        elif action == CALL:
            state.bets[state.stage, seat] = min(high, most)
        else:
            to = min(most, high + bet_size(config, state)) if config.limit else action - 1
            state.step = max(to - high, state.step)  # a raise that is too small is all in
            state.raised += 1
            state.bets[state.stage, seat] = to
            for other in range(config.num_players):
                state.acted[other] = other == seat
        state.faced[seat] = highest(config, state)
        go_on(config, state, seat, out)

    @staticmethod
    def write_legal_mask(config: Holdem, state: HoldemState, seat: int, mask: Any) -> None:
        high = highest(config, state)
        mask[FOLD] = state.bets[state.stage, seat] < high
        mask[CALL] = 1
        most = most_bet(config, state, seat)
        if most <= high or not may_raise(config, state, seat):
            return
        if config.limit:
            mask[RAISE] = state.raised < MAX_BETS
        else:
            for to in range(min(most, high + state.step), most + 1):
                mask[1 + to] = 1

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        seats = self.num_players
        rounds = [
            Channel(f"bets_{name}", seats, f"chips put in {when}, by seat")
            for name, when in (
                ("preflop", "before the flop"),
                ("flop", "on the flop"),
                ("turn", "on the turn"),
                ("river", "on the river"),
            )
        ]
        match = (
            Channel("stacks", seats, "chips that each seat has left, by seat"),
            Channel("small_blind", seats, "who pays the small blind, one-hot"),
            Channel("hand", 1, "hands played before this one"),
        )
        return (
            Channel("hole", DECK, "1 for each of the player's two cards"),
            Channel("board", DECK, "1 for each card of the board that is open"),
            Channel("round", 4, "preflop, flop, turn or river, one-hot"),
            Channel("seat", seats, "the player's own seat, one-hot"),
            Channel("to_move", seats, "1 for the seat that is to move"),
            Channel("folded", seats, "1 for each seat that has folded"),
            *rounds,
            *(match if self.is_match else ()),
        )

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
        if config.is_match:
            for other in range(seats):
                obs[start + 7 * seats + other] = state.chips[other]
                obs[start + 8 * seats + other] = state.small == other
            obs[start + 9 * seats] = state.hand

    def scores(self, state: HoldemState) -> tuple[float, ...]:
        return tuple(state.paid.tolist())

    # What a player reads

    def rules_for(self, seat: int) -> str:
        small, big, chips = self.small_blind, self.big_blind, self.start_chips
        rules = super().rules_for(seat)
        if self.hands > 1:
            rules = rules.replace(
                "You play one hand of Texas hold'em poker.",
                f"You play up to {self.hands} hands of Texas hold'em poker, each with the chips "
                "that are left.",
            ).replace(
                "player_0 has posted the small blind and player_1 the big blind.",
                "In the first hand player_0 has posted the small blind and player_1 the big blind; "
                "the blinds move on by one player with chips after every hand, and whoever has "
                "none is out.",
            )
        started = f"Everybody starts with {chips[0]} chips"
        if len(set(chips)) > 1:
            named = zip(self.players, chips, strict=True)
            started = f"Chips at the start: {', '.join(f'{name} {n}' for name, n in named)}"
        lines = [rules, f"{started}; the blinds are {small} and {big}."]
        if self.is_match:
            lines.append(SIDE_POTS)
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
        if self.hands > 1:
            lines.append(
                "The player after the big blind acts first before the flop, in later rounds the "
                "small blind; between two, the small blind first, later the big blind."
            )
        elif self.num_players == 2:
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
        if after.hand > before.hand and not after.over:
            return [*events, *self._next_hand_events(before, after)]
        events += self._board_events(before, after)
        if after.over:
            events += self._end_events(after)
        return events

    def _next_hand_events(self, before: HoldemState, after: HoldemState) -> list[Event]:
        """How a hand ended, and the next deal."""
        past: HoldemState = self.clone(after)
        past.deck[:], past.folded[:] = after.past_deck, after.past_folded
        past.paid[:] = after.past_paid
        past.stage, past.shown = after.past_stage, after.past_shown
        text = f"Hand {after.hand + 1} of {self.hands}. {self._blinds_text(after)}"
        return [
            *self._board_events(before, past),
            *self._end_events(past),
            Event("hand", text, {"hand": int(after.hand), "chips": after.chips.tolist()}),
            *(
                self._deal_event(after, seat)
                for seat in range(self.num_players)
                if after.chips[seat]
            ),
        ]

    def _blinds_text(self, state: HoldemState) -> str:
        big = self.players[next_with_chips(self.config, state, state.small)]
        chips = ", ".join(
            f"{name} {n}" for name, n in zip(self.players, state.chips.tolist(), strict=True)
        )
        return f"Chips: {chips}. {self.players[state.small]} posts the small blind, {big} the big."

    def _board_events(self, before: HoldemState, after: HoldemState) -> list[Event]:
        events = []
        for stage in range(before.stage + 1, after.stage + 1):
            board = self.board(after)[: SHOWN_CARDS[stage]]
            text = f"The {ROUNDS[stage]}: the board is {cards_text(board)}."
            events.append(Event("reveal", text, {"board": board}))
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
        paid = (state.past_paid if self.hands > 1 else state.paid).tolist()
        amounts = ", ".join(
            f"{name} {amount:+g}" for name, amount in zip(self.players, paid, strict=True)
        )
        return [*events, Event("payment", f"Paid: {amounts}.", {"paid": paid})]

    def describe(self, state: HoldemState, seat: int) -> str:
        board = cards_text(self.board(state)[: SHOWN_CARDS[state.stage]]) or "none"
        lines = [
            f"You are {self.players[seat]} and hold {cards_text(sorted(self.hole(state, seat)))}.",
            f"{self._hand_text(state)}Round: {ROUNDS[state.stage]}. Board: {board}.",
            *self._chips(state),
        ]
        lines += [f"{self.players[other]} is to act." for other in self.to_act(state)]
        return "\n".join(lines)

    def _hand_text(self, state: HoldemState) -> str:
        if self.hands == 1:
            return ""
        number = min(int(state.hand) + 1, self.hands)
        return f"Hand {number} of {self.hands}, small blind {self.players[state.small]}. "

    def _chips(self, state: HoldemState) -> list[str]:
        """The chips each seat has put in, by round, and has left."""
        lines = []
        for seat, name in enumerate(self.players):
            put_in = state.bets[: state.stage + 1, seat].tolist()
            folded = ", has folded" if state.folded[seat] else ""
            by_round = " + ".join(map(str, put_in))
            if not state.chips[seat]:
                lines.append(f"{name} is out of chips.")
                continue
            left = int(state.chips[seat]) - sum(put_in)
            lines.append(f"{name} has put in {by_round}, has {left}{folded}.")
        return lines

    def noop(self, state: HoldemState, seat: int) -> int:
        """Fold to a bet, otherwise check."""
        return FOLD if self.action_mask(state, seat)[FOLD] else CALL

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
        people, acting, dealer = [], self.to_act(state), self.dealer(state)
        for owner, name in enumerate(self.players):
            out = bool(state.folded[owner])
            seen = seat in (None, owner) or bool(state.shown and not out)
            cards = tuple(drawn_card(card, seen) for card in self.hole(state, owner))
            left = int(state.chips[owner]) - int(state.bets[:, owner].sum())
            detail = f"folded, {left} chips" if out else f"{left} chips"
            bet = float(state.bets[state.stage, owner])
            people.append(
                Person(
                    name, owner, "", detail, cards, out=out, acting=owner in acting, chips=bet,
                    dealer=owner == dealer,
                )
            )  # fmt: skip
        count = SHOWN_CARDS[state.stage]
        board = [drawn_card(card, i < count) for i, card in enumerate(self.board(state))]
        pot = float(state.bets.sum())
        return Scene(parts=(RoundTable(tuple(people), tuple(board), "Pot", pot=pot),))

    def dealer(self, state: HoldemState) -> int:
        """The seat of the button: the one before the small blind, or of two the small blind."""
        ahead = [(state.small - back) % self.num_players for back in range(self.num_players)]
        playing = [int(seat) for seat in ahead if state.chips[seat] > 0]
        return playing[0] if len(playing) < 3 else playing[1]

    # States

    def hole(self, state: HoldemState, seat: int) -> list[int]:
        """The two cards of a seat."""
        return state.deck[HOLE * seat : HOLE * (seat + 1)].tolist()

    def board(self, state: HoldemState) -> list[int]:
        """All five board cards, also those not shown yet."""
        start = HOLE * self.num_players
        return state.deck[start : start + BOARD].tolist()

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
        cards = sorted(state.deck[hidden].tolist())
        rng.shuffle(cards)
        copy: HoldemState = self.clone(state)
        copy.deck[hidden] = cards
        if state.hand and not state.over:
            self._redraw_past(copy, seat, rng)
        return copy

    def _redraw_past(self, copy: HoldemState, seat: int, rng: Rng) -> None:
        """Shuffle the cards of the last hand that this player has not seen."""
        start = HOLE * self.num_players
        seen = {HOLE * seat, HOLE * seat + 1}
        seen |= set(range(start, start + SHOWN_CARDS[copy.past_stage]))
        for owner in range(self.num_players) if copy.past_shown else ():
            if not copy.past_folded[owner]:
                seen |= {HOLE * owner, HOLE * owner + 1}
        hidden = [place for place in range(DECK) if place not in seen]
        cards = sorted(copy.past_deck[hidden].tolist())
        rng.shuffle(cards)
        copy.past_deck[hidden] = cards

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
    chips = int(state.chips[seat])
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
        end_hand(config, state, out)
        return
    following = next_to_act(config, state, (seat + 1) % seats)
    if following >= 0:
        turn_to(state, following)
    elif state.stage == LAST_ROUND or able(config, state) < 2:
        state.stage = LAST_ROUND  # if all but one are all in, the board is dealt out
        state.shown = 1
        end_hand(config, state, out)
    else:
        start_round(config, state)


def able(config: Holdem, state: HoldemState) -> int:
    """How many players have not folded and have chips to bet."""
    count = 0
    for seat in range(config.num_players):
        if not state.folded[seat] and put_in(state, seat) < state.chips[seat]:
            count += 1
    return count


def may_raise(config: Holdem, state: HoldemState, seat: int) -> bool:
    """Whether a player may raise: somebody has chips to call, and the bet has risen enough since
    the player last acted."""
    high, callers = highest(config, state), 0
    for other in range(config.num_players):
        if other != seat and not state.folded[other] and most_bet(config, state, other) > high:
            callers += 1
    return callers > 0 and (state.faced[seat] == 0 or high - state.faced[seat] >= state.step)


def next_to_act(config: Holdem, state: HoldemState, start: int) -> int:
    """The next seat from `start` on that has something to decide; -1 if nobody has."""
    high, alone = highest(config, state), able(config, state) == 1
    for offset in range(config.num_players):
        seat = (start + offset) % config.num_players
        if state.folded[seat] or state.acted[seat] or put_in(state, seat) == state.chips[seat]:
            continue
        if not (alone and state.bets[state.stage, seat] >= high):
            return seat
    return -1


def next_with_chips(config: Holdem, state: HoldemState, seat: int) -> int:
    """The next seat after this one that plays in this hand."""
    other = (seat + 1) % config.num_players
    while not state.chips[other]:
        other = (other + 1) % config.num_players
    return other


def players_with_chips(config: Holdem, state: HoldemState) -> int:
    """How many players have chips."""
    count = 0
    for seat in range(config.num_players):
        count += state.chips[seat] > 0
    return count


def begin_hand(config: Holdem, state: HoldemState) -> int:
    """Deal, post the blinds and return who acts first; -1 if all are all in with the blinds."""
    for card in range(DECK):
        state.deck[card] = card
    for place in range(HOLE * config.num_players + BOARD):
        other = place + randint(state, DECK - place)
        card = state.deck[other]
        state.deck[other] = state.deck[place]
        state.deck[place] = card
    for seat in range(config.num_players):
        state.folded[seat] = state.chips[seat] == 0
        state.acted[seat] = 0
        state.faced[seat] = 0
        for stage in range(4):
            state.bets[stage, seat] = 0
    big = next_with_chips(config, state, state.small)
    state.bets[0, state.small] = min(config.small_blind, int(state.chips[state.small]))
    state.bets[0, big] = min(config.big_blind, int(state.chips[big]))
    state.step, state.raised, state.stage, state.shown = config.big_blind, 1, 0, 0
    return next_to_act(config, state, (big + 1) % config.num_players)


def start_round(config: Holdem, state: HoldemState) -> None:
    """Show the next board cards; the first seat after the button that can act does so."""
    state.stage += 1
    state.step, state.raised = config.big_blind, 0
    for seat in range(config.num_players):
        state.acted[seat] = 0
        state.faced[seat] = 0
    first = int(state.small)
    if players_with_chips(config, state) == 2:
        first = next_with_chips(config, state, first)
    turn_to(state, next_to_act(config, state, first))


def end_hand(config: Holdem, state: HoldemState, out: Any) -> None:
    """Pay the hand, and begin the next one, or end the episode after the last."""
    settle(config, state, out)
    acting = -1
    while acting < 0 and state.hand < config.hands and players_with_chips(config, state) > 1:
        state.small = next_with_chips(config, state, state.small)
        acting = begin_hand(config, state)
        if acting < 0:
            state.stage, state.shown = LAST_ROUND, 1
            settle(config, state, out)
    if acting >= 0:
        turn_to(state, acting)
        return
    for seat in range(config.num_players):
        paid = state.paid[seat]
        state.result[seat] = WIN if paid > 0 else LOSS if paid < 0 else DRAW
    finish(state)


def settle(config: Holdem, state: HoldemState, out: Any) -> None:
    """Split every pot among the best hands that compete for it, and keep the hand for a look back.

    Players compete for what each put in, up to what they put in themselves; so the pots lie between
    the amounts that those who have not folded put in.
    """
    seats = config.num_players
    won = state.past_paid
    for seat in range(seats):
        won[seat] = 0.0
    low, level = 0, next_level(config, state, 0)
    while level > 0:
        following = next_level(config, state, level)
        pot = 0
        for seat in range(seats):
            chips = put_in(state, seat)
            pot += (chips if following == 0 else min(chips, level)) - min(chips, low)
        share_pot(config, state, pot, level)
        low, level = level, following
    for seat in range(seats):
        won[seat] -= put_in(state, seat)
        state.paid[seat] += won[seat]
        out.rewards[seat, 0] += won[seat]
    state.hand += 1
    if config.hands > 1:
        keep_past(config, state)


def next_level(config: Holdem, state: HoldemState, low: int) -> int:
    """The least that a player who has not folded put in, above `low`; 0 if nobody did."""
    level = 0
    for seat in range(config.num_players):
        chips = put_in(state, seat)
        if not state.folded[seat] and chips > low and (level == 0 or chips < level):
            level = chips
    return level


def share_pot(config: Holdem, state: HoldemState, pot: int, level: int) -> None:
    """Split a pot among the best hands of those who put in `level`."""
    best, winners = -1, 0
    for seat in range(config.num_players):
        if state.folded[seat] or put_in(state, seat) < level:
            continue
        value = strength(config, state, seat)
        if value > best:
            best, winners = value, 1
        elif value == best:
            winners += 1
    odd = pot % winners if config.hands > 1 else 0  # chips that cannot be split in a match
    share = (pot - odd) / winners
    for offset in range(config.num_players):
        seat = (state.small + offset) % config.num_players
        competes = not state.folded[seat] and put_in(state, seat) >= level
        if competes and strength(config, state, seat) == best:
            state.past_paid[seat] += share + (1 if odd > 0 else 0)
            odd -= 1


def keep_past(config: Holdem, state: HoldemState) -> None:
    """Remember the hand that is over, and count the chips that are left."""
    for place in range(DECK):
        state.past_deck[place] = state.deck[place]
    state.past_stage, state.past_shown = state.stage, state.shown
    for seat in range(config.num_players):
        state.past_folded[seat] = state.folded[seat]
        state.chips[seat] += round(state.past_paid[seat])


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


def drawn_card(card: int, seen: bool) -> Card:
    """A card as a picture, face down unless it is seen."""
    if not seen:
        return Card(hidden=True)
    text = card_text(card)
    return Card(text[0], SUIT_NAMES[text[1]], label=text)
