"""Hanabi in words: cards, what is known of them, moves, and a whole observation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from palestra_games.card.display import word_list
from palestra_games.card.hanabi.observation import HeldCard, Move, Observation
from palestra_games.card.hanabi.rules import DISCARDED, PLAYED, TOLD_COLOUR, copies

if TYPE_CHECKING:
    from palestra_games.card.hanabi.game import Hanabi

COLOURS = ("red", "yellow", "green", "white", "blue")


def card_name(config: Hanabi, card: int) -> str:
    """'red 3'."""
    return _card_name(card, config.ranks)


@cache
def _card_name(card: int, ranks: int) -> str:
    return f"{COLOURS[card // ranks]} {card % ranks + 1}"


def value_name(kind: int, value: int) -> str:
    """What a hint names: 'red' or '3'."""
    return COLOURS[value] if kind == TOLD_COLOUR else str(value + 1)


@lru_cache(maxsize=4096)
def _pile_text(discards: tuple[int, ...], ranks: int) -> str:
    """The discard pile, counted by card."""
    words = []
    for card, count in enumerate(discards):
        times = f" ({count} times)" if count > 1 else ""
        words += [_card_name(card, ranks) + times] if count else []
    return ", ".join(words) or "nothing"


def options_text(config: Hanabi) -> str:
    """The numbers of this game, for its rules."""
    numbers = [f"{copies(config.ranks, rank)} of rank {rank + 1}" for rank in range(config.ranks)]
    return (
        f"There are {config.num_players} players. Each has a hand of {config.hand_size}; the team "
        f"has {config.tokens} information tokens and {config.lives} lives. Of each colour "
        f"({', '.join(COLOURS[: config.colours])}) there are {word_list(numbers)}, in all "
        f"{config.deck_size} cards. The best score is {config.colours * config.ranks}. A team that "
        f"loses its last life {'scores 0' if config.bomb_zero else 'keeps its score'}."
    )


def observation_lines(
    config: Hanabi, seen: Observation, names: Sequence[str], score: int
) -> Iterator[str]:
    """An observation line by line; `names` are the players' from the observer on."""
    yield f"You are {names[0]}. The score is {score}."
    heights = zip(COLOURS, seen.fireworks, strict=False)
    yield f"Fireworks: {', '.join(f'{colour} {height}' for colour, height in heights)}."
    yield (
        f"Information tokens: {seen.tokens} of {config.tokens}. Lives: {seen.lives} of "
        f"{config.lives}. Cards in the deck: {seen.deck}."
    )
    yield f"Discarded: {_pile_text(seen.discards, config.ranks)}."
    if seen.turns_left is not None:
        yield f"Turns left in the game: {seen.turns_left}."
    if seen.last is not None:
        yield f"Last move: {move_text(config, seen.last, names)}"
    for ahead, hand in enumerate(seen.hands):
        yield f"The hand of {names[ahead]}:" if ahead else "Your hand:"
        of, known = (config.colours, config.ranks), f"to {names[ahead]}: "
        for number, held in enumerate(hand, 1):
            shown = f"{_card_name(held[0], of[1])}; {known}" if ahead else ""
            yield f"- card {number}: {shown}{_knowledge_text(held, *of)}"


@lru_cache(maxsize=65536)
def _knowledge_text(held: HeldCard, of_colours: int, of_ranks: int) -> str:
    """'colour red, rank 1 or 2': what hints have told a card's holder."""
    colours = _choice([COLOURS[c] for c in held.colours], of_colours, hinted=held.told_colour)
    ranks = _choice([str(r + 1) for r in held.ranks], of_ranks, hinted=held.told_rank)
    return "unknown" if colours == ranks == "any" else f"colour {colours}, rank {ranks}"


def _choice(left: Sequence[str], of: int, *, hinted: bool) -> str:
    """The values that are left out of so many; the only one if a hint has named it."""
    if hinted:
        return left[0]
    if len(left) == of:
        return "any"
    return word_list(left, "or") if len(left) > 1 else f"{left[0]} by elimination"


def move_text(config: Hanabi, move: Move, names: Sequence[str]) -> str:
    """A move as a sentence."""
    who = names[move.seat]
    if move.kind == DISCARDED:
        return f"{who} discarded card {move.slot + 1}: {card_name(config, move.card)}."
    if move.kind == PLAYED:
        card, fate = card_name(config, move.card), _fate(config, move)
        return f"{who} played card {move.slot + 1}: {card}, which {fate}."
    one = len(move.touched) == 1
    slots = word_list(str(slot + 1) for slot in move.touched)
    rank = "" if move.kind == TOLD_COLOUR else "of rank "
    return (
        f"{who} told {names[move.target]} that {'card' if one else 'cards'} {slots} "
        f"{'is' if one else 'are'} {rank}{value_name(move.kind, move.value)}."
    )


def _fate(config: Hanabi, move: Move) -> str:
    """The result of playing a card."""
    if not move.fitted:
        return "did not fit and cost a life"
    if move.card % config.ranks < config.ranks - 1:
        return "fitted"
    gained = " and gave an information token back" if move.gained else ""
    return f"completed the firework{gained}"
