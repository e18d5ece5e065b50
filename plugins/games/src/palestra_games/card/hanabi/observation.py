"""A Hanabi player's view: decoded from the observation array, or taken from the state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from palestra.rules import plain

from palestra_games.card.hanabi.rules import NOTHING, copies
from palestra_games.card.hanabi.state import HanabiState

if TYPE_CHECKING:
    from palestra_games.card.hanabi.game import Hanabi


class HeldCard(NamedTuple):
    """A card in a hand: itself (-1: one's own), and what hints have told its holder about it.

    `colours` and `ranks`, from 0, are those the hints leave possible; `told_colour` and `told_rank`
    say whether a hint has named the card's own.
    """

    card: int
    colours: tuple[int, ...]
    ranks: tuple[int, ...]
    told_colour: bool
    told_rank: bool


class Move(NamedTuple):
    """The last move. Players are counted from the observer on; `value` is what a hint named."""

    seat: int
    kind: int
    target: int
    value: int
    touched: tuple[int, ...]
    slot: int
    card: int
    fitted: bool
    gained: bool


@dataclass(frozen=True, slots=True)
class Observation:
    """All that a player sees. Hands are in seat order from the observer's own on.

    `turns_left` is None until the deck is empty; `discards` counts by card.
    """

    hands: tuple[tuple[HeldCard, ...], ...]
    deck: int
    fireworks: tuple[int, ...]
    tokens: int
    lives: int
    discards: tuple[int, ...]
    last: Move | None
    turns_left: int | None


class FlagReader:
    """Reads an array of zeros and ones from its start."""

    def __init__(self, obs: NDArray[Any]) -> None:
        self._bits: list[int] = np.asarray(obs).astype(int).ravel().tolist()
        self._at = 0

    def bits(self, length: int) -> list[int]:
        """The next entries, unchanged."""
        self._at += length
        return self._bits[self._at - length : self._at]

    def count(self, length: int) -> int:
        """How many of the next entries are set."""
        return sum(self.bits(length))

    def which(self, length: int) -> tuple[int, ...]:
        """The indices of the next entries that are set."""
        return tuple(place for place, bit in enumerate(self.bits(length)) if bit)

    def one(self, length: int) -> int:
        """The index of the next entry that is set; -1 if none is."""
        found = self.which(length)
        return found[0] if found else -1


def read_observation(config: Hanabi, obs: NDArray[Any]) -> Observation:
    """Read an observation that `Hanabi` wrote; for its layout see that module."""
    seats, kinds = range(config.num_players), config.colours * config.ranks
    reader = FlagReader(obs)
    cards = [[reader.one(kinds) for _ in range(config.hand_size)] for _ in seats[1:]]
    cards.insert(0, [-1] * config.hand_size)
    sizes = [config.hand_size - short for short in reader.bits(len(seats))]
    deck = reader.count(config.talon)
    fireworks = tuple(reader.one(config.ranks) + 1 for _ in range(config.colours))
    tokens, lives = reader.count(config.tokens), reader.count(config.lives)
    discards = tuple(reader.count(copies(config.ranks, c % config.ranks)) for c in range(kinds))
    last = read_move(config, reader)
    hands = [[read_card(config, reader, card) for card in hand] for hand in cards]
    left = reader.count(config.num_players)
    return Observation(
        hands=tuple(tuple(hand[:size]) for hand, size in zip(hands, sizes, strict=True)),
        deck=deck,
        fireworks=fireworks,
        tokens=tokens,
        lives=lives,
        discards=discards,
        last=last,
        turns_left=None if deck else left,
    )


def read_move(config: Hanabi, reader: FlagReader) -> Move | None:
    """The last move, decoded from its part of an observation."""
    seat, kind = reader.one(config.num_players), reader.one(4)
    target = reader.one(config.num_players)
    value = max(reader.one(config.colours), reader.one(config.ranks))
    touched = reader.which(config.hand_size)
    slot, card = reader.one(config.hand_size), reader.one(config.colours * config.ranks)
    fitted, gained = reader.bits(2)
    if seat < 0:
        return None
    return Move(seat, kind, target, value, touched, slot, card, bool(fitted), bool(gained))


def read_card(config: Hanabi, reader: FlagReader, card: int) -> HeldCard:
    """The knowledge about a card in a hand, decoded from its part of an observation."""
    fits = reader.which(config.colours * config.ranks)
    return HeldCard(
        card=card,
        colours=tuple(sorted({place // config.ranks for place in fits})),
        ranks=tuple(sorted({place % config.ranks for place in fits})),
        told_colour=reader.count(config.colours) > 0,
        told_rank=reader.count(config.ranks) > 0,
    )


def observation_of(config: Hanabi, state: HanabiState, observer: int) -> Observation:
    """A player's view of a state, without going through the array."""
    state = plain(state)
    deck = config.deck_size - state.drawn
    return Observation(
        hands=tuple(hands_of(config, state, observer)),
        deck=deck,
        fireworks=tuple(state.fireworks.tolist()),
        tokens=state.tokens,
        lives=state.lives,
        discards=tuple(state.discards.tolist()),
        last=last_move_of(config, state, observer),
        turns_left=None if deck else state.turns_left,
    )


def hands_of(config: Hanabi, state: HanabiState, observer: int) -> Iterator[tuple[HeldCard, ...]]:
    """The hands from the observer's own on, in which the cards themselves are hidden."""
    fields = (state.hands, state.could_colour, state.could_rank, state.told_colour, state.told_rank)
    columns = [field.tolist() for field in fields]
    of_colours, of_ranks = config.colours, config.ranks
    for ahead in range(config.num_players):
        seat = (observer + ahead) % config.num_players
        held = zip(*[column[seat] for column in columns], strict=True)
        yield tuple(
            [
                _held(card if ahead else -1, could, rank, *told, of_colours, of_ranks)
                for card, could, rank, *told in held
                if card >= 0
            ]
        )


@lru_cache(maxsize=65536)
def _held(
    card: int,
    colours: int,
    ranks: int,
    told_colour: int,
    told_rank: int,
    of_colours: int,
    of_ranks: int,
) -> HeldCard:
    could = members(colours, of_colours), members(ranks, of_ranks)
    return HeldCard(card, *could, bool(told_colour), bool(told_rank))


def last_move_of(config: Hanabi, state: HanabiState, observer: int) -> Move | None:
    """The last move, with players counted from the observer on; None before the first."""
    state = plain(state)
    if state.last_kind == NOTHING:
        return None
    seats, target = config.num_players, state.last_target
    return Move(
        seat=(state.last_player - observer) % seats,
        kind=state.last_kind,
        target=(target - observer) % seats if target >= 0 else -1,
        value=state.last_value,
        touched=members(state.last_touched, config.hand_size),
        slot=state.last_slot,
        card=state.last_card,
        fitted=bool(state.last_fitted),
        gained=bool(state.last_gained),
    )


@cache
def members(bits: int, most: int) -> tuple[int, ...]:
    """The places of the bits that are set."""
    return tuple(place for place in range(most) if bits >> place & 1)
