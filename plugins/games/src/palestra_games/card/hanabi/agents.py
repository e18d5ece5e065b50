"""A scripted Hanabi player: IGGI, a fixed list of rules of which the first that applies decides.

From Walton-Rivers, Williams, Bartle, Perez-Liebana and Lucas, "Evaluating and Modelling
Hanabi-Playing Agents", IEEE CEC 2017.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from palestra import ScriptedAgent, Turn, agent

from palestra_games.card.hanabi.game import Hanabi
from palestra_games.card.hanabi.observation import HeldCard, Observation
from palestra_games.card.hanabi.rules import TOLD_COLOUR, TOLD_RANK, copies, read_hint


@agent("hanabi-iggi", needs=("array",))
class Iggi(ScriptedAgent[Hanabi]):
    """Plays Hanabi by the IGGI rules: certain plays, useful hints, safe discards.

    It reads only its own observation and legal mask, and never plays a card on a guess.

    1. Play a card whose colour and rank are both known from hints, if it fits.
    2. Play a card that certainly fits, given the hints and all visible cards.
    3. Give the next player who holds a playable card its rank, or its colour if the rank is known.
    4. Discard a card that is certainly useless.
    5. Discard the oldest card.
    6. If discarding is not allowed, give a random hint.

    Rules that look at several cards take the oldest. Teams of such players score about 17.8, 17.0,
    16.3 and 15.1 on average with 2, 3, 4 and 5 players.
    """

    stream = 3

    def choose(self, turn: Turn[Hanabi]) -> int:
        game = turn.game
        seen, legal = game.read(turn.observation), turn.legal_actions
        for action in self._rules(game, seen):
            if action in legal:
                return action
        return int(self.rng.choice([a for a in legal if a >= 2 * game.hand_size]))

    def _rules(self, game: Hanabi, seen: Observation) -> Iterator[int]:
        """The move of each rule, in order; a rule whose move is not legal does not apply."""
        own, hidden = seen.hands[0], unseen_cards(game, seen)
        could = [possible_cards(game, held, hidden) for held in own]
        for slot, held in enumerate(own):
            if held.told_colour and held.told_rank and fits(game, seen, could[slot][0]):
                yield game.hand_size + slot
        for slot, cards in enumerate(could):
            if all(fits(game, seen, card) for card in cards):
                yield game.hand_size + slot
        yield from useful_hints(game, seen)
        for slot, cards in enumerate(could):
            if all(is_useless(game, seen, card) for card in cards):
                yield slot
        yield 0


def unseen_cards(game: Hanabi, seen: Observation) -> list[int]:
    """How many of each card are in the deck or one's own hand."""
    left = [copies(game.ranks, card % game.ranks) for card in range(game.full_score)]
    for card, count in enumerate(seen.discards):
        left[card] -= count + (card % game.ranks < seen.fireworks[card // game.ranks])
    for hand in seen.hands[1:]:
        for held in hand:
            left[held.card] -= 1
    return left


def possible_cards(game: Hanabi, held: HeldCard, hidden: Sequence[int]) -> list[int]:
    """The cards that one of one's own cards may be, given its hints and the unseen cards."""
    cards = [colour * game.ranks + rank for colour in held.colours for rank in held.ranks]
    return [card for card in cards if hidden[card]]


def fits(game: Hanabi, seen: Observation, card: int) -> bool:
    """Whether a card is the next of its firework."""
    return seen.fireworks[card // game.ranks] == card % game.ranks


def is_useless(game: Hanabi, seen: Observation, card: int) -> bool:
    """Whether a card is on its firework already, or can no longer be reached."""
    colour, rank = divmod(card, game.ranks)
    height = seen.fireworks[colour]
    lost = any(
        seen.discards[colour * game.ranks + below] == copies(game.ranks, below)
        for below in range(height, rank)
    )
    return rank < height or lost


def useful_hints(game: Hanabi, seen: Observation) -> Iterator[int]:
    """Hints about playable cards of others that are not fully known: rank first."""
    hints = range(game.num_actions - 2 * game.hand_size)
    numbers = {read_hint(game.config, 0, n): 2 * game.hand_size + n for n in hints}
    for ahead, hand in enumerate(seen.hands[1:], 1):
        for held in hand:
            colour, rank = divmod(held.card, game.ranks)
            if not fits(game, seen, held.card):
                continue
            if not held.told_rank:
                yield numbers[ahead, TOLD_RANK, rank]
            elif not held.told_colour:
                yield numbers[ahead, TOLD_COLOUR, colour]
