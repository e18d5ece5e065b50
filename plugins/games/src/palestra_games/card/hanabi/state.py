"""The state of a Hanabi game."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from palestra import ArrayState, Shape

# by seat and place in the hand, the oldest card first
Hands16 = Annotated[NDArray[np.int16], Shape("num_players", "hand_size")]
Hands8 = Annotated[NDArray[np.uint8], Shape("num_players", "hand_size")]


class HanabiState(ArrayState):
    """A game of Hanabi. A card is colour * ranks + rank, both from 0; -1 is no card."""

    deck: Annotated[NDArray[np.int16], Shape("deck_size")]  # in the order they are drawn, then -1
    drawn: Annotated[int, np.int16]  # cards drawn from the deck
    hands: Hands16  # cards
    could_colour: Hands16  # colours that the hints leave a card, a bit each
    could_rank: Hands16  # ranks that the hints leave a card, a bit each
    told_colour: Hands8  # 1 if a hint has named the card's colour
    told_rank: Hands8  # 1 if a hint has named the card's rank
    # what the hints have told about a hand, as it is observed
    known: Annotated[NDArray[np.int8], Shape("num_players", "hand_knowledge")]
    fireworks: Annotated[NDArray[np.int16], Shape("colours")]  # height of each
    discards: Annotated[NDArray[np.int16], Shape("full_score")]  # how many of each card
    tokens: Annotated[int, np.int16]  # information tokens left
    lives: Annotated[int, np.int16]  # lives left
    turns_left: Annotated[int, np.int16]  # counts down once the deck is empty
    last_kind: Annotated[int, np.int16]  # the last move: NOTHING, PLAYED, DISCARDED, TOLD_…
    last_player: Annotated[int, np.int16]  # seat that made it
    last_target: Annotated[int, np.int16]  # seat that was told; -1 for none, as below
    last_value: Annotated[int, np.int16]  # colour or rank that was told
    last_touched: Annotated[int, np.int16]  # places of the cards pointed at, a bit each
    last_slot: Annotated[int, np.int16]  # place of the card played or discarded
    last_card: Annotated[int, np.int16]  # the card played or discarded
    last_fitted: Annotated[int, np.uint8]  # 1 if it was added to a firework
    last_gained: Annotated[int, np.uint8]  # 1 if it gave a token back
