"""Leduc hold'em: six cards, two betting rounds, one public card.

The deck has two jacks, two queens and two kings. Each of two players antes 1 and gets one card.
After a round of betting a public card is turned over, and a second round follows. A bet or raise
is 2 in the first round and 4 in the second, and there are at most two in a round; the first player
opens both rounds. At a showdown a card that pairs the public card wins, otherwise the higher card;
equal cards split the pot (Southey, Bowling, Larson, Piccione, Burch, Billings and Rayner, "Bayes'
Bluff: Opponent Modelling in Poker", UAI 2005). Suits never matter, so a card is its rank, and the
game has 288 information sets. With best play the first player is paid about -0.0856 a deal; the
tests compare every deal and every sequence of moves with OpenSpiel's `leduc_poker`.

Checked: every deal and betting sequence against OpenSpiel's; its equilibrium is one here and pays
the known value; NashConv of uniform play.

Left out: nothing of the rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    ArrayState,
    Channel,
    Event,
    Rng,
    Scene,
    Shape,
    Vocabulary,
    environment,
    only,
)
from palestra.rules import LOSS, WIN, draw, finish, mover, shuffle, turn_to
from palestra.scene import Card, Person, RoundTable

FOLD, CALL, RAISE = 0, 1, 2
CARDS = ("jack", "queen", "king")
DECK = (0, 0, 1, 1, 2, 2)
PUBLIC = 2  # place of the public card in the deck; the players' cards come before it
ROUNDS, LONGEST_ROUND = 2, 4
BETS = (2, 4)
MAX_RAISES = 2
PAIR = 3  # beats every single card
CHECK = "check"
WORDS = ("fold", "call", "raise")


class LeducState(ArrayState):
    """A hand of Leduc hold'em."""

    deck: Annotated[NDArray[np.int8], Shape(6)]  # a card a seat, the public card, three hidden ones
    line: Annotated[NDArray[np.int8], Shape(ROUNDS, LONGEST_ROUND)]  # moves by round; -1 for none
    paid: Annotated[NDArray[np.int8], Shape(2)]  # by seat: chips put in
    stage: Annotated[int, np.int8]  # the round, from 0
    moves: Annotated[int, np.int8]  # moves made in this round
    raises: Annotated[int, np.int8]  # raises made in this round


@environment(
    "games/LeducHoldem-v0",
    family="card",
    tags=("hidden-information", "chance"),
    paper="Southey et al. (2005), Bayes' Bluff: Opponent Modelling in Poker",
)
@dataclass(frozen=True)
class LeducHoldem(ArrayGame[LeducState]):
    """Leduc hold'em poker for two: six cards, two rounds of betting and a public card.

    Actions are 0 (fold), 1 (call or check) and 2 (raise). An observation is 34 numbers: flags of
    one's own seat (2), one's own card (3), the public card (3) and the moves of both rounds (24:
    fold, call, raise for each move), then the chips each seat has put in (2). Payoffs are the chips
    won or lost.
    """

    vocabulary = Vocabulary(
        words=("leduc hold'em", "jack", "queen", "king", "pot", "bet", "showdown"),
    )
    rules_text = """
        You play Leduc hold'em with six cards: two jacks, two queens and two kings, king highest.

        Each player has put 1 in the pot and holds one card that only they see. There are two rounds
        of betting, and player_0 acts first in both. After the first round a public card is turned
        over.
        - "check": bet nothing. You can check as long as nobody has raised in this round.
        - "raise": put in what the other player has put in and 2 more, in the second round 4 more.
        The two players together can raise at most twice in a round.
        - "call": put in what the other player has put in.
        - "fold": give up. The other player takes the pot.

        A round is over when a raise is called or both check. After the second round the cards are
        shown: a card that pairs the public card wins the pot, otherwise the higher card does; equal
        cards split it. You are paid what you win from the other player, or lose what you have put
        in.
    """
    order = "sequential"
    payoffs = "zero-sum"
    deterministic = True
    num_players = 2
    num_actions = 3
    perfect_information = False
    observation_shape = (34,)
    observation_bounds = (0, 13)
    payoff_bounds = (-13.0, 13.0)

    # The rules

    @staticmethod
    def init_state(config: LeducHoldem, state: LeducState) -> None:
        for place in range(6):
            state.deck[place] = DECK[place]
        shuffle(state, state.deck)
        for stage in range(ROUNDS):
            for move in range(LONGEST_ROUND):
                state.line[stage, move] = -1
        for seat in range(2):
            state.paid[seat] = 1
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: LeducHoldem, state: LeducState, actions: Any, out: Any) -> None:
        seat = mover(state)
        action = actions[seat]
        state.line[state.stage, state.moves] = action
        state.moves += 1
        if action == FOLD:
            settle(state, 1 - seat, out)
            return
        state.paid[seat] = state.paid[1 - seat]
        if action == RAISE:
            state.paid[seat] += BETS[state.stage]
            state.raises += 1
        if action == RAISE or state.moves == 1:
            turn_to(state, 1 - seat)
        else:
            end_round(state, out)

    @staticmethod
    def write_legal_mask(config: LeducHoldem, state: LeducState, seat: int, mask: Any) -> None:
        mask[FOLD] = state.raises > 0
        mask[CALL] = 1
        mask[RAISE] = state.raises < MAX_RAISES

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("seat", 2, "the player's own seat, one-hot"),
            Channel("card", 3, "the player's card, one-hot: jack, queen, king"),
            Channel("public", 3, "the public card, one-hot; zeros in the first round"),
            Channel("moves", 24, "four moves of each round, one-hot each: fold, call, raise"),
            Channel("chips", 2, "chips put in, by seat"),
        )

    @staticmethod
    def write_observation(config: LeducHoldem, state: LeducState, seat: int, obs: Any) -> None:
        """Seat (2), own card (3), public card (3), three a move (24), chips put in by seat (2)."""
        obs[seat] = 1
        obs[2 + state.deck[seat]] = 1
        if state.stage == 1:
            obs[5 + state.deck[PUBLIC]] = 1
        for stage in range(ROUNDS):
            for move in range(LONGEST_ROUND):
                if state.line[stage, move] >= 0:
                    obs[8 + 3 * (LONGEST_ROUND * stage + move) + state.line[stage, move]] = 1
        for owner in range(2):
            obs[32 + owner] = state.paid[owner]

    def scores(self, state: LeducState) -> tuple[float, ...]:
        stake = float(min(state.paid.tolist()))
        paid = {WIN: stake, LOSS: -stake}
        return tuple(paid.get(result, 0.0) for result in state.result.tolist())

    # What a player reads

    def narrate(
        self, before: LeducState | None, actions: Mapping[int, int], after: LeducState
    ) -> list[Event]:
        if before is None:
            return [self._deal_event(after, seat) for seat in range(2)]
        events = []
        for seat, action in actions.items():
            text = f"{self.players[seat]} {self.action_text(before, seat, action)}s."
            events.append(Event("move", text, {"player": seat, "action": int(action)}))
        if after.stage > before.stage:
            card = int(after.deck[PUBLIC])
            events.append(Event("reveal", f"The public card is the {CARDS[card]}.", {"card": card}))
        if is_shown(after):
            cards = after.deck[:2].tolist()
            text = f"Showdown: player_0 has the {CARDS[cards[0]]}, player_1 the {CARDS[cards[1]]}."
            events.append(Event("reveal", text, {"cards": cards}))
        return events

    @staticmethod
    def _deal_event(state: LeducState, seat: int) -> Event:
        card = int(state.deck[seat])
        return Event("deal", f"You are dealt the {CARDS[card]}.", {"card": card}, only(seat))

    def describe(self, state: LeducState, seat: int) -> str:
        own, public = CARDS[state.deck[seat]], CARDS[state.deck[PUBLIC]]
        lines = [
            f"You are player_{seat} and hold the {own}.",
            f"The public card is {f'the {public}' if state.stage else 'not yet turned over'}.",
        ]
        lines += round_lines(state)
        lines.append(f"In the pot: {state.paid[0]} from player_0, {state.paid[1]} from player_1.")
        return "\n".join(lines)

    def action_text(self, state: LeducState, seat: int, action: int) -> str:
        return move_text(action, int(state.raises))

    def scene(self, state: LeducState, seat: int | None = None) -> Scene:
        """Both hands and the public card, face down where `seat` may not see them."""
        people = []
        for owner, name in enumerate(self.players):
            seen = seat in (None, owner) or is_shown(state)
            card = drawn_card(state.deck[owner], seen)
            paid = float(state.paid[owner])
            turn = owner in self.to_act(state)
            people.append(Person(name, owner, cards=(card,), acting=turn, chips=paid))
        public = drawn_card(state.deck[PUBLIC], seat is None or state.stage == 1)
        table = RoundTable(tuple(people), (public,), f"Pot: {state.paid.sum()}")
        return Scene(lines=tuple(round_lines(state)), parts=(table,))

    # States

    def determinize(self, state: LeducState, seat: int, rng: Rng) -> LeducState:
        """Shuffle the cards that this player has not seen."""
        hidden = [3, 4, 5]
        if not is_shown(state):
            hidden.append(1 - seat)
        if state.stage == 0:
            hidden.append(PUBLIC)
        cards = sorted(state.deck[hidden].tolist())
        rng.shuffle(cards)
        copy: LeducState = self.clone(state)
        copy.deck[hidden] = cards
        return copy

    def deals(self) -> list[tuple[float, LeducState]]:
        """The 24 deals of own, other and public card by rank, with their probabilities."""
        ways = Counter(permutations(DECK, 3))
        return [(count / ways.total(), self.deal(*cards)) for cards, count in ways.items()]

    def deal(self, first: int, second: int, public: int) -> LeducState:
        """The start with these cards, 0 for a jack to 2 for a king."""
        state: LeducState = self.initial_state(0)
        dealt = (first, second, public)
        rest = Counter(DECK) - Counter(dealt)
        state.deck[:] = [*dealt, *rest.elements()]
        return state


def end_round(state: LeducState, out: Any) -> None:
    """Turn over the public card after the first round, show the cards after the second."""
    if state.stage == 0:
        state.stage, state.moves, state.raises = 1, 0, 0
        turn_to(state, 0)
        return
    first, second = strength(state, 0), strength(state, 1)
    if first == second:
        draw(state)
    else:
        settle(state, 0 if first > second else 1, out)


def strength(state: LeducState, seat: int) -> int:
    """What a player's card is worth at a showdown."""
    card: int = state.deck[seat]
    return PAIR if card == state.deck[PUBLIC] else card


def settle(state: LeducState, winner: int, out: Any) -> None:
    """Pay the winner what the other has put in, and end the hand."""
    stake = float(state.paid[1 - winner])
    for seat in range(2):
        out.rewards[seat, 0] = stake if seat == winner else -stake
        state.result[seat] = WIN if seat == winner else LOSS
    finish(state)


def is_shown(state: LeducState) -> bool:
    """Whether the hand ended with the cards shown."""
    return bool(state.over) and FOLD not in state.line


def move_text(action: int, raises: int) -> str:
    """A move as it is written: a call of nothing is a check."""
    return CHECK if action == CALL and raises == 0 else WORDS[action]


def round_lines(state: LeducState) -> list[str]:
    """A line for each round so far, with the moves and who made them."""
    lines = []
    for stage in range(state.stage + 1):
        moves = [move for move in state.line[stage].tolist() if move >= 0]
        texts = [
            f"player_{number % 2} {move_text(move, moves[:number].count(RAISE))}s"
            for number, move in enumerate(moves)
        ]
        lines.append(f"Round {stage + 1}: {', '.join(texts) or 'no moves yet'}.")
    return lines


def drawn_card(card: int, seen: bool) -> Card:
    """A card, face down unless it is seen; suits do not count, so that it shows none."""
    if not seen:
        return Card(hidden=True)
    return Card(CARDS[card][0].upper(), label=CARDS[card])
