"""Blackjack against the dealer: draw cards towards 21, and not beyond.

Player and dealer get two cards each; one of the dealer's is face up. Number cards count their
number, pictures 10, an ace 11 unless that exceeds 21, otherwise 1. The player hits (draws) or
sticks; above 21 they are bust and lose at once. Then the dealer draws up to 17 or more. The higher
count wins, equal counts are a draw. Cards are drawn with replacement (an infinite deck), as in
Sutton and Barto, "Reinforcement Learning: An Introduction", 2nd edition 2018, Example 5.1, or from
a number of decks. `natural` and `sab` are the options of Gymnasium's Blackjack-v1, whose rules
the tests follow card by card. The scripted basic strategy is the best policy for an infinite deck,
by exact dynamic programming over Gymnasium's own functions: it is paid -0.04656 a hand, -0.02573
with `natural` and -0.04311 with `sab`.

Checked: whole hands card by card against Gymnasium's; basic strategy is worth as much as the best
policy by dynamic programming; the dealer is bust as often as published.

Left out: splitting, doubling and insurance, which the example leaves out too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

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
    ScriptedAgent,
    Shape,
    Turn,
    Vocabulary,
    agent,
    environment,
)
from palestra.rules import DRAW, LOSS, WIN, finish, randint, turn_to
from palestra.scene import Card, Person, RoundTable

from palestra_games.card.display import word_list

STICK, HIT = 0, 1
RANKS = 13
NAMES = ("ace", "2", "3", "4", "5", "6", "7", "8", "9", "10", "jack", "queen", "king")
SUIT_NAMES = ("spades", "hearts", "clubs", "diamonds")
GLYPHS = ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")
MOVES = ("stick", "hit")
PLAYER, DEALER = 0, 1
LONGEST_HAND = 22  # 21 aces and one card more
TARGET, DEALER_STANDS = 21, 17
SUITS, MOST_DECKS = 4, 8


class BlackjackState(ArrayState):
    """A hand of blackjack; a card is its rank, 0 for an ace to 12 for a king."""

    left: Annotated[NDArray[np.int16], Shape(RANKS)]  # cards not drawn yet; infinite deck: ones
    hands: Annotated[NDArray[np.int8], Shape(2, LONGEST_HAND)]  # the player's and the dealer's
    held: Annotated[NDArray[np.int8], Shape(2)]  # how many cards each has
    paid: Annotated[int, np.int8]  # twice what the player is paid


@environment(
    "games/Blackjack-v0",
    family="card",
    tags=("hidden-information", "chance"),
    paper="Sutton and Barto (2018), Reinforcement Learning: An Introduction, Example 5.1",
)
@dataclass(frozen=True)
class Blackjack(ArrayGame[BlackjackState]):
    """Blackjack against the dealer: draw cards towards 21, and not beyond.

    Actions are 0 (stick) and 1 (hit). An observation is as in Gymnasium: the player's total, the
    dealer's open card from 1 (ace) to 10, and 1 if an ace of the player counts 11. A win pays 1, a
    loss -1.
    """

    natural: Annotated[
        bool, Meta(description="whether a win with an ace and a ten as first cards pays 1.5")
    ] = False
    sab: Annotated[
        bool,
        Meta(
            description="whether, as in Sutton and Barto, an ace and a ten as first cards win "
            "unless the dealer has them too; excludes natural"
        ),
    ] = False
    decks: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST_DECKS,
            description="decks of 52 cards, drawn without replacement; 0 for an infinite deck",
        ),
    ] = 0

    vocabulary = Vocabulary(
        words=("dealer", "jack", "queen", "king", "ace", "bust", "deck"),
    )
    rules_text = """
        You play one hand of blackjack against a dealer.

        You and the dealer have two cards each; you see yours and the first of the dealer's. Cards 2
        to 10 count their number, a jack, queen or king 10, an ace 11 as long as your total stays
        within 21 and otherwise 1.
        - "hit": take another card. Above 21 you are bust and lose at once.
        - "stick": take no more. The dealer shows their second card and draws until they have 17 or
        more.

        If the dealer is bust or has less than you, you win and are paid 1; if they have more, you
        lose 1; the same is a draw and pays nothing.
    """
    order = "sequential"
    payoffs = "general"
    num_players = 1
    num_actions = 2
    perfect_information = False
    observation_shape = (3,)
    observation_bounds = (0, 31)

    def validate(self) -> None:
        if self.natural and self.sab:
            raise InvalidOption("natural and sab exclude each other; choose one of them")

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (-1.0, 1.5 if self.natural else 1.0)

    # The rules

    @staticmethod
    def init_state(config: Blackjack, state: BlackjackState) -> None:
        for rank in range(RANKS):
            state.left[rank] = max(1, config.decks * SUITS)
        for _ in range(2):
            draw_card(config, state, PLAYER)
            draw_card(config, state, DEALER)
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: Blackjack, state: BlackjackState, actions: Any, out: Any) -> None:
        if actions[0] == HIT:
            draw_card(config, state, PLAYER)
            if hard_total(state, PLAYER) > TARGET:
                pay(state, -2, out)
            return
        while total(state, DEALER) < DEALER_STANDS:
            draw_card(config, state, DEALER)
        pay(state, winnings(config, state), out)

    @staticmethod
    def write_legal_mask(config: Blackjack, state: BlackjackState, seat: int, mask: Any) -> None:
        mask[STICK] = 1
        mask[HIT] = 1

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("total", 1, "the player's total, up to 31"),
            Channel("dealer", 1, "the dealer's open card, 1 (ace) to 10"),
            Channel("usable_ace", 1, "1 if an ace of the player counts 11"),
        )

    @staticmethod
    def write_observation(config: Blackjack, state: BlackjackState, seat: int, obs: Any) -> None:
        """As in Gymnasium: own total, the dealer's card from 1 to 10, whether an ace counts 11."""
        obs[0] = total(state, PLAYER)
        obs[1] = points(state.hands[DEALER, 0])
        obs[2] = has_usable_ace(state, PLAYER)

    @staticmethod
    def scripted_action(config: Blackjack, state: BlackjackState, seat: int) -> int:
        """Basic strategy where one can only hit or stick."""
        dealer = points(state.hands[DEALER, 0])
        return basic_move(total(state, PLAYER), dealer, has_usable_ace(state, PLAYER))

    def scores(self, state: BlackjackState) -> tuple[float, ...]:
        return (float(state.paid) / 2,)

    # What a player reads

    def rules_for(self, seat: int) -> str:
        lines = [super().rules_for(seat)]
        if self.natural:
            lines.append("If you win with an ace and a ten as your first two cards, 1.5 is paid.")
        if self.sab:
            lines.append(
                "An ace and a ten as your first two cards win, unless the dealer has them too."
            )
        lines.append(
            f"The cards come from {self.decks} decks of 52."
            if self.decks
            else "Every card is drawn from a full deck."
        )
        return "\n".join(lines)

    def narrate(
        self, before: BlackjackState | None, actions: Mapping[int, int], after: BlackjackState
    ) -> list[Event]:
        dealt = after.hands.tolist()
        if before is None:
            own, shown = dealt[PLAYER][:2], dealt[DEALER][:1]
            text = f"You are dealt {card_names(own)}. The dealer shows {card_names(shown)}."
            return [Event("deal", text, {"cards": own, "dealer": dealt[DEALER][0]})]
        if actions[0] == HIT:
            card = dealt[PLAYER][after.held[PLAYER] - 1]
            bust = " You are bust." if after.over else ""
            text = f"You hit and get {card_names([card])}.{bust}"
            return [Event("reveal", text, {"card": card})]
        cards = dealt[DEALER][: after.held[DEALER]]
        count = total(after, DEALER)
        verdict = "is bust" if count > TARGET else f"has {count}"
        text = f"You stick. The dealer's cards are {card_names(cards)}: the dealer {verdict}."
        return [Event("reveal", text, {"dealer": cards})]

    def describe(self, state: BlackjackState, seat: int) -> str:
        ace = ", with an ace counted as 11" if has_usable_ace(state, PLAYER) else ""
        shown = ("an ace", *map(str, range(2, 11)))[points(state.hands[DEALER, 0]) - 1]
        return f"You have {total(state, PLAYER)}{ace}.\nThe dealer shows {shown}."

    def action_text(self, state: BlackjackState, seat: int, action: int) -> str:
        return MOVES[action]

    def scene(self, state: BlackjackState, seat: int | None = None) -> Scene:
        """Both hands; the dealer's second card face down while the player is to move."""
        people = []
        for owner, name in ((PLAYER, "player_0"), (DEALER, "dealer")):
            cards = state.hands[owner, : state.held[owner]].tolist()
            # suits do not matter, and are dealt in turn so that cards look like cards
            held = [
                Card(GLYPHS[card], SUIT_NAMES[(owner + 3 * n) % 4], label=NAMES[card])
                for n, card in enumerate(cards)
            ]
            if owner == DEALER and seat is not None and not is_shown(state):
                held[1] = Card(hidden=True)
            people.append(Person(name, 0 if owner == PLAYER else "grey", cards=tuple(held)))
        return Scene(
            parts=(RoundTable(tuple(people), words=" ".join(self.describe(state, 0).splitlines())),)
        )

    def determinize(self, state: BlackjackState, seat: int, rng: Rng) -> BlackjackState:
        """Redraw the dealer's second card from the cards the player has not seen."""
        copy: BlackjackState = self.clone(state)
        if is_shown(state):
            return copy
        hole = int(state.hands[DEALER, 1])
        unseen = state.left.astype(float)
        unseen[hole] += self.decks > 0
        drawn = rng.weighted(unseen.tolist())
        copy.hands[DEALER, 1] = drawn
        if self.decks:
            copy.left[hole] += 1
            copy.left[drawn] -= 1
        return copy


@agent("basic-strategy", needs=("array",))
class BasicStrategy(ScriptedAgent[Blackjack]):
    """Hits and sticks in blackjack by the table that is optimal for an infinite deck."""

    def choose(self, turn: Turn[Blackjack]) -> int:
        own, dealer, ace = np.asarray(turn.observation).tolist()
        return basic_move(own, dealer, ace)


def basic_move(own: int, dealer: int, ace: int) -> int:
    """What to do with a total against the dealer's card, 1 for an ace."""
    if ace:
        least = 19 if dealer == 1 or dealer >= 9 else 18
    elif dealer == 1 or dealer >= 7:
        least = 17
    else:
        least = 13 if dealer <= 3 else 12
    return STICK if own >= least else HIT


def draw_card(config: Blackjack, state: BlackjackState, owner: int) -> None:
    """Give `owner` a card, every one that is left being equally likely."""
    cards = 0
    for rank in range(RANKS):
        cards += int(state.left[rank])
    place, drawn = randint(state, cards), 0
    while place >= state.left[drawn]:
        place -= int(state.left[drawn])
        drawn += 1
    if config.decks > 0:
        state.left[drawn] -= 1
    state.hands[owner, state.held[owner]] = drawn
    state.held[owner] += 1


def points(rank: int) -> int:
    """What a card counts, an ace 1."""
    return min(int(rank) + 1, 10)


def hard_total(state: BlackjackState, owner: int) -> int:
    """The points of a hand with every ace counted as 1."""
    count = 0
    for place in range(state.held[owner]):
        count += points(state.hands[owner, place])
    return count


def has_usable_ace(state: BlackjackState, owner: int) -> int:
    """1 if an ace of the hand counts 11."""
    aces = 0
    for place in range(state.held[owner]):
        aces += state.hands[owner, place] == 0
    return 1 if aces > 0 and hard_total(state, owner) + 10 <= TARGET else 0


def total(state: BlackjackState, owner: int) -> int:
    """The points of a hand, an ace counted as 11 where that does not pass 21."""
    return hard_total(state, owner) + 10 * has_usable_ace(state, owner)


def is_natural(state: BlackjackState, owner: int) -> bool:
    """Whether a hand is an ace and a ten."""
    return bool(state.held[owner] == 2 and total(state, owner) == TARGET)


def winnings(config: Blackjack, state: BlackjackState) -> int:
    """Twice what a player who sticks is paid, once the dealer has drawn."""
    own, dealer = total(state, PLAYER), total(state, DEALER)
    if config.sab and is_natural(state, PLAYER) and not is_natural(state, DEALER):
        return 2
    if dealer > TARGET or own > dealer:
        return 3 if config.natural and is_natural(state, PLAYER) else 2
    return 0 if own == dealer else -2


def pay(state: BlackjackState, paid: int, out: Any) -> None:
    """Pay half of `paid` and end the hand."""
    state.paid = paid
    out.rewards[0, 0] = paid / 2.0
    state.result[0] = WIN if paid > 0 else LOSS if paid < 0 else DRAW
    finish(state)


def is_shown(state: BlackjackState) -> bool:
    """Whether the dealer has shown both cards; they do not when the player is bust."""
    return bool(state.over) and hard_total(state, PLAYER) <= TARGET


def card_names(cards: Sequence[int]) -> str:
    """`an ace and a king`."""
    return word_list(f"an {NAMES[c]}" if NAMES[c][0] in "a8" else f"a {NAMES[c]}" for c in cards)
