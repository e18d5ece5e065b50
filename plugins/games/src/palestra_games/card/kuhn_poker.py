"""Kuhn poker: three cards, one bet, one call.

Each player antes 1 and gets one of three cards (jack, queen, king). The first player may check
or bet 1. Against a bet the other may fold or call; after a check the second player may check
(showdown) or bet, and then the first may fold or call. The higher card takes the pot at a
showdown. With best play the first player is paid -1/18 a deal (H. W. Kuhn, "A simplified
two-person poker", 1950).

Checked: payoffs by the rule book, random games against OpenSpiel's, and the value -1/18 of the
solved game.

Left out: nothing of the rules.
"""

from __future__ import annotations

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
from palestra.rules import LOSS, WIN, finish, mover, shuffle, turn_to
from palestra.scene import Card, Person, RoundTable

PASS, BET = 0, 1
CARDS = ("jack", "queen", "king")


class KuhnState(ArrayState):
    """A hand of Kuhn poker."""

    deck: Annotated[NDArray[np.int8], Shape(3)]  # first the card of each seat; 0 jack … 2 king
    line: Annotated[NDArray[np.int8], Shape(3)]  # moves so far, PASS or BET; -1 for none


@environment(
    "games/KuhnPoker-v0",
    family="card",
    tags=("hidden-information", "chance"),
    paper="Kuhn (1950), A simplified two-person poker",
)
@dataclass(frozen=True)
class KuhnPoker(ArrayGame[KuhnState]):
    """Kuhn poker for two: three cards, an ante of 1 and at most one bet of 1.

    Actions are 0 (pass) and 1 (bet). An observation is 11 flags: own seat (2), own card (3), then
    two a move so far (pass, bet). Payoffs are the chips won or lost: -2, -1, 1 or 2.
    """

    vocabulary = Vocabulary(
        words=(
            "kuhn",
            "poker",
            "jack",
            "queen",
            "king",
            "pot",
            "check",
            "fold",
            "call",
            "showdown",
            "deck",
        ),
    )
    rules_text = """
        You play Kuhn poker with a deck of a jack, a queen and a king, king highest.

        Each player has put 1 in the pot and holds one card. Say "pass" (check, or fold against a
        bet) or "bet" (bet 1, or call a bet). At a showdown the higher card takes the pot.
    """
    order = "sequential"
    payoffs = "zero-sum"
    deterministic = True
    num_players = 2
    num_actions = 2
    perfect_information = False
    observation_shape = (11,)
    payoff_bounds = (-2.0, 2.0)

    @staticmethod
    def init_state(config: KuhnPoker, state: KuhnState) -> None:
        for card in range(3):
            state.deck[card] = card
            state.line[card] = -1
        shuffle(state, state.deck)
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: KuhnPoker, state: KuhnState, actions: Any, out: Any) -> None:
        seat = mover(state)
        state.line[state.turn] = actions[seat]
        if state.turn == 0 or (state.turn == 1 and state.line[0] == PASS and state.line[1] == BET):
            turn_to(state, 1 - seat)
            return
        last, before = state.line[state.turn], state.line[state.turn - 1]
        if before == BET and last == PASS:  # folded
            settle(state, 1 - seat, 1.0, out)
        else:
            stronger = 0 if state.deck[0] > state.deck[1] else 1
            settle(state, stronger, 2.0 if last == BET else 1.0, out)

    @staticmethod
    def write_legal_mask(config: KuhnPoker, state: KuhnState, seat: int, mask: Any) -> None:
        mask[PASS] = 1
        mask[BET] = 1

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("seat", 2, "the player's own seat, one-hot"),
            Channel("card", 3, "the player's card, one-hot: jack, queen, king"),
            Channel("moves", 6, "each of up to three moves, one-hot: pass, bet"),
        )

    @staticmethod
    def write_observation(config: KuhnPoker, state: KuhnState, seat: int, obs: Any) -> None:
        """Seat (2), own card (3), then one pair a move so far."""
        obs[seat] = 1
        obs[2 + state.deck[seat]] = 1
        for move in range(3):
            if state.line[move] >= 0:
                obs[5 + 2 * move + state.line[move]] = 1

    def narrate(
        self, before: KuhnState | None, actions: Mapping[int, int], after: KuhnState
    ) -> list[Event]:
        if before is None:
            return [
                Event(
                    "deal",
                    f"You are dealt the {CARDS[after.deck[seat]]}.",
                    {"card": int(after.deck[seat])},
                    only(seat),
                )
                for seat in range(2)
            ]
        events = list(super().narrate(before, actions, after))
        if after.over and not is_fold(after):
            shown = [CARDS[after.deck[seat]] for seat in range(2)]
            text = f"Showdown: player_0 has the {shown[0]}, player_1 the {shown[1]}."
            events.append(Event("reveal", text, {"cards": after.deck[:2].tolist()}))
        return events

    def describe(self, state: KuhnState, seat: int) -> str:
        moves = [self.action_text(state, i % 2, m) for i, m in enumerate(state.line) if m >= 0]
        return "\n".join(
            [
                f"You are player_{seat} and hold the {CARDS[state.deck[seat]]}.",
                f"Moves so far: {', '.join(moves) or 'none'}.",
            ]
        )

    def action_text(self, state: KuhnState, seat: int, action: int) -> str:
        return ("pass", "bet")[action]

    def scores(self, state: KuhnState) -> tuple[float, ...]:
        stake = 2.0 if state.line.tolist().count(BET) == 2 else 1.0
        return tuple(stake if result == WIN else -stake for result in state.result.tolist())

    def determinize(self, state: KuhnState, seat: int, rng: Rng) -> KuhnState:
        """Shuffle the two cards that this player does not hold."""
        hidden = [1 - seat, 2]
        cards = sorted(state.deck[hidden].tolist())
        rng.shuffle(cards)
        copy: KuhnState = self.clone(state)
        copy.deck[hidden] = cards
        return copy

    def deals(self) -> list[tuple[float, KuhnState]]:
        """The six deals, equally likely."""
        dealt = []
        for deck in permutations(range(3)):
            state = self.initial_state(0)
            state.deck[:] = deck
            dealt.append((1 / 6, state))
        return dealt

    def scene(self, state: KuhnState, seat: int | None = None) -> Scene:
        people = []
        for owner in range(2):
            hidden = seat not in (None, owner)
            name = CARDS[state.deck[owner]]
            card = Card(hidden=True) if hidden else Card(name[0].upper(), "spades", label=name)
            bets = [i for i, move in enumerate(state.line) if move == BET and i % 2 == owner]
            turn = owner in self.to_act(state)
            people.append(
                Person(
                    self.players[owner], owner, cards=(card,), acting=turn, chips=1.0 + len(bets)
                )
            )
        moves = [self.action_text(state, i % 2, m) for i, m in enumerate(state.line) if m >= 0]
        table = RoundTable(tuple(people), words=f"Pot: {sum(one.chips for one in people):g}")
        return Scene(lines=(f"Moves: {', '.join(moves) or 'none'}",), parts=(table,))


def settle(state: KuhnState, winner: int, stake: float, out: Any) -> None:
    """Pay `stake` from the loser to the winner and end the hand."""
    for seat in range(2):
        out.rewards[seat, 0] = stake if seat == winner else -stake
        state.result[seat] = WIN if seat == winner else LOSS
    finish(state)


def is_fold(state: KuhnState) -> bool:
    """Whether the hand ended with a pass against a bet."""
    moves = [move for move in state.line.tolist() if move >= 0]
    return moves[-2:] == [BET, PASS]
